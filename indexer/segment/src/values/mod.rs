//! Which values the tables of a segment hold beyond those that are written out in its texts:
//! hashes, in two orders.
//!
//! **By file** ([`TableValues`], section `file-values`): the lists of a table's columns, each as
//! its file's summary had it ([`ValueHashes`]). A run that reads one file of a table takes the
//! lists of the others from here.
//!
//! **By value** ([`index`], section `values`): the hashes of all of the segment's columns, in
//! order, each with its column. A question's value is one block of it, however many tables there
//! are.
//!
//! Both are a function of the set of tables. Hashes of columns whose values are withheld are in no
//! list by value.

use std::collections::HashMap;

use limn_profile::{FileHashes, ValueHashes};
use serde::{Deserialize, Serialize};

use crate::codec::{Cursor, put_number, put_text};
use crate::format_error::FormatError;

pub(crate) mod index;
pub(crate) mod writer;

/// Longer names of columns are cut.
const NAME: usize = 1 << 10;

/// The hashes of a table's values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableValues {
    /// Those of its columns that have any, in order.
    pub columns: Vec<ColumnValues>,
}

/// A file whose lists are published: its [id](limn_profile::file_id) there, and now. They differ
/// where its path does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedFile {
    /// There.
    pub published: u64,
    /// Now.
    pub now: u64,
}

/// The hashes of a column's values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnValues {
    /// The column's name.
    pub name: String,
    /// Whether nobody is to find the column by them: its table withholds what it holds.
    pub withheld: bool,
    /// A list of each file that has one, in the order of files.
    pub lists: Vec<FileHashes>,
}

impl TableValues {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether lists are to be taken from elsewhere.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let mut lists = self.columns.iter().flat_map(|column| &column.lists);
        lists.any(|list| list.hashes.is_none())
    }

    /// Takes lists that are missing from published tables, each those of some files. What none has
    /// is left out.
    pub fn fill(&mut self, from: &[(TableValues, Vec<PublishedFile>)]) {
        let mut known: HashMap<(u64, u32), &ValueHashes> = HashMap::new();
        for (table, files) in from {
            let mut names: HashMap<u64, Vec<u64>> = HashMap::new();
            for file in files {
                names.entry(file.published).or_default().push(file.now);
            }
            for list in table.columns.iter().flat_map(|column| &column.lists) {
                let (Some(hashes), Some(now)) = (&list.hashes, names.get(&list.file)) else {
                    continue;
                };
                known.extend(now.iter().map(|now| ((*now, list.column), hashes)));
            }
        }
        for column in &mut self.columns {
            column.lists.retain_mut(|list| {
                if list.hashes.is_none() {
                    let found = known.get(&(list.file, list.column));
                    list.hashes = found.map(|hashes| (*hashes).clone());
                }
                list.hashes.is_some()
            });
        }
        self.columns.retain(|column| !column.lists.is_empty());
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn held(&self) -> u64 {
        let column = |it: &ColumnValues| {
            let lists: u64 = it.lists.iter().map(FileHashes::held).sum();
            lists + (size_of::<ColumnValues>() + it.name.len()) as u64
        };
        self.columns.iter().map(column).sum()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_number(&mut out, self.columns.len() as u64);
        for column in &self.columns {
            let end = column.name.floor_char_boundary(NAME);
            put_text(&mut out, &column.name[..end]);
        }
        for column in &self.columns {
            out.push(u8::from(column.withheld));
            let lists = column.lists.iter();
            let lists = lists.filter_map(|list| Some((list, list.hashes.as_ref()?)));
            put_number(&mut out, lists.clone().count() as u64);
            for (list, hashes) in lists {
                out.extend_from_slice(&list.file.to_le_bytes());
                put_number(&mut out, u64::from(list.column));
                put_number(&mut out, hashes.as_bytes().len() as u64);
                out.extend_from_slice(hashes.as_bytes());
            }
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<TableValues, FormatError> {
        let mut cursor = Cursor::new(bytes);
        let names = names(&mut cursor)?;
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let withheld = match cursor.bytes(1)? {
                [0] => false,
                [1] => true,
                _ => return Err("values are neither withheld nor not".into()),
            };
            let mut lists = Vec::new();
            for _ in 0..cursor.number()? {
                let file = cursor.bytes(8)?.try_into();
                let file = u64::from_le_bytes(file.map_err(|_| "a list is of no file")?);
                let column = cursor.number_u32()?;
                let length = usize::try_from(cursor.number()?)?;
                lists.push(FileHashes {
                    file,
                    column,
                    hashes: Some(ValueHashes::of_bytes(cursor.bytes(length)?)),
                });
            }
            columns.push(ColumnValues {
                name,
                withheld,
                lists,
            });
        }
        cursor.end()?;
        Ok(TableValues { columns })
    }

    /// The name of a column, of the first bytes of what [`encode`](TableValues::encode) gives.
    pub(crate) fn column_name(bytes: &[u8], column: u32) -> Result<Option<String>, FormatError> {
        let mut cursor = Cursor::new(bytes);
        let count = cursor.number()?;
        for _ in 0..u64::from(column).min(count) {
            cursor.text()?;
        }
        match u64::from(column) < count {
            true => Ok(Some(cursor.text()?.to_owned())),
            false => Ok(None),
        }
    }
}

/// The names of a table's columns that have lists.
fn names(cursor: &mut Cursor<'_>) -> Result<Vec<String>, FormatError> {
    let count = cursor.number()?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(cursor.text()?.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
pub(crate) mod tests;
