//! Texts cut at a character, and counts in words.

/// Cuts `text` after `chars` characters, at a character boundary.
pub fn truncate(text: &mut String, chars: usize) {
    let end = prefix(text, chars).len();
    text.truncate(end);
}

/// The first `chars` characters of `text`.
#[inline]
pub fn prefix(text: &str, chars: usize) -> &str {
    if text.len() <= chars {
        return text;
    }
    text.char_indices()
        .nth(chars)
        .map_or(text, |(end, _)| &text[..end])
}

/// `count` things in words: "1 row", "3 rows".
pub fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
