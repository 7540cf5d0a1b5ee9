//! `limn sql`: the tables of an index, asked in SQL.

mod written;

use std::io::{self, Read, Write};

use anyhow::Context;
use futures::TryStreamExt;
use limn_formats::{Confined, ReadOptions};
use limn_segment::IndexStore;
use limn_sql::cells::{Cells, is_number, json_text, type_word};
use limn_sql::written::{cells_of, json_rows};
use limn_sql::{Answer, Catalogue, Engine, Lake, Limits, SqlError};
use limn_store::{Access, Store};

use crate::Outcome;
use crate::args::SqlArgs;
use crate::commands::newest;
use crate::progress::say;
use crate::table::Table;
use crate::text::{one_line, plural};

/// Rows that are printed where nobody says how many.
const PRINTED: u64 = 10_000;
/// Temporary files may take so many times the memory.
pub const SPILLED: u64 = 10;
/// The longest statement that is read from standard input, in bytes. The engine takes fewer.
const MOST_READ: u64 = 1 << 20;

pub async fn run(args: SqlArgs) -> anyhow::Result<Outcome> {
    let statement = statement(&args.statement)?;
    let file = args.output.as_deref().map(written::Format::of);
    let file = file.transpose()?;
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let tables = index.tables(&snapshot, None).await?;
    let mut catalogue = Catalogue::new(tables, opener(args.access.to_lake()));
    if let Some(lake) = &args.lake {
        catalogue = catalogue.of_lake(lake)?;
    }
    let limits = Limits {
        max_rows: match (&args.output, args.max_rows) {
            (None, None) => Some(PRINTED),
            (_, said) => said,
        },
        timeout: args.timeout,
        memory_bytes: args.memory,
        spill_bytes: args.memory.saturating_mul(SPILLED),
    };
    let mut answer = Engine::new(catalogue, limits).run(&statement).await?;
    let written = match (file, &args.output) {
        (Some(format), Some(path)) => written::write(format, path, &mut answer).await,
        _ if args.json.json => print_json(&mut answer).await,
        _ if answer.is_plan() => print_plan(&mut answer).await,
        _ => print(&mut answer).await,
    };
    written.map_err(|error| with_command(error, &args.index.index))?;
    let (notes, read) = (answer.notes(), answer.read());
    tracing::info!(
        requests = read.requests,
        bytes = read.bytes,
        "read of the lakes"
    );
    // In JSON they are part of the answer.
    if !args.json.json || args.output.is_some() {
        notes.iter().for_each(|note| say(&format!("note: {note}")));
    }
    Ok(match answer.is_partial() {
        true => Outcome::SomeFailed,
        false => Outcome::Done,
    })
}

fn statement(said: &str) -> anyhow::Result<String> {
    if said != "-" {
        return Ok(said.to_owned());
    }
    let mut text = String::new();
    let read = io::stdin().take(MOST_READ).read_to_string(&mut text);
    read.context("the statement on standard input cannot be read")?;
    Ok(text)
}

/// An error with the command that mends it, of this index.
fn with_command(error: anyhow::Error, index: &str) -> anyhow::Error {
    match error.downcast_ref::<SqlError>() {
        Some(SqlError::Stale(stale)) => anyhow::Error::msg(stale.line(index)),
        _ => error,
    }
}

/// Opens lakes. Rows do not depend on what a lake was indexed with.
pub fn opener(access: Access) -> impl Fn(&str) -> Result<Lake, SqlError> + Send + Sync {
    move |url| {
        let store = Store::open_as(url, &access)?;
        let options = ReadOptions {
            confined: std::env::current_exe().ok().map(Confined::new),
            ..ReadOptions::default()
        };
        Ok(Lake { store, options })
    }
}

/// Prints aligned rows.
async fn print(answer: &mut Answer) -> anyhow::Result<()> {
    let schema = answer.schema();
    let fields = schema.fields();
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    let numbers = (0..fields.len()).filter(|at| is_number(fields[*at].data_type()));
    let mut table = Table::new(&names, &numbers.collect::<Vec<_>>());
    let mut rows = 0;
    while let Some(batch) = answer.try_next().await? {
        let cells = cells_of(&batch)?;
        for row in 0..batch.num_rows() {
            let text = |cell: &Cells<'_>| cell.text(row).unwrap_or_else(|| "–".to_owned());
            table.row(cells.iter().map(text).collect());
        }
        rows += batch.num_rows() as u64;
    }
    let mut out = io::stdout().lock();
    table.write(&mut out)?;
    out.flush()?;
    say(&format!("({})", plural(rows, "row")));
    Ok(())
}

/// Prints a plan: what each is in a line, and its lines below.
async fn print_plan(answer: &mut Answer) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    while let Some(batch) = answer.try_next().await? {
        let cells = cells_of(&batch)?;
        for row in 0..batch.num_rows() {
            let mut texts = cells.iter().filter_map(|cell| cell.text(row));
            let kind = texts.next().unwrap_or_default();
            out.write_all(plan_text(&kind, texts).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(())
}

fn plan_text(kind: &str, plans: impl Iterator<Item = String>) -> String {
    let mut text = format!("{}\n", one_line(kind));
    for plan in plans {
        for line in plan.lines() {
            let step = line.trim_start_matches(' ');
            let indent = " ".repeat(2 + line.len() - step.len());
            text.push_str(&format!("{indent}{}\n", one_line(step)));
        }
    }
    text
}

/// Prints the answer as JSON, row by row as they come.
async fn print_json(answer: &mut Answer) -> anyhow::Result<()> {
    let mut text = String::from("{\"columns\":[");
    for (at, field) in answer.schema().fields().iter().enumerate() {
        text.push_str(if at > 0 { ",{\"name\":" } else { "{\"name\":" });
        json_text(field.name(), &mut text);
        text.push_str(",\"type\":");
        json_text(type_word(field.data_type()), &mut text);
        text.push('}');
    }
    text.push_str("],\"rows\":[");
    let mut out = io::stdout().lock();
    let mut is_first = true;
    while let Some(batch) = answer.try_next().await? {
        json_rows(&batch, is_first, &mut text)?;
        is_first = is_first && batch.num_rows() == 0;
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    text.push_str(&format!(
        "],\n\"truncated\":{},\"notes\":[",
        answer.is_truncated()
    ));
    for (at, note) in answer.notes().iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        json_text(note, &mut text);
    }
    let read = answer.read();
    let (requests, bytes) = (read.requests, read.bytes);
    text.push_str(&format!(
        "],\"read\":{{\"requests\":{requests},\"bytes\":{bytes}}}}}\n"
    ));
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_printed_in_lines() {
        let plan = "Sort: a\n  Filter: b = '\u{1b}[31m'\n    Scan".to_owned();
        let text = plan_text("logical_plan", std::iter::once(plan));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "logical_plan",
                "  Sort: a",
                "    Filter: b = ' [31m'",
                "      Scan"
            ]
        );
    }
}
