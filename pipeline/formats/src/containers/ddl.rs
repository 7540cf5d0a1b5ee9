//! Comments in the text of a `CREATE TABLE` or `CREATE VIEW`, which people write to say what
//! columns mean:
//!
//! ```sql
//! CREATE TABLE orders ( -- all orders of the shop
//!   id INTEGER PRIMARY KEY, -- the number of the order
//!   -- when it came, in UTC
//!   placed TEXT,
//!   /* what it cost */ total REAL
//! )
//! ```
//!
//! The text is cut into words and comments and never run. Whatever it is, each of its characters is
//! looked at once.

use std::collections::HashMap;

use limn_profile::text::prefix;

use crate::MAX_COLUMNS;
use crate::documented::{DESCRIPTION_CHARS, Documented, TABLE_CHARS, kept};

/// Comments of one column.
const MOST_WAITING: usize = 64;
/// First words of a definition that is no column's.
const NO_COLUMNS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];

/// What the comments say of the table, and of its columns, by their names in lower case.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Commented {
    table: String,
    columns: HashMap<String, String>,
}

impl Commented {
    /// What is said of a table with these columns.
    pub(super) fn of(mut self, columns: &[String]) -> Documented {
        let said = |name: &String| self.columns.remove(&name.to_lowercase());
        let columns = columns.iter().map(said);
        Documented {
            columns: columns
                .map(|said| kept(&said?, DESCRIPTION_CHARS))
                .collect(),
            table: kept(&self.table, TABLE_CHARS),
        }
    }

    fn say_of_table(&mut self, comment: &str) {
        append(&mut self.table, comment, TABLE_CHARS);
    }

    fn say(&mut self, column: &str, comment: &str) {
        if column.is_empty() || self.columns.len() >= MAX_COLUMNS {
            return;
        }
        let said = self.columns.entry(column.to_lowercase()).or_default();
        append(said, comment, DESCRIPTION_CHARS);
    }
}

fn append(said: &mut String, comment: &str, most: usize) {
    let comment = comment.trim_matches(['-', '*', '=', '#', ' ', '\t', '\r', '\n']);
    // What ends with a comma is a definition that was taken out.
    if comment.is_empty() || comment.ends_with(',') || said.len() > 4 * most {
        return;
    }
    if !said.is_empty() {
        said.push(' ');
    }
    said.push_str(prefix(comment, most));
}

/// What the comments in `sql` say.
pub(super) fn comments(sql: &str) -> Commented {
    let mut reading = Reading::default();
    let mut rest = sql;
    while let Some((token, after)) = next(rest) {
        match token {
            Token::Comment(comment) => {
                let behind = after.trim_start_matches([' ', '\t', '\r']);
                reading.comment(comment, behind.is_empty() || behind.starts_with('\n'));
            }
            _ => reading.take(token),
        }
        rest = after;
    }
    reading.end();
    reading.commented
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    /// A word, or a name in quotes, without them.
    Word(&'a str, bool),
    /// Text in single quotes, numbers, operators.
    Other,
    Open,
    Close,
    Comma,
    Comment(&'a str),
    Line,
}

/// The first token of a text, and what follows it.
fn next(text: &str) -> Option<(Token<'_>, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    let until = |end: &str| match rest.find(end) {
        Some(at) => (&rest[..at], &rest[at + end.len()..]),
        None => (rest, ""),
    };
    // A quote within quotes is written twice: then this is two tokens in a row, of which the first
    // names.
    let quoted = |end: &str| {
        let (name, after) = until(end);
        (Token::Word(name, true), after)
    };
    let token = match first {
        '\n' => (Token::Line, rest),
        '(' => (Token::Open, rest),
        ')' => (Token::Close, rest),
        ',' => (Token::Comma, rest),
        '\'' => (Token::Other, until("'").1),
        '"' => quoted("\""),
        '`' => quoted("`"),
        '[' => quoted("]"),
        '-' if rest.starts_with('-') => {
            let end = rest.find('\n').unwrap_or(rest.len());
            (Token::Comment(&rest[1..end]), &rest[end..])
        }
        '/' if rest.starts_with('*') => {
            let inner = &rest[1..];
            match inner.find("*/") {
                Some(at) => (Token::Comment(&inner[..at]), &inner[at + 2..]),
                None => (Token::Comment(inner), ""),
            }
        }
        _ if first.is_alphabetic() || first == '_' => {
            let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
            let end = text.find(|c| !is_inside(c)).unwrap_or(text.len());
            (Token::Word(&text[..end], false), &text[end..])
        }
        _ => (Token::Other, rest),
    };
    Some(token)
}

/// Where in the statement the reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// Before the columns of a table.
    #[default]
    Head,
    /// Before what a view selects.
    Body,
    /// Among the definitions in parentheses: the first word is a column's name.
    Definitions,
    /// Among what a view selects: the last word is a column's name.
    Selection,
    /// Behind both.
    Tail,
}

