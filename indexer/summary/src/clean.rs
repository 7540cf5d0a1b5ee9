//! Cell text made fit to be shown: one line, no control characters, bounded.

/// White space and control characters to single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(256));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The text on one line, at most `characters` long; an ellipsis marks what was cut.
pub(crate) fn clip(text: &str, characters: usize) -> String {
    // Looking at a bounded beginning keeps a cell of a gigabyte as cheap as a short one.
    let bound = text
        .char_indices()
        .nth(characters.saturating_mul(4) + 64)
        .map_or(text.len(), |(at, _)| at);
    let line = one_line(&text[..bound]);
    match line.char_indices().nth(characters.max(1)) {
        None => line,
        Some(_) => {
            let end = line
                .char_indices()
                .nth(characters.max(1) - 1)
                .map_or(line.len(), |(at, _)| at);
            format!("{}…", line[..end].trim_end())
        }
    }
}

/// Words as the analyzer roughly sees them: runs of letters and digits.
pub(crate) fn count_words(text: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .count()
}

/// Values that stand for no value.
pub(crate) fn is_nothing(value: &str) -> bool {
    ["", "na", "n/a", "null", "none", "nan", "-"]
        .iter()
        .any(|nothing| value.eq_ignore_ascii_case(nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_one_bounded_line() {
        assert_eq!(one_line(" a\tb\r\n\u{0} c\u{7}d "), "a b c d");
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdefg", 6), "abcde…");
        assert_eq!(clip("ab cdefg", 4), "ab…");
        assert_eq!(clip("", 3), "");
        assert_eq!(count_words("3.5 über-cool, x"), 5);
    }
}
