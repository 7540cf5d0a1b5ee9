//! Rows for an agent: few, with long cells cut, and never more than it can read.

use serde_json::{Value, json};

use super::lines::CELL;
use crate::answers::sql::{Running, columns, json_rows};
use crate::problem::{Problem, shortened};

/// Rows, if nothing is said and at most.
pub(super) const ROWS: u64 = 50;
pub(super) const MOST: u64 = 500;
/// Notes of an answer, before one that counts the others.
const NOTES: usize = 20;
/// Bytes of the rows of an answer.
const BYTES: usize = 48 << 10;

/// The rows of a statement.
pub(super) async fn to_value(mut running: Running) -> Result<Value, Problem> {
    let mut rows: Vec<Value> = Vec::new();
    let (mut bytes, mut is_cut) = (0, false);
    'rows: while let Some(batch) = running.next().await {
        let batch = batch?;
        for at in 0..batch.num_rows() {
            let row = row(&batch.slice(at, 1))?;
            bytes += row.to_string().len();
            if bytes > BYTES && !rows.is_empty() {
                is_cut = true;
                break 'rows;
            }
            rows.push(row);
        }
    }
    let mut notes = few(running.notes());
    if is_cut {
        notes.push(format!(
            "cut after {} rows, which are much to read; choose fewer columns, or aggregate",
            rows.len()
        ));
    }
    Ok(json!({
        "columns": columns(&running.schema()),
        "rows": rows,
        "truncated": is_cut || running.is_truncated(),
        "notes": notes,
    }))
}

/// No more notes than an agent reads.
fn few(mut notes: Vec<String>) -> Vec<String> {
    let more = notes.len().saturating_sub(NOTES);
    if more > 0 {
        notes.truncate(NOTES);
        notes.push(format!("and {more} more"));
    }
    notes
}

/// A row, its long texts cut.
fn row(batch: &arrow::array::RecordBatch) -> Result<Value, Problem> {
    let mut text = String::new();
    json_rows(batch, true, &mut text)?;
    let mut row: Value = serde_json::from_str(&text).map_err(|_| Problem::internal())?;
    for cell in row.as_array_mut().into_iter().flatten() {
        let long = match cell {
            Value::String(text) => Some(shortened(text, CELL)),
            Value::Array(_) | Value::Object(_) if cell.to_string().len() > 4 * CELL => {
                Some(shortened(&cell.to_string(), CELL))
            }
            _ => None,
        };
        if let Some(text) = long {
            *cell = text.into();
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_reads_no_notes_without_end() {
        let of = |count: usize| (0..count).map(|it| it.to_string()).collect::<Vec<_>>();
        assert_eq!(few(of(NOTES)), of(NOTES));
        let kept = few(of(NOTES + 7));
        assert_eq!(kept.len(), NOTES + 1);
        assert_eq!(kept[NOTES], "and 7 more");
    }
}
