//! `limn show --why`: why a table is what it is, and why its files are read as they are.

use std::io::{self, Write};

use limn_lake::why::Why;
use limn_segment::TableRecord;
use limn_sql::why_of;
use serde_json::json;

use crate::Outcome;
use crate::commands::print_json;
use crate::table::Table;
use crate::text::{Style, one_line, plural};

/// Explains these tables, `tables` being all of the index.
pub fn explain(
    found: &[&TableRecord],
    tables: &[TableRecord],
    is_json: bool,
) -> anyhow::Result<Outcome> {
    let mut explanation = Vec::new();
    for table in found {
        let why = why_of(table, tables, true)?;
        if is_json {
            explanation.push(json!({"table": table.name, "lake": table.lake, "why": why}));
        } else {
            print(table, &why)?;
        }
    }
    if is_json {
        print_json(&explanation)?;
    }
    Ok(Outcome::Done)
}

fn print(table: &TableRecord, why: &Why) -> io::Result<()> {
    let style = Style::of_stdout();
    let mut out = io::stdout().lock();
    let name = style.bold(&one_line(&table.name));
    writeln!(out, "{name}  {}", style.dim(&one_line(&table.location)))?;
    writeln!(out, "{}", one_line(&why.explanation))?;
    let mut list = |title: &str, lines: Vec<String>| -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{}", style.dim(title))?;
        lines
            .iter()
            .try_for_each(|line| writeln!(out, "{}", one_line(line)))
    };
    list("people declare", why.declared.clone())?;
    let apart = why.apart.iter();
    let apart = apart.map(|it| format!("{}: {}", it.table, it.explanation));
    list("named alike, and of another table", apart.collect())?;
    let readings = why.readings.iter().map(|it| {
        let files = plural(it.files, "file");
        let first = it.first.as_deref().unwrap_or_default();
        match it.files {
            1 => format!("{first}: {}", it.explanation),
            _ => format!("{files}, the first is {first}: {}", it.explanation),
        }
    });
    list("how its files are read", readings.collect())?;
    list("what to know", table.notes.clone())?;
    writeln!(out)?;
    let mut columns = Table::new(&["column", "type", "follows"], &[]);
    for column in &why.columns {
        let cells = [&column.name, &column.data_type, &column.explanation];
        columns.row(cells.map(String::clone).to_vec());
    }
    columns.write(&mut out)?;
    out.flush()
}
