//! Plain text that is clearly a table: cut by delimiters, by runs of blanks, by the width of its
//! columns, or drawn with bars.
//!
//! The name promises nothing (`notes.txt`, `model.dat`), so content decides ([`shape`]), and in
//! doubt it is no table: [`FileErrorKind::NoTable`]. What is one is read by the reader of delimited
//! text ([`super::text`]). Text that no delimiter cuts is first written anew with tabs ([`cut`]),
//! line by line, so that titles, headers, footers, notations, samples and profiles are understood
//! by one reader.

pub(super) mod batches;
mod cut;
mod line;
mod log;
mod shape;
mod widths;

use bytes::Bytes;
use limn_profile::FileSummary;
use limn_profile::text::counted;
use limn_store::Store;
use memchr::memchr_iter;

use self::cut::{Cutter, TABS};
pub(super) use self::line::is_count_of_rows;
use self::shape::Shape;
use super::dialect::{self, Plan};
use super::input::{self, Fetched, Input};
use super::{Failure, ReadOptions, parse, sniff, text};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::{FileError, FileErrorKind};
use limn_profile::{DeclaredReading, HeaderLine};

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let (size, path) = (file.object.size, file.object.path.as_str());
    if size == 0 {
        return Err(no_table("it has no bytes"));
    }
    let is_packed = Compression::of_path(path).is_some();
    let sample_path = file.sample_path.clone();
    // Most that are long are no tables, which their beginning shows.
    let read_at_once = input::ranges(size, options, &sample_path)[0].end;
    let head = read_at_once.min(dialect::HEAD as u64);
    if head < size && !is_packed {
        let etag = file.object.etag.as_deref();
        let bytes = store.get_range_of(path, etag, 0..head).await?;
        let (sample_path, options) = (sample_path.clone(), options.clone());
        parse(move || may_be_one(Fetched::beginning(bytes, size), &sample_path, &options)).await?;
    }
    let fetched = input::fetch(store, file, options).await?;
    let options = options.clone();
    let doubt = match file.is_beside {
        true => Doubt::Described,
        false => Doubt::Prose,
    };
    parse(move || read(fetched, (is_packed, doubt), &sample_path, &options)).await
}

fn read(
    fetched: Fetched,
    (is_packed, doubt): (bool, Doubt),
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let input = fetched
        .into_text("plain text", sample_path, options)
        .map_err(|failure| if_it_was_promised(failure, is_packed))?;
    of_input(input, doubt, sample_path, options)
}

/// Whether the beginning of a text that is longer is that of a table.
fn may_be_one(beginning: Fetched, sample_path: &str, options: &ReadOptions) -> Result<(), Failure> {
    if options.declared().delimiter.is_some() {
        return Ok(());
    }
    let input = beginning
        .into_text("plain text", sample_path, options)
        .map_err(|failure| if_it_was_promised(failure, false))?;
    let text = input.pieces.first().map_or(&[][..], |piece| &piece.bytes);
    let shape = shape::find(sniff::without_bom(text), false);
    shape.map(drop).ok_or_else(|| no_table(PROSE))
}

/// What a text may be that is no table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Anything.
    Prose,
    /// Anything, or a list of the columns of a table beside it.
    Described,
    /// Nothing: its name promises a table.
    Not,
}

/// Reads what is here of a text.
pub(super) fn of_input(
    mut input: Input,
    doubt: Doubt,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let planned = plan(&mut input, options.declared());
    let (plan, is_rewritten) = planned.map_err(|failure| match doubt {
        Doubt::Not => Failure::new(FileErrorKind::Unsupported, failure.cause()),
        Doubt::Prose | Doubt::Described => failure,
    })?;
    let is_promised = options.declared().delimiter.is_some();
    if doubt == Doubt::Described && !is_promised && lists_columns(&plan) {
        let cause = "it describes the columns of the table beside it";
        return Err(no_table(cause));
    }
    let is_promised = is_promised || doubt == Doubt::Not;
    let mut scan = text::scanned(&input, plan.clone(), sample_path, options);
    if !scan.is_even() && input.pieces.len() > 1 && !is_promised {
        input.keep_beginning();
        scan = text::scanned(&input, plan, sample_path, options);
    }
    if !scan.is_even() && !is_promised {
        return Err(no_table(PROSE));
    }
    scan.reading.is_rewritten = is_rewritten;
    scan.finish(&input)
}

