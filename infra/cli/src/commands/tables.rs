//! `limn tables`: what an index holds.

use std::io::{self, Write};

use limn_segment::{IndexStore, TableRecord, is_under};

use crate::Outcome;
use crate::args::TablesArgs;
use crate::commands::print_json;
use crate::table::Table;
use crate::text::{count, plural};

pub async fn run(args: TablesArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = index.require_newest().await?;
    let mut tables = index.tables(&snapshot, None).await?;
    if let Some(prefix) = &args.under.prefix {
        tables.retain(|table| is_under(&table.name, prefix));
    }
    if args.output.json {
        let rows: Vec<serde_json::Value> = tables.iter().map(summary).collect();
        print_json(&rows)?;
    } else {
        print(&tables)?;
    }
    Ok(Outcome::Done)
}

fn summary(table: &TableRecord) -> serde_json::Value {
    serde_json::json!({
        "table": table.name,
        "lake": table.lake,
        "location": table.location,
        "format": table.format,
        "rows": table.rows,
        "rows_exact": table.rows_exact,
        "columns": table.columns.len(),
        "files": table.files.len(),
        "contexts": table.contexts.len(),
        "error": table.error,
    })
}

fn print(tables: &[TableRecord]) -> io::Result<()> {
    let mut listing = Table::new(
        &["table", "format", "rows", "columns", "files", "contexts"],
        &[2, 3, 4, 5],
    );
    for table in tables {
        let rows = match (table.rows, table.rows_exact) {
            (Some(rows), true) => count(rows),
            (Some(rows), false) => format!("~{}", count(rows)),
            (None, _) => "?".to_owned(),
        };
        listing.row(vec![
            table.name.clone(),
            if table.error.is_some() {
                "unreadable".to_owned()
            } else {
                table.format.clone()
            },
            rows,
            table.columns.len().to_string(),
            table.files.len().to_string(),
            table.contexts.len().to_string(),
        ]);
    }
    let mut out = io::stdout().lock();
    if !tables.is_empty() {
        listing.write(&mut out)?;
    }
    writeln!(out, "{}", plural(tables.len() as u64, "table"))?;
    out.flush()
}
