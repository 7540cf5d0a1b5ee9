//! How the files of a table are read, and where the types of its columns come from.

use std::collections::BTreeMap;

use limn_formats::parts::{Part, of_path};
use limn_profile::names::spelt;
use limn_profile::notation::{DateNotation, NumberNotation, Proof};
use limn_profile::{DataType, FileSummary, Notation, Quoting, TextReading};
use limn_profile::{DeclaredReading, HeaderLine};
use serde::Serialize;

use super::known::{Known, KnownColumn, MOST};
use crate::layout::TableFile;

/// Signs for missing values that are listed.
const SIGNS: usize = 10;

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

pub(super) fn readings(
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

pub(super) fn column(
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
