//! Values of JSON within bounds: of large files only what is wanted takes memory, whatever they
//! hold.

use std::cell::Cell;
use std::fmt;

use limn_profile::text::prefix;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

/// Members and elements that are kept of one value.
const MOST_VALUES: usize = 100_000;
/// Characters that are kept of a text, and of a key.
const TEXT_CHARS: usize = 8000;
const KEY_CHARS: usize = 300;

/// Reads one value: without members of the names given, and of a very large one the beginning.
#[derive(Clone, Copy)]
struct Sparse<'a> {
    left_out: &'a [&'a str],
    room: &'a Cell<usize>,
}

/// The room for one value.
fn room() -> Cell<usize> {
    Cell::new(MOST_VALUES)
}

impl<'a> Sparse<'a> {
    fn new(left_out: &'a [&'a str], room: &'a Cell<usize>) -> Self {
        Sparse { left_out, room }
    }

    fn takes_room(self) -> bool {
        let room = self.room.get();
        self.room.set(room.saturating_sub(1));
        room > 0
    }
}

impl<'de> DeserializeSeed<'de> for Sparse<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sparse<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.left_out.contains(&key.as_str()) || !self.takes_room() {
                map.next_value::<IgnoredAny>()?;
            } else {
                let value = map.next_value_seed(self)?;
                members.insert(prefix(&key, KEY_CHARS).to_owned(), value);
            }
        }
        Ok(Value::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        loop {
            if !self.takes_room() {
                while array.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            match array.next_element_seed(self)? {
                Some(element) => elements.push(element),
                None => break,
            }
        }
        Ok(Value::Array(elements))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(prefix(text, TEXT_CHARS).to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }
}

/// A text says more than may be kept of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    #[error("it has more than {0} nodes")]
    Nodes(usize),
    #[error("it is about more than {0} datasets")]
    Datasets(usize),
}

/// What is done with a member of a section: the section's name, the member's, its value.
type Take<'a> = &'a mut dyn FnMut(&str, &str, Value) -> Result<(), TooMuch>;

/// The members of some of an object's own members (`sections`), one after another as they stand in
/// a text; what is no object has none. Of values the members called `left_out` are passed over.
///
/// # Errors
/// The text is not JSON, or what `take` says.
pub(super) fn members(
    text: &[u8],
    sections: &[&str],
    left_out: &[&str],
    take: Take<'_>,
) -> Result<(), serde_json::Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut json = serde_json::Deserializer::from_slice(text);
    Sections {
        sections,
        left_out,
        take,
    }
    .deserialize(&mut json)?;
    json.end()
}

struct Sections<'a> {
    sections: &'a [&'a str],
    left_out: &'a [&'a str],
    take: Take<'a>,
}

impl<'de> DeserializeSeed<'de> for Sections<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Sections<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if self.sections.contains(&key.as_str()) {
                map.next_value_seed(Section {
                    name: &key,
                    left_out: self.left_out,
                    take: &mut *self.take,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Section<'a> {
    name: &'a str,
    left_out: &'a [&'a str],
    take: Take<'a>,
}

impl<'de> DeserializeSeed<'de> for Section<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Section<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let room = room();
            let value = map.next_value_seed(Sparse::new(self.left_out, &room))?;
            (self.take)(self.name, prefix(&key, KEY_CHARS), value).map_err(A::Error::custom)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

/// The objects that stand one after another in a text, or in one array, as they come.
///
/// # Errors
/// The text is not JSON, or what `take` says.
pub(super) fn objects(
    text: &[u8],
    left_out: &[&str],
    take: &mut dyn FnMut(Value) -> Result<(), TooMuch>,
) -> Result<(), serde_json::Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut json = serde_json::Deserializer::from_slice(text);
    if text.trim_ascii_start().first() == Some(&b'[') {
        Elements { left_out, take }.deserialize(&mut json)?;
        return json.end();
    }
    while json.end().is_err() {
        let room = room();
        let value = Sparse::new(left_out, &room).deserialize(&mut json)?;
        take(value).map_err(serde_json::Error::custom)?;
    }
    Ok(())
}

struct Elements<'a> {
    left_out: &'a [&'a str],
    take: &'a mut dyn FnMut(Value) -> Result<(), TooMuch>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        loop {
            let room = room();
            match array.next_element_seed(Sparse::new(self.left_out, &room))? {
                Some(value) => (self.take)(value).map_err(A::Error::custom)?,
                None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_wanted_of_sections_is_read() {
        let text = json!({
            "skipped": {"a": {"x": 1}},
            "nodes": {"a": {"name": "orders", "code": "select", "list": [1, 2.5, true, null, "x"]}, "b": 7},
            "sources": [1, {"a": 2}],
            "other": "text",
        })
        .to_string();
        let mut found = Vec::new();
        members(
            text.as_bytes(),
            &["nodes", "sources", "other"],
            &["code"],
            &mut |section, name, value| {
                found.push(format!("{section} {name} {value}"));
                Ok(())
            },
        )
        .unwrap();
        let a = r#"nodes a {"name":"orders","list":[1,2.5,true,null,"x"]}"#;
        assert_eq!(found, [a, "nodes b 7"]);
        for wrong in ["", "[]", "7", "{\"nodes\": {", "{} x"] {
            let read = members(wrong.as_bytes(), &["nodes"], &[], &mut |_, _, _| Ok(()));
            assert!(read.is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_value_takes_memory_within_bounds_however_large_it_is() {
        let text = format!("{{\"a\": [{}[]], \"b\": 1}}", "[],".repeat(3 * MOST_VALUES));
        let mut found = Vec::new();
        let mut take = |value: Value| {
            found.push(value);
            Ok(())
        };
        objects(text.as_bytes(), &[], &mut take).unwrap();
        let a = found[0]["a"].as_array().unwrap();
        assert!(a.len() < MOST_VALUES && found[0].get("b").is_none());
        // The next one has all the room again.
        let mut count = 0;
        objects(b"{\"a\": 1}\n {\"a\": 2}", &[], &mut |_| {
            count += 1;
            Ok(())
        })
        .unwrap();
        objects(b" [{\"a\": 1}, 2, {}]", &[], &mut |_| {
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(count, 5);
        assert!(objects(b"{\"a\": 1}\n{\"a\": ", &[], &mut |_| Ok(())).is_err());
    }
}
