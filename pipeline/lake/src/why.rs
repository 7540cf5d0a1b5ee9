//! Why a table is what it is, and why its files are read as they are: what the catalog knows of
//! that, in words.
//!
//! Everything follows from the files' paths, their summaries and what people declare of them;
//! nothing is kept for it.

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::parts::{Part, of_path};
use limn_formats::{Declaration, Format};
use limn_profile::names::spelt;
use limn_profile::notation::{DateNotation, NumberNotation, Proof};
use limn_profile::text::counted;
use limn_profile::{DataType, FileSummary, Notation, Quoting, TextReading};
use limn_profile::{DeclaredReading, HeaderLine};
use serde::Serialize;

use crate::dates;
use crate::layout::{GroupKey, GroupKind, TableFile};
use crate::place::{self, MASK};
use crate::scan::settle_all;
use crate::sheets;

/// Ways of reading that are listed, and like files that are not of the table.
const MOST: usize = 20;
/// Signs for missing values that are listed.
const SIGNS: usize = 10;

/// Why a table is what it is, and how its files are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Why {
    /// What makes its files a table: `file`, `alike`, `declared`, `partitions` or `parts`.
    pub rule: &'static str,
    /// The same in a sentence.
    pub explanation: String,
    /// The entries of `.limn.yaml` files that speak of its files, and what they say, a line each.
    pub declared: Vec<String>,
    /// Files that are named like its own and are not of it, at most 20.
    pub apart: Vec<Apart>,
    /// How its files are read, those that are read alike together; at most 20.
    pub readings: Vec<Reading>,
    /// Where the types of its columns come from, in order.
    pub columns: Vec<ColumnType>,
}

/// A file that is named like a table's own and is not of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Apart {
    /// The table that it is of.
    pub table: String,
    /// Why it is not of this one.
    pub explanation: String,
}

/// Files that are read alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// How many there are.
    pub files: u64,
    /// The path of the first one; none where values are not shown.
    pub first: Option<String>,
    /// How they are read.
    pub explanation: String,
}

/// A column's type and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnType {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// What it follows from, and how the values are written.
    pub explanation: String,
}

/// A table as the catalog has it.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its name.
    pub name: &'a str,
    /// The key of its group, in hexadecimal digits.
    pub group: &'a str,
    /// Its files that could be read, by path.
    pub files: &'a [(TableFile, FileSummary)],
}

/// A column as the catalog has it.
#[derive(Clone, Copy, Debug)]
pub struct KnownColumn<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub data_type: &'a str,
    /// Which files have it, where not all do.
    pub in_files: Option<&'a str>,
}

/// Why a table is what it is. `others` are other tables of the lake that may have files named like
/// its own; without `shows_values` nothing is given that may be a value: signs, paths and patterns.
pub fn why(
    table: Known<'_>,
    columns: &[KnownColumn<'_>],
    others: &[Known<'_>],
    shows_values: bool,
) -> Why {
    let own = table.files;
    let mut settled = own.to_vec();
    settle_all(&mut settled);
    let table = Known {
        files: &settled,
        ..table
    };
    let kind = kind_of(table);
    let (rule, explanation) = rule(table, kind, shows_values);
    Why {
        rule,
        explanation,
        declared: declared(table, columns, shows_values),
        apart: apart(table, kind, others),
        readings: readings(table, own, shows_values),
        columns: columns.iter().map(|it| column(table, own, it)).collect(),
    }
}

/// What made the files a group: the kind of which its key is.
fn kind_of(table: Known<'_>) -> GroupKind {
    let first = table
        .files
        .first()
        .map_or("", |(file, _)| &file.object.path);
    let named = named_path(table);
    let is = |kind, path: &str| format!("{:032x}", GroupKey::new(kind, path).0) == table.group;
    if table.files.iter().any(|(file, _)| file.format.is_log()) {
        GroupKind::Logged
    } else if is(GroupKind::File, first) {
        GroupKind::File
    } else if place::table_directory(first).is_some_and(|it| is(GroupKind::Directory, it)) {
        GroupKind::Directory
    } else if is(GroupKind::Declared, named) {
        GroupKind::Declared
    } else {
        GroupKind::Family
    }
}

/// The path that a table has its name of.
fn named_path<'a>(table: Known<'a>) -> &'a str {
    table.name.strip_prefix("./").unwrap_or(table.name)
}

