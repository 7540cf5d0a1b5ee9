//! A statement in what a model wrote: one SELECT, taken out of fences and prose, or nothing.

use serde::Serialize;
use utoipa::ToSchema;

use super::lexer::{Kind, Token, is_reserved, tokens, written};
use super::try_out::Mend;
use crate::plan::Instruction;

/// Bytes of a statement, at most: what answers a question is shorter.
const MOST: usize = 4_000;

/// One statement that reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement(Vec<Token>);

/// Why what a model wrote is no statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[schema(as = WriteNoStatement)]
pub enum NoStatement {
    /// It is prose, or SQL that does something else than read.
    #[error("it is no SELECT")]
    NoSelect,
    /// Something comes after the first statement.
    #[error("there are several statements")]
    Several,
    /// It ends within a quote.
    #[error("a quote is not closed")]
    OpenQuote,
    /// It is longer than statements are that answer questions.
    #[error("it is too long")]
    TooLong,
    /// It is SQL, and a statement with semantic functions was wanted.
    #[error("it calls no semantic function")]
    NoFunction,
}

impl Statement {
    /// The statement in what a model wrote.
    pub(super) fn read(answer: &str) -> Result<Statement, NoStatement> {
        let text = select_in(unfenced(answer)).ok_or(NoStatement::NoSelect)?;
        let mut tokens = tokens(text).ok_or(NoStatement::OpenQuote)?;
        if let Some(end) = tokens.iter().position(|it| it.is_sign(";")) {
            if tokens[end..].iter().any(|it| !it.is_sign(";")) {
                return Err(NoStatement::Several);
            }
            tokens.truncate(end);
        }
        let statement = Statement(tokens);
        match statement.sql().len() > MOST {
            true => Err(NoStatement::TooLong),
            false => Ok(statement),
        }
    }

    /// It, as SQL.
    pub(super) fn sql(&self) -> String {
        written(&self.0)
    }

    /// It with what is mended; `None` where that changes nothing.
    pub(super) fn mended(&self, mend: &Mend) -> Option<Statement> {
        let mut tokens = self.0.clone();
        if let Mend::Source { written } = mend {
            let own = self.called(written)?;
            for at in 1..tokens.len() {
                if tokens[at].is_sign(".") && tokens[at - 1].is_name(written) {
                    (tokens[at - 1].kind, tokens[at - 1].text) = (own.kind, own.text.clone());
                }
            }
        }
        for at in 0..tokens.len() {
            let is_sentence =
                at >= 2 && tokens[at - 1].is_sign("(") && is_semantic(&tokens[at - 2]);
            let token = &mut tokens[at];
            match mend {
                Mend::Name { written, meant } if token.is_name(written) => {
                    (token.kind, token.text) = (Kind::Name, meant.clone());
                }
                Mend::Name { written, meant } if is_sentence && token.kind == Kind::Text => {
                    if let Some(renamed) = renamed(&token.text, written, meant) {
                        token.text = renamed;
                    }
                }
                Mend::Text { written } if token.kind == Kind::Name && token.text == *written => {
                    token.kind = Kind::Text;
                }
                _ => {}
            }
        }
        (tokens != self.0).then_some(Statement(tokens))
    }
}

impl Statement {
    /// It with a column of this table taken from there, wherever another table is written before
    /// it; `None` where that changes nothing, or the statement does not name the table once.
    pub(super) fn requalified(&self, column: &str, table: &str) -> Option<Statement> {
        let own = self.called(table)?;
        let mut tokens = self.0.clone();
        for at in 2..tokens.len() {
            let is_column = tokens[at].is_name(column) && tokens[at - 1].is_sign(".");
            if is_column && !tokens[at - 2].is_name(&own.text) {
                (tokens[at - 2].kind, tokens[at - 2].text) = (own.kind, own.text.clone());
            }
        }
        (tokens != self.0).then_some(Statement(tokens))
    }

    /// What the statement calls a table that it names once behind FROM or JOIN.
    fn called(&self, table: &str) -> Option<Token> {
        let tokens = &self.0;
        let is_source = |at: &usize| {
            let before = &tokens[*at - 1];
            tokens[*at].is_name(table) && ["from", "join"].iter().any(|it| before.is_word(it))
        };
        let mut places = (1..tokens.len()).filter(is_source);
        let (at, None) = (places.next()?, places.next()) else {
            return None;
        };
        let after = |count: usize| tokens.get(at + count);
        let alias = match after(1) {
            Some(word) if word.is_word("as") => after(2),
            other => other,
        };
        let is_alias = |it: &&Token| match it.kind {
            Kind::Name => true,
            Kind::Word => !is_reserved(&it.text),
            _ => false,
        };
        Some(alias.filter(is_alias).unwrap_or(&tokens[at]).clone())
    }
}

fn is_semantic(token: &Token) -> bool {
    token.kind == Kind::Word && token.text.to_lowercase().starts_with("sem_")
}

/// A sentence about rows in which a column in braces has another name, with or without its table.
fn renamed(sentence: &str, written: &str, meant: &str) -> Option<String> {
    let instruction = Instruction::try_from(sentence.to_owned()).ok()?;
    Some(instruction.renamed(|name| {
        let at = name.rfind('.').map_or(0, |at| at + 1);
        let (table, column) = name.split_at(at);
        let is_meant = column.to_lowercase() == written.to_lowercase();
        format!("{table}{}", if is_meant { meant } else { column })
    }))
}

