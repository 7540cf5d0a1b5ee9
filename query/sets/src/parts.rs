//! The parts of a question: what each needs a column for. By rules, without a model.
//!
//! "What are the names and ages of the singers of each concert?" has the parts `singers: names`,
//! `singers: ages` and `concert`: runs of words that say something, with what they are an attribute
//! of where "of", "for", "'s" and the like show it. Values (quoted, numbers, names with a capital)
//! are no parts: the ranking finds tables by them. JAR (§3.1, A.1) asks a language model for the
//! same.

use std::fmt;

use limn_retrieval::is_asking_word;

/// Parts of a question, at most.
pub(crate) const MOST: usize = 8;
/// Words of a run, the last ones.
const WORDS: usize = 4;
/// Words of a question that are read.
const READ: usize = 400;

/// A part of a question: an attribute, and the concept that it is one of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What has the attribute, where the question says it.
    pub concept: Option<String>,
    /// What is asked for.
    pub attribute: String,
}

impl Part {
    /// Reads `concept:attribute` or an attribute alone.
    #[must_use]
    pub fn parse(text: &str) -> Part {
        let (concept, attribute) = match text.split_once(':') {
            Some((concept, attribute)) if !attribute.trim().is_empty() => {
                (Some(concept.trim().to_owned()), attribute)
            }
            Some((attribute, _)) => (None, attribute),
            None => (None, text),
        };
        Part {
            concept: concept.filter(|it| !it.is_empty()),
            attribute: attribute.trim().to_owned(),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.concept {
            Some(concept) => write!(f, "{concept}: {}", self.attribute),
            None => f.write_str(&self.attribute),
        }
    }
}

/// What a question is read as.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// Words that say something.
    Run(String),
    /// "names of singers": what comes after has what comes before.
    Of,
    /// "singers' names": the other way round.
    Has,
    /// In a list: "and", a comma.
    And,
    /// Anything else.
    Break,
}

/// The parts of a question, 8 at most, in its order; the whole question where no rule finds one.
#[must_use]
pub fn parts(question: &str) -> Vec<Part> {
    let tokens = read(question);
    let mut parts: Vec<Part> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Run(run) = token else { continue };
        let part = Part {
            concept: concept_of(&tokens, at).map(str::to_owned),
            attribute: run.clone(),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.truncate(MOST);
    if parts.is_empty() {
        parts.push(Part {
            concept: None,
            attribute: question.trim().to_owned(),
        });
    }
    parts
}

/// What the run at a place is an attribute of.
fn concept_of(tokens: &[Token], at: usize) -> Option<&str> {
    if let [Token::Run(owner), Token::Has] = tokens.get(at.checked_sub(2)?..at).unwrap_or(&[]) {
        return Some(owner);
    }
    // To the end of a list: "names and ages of".
    let mut end = at;
    while let Some([Token::And, Token::Run(_)]) = tokens.get(end + 1..end + 3) {
        end += 2;
    }
    match tokens.get(end + 1..end + 3) {
        Some([Token::Of, Token::Run(concept)]) => Some(concept),
        _ => None,
    }
}

fn read(question: &str) -> Vec<Token> {
    let plain = without_values(question);
    let words: Vec<&str> = plain.split_whitespace().take(READ).collect();
    let mut tokens: Vec<Token> = vec![Token::Break];
    let mut run: Vec<String> = Vec::new();
    let mut is_first = true;
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map(|it| it.to_lowercase());
        let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric());
        let (trimmed, is_owner) = owner(trimmed, word);
        let lower = trimmed.to_lowercase();
        let is_name = !is_first && trimmed.starts_with(char::is_uppercase);
        is_first = word.ends_with(['.', '?', '!', '|', ':']);
        let token = match lower.as_str() {
            "" => Some(Token::Break),
            _ if is_name => Some(Token::Break),
            "and" | "or" => Some(Token::And),
            "of" | "for" | "in" | "from" | "per" => Some(Token::Of),
            "first" | "last" | "middle"
                if next.as_ref().is_some_and(|it| it.starts_with("name")) =>
            {
                None
            }
            _ if NO_BREAK.split(' ').any(|word| word == lower) => {
                end(&mut run, &mut tokens);
                continue;
            }
            _ if is_asking_word(&lower) => Some(Token::Break),
            _ => None,
        };
        match token {
            Some(token) => {
                end(&mut run, &mut tokens);
                tokens.push(token);
            }
            None => run.push(lower),
        }
        if is_owner {
            end(&mut run, &mut tokens);
            tokens.push(Token::Has);
        } else if word.ends_with(',') {
            end(&mut run, &mut tokens);
            if tokens.last() != Some(&Token::And) {
                tokens.push(Token::And);
            }
        } else if is_first {
            end(&mut run, &mut tokens);
            tokens.push(Token::Break);
        }
    }
    end(&mut run, &mut tokens);
    // ", and" is one end of a list.
    tokens.dedup_by(|b, a| *a == Token::And && *b == Token::And);
    tokens
}

