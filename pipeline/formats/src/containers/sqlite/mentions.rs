//! How often views read one another, by their definitions: SQLite puts a view in the place
//! of each mention before it asks whether that is allowed, and sixty views that each read the one
//! before twice are more than there is time for.

use std::collections::{HashMap, HashSet};

use super::cage::MOST_QUERIES;

/// The views of a database: which of them the definition of each mentions.
pub(super) struct Views(HashMap<String, Vec<String>>);

impl Views {
    /// Views by name, with their definitions.
    pub(super) fn new(definitions: &[(String, String)]) -> Self {
        let lower = |(name, sql): &(String, String)| (name.to_ascii_lowercase(), mentioned(sql));
        let mut views: HashMap<String, Vec<String>> = definitions.iter().map(lower).collect();
        let names: HashSet<String> = views.keys().cloned().collect();
        for (view, mentions) in &mut views {
            // Its own name is that which it gives itself.
            mentions.retain(|name| name != view && names.contains(name));
        }
        Views(views)
    }

    /// Whether a view comes to more than [`MOST_QUERIES`], with those that it reads, each as often
    /// as it is mentioned.
    pub(super) fn is_too_much(&self, view: &str) -> bool {
        let mut open = vec![view.to_ascii_lowercase()];
        for _ in 0..MOST_QUERIES {
            let Some(view) = open.pop() else {
                return false;
            };
            open.extend(self.0.get(&view).into_iter().flatten().cloned());
        }
        !open.is_empty()
    }
}

/// The names in a definition, in lower case; but for those before a point, since what they mean is
/// named elsewhere, too.
fn mentioned(sql: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (name, length) = match first {
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/");
                (None, end.map_or(rest.len(), |at| at + 4))
            }
            // SQLite takes texts for names of tables, too.
            '"' | '\'' | '`' => quoted(rest, first),
            '[' => quoted(rest, ']'),
            _ if is_letter(first) => {
                let end = rest.find(|it| !is_letter(it)).unwrap_or(rest.len());
                (Some(rest[..end].to_owned()), end)
            }
            _ => (None, first.len_utf8()),
        };
        rest = &rest[length..];
        if let Some(name) = name.filter(|_| !rest.trim_start().starts_with('.')) {
            names.push(name.to_ascii_lowercase());
        }
    }
    names
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$') || !letter.is_ascii()
}

/// The name in quotes that a text begins with, and how many bytes it takes with them.
fn quoted(text: &str, end: char) -> (Option<String>, usize) {
    let mut name = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == end {
            let is_doubled = end != ']' && letters.peek().is_some_and(|(_, next)| *next == end);
            if !is_doubled {
                return (Some(name), at + letter.len_utf8());
            }
            letters.next();
        }
        name.push(letter);
    }
    (None, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinguished_from_columns_and_remarks() {
        let sql = "CREATE VIEW a AS SELECT x.\"B\", b.c /* d */ FROM main.\"e\"\"f\" x, [G], 'h' -- i\n, j";
        let expected = [
            "create", "view", "a", "as", "select", "b", "c", "from", "e\"f", "x", "g", "h", "j",
        ];
        assert_eq!(mentioned(sql), expected);
        assert_eq!(mentioned("'open"), [""; 0]);
        assert_eq!(mentioned("größe \u{1f600}"), ["größe", "\u{1f600}"]);
    }

    #[test]
    fn views_that_read_each_other_often_are_too_much() {
        let view = |at: usize| match at {
            0 => ("v0".to_owned(), "CREATE VIEW v0 AS SELECT 1".to_owned()),
            _ => {
                let sql = format!(
                    "CREATE VIEW v{at} AS SELECT x.a FROM v{0} x, V{0} y",
                    at - 1
                );
                (format!("V{at}"), sql)
            }
        };
        let views = Views::new(&(0..60).map(view).collect::<Vec<_>>());
        for (at, is_too_much) in [(0, false), (7, false), (8, true), (59, true)] {
            assert_eq!(views.is_too_much(&format!("v{at}")), is_too_much, "{at}");
        }
        // In a circle there is no end.
        let circle = [("a", "SELECT * FROM b"), ("b", "SELECT * FROM a")];
        let circle = circle.map(|(name, sql)| (name.to_owned(), sql.to_owned()));
        assert!(Views::new(&circle).is_too_much("a"));
        assert!(!Views::new(&circle).is_too_much("c"));
    }
}
