//! SQL in tokens: enough to find where a statement ends, and names in it. What it means, the engine
//! decides.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or keyword without quotes.
    Word,
    /// A name in double quotes or backticks.
    Name,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// A sign.
    Sign,
}

/// A token. A name's and a text's `text` is what stands between its quotes, as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Whether white space or a comment is before it.
    is_apart: bool,
}

impl Token {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    /// Whether it may be a name that is spelled so, but for case.
    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
            && self.text.to_lowercase() == name.to_lowercase()
    }
}

/// The tokens of a text, without its comments; `None` where a quote is open at its end.
pub(super) fn tokens(sql: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    let mut is_apart = false;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = without_space(rest) {
            (rest, is_apart) = (after, true);
            continue;
        }
        let (kind, text, after) = match first {
            '\'' => quoted(rest, '\'', Kind::Text)?,
            '"' => quoted(rest, '"', Kind::Name)?,
            '`' => quoted(rest, '`', Kind::Name)?,
            _ => plain(rest, first),
        };
        tokens.push(Token {
            kind,
            text,
            is_apart: std::mem::take(&mut is_apart),
        });
        rest = after;
    }
    Some(tokens)
}

/// The text after white space or a comment, if it begins with one.
fn without_space(text: &str) -> Option<&str> {
    if text.starts_with(char::is_whitespace) {
        return Some(text.trim_start());
    }
    if text.starts_with("--") {
        return Some(text.split_once('\n').map_or("", |(_, after)| after));
    }
    let comment = text.strip_prefix("/*")?;
    Some(comment.split_once("*/").map_or("", |(_, after)| after))
}

/// What stands in quotes, of which a double one is one, and what comes after.
fn quoted(text: &str, quote: char, kind: Kind) -> Option<(Kind, String, &str)> {
    let mut meant = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != quote {
            meant.push(letter);
        } else if letters.next_if(|(_, next)| *next == quote).is_some() {
            meant.push(quote);
        } else {
            return Some((kind, meant, &text[at + quote.len_utf8()..]));
        }
    }
    None
}

fn plain(text: &str, first: char) -> (Kind, String, &str) {
    let (kind, goes_on): (Kind, fn(char) -> bool) = match first {
        it if it.is_alphabetic() || it == '_' => (Kind::Word, |it| {
            it.is_alphanumeric() || it == '_' || it == '$'
        }),
        it if it.is_ascii_digit() => (Kind::Number, |it| it.is_alphanumeric() || it == '.'),
        _ => (Kind::Sign, |_| false),
    };
    let first_end = first.len_utf8();
    let end = text[first_end..].find(|it| !goes_on(it));
    let end = end.map_or(text.len(), |end| end + first_end);
    (kind, text[..end].to_owned(), &text[end..])
}

/// The tokens as a statement on one line, or as many as its texts and names have. Names in
/// backticks are in double quotes.
pub(super) fn written(tokens: &[Token]) -> String {
    let mut sql = String::new();
    let mut before = None;
    for token in tokens {
        // Two quotes in a row would be one quote within.
        let is_twice = matches!(token.kind, Kind::Text | Kind::Name) && before == Some(token.kind);
        if (token.is_apart || is_twice) && before.is_some() {
            sql.push(' ');
        }
        before = Some(token.kind);
        match token.kind {
            Kind::Text => sql.push_str(&in_quotes(&token.text, '\'')),
            Kind::Name => sql.push_str(&in_quotes(&token.text, '"')),
            _ => sql.push_str(&token.text),
        }
    }
    sql
}

fn in_quotes(text: &str, quote: char) -> String {
    let twice: String = [quote, quote].iter().collect();
    format!("{quote}{}{quote}", text.replace(quote, &twice))
}

/// A name as a statement has it: in double quotes, unless it is a plain word.
pub(crate) fn name(name: &str) -> String {
    let is_plain = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_');
    match is_plain && !is_reserved(name) {
        true => name.to_owned(),
        false => in_quotes(name, '"'),
    }
}

/// Whether a word has a meaning of its own where a name may be.
pub(super) fn is_reserved(word: &str) -> bool {
    const WORDS: [&str; 59] = [
        "all",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "between",
        "by",
        "case",
        "cast",
        "cross",
        "current_date",
        "desc",
        "distinct",
        "else",
        "end",
        "except",
        "exists",
        "false",
        "fetch",
        "for",
        "from",
        "full",
        "group",
        "having",
        "if",
        "in",
        "inner",
        "intersect",
        "interval",
        "into",
        "is",
        "join",
        "lateral",
        "left",
        "like",
        "limit",
        "natural",
        "not",
        "null",
        "of",
        "offset",
        "on",
        "or",
        "order",
        "outer",
        "over",
        "qualify",
        "right",
        "select",
        "set",
        "table",
        "then",
        "true",
        "union",
        "using",
        "when",
        "where",
        "with",
    ];
    let word = word.to_ascii_lowercase();
    WORDS.binary_search(&word.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_hold_what_they_hold_and_comments_are_none() {
        let sql = "SELECT `a;b`, 'O''Brien; --x' /* ; */ FROM \"t\"\"1\" -- end;\nWHERE 1.5e3<>x";
        let read = tokens(sql).unwrap();
        assert_eq!(
            written(&read),
            "SELECT \"a;b\", 'O''Brien; --x' FROM \"t\"\"1\" WHERE 1.5e3<>x"
        );
        assert!(read.iter().all(|it| !it.is_sign(";")));
        assert_eq!(tokens("SELECT 'open"), None);
        assert_eq!(name("Order"), "\"Order\"");
        assert_eq!(name("a\"b"), "\"a\"\"b\"");
        assert_eq!(name("Song_Name"), "Song_Name");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(sql in "[a'\"`;\\-/* \n1.(é]{0,30}") {
            if let Some(read) = tokens(&sql) {
                let again = tokens(&written(&read)).unwrap();
                let bare = |it: &[Token]| -> Vec<(Kind, String)> {
                    it.iter().map(|it| (it.kind, it.text.clone())).collect()
                };
                prop_assert_eq!(bare(&again), bare(&read));
            }
        }
    }
}
