//! Trying a statement: what it gives, within limits, or why not.

use async_trait::async_trait;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::plan::{Column, SqlStage, Stage};

/// Rows of a result that are kept to be shown.
pub const SHOWN: usize = 5;

/// Runs statements over the tables that they name as inputs, and no others, within limits.
#[async_trait]
pub trait TryOut: Send + Sync {
    /// Runs a statement.
    ///
    /// # Errors
    /// It is refused, or ends without a result.
    async fn run(&self, stage: &SqlStage) -> Result<Tried, Refusal>;

    /// Checks a plan, whose last stage has its answer: the stages, each with its columns.
    ///
    /// # Errors
    /// A stage is refused.
    async fn check(&self, stages: &[Stage]) -> Result<Vec<Stage>, Refusal>;
}

/// Why a statement has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In a line, as a model reads it, too.
    pub line: String,
    /// What may be changed for it, where there is one thing.
    pub mend: Option<Mend>,
    /// The column that the tables do not have where the statement looks for it.
    pub column: Option<String>,
    /// Whether the statement is to blame, and not the rows, limits or machine.
    pub is_of_statement: bool,
}

/// A change that may make a statement right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// A name is spelled in another way.
    Name {
        /// As it was written.
        written: String,
        /// As it is spelled.
        meant: String,
    },
    /// A table has an alias, and is called by its name.
    Source {
        /// What is written before a column.
        written: String,
    },
    /// What is in double quotes is a text.
    Text {
        /// What is in the quotes.
        written: String,
    },
}

/// How much a result says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// It has no row, or nothing but nulls.
    Empty,
    /// One row of zeros: what counts where a condition holds of no row.
    Zero,
    /// More than that.
    Says,
}

/// What a statement gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its first rows; a cell that is null has no text.
    pub rows: Vec<Vec<Option<String>>>,
    /// How many rows it has, as far as they were read.
    pub count: u64,
    /// Whether there are more than were read.
    pub is_cut: bool,
    /// Whether the statement says their order.
    pub is_ordered: bool,
    /// Whether its first column has a NULL.
    pub(super) has_null: bool,
    worth: Worth,
    in_order: u128,
    in_any_order: u128,
}

impl Tried {
    /// A result without rows.
    #[must_use]
    pub fn new(columns: Vec<Column>, is_ordered: bool) -> Tried {
        Tried {
            columns,
            rows: Vec::new(),
            count: 0,
            is_cut: false,
            is_ordered,
            has_null: false,
            worth: Worth::Empty,
            in_order: 0,
            in_any_order: 0,
        }
    }

    /// Adds the next row.
    pub fn push(&mut self, row: Vec<Option<String>>) {
        self.has_null |= row.first().is_some_and(Option::is_none);
        let mut hash = Xxh3::new();
        for (at, cell) in row.iter().enumerate() {
            let of_numbers = self.columns.get(at).is_some_and(is_number);
            match cell {
                None => hash.update(&[0]),
                Some(text) => {
                    let is_zero = of_numbers && text.parse() == Ok(0.0);
                    self.worth = self.worth.max(match is_zero {
                        true => Worth::Zero,
                        false => Worth::Says,
                    });
                    let text = if of_numbers { number(text) } else { None }
                        .unwrap_or_else(|| text.clone());
                    hash.update(&[1]);
                    hash.update(&(text.len() as u64).to_le_bytes());
                    hash.update(text.as_bytes());
                }
            }
        }
        let row_hash = hash.digest128();
        // As many rows as may come: sums of hashes do not depend on the order.
        self.in_any_order = self.in_any_order.wrapping_add(row_hash);
        let mut both = self.in_order.to_le_bytes().to_vec();
        both.extend(row_hash.to_le_bytes());
        self.in_order = xxh3_128(&both);
        self.count += 1;
        if self.rows.len() < SHOWN {
            self.rows.push(row);
        }
    }

