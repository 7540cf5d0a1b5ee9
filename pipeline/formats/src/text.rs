//! Delimited text (CSV, TSV, `;`, `|`): one pass over the fetched bytes, cell by cell into the
//! column builders, without a copy of the whole.
//!
//! Real files are untidy, so a row that is a cell short or long is padded or cut, counted and
//! noted; only where most rows disagree, each in its own way, is the file refused. Bytes that are
//! no UTF-8 within text that otherwise is are read as replacement characters, and noted. What
//! stands below a table ([`footer`]) is no row of it. Larger files than the budget are read in
//! ranges: each is entered at the first line from which rows of the right width follow, since a
//! line break may also stand inside a quoted cell.

mod again;
pub(super) mod batches;
mod records;
mod untidy;

use std::sync::Arc;

use csv::ByteRecord;
use limn_profile::infer::Nulls;
use limn_profile::sample::CELL_CHARS;
use limn_profile::text::{counted, truncate};
use limn_profile::{
    ColumnBuilder, ColumnSummary, DeclaredKeys, FileSummary, FileValues, FirstRow, RowSample,
    RowSampler, SampledRow, TextReading, ValueLimits,
};
use limn_store::Store;

use self::again::{Again, Column};
use self::records::{cell, ends_empty, fits, is_blank, repeats};
use self::untidy::{Ragged, Unclosed};
use super::dialect::{self, Plan, Quoting};
use super::footer::{self, Above};
use super::header::Doubt;
use super::input::{self, Fetched, Input, Piece};
use super::rows::{LINES_IN_A_CELL, Rows};
use super::{Failure, ReadOptions, parse, plain, sniff};
use crate::compression::without_compression;
use crate::data_file::DataFile;
use crate::declaration::Declaration;
use crate::error::FileErrorKind;
use crate::room::Held;

/// Lines tried as the first of a range.
const ENTRIES: usize = 64;

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let fetched = input::fetch(store, file, options).await?;
    let (path, sample_path) = (file.object.path.clone(), file.sample_path.clone());
    let options = options.clone();
    parse(move || {
        let input = fetched.into_text("CSV", &sample_path, &options)?;
        let beginning = sniff::without_bom(&input.pieces[0].bytes);
        let is_cut = options.declared().delimiter.is_some();
        // Bars around all cells are no delimiters.
        if !is_cut && plain::is_drawn(beginning, input.is_whole()) {
            return plain::of_input(input, plain::Doubt::Not, &sample_path, &options);
        }
        of_input(&input, &path, &sample_path, &options)
    })
    .await
}

/// Parses what was fetched.
pub(super) fn read(
    fetched: Fetched,
    path: &str,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let input = fetched.into_text("CSV", sample_path, options)?;
    of_input(&input, path, sample_path, options)
}

fn of_input(
    input: &Input,
    path: &str,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let whole = input.is_whole();
    let beginning = sniff::without_bom(&input.pieces[0].bytes);
    sniff::is_no_json(beginning, "CSV")?;
    let path = without_compression(path);
    let plan = dialect::detect(beginning, whole, path, options.declared())?;
    let others = dialect::others(beginning, whole, &plan.dialect, options.declared());
    let others = others.into_iter().filter_map(|plan| {
        let scan = scanned(input, plan, sample_path, options);
        scan.finish(input).ok()
    });
    let otherwise = others.collect();
    let summary = scanned(input, plan, sample_path, options).finish(input)?;
    Ok(FileSummary {
        otherwise,
        ..summary
    })
}

