//! What surely is wrong in a text of YAML: brackets and quotes that are never closed, and keys indented by tabs.
//!
//! Other mistakes are not looked for: the reader of tables ([`super::cut`]) takes what it understands. In doubt a line is text.

/// The first flaw, with its line.
pub(in super::super) fn check(text: &str) -> Result<(), String> {
    // The column of the key or item whose text goes on in lines further in.
    let mut open: Option<usize> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.lines().next().unwrap_or_default();
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let is_text = content.starts_with('#') || open.is_some_and(|outer| indent > outer);
        let mut end = at;
        if !content.is_empty() && !is_text {
            if is_tabbed(line) {
                return Err(flaw(text, at, "it is indented by a tab"));
            }
            (open, end) = value(text, at, line)?;
        }
        at = after_line(text, end);
    }
    Ok(())
}

fn flaw(text: &str, at: usize, what: &str) -> String {
    let above = text.get(..at).unwrap_or_default();
    format!("line {}: {what}", above.matches('\n').count() + 1)
}

fn after_line(text: &str, at: usize) -> usize {
    let length = text.get(at..).and_then(|rest| rest.find('\n'));
    length.map_or(text.len(), |length| at + length + 1)
}

/// Reads the value of the line at `at`: the column whose text goes on below, if any, and where it ends, if it is bracketed or
/// quoted.
fn value(text: &str, at: usize, line: &str) -> Result<(Option<usize>, usize), String> {
    let (column, place) = entry(line);
    let (mut place, mut end) = (at + place, at);
    loop {
        let rest = text.get(place..).unwrap_or_default();
        let Some(opener) = rest.chars().next().filter(|c| "[{\"'".contains(*c)) else {
            let rest = rest.lines().next().unwrap_or_default();
            let is_empty = rest.starts_with('#') || rest.trim_matches('-').trim().is_empty();
            return Ok(((!is_empty).then_some(column), end));
        };
        let after = match opener {
            '[' | '{' => after_brackets(text.as_bytes(), place),
            _ => after_quotes(text.as_bytes(), place),
        };
        end = after.ok_or_else(|| flaw(text, place, &format!("{opener} is never closed")))?;
        // It was a key.
        let rest = text.get(end..).and_then(|rest| rest.strip_prefix(": "));
        match rest {
            Some(rest) => place = text.len() - rest.trim_start_matches(' ').len(),
            None => return Ok((None, end)),
        }
    }
}

/// The column of a line's key or, without one, of its dash; and where its value begins.
fn entry(line: &str) -> (usize, usize) {
    let indent = line.len() - line.trim_start().len();
    let (mut column, mut start) = (indent, indent);
    while let Some(rest) = line.get(start..).and_then(|it| it.strip_prefix("- ")) {
        column = start;
        start = line.len() - rest.trim_start_matches(' ').len();
    }
    let content = line.get(start..).unwrap_or_default();
    let is_opened = content.starts_with(['[', '{', '"', '\'']);
    let Some(value) = after_key(content).filter(|_| !is_opened) else {
        return (column, start);
    };
    (start, line.len() - value.trim_start().len())
}

/// What stands behind a line's key, if it has one.
fn after_key(content: &str) -> Option<&str> {
    let (key, value) = content
        .split_once(": ")
        .or_else(|| content.strip_suffix(':').map(|key| (key, "")))?;
    (!key.contains(" #")).then_some(value)
}

fn is_tabbed(line: &str) -> bool {
    let content = line.trim_start();
    let indent = line.strip_suffix(content).unwrap_or_default();
    indent.contains('\t') && (content.starts_with("- ") || after_key(content).is_some())
}

/// The place after the bracket that closes the one at `at`.
fn after_brackets(text: &[u8], mut at: usize) -> Option<usize> {
    let (mut depth, mut before) = (0usize, b' ');
    while let Some(&byte) = text.get(at) {
        let is_at_word = before.is_ascii_whitespace() || b"[{,".contains(&before);
        match byte {
            b'"' | b'\'' if is_at_word => {
                at = after_quotes(text, at)?;
                before = b'"';
                continue;
            }
            b'#' if before.is_ascii_whitespace() => {
                at += memchr::memchr(b'\n', text.get(at..)?)?;
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth <= 1 => return Some(at + 1),
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        // `{"a":"b"}`: behind a quoted key another word begins at once.
        before = if byte == b':' && before == b'"' {
            b','
        } else {
            byte
        };
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
    fn flaws_are_told_with_their_lines() {
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
            assert_eq!(check(text).unwrap_err(), wanted, "{text}");
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
            "url: http://x/[y\nkey:\n- a\n-\n  b: c\n",
            "a: \"over\n  two lines\"\nb: 'and\n\n  three'\n",
            "# a comment [\nanchor: &x\n  a: [1]\nother: *x\n",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }
}
