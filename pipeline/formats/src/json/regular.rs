//! Rows of JSON that are no objects in a list, as programs write tables: lists of cells, of which
//! names stand in the first one or in a list of their own
//! (`{"columns": ["a", "b"], "data": [[1, 2], [3, 4]]}`), and objects by their keys
//! (`{"P1": {…}, "P2": {…}}`).
//!
//! Each row is written anew as an object, and then read as any other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::MAX_COLUMNS;
use super::outline::{Cursor, Elements, Step};

/// Lists that may hold the names of columns, by their keys.
const NAMES: [&str; 7] = [
    "columns",
    "column_names",
    "cols",
    "fields",
    "header",
    "headers",
    "names",
];
/// What a list of objects may call a column.
const NAME_OF_COLUMN: [&str; 4] = ["fieldName", "name", "title", "label"];
/// Lists of cells under whose key the first may hold the names.
const VALUES: [&str; 6] = ["data", "result", "results", "rows", "table", "values"];
/// Bytes of the longest name of a column.
const LONGEST_NAME: usize = 256;
/// Bytes around a list of lists that may hold the names of its columns.
const MOST_BESIDE: usize = 1 << 20;
/// Members from which on objects by their keys are rows: of fewer, some are settings.
const FEWEST_KEYED: usize = 10;

/// How the elements of a list are rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// They are objects.
    Objects,
    /// They are lists of cells, the first of names.
    Headed,
    /// They are lists of cells of columns with these names.
    Cells(Vec<String>),
}

impl Form {
    /// An element as an object; none where it holds names, or is no list of cells and left as it
    /// is.
    pub(super) fn object(&mut self, element: &[u8]) -> Element {
        match self {
            Form::Objects => Element::AsItIs,
            Form::Headed => match texts(element) {
                Some(names) => {
                    *self = Form::Cells(names);
                    Element::Names
                }
                None => Element::AsItIs,
            },
            Form::Cells(names) => {
                with_names(names, element).map_or(Element::AsItIs, Element::Object)
            }
        }
    }
}

/// What an element of a list is.
pub(super) enum Element {
    /// What it is by itself.
    AsItIs,
    /// The names of the columns.
    Names,
    /// A row, as an object.
    Object(Vec<u8>),
}

/// Whether a list, from its bracket on, begins with a list of names, and a row follows it.
pub(super) fn is_headed(text: &[u8], start: usize) -> bool {
    let mut elements = Elements::default();
    let Step::Element(first) = elements.step(text, start) else {
        return false;
    };
    let end = first.end;
    let is_names = text.get(first).and_then(texts).is_some();
    let is_row = |at: usize| text.get(at) == Some(&b'[');
    is_names && matches!(elements.step(text, end), Step::Element(row) if is_row(row.start))
}

/// The form of a list of lists, from its bracket `start` to its end, of an object under a key.
pub(super) fn form(text: &[u8], (start, end): (usize, usize), key: &[u8]) -> Option<Form> {
    let first = match Elements::default().step(text, start + 1) {
        Step::Element(first) => cells(text.get(first)?),
        _ => return None,
    };
    let (before, after) = (text.get(..start)?, text.get(end..)?);
    if before.len() + after.len() <= MOST_BESIDE {
        let beside = [before, b"[]", after].concat();
        let beside: Value = serde_json::from_slice(&beside).ok()?;
        let names = names(&beside, first.len());
        if names.is_some() {
            return names.map(Form::Cells);
        }
    }
    let may_be_headed = VALUES.iter().any(|it| it.as_bytes() == key);
    (may_be_headed && is_headed(text, start + 1)).then_some(Form::Headed)
}

/// The names of so many columns, in whatever depth they stand.
fn names(value: &Value, width: usize) -> Option<Vec<String>> {
    let members = value.as_object()?;
    let own = NAMES.iter().filter_map(|key| names_of(members.get(*key)?));
    let own = own.into_iter().find(|names| names.len() == width);
    own.or_else(|| members.values().find_map(|value| names(value, width)))
}