/// Reads all pieces as the plan says.
pub(super) fn scanned(input: &Input, plan: Plan, sample_path: &str, options: &ReadOptions) -> Scan {
    let whole = input.is_whole();
    let scan = |plan| {
        let mut scan = Scan::new(plan, sample_path, options, whole);
        scan.run(input);
        scan
    };
    let mut best = scan(plan.clone());
    if best.longest_row > LINES_IN_A_CELL && plan.dialect.quoting != Quoting::Off {
        let dialect = plan.dialect.without_quotes();
        let mut other = scan(Plan { dialect, ..plan });
        if other.ragged.rows * 20 <= other.rows {
            other
                .notes
                .push("quotes are read as letters: one of them is never closed".to_owned());
            best = other;
        }
    }
    if let Some(reading) = Again::new(&best.plan, &best.columns, options.declared()) {
        let mut again = Scan::new(best.plan.clone(), sample_path, options, whole);
        again.again = Some(reading);
        again.run(input);
        best.again = again.again;
    }
    best
}

/// One pass over the file's pieces.
pub(super) struct Scan {
    plan: Plan,
    pub(super) reading: TextReading,
    columns: Vec<ColumnBuilder>,
    declared: Option<Arc<Declaration>>,
    /// Where this is the second reading, or has had one.
    again: Option<Again>,
    sampler: RowSampler,
    notes: Vec<String>,
    whole: bool,
    rows: u64,
    /// Bytes of the rows that were counted.
    row_bytes: u64,
    ragged: Ragged,
    /// Cells that are not UTF-8.
    garbled: u64,
    /// Rows that are the header once more.
    headers: u64,
    /// Rows of nothing but delimiters.
    blank: u64,
    /// Lines of the row with the most lines.
    longest_row: u64,
    unclosed: Unclosed,
    _turn: Held,
}

impl Scan {
    fn new(plan: Plan, sample_path: &str, options: &ReadOptions, whole: bool) -> Scan {
        let turn = options.room.columns(plan.columns.len());
        let limits = ValueLimits::for_columns(plan.columns.len());
        let values = FileValues::new(options.values);
        Scan {
            columns: plan
                .columns
                .iter()
                .map(|name| {
                    let column = ColumnBuilder::with_limits(name.as_str(), limits);
                    column.with_evidence(options.declared()).hashing(&values)
                })
                .collect(),
            declared: options.declared.clone(),
            again: None,
            sampler: RowSampler::new(options.seed, sample_path, options.sample_rows),
            notes: plan.notes.clone(),
            reading: plan.reading(),
            plan,
            whole,
            rows: 0,
            row_bytes: 0,
            ragged: Ragged::default(),
            garbled: 0,
            headers: 0,
            blank: 0,
            longest_row: 0,
            unclosed: Unclosed::default(),
            _turn: turn,
        }
    }

    fn run(&mut self, input: &Input) {
        for (i, piece) in input.pieces.iter().enumerate() {
            if i == 0 {
                let text = sniff::without_bom(&piece.bytes);
                let start = piece.bytes.len() - text.len() + self.plan.start;
                self.reading.start = start as u64;
                let stop = self.end_of_table(piece, start);
                if self.whole {
                    self.reading.end = stop;
                }
                let is_above = self.plan.doubt == Some(Doubt::Data);
                self.piece(piece, start, self.plan.skip + usize::from(is_above), stop);
            } else if let Some(start) = self.entry(&piece.bytes) {
                let stop = self.end_of_table(piece, start);
                self.piece(piece, start, 0, stop);
            }
        }
    }

    /// Where the table ends in a piece, from byte `start` on, if other lines follow it; they are
    /// noted. Of a text that is not read to its end nothing is known of what follows.
    fn end_of_table(&mut self, piece: &Piece, start: usize) -> Option<u64> {
        let text = piece.to_end.then(|| &piece.bytes[start..])?;
        let skip = self.plan.skip;
        let above = self.whole.then_some(Above { skip });
        let footer = footer::find(&self.plan.dialect, self.columns.len(), text, above)?;
        self.notes.extend(footer.notes);
        Some(footer.start as u64)
    }