fn rule(table: Known<'_>, kind: GroupKind, shows_values: bool) -> (&'static str, String) {
    let count = table.files.len();
    let first = table
        .files
        .first()
        .map_or("", |(file, _)| &file.object.path);
    match kind {
        GroupKind::File => ("file", "one file that is a table of its own".to_owned()),
        GroupKind::Logged => {
            let files = counted(count.saturating_sub(1) as u64, "file");
            (
                "log",
                format!("its log says that it is {files} of its folder"),
            )
        }
        GroupKind::Declared => {
            let explanation =
                "people declare its files to be one table, whatever their columns are";
            ("declared", explanation.to_owned())
        }
        GroupKind::Directory => {
            let keys: Vec<String> = place::partition(first).into_iter().map(|it| it.0).collect();
            match keys.as_slice() {
                [] => {
                    let explanation =
                        format!("{count} files of its folder are parts by their names");
                    ("parts", explanation)
                }
                keys => {
                    let keys = keys.join(", ");
                    let explanation =
                        format!("{count} files lie in folders that are partitions by {keys}");
                    ("partitions", explanation)
                }
            }
        }
        GroupKind::Family => {
            let mut explanation = format!("{count} files are named alike");
            let paths: Vec<&str> = table
                .files
                .iter()
                .map(|(file, _)| &*file.object.path)
                .collect();
            let book = paths
                .iter()
                .all(|path| sheets::book(path) == Some(named_path(table)));
            if book {
                let alike: BTreeSet<_> = paths.iter().map(|path| sheets::form(path)).collect();
                explanation = match alike.len() == 1 && !alike.contains(&None) {
                    true => format!("{count} sheets of the book are named alike"),
                    false => format!("{count} sheets are three quarters of the book's, or more,"),
                };
            } else if dates::dates(&paths).is_some() {
                explanation = format!(
                    "{count} files lie in places of several dates, with paths that are else alike"
                );
            }
            if let (Some(mask), true, false) = (mask_of(first), shows_values, book) {
                explanation = format!("{explanation} ({})", mask.1.replace(MASK, "*"));
            }
            let (all, some) = shared_columns(table);
            let sets = shapes(table).len();
            (
                "alike",
                match some {
                    0 => format!("{explanation} and have the same {all} columns"),
                    _ => format!(
                        "{explanation} and their columns follow from one another: of {} columns {all} are in all files, in {sets} different sets",
                        all + some
                    ),
                },
            )
        }
    }
}

/// The folder, or the one above all dates, and the mask of a file's name or its path from there on,
/// if anything varies in it.
fn mask_of(path: &str) -> Option<(&str, String)> {
    if let Some(dated) = dates::dated(path) {
        return Some((dated.home, dated.mask()));
    }
    let (folder, name) = place::split_path(path);
    let mask = place::mask(place::without_extension(name));
    mask.contains(MASK).then_some((folder, mask))
}

/// The different sets of names that files' columns have, however they are spelt.
fn shapes(table: Known<'_>) -> BTreeSet<Vec<String>> {
    let named = table.files.iter().filter(|(_, it)| !it.is_nameless());
    let shapes = named.map(|(_, summary)| names_of(summary));
    shapes.filter(|names| !names.is_empty()).collect()
}

fn names_of(summary: &FileSummary) -> Vec<String> {
    let mut names: Vec<String> = summary.column_names().map(spelt).collect();
    names.sort_unstable();
    names
}

