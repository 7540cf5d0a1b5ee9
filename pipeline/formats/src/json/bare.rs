//! Numbers that JSON does not have and many programs write (Python's `json.dumps` among them):
//! `NaN`, `Infinity`, `-Infinity`.
//!
//! Text that cannot be parsed and has such words where values stand is parsed once more, with
//! `null` in their place.

use memchr::{memchr2, memmem};

/// What stands for no number.
const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// The text with `null` where one of these words stands as a value; `None` where none does.
pub(crate) fn as_null(text: &[u8]) -> Option<Vec<u8>> {
    if memmem::find(text, b"NaN").is_none() && memmem::find(text, b"Infinity").is_none() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() + 64);
    let (mut at, mut copied, mut is_before_value) = (0, 0, false);
    while let Some(&byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b':' | b',' | b'[' => {
                is_before_value = true;
                at += 1;
            }
            b'"' => {
                is_before_value = false;
                at = after_string(text, at + 1);
            }
            _ => {
                let rest = text.get(at..).unwrap_or_default();
                let word = word_at(rest).filter(|_| is_before_value);
                if let Some(word) = word {
                    out.extend_from_slice(text.get(copied..at).unwrap_or_default());
                    out.extend_from_slice(b"null");
                    copied = at + word.len();
                }
                is_before_value = false;
                at += word.map_or(1, <[u8]>::len);
            }
        }
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Some(out)
}

/// The word that `text` begins with, if it is a value by itself.
fn word_at(text: &[u8]) -> Option<&'static [u8]> {
    let ends_value = |byte: &u8| b",]} \t\r\n".contains(byte);
    WORDS.into_iter().find(|word| {
        let rest = text.strip_prefix(*word);
        rest.is_some_and(|rest| rest.first().is_none_or(ends_value))
    })
}

/// The place after the string of which `from` is the first byte.
fn after_string(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(length) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += length;
        match text.get(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn plain(text: &str) -> Option<String> {
        as_null(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn words_are_null_where_values_stand() {
        for (text, expected) in [
            (r#"{"a":NaN}"#, r#"{"a":null}"#),
            (
                r#"{"a" : -Infinity , "b":[NaN,1, Infinity]}"#,
                r#"{"a" : null , "b":[null,1, null]}"#,
            ),
            ("{\"a\":\n NaN\n}", "{\"a\":\n null\n}"),
            (r#"{"NaN":NaN"#, r#"{"NaN":null"#),
            (
                r#"{"a\"":"x \\","b":Infinity}"#,
                r#"{"a\"":"x \\","b":null}"#,
            ),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in [
            "",
            "NaN",
            "\"",
            r#"{"a":1}"#,
            r#"{"a":"NaN"}"#,
            r#"{"a":": NaN,"}"#,
            r#"{"a":"\": NaN,"}"#,
            r#"{"a":NaNo}"#,
            r#"{"a":1NaN}"#,
            r#"{"a":"NaN\"#,
            r#"{"a": - Infinity}"#,
            r#"{"a": +Infinity}"#,
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
