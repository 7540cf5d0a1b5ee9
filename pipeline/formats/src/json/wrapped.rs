//! Rows in a wrapper, as services answer: `{"meta": {…}, "data": [{…}, {…}]}`, `{"response":
//! {"items": [{…}]}}`.
//!
//! One object that has exactly one list of objects is the table of that list: of its own, or, where
//! it has none of its own, in an object directly in it. A list is one of objects if its first
//! element is an object. What stands beside the list is no part of the rows. An object with nothing
//! in it but an empty list, and a GeoJSON collection without features, have no rows. In a file
//! named as JSON lines each object is a row, also where there is only one.

use super::outline::Cursor;
use super::regular::{self, Form};
use crate::compression::without_compression;
use crate::member::extension;

/// Bytes of a longer file that show whether it is wrapped: all who read it look at as much.
pub(super) const BEGINNING: usize = 1 << 20;
/// Lists that are counted: of more than one none is taken.
const SEVERAL: usize = 2;

/// A list of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// The keys that lead to it: `response.items`; none of a list that is the whole text.
    pub(super) path: Option<String>,
    /// Where its first element may stand.
    pub(super) start: usize,
    /// How its elements are rows.
    pub(super) form: Form,
}

/// What one text holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A list, or an object that wraps one.
    List(List),
    /// Objects by their keys, as objects that have them.
    Keyed(Vec<Vec<u8>>),
    /// A wrapper of nothing.
    Nothing,
    /// Anything else: objects one after another, mostly.
    Objects,
}

/// Whether an object may wrap the rows of a file, as its name says: not in one of JSON lines.
pub(crate) fn may_wrap(path: &str) -> bool {
    let extension = extension(without_compression(path));
    let is = |name: &str| extension.is_some_and(|it| it.eq_ignore_ascii_case(name));
    is("json") || is("geojson")
}

/// What a text holds that is here as a whole.
pub(super) fn whole(text: &[u8], may_wrap: bool) -> Shape {
    let mut cursor = Cursor::new(text, 0);
    match cursor.peek() {
        Some(b'[') => Shape::List(top(text, cursor.at())),
        Some(b'{') if may_wrap => {
            let mut found = Found::default();
            let is_whole = found.object(&mut cursor, None).is_some() && cursor.peek().is_none();
            match is_whole {
                true => found.shape(text),
                false => Shape::Objects,
            }
        }
        _ => Shape::Objects,
    }
}

/// What a longer text holds, of which this is the beginning: a list that begins in the first
/// [`BEGINNING`] bytes and does not end there.
pub(super) fn beginning(text: &[u8], may_wrap: bool) -> Shape {
    let text = text.get(..BEGINNING).unwrap_or(text);
    let mut cursor = Cursor::new(text, 0);
    match cursor.peek() {
        Some(b'[') => Shape::List(top(text, cursor.at())),
        Some(b'{') if may_wrap => {
            let mut found = Found::default();
            let is_cut = found.object(&mut cursor, None).is_none();
            match found.open.take().filter(|_| is_cut) {
                Some((is_inner, list)) if found.is_the_only_one(is_inner) => Shape::List(list),
                _ => Shape::Objects,
            }
        }
        _ => Shape::Objects,
    }
}

/// Whether a text may be the beginning of a long list, so that more of its beginning shows it.
pub(super) fn may_be_list(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0);
    matches!(cursor.peek(), Some(b'[' | b'{')) && cursor.value().is_none()
}

fn top(text: &[u8], at: usize) -> List {
    List {
        path: None,
        start: at + 1,
        form: match regular::is_headed(text, at + 1) {
            true => Form::Headed,
            false => Form::Objects,
        },
    }
}

/// The lists of an object.
#[derive(Default)]
struct Found {
    /// Lists of objects among its own values, and in the objects directly in it: the first few.
    own: Vec<List>,
    inner: Vec<List>,
    /// Lists of lists among all of them, with the key of the last and where the list ends: the
    /// first few.
    lists: Vec<(List, Vec<u8>, usize)>,
    /// The list within which the text ends, and whether it is an inner one.
    open: Option<(bool, List)>,
    /// Own members, and empty lists among them.
    members: u64,
    empty: u64,
    is_collection: bool,
}

impl Found {
    /// Goes through an object; `None` where the text ends within it, or it is none.
    fn object(&mut self, cursor: &mut Cursor<'_>, outer: Option<&str>) -> Option<()> {
        cursor.skip(b'{')?;
        if cursor.skip(b'}').is_some() {
            return Some(());
        }
        loop {
            let key = cursor.string()?;
            cursor.skip(b':')?;
            self.member(cursor, key, outer)?;
            match cursor.peek()? {
                b',' => cursor.skip(b',')?,
                _ => return cursor.skip(b'}'),
            }
        }
    }

    fn member(&mut self, cursor: &mut Cursor<'_>, key: &[u8], outer: Option<&str>) -> Option<()> {
        self.members += u64::from(outer.is_none());
        match (cursor.peek()?, outer) {
            (b'[', _) => self.list(cursor, key, outer),
            (b'{', None) => self.object(cursor, Some(&written(key))),
            (b'"', None) if key == b"type" => {
                self.is_collection |= cursor.string()? == b"FeatureCollection";
                Some(())
            }
            _ => cursor.value().map(drop),
        }
    }

