//! What a JSON file beside a table holds: rows, as any data file does, or one thing, which then is
//! about the table.
//!
//! Two objects or more are rows, also in an object that wraps their list ([`super::wrapped`]). A
//! list called `columns` or `fields` describes the columns of the table beside it, as table schemas
//! do, and is no list of rows.

use super::outline::{Elements, Step};
use super::regular::Form;
use super::wrapped::{self, List, Shape as Wraps};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Bytes of a sidecar that are read; more says nothing about a table that a search could use.
pub const SIDECAR_BYTES: u64 = 1 << 20;
/// Objects from which on a file holds rows.
const ROWS: u64 = 2;
/// Names of lists that describe columns.
const COLUMNS: [&str; 2] = ["columns", "fields"];

/// What a text of JSON holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Objects, in an array or one after another.
    Rows,
    /// One value that is no rows.
    One,
    /// Neither: no JSON, or broken off.
    Neither,
}

/// What `text` holds. It is looked at as far as that takes, and nothing of it is kept.
pub fn holds(text: &[u8]) -> Holds {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut values = 0;
    let mut objects = 0;
    for value in serde_json::Deserializer::from_slice(text).into_iter::<Shape>() {
        let Ok(shape) = value else {
            return Holds::Neither;
        };
        match shape {
            Shape::Object => objects += 1,
            Shape::Array { objects } if values == 0 && objects >= ROWS => return Holds::Rows,
            Shape::Array { .. } | Shape::Other => {}
        }
        if objects >= ROWS {
            return Holds::Rows;
        }
        values += 1;
    }
    match values {
        1 if objects == 1 && wraps_rows(text) => Holds::Rows,
        1 => Holds::One,
        _ => Holds::Neither,
    }
}

/// Whether one object wraps rows.
fn wraps_rows(text: &[u8]) -> bool {
    let (path, start) = match wrapped::whole(text, true) {
        Wraps::List(List {
            path,
            start,
            form: Form::Objects,
        }) => (path, start),
        Wraps::List(_) | Wraps::Keyed(_) => return true,
        Wraps::Nothing | Wraps::Objects => return false,
    };
    let path = path.unwrap_or_default();
    let name = path
        .rsplit_once('.')
        .map_or(path.as_str(), |(_, name)| name);
    if COLUMNS.iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return false;
    }
    let (mut elements, mut at, mut objects) = (Elements::default(), start, 0);
    while let Step::Element(range) = elements.step(text, at) {
        at = range.end;
        objects += u64::from(text.get(range.start) == Some(&b'{'));
        if objects >= ROWS {
            return true;
        }
    }
    false
}

/// What a value is; of an array how many objects are directly in it.
enum Shape {
    Object,
    Array { objects: u64 },
    Other,
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shape::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Shape, A::Error> {
        let mut objects = 0;
        while let Some(inner) = array.next_element::<Shape>()? {
            objects += u64::from(matches!(inner, Shape::Object));
        }
        Ok(Shape::Array { objects })
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_two_objects_or_more() {
        for (text, expected) in [
            ("[{}, {\"a\": 1}]", Holds::Rows),
            ("{\"a\": 1}\n{\"a\": 2}\n", Holds::Rows),
            ("\u{feff}{\"a\": 1} {\"a\": 2} and what not", Holds::Rows),
            ("[1, {}, [], {}]", Holds::Rows),
            ("{\"rows\": [{}, {}]}", Holds::Rows),
            ("{\"a\": {\"rows\": [{}, 1, {}], \"n\": 2}}", Holds::Rows),
            ("{\"rows\": [{}]}", Holds::One),
            ("{\"rows\": [{}, {}], \"more\": [{}]}", Holds::One),
            ("{\"columns\": [{}, {}]}", Holds::One),
            ("{\"schema\": {\"Fields\": [{}, {}]}}", Holds::One),
            ("[{\"a\": 1}]", Holds::One),
            ("[[{}, {}]]", Holds::One),
            ("[1, 2.5, \"x\", null, true, -1]", Holds::One),
            (" \"words\" ", Holds::One),
            ("{}", Holds::One),
            ("", Holds::Neither),
            (" \n", Holds::Neither),
            ("{\"a\": 1", Holds::Neither),
            ("[{}, {}", Holds::Neither),
            ("{} x", Holds::Neither),
            ("1 2", Holds::Neither),
            ("a,b\n1,2", Holds::Neither),
        ] {
            assert_eq!(holds(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(holds("[".repeat(1 << 20).as_bytes()), Holds::Neither);
        let nested = format!("{}{{}}{}", "{\"a\":".repeat(50), "}".repeat(50));
        assert_eq!(holds(nested.as_bytes()), Holds::One);
    }
}
