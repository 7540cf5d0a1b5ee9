//! JSON files that are one document and no rows: descriptions of services, schemas, settings of
//! programs, answers of services that failed or have no rows.
//!
//! Each kind is known by the members that its specification asks for, whatever the file is called.

use std::collections::BTreeMap;

use memchr::{memchr, memmem};
use serde::de::IgnoredAny;

use super::feature;
use super::holds::{Holds, holds};
use super::outline::{Cursor, Elements, Step};
use super::wrapped::{self, Shape};

/// Bytes of the longest document; what is longer holds data.
const LONGEST: usize = 4 << 20;
/// The same of an answer that reports an error: longer ones list errors, as rows.
const LONGEST_ERROR: usize = 16 << 10;
/// Members of a document at most.
const MOST_MEMBERS: usize = 100;
/// Members of which a manifest of a package has one, beside its name and version.
const OF_PACKAGES: [&str; 4] = ["dependencies", "devDependencies", "packages", "scripts"];
/// All that an answer says that reports an error; the first few say that it does.
const OF_ERRORS: [&str; 16] = [
    "error",
    "errors",
    "fault",
    "error_description",
    "code",
    "detail",
    "details",
    "documentation_url",
    "instance",
    "message",
    "path",
    "request_id",
    "status",
    "timestamp",
    "title",
    "type",
];
const SAY_ERROR: usize = 4;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Document {
    /// OpenAPI, Swagger, AsyncAPI.
    Service,
    /// JSON Schema, or a schema of Avro or Spark.
    Schema,
    /// A manifest of a package, options of a compiler, what names its own schema, JSON with
    /// comments.
    Settings,
    /// An answer that reports an error (RFC 9457, and services' own forms), and of nothing else.
    Error,
    /// A list of plain values.
    Values,
    /// A page without rows: one empty list, and counts or links beside it.
    EmptyPage,
}

impl Document {
    /// What a whole text of JSON is, if it is one of these.
    pub(super) fn of(text: &[u8]) -> Option<Document> {
        if text.len() > LONGEST {
            return None;
        }
        let is_json = |text: &[u8]| serde_json::from_slice::<IgnoredAny>(text).is_ok();
        if is_list_of_values(text) {
            return is_json(text).then_some(Document::Values);
        }
        if let Some(members) = Members::of(text) {
            let is_short = |it: &Document| *it != Document::Error || text.len() <= LONGEST_ERROR;
            let document = members.document().filter(is_short);
            return document.filter(|_| is_json(text));
        }
        let plain = without_comments(text)?;
        let is_object = Members::of(&plain).is_some() && is_json(&plain);
        is_object.then_some(Document::Settings)
    }

    /// Why it is no table.
    pub(super) fn cause(self) -> &'static str {
        match self {
            Document::Service => "it describes a service, and holds no rows",
            Document::Schema => "it is a schema, and holds no rows",
            Document::Settings => "it holds settings of a program, and no rows",
            Document::Error => "it is an answer that tells of an error, and holds no rows",
            Document::Values => "it is a list of plain values, and holds no rows",
            Document::EmptyPage => "its list is empty: it holds no rows",
        }
    }
}

fn is_list_of_values(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0);
    let Some(()) = cursor.skip(b'[') else {
        return false;
    };
    let (mut elements, mut at, mut count) = (Elements::default(), cursor.at(), 0u64);
    loop {
        match elements.step(text, at) {
            Step::Element(value) if matches!(text.get(value.start), Some(b'{' | b'[')) => {
                return false;
            }
            Step::Element(value) => (at, count) = (value.end, count + 1),
            Step::End(_) => return count > 0,
            Step::Cut | Step::Broken => return false,
        }
    }
}

/// Whether a text is one object without a list of objects, which is no feature of GeoJSON.
pub(super) fn is_one_object(text: &[u8]) -> bool {
    let wraps = || wrapped::whole(text, true) != Shape::Objects;
    text.trim_ascii_start().starts_with(b"{")
        && holds(text) == Holds::One
        && !wraps()
        && !feature::is_one(text)
        && Members::of(text).is_some_and(|members| !members.have_rows())
}

