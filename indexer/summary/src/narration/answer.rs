//! What a model answered, as the text that the index keeps.

use super::visible_line;

/// Characters kept of a narration: whole sentences where the first one fits.
const NARRATION: usize = 240;

/// What models say instead of a description.
const NOTHING: [&str; 16] = [
    "no description",
    "not certain",
    "i am not certain",
    "i'm not certain",
    "i am not sure",
    "i'm not sure",
    "i am uncertain",
    "i cannot",
    "i can't",
    "i do not know",
    "i don't know",
    "cannot be determined",
    "unable to",
    "uncertain",
    "unknown",
    "n/a",
];

/// Verbs after which a description begins: `The column b holds …`.
const VERBS: [&str; 15] = [
    "stands for",
    "holds",
    "contains",
    "represents",
    "stores",
    "describes",
    "indicates",
    "denotes",
    "shows",
    "records",
    "lists",
    "refers to",
    "specifies",
    "is",
    "tells",
];

/// The narration of `column` in a model's answer; `None` where the model gave none.
///
/// The text is one line of at most 240 characters without markup, quotes, invisible characters, or
/// a beginning that only repeats the column's name.
pub fn parse_narration(answer: &str, column: &str) -> Option<String> {
    let line = answer
        .lines()
        .map(|line| visible_line(&line.chars().take(NARRATION * 8).collect::<String>()))
        .map(|line| unmarked(&line))
        .find(|line| line.chars().any(char::is_alphanumeric))?;
    let column = unmarked(&visible_line(column));
    let text = without_name(&line, &column);
    let text = sentences(text.trim());
    let text = text.trim_matches(|c: char| c == '"' || c.is_whitespace());
    let says = text.trim_end_matches(['.', '!', '?', ':', '…']).trim();
    if !says.chars().any(char::is_alphanumeric)
        || is_nothing(says)
        || says.to_lowercase() == column.to_lowercase()
    {
        return None;
    }
    Some(capitalised(text))
}

/// Whether an answer, or a sentence of it, says that there is no description.
fn is_nothing(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    text == "none"
        || NOTHING
            .iter()
            .any(|nothing| begins_with_words(text, nothing))
}

/// Whether a text begins with these words and not only with their letters.
fn begins_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// A line without Markdown: list marks, emphasis, code, quotation.
fn unmarked(line: &str) -> String {
    let text: String = line
        .chars()
        .filter(|c| !matches!(c, '`' | '*' | '#' | '“' | '”' | '"'))
        .collect();
    let text = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '-' | '–' | '—' | '•' | '>' | '_' | '\'' | '~' | '|')
    });
    text.to_owned()
}

/// An answer without a beginning that repeats the column's name: `b: …`, `The column b holds …`.
fn without_name<'a>(line: &'a str, column: &str) -> &'a str {
    let mut rest = line;
    let mut named = false;
    for word in ["the ", "this ", "column "] {
        rest = strip_ignoring_case(rest, word).unwrap_or(rest);
    }
    if !column.is_empty()
        && let Some(after) = strip_ignoring_case(rest, column)
        && !after.starts_with(char::is_alphanumeric)
    {
        rest = after.trim_start_matches(['\'', '_']).trim_start();
        named = true;
    }
    rest = strip_ignoring_case(rest, "column ").unwrap_or(rest);
    if named {
        // A dash may also join words: `a-b`.
        let after = rest.strip_prefix([':', '=', '—']);
        let after = after.or_else(|| rest.strip_prefix("- ").or_else(|| rest.strip_prefix("– ")));
        if let Some(after) = after {
            return after.trim_start();
        }
    }
    let was_column = named
        || strip_ignoring_case(line, "this column ").is_some()
        || strip_ignoring_case(line, "the column ").is_some();
    if was_column {
        for verb in VERBS {
            if let Some(after) = strip_ignoring_case(rest, verb)
                && after.starts_with(' ')
            {
                return after.trim_start();
            }
        }
    }
    line
}

fn strip_ignoring_case<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let mut rest = text.chars();
    for wanted in beginning.chars() {
        let found = rest.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// The first sentences that fit, without those that say that there is no description; the first is
/// cut at a word if it alone is too long.
fn sentences(text: &str) -> String {
    let mut kept = String::new();
    let mut length = 0;
    for sentence in split_sentences(text) {
        if !kept.is_empty() && is_nothing(sentence) {
            break;
        }
        let more = sentence.chars().count() + usize::from(!kept.is_empty());
        if length + more > NARRATION {
            break;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(sentence);
        length += more;
    }
    if !kept.is_empty() {
        return kept;
    }
    let cut: String = text.chars().take(NARRATION - 1).collect();
    match cut.rfind(' ') {
        Some(space) if space > cut.len() / 2 => format!("{}…", cut[..space].trim_end()),
        _ if cut.len() < text.len() => format!("{cut}…"),
        _ => cut,
    }
}

/// Sentences of one line: a stop, a space and a capital end one.
fn split_sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(['.', '!', '?']) {
        let end = at + 1;
        let mut after = text[end..].chars();
        if after.next() == Some(' ')
            && after.next().is_some_and(|c| !c.is_lowercase())
            && end > start
        {
            parts.push(text[start..end].trim());
            start = end;
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) if first.is_lowercase() => {
            // A word with a capital inside (`mRNA`) is spelled as it is meant.
            let word = text.split(' ').next().unwrap_or_default();
            if word.chars().any(char::is_uppercase) {
                return text.to_owned();
            }
            first.to_uppercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}