    fn list(&mut self, cursor: &mut Cursor<'_>, key: &[u8], outer: Option<&str>) -> Option<()> {
        let mut within = Cursor::new(cursor.text(), cursor.at() + 1);
        let first = within.peek()?;
        if first == b']' && outer.is_none() {
            self.empty += 1;
        }
        if first != b'{' && first != b'[' {
            return cursor.value().map(drop);
        }
        let last_key = key;
        let key = written(key);
        let list = List {
            path: Some(outer.map_or_else(|| key.clone(), |outer| format!("{outer}.{key}"))),
            start: cursor.at() + 1,
            form: Form::Objects,
        };
        if first == b'[' {
            cursor.value()?;
            if self.lists.len() < SEVERAL {
                self.lists.push((list, last_key.to_vec(), cursor.at()));
            }
            return Some(());
        }
        let Some(_) = cursor.value() else {
            self.open = Some((outer.is_some(), list));
            return None;
        };
        let lists = match outer {
            None => &mut self.own,
            Some(_) => &mut self.inner,
        };
        if lists.len() < SEVERAL {
            lists.push(list);
        }
        Some(())
    }

    fn shape(self, text: &[u8]) -> Shape {
        if let [(list, key, end)] = self.lists.as_slice()
            && let Some(form) = regular::form(text, (list.start - 1, *end), key)
        {
            return Shape::List(List {
                form,
                ..list.clone()
            });
        }
        match (self.own.as_slice(), self.inner.as_slice()) {
            ([list], _) | ([], [list]) => Shape::List(list.clone()),
            ([], []) if self.empty == 1 && (self.members == 1 || self.is_collection) => {
                Shape::Nothing
            }
            _ => regular::keyed(text).map_or(Shape::Objects, Shape::Keyed),
        }
    }

    /// Whether no list stands before the open one that would be taken, or makes two of them.
    fn is_the_only_one(&self, is_inner: bool) -> bool {
        self.own.is_empty() && (!is_inner || self.inner.is_empty())
    }
}

/// A key as it is meant.
fn written(key: &[u8]) -> String {
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(key).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(shape: Shape) -> String {
        match shape {
            Shape::List(List { path, .. }) => path.unwrap_or_else(|| "[]".to_owned()),
            Shape::Keyed(rows) => format!("{} keyed", rows.len()),
            Shape::Nothing => "nothing".to_owned(),
            Shape::Objects => "objects".to_owned(),
        }
    }

    #[test]
    fn one_object_with_one_list_of_objects_wraps_it() {
        for (text, expected) in [
            (r#"[{"a": 1}]"#, "[]"),
            (
                r#" {"meta": {"n": 2}, "data": [{"a": 1}, {"a": 2}], "ids": [1, 2]} "#,
                "data",
            ),
            (
                r#"{"response": {"items": [{"a": 1}], "count": 1}, "ok": true}"#,
                "response.items",
            ),
            (
                r#"{"links": {"all": [{"href": "x"}]}, "data": [{"a": 1}]}"#,
                "data",
            ),
            (r#"{"a\"b": [{}]}"#, "a\"b"),
            (r#"{"a": [{}], "b": [{}]}"#, "objects"),
            (r#"{"a": {"x": [{}]}, "b": {"x": [{}]}}"#, "objects"),
            (r#"{"a": {"b": {"c": [{}]}}}"#, "objects"),
            (r#"{"a": [1, {}]}"#, "objects"),
            (r#"{"a": [[{}]]}"#, "objects"),
            (r#"{"data": []}"#, "nothing"),
            (
                r#"{"type": "FeatureCollection", "name": "x", "features": []}"#,
                "nothing",
            ),
            (r#"{"name": "x", "tags": []}"#, "objects"),
            (r#"{"a": [], "b": []}"#, "objects"),
            (r#"{"a": [{}]} {"a": [{}]}"#, "objects"),
            (r#"{"a": [{}]"#, "objects"),
            (r#"{"a" [{}]}"#, "objects"),
            ("{}", "objects"),
            ("", "objects"),
            ("1", "objects"),
        ] {
            assert_eq!(path(whole(text.as_bytes(), true)), expected, "{text}");
        }
    }

    #[test]
    fn in_a_file_of_lines_an_object_is_a_row() {
        for (path, expected) in [
            ("a/x.json", true),
            ("x.GeoJSON", true),
            ("x.json.gz", true),
            ("a.zip//x.json", true),
            ("x.jsonl", false),
            ("x.ndjson.zst", false),
            ("x.geojsonl", false),
        ] {
            assert_eq!(may_wrap(path), expected, "{path}");
        }
        let text = br#"{"data": [{"a": 1}]}"#;
        assert_eq!(path(whole(text, false)), "objects");
        assert_eq!(path(beginning(&text[..15], false)), "objects");
        assert_eq!(path(whole(b"[{}]", false)), "[]");
    }

    #[test]
    fn of_a_beginning_the_list_counts_in_which_it_ends() {
        for (text, expected) in [
            (r#"[{"a": 1}, {"#, "[]"),
            (r#"{"meta": {"n": 2}, "data": [{"a": 1}, {"a"#, "data"),
            (r#"{"response": {"items": [{"a": 1},"#, "response.items"),
            (r#"{"a": [{}], "b": [{"#, "objects"),
            (r#"{"a": {"x": [{}]}, "b": [{"#, "b"),
            (r#"{"a": {"x": [{}]}, "b": {"y": [{"#, "objects"),
            (r#"{"a": [{}], "b": {"y": [{"#, "objects"),
            (r#"{"a": "x"#, "objects"),
            (r#"{"a": [1, 2"#, "objects"),
            ("{\"a\": [{}]}\n{\"a\": [{\"b\"", "objects"),
        ] {
            assert_eq!(path(beginning(text.as_bytes(), true)), expected, "{text}");
            let is_cut = !text.contains('\n');
            assert_eq!(may_be_list(text.as_bytes()), is_cut, "{text}");
        }
    }
}