#[derive(Default)]
struct Reading<'a> {
    commented: Commented,
    place: Place,
    depth: usize,
    /// The name of the column that is read, once it is known.
    name: &'a str,
    /// Whether anything of its definition was read.
    is_begun: bool,
    /// The definition before this one on the same line.
    before: Option<&'a str>,
    /// Comments whose column is not known yet.
    waiting: Vec<&'a str>,
    /// Whether the parenthesis of the definitions was opened on this line.
    is_just_opened: bool,
}

impl<'a> Reading<'a> {
    fn take(&mut self, token: Token<'a>) {
        match token {
            Token::Line => {
                self.is_just_opened = false;
                self.before = None;
                return;
            }
            Token::Open => {
                if self.place == Place::Head && self.depth == 0 {
                    self.place = Place::Definitions;
                    self.is_just_opened = true;
                    self.depth = 1;
                    return;
                }
                self.depth += 1;
                self.is_begun = true;
            }
            Token::Close => {
                self.depth = self.depth.saturating_sub(1);
                if self.place == Place::Definitions && self.depth == 0 {
                    self.end_definition();
                    self.before = None;
                    self.place = Place::Tail;
                }
            }
            Token::Comma if self.depth == self.level() && self.is_among() => {
                self.before = Some(self.name);
                self.end_definition();
            }
            Token::Word(word, is_quoted) => self.word(word, is_quoted),
            Token::Comma | Token::Other | Token::Comment(_) => self.is_begun = true,
        }
        self.is_just_opened = false;
    }

    /// How deep definitions stand.
    fn level(&self) -> usize {
        usize::from(self.place == Place::Definitions)
    }

    fn is_among(&self) -> bool {
        matches!(self.place, Place::Definitions | Place::Selection)
    }

    fn word(&mut self, word: &'a str, is_quoted: bool) {
        let is = |keyword: &str| !is_quoted && word.eq_ignore_ascii_case(keyword);
        let at_level = self.depth == self.level();
        match self.place {
            // A view that names its columns has definitions; what it selects then comes behind.
            Place::Head if is("as") => self.place = Place::Body,
            Place::Body if self.depth == 0 && is("select") => {
                self.place = Place::Selection;
                self.is_begun = false;
                return;
            }
            Place::Selection if at_level && is("from") => {
                self.end_definition();
                self.before = None;
                self.place = Place::Tail;
            }
            Place::Selection if at_level && !(is("distinct") || is("all") || is("as")) => {
                self.name = word;
            }
            Place::Definitions if at_level && !self.is_begun => {
                let is_column = is_quoted || !NO_COLUMNS.iter().any(|it| is(it));
                self.name = if is_column { word } else { "" };
            }
            _ => {}
        }
        self.is_begun |= self.is_among();
    }

    fn comment(&mut self, comment: &'a str, is_last_of_line: bool) {
        match (self.is_among(), self.before) {
            (false, _) => self.commented.say_of_table(comment),
            _ if self.is_just_opened && is_last_of_line => self.commented.say_of_table(comment),
            // At the end of a line, behind the comma.
            (true, Some(before)) if !self.is_begun && is_last_of_line => {
                self.commented.say(before, comment);
            }
            _ if self.waiting.len() < MOST_WAITING => self.waiting.push(comment),
            _ => {}
        }
    }

    fn end_definition(&mut self) {
        for comment in std::mem::take(&mut self.waiting) {
            self.commented.say(self.name, comment);
        }
        self.name = "";
        self.is_begun = false;
    }

