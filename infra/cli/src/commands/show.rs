//! `limn show`: what is known of one table.

use std::io::{self, Write};
use std::path::Path;

use anyhow::bail;
use limn_formats::Declaration;
use limn_pipeline::IndexSettings;
use limn_segment::{ColumnRecord, IndexStore, KeyRecords, Snapshot, TableRecord};

use crate::Outcome;
use crate::args::ShowArgs;
use crate::commands::{known, newest, print_json, why};
use crate::table::Table;
use crate::text::{Style, count, fit, one_line, plural};

pub async fn run(args: ShowArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let tables = index.tables(&snapshot, None).await?;
    let found = meant(&tables, args.table.trim_end_matches('/'))?;
    if args.why {
        return why::explain(&found, &tables, args.output.json);
    }
    if args.output.json {
        // The files' summaries are limn's own working state, not for reading.
        let rows: Vec<TableRecord> = found.into_iter().map(without_summaries).collect();
        print_json(&rows)?;
    } else {
        for table in found {
            print(table, narrator(&snapshot, &table.lake).as_deref())?;
        }
    }
    Ok(Outcome::Done)
}

/// The tables of a name; else those at a location, or with a file of this path.
pub fn meant<'a>(tables: &'a [TableRecord], wanted: &str) -> anyhow::Result<Vec<&'a TableRecord>> {
    let find = |is_meant: &dyn Fn(&TableRecord) -> bool| -> Vec<&'a TableRecord> {
        tables.iter().filter(|table| is_meant(table)).collect()
    };
    let found = find(&|table| table.name == wanted);
    if !found.is_empty() {
        return Ok(found);
    }
    // A file's path in the lake, or on this disk.
    let on_disk = std::fs::canonicalize(wanted).ok();
    let found = find(&|table| {
        let below = on_disk
            .as_ref()
            .and_then(|path| path.strip_prefix(&table.lake).ok());
        let is_meant = |path: &str| path == wanted || below == Some(Path::new(path));
        table.location == wanted || table.files_now().any(|file| is_meant(&file.path))
    });
    if !found.is_empty() {
        return Ok(found);
    }
    let names = tables.iter().map(|table| table.name.as_str());
    bail!(known::no_table(wanted, names))
}

fn without_summaries(table: &TableRecord) -> TableRecord {
    let mut table = table.clone();
    table.files = table.files_now().cloned().collect();
    for file in &mut table.files {
        file.summary = None;
        // What a log says of a file has values of its rows; what is read with a file nobody
        // declares.
        let declared = file.declared.as_deref();
        let declared = declared.and_then(|it| Declaration::from_json(it).ok());
        if declared.is_some_and(|it| it.by.is_empty()) {
            file.declared = None;
        }
    }
    table
}

/// The language model that describes all of a lake's tables: while they are being changed to
/// another's, nobody knows which.
fn narrator(snapshot: &Snapshot, lake: &str) -> Option<String> {
    let settings = IndexSettings::of_lake(snapshot, lake).ok()??;
    Some(settings.narrator?.model)
}

fn print(table: &TableRecord, narrator: Option<&str>) -> io::Result<()> {
    let style = Style::of_stdout();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}  {}",
        style.bold(&one_line(&table.name)),
        style.dim(&one_line(&table.location))
    )?;
    if let (Some(error), 0) = (&table.error, table.blocks) {
        writeln!(out, "could not be read: {}", one_line(error))?;
        return out.flush();
    }
    print_head(&mut out, &style, table)?;
    writeln!(out)?;
    print_columns(&mut out, table)?;
    print_likely_keys(&mut out, &style, table)?;
    print_keys(&mut out, &style, &table.keys)?;
    print_notes(&mut out, &style, table)?;
    print_descriptions(&mut out, &style, table)?;
    print_narration(&mut out, &style, table, narrator)?;
    if !table.sample.is_empty() {
        writeln!(out, "\n{}", style.dim("sampled rows"))?;
        print_sample(&mut out, table)?;
    }
    out.flush()
}

