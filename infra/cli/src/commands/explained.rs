//! `limn eval --explain`: why questions do not find the tables that they need.

use std::io::{self, Write};

use limn_retrieval::eval::{
    EvalOptions, EvalQuestion, Explanation, SavedQuestion, Standing, explain,
};
use limn_retrieval::{Query, RetrievalError, Searcher};

use crate::text::{Style, one_line};

/// Explains each question that lacks a table at the largest cut-off.
///
/// # Errors
/// The first search that fails.
pub fn explained(
    searcher: &Searcher,
    questions: &[EvalQuestion],
    run: &[SavedQuestion],
    options: &EvalOptions,
) -> Result<Vec<Explanation>, RetrievalError> {
    // A run has only these.
    let answerable = questions.iter().filter(|it| it.is_answerable());
    let both = answerable.zip(run);
    let lacks = |(question, run): &(&EvalQuestion, &SavedQuestion)| {
        question.tables.iter().any(|it| !run.ranked.contains(it))
    };
    let lacking = both.filter(lacks);
    let explained = lacking.map(|(question, run)| {
        let query = Query {
            k: run.k,
            ..options.query.clone()
        };
        explain(searcher, question, &run.ranked, &query)
    });
    explained.collect()
}

/// Prints explanations.
pub fn print(out: &mut impl Write, explanations: &[Explanation]) -> io::Result<()> {
    let style = Style::of_stdout();
    for it in explanations {
        writeln!(out, "not found by: {}", style.bold(&one_line(&it.question)))?;
        if !it.unknown.is_empty() {
            let words = one_line(&it.unknown.join(", "));
            writeln!(out, "    no table has: {words}")?;
        }
        if let Some(first) = &it.first {
            writeln!(out, "    comes first: {}", line(first))?;
        }
        for (standing, why) in &it.missed {
            writeln!(out, "    needed: {}", line(standing))?;
            writeln!(out, "        {}", one_line(why))?;
        }
    }
    Ok(())
}

/// A table with its places and the words that it has.
fn line(it: &Standing) -> String {
    let place = |place: Option<usize>| place.map_or("none".to_owned(), |place| place.to_string());
    let fields = it.words.iter();
    let fields = fields.map(|(field, words)| format!("; in {field}: {}", words.join(", ")));
    let lacks = match it.lacks.as_slice() {
        [] => String::new(),
        words => format!("; lacks: {}", words.join(", ")),
    };
    one_line(&format!(
        "{}, place {} (by words {}, by meaning {}){}{lacks}",
        it.table,
        place(it.rank),
        place(it.by_words),
        place(it.by_meaning),
        fields.collect::<String>()
    ))
}