fn names_of(list: &Value) -> Option<Vec<String>> {
    let name = |value: &Value| match value {
        Value::String(name) => Some(name.clone()),
        Value::Object(column) => {
            let mut names = NAME_OF_COLUMN.iter();
            names.find_map(|key| Some(column.get(*key)?.as_str()?.to_owned()))
        }
        _ => None,
    };
    list.as_array()?
        .iter()
        .map(name)
        .collect::<Option<Vec<_>>>()
        .and_then(distinct)
}

fn distinct(names: Vec<String>) -> Option<Vec<String>> {
    let all: BTreeSet<&str> = names.iter().map(|name| name.trim()).collect();
    // Each row is written with them.
    let are_short = names.len() <= MAX_COLUMNS && names.iter().all(|it| it.len() <= LONGEST_NAME);
    let are_names = !all.is_empty() && all.len() == names.len() && !all.contains("") && are_short;
    are_names.then_some(names)
}

/// A list of different texts.
fn texts(list: &[u8]) -> Option<Vec<String>> {
    serde_json::from_slice(list).ok().and_then(distinct)
}

/// The elements of a list.
fn cells(list: &[u8]) -> Vec<&[u8]> {
    let (mut elements, mut at, mut found) = (Elements::default(), 1, Vec::new());
    while let Step::Element(range) = elements.step(list, at) {
        at = range.end;
        found.extend(list.get(range));
    }
    found
}

/// A list of cells as an object; none where it is no list or has more cells than there are names.
fn with_names(names: &[String], list: &[u8]) -> Option<Vec<u8>> {
    let cells = list.starts_with(b"[").then(|| cells(list))?;
    if cells.len() > names.len() {
        return None;
    }
    let mut object = Vec::with_capacity(list.len() * 2);
    object.push(b'{');
    for (name, cell) in names.iter().zip(cells) {
        if object.len() > 1 {
            object.push(b',');
        }
        object.extend(Value::from(name.as_str()).to_string().as_bytes());
        object.push(b':');
        object.extend(cell);
    }
    object.push(b'}');
    Some(object)
}

/// The rows of an object of nothing but objects that are alike: each with its key as a member `key`
/// (`_key` where the first has such a member). None where it is no such object.
pub(super) fn keyed(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut members = Vec::new();
    each_member(text, |key, value| {
        value.starts_with(b"{").then(|| members.push((key, value)))
    })?;
    if members.len() < FEWEST_KEYED {
        return None;
    }
    let keys = |value: &'_ [u8]| -> Option<BTreeSet<Vec<u8>>> {
        let mut keys = BTreeSet::new();
        each_member(value, |key, _| {
            keys.insert(key.to_vec());
            Some(())
        })?;
        Some(keys)
    };
    let (_, first) = members.first()?;
    let first = keys(first)?;
    let mut taken = BTreeSet::new();
    for (_, value) in &members {
        let own = keys(value)?;
        taken.extend(own.iter().filter(|key| key.ends_with(b"key")).cloned());
        let shared = own.intersection(&first).count();
        if shared == 0 || shared * 2 < own.len().max(first.len()) {
            return None;
        }
    }
    let mut name = b"key".to_vec();
    while taken.contains(&name) {
        name.insert(0, b'_');
    }
    let row = |(key, value): (&[u8], &[u8])| {
        [b"{\"", name.as_slice(), b"\":\"", key, b"\",", &value[1..]].concat()
    };
    Some(members.into_iter().map(row).collect())
}

/// Goes through the members of a text that is one object; none where it is something else, or
/// `take` wants no more.
fn each_member<'a>(
    text: &'a [u8],
    mut take: impl FnMut(&'a [u8], &'a [u8]) -> Option<()>,
) -> Option<()> {
    let mut cursor = Cursor::new(text, 0);
    cursor.skip(b'{')?;
    loop {
        let key = cursor.string()?;
        cursor.skip(b':')?;
        let value = cursor.value()?;
        take(key, text.get(value)?)?;
        if cursor.skip(b',').is_none() {
            cursor.skip(b'}')?;
            return cursor.peek().is_none().then_some(());
        }
    }
}