/// How many columns all sets of names have, and how many only some.
fn shared_columns(table: Known<'_>) -> (usize, usize) {
    let shapes = shapes(table);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in shapes.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let all = counts.values().filter(|count| **count == shapes.len());
    let all = all.count();
    (all, counts.len() - all)
}

fn declared(table: Known<'_>, columns: &[KnownColumn<'_>], shows_values: bool) -> Vec<String> {
    let mut entries = BTreeMap::new();
    for declared in table
        .files
        .iter()
        .filter_map(|(it, _)| it.declared.as_deref())
        // People, that is, and neither a log nor files beside it.
        .filter(|it| !it.by.is_empty())
    {
        *entries.entry(declared).or_insert(0usize) += 1;
    }
    let entry = |(declared, files): (&Declaration, usize)| {
        let mut explanation = match shows_values {
            true => format!("{}, files: '{}'", declared.by, declared.files),
            false => declared.by.clone(),
        };
        explanation = format!(
            "{explanation} ({})",
            limn_profile::text::counted(files as u64, "file")
        );
        let said = keys(&declared.reading);
        if !said.is_empty() {
            explanation = format!("{explanation}: {}", said.join(", "));
        }
        let is_there = |name: &str| columns.iter().any(|column| column.name == name);
        let missing = declared.reading.types.keys();
        let missing: Vec<&str> = missing
            .map(String::as_str)
            .filter(|it| !is_there(it))
            .collect();
        match missing.as_slice() {
            [] => explanation,
            missing => format!(
                "{explanation}; no file has the declared {}",
                missing.join(", ")
            ),
        }
    };
    entries.into_iter().map(entry).collect()
}

/// The keys that say how a file is read.
fn keys(reading: &DeclaredReading) -> Vec<&'static str> {
    let keys = [
        ("columns", !reading.types.is_empty()),
        ("header", reading.header.is_some()),
        ("delimiter", reading.delimiter.is_some()),
        ("nulls", reading.nulls.is_some()),
        ("date-order", reading.conventions.date_order.is_some()),
        ("decimal", reading.conventions.decimal.is_some()),
        ("encoding", reading.encoding.is_some()),
    ];
    let keys = keys.into_iter().filter(|(_, is_said)| *is_said);
    keys.map(|(key, _)| key).collect()
}

/// What files have in common that are named alike: folder, mask and format.
fn like(file: &TableFile) -> Option<((&str, String), Format)> {
    let (folder, mask) = mask_of(&file.object.path)?;
    Some(((folder, mask.to_lowercase()), file.format))
}

/// Files of other tables that are named like those of this one.
fn apart(table: Known<'_>, kind: GroupKind, others: &[Known<'_>]) -> Vec<Apart> {
    if matches!(kind, GroupKind::Directory | GroupKind::Logged) {
        return Vec::new();
    }
    let own: BTreeSet<_> = table
        .files
        .iter()
        .filter_map(|(file, _)| like(file))
        .collect();
    let shapes = shapes(table);
    let mut apart = Vec::new();
    for other in others {
        let mut files = other.files.iter();
        let Some((file, summary)) =
            files.find(|(file, _)| like(file).is_some_and(|it| own.contains(&it)))
        else {
            continue;
        };
        let explanation = if kind_of(*other) == GroupKind::Declared || kind == GroupKind::Declared {
            "people declare which files are one table".to_owned()
        } else {
            unlike(&shapes, summary, file)
        };
        apart.push(Apart {
            table: other.name.to_owned(),
            explanation,
        });
    }
    apart.sort_by(|a, b| a.table.cmp(&b.table));
    apart.truncate(MOST);
    apart
}