/// A word without the mark of a possessive, and whether it had one.
fn owner<'a>(trimmed: &'a str, word: &str) -> (&'a str, bool) {
    for mark in ["'s", "\u{2019}s"] {
        if let Some(owner) = trimmed.strip_suffix(mark) {
            return (owner, true);
        }
    }
    let is_plural = trimmed.ends_with('s') && word.ends_with(['\'', '\u{2019}']);
    (trimmed, is_plural)
}

/// Ends a run: "the number of singers" is about singers.
fn end(run: &mut Vec<String>, tokens: &mut Vec<Token>) {
    if !run.is_empty() {
        let from = run.len().saturating_sub(WORDS);
        tokens.push(Token::Run(run[from..].join(" ")));
        run.clear();
    }
}

/// The question with a bar for each value: what is quoted, and numbers.
fn without_values(question: &str) -> String {
    let mut plain = String::with_capacity(question.len());
    let mut quote: Option<char> = None;
    let mut before = ' ';
    let characters: Vec<char> = question.chars().collect();
    for (at, c) in characters.iter().copied().enumerate() {
        let next = characters.get(at + 1).copied().unwrap_or(' ');
        match quote {
            Some(mark) => {
                if c == mark && !next.is_alphanumeric() {
                    quote = None;
                }
            }
            None => {
                let mark = match c {
                    '"' => Some('"'),
                    '\u{201c}' => Some('\u{201d}'),
                    '\'' if !before.is_alphanumeric() && next.is_alphanumeric() => Some('\''),
                    _ => None,
                };
                // A mark that is not closed quotes nothing.
                let is_closed = |mark: &char| characters[at + 1..].contains(mark);
                quote = mark.filter(is_closed);
                match quote {
                    Some(_) => plain.push_str(" | "),
                    None => plain.push(c),
                }
            }
        }
        before = c;
    }
    let words = plain.split_whitespace().map(|word| {
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        if is_number { "|" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Words that say nothing of what is asked for, and end no list and no attribute.
const NO_BREAK: &str = "the a an each every all their its his her that any different distinct";

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(question: &str) -> Vec<String> {
        parts(question).iter().map(Part::to_string).collect()
    }

    #[test]
    fn questions_are_read_by_rules() {
        for (question, expected) in [
            (
                "What are the names and ages of the singers of each concert?",
                &[
                    "singers: names",
                    "singers: ages",
                    "concert: singers",
                    "concert",
                ][..],
            ),
            (
                "Show all paragraph ids and texts for the document with name 'Welcome to NY'.",
                &[
                    "document: paragraph ids",
                    "document: texts",
                    "document",
                    "name",
                ],
            ),
            (
                "List the owner's first name, last name and zip code.",
                &["owner", "owner: first name", "last name", "zip code"],
            ),
            ("singers", &["singers"]),
            ("How many?", &["How many?"]),
            ("", &[""]),
        ] {
            assert_eq!(read_as(question), expected, "{question}");
        }
    }

    #[test]
    fn long_questions_have_few_parts() {
        let question = "which suppliers deliver parts, ".repeat(500);
        assert!((1..=MOST).contains(&parts(&question).len()));
        let words: Vec<String> = (0..2000).map(|at| format!("w{at}x and")).collect();
        assert_eq!(parts(&words.join(" ")).len(), MOST);
    }

    #[test]
    fn given_parts_are_parsed() {
        let part = |concept: Option<&str>, attribute: &str| Part {
            concept: concept.map(str::to_owned),
            attribute: attribute.to_owned(),
        };
        assert_eq!(
            Part::parse("song:release year"),
            part(Some("song"), "release year")
        );
        assert_eq!(Part::parse("songs"), part(None, "songs"));
        assert_eq!(Part::parse("songs: "), part(None, "songs"));
        assert_eq!(Part::parse(": a:b"), part(None, "a:b"));
    }
}
