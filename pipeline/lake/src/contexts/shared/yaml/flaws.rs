//! What surely is wrong in a text of YAML: brackets and quotes that are never closed, and keys
//! indented by tabs.
//!
//! Other mistakes are not looked for: the reader of tables ([`super::cut`]) takes what it
//! understands. In doubt a line is text.

/// What brackets and quotes begin with.
const OPENERS: [char; 4] = ['[', '{', '"', '\''];
/// Lines where a document begins or ends.
const MARKS: [&str; 2] = ["---", "..."];

/// What is wrong with a text, and in which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(in super::super) struct Flaw {
    line: usize,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum What {
    #[error("it is indented by a tab")]
    Tab,
    #[error("{0} is never closed")]
    NeverClosed(char),
}

/// The first flaw.
pub(in super::super) fn check(text: &str) -> Result<(), Flaw> {
    // The column of the key or item whose text goes on in lines further in.
    let mut open: Option<usize> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.lines().next().unwrap_or_default();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let is_text = content.starts_with('#') || open.is_some_and(|outer| indent > outer);
        let mut end = at;
        let is_mark = content.trim_end() == "-" || MARKS.contains(&line.trim_end());
        if is_mark && !is_text {
            open = None;
        } else if !content.is_empty() && !is_text {
            if is_tabbed(line) {
                return Err(flaw(text, at, What::Tab));
            }
            let Some((column, place)) = entry(line) else {
                return Ok(());
            };
            let goes_on;
            (end, goes_on) = value(text, at + place)?;
            open = goes_on.then_some(column);
        }
        at = after_line(text, end);
    }
    Ok(())
}

fn flaw(text: &str, at: usize, what: What) -> Flaw {
    let above = text.get(..at).unwrap_or_default();
    let line = above.matches('\n').count() + 1;
    Flaw { line, what }
}

fn after_line(text: &str, at: usize) -> usize {
    let length = text.get(at..).and_then(|rest| rest.find('\n'));
    length.map_or(text.len(), |length| at + length + 1)
}

/// Where the value that begins at `at` ends, if it is bracketed or quoted; and whether it is plain,
/// and may go on below.
fn value(text: &str, at: usize) -> Result<(usize, bool), Flaw> {
    let (mut place, mut end) = (at, at);
    loop {
        let rest = text.get(place..).unwrap_or_default();
        let Some(opener) = rest.chars().next().filter(|c| OPENERS.contains(c)) else {
            let is_plain = !rest.starts_with(['\n', '\r', '#']) && !rest.is_empty();
            return Ok((end, is_plain));
        };
        let after = match opener {
            '[' | '{' => after_brackets(text.as_bytes(), place),
            _ => after_quotes(text.as_bytes(), place),
        };
        end = after.ok_or_else(|| flaw(text, place, What::NeverClosed(opener)))?;
        // It was a key.
        let rest = text.get(end..).and_then(|rest| rest.strip_prefix(": "));
        match rest {
            Some(rest) => place = text.len() - rest.trim_start_matches(' ').len(),
            None => return Ok((end, false)),
        }
    }
}

/// The column of a line's key or, without one, of its dash; and where its value begins. `None` for
/// prose.
fn entry(line: &str) -> Option<(usize, usize)> {
    let indent = line.len() - line.trim_start().len();
    let (mut dash, mut start) = (None, indent);
    while let Some(rest) = line.get(start..).and_then(|it| it.strip_prefix("- ")) {
        dash = Some(start);
        start = line.len() - rest.trim_start_matches(' ').len();
    }
    let content = line.get(start..).unwrap_or_default();
    if content.starts_with(OPENERS) {
        return Some((dash.unwrap_or(indent), start));
    }
    match after_key(content) {
        Some(value) => Some((start, line.len() - value.trim_start().len())),
        None => Some((dash?, start)),
    }
}

/// What stands behind a line's key, if it has one.
fn after_key(content: &str) -> Option<&str> {
    let (key, value) = content
        .split_once(": ")
        .or_else(|| content.strip_suffix(':').map(|key| (key, "")))?;
    (!key.contains(" #") && !key.starts_with('#')).then_some(value)
}