    fn end(&mut self) {
        if self.place == Place::Selection {
            self.end_definition();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    /// What is said of the table and of the columns `a`, `b` and `c d`.
    fn said(sql: &str) -> String {
        let columns = ["a", "b", "c d"].map(str::to_owned);
        let said = comments(sql).of(&columns);
        let texts = std::iter::once(said.table).chain(said.columns);
        let texts = texts.map(Option::unwrap_or_default);
        texts.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn comments_go_to_what_they_stand_at() {
        for (sql, expected) in [
            ("CREATE TABLE t (a INT, b TEXT)", "|||"),
            (
                "CREATE TABLE t ( -- all of it\n  a INT, -- the number\n  b TEXT -- the name\n)",
                "all of it|the number|the name|",
            ),
            (
                "CREATE TABLE t (\n -- the number\n a INT,\n\n /* the\n * name */\n b TEXT,\n /* both */ \"c d\" INT)",
                "|the number|the * name|both",
            ),
            // Commas in front; more lines than one.
            (
                "CREATE TABLE t (\n a INT -- the number\n  -- of the thing\n, B TEXT -- the name\n, [c d] DECIMAL(1, 2) -- both\n)",
                "|the number of the thing|the name|both",
            ),
            (
                "CREATE TABLE t (a INT, /* the name */ b TEXT, `c d` INT /* both */)",
                "||the name|both",
            ),
            // At the head, and behind.
            (
                "CREATE TABLE t /* what was sold */ (a INT) -- in 2024\n WITHOUT ROWID",
                "what was sold in 2024|||",
            ),
            // Not comments, and not of columns.
            (
                "CREATE TABLE t (a TEXT DEFAULT '-- no', b TEXT CHECK (b <> '/* no */'), \"c d\" DEFAULT 'it''s -- no')",
                "|||",
            ),
            (
                "CREATE TABLE t (a INT, -- b INT,\n CHECK (a > 0), -- it is positive\n PRIMARY KEY (a) -- the key\n)",
                "|||",
            ),
            (
                "CREATE TABLE t (a INT DEFAULT (max(1, /* two */ 2)), -----\n b INT -- \n)",
                "|two||",
            ),
            (
                "CREATE VIEW v AS -- the rich\nSELECT DISTINCT x.a, -- the number\n upper(x.name, 1) AS b -- the name\n, 1 + 2 \"c d\" /* both */ FROM t -- where from",
                "the rich where from|the number|the name|both",
            ),
            (
                "CREATE VIEW v (a, -- the number\n b) AS SELECT 1, -- one\n 2",
                "one|the number||",
            ),
            ("CREATE VIEW v AS SELECT a -- the number", "|the number||"),
            (
                "CREATE VIEW v AS WITH w (x) AS (SELECT a -- inside\n FROM t) SELECT x AS b -- the name\n FROM w",
                "inside||the name|",
            ),
            ("", "|||"),
            ("/* never closed", "never closed|||"),
            ("CREATE TABLE t (a INT, \"b", "|||"),
        ] {
            assert_eq!(said(sql), expected, "{sql}");
        }
    }

    #[test]
    fn much_is_said_in_bounds() {
        let sql = format!("CREATE TABLE t (a INT {})", "-- words\n".repeat(20_000));
        assert!((300..=DESCRIPTION_CHARS + 3).contains(&said(&sql).len()));
        let sql = format!("CREATE TABLE t {} (a INT)", "-- words\n".repeat(20_000));
        assert!((300..=TABLE_CHARS + 3).contains(&said(&sql).len()));
        let lines = format!("CREATE TABLE t ({}", "\n".repeat(1 << 18));
        assert_eq!(said(&lines), "|||");
        let deep = format!("CREATE TABLE t {}", "(".repeat(100_000));
        assert_eq!(said(&deep), "|||");
        let many: String = (0..40_000).map(|i| format!("c{i} -- of {i}\n,")).collect();
        let found = comments(&format!("CREATE TABLE t ({many}"));
        assert_eq!(found.columns.len(), MAX_COLUMNS);
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at(sql in "(CREATE (TABLE|VIEW) t)?[-/*()'\"`\\[\\], \nabß;]{0,80}(SELECT|from)?[-/*()'\", \nab]{0,40}") {
            let found = comments(&sql).of(&["a".to_owned(), "b".to_owned()]);
            prop_assert_eq!(found.columns.len(), 2);
        }
    }
}