    /// How much it says.
    #[must_use]
    pub fn worth(&self) -> Worth {
        match self.worth {
            Worth::Zero if self.count > 1 => Worth::Says,
            worth => worth,
        }
    }

    /// Whether both have the same rows: in the same order where both say one. Results of which
    /// there is more are not compared.
    #[must_use]
    pub fn agrees(&self, other: &Tried) -> bool {
        let is_same = match self.is_ordered && other.is_ordered {
            true => self.in_order == other.in_order,
            false => self.in_any_order == other.in_any_order,
        };
        is_same
            && self.count == other.count
            && self.columns.len() == other.columns.len()
            && !self.is_cut
            && !other.is_cut
    }
}

fn is_number(column: &Column) -> bool {
    matches!(column.data_type.as_str(), "integer" | "float" | "decimal")
}

/// A number so that equal ones are written alike: sums may differ in their last digits with the
/// order in which they are made. Whole numbers that are larger than floats are exact for stay.
fn number(text: &str) -> Option<String> {
    const EXACT: u64 = 1 << 53;
    if let Ok(whole) = text.parse::<i128>()
        && whole.unsigned_abs() > u128::from(EXACT)
    {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    // 0 and -0 are the same.
    let number = if number == 0.0 { 0.0 } else { number };
    Some(match number.fract() == 0.0 && number.abs() < EXACT as f64 {
        true => format!("{number:.0}"),
        false => format!("{number:.9e}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[Option<&str>]], data_type: &str, is_ordered: bool) -> Tried {
        let width = rows.first().map_or(1, |row| row.len());
        let column = |at| Column {
            name: format!("c{at}"),
            data_type: data_type.to_owned(),
        };
        let mut tried = Tried::new((0..width).map(column).collect(), is_ordered);
        for row in rows {
            tried.push(row.iter().map(|it| it.map(str::to_owned)).collect());
        }
        tried
    }

    #[test]
    fn order_counts_where_both_say_one() {
        let (up, down): (&[&[_]], &[&[_]]) =
            (&[&[Some("a")], &[Some("b")]], &[&[Some("b")], &[Some("a")]]);
        assert!(of(up, "text", false).agrees(&of(down, "text", true)));
        assert!(!of(up, "text", true).agrees(&of(down, "text", true)));
        let twice: &[&[_]] = &[&[Some("a")], &[Some("a")]];
        assert!(!of(up, "text", false).agrees(&of(twice, "text", false)));
        let mut cut = of(up, "text", false);
        cut.is_cut = true;
        assert!(!cut.agrees(&cut.clone()));
    }

    #[test]
    fn numbers_agree_however_they_are_written_and_cells_do_not_run_together() {
        let one = |text| of(&[&[Some(text)]], "float", false);
        assert!(one("3").agrees(&one("3.0")) && one("-0").agrees(&one("0.0")));
        assert!(one("0.1").agrees(&one("0.10000000000000001")));
        assert!(!one("9007199254740993").agrees(&one("9007199254740992")));
        let two = |a, b| of(&[&[Some(a), Some(b)]], "text", false);
        assert!(!two("ab", "c").agrees(&two("a", "bc")));
    }

    #[test]
    fn a_count_of_nothing_says_less_than_another() {
        let worth = |rows: &[&[Option<&str>]], of_type| of(rows, of_type, false).worth();
        assert_eq!(worth(&[], "text"), Worth::Empty);
        assert_eq!(worth(&[&[None], &[None]], "integer"), Worth::Empty);
        assert_eq!(worth(&[&[Some("0")]], "integer"), Worth::Zero);
        assert_eq!(worth(&[&[Some("0")], &[Some("0")]], "integer"), Worth::Says);
        assert_eq!(worth(&[&[Some("0")]], "text"), Worth::Says);
        assert_eq!(worth(&[&[Some("0"), Some("a")]], "integer"), Worth::Says);
    }
}