/// What the first column of a data dictionary is called: it lists columns.
const COLUMN_NAMES: &[&str] = &[
    "column",
    "columnname",
    "field",
    "fieldname",
    "variable",
    "variablename",
    "attribute",
    "attributename",
    "spalte",
    "spaltenname",
    "feld",
    "feldname",
    "colonne",
    "champ",
    "columna",
    "campo",
    "coluna",
    "colonna",
    "kolom",
    "veld",
    "kolonne",
    "kolumn",
    "kolumna",
    "pole",
    "sloupec",
    "列",
    "列名",
    "字段",
    "項目",
];

/// What another of its columns says of these.
const DESCRIBING: &[&str] = &[
    "description",
    "meaning",
    "definition",
    "label",
    "comment",
    "comments",
    "explanation",
    "type",
    "datatype",
    "length",
    "format",
    "nullable",
    "beschreibung",
    "bedeutung",
    "erklärung",
    "datentyp",
    "typ",
    "länge",
    "signification",
    "définition",
    "libellé",
    "descripción",
    "significado",
    "tipo",
    "descrição",
    "descrizione",
    "significato",
    "omschrijving",
    "betekenis",
    "beskrivelse",
    "betydning",
    "beskrivning",
    "opis",
    "znaczenie",
    "popis",
    "説明",
    "说明",
    "描述",
];

