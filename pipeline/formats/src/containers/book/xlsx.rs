//! `.xlsx` and `.xlsm` (ECMA-376), read with calamine, cell by cell.

use std::io::Cursor;

use bytes::Bytes;
use calamine::{DataRef, Reader, SheetType, SheetVisible, XlsxError};

use super::cells::{Cells, text_of};
use super::{Sheet, no_spreadsheet};
use crate::Failure;

pub(super) struct Xlsx(calamine::Xlsx<Cursor<Bytes>>);

impl Xlsx {
    /// # Errors
    /// It is damaged.
    pub(super) fn open(bytes: Bytes) -> Result<Xlsx, Failure> {
        let book = calamine::Xlsx::new(Cursor::new(bytes)).map_err(|error| failure(&error))?;
        Ok(Xlsx(book))
    }

    pub(super) fn sheets(&self) -> Vec<Sheet> {
        let sheets = self.0.sheets_metadata().iter();
        let sheets = sheets.map(|sheet| Sheet {
            name: sheet.name.clone(),
            is_table: sheet.typ == SheetType::WorkSheet,
            is_hidden: sheet.visible != SheetVisible::Visible,
        });
        sheets.collect()
    }

    /// # Errors
    /// The sheet is damaged.
    pub(super) fn read(&mut self, sheet: &str, cells: &mut Cells) -> Result<(), Failure> {
        let reader = self.0.worksheet_cells_reader(sheet);
        let mut reader = reader.map_err(|error| failure(&error))?;
        while let Some(cell) = reader.next_cell().map_err(|error| failure(&error))? {
            let (row, column) = cell.get_position();
            let value: &DataRef<'_> = cell.get_value();
            let Some(text) = text_of(value) else {
                continue;
            };
            if !cells.add(row, column, &text)? {
                break;
            }
        }
        Ok(())
    }
}

fn failure(error: &XlsxError) -> Failure {
    no_spreadsheet(error)
}