/// How large the table is, and what texts say about it.
fn print_head(out: &mut impl Write, style: &Style, table: &TableRecord) -> io::Result<()> {
    let rows = table
        .rows
        .map_or("? rows".to_owned(), |rows| plural(rows, "row"));
    let about = if table.rows_exact { "" } else { "about " };
    writeln!(
        out,
        "{}, {about}{rows}, {}, {}",
        one_line(&table.format),
        plural(table.columns.len() as u64, "column"),
        plural(table.whole_files().len() as u64, "file")
    )?;
    if let Some(error) = &table.error {
        writeln!(
            out,
            "its newest version could not be read, this is the last good one: {}",
            one_line(error)
        )?;
    }
    for context in table.contexts.iter().filter(|it| !it.text.is_empty()) {
        writeln!(
            out,
            "\n{} {}",
            style.dim(&format!("context ({}):", one_line(&context.source))),
            fit(&one_line(&context.text), 400)
        )?;
    }
    Ok(())
}

/// The profiles of its columns.
fn print_columns(out: &mut impl Write, table: &TableRecord) -> io::Result<()> {
    let mut columns = Table::new(
        &[
            "column",
            "type",
            "null",
            "distinct",
            "unique",
            "range",
            "most frequent",
            "looks like",
        ],
        &[2, 3, 4],
    );
    for column in &table.columns {
        let about = if column.distinct_exact { "" } else { "~" };
        let uniqueness = column.uniqueness;
        let frequent = column.frequent.iter().take(4);
        let frequent: Vec<String> = frequent
            .map(|value| fit(&one_line(&value.value), 24))
            .collect();
        columns.row(vec![
            column.name.clone(),
            column.data_type.clone(),
            format!("{:.0}%", 100.0 * column.null_share),
            format!("{about}{}", count(column.distinct)),
            uniqueness.map_or(String::new(), |share| format!("{about}{}", percent(share))),
            range(column),
            frequent.join(", "),
            looks_like(column),
        ]);
    }
    columns.write(out)
}

/// The columns that look like keys.
fn print_likely_keys(out: &mut impl Write, style: &Style, table: &TableRecord) -> io::Result<()> {
    let keys = table.likely_keys();
    if keys.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = keys.iter().map(|key| one_line(&key.name)).collect();
    let names = fit(&names.join(", "), 200);
    let title = if keys.iter().all(|key| key.profile_exact) {
        "likely keys, the likeliest first:"
    } else {
        "likely keys of the rows that were looked at, the likeliest first:"
    };
    writeln!(out, "{} {names}", style.dim(title))
}

/// What is to be known of how the table was read and counted.
fn print_notes(out: &mut impl Write, style: &Style, table: &TableRecord) -> io::Result<()> {
    let title = style.dim("note:");
    for note in &table.notes {
        writeln!(out, "{title} {}", fit(&one_line(note), 200))?;
    }
    let uncounted = table.rows_since_sample();
    if uncounted > 0 {
        writeln!(
            out,
            "{title} columns were counted before {uncounted} of its rows came or went: limn index counts again once these are more than --resample-threshold of all"
        )?;
    }
    Ok(())
}

/// The rows that were sampled.
fn print_sample(out: &mut impl Write, table: &TableRecord) -> io::Result<()> {
    let names: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
    let mut rows = Table::new(&names, &[]);
    let cell = |value: &Option<String>| match value {
        Some(value) => fit(&one_line(value), 24),
        None => "–".to_owned(),
    };
    for row in &table.sample {
        rows.row(row.iter().map(cell).collect());
    }
    rows.write(out)
}