    /// Reads a piece's rows from byte `start` on, but for the first `skip`, up to `stop` bytes
    /// further. A row that the piece cuts off is left out, so every row is read only after the next
    /// one has begun.
    fn piece(&mut self, piece: &Piece, start: usize, skip: usize, stop: Option<u64>) {
        let text = &piece.bytes[start..];
        let offset = piece.offset + start as u64;
        let lines_above = piece.bytes[..start].iter().filter(|it| **it == b'\n');
        let lines_above = lines_above.count() as u64;
        let mut reader = Rows::new(self.plan.dialect, text, piece.to_end);
        let (mut row, mut next) = (ByteRecord::new(), ByteRecord::new());
        for left in (0..skip).rev() {
            let from = reader.byte() as u64;
            if !reader.read(&mut row) {
                return;
            }
            self.unclosed.note(reader.unclosed, lines_above);
            if left == 0 && self.plan.doubt.is_some() {
                self.keep_first(&row, offset + from);
            }
        }
        let (mut from, mut line) = (reader.byte() as u64, reader.line());
        let mut more = reader.read(&mut row);
        while more && stop.is_none_or(|stop| from < stop) {
            let (to, next_line, unclosed) = (reader.byte() as u64, reader.line(), reader.unclosed);
            more = reader.read(&mut next);
            if more || piece.to_end {
                self.longest_row = self.longest_row.max(next_line - line);
                self.unclosed.note(unclosed, lines_above);
                self.row(&row, offset + from, to - from);
            }
            (from, line) = (to, next_line);
            std::mem::swap(&mut row, &mut next);
        }
    }

