//! A model that answers by a rule, which `tests/tag/expected.py` has, too: by a hash of the values
//! that it is shown.

use std::collections::HashMap;

use async_trait::async_trait;
use limn_ask::plan::{Instruction, Operation, Piece, Plan};
use limn_models::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};
use regex::Regex;

pub(crate) struct Rule {
    id: ModelId,
    /// What it knows: answers by what is wanted.
    facts: HashMap<String, String>,
    /// The plan's sentences, which prompts have with a row's values in them.
    sentences: Vec<Sentence>,
}

/// A sentence: what it is with values, and the columns of these.
struct Sentence {
    form: Regex,
    columns: Vec<String>,
}

impl Sentence {
    fn of(instruction: &Instruction) -> Sentence {
        let mut form = "(?s)^".to_owned();
        let mut columns = Vec::new();
        for piece in instruction.pieces() {
            match piece {
                Piece::Text(text) => form += &regex::escape(text),
                Piece::Column(name) => {
                    form += "(.*?)";
                    columns.push(name.clone());
                }
                Piece::All { .. } => panic!("no plan of TAG-Bench has all columns: {instruction}"),
            }
        }
        Sentence {
            form: Regex::new(&format!("{form}$")).unwrap(),
            columns,
        }
    }

    /// The value of each column, of those that stand beside the sentence by their lines.
    fn values(&self, sentence: &str, lines: &HashMap<&str, &str>) -> Option<Vec<String>> {
        let found = self.form.captures(sentence)?;
        let mut values: Vec<(&str, String)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            if values.iter().all(|(known, _)| known != column) {
                let value = &found[at + 1];
                let value = lines.get(column.as_str()).unwrap_or(&value).to_string();
                values.push((column, value));
            }
        }
        Some(values.into_iter().map(|(_, value)| value).collect())
    }
}

impl Rule {
    pub(crate) fn new(facts: HashMap<String, String>, plan: &Plan) -> Rule {
        let sentences = plan.stages.iter().filter_map(|it| match &it.operation {
            Operation::SemFilter(it) => Some(Sentence::of(&it.instruction)),
            Operation::SemMap(it) => Some(Sentence::of(&it.instruction)),
            _ => None,
        });
        Rule {
            id: ModelId::new("rule"),
            facts,
            sentences: sentences.collect(),
        }
    }

    /// The values that a prompt's sentence is about.
    fn values(&self, own: &str) -> Vec<String> {
        let sentence = ["sentence", "wanted"]
            .iter()
            .find_map(|mark| between(own, &format!("<{mark}>\n"), &format!("\n</{mark}>")))
            .unwrap();
        let row = between(own, "<row>\n", "\n</row>").unwrap_or_default();
        let lines = row.lines().filter_map(|it| it.split_once(": ")).collect();
        let mut known = self.sentences.iter();
        known.find_map(|it| it.values(sentence, &lines)).unwrap()
    }

    fn written(&self, prompt: &Prompt) -> String {
        if let Some(wanted) = between(&prompt.own, "Wanted: ", "\n")
            && let Some(known) = self.facts.get(wanted)
        {
            return known.clone();
        }
        let column = between(&prompt.own, "\nGive what is wanted, as ", ": ");
        let cells = || self.values(&prompt.own);
        match column {
            Some("value") => (number(cells()) % 3).to_string(),
            Some("population") => (4 * number(cells())).to_string(),
            Some("debut") => (1998 + number(cells()) % 15).to_string(),
            Some("relevant") => ["YES", "NO"][number(cells()) % 2].to_owned(),
            Some("verdict") => ["TRUE", "FALSE"][number(cells()) % 2].to_owned(),
            Some("term") => first_word(&cells()[0]).to_owned(),
            Some(column) => panic!("nothing is known of {column}"),
            None => "A text [1].".to_owned(),
        }
    }
}

#[async_trait]
impl LanguageModel for Rule {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn window(&self) -> usize {
        8_192
    }

    fn concurrency(&self) -> usize {
        4
    }

    async fn generate(&self, prompt: &Prompt, _: &Limits) -> Result<Generated, ModelError> {
        Ok(Generated {
            text: self.written(prompt),
            finish: Finish::Stopped,
            prompt_tokens: 1,
            generated_tokens: 1,
        })
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        let is_first = match words {
            ["yes", "no"] => number(self.values(&prompt.own)).is_multiple_of(2),
            ["first", "second"] => {
                let of = |mark| number(cells(&prompt.own, mark));
                of("first") > of("second")
            }
            words => panic!("nothing is known of {words:?}"),
        };
        Ok(Classified {
            choice: usize::from(!is_first),
            log_probabilities: None,
            prompt_tokens: 1,
        })
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// The values of a row between two marks.
fn cells(own: &str, mark: &str) -> Vec<String> {
    let row = between(own, &format!("<{mark}>\n"), &format!("\n</{mark}>")).unwrap();
    let value = |line: &str| line.split_once(": ").unwrap().1.to_owned();
    row.lines().map(value).collect()
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap()
}

/// The number by which it decides about values.
fn number(values: Vec<String>) -> usize {
    let values = values.concat().to_lowercase();
    let letters = values.bytes().filter(u8::is_ascii_alphanumeric);
    letters.fold(0, |number, letter| {
        (number * 31 + usize::from(letter)) % 1_000_003
    })
}