/// The keys that the table's file declares.
fn print_keys(out: &mut impl Write, style: &Style, keys: &KeyRecords) -> io::Result<()> {
    let names = |columns: &[String]| one_line(&columns.join(", "));
    let mut line = |title: &str, what: String| {
        let title = style.dim(title);
        writeln!(out, "{title} {}", fit(&what, 200))
    };
    if !keys.primary.is_empty() {
        line("primary key:", names(&keys.primary))?;
    }
    for columns in &keys.unique {
        line("unique:", names(columns))?;
    }
    for reference in &keys.references {
        let to = match names(&reference.to) {
            to if to.is_empty() => String::new(),
            to => format!(" ({to})"),
        };
        let (columns, table) = (names(&reference.columns), one_line(&reference.table));
        line("refers:", format!("{columns} to {table}{to}"))?;
    }
    Ok(())
}

/// What contexts say of columns.
fn print_descriptions(out: &mut impl Write, style: &Style, table: &TableRecord) -> io::Result<()> {
    let described = table.columns.iter().filter_map(|column| {
        let description = column.description.as_deref()?;
        Some(format!(
            "{}: {}",
            fit(&one_line(&column.name), 60),
            one_line(description)
        ))
    });
    let described: Vec<String> = described.collect();
    if described.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.dim("as contexts describe the columns"))?;
    described
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
}

/// A language model's descriptions of columns, and the columns without one.
fn print_narration(
    out: &mut impl Write,
    style: &Style,
    table: &TableRecord,
    narrator: Option<&str>,
) -> io::Result<()> {
    let is_narrated = |column: &&ColumnRecord| column.narration.is_some();
    if narrator.is_none() && !table.columns.iter().any(|column| is_narrated(&column)) {
        return Ok(());
    }
    let name = |column: &ColumnRecord| fit(&one_line(&column.name), 60);
    let title = format!(
        "in the words of {}",
        narrator.map_or("a model".into(), one_line)
    );
    writeln!(out, "\n{}", style.dim(&title))?;
    for column in &table.columns {
        if let Some(narration) = &column.narration {
            writeln!(out, "{}: {}", name(column), one_line(narration))?;
        }
    }
    let left = table.columns.iter().filter(|column| !is_narrated(column));
    let left: Vec<String> = left.map(name).collect();
    let why = if table.awaits_narration {
        "described by name, and awaiting the model (or left by it):"
    } else {
        "described by name, as the model gave no description:"
    };
    if narrator.is_some() && !left.is_empty() {
        writeln!(out, "{} {}", style.dim(why), left.join(", "))?;
    }
    Ok(())
}

/// A share in per cent: 100 only where it is all.
fn percent(share: f64) -> String {
    let percent = if share < 1.0 {
        (100.0 * share).round().min(99.0)
    } else {
        100.0
    };
    format!("{percent:.0}%")
}

/// The most common forms, with their shares where not all values have them.
fn looks_like(column: &ColumnRecord) -> String {
    let forms = column.patterns.iter().map(|pattern| {
        let form = one_line(&pattern.pattern);
        if pattern.share < 1.0 {
            format!("{form} {}", percent(pattern.share))
        } else {
            form
        }
    });
    let mut forms: Vec<String> = forms.collect();
    forms.extend(
        column
            .notation
            .as_deref()
            .map(|notation| format!("in the files {}", one_line(notation))),
    );
    forms.extend(column.in_files.as_deref().map(one_line));
    let kind = column.sensitive.as_deref().map(one_line);
    match (kind, column.withheld) {
        (Some(kind), true) => forms.push(format!("sensitive ({kind}), withheld")),
        (Some(kind), false) => forms.push(format!("sensitive ({kind})")),
        (None, true) => forms.push("withheld".to_owned()),
        (None, false) => {}
    }
    forms.join(", ")
}

fn range(column: &ColumnRecord) -> String {
    match (&column.min, &column.max) {
        (Some(min), Some(max)) => {
            format!("{} … {}", fit(&one_line(min), 20), fit(&one_line(max), 20))
        }
        _ => String::new(),
    }
}
