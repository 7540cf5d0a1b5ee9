//! The rows of a stage as the model gets them: columns of the instruction as texts, and which rows
//! have the same ones.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, LargeStringArray, LargeStringBuilder, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use xxhash_rust::xxh3::Xxh3;

use super::error::SemanticError;
use super::question::shown_name;

/// Names that are suggested, at most, and how like they have to be.
const SUGGESTED: usize = 3;
const LIKENESS: f64 = 0.6;

/// Columns of rows, as texts.
pub(super) struct Texts {
    /// The columns' names as the instruction writes them, and as prompts show them.
    pub(super) columns: Vec<String>,
    pub(super) names: Vec<String>,
    values: Vec<LargeStringArray>,
    rows: usize,
}

/// Rows that have the same texts, as one.
pub(super) struct Distinct {
    /// For each row its place in `firsts`; `None` where no column has a value.
    pub(super) of_row: Vec<Option<usize>>,
    /// The first row of each.
    pub(super) firsts: Vec<usize>,
}

impl Texts {
    /// The columns of these names, shown as `shown` calls them.
    pub(super) fn new(
        batch: &RecordBatch,
        columns: &[(String, usize)],
    ) -> Result<Texts, SemanticError> {
        let texts = columns.iter().map(|(_, at)| text(batch.column(*at)));
        Ok(Texts {
            names: columns.iter().map(|(name, _)| shown_name(name)).collect(),
            columns: columns.iter().map(|(name, _)| name.clone()).collect(),
            values: texts.collect::<Result<_, ArrowError>>()?,
            rows: batch.num_rows(),
        })
    }

    /// The values of a row.
    pub(super) fn row(&self, row: usize) -> Vec<Option<&str>> {
        let value =
            |column: &LargeStringArray| -> Option<usize> { column.is_valid(row).then_some(row) };
        let columns = self.values.iter();
        columns
            .map(|column| value(column).map(|row| column.value(row)))
            .collect()
    }

    /// The values of a row in one text, for an embedder.
    pub(super) fn plain(&self, row: usize) -> String {
        let values: Vec<&str> = self.row(row).into_iter().flatten().collect();
        values.join(" ")
    }

    pub(super) fn distinct(&self) -> Distinct {
        let mut firsts = Vec::new();
        let mut known: HashMap<u128, usize> = HashMap::new();
        let of_row = (0..self.rows).map(|row| {
            if !self.values.iter().any(|column| column.is_valid(row)) {
                return None;
            }
            Some(*known.entry(self.hash(row)).or_insert_with(|| {
                firsts.push(row);
                firsts.len() - 1
            }))
        });
        Distinct {
            of_row: of_row.collect(),
            firsts,
        }
    }

    /// Rows by their texts, groups in the order in which they come first. Without columns all rows
    /// are one group, if there are any.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<u128, usize> = HashMap::new();
        for row in 0..self.rows {
            let group = *known.entry(self.hash(row)).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(row);
        }
        groups
    }

    fn hash(&self, row: usize) -> u128 {
        let mut hash = Xxh3::new();
        for column in &self.values {
            match column.is_valid(row) {
                false => hash.update(&[0]),
                true => {
                    let value = column.value(row).as_bytes();
                    hash.update(&[1]);
                    hash.update(&(value.len() as u64).to_le_bytes());
                    hash.update(value);
                }
            }
        }
        hash.digest128()
    }
}

impl Distinct {
    /// How many rows have no value to be asked about.
    pub(super) fn without_values(&self) -> usize {
        self.of_row.iter().filter(|it| it.is_none()).count()
    }
}

/// A column's values as texts.
fn text(column: &ArrayRef) -> Result<LargeStringArray, ArrowError> {
    let options = FormatOptions::default();
    let format = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let mut texts = LargeStringBuilder::with_capacity(column.len(), 0);
    for row in 0..column.len() {
        match column.is_valid(row) {
            true => texts.append_value(format.value(row).try_to_string()?),
            false => texts.append_null(),
        }
    }
    Ok(texts.finish())
}

/// The place of each named column, with its name.
///
/// # Errors
/// A column that is not there, with those that are like it.
pub(super) fn places(
    schema: &Schema,
    names: &[&str],
) -> Result<Vec<(String, usize)>, SemanticError> {
    let place = |name: &&str| match place(schema, name) {
        Some(at) => Ok(((*name).to_owned(), at)),
        None => Err(unknown(
            name,
            schema.fields().iter().map(|it| it.name().clone()),
        )),
    };
    names.iter().map(place).collect()
}

/// The place of a column: of this name, or of the one that is it but for case.
pub(super) fn place(schema: &Schema, name: &str) -> Option<usize> {
    let fields = schema.fields();
    if let Some(at) = fields.iter().position(|field| field.name() == name) {
        return Some(at);
    }
    let folded = name.to_lowercase();
    let mut alike = (0..fields.len()).filter(|at| fields[*at].name().to_lowercase() == folded);
    match (alike.next(), alike.next()) {
        (Some(at), None) => Some(at),
        _ => None,
    }
}

/// The error of a column that is not there.
pub(super) fn unknown(name: &str, known: impl Iterator<Item = String>) -> SemanticError {
    let known: Vec<String> = known.collect();
    let wanted = name.to_lowercase();
    let mut near: Vec<(f64, &String)> = known
        .iter()
        .map(|it| (strsim::jaro_winkler(&wanted, &it.to_lowercase()), it))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = near.into_iter().take(SUGGESTED).map(|(_, it)| it.clone());
    SemanticError::UnknownColumn {
        name: name.to_owned(),
        near: near.collect(),
        known,
    }
}

/// Rows with columns more.
pub(super) fn with_columns(
    batch: &RecordBatch,
    schema: SchemaRef,
    more: Vec<ArrayRef>,
) -> Result<RecordBatch, SemanticError> {
    let mut columns = batch.columns().to_vec();
    columns.extend(more);
    Ok(RecordBatch::try_new(schema, columns)?)
}