    /// Where to enter a piece that starts anywhere in a row.
    fn entry(&self, bytes: &[u8]) -> Option<usize> {
        let lines = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(i, _)| i + 1);
        let mut first = None;
        for start in lines.take(ENTRIES) {
            first.get_or_insert(start);
            if fits(&self.plan.dialect, self.columns.len(), &bytes[start..]) {
                return Some(start);
            }
        }
        first
    }

    /// Keeps a row that may be the header as well as the first one of data. It counts as the first
    /// row whatever it is, so that what is drawn of the others does not depend on it.
    fn keep_first(&mut self, record: &ByteRecord, offset: u64) {
        let number = if self.whole { 0 } else { offset };
        let priority = self.sampler.priority(number);
        let nulls = Nulls::of(Declaration::reading_of(self.declared.as_ref()));
        let cells = (0..self.columns.len()).map(|i| cell(record, i, nulls));
        let cut = |mut cell: Option<String>| {
            cell.iter_mut().for_each(|it| truncate(it, CELL_CHARS));
            cell
        };
        self.reading.first = Some(FirstRow {
            row: SampledRow {
                priority,
                row: number,
                values: cells.map(cut).collect(),
            },
            is_data: self.plan.doubt == Some(Doubt::Data),
        });
    }

    fn row(&mut self, record: &ByteRecord, offset: u64, bytes: u64) {
        let (columns, width) = (self.columns.len(), record.len());
        if is_blank(record, columns) {
            self.blank += u64::from(width > 1);
            self.row_bytes += bytes;
            return;
        }
        if repeats(record, self.plan.header.iter().map(String::as_bytes)) {
            self.headers += 1;
            self.row_bytes += bytes;
            return;
        }
        let nulls = Nulls::of(Declaration::reading_of(self.declared.as_ref()));
        if let Some(again) = &mut self.again {
            again.row(record, nulls);
            return;
        }
        if width != columns && !(width == columns + 1 && ends_empty(record)) {
            self.ragged.note(width, columns);
        }
        let before = u64::from(self.reading.first.is_some());
        let number = if self.whole {
            self.rows + before
        } else {
            offset
        };
        self.rows += 1;
        self.row_bytes += bytes;
        for (column, cell) in self.columns.iter_mut().zip(record) {
            let cell = cell.trim_ascii();
            match std::str::from_utf8(cell) {
                Ok(text) => column.push((!nulls.has(text)).then_some(text)),
                Err(_) => {
                    self.garbled += 1;
                    column.push(Some(&String::from_utf8_lossy(cell)));
                }
            }
        }
        for column in self.columns.iter_mut().skip(width) {
            column.push(None);
        }
        if let Some(priority) = self.sampler.wants(number) {
            let cells = (0..columns).map(|i| cell(record, i, nulls)).collect();
            self.sampler.keep(priority, number, cells);
        }
    }

    /// The sample, without the cells that were read as nulls.
    fn sample(sampler: RowSampler, again: Option<&Again>) -> RowSample {
        let mut sample = sampler.finish();
        let mut plain = String::new();
        for (i, column) in again.into_iter().flat_map(Again::with_nulls) {
            for row in &mut sample.rows {
                let cell = row.values.get_mut(i);
                let mut is_null = |cell: &str| column.is_null(cell, &mut plain);
                if let Some(cell) = cell.filter(|cell| cell.as_deref().is_some_and(&mut is_null)) {
                    *cell = None;
                }
            }
        }
        sample
    }

    /// The columns' summaries: of the second reading where there was one and all values fitted.
    fn summaries(
        columns: Vec<ColumnBuilder>,
        again: Option<Again>,
        exact: bool,
    ) -> Vec<ColumnSummary> {
        let again = again.map_or_else(Vec::new, Again::into_columns);
        let again = again
            .into_iter()
            .chain(std::iter::repeat_with(Column::default));
        let columns = columns.into_iter().zip(again);
        columns
            .map(|(column, again)| again.finish(column, exact))
            .collect()
    }

    /// Whether there are rows, and nearly all have the header's width.
    pub(super) fn is_even(&self) -> bool {
        self.rows > 0 && self.ragged.rows * 20 <= self.rows
    }

    pub(super) fn finish(mut self, input: &Input) -> Result<FileSummary, Failure> {
        let columns = self.columns.len();
        if self.rows == 0 && !self.whole {
            return Err(input.endless_row());
        }
        if self.ragged.is_hopeless(self.rows) {
            let widths = &self.ragged.widths;
            let (least, most) = (
                widths.keys().next().unwrap_or(&0),
                widths.keys().last().unwrap_or(&0),
            );
            return Err(Failure::new(
                FileErrorKind::Ragged,
                format!(
                    "{} of {} do not have the header's {columns} columns but {least} to {most}",
                    self.ragged.rows,
                    counted(self.rows, "row"),
                ),
            ));
        }
        self.notes.extend(self.unclosed.summary(self.whole));
        if self.ragged.rows > 0 {
            let rows = counted(self.ragged.rows, "row");
            self.notes.push(format!(
                "{rows} of another width than the header: padded or cut"
            ));
        }
        if self.blank > 0 {
            let rows = counted(self.blank, "row");
            self.notes
                .push(format!("{rows} without any value left out"));
        }
        if self.headers > 0 {
            self.notes.push(format!(
                "the header stands {} more within the table: left out",
                counted(self.headers, "time")
            ));
        }
        self.notes.extend(self.again.iter().flat_map(Again::notes));
        self.notes.extend(input.notes.iter().cloned());
        if self.garbled > 0 {
            self.notes
                .push(format!("{} not in UTF-8", counted(self.garbled, "cell")));
        }
        let mut rows = self.rows;
        if !self.whole {
            let (all, note) = input.extrapolate(self.rows, self.row_bytes);
            rows = all;
            self.notes.push(note);
        }
        let sample = Scan::sample(self.sampler, self.again.as_ref());
        Ok(FileSummary {
            columns: Scan::summaries(self.columns, self.again, self.whole),
            rows,
            rows_exact: self.whole,
            sample,
            approximate: !self.whole,
            notes: self.notes,
            description: None,
            keys: DeclaredKeys::default(),
            presumed_names: self.plan.is_presumed,
            reading: Some(Box::new(TextReading {
                encoding: input.encoding.map(str::to_owned),
                ..self.reading
            })),
            ..FileSummary::default()
        })
    }
}
