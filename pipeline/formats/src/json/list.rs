//! The elements of lists in a row of JSON: a column of their own each, `tags[]`, or several,
//! `items[].sku`.
//!
//! The profile of such a column is of elements, so that values in lists are found and joined like
//! any others; the row's cell is a text of the first few. An element is kept until its row is
//! taken, and of a row a bounded number is.

use std::ops::Range;

use limn_profile::DataType;
use limn_profile::sample::CELL_CHARS;
use limn_profile::text::prefix;

/// Elements of a row that are looked at; more are counted.
const MOST_ELEMENTS: usize = 1 << 16;
/// The same where rows are read and not profiled: a list of more is none that fits.
pub(super) const MOST_IN_ROWS: usize = 1 << 20;
/// How much of a list is shown.
pub(super) struct Shown {
    elements: u64,
    chars: usize,
}

impl Shown {
    /// In a sample: the first few elements.
    pub(super) const SAMPLE: Shown = Shown {
        elements: 8,
        chars: CELL_CHARS,
    };
    /// All of it.
    pub(super) const ALL: Shown = Shown {
        elements: u64::MAX,
        chars: usize::MAX,
    };
}

/// An element of a list.
pub(super) struct Element {
    pub(super) column: usize,
    /// Of a date it is text until it is taken.
    pub(super) data_type: DataType,
    /// Where it is in the row's text.
    pub(super) text: Range<usize>,
}

/// The elements of the row that is being read, and how many each column has had.
pub(super) struct Elements {
    of_row: Vec<Element>,
    most: usize,
    /// By column; 0 where it is of no list.
    counts: Vec<u64>,
}

impl Default for Elements {
    fn default() -> Elements {
        Elements::of_at_most(MOST_ELEMENTS)
    }
}

impl Elements {
    /// So many of a row.
    pub(super) fn of_at_most(most: usize) -> Elements {
        Elements {
            of_row: Vec::new(),
            most,
            counts: Vec::new(),
        }
    }

    /// Makes ready for a row.
    pub(super) fn begin(&mut self) {
        self.of_row.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_row.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Element> {
        self.of_row.iter()
    }

    /// Keeps an element; false if the row has too many.
    pub(super) fn take(&mut self, element: Element) -> bool {
        let is_room = self.of_row.len() < self.most;
        if is_room {
            self.of_row.push(element);
        }
        is_room
    }

    /// Counts the elements of a row that was taken.
    pub(super) fn in_column(&mut self, column: usize, elements: u64) {
        if self.counts.len() <= column {
            self.counts.resize(column + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(column) {
            *count += elements;
        }
    }

    /// How many elements a column has had, if it is of lists.
    pub(super) fn of_column(&self, column: usize) -> Option<u64> {
        self.counts.get(column).copied().filter(|count| *count > 0)
    }

    /// Writes the row's lists, given by column and number of elements, as cells: `["a","b"]`, long
    /// ones as `[1,2,3,4,5,6,7,8,… (120 in all)]`.
    pub(super) fn show(
        &self,
        lists: impl Iterator<Item = (usize, u64)>,
        text: &str,
        most: &Shown,
        cells: &mut [Option<String>],
    ) {
        let mut shown: Vec<(usize, u64, u64)> = lists.map(|(at, all)| (at, all, 0)).collect();
        if shown.is_empty() {
            return;
        }
        shown.sort_unstable();
        for element in &self.of_row {
            let at = shown.binary_search_by_key(&element.column, |it| it.0);
            let Some((column, _, count)) = at.ok().and_then(|at| shown.get_mut(at)) else {
                continue;
            };
            *count += 1;
            let Some(cell) = cells.get_mut(*column).filter(|_| *count <= most.elements) else {
                continue;
            };
            let cell = cell.get_or_insert_with(String::new);
            cell.push(if *count == 1 { '[' } else { ',' });
            let part = prefix(
                text.get(element.text.clone()).unwrap_or_default(),
                most.chars,
            );
            match element.data_type {
                DataType::Text => cell.push_str(&serde_json::Value::from(part).to_string()),
                _ => cell.push_str(part),
            }
        }
        for (column, all, kept) in shown {
            let Some(cell) = cells.get_mut(column) else {
                continue;
            };
            // Of a row with a great many elements none of this list may have been kept.
            let cell = cell.get_or_insert_with(|| "[".to_owned());
            if all > kept.min(most.elements) {
                let comma = if kept > 0 { "," } else { "" };
                cell.push_str(&format!("{comma}… ({all} in all)"));
            }
            cell.push(']');
        }
    }
}
