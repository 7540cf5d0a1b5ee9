//! From a question to SQL, as a plan of one stage.
//!
//! A language model writes candidates from the columns and cells that the question needs
//! (TableRAG's solver, TAG's *syn*): the same question in a few prompts (`prompt.rs`), since the
//! model is greedy. Each candidate is taken out of what was written (`statement.rs`), and run
//! within limits ([`TryOut`]). What the engine refuses is mended where there is one way to. Those that
//! ran vote by their rows (`vote.rs`). A rule may write one, too (`template/`): without a model, that
//! is all.
//!
//! **Guarantees.** A plan's statement is one SELECT that the engine ran over the tables that were
//! given. Table text is data: it cannot leave its line, and whatever a model makes of it, the engine
//! alone decides what runs. The same question, tables, model and rows have the same plan, unless
//! the time is over, which is an answer of its own.
//!
//! **Non-guarantees.** That the statement means what was asked.

mod engine;
mod fit;
pub(crate) mod lexer;
mod prompt;
mod statement;
mod tables;
mod template;
#[cfg(test)]
mod tests;
mod try_out;
mod vote;
mod written;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::StreamExt;
use limn_cells::CellsAnswer;
use limn_models::{Generated, LanguageModel, ModelError, Prompt};

use crate::plan::{Source, SqlStage};
pub use engine::EngineTryOut;
pub use prompt::Style;
use prompt::{Prompts, STYLES};
pub use statement::NoStatement;
use statement::Statement;
use tables::Tables;
pub use try_out::{Mend, Refusal, Tried, TryOut};
pub use written::{Candidate, Origin, Outcome, Spent, Unwritten, Written};

/// Bytes of a question, at most.
pub const QUESTION: usize = 4_000;
/// Rows of a candidate's result that are compared, at most: for the engine that tries it.
pub const TRIED: u64 = 10_000;
/// Changes that are made to a statement that the engine refuses.
const MENDS: usize = 3;

/// Writes a plan for a question, over these tables. A model gets so long for its candidates.
pub async fn write(
    question: &str,
    cells: &CellsAnswer,
    model: Option<&dyn LanguageModel>,
    try_out: &dyn TryOut,
    timeout: Duration,
) -> Written {
    let mut written = Written::new(question, cells);
    if question.len() > QUESTION {
        return written.none(Unwritten::QuestionTooLong);
    }
    if cells.tables.is_empty() {
        return written.none(Unwritten::NoTables);
    }
    if !fit::fits(question, cells) {
        return written.none(Unwritten::NothingFits);
    }
    let tables = Tables::of(cells);
    written.inputs = tables.inputs();
    let mut trials = Trials::new(&tables, try_out);
    if let Some(model) = model {
        let prompts = Prompts::new(question, &tables, model);
        let writing = with_model(&prompts, model, &mut trials, &mut written);
        if tokio::time::timeout(timeout, writing).await.is_err() {
            return written.none(Unwritten::TimeOver);
        }
    }
    match template::statement(question, &tables) {
        Ok(statement) => {
            let candidate = trials.candidate(Origin::Template, &statement).await;
            written.candidates.push(candidate);
        }
        Err(unread) => written.unread = unread,
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
    let asked = STYLES.map(|style| prompts.of(style)).to_vec();
    let answers = ask(model, asked).await;
    for (style, answer) in STYLES.into_iter().zip(answers) {
        written.take(Origin::Prompt { style }, answer, trials).await;
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

/// Statements that are tried, each once.
struct Trials<'a> {
    tables: &'a Tables<'a>,
    inputs: BTreeMap<String, Source>,
    try_out: &'a dyn TryOut,
    done: HashMap<String, Result<Tried, Refusal>>,
}

impl<'a> Trials<'a> {
    fn new(tables: &'a Tables<'a>, try_out: &'a dyn TryOut) -> Trials<'a> {
        Trials {
            tables,
            inputs: tables.inputs(),
            try_out,
            done: HashMap::new(),
        }
    }

    async fn run(&mut self, statement: &str) -> Result<Tried, Refusal> {
        if let Some(done) = self.done.get(statement) {
            return done.clone();
        }
        let stage = SqlStage {
            inputs: self.inputs.clone(),
            statement: statement.to_owned(),
        };
        let tried = self.try_out.run(&stage).await;
        let tried = tried.map_err(|refusal| Refusal {
            line: self.tables.said(&refusal),
            ..refusal
        });
        self.done.insert(statement.to_owned(), tried.clone());
        tried
    }

    /// A candidate of what was written, mended and tried.
    async fn candidate(&mut self, origin: Origin, answer: &str) -> Candidate {
        let mut statement = match Statement::read(answer) {
            Ok(statement) => statement,
            Err(why) => return Candidate::of_none(origin, answer, why),
        };
        let mut mends = 0;
        loop {
            let sql = statement.sql();
            let tried = self.run(&sql).await;
            let refusal = tried.as_ref().err().filter(|_| mends < MENDS);
            match refusal.and_then(|it| self.mended(&statement, it)) {
                Some(mended) => (statement, mends) = (mended, mends + 1),
                None => return Candidate::tried(origin, sql, mends, tried),
            }
        }
    }

    /// The statement with the one change that may make it right.
    fn mended(&self, statement: &Statement, refusal: &Refusal) -> Option<Statement> {
        let of_name = refusal.mend.as_ref().and_then(|it| statement.mended(it));
        of_name.or_else(|| {
            let column = refusal.column.as_ref()?;
            match self.tables.having(column).as_slice() {
                [table] => statement.requalified(column, table),
                _ => None,
            }
        })
    }
}
