//! `limn diff`: what changed of a lake's tables between two snapshots.

use std::io::{self, Write};

use anyhow::bail;
use chrono::Utc;
use limn_segment::diff::{ContextChange, RowsChange, SchemaChange, TableChange, TableChanges};
use limn_segment::{ChangeReader, IndexStore, Snapshot, Within};
use serde::Serialize;

use crate::Outcome;
use crate::args::DiffArgs;
use crate::commands::{known, newest, print_json};
use crate::progress::say;
use crate::text::{Style, count, fit, one_line, plural, utc};

/// Characters of a context's text that a terminal is shown.
const CONTEXT_CHARS: usize = 120;
/// Names of tables that a terminal is shown of those that one table replaces.
const REPLACED_SHOWN: usize = 3;

pub async fn run(args: DiffArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let to = match args.to {
        Some(number) => index.snapshot(number).await?,
        None => newest(&index).await?,
    };
    let prefix = args.under.prefix.as_deref().unwrap_or_default();
    let within = Within {
        paths: &|_| vec![prefix.to_owned()],
        allows: &|_| true,
    };
    let older = older(&index, &args, &to).await?;
    let reader = ChangeReader::new(index.clone());
    let Some((from, changes)) = reader.since_last(&older, &to, &within).await? else {
        bail!(
            "the index has no snapshot before {}: limn snapshots lists what there is",
            to.number
        )
    };
    if changes.is_empty() && !prefix.is_empty() {
        let nothing = known::nothing_under(&index, &to, prefix).await?;
        nothing.iter().for_each(|it| say(it));
    }
    if args.output.json {
        print_json(&Report {
            from: End::of(&from),
            to: End::of(&to),
            changes: &changes,
        })?;
    } else {
        print(&from, &to, &changes)?;
    }
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Report<'a> {
    from: End,
    to: End,
    #[serde(flatten)]
    changes: &'a TableChanges,
}

#[derive(Serialize)]
struct End {
    snapshot: u64,
    created_ms: i64,
}

impl End {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            snapshot: snapshot.number,
            created_ms: snapshot.created_ms,
        }
    }
}

/// The snapshots that `to` is compared with: the first of them that differs in a table, or else the
/// first.
async fn older(index: &IndexStore, args: &DiffArgs, to: &Snapshot) -> anyhow::Result<Vec<u64>> {
    if let Some(number) = args.from {
        if number > to.number {
            // A table that does not exist is reported as such.
            index.snapshot(number).await?;
            bail!(
                "snapshot {number} is newer than {}: name the older one first",
                to.number
            );
        }
        return Ok(vec![number]);
    }
    let Some(time) = args.since else {
        return Ok(index.snapshots_before(to.number).await?);
    };
    let ago = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let before = Utc::now().timestamp_millis().saturating_sub(ago);
    let found = index.snapshot_before(to.number, before).await?;
    if found.as_ref().is_some_and(|it| it.number == 0) {
        say("the index is younger than --since says: all of its tables are new");
    } else if let Some(oldest) = found.as_ref().filter(|it| it.created_ms > before) {
        say(&format!(
            "the index has no snapshot that is as old as --since says: compared with its oldest, {}",
            oldest.number
        ));
    }
    Ok(found.into_iter().map(|it| it.number).collect())
}