fn is_tabbed(line: &str) -> bool {
    let content = line.trim_start();
    let indent = line.strip_suffix(content).unwrap_or_default();
    indent.contains('\t') && (content.starts_with("- ") || after_key(content).is_some())
}

/// The place after the bracket that closes the one at `at`. Quotes within words are letters.
fn after_brackets(text: &[u8], mut at: usize) -> Option<usize> {
    let (mut depth, mut before, mut is_new) = (0usize, b' ', true);
    while let Some(&byte) = text.get(at) {
        let is_apart = before.is_ascii_whitespace();
        before = byte;
        match byte {
            b'"' | b'\'' if is_new => {
                at = after_quotes(text, at)?;
                // `{"a":"b"}`: behind a quoted key another word begins at once.
                is_new = text.get(at) == Some(&b':');
                at += usize::from(is_new);
                continue;
            }
            b'#' if is_apart => {
                at += memchr::memchr(b'\n', text.get(at..)?)?;
                continue;
            }
            // A tag or an anchor: the word comes behind it.
            b'!' | b'&' if is_new => {
                let rest = text.get(at..)?;
                at += rest.iter().position(|it| b" \r\n,]}".contains(it))?;
                continue;
            }
            b'[' | b'{' => (depth, is_new) = (depth + 1, true),
            b']' | b'}' if depth <= 1 => return Some(at + 1),
            b']' | b'}' => (depth, is_new) = (depth - 1, false),
            b',' => is_new = true,
            b':' => is_new = text.get(at + 1).is_some_and(u8::is_ascii_whitespace),
            _ if byte.is_ascii_whitespace() => {}
            _ => is_new = false,
        }
        at += 1;
    }
    None
}

/// The place after the quote that closes the one at `at`.
fn after_quotes(text: &[u8], at: usize) -> Option<usize> {
    let quote = *text.get(at)?;
    let mut at = at + 1;
    loop {
        let byte = *text.get(at)?;
        let is_escaped = match quote {
            b'"' => byte == b'\\',
            _ => byte == b'\'' && text.get(at + 1) == Some(&b'\''),
        };
        match byte {
            _ if is_escaped => at += 2,
            _ if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn flaws_are_reported_with_their_lines() {
        for (text, wanted) in [
            ("k: [unclosed", "line 1: [ is never closed"),
            (
                "models:\n  - name: a\n    tags: [x, {y: 1]\n    b: c\n",
                "line 3: [ is never closed",
            ),
            (
                "models:\n- name: \"orders\n  description: x\n",
                "line 2: \" is never closed",
            ),
            ("- 'it''s\n- b\n", "line 1: ' is never closed"),
            ("models:\n\t- name: a\n", "line 2: it is indented by a tab"),
            ("\"a b\": {x: 1\n", "line 1: { is never closed"),
        ] {
            assert_eq!(check(text).unwrap_err().to_string(), wanted, "{text}");
        }
    }

    #[test]
    fn yaml_has_no_flaws() {
        for text in [
            "",
            "---\nversion: 2\n\nmodels:\n  - name: orders # the [sold\n    description: \"What was sold: {all}\"\n    columns:\n      - {name: id, description: 'It''s [the key'}\n",
            "a: |\n  text [ and \"more\n  \tand: tabs\nb: >-\n  'folded\nc: d\n",
            "description: he said\n  \"hello and left\n  [at once\nname: x\n",
            "- it's\n- 5\" wide\n- a [b\n- - [c, d]\n  - \"e\"\n",
            "tags: [\n  a, # one [\n  \"b]\",\n  it's, x:'y\n]\nmore: {\"a\":\"}\", b: [c]}\n",
            "text: {{ doc('orders') }}\nquoted: \"{{ doc(\\\"a\\\") }}\"\n",
            "\"a b\": he said\n  \"hello\n'c': |\n  [d\n",
            "tags: [rock 'n roll, 5 \"wide, !t 'a[b', {\"x\":'[', y: \"}\"}]\nmore: z\n",
            "url: http://x/[y\nkey:\n- a\n-\n  b: c\n",
            "a: \"over\n  two lines\"\nb: 'and\n\n  three'\n",
            "# a comment [\nanchor: &x\n  a: [1]\nother: *x\n",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }
}
