//! From a question to SQL, as a plan of one stage; of several, where a model is to read rows.
//!
//! A language model writes candidates from the columns and cells that the question needs
//! (TableRAG's solver, TAG's *syn*): the same question in a few prompts (`prompt.rs`), since the
//! model is greedy. Each candidate is taken out of what was written (`statement.rs`), and run
//! within limits ([`TryOut`]). What the engine refuses is mended where there is one way to. Those
//! that ran vote by their rows (`vote.rs`). A rule may write one, too (`template/`): without a
//! model, that is all.
//!
//! Where a question needs judgement (`judgement.rs`), or SQL has no answer and words of it are in
//! no name, column or cell, one more prompt asks for a statement with semantic functions, which
//! becomes a plan of several stages (`crate::compile`).
//!
//! **Guarantees.** A plan's statements are SELECTs that the engine ran or planned over the tables
//! that were given. Table text is data: it cannot leave its line, and whatever a model makes of it,
//! the engine alone decides what runs. The same question, tables, model and rows have the same
//! plan, unless the time is over, which is an answer of its own. No model reads rows while a plan
//! is written.
//!
//! **Non-guarantees.** That the statement means what was asked.

mod engine;
mod fit;
mod guard;
mod judgement;
pub(crate) mod lexer;
mod prompt;
mod statement;
mod tables;
mod template;
#[cfg(test)]
mod tests;
mod trials;
mod try_out;
mod vote;
mod written;

use std::time::Duration;

use futures::StreamExt;
use limn_cells::CellsAnswer;
use limn_models::{Generated, LanguageModel, ModelError, Prompt};

pub use engine::EngineTryOut;
use judgement::Judgement;
pub use prompt::Style;
use prompt::{Prompts, STYLES};
pub use statement::NoStatement;
use tables::Tables;
use trials::Trials;
pub use try_out::{Mend, Refusal, Tried, TryOut};
pub use written::{Candidate, Origin, Outcome, Spent, Unwritten, Written};

/// Bytes of a question, at most.
pub const QUESTION: usize = 4_000;
/// Rows of a candidate's result that are compared, at most: for the engine that tries it.
pub const TRIED: u64 = 10_000;

/// Why nothing is written for a question, as far as no model has to say it.
#[must_use]
pub fn refused(question: &str, cells: &CellsAnswer) -> Option<Unwritten> {
    match () {
        () if question.len() > QUESTION => Some(Unwritten::QuestionTooLong),
        () if cells.tables.is_empty() => Some(Unwritten::NoTables),
        () if !fit::fits(question, cells) => Some(Unwritten::NothingFits),
        () => None,
    }
}

/// Writes a plan for a question, over these tables. A model gets so long for its candidates.
pub async fn write(
    question: &str,
    cells: &CellsAnswer,
    model: Option<&dyn LanguageModel>,
    try_out: &dyn TryOut,
    timeout: Duration,
) -> Written {
    let mut written = Written::new(question, cells);
    if let Some(why) = refused(question, cells) {
        return written.none(why);
    }
    let tables = Tables::of(cells);
    written.inputs = tables.inputs();
    let mut trials = Trials::new(&tables, try_out);
    let judgement = Judgement::of(question, &tables);
    written.needs_judgement = judgement == Judgement::Needed;
    let ruled = template::ruled(question, &tables);
    let writing = async {
        if let Some(model) = model {
            let prompts = Prompts::new(question, &tables, model);
            with_model(&prompts, model, &mut trials, &mut written).await;
        }
        match &ruled {
            Ok(ruled) => {
                let candidate = trials.candidate(Origin::Template, &ruled.statement).await;
                written.candidates.push(candidate.of_rule(ruled));
            }
            Err(unread) => {
                if model.is_none() && !unread.dates.is_empty() {
                    let dates = unread.dates.join(", ");
                    let note = format!("it is not said which dates are meant: {dates}");
                    written.notes.push(limn_store::one_line(&note));
                }
                if model.is_none() {
                    written.notes.extend(fit::meant(&unread.words, cells));
                }
                written.unread.clone_from(&unread.words);
            }
        }
        if let (Some(model), Judgement::Perhaps, false) = (model, judgement, written.has_answer()) {
            let prompts = Prompts::new(question, &tables, model);
            let answers = ask(model, vec![prompts.of(Style::Judging)]).await;
            for answer in answers {
                written.take(Style::Judging, answer, &mut trials).await;
            }
        }
    };
    if tokio::time::timeout(timeout, writing).await.is_err() {
        return written.none(Unwritten::TimeOver);
    }
    written.vote()
}

/// The model's candidates.
async fn with_model(
    prompts: &Prompts<'_>,
    model: &dyn LanguageModel,
    trials: &mut Trials<'_>,
    written: &mut Written,
) {
    let judging = written.needs_judgement.then_some(Style::Judging);
    let styles: Vec<Style> = STYLES.into_iter().chain(judging).collect();
    let asked = styles.iter().map(|style| prompts.of(*style)).collect();
    let answers = ask(model, asked).await;
    for (style, answer) in styles.into_iter().zip(answers) {
        written.take(style, answer, trials).await;
    }
}

/// The answers to prompts, in their order.
async fn ask(
    model: &dyn LanguageModel,
    prompts: Vec<Prompt>,
) -> Vec<Result<Generated, ModelError>> {
    let limits = &Prompts::limits();
    let asked = prompts
        .into_iter()
        .map(|prompt| async move { model.generate(&prompt, limits).await });
    let answers = futures::stream::iter(asked).buffered(model.concurrency().max(1));
    answers.collect().await
}