fn print(from: &Snapshot, to: &Snapshot, changes: &TableChanges) -> io::Result<()> {
    let style = Style::of_stdout();
    let mut out = io::stdout().lock();
    let parts: Vec<String> = [
        (changes.appeared.len(), "appeared"),
        (changes.renamed.len(), "renamed"),
        (changes.changed.len(), "changed"),
        (changes.vanished.len(), "vanished"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", count(number as u64)))
    .collect();
    let what = if parts.is_empty() {
        "no table differs".to_owned()
    } else {
        parts.join(", ")
    };
    let published = utc(to.created_ms);
    match from.number {
        0 => writeln!(
            out,
            "an empty index, before the first snapshot, to snapshot {} ({published}): {what}",
            to.number,
        )?,
        number => writeln!(
            out,
            "snapshot {number} ({}) to {} ({published}): {what}",
            utc(from.created_ms),
            to.number,
        )?,
    }
    for table in &changes.appeared {
        let rows = table.rows.map(|rows| plural(rows, "row"));
        writeln!(
            out,
            "+ {}  {}, {}",
            style.bold(&one_line(&table.table)),
            rows.unwrap_or_else(|| "? rows".to_owned()),
            plural(table.columns as u64, "column"),
        )?;
        if let Some(line) = replaces_line(&table.replaces) {
            writeln!(out, "    {line}")?;
        }
    }
    for table in &changes.renamed {
        writeln!(
            out,
            "> {}  was {}",
            style.bold(&one_line(&table.to)),
            one_line(&table.from)
        )?;
    }
    for table in &changes.changed {
        writeln!(out, "~ {}", style.bold(&one_line(&table.table)))?;
        for line in lines(table) {
            writeln!(out, "    {line}")?;
        }
    }
    for table in &changes.vanished {
        writeln!(out, "- {}", style.bold(&one_line(&table.table)))?;
    }
    out.flush()
}

/// What is to be said of a table that differs.
fn lines(change: &TableChange) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(change.schema.as_ref().map(schema_line));
    lines.extend(change.rows.as_ref().map(rows_line));
    lines.extend(change.context.as_ref().map(context_line));
    lines.extend(change.readable.as_ref().map(|it| match &it.error {
        Some(error) => format!("its newest version cannot be read: {}", one_line(error)),
        None => "can be read again".to_owned(),
    }));
    lines.extend(replaces_line(&change.replaces));
    lines
}

/// The removed tables whose files this one has.
fn replaces_line(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names
        .iter()
        .take(REPLACED_SHOWN)
        .map(|it| one_line(it))
        .collect();
    let more = if names.len() > shown.len() {
        ", …"
    } else {
        ""
    };
    let tables = plural(names.len() as u64, "table");
    (!names.is_empty()).then(|| format!("in place of {tables}: {}{more}", shown.join(", ")))
}

fn schema_line(change: &SchemaChange) -> String {
    let name = |name: &String| one_line(name);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(change.added.iter().map(|it| format!("+{}", name(it))));
    parts.extend(change.dropped.iter().map(|it| format!("-{}", name(it))));
    let renamed = change.renamed.iter();
    parts.extend(renamed.map(|it| format!("{} is now {}", name(&it.from), name(&it.to))));
    let retyped = change.retyped.iter();
    parts.extend(retyped.map(|it| {
        format!(
            "{} is {} (was {})",
            name(&it.column),
            name(&it.to),
            name(&it.from)
        )
    }));
    if change.reordered {
        parts.push("in another order".to_owned());
    }
    format!("columns: {}", parts.join(", "))
}

fn rows_line(change: &RowsChange) -> String {
    let rows = |rows: Option<u64>| rows.map_or_else(|| "?".to_owned(), count);
    let files: Vec<String> = [
        (change.files_added, "new"),
        (change.files_changed, "changed"),
        (change.files_removed, "removed"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", plural(number as u64, "file")))
    .collect();
    let files = if files.is_empty() {
        String::new()
    } else {
        format!(" ({})", files.join(", "))
    };
    if change.from == change.to {
        return format!("rows: {}, as many as before{files}", rows(change.to));
    }
    format!("rows: {} to {}{files}", rows(change.from), rows(change.to))
}

fn context_line(change: &ContextChange) -> String {
    let texts = |sign: char, texts: &[String]| -> Vec<String> {
        let texts = texts.iter();
        texts
            .map(|text| format!("{sign}\"{}\"", fit(&one_line(text), CONTEXT_CHARS)))
            .collect()
    };
    let both = [texts('+', &change.added), texts('-', &change.removed)].concat();
    format!("context: {}", both.join(", "))
}
