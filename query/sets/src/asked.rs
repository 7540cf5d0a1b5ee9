//! The parts of a question, by a language model (JAR §3.1, A.1).

use std::sync::Arc;

use limn_models::{LanguageModel, Limits, ModelError, Prompt};

use crate::parts::{MOST, Part};

/// Tokens of an answer, at most: eight parts of a few words.
const ANSWER: usize = 96;
/// Characters of a question that are shown, and of a part that is taken.
const SHOWN: usize = 2_000;
const LONGEST: usize = 60;

const SYSTEM: &str = "You read questions to a database. Write down what a query needs columns for, one on each line, as \
`thing: attribute`: first what is asked for, then what it is chosen, grouped or sorted by. Instead of a value or a name, write what kind of \
thing it is. Write nothing else.

Question: What are the names of the authors who wrote a novel after 1990?
author: name
novel: year

Question: How many concerts did Miles Davis give in each country?
concert: number
musician: name
concert: country

Question: Show the cheapest product that no customer in Lyon ordered.
product: price
order: product
customer: city";

/// Asks a model for the parts of a question, 8 at most. None where it writes none.
///
/// # Errors
/// The model fails.
pub async fn ask_for_parts(
    model: &dyn LanguageModel,
    question: &str,
) -> Result<Vec<Part>, ModelError> {
    let shown: String = question.chars().take(SHOWN).collect();
    let prompt = Prompt {
        system: Arc::from(SYSTEM),
        shared: Arc::from(""),
        own: format!("Question: {}\n", limn_store::one_line(&shown)),
    };
    let limits = Limits {
        max_tokens: ANSWER,
        stop: vec!["\n\n".to_owned(), "Question:".to_owned()],
    };
    let written = model.generate(&prompt, &limits).await?;
    Ok(read(&written.text))
}

/// The parts that a text lists.
fn read(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let is_mark = |c: char| !c.is_alphanumeric();
    for line in text.lines().map(str::trim) {
        let is_remark = line.ends_with(':') || line.starts_with("```");
        if is_remark || line.chars().count() > LONGEST {
            continue;
        }
        // "1. singer: name".
        let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let line = numbered.strip_prefix(['.', ')']).unwrap_or(line);
        let Part { concept, attribute } = Part::parse(line.trim_matches(is_mark));
        let plain = |text: String| text.trim_matches(is_mark).to_owned();
        let part = Part {
            concept: concept.map(plain).filter(|it| !it.is_empty()),
            attribute: plain(attribute),
        };
        if !part.attribute.is_empty() && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.truncate(MOST);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_from_lines_and_nothing_else() {
        let texts =
            |text: &str| -> Vec<String> { read(text).iter().map(Part::to_string).collect() };
        assert_eq!(
            texts("- singer: name\n* Concert : year.\n\nsinger: name\nage"),
            ["singer: name", "Concert: year", "age"]
        );
        assert!(texts("\n---\n").is_empty());
        assert_eq!(
            texts("Here are the parts:\n```text\n1. **singer**: name\n2) 2014 year\n```"),
            ["singer: name", "2014 year"]
        );
        let sentence =
            "I am sorry, but I cannot say what a query over tables that I have not seen needs";
        assert!(texts(sentence).is_empty());
        let many: String = (0..20).map(|n| format!("thing: column {n}\n")).collect();
        assert_eq!(texts(&many).len(), MOST);
    }
}