/// Whether a table is a list of another one's columns: the first column is called so, and another
/// describes them.
fn lists_columns(plan: &Plan) -> bool {
    let spelt = |name: &String| -> String {
        let letters = name.chars().filter(|it| it.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let mut names = plan.columns.iter().map(spelt);
    let is_list = names.next().is_some_and(|it| COLUMN_NAMES.contains(&&*it));
    is_list && names.any(|it| DESCRIBING.contains(&&*it))
}

/// Whether a plain text beside a table is a table itself, as its beginning (or, if `is_whole`, all
/// of it) shows, and no prose and no list of that table's columns. Must be called on a tokio
/// runtime.
///
/// # Errors
/// [`FileErrorKind::Panicked`] where looking at it failed.
pub async fn text_holds_rows(path: &str, text: Bytes, is_whole: bool) -> Result<bool, FileError> {
    let looked_at = parse(move || {
        let size = text.len() as u64 + u64::from(!is_whole);
        let input =
            Fetched::beginning(text, size).into_text("plain text", "", &ReadOptions::default());
        let planned = input.and_then(|mut input| plan(&mut input, &DeclaredReading::default()));
        Ok(planned.is_ok_and(|(plan, _)| !lists_columns(&plan)))
    });
    looked_at.await.map_err(|failure| failure.about(path))
}

/// Whether all lines of a text are drawn with bars around their cells.
pub(super) fn is_drawn(text: &[u8], complete: bool) -> bool {
    let head = &text[..text.len().min(LOOK)];
    let has_bar = head.starts_with(b"|") || memchr::memmem::find(head, b"\n|").is_some();
    has_bar
        && matches!(
            shape::find(text, complete),
            Some(Shape::Lines {
                cutter: Cutter::Bars { .. },
                ..
            })
        )
}

/// So much of a text shows whether its lines begin with bars.
const LOOK: usize = 4 << 10;

const PROSE: &str = "it is text that is not clearly a table";

fn no_table(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::NoTable, cause)
}

/// Damage where the name says that the file is compressed; otherwise the bytes are something else
/// that nobody called a table.
fn if_it_was_promised(failure: Failure, is_packed: bool) -> Failure {
    match &failure {
        Failure::Content {
            kind: FileErrorKind::NotItsFormat | FileErrorKind::Empty,
            ..
        } => no_table(failure.cause()),
        Failure::Content {
            kind: FileErrorKind::Corrupt | FileErrorKind::Unsupported,
            ..
        } if !is_packed => no_table(failure.cause()),
        _ => failure,
    }
}

/// How the text is to be read, if it is a table, and whether it was written anew: text without
/// delimiters has some afterwards. One whose delimiter people declare is a table.
fn plan(input: &mut Input, declared: &DeclaredReading) -> Result<(Plan, bool), Failure> {
    let prose = || no_table(PROSE);
    let whole = input.is_whole();
    let first = input.pieces.first().map_or(&[][..], |piece| &piece.bytes);
    let text = sniff::without_bom(first);
    if declared.delimiter.is_some() {
        return Ok((dialect::detect(text, whole, "x.txt", declared)?, false));
    }
    let start = first.len() - text.len();
    match shape::find(text, whole).ok_or_else(prose)? {
        // Lines count from the text's beginning on.
        Shape::Delimited(plan) if declared.header.is_some() => {
            let plan = dialect::plan(plan.dialect, 0, text, whole, declared)?;
            Ok((plan, false))
        }
        Shape::Delimited(plan) => Ok((plan, false)),
        Shape::Lines { cutter, start: at } => {
            rewrite(input, &cutter, start + at).ok_or_else(prose)?;
            let text = input.pieces.first().map_or(&[][..], |piece| &piece.bytes);
            // Lines that are written anew have other numbers.
            let declared = DeclaredReading {
                header: declared.header.filter(|it| *it == HeaderLine::None),
                ..DeclaredReading::default()
            };
            let plan = dialect::plan(TABS, 0, text, whole, &declared).map_err(|_| prose())?;
            Ok((plan, true))
        }
    }
}

/// Writes every line anew, of the first piece from byte `start` on. `None` where that takes too
/// much memory: few letters in very many columns.
fn rewrite(input: &mut Input, cutter: &Cutter, start: usize) -> Option<()> {
    let mut texts = Vec::with_capacity(input.pieces.len());
    // As the shape was found.
    let head = input.pieces.first()?.bytes.get(start..)?;
    let end = line::end_of(&head[..head.len().min(dialect::HEAD)]);
    let mut garbled = 0;
    for (i, piece) in input.pieces.iter().enumerate() {
        let text = piece.bytes.get(if i == 0 { start } else { 0 }..)?;
        let most = 2 * text.len() + dialect::HEAD;
        let mut out = Vec::with_capacity(text.len());
        let (mut from, mut is_first) = (0, i == 0);
        let ends = memchr_iter(end, text).map(|at| at + 1);
        let rest = (!text.ends_with(&[end])).then_some(text.len());
        for to in ends.chain(rest) {
            let line = text.get(from..to)?;
            let letters = String::from_utf8_lossy(line);
            let is_whole = line.ends_with(&[end]);
            // At the edges of a piece lines, and letters, may be cut in two.
            let is_cut = i > 0 && from == 0 || !is_whole && !piece.to_end;
            garbled += u64::from(!is_cut && matches!(letters, std::borrow::Cow::Owned(_)));
            let letters = line::trimmed(&letters);
            if cutter.write(letters, is_first, &mut out) {
                is_first &= letters.is_empty();
                if is_whole {
                    out.push(b'\n');
                }
            }
            if out.len() > most {
                return None;
            }
            from = to;
        }
        texts.push(out);
    }
    input.rewrite(texts);
    if garbled > 0 {
        let note = format!("{} not in UTF-8", counted(garbled, "line"));
        input.notes.push(note);
    }
    Some(())
}

#[cfg(test)]
mod tests;