/// Why a file with these columns is not of a table whose files have those.
fn unlike(shapes: &BTreeSet<Vec<String>>, summary: &FileSummary, file: &TableFile) -> String {
    let names = names_of(summary);
    if names.is_empty() {
        return "it has no columns".to_owned();
    }
    if summary.is_nameless() {
        return format!("its {} columns have no names", names.len());
    }
    let own: BTreeSet<&String> = names.iter().collect();
    let near = shapes.iter().map(|shape| {
        let common = shape.iter().filter(|name| own.contains(name)).count();
        (common, shape.len().max(names.len()))
    });
    // The largest share, of fractions compared crosswise; of equal ones the narrower file's.
    let near = near.max_by(|(a, of_a), (b, of_b)| (a * of_b).cmp(&(b * of_a)).then(of_b.cmp(of_a)));
    match near {
        Some((common, of)) if 3 * common >= 2 * of => {
            let by_people = file.declared.as_ref().filter(|it| !it.by.is_empty());
            let declared = match by_people {
                Some(_) => ", and an entry of a .limn.yaml speaks of it",
                None => "",
            };
            format!(
                "it shares {common} of {of} columns with the nearest file, but most like files do not follow from one another{declared}"
            )
        }
        Some((common, of)) => {
            format!(
                "it shares {common} of {of} columns with the nearest file, and two thirds are needed"
            )
        }
        None => "this table's files have no names for their columns".to_owned(),
    }
}

fn readings(
    table: Known<'_>,
    own: &[(TableFile, FileSummary)],
    shows_values: bool,
) -> Vec<Reading> {
    let mut found: Vec<Reading> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for ((file, summary), (_, own)) in table.files.iter().zip(own) {
        let mut explanation = read_as(file, summary, shows_values);
        // By itself it would have another delimiter, or another first row.
        let layout = |it: &FileSummary| it.reading.as_ref().map(|it| (it.delimiter, it.skip));
        if layout(summary) != layout(own) {
            explanation.push_str(", as other files of the table show");
        }
        let at = *places.entry(explanation.clone()).or_insert_with(|| {
            found.push(Reading {
                files: 0,
                first: shows_values.then(|| file.object.path.clone()),
                explanation,
            });
            found.len() - 1
        });
        found[at].files += 1;
    }
    found.truncate(MOST);
    found
}

/// How a file is read.
fn read_as(file: &TableFile, summary: &FileSummary, shows_values: bool) -> String {
    let reading = file.reading();
    let mut explanation = vec![file.format.to_string()];
    if let Some(text) = summary.reading.as_deref() {
        explanation.push(cut_by(text, reading));
        explanation.push(header(text, summary, reading));
        if text.end.is_some() {
            explanation.push("lines below the table left out".to_owned());
        }
        let by = said(reading.encoding.is_some());
        explanation.push(format!(
            "{}{by}",
            text.encoding.as_deref().unwrap_or("UTF-8")
        ));
    }
    if let Some(signs) = &reading.nulls {
        let first = signs.iter().take(SIGNS).map(|sign| format!("'{sign}'"));
        let signs = match shows_values {
            true => first.collect::<Vec<_>>().join(" "),
            false => limn_profile::text::counted(signs.len() as u64, "sign"),
        };
        explanation.push(format!("missing values: {signs} (declared)"));
    }
    let parts = file.declared.iter().flat_map(|it| &it.parts);
    explanation.extend(parts.filter_map(|part| match of_path(&part.path)?.0 {
        Part::Shapes => Some("geometry of the .shp file beside it".to_owned()),
        Part::Encoding => Some("encoding of the .cpg file beside it".to_owned()),
        Part::Other => None,
    }));
    if summary.approximate {
        explanation.push("read in part".to_owned());
    }
    explanation.join(", ")
}

fn said(is_declared: bool) -> &'static str {
    match is_declared {
        true => " (declared)",
        false => "",
    }
}

