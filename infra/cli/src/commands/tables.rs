//! `limn tables`: what an index holds.

use std::io::{self, Write};

use limn_segment::{IndexStore, TableRecord, is_under};

use crate::Outcome;
use crate::args::TablesArgs;
use crate::commands::{known, newest, print_json, show};
use crate::progress::say;
use crate::table::Table;
use crate::text::{count, plural};

pub async fn run(args: TablesArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let mut tables = index.tables(&snapshot, None).await?;
    if let Some(prefix) = &args.under.prefix {
        tables.retain(|table| is_under(&table.name, prefix));
        if tables.is_empty() {
            let nothing = known::nothing_under(&index, &snapshot, prefix).await?;
            nothing.iter().for_each(|it| say(it));
        }
    }
    if let Some(like) = &args.like {
        let families = show::meant(&tables, like.trim_end_matches('/'))?;
        let families: Vec<Family> = families.into_iter().map(Family::of).collect();
        tables.retain(|table| families.contains(&Family::of(table)));
    }
    if args.output.json {
        let rows: Vec<serde_json::Value> = tables.iter().map(summary).collect();
        print_json(&rows)?;
    } else {
        print(&tables)?;
    }
    Ok(Outcome::Done)
}

/// What tables of one family have in common.
#[derive(PartialEq)]
struct Family {
    lake: String,
    folder: String,
    columns: Vec<String>,
}

impl Family {
    fn of(table: &TableRecord) -> Family {
        let folder = table.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let columns = table.columns.iter();
        Family {
            lake: table.lake.clone(),
            folder: folder.to_owned(),
            columns: columns.map(|it| it.name.to_lowercase()).collect(),
        }
    }
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
        "files": table.whole_files().len(),
        "contexts": contexts(table),
        "narrated_columns": narrated(table),
        "awaits_narration": table.awaits_narration,
        "error": table.error,
    })
}

/// Contexts that say anything of a table.
fn contexts(table: &TableRecord) -> usize {
    let contexts = table.contexts.iter();
    contexts.filter(|context| !context.text.is_empty()).count()
}

/// Columns that a language model has described.
fn narrated(table: &TableRecord) -> usize {
    let columns = table.columns.iter();
    columns.filter(|column| column.narration.is_some()).count()
}

fn print(tables: &[TableRecord]) -> io::Result<()> {
    let mut header = vec!["table", "format", "rows", "columns", "files", "contexts"];
    // Of interest only where there are several, whose tables may have equal names.
    let has_lakes = tables.iter().any(|table| table.lake != tables[0].lake);
    // Of interest only where a language model narrates.
    let is_narrated = |table: &TableRecord| table.awaits_narration || narrated(table) > 0;
    let is_narrated = tables.iter().any(is_narrated);
    if is_narrated {
        header.push("narrated");
    }
    if has_lakes {
        header.push("lake");
    }
    let right: &[usize] = if is_narrated {
        &[2, 3, 4, 5, 6]
    } else {
        &[2, 3, 4, 5]
    };
    let mut listing = Table::new(&header, right);
    for table in tables {
        let rows = match (table.rows, table.rows_exact) {
            (Some(rows), true) => count(rows),
            (Some(rows), false) => format!("~{}", count(rows)),
            (None, _) => "?".to_owned(),
        };
        let mut row = vec![
            table.name.clone(),
            if table.error.is_some() {
                "unreadable".to_owned()
            } else {
                table.format.clone()
            },
            rows,
            table.columns.len().to_string(),
            table.whole_files().len().to_string(),
            contexts(table).to_string(),
        ];
        if is_narrated {
            let more = if table.awaits_narration {
                " so far"
            } else {
                ""
            };
            row.push(format!("{}{more}", narrated(table)));
        }
        if has_lakes {
            row.push(table.lake.clone());
        }
        listing.row(row);
    }
    let mut out = io::stdout().lock();
    if !tables.is_empty() {
        listing.write(&mut out)?;
    }
    writeln!(out, "{}", plural(tables.len() as u64, "table"))?;
    out.flush()
}