/// What stands in the first fence, if there is one.
fn unfenced(answer: &str) -> &str {
    let Some((_, after)) = answer.split_once("```") else {
        return answer;
    };
    // The fence's language.
    let (first, rest) = after.split_once('\n').unwrap_or(("", after));
    let body = match first.trim().chars().all(char::is_alphanumeric) {
        true => rest,
        false => after,
    };
    body.split_once("```").map_or(body, |(body, _)| body)
}

/// From the first line on that begins with SELECT or WITH; what stands before is prose or comments.
fn select_in(text: &str) -> Option<&str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(|it: char| it.is_whitespace() || it == '(');
        let word = bare.split(|it: char| !it.is_alphanumeric()).next();
        let reads = |word: &str| {
            ["select", "with"]
                .iter()
                .any(|it| word.eq_ignore_ascii_case(it))
        };
        // A sentence may begin with "With", too: a common table needs an AS.
        let is_with = |word: &str| word.eq_ignore_ascii_case("with");
        if let Some(word) = word.filter(|it| reads(it))
            && (!is_with(word) || has_as(&text[at..]))
        {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    None
}

fn has_as(text: &str) -> bool {
    tokens(text).is_some_and(|it| it.iter().take(8).any(|it| it.is_word("as")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(answer: &str) -> Result<String, NoStatement> {
        Statement::read(answer).map(|it| it.sql())
    }

    #[test]
    fn one_select_is_taken_out_of_whatever_stands_around_it() {
        for answer in [
            "SELECT 1 FROM t",
            "SELECT 1\nFROM t;",
            "```sql\nSELECT 1 FROM t;\n```\nThis gives one.",
            "```\n-- wanted: one\nSELECT 1 FROM t",
            "With this you get it:\nSELECT 1 FROM t;",
            "```SELECT 1 FROM t```",
        ] {
            assert_eq!(read(answer).as_deref(), Ok("SELECT 1 FROM t"), "{answer}");
        }
        let with = "WITH a AS (SELECT ';' AS x) SELECT * FROM a";
        assert_eq!(read(with).as_deref(), Ok(with));
    }

    #[test]
    fn what_is_no_single_select_is_nothing() {
        for (answer, why) in [
            ("", NoStatement::NoSelect),
            ("I cannot answer that.", NoStatement::NoSelect),
            ("DROP TABLE singer", NoStatement::NoSelect),
            ("DROP TABLE singer; SELECT 1", NoStatement::NoSelect),
            ("SELECT 1; DROP TABLE singer", NoStatement::Several),
            ("SELECT 'a", NoStatement::OpenQuote),
            ("With kind regards", NoStatement::NoSelect),
        ] {
            assert_eq!(read(answer), Err(why), "{answer}");
        }
        let long = format!("SELECT '{}'", "x".repeat(MOST));
        assert_eq!(read(&long), Err(NoStatement::TooLong));
    }

    #[test]
    fn a_column_is_taken_from_the_table_that_has_it() {
        let sql = "SELECT T1.Make, T1.Id FROM cars AS T1 JOIN names T2 ON T1.Id = T2.MakeId WHERE T1.make = 'T1.Make'";
        let statement = Statement::read(sql).unwrap();
        let mended = statement.requalified("Make", "names").unwrap();
        let wanted = sql
            .replace("SELECT T1.Make", "SELECT T2.Make")
            .replace("T1.make", "T2.make");
        assert_eq!(mended.sql(), wanted);
        assert_eq!(mended.requalified("Make", "names"), None);
        assert_eq!(statement.requalified("Make", "other"), None);
        let twice = Statement::read("SELECT a.x FROM t AS a JOIN t AS b ON a.i = b.i").unwrap();
        assert_eq!(twice.requalified("y", "t"), None);
    }

    #[test]
    fn a_mend_changes_names_and_no_texts() {
        let statement = Statement::read("SELECT nam, t.nam FROM t WHERE nam = 'nam'").unwrap();
        let mend = Mend::Name {
            written: "nam".into(),
            meant: "Name".into(),
        };
        let mended = statement.mended(&mend).unwrap();
        assert_eq!(
            mended.sql(),
            "SELECT \"Name\", t.\"Name\" FROM t WHERE \"Name\" = 'nam'"
        );
        let text = Mend::Text {
            written: "O'Brien".into(),
        };
        let quoted = Statement::read("SELECT 1 FROM t WHERE a = \"O'Brien\"").unwrap();
        assert_eq!(
            quoted.mended(&text).unwrap().sql(),
            "SELECT 1 FROM t WHERE a = 'O''Brien'"
        );
        assert_eq!(statement.mended(&text), None);
        let judged = "SELECT a FROM t WHERE sem_filter('{t.nam} and {nam}, not nam or {{nam}}')";
        let judged = Statement::read(judged).unwrap().mended(&mend).unwrap();
        assert_eq!(
            judged.sql(),
            "SELECT a FROM t WHERE sem_filter('{t.Name} and {Name}, not nam or {{nam}}')"
        );
        let source = Mend::Source {
            written: "shop".into(),
        };
        let named = "SELECT shop.x FROM shop AS T1 JOIN b ON Shop.y = b.y";
        let named = Statement::read(named).unwrap().mended(&source).unwrap();
        assert_eq!(
            named.sql(),
            "SELECT T1.x FROM shop AS T1 JOIN b ON T1.y = b.y"
        );
        assert_eq!(named.mended(&source), None);
    }
}