fn cut_by(text: &TextReading, declared: &DeclaredReading) -> String {
    if text.is_rewritten {
        return "cut by blanks, widths or bars".to_owned();
    }
    let delimiter = match text.delimiter {
        '\t' => "tabs".to_owned(),
        ' ' => "spaces".to_owned(),
        other => format!("'{other}'"),
    };
    let quotes = match text.quoting {
        Quoting::Doubled => "",
        Quoting::Backslash => ", quotes escaped by backslashes",
        Quoting::Off => ", quotes are letters",
    };
    format!(
        "cut by {delimiter}{}{quotes}",
        said(declared.delimiter.is_some())
    )
}

fn header(text: &TextReading, summary: &FileSummary, declared: &DeclaredReading) -> String {
    match declared.header {
        Some(HeaderLine::None) => return "no header (declared)".to_owned(),
        Some(HeaderLine::At(line)) => return format!("header in line {line} (declared)"),
        None => {}
    }
    let above = match text.skip {
        0 | 1 => String::new(),
        skip => format!(", {} above the values left out", skip - 1),
    };
    match (text.has_header, summary.presumed_names, text.skip) {
        (_, true, _) => format!("the first row is presumed to be the header{above}"),
        (_, _, 0) => "no header: the first row is like the others".to_owned(),
        _ => format!("a header, unlike the values below it{above}"),
    }
}

fn column(
    table: Known<'_>,
    own: &[(TableFile, FileSummary)],
    known: &KnownColumn<'_>,
) -> ColumnType {
    let mut types: BTreeMap<&DataType, usize> = BTreeMap::new();
    let mut notations: BTreeMap<String, usize> = BTreeMap::new();
    let (mut is_declared, mut is_of_texts, mut is_there) = (false, false, false);
    for ((file, summary), (_, own)) in table.files.iter().zip(own) {
        let mut columns = summary.columns.iter();
        let own_name = columns.clone().position(|column| column.name == known.name);
        let spelt_name = || columns.position(|column| spelt(&column.name) == spelt(known.name));
        let Some(place) = own_name.or_else(spelt_name) else {
            continue;
        };
        let column = &summary.columns[place];
        is_there = true;
        is_declared |= file.reading().types.contains_key(known.name);
        is_of_texts |= file.format.found(summary).gives_texts();
        *types.entry(&column.data_type).or_default() += 1;
        if let Some(notation) = &column.notation {
            let by_itself = own.columns.get(place).and_then(|it| it.notation.as_ref());
            let text = match by_itself == Some(notation) {
                true => notation_text(notation),
                false => format!("{notation} (as other files of the table show)"),
            };
            *notations.entry(text).or_default() += 1;
        }
    }
    let from = match (is_declared, is_there, is_of_texts) {
        (true, ..) => "as declared",
        (_, false, _) => "from the files' paths, or others' names for it",
        (_, _, true) => "from its values",
        _ => "as the files say",
    };
    let mut explanation = vec![from.to_owned()];
    if types.len() > 1 {
        explanation.push(in_words(
            types.iter().map(|(it, files)| (it.label(), *files)),
        ));
    }
    if notations.len() == 1 {
        explanation.extend(notations.keys().map(|it| format!("written {it}")));
    } else if notations.len() > 1 {
        let files = notations.iter().map(|(it, files)| (it.as_str(), *files));
        explanation.push(format!("written {}", in_words(files)));
    }
    explanation.extend(known.in_files.map(str::to_owned));
    ColumnType {
        name: known.name.to_owned(),
        data_type: known.data_type.to_owned(),
        explanation: explanation.join("; "),
    }
}

fn in_words<'a>(counts: impl Iterator<Item = (&'a str, usize)>) -> String {
    let counts = counts.map(|(what, files)| {
        let files = limn_profile::text::counted(files as u64, "file");
        format!("{what} in {files}")
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// A notation and what decided it.
fn notation_text(notation: &Notation) -> String {
    let (Notation::Number(NumberNotation { proof, .. })
    | Notation::Date(DateNotation { proof, .. })) = notation;
    match proof {
        Proof::Values => format!("{notation} (all values fit)"),
        _ => notation.to_string(),
    }
}

#[cfg(test)]
mod tests;