/// What a member's value is, as far as that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Null,
    /// A number, true or false.
    Scalar,
    Text,
    EmptyList,
    List,
    ListOfObjects,
    Object,
}

/// The members of one object, by their keys as they are written.
#[derive(Default)]
struct Members<'a> {
    values: BTreeMap<&'a [u8], Value>,
    /// The text of `type`.
    kind: Option<&'a [u8]>,
}

impl<'a> Members<'a> {
    /// Those of a text that is one object, as far as its structure shows.
    fn of(text: &'a [u8]) -> Option<Members<'a>> {
        let mut members = Members::default();
        let mut cursor = Cursor::new(text, 0);
        cursor.skip(b'{')?;
        if cursor.skip(b'}').is_none() {
            loop {
                let key = cursor.string()?;
                cursor.skip(b':')?;
                members.member(&mut cursor, key)?;
                if members.values.len() > MOST_MEMBERS {
                    return None;
                }
                if cursor.skip(b',').is_none() {
                    break cursor.skip(b'}')?;
                }
            }
        }
        cursor.peek().is_none().then_some(members)
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &'a [u8]) -> Option<()> {
        let value = match cursor.peek()? {
            b'{' => Value::Object,
            b'[' => match Cursor::new(cursor.text(), cursor.at() + 1).peek()? {
                b']' => Value::EmptyList,
                b'{' => Value::ListOfObjects,
                _ => Value::List,
            },
            b'"' if key == b"type" => {
                self.kind = Some(cursor.string()?);
                self.values.insert(key, Value::Text);
                return Some(());
            }
            b'"' => Value::Text,
            b'n' => Value::Null,
            _ => Value::Scalar,
        };
        cursor.value()?;
        self.values.insert(key, value);
        Some(())
    }

    fn document(&self) -> Option<Document> {
        let any = |keys: &[&str], value| {
            keys.iter()
                .any(|key| self.values.get(key.as_bytes()) == Some(&value))
        };
        let has = |key, value| any(&[key], value);
        if any(&["openapi", "swagger", "asyncapi"], Value::Text) && has("info", Value::Object) {
            return Some(Document::Service);
        }
        let is_schema = match self.kind {
            Some(b"record" | b"struct") => has("fields", Value::ListOfObjects),
            Some(b"object") => has("properties", Value::Object),
            _ => false,
        };
        let names_schema = has("$schema", Value::Text);
        if is_schema || names_schema && any(&["$defs", "definitions", "properties"], Value::Object)
        {
            return Some(Document::Schema);
        }
        let is_package = has("name", Value::Text) && has("version", Value::Text);
        let is_package = is_package && any(&OF_PACKAGES, Value::Object);
        let is_settings = has("compilerOptions", Value::Object);
        if is_package || is_settings || names_schema && !self.have_rows() {
            return Some(Document::Settings);
        }
        if self.is_error() {
            return Some(Document::Error);
        }
        self.is_empty_page().then_some(Document::EmptyPage)
    }

    fn have_rows(&self) -> bool {
        self.values.values().any(|it| *it == Value::ListOfObjects)
    }

    fn is_error(&self) -> bool {
        let has = |key: &str| {
            self.values
                .get(key.as_bytes())
                .is_some_and(|it| *it != Value::Null)
        };
        let is_problem = ["title", "status"].into_iter().all(has);
        let says = is_problem || OF_ERRORS[..SAY_ERROR].iter().any(|key| has(key));
        says && self
            .values
            .keys()
            .all(|key| OF_ERRORS.iter().any(|it| it.as_bytes() == *key))
    }

    fn is_empty_page(&self) -> bool {
        let count = |value| self.values.values().filter(|it| **it == value).count();
        let others = [Value::Text, Value::List, Value::ListOfObjects];
        count(Value::EmptyList) == 1 && others.into_iter().all(|value| count(value) == 0)
    }
}

/// A text without its comments (`//` and `/* */`) and without commas behind a last member, if it
/// has comments.
fn without_comments(text: &[u8]) -> Option<Vec<u8>> {
    let (mut kept, mut at, mut has_comments) = (Vec::with_capacity(text.len()), 0, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest {
            [b'"', ..] => {
                let mut string = Cursor::new(text, at);
                string.string()?;
                string.at() - at
            }
            [b'/', b'/', ..] => {
                has_comments = true;
                at += memchr(b'\n', rest).unwrap_or(rest.len());
                continue;
            }
            [b'/', b'*', after @ ..] => {
                has_comments = true;
                at += memmem::find(after, b"*/")? + 4;
                continue;
            }
            _ => 1,
        };
        if matches!(rest, [b'}' | b']', ..]) {
            let end = kept.trim_ascii_end().strip_suffix(b",").map(<[u8]>::len);
            kept.truncate(end.unwrap_or(kept.len()));
        }
        kept.extend_from_slice(&rest[..length]);
        at += length;
    }
    has_comments.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_known_by_their_members() {
        use Document::{EmptyPage, Error, Schema, Service, Settings, Values};
        for (text, expected) in [
            (
                r#"{"openapi": "3.0.3", "info": {"title": "x"}, "paths": {}}"#,
                Service,
            ),
            (
                r#"{"swagger": "2.0", "info": {}, "tags": [{"name": "a"}]}"#,
                Service,
            ),
            (
                r#"{"type": "record", "name": "c", "fields": [{"name": "a", "type": "int"}]}"#,
                Schema,
            ),
            (r#"{"type": "struct", "fields": [{"name": "a"}]}"#, Schema),
            (
                r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {}}"#,
                Schema,
            ),
            (
                r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
                Schema,
            ),
            (
                r#"{"$schema": "./settings.json", "theme": "dark", "rules": ["a"]}"#,
                Settings,
            ),
            (
                r#"{"name": "shop", "version": "2.1.0", "dependencies": {"react": "^18"}}"#,
                Settings,
            ),
            (r#"{"compilerOptions": {"strict": true}}"#, Settings),
            (
                "{\n // a comment\n \"a\": [1, 2, /* x */],\n \"b\": \"http://x\",\n}\n",
                Settings,
            ),
            (
                r#"{"error": {"type": "rate_limit_error", "message": "Too many requests"}}"#,
                Error,
            ),
            (r#"{"errors": [{"code": 7}], "status": 400}"#, Error),
            (
                r#"{"type": "about:blank", "title": "Not found", "status": 404}"#,
                Error,
            ),
            (r#"[1, "a", null]"#, Values),
            (r#"{"data": [], "total": 0}"#, EmptyPage),
            (
                r#"{"tickets": [], "next_page": null, "meta": {"links": ["x"]}}"#,
                EmptyPage,
            ),
        ] {
            assert_eq!(Document::of(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn records_and_rows_are_none() {
        for text in [
            "",
            "{}",
            "[]",
            "7",
            r#"{"id": 7, "name": "Ada", "tags": []}"#,
            r#"{"name": "pump", "version": "2", "weight": 4}"#,
            r#"{"id": 7, "error": "disk full"}"#,
            r#"{"error": null, "message": "fine", "code": 0}"#,
            r#"{"type": "Feature", "properties": {}, "geometry": null}"#,
            r#"{"$schema": "x", "data": [{"a": 1}, {"a": 2}]}"#,
            r#"{"error": 5} {"error": 6}"#,
            r#"{"error": {"a": }}"#,
            r#"{"a": 5"#,
            "{\"a\": 5, // cut",
            "/* ",
            "\"",
        ] {
            assert_eq!(Document::of(text.as_bytes()), None, "{text}");
        }
    }
}
