//! The structure of a JSON text, found without a parser's stack: where a value ends, and where the
//! elements of a list are.
//!
//! Nothing of what is passed is checked or kept: the reader of a value parses it. So a text of any
//! depth costs no more than its bytes, and one broken element costs itself.

use std::ops::Range;

use memchr::{memchr, memchr2};

/// A place in a text.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { text, at }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// How many bytes lie before it.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..)?;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at += rest.iter().take_while(|byte| blank(byte)).count();
        self.text.get(self.at).copied()
    }

    /// Passes this byte, if it is the next one.
    pub(super) fn skip(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Passes a string; what is between its quotes, escapes as they are written.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        self.skip(b'"')?;
        let start = self.at;
        loop {
            let length = memchr2(b'"', b'\\', self.text.get(self.at..)?)?;
            self.at += length;
            if self.text.get(self.at) == Some(&b'"') {
                let string = self.text.get(start..self.at);
                self.at += 1;
                return string;
            }
            self.at += 2;
        }
    }

    /// Passes a value; `None` where the text ends within it, or no value is there.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        let first = self.peek()?;
        let start = self.at;
        match first {
            b'"' => drop(self.string()?),
            b'{' | b'[' => self.structure()?,
            b'}' | b']' | b',' | b':' => return None,
            _ => {
                let ends = |byte: &u8| b",:[]{}\" \t\r\n".contains(byte);
                self.at += self.text.get(self.at..)?.iter().position(ends)?;
            }
        }
        Some(start..self.at)
    }

    /// Passes an object or a list.
    fn structure(&mut self) -> Option<()> {
        let mut depth = 0u64;
        loop {
            let ends = |byte: &u8| b"\"[]{}".contains(byte);
            self.at += self.text.get(self.at..)?.iter().position(ends)?;
            match self.text.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                _ => depth = depth.saturating_sub(1),
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// What comes next in a list.
pub(super) enum Step {
    /// An element.
    Element(Range<usize>),
    /// The list's end, and where it is passed.
    End(usize),
    /// The text ends before either.
    Cut,
    /// Neither stands there.
    Broken,
}

/// Goes from element to element of a list, of which the text may come piece by piece.
#[derive(Default)]
pub(super) struct Elements {
    has_begun: bool,
}

impl Elements {
    /// The next step from byte `at` on: where the list's bracket was passed, or its last element.
    /// After a cut the same step can be taken again in more text.
    pub(super) fn step(&mut self, text: &[u8], at: usize) -> Step {
        let mut cursor = Cursor::new(text, at);
        let Some(next) = cursor.peek() else {
            return Step::Cut;
        };
        match (next, self.has_begun) {
            (b']', _) => return Step::End(cursor.at() + 1),
            (b',', true) => drop(cursor.skip(b',')),
            (_, true) => return Step::Broken,
            (_, false) => {}
        }
        match cursor.peek() {
            Some(b']' | b'}' | b',' | b':') => return Step::Broken,
            None => return Step::Cut,
            Some(_) => {}
        }
        match cursor.value() {
            Some(element) => {
                self.has_begun = true;
                Step::Element(element)
            }
            None => Step::Cut,
        }
    }
}

/// Whether another list follows the first one on a line of its own.
pub(super) fn are_lists(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0);
    let Some(first) = cursor.value() else {
        return false;
    };
    let between = first.end;
    let is_list = cursor.peek() == Some(b'[');
    is_list && memchr(b'\n', text.get(between..cursor.at()).unwrap_or_default()).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn elements(text: &str) -> (Vec<String>, char) {
        let (mut elements, mut at, mut found) = (Elements::default(), 1, Vec::new());
        loop {
            match elements.step(text.as_bytes(), at) {
                Step::Element(range) => {
                    at = range.end;
                    found.push(text[range].to_owned());
                }
                Step::End(_) => return (found, ']'),
                Step::Cut => return (found, '…'),
                Step::Broken => return (found, '!'),
            }
        }
    }

    #[test]
    fn elements_are_found_whatever_they_are() {
        for (text, expected, end) in [
            ("[]", vec![], ']'),
            (
                "[ 1 , \"],[\" ,{\"a\\\"}\":[1]}]",
                vec!["1", "\"],[\"", "{\"a\\\"}\":[1]}"],
                ']',
            ),
            ("[1", vec![], '…'),
            ("[1 ", vec!["1"], '…'),
            ("[{\"a\":1},{\"a\"", vec!["{\"a\":1}"], '…'),
            ("[1 2]", vec!["1"], '!'),
            ("[1,]", vec!["1"], '!'),
            ("[,1]", vec![], '!'),
        ] {
            let (found, ends) = elements(text);
            assert_eq!(
                (found, ends),
                (expected.iter().map(|it| (*it).to_owned()).collect(), end),
                "{text}"
            );
        }
        let deep = format!("[{}{}]", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(elements(&deep).1, ']');
    }

    #[test]
    fn lists_of_lines_are_known() {
        assert!(are_lists(b"[1,2]\n[3]"));
        assert!(!are_lists(b"[1,2] [3]") && !are_lists(b"[1,2") && !are_lists(b"[[1],\n[2]]"));
    }

    proptest! {
        /// Whatever a parser reads as a list has the same elements here, also where the text comes
        /// in pieces.
        #[test]
        fn elements_are_those_of_the_parser(
            list in proptest::collection::vec("(null|-?[0-9]{1,3}|\"[a\\[\\]{},]{0,4}\"|\\[(1|\\{\\})?\\]|\\{\"[a-c]\": ?\\[?1\\]?\\}) ?", 0..8),
            cut in 0usize..80,
        ) {
            let text = format!("[{}]", list.join(", "));
            if let Ok(parsed) = serde_json::from_str::<Vec<serde_json::Value>>(&text) {
                let (found, end) = elements(&text);
                prop_assert_eq!(end, ']');
                let found: Vec<serde_json::Value> = found.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
                prop_assert_eq!(&found, &parsed);
                let (mut walk, mut at, mut seen) = (Elements::default(), 1, 0);
                let mut end = cut.clamp(1, text.len());
                loop {
                    match walk.step(&text.as_bytes()[..end], at) {
                        Step::Element(range) => (at, seen) = (range.end, seen + 1),
                        Step::End(_) => break,
                        Step::Cut => end = text.len(),
                        Step::Broken => prop_assert!(false, "broken"),
                    }
                }
                prop_assert_eq!(seen, parsed.len());
            }
        }
    }
}
