//! The prompts for a table's columns.

use std::collections::HashMap;
use std::sync::Arc;

use super::{NO_DESCRIPTION, visible_line};

/// Characters kept of a column's name.
const NAME: usize = 80;
/// Names that one shared part shows at most, whatever the budget.
const NAMES: usize = 400;

const SYSTEM: &str = "You describe columns of tables briefly.";

/// The three parts of a column's prompt, in the order in which a model reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnPrompt {
    /// The instructions, the same for every column of every table.
    pub system: &'static str,
    /// The schema; equal for all columns of a table that is not too wide.
    pub shared: Arc<str>,
    /// What is asked of the column.
    pub own: String,
}

/// How many tokens the schema may take, as the model counts them.
pub struct PromptBudget<'a> {
    /// Tokens of a text.
    pub count: &'a dyn Fn(&str) -> usize,
    /// The most tokens of the shared part.
    pub tokens: usize,
}

/// The prompts for the columns of `wanted` (places in `names`), in their order.
///
/// A schema that exceeds the budget is cut into runs of neighbouring columns; a column's prompt
/// shows the run that it lies in. The result depends on the names, the columns and the counts
/// alone.
pub fn schema_prompts(
    names: &[String],
    wanted: &[usize],
    budget: &PromptBudget<'_>,
) -> Vec<ColumnPrompt> {
    let shown: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| shown(name, at))
        .collect();
    let mut times: HashMap<&str, usize> = HashMap::new();
    for name in &shown {
        *times.entry(name).or_default() += 1;
    }
    let mut runs = Runs {
        shown: &shown,
        budget,
        made: Vec::new(),
    };
    wanted
        .iter()
        .filter(|column| **column < names.len())
        .map(|&column| ColumnPrompt {
            system: SYSTEM,
            shared: runs.of(column),
            own: own(&shown[column], column, times[shown[column].as_str()] > 1),
        })
        .collect()
}

/// A name as a prompt shows it: one line between back-quotes, which it cannot end.
fn shown(name: &str, at: usize) -> String {
    let visible: String = name.chars().take(NAME * 8).collect();
    // Nor can it spell what a chat's format is made of.
    let line: String = visible_line(&visible)
        .chars()
        .map(|c| match c {
            '`' => '\'',
            '<' | '\u{ff1c}' | '\u{fe64}' => '‹',
            '>' | '\u{ff1e}' | '\u{fe65}' => '›',
            '[' => '(',
            ']' => ')',
            c => c,
        })
        .collect();
    let cut: String = line.chars().take(NAME).collect();
    let cut = cut.trim_end();
    match (cut.is_empty(), cut.len() < line.len()) {
        (true, _) => format!("`column {}`", at + 1),
        (false, true) => format!("`{cut}…`"),
        (false, false) => format!("`{cut}`"),
    }
}

fn own(name: &str, column: usize, repeats: bool) -> String {
    let number = if repeats {
        format!(" (number {})", column + 1)
    } else {
        String::new()
    };
    format!("Describe briefly what the column {name}{number} holds.")
}

/// The shared parts of a schema, made as far as they are asked for.
struct Runs<'a> {
    shown: &'a [String],
    budget: &'a PromptBudget<'a>,
    /// Where each run ends, and its text.
    made: Vec<(usize, Arc<str>)>,
}

impl Runs<'_> {
    fn of(&mut self, column: usize) -> Arc<str> {
        loop {
            if let Some((_, text)) = self.made.iter().find(|(end, _)| column < *end) {
                return Arc::clone(text);
            }
            let start = self.made.last().map_or(0, |(end, _)| *end);
            let end = self.end(start);
            self.made.push((end, self.text(start, end).into()));
        }
    }

    /// The longest run that fits, at least one column.
    fn end(&self, start: usize) -> usize {
        let rest = (self.shown.len() - start).min(NAMES);
        let fits = |columns: usize| {
            (self.budget.count)(&self.text(start, start + columns)) <= self.budget.tokens
        };
        if fits(rest) {
            return start + rest;
        }
        // Counts grow with the text, so the longest run that fits can be searched for.
        let (mut fitting, mut too_long) = (1, rest);
        while fitting + 1 < too_long {
            let middle = usize::midpoint(fitting, too_long);
            if fits(middle) {
                fitting = middle;
            } else {
                too_long = middle;
            }
        }
        start + fitting
    }

    fn text(&self, start: usize, end: usize) -> String {
        let names = self.shown[start..end].join(" | ");
        let among = if end - start < self.shown.len() {
            format!("A table of {} columns has among them: ", self.shown.len())
        } else {
            "A table has the columns: ".to_owned()
        };
        format!(
            "{among}{names}\nAnswer with one short sentence. If you are not certain what a column holds, answer exactly: {NO_DESCRIPTION}\n"
        )
    }
}
