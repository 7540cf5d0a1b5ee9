//! What becomes of what a visit to a table draws: a question with its tables, or a reason why not.

use std::collections::BTreeSet;

use limn_models::{LanguageModel, quote};
use limn_sql::SqlError;
use limn_store::one_line;

use crate::by_context::{self, Of, Request, Source};
use crate::by_model::{self, NotSaid};
use crate::datasheet::DATASHEET;
use crate::keywords::{is_for_any, keywords};
use crate::known_tables::{Entry, KnownTables, Verdict};
use crate::passages::passages;
use crate::question::{Context, Kind, Origin, Question};
use crate::random::Draws;
use crate::sample::Sample;
use crate::statement::Statement;
use crate::{ALIKE, CONTEXTS, MOST_ANSWERING, STATEMENTS, draw, words};

/// Characters of a table's name that prompts show.
const NAME: usize = 200;
/// What the draws of a visit are for.
const STATEMENT: u64 = 3;
const CONTEXT: u64 = 4;

/// What was drawn.
pub(crate) enum Drawn {
    /// A statement, and the draws behind it.
    Statement(Statement, Draws),
    /// A context: where it is from, and its text or what the model is asked for it.
    Context(Context, String),
}

impl Drawn {
    /// What is asked of this table, as [`Question::asked`] has it.
    pub(crate) fn asks(&self, table: &str) -> String {
        match self {
            Drawn::Statement(statement, _) => statement.without_table(),
            Drawn::Context(context, _) => context.asked(table),
        }
    }
}

/// Why a statement became no question, and what failed of which table if that is why.
pub(crate) struct Rejected {
    pub(crate) why: &'static str,
    pub(crate) failure: Option<(usize, String)>,
}

impl From<&'static str> for Rejected {
    fn from(why: &'static str) -> Self {
        let failure = None;
        Rejected { why, failure }
    }
}

/// A visit to a table of which there is a sample.
pub(crate) struct Asking<'a> {
    pub(crate) known_tables: &'a KnownTables,
    pub(crate) origin: &'a Origin,
    pub(crate) model: Option<&'a dyn LanguageModel>,
    pub(crate) table: usize,
    pub(crate) sample: Sample,
    /// Where each context is from, and its text or what the model is asked for it.
    pub(crate) contexts: Vec<(Context, String)>,
    pub(crate) round: usize,
}

/// The contexts of a visit: passages of what is recorded, else questions of the datasheet.
pub(crate) fn contexts(entry: &Entry, seed: u64, round: usize) -> Vec<(Context, String)> {
    let passages = entry.contexts.iter().flat_map(|(source, text)| {
        let passages = passages(text).into_iter().enumerate();
        passages.map(|(passage, text)| {
            let source = source.clone();
            (Context::Recorded { source, passage }, text)
        })
    });
    let mut all: Vec<(Context, String)> = passages.collect();
    if entry.contexts.is_empty() {
        let invented = DATASHEET.into_iter().map(|(name, asked)| {
            let (datasheet, text) = (name.to_owned(), String::new());
            (Context::Invented { datasheet, text }, asked.to_owned())
        });
        all.extend(invented);
    }
    let mut draws = Draws::of(&[seed, CONTEXT, round as u64]);
    draws.keep(CONTEXTS, &mut all);
    all
}

impl Asking<'_> {
    /// What is drawn at a place of the visit, or why it becomes no question: statements, and
    /// behind them contexts. None where there are no more of these.
    pub(crate) fn draw(&self, at: usize) -> Option<Result<Drawn, &'static str>> {
        let Some(context) = at.checked_sub(STATEMENTS) else {
            let place = [self.origin.seed, STATEMENT, self.round as u64, at as u64];
            let mut draws = Draws::of(&place);
            let statement = draw::statement(&self.sample, &mut draws);
            let drawn = statement.map(|it| Drawn::Statement(it, draws));
            return Some(drawn.ok_or("no_column"));
        };
        let (context, text) = self.contexts.get(context)?.clone();
        Some(Ok(Drawn::Context(context, text)))
    }

    /// The name of the table.
    pub(crate) fn name(&self) -> &str {
        &self.known_tables.entries[self.table].key.name
    }

    /// A statement in English, and how it came to that.
    async fn said(
        &self,
        statement: &Statement,
        draws: &mut Draws,
    ) -> Result<(String, String), Rejected> {
        let Some(model) = self.model else {
            return Ok(words::question(statement, draws));
        };
        match by_model::question(model, &self.sample, statement, draws).await {
            Ok((question, way)) => {
                let shape = words::shape(statement);
                Ok((question, format!("{shape}-{}", way.name())))
            }
            Err(why) => Err(self.not_said(why)),
        }
    }

    fn not_said(&self, why: NotSaid) -> Rejected {
        let why = match why {
            NotSaid::NoQuestion => "no_question",
            NotSaid::Cycle => "cycle",
            NotSaid::Reworded => "rewording",
            NotSaid::NoContext => "no_context",
            NotSaid::Private => "private",
            NotSaid::NotAnswered => "not_answered",
            NotSaid::Failed(error) => {
                return Rejected {
                    why: "model_failed",
                    failure: Some((self.table, error.to_string())),
                };
            }
        };
        why.into()
    }

    /// The question that what was drawn becomes.
    pub(crate) async fn ask(&self, at: usize, drawn: Drawn) -> Result<Question, Rejected> {
        match drawn {
            Drawn::Statement(statement, draws) => self.content(at, statement, draws).await,
            Drawn::Context(context, text) => self.about(at, context, &text).await,
        }
    }

    /// The question that a statement becomes.
    async fn content(
        &self,
        at: usize,
        statement: Statement,
        mut draws: Draws,
    ) -> Result<Question, Rejected> {
        let failed = |why, table, error: SqlError| Rejected {
            why,
            failure: Some((table, error.to_string())),
        };
        match self.known_tables.ask(self.table, &statement).await {
            Verdict::Answers => {}
            Verdict::DoesNot => return Err("no_row".into()),
            Verdict::Cannot(error) | Verdict::Unknown(error) => {
                return Err(failed("failed", self.table, error));
            }
        }
        let others = self.known_tables.having(&statement.columns());
        if others.len() > MOST_ANSWERING {
            return Err("too_many_tables".into());
        }
        let (question, template) = self.said(&statement, &mut draws).await?;
        let name = |at: usize| self.known_tables.entries[at].key.name.clone();
        let own = name(self.table);
        let mut tables = vec![own.clone()];
        for other in others.into_iter().filter(|it| *it != self.table) {
            match self.known_tables.ask(other, &statement).await {
                Verdict::Answers => tables.push(name(other)),
                Verdict::DoesNot | Verdict::Cannot(_) => {}
                Verdict::Unknown(error) => return Err(failed("unsure", other, error)),
            }
        }
        tables.sort_unstable();
        // Lakes may have tables of one name.
        tables.dedup();
        Ok(Question {
            question,
            tables,
            kind: Kind::Content,
            template,
            sql: Some(statement.sql(&own)),
            context: None,
            table: own,
            origin: self.origin.clone(),
            round: self.round,
            statement: at,
        })
    }

    /// The question that a context becomes.
    async fn about(
        &self,
        at: usize,
        mut context: Context,
        text: &str,
    ) -> Result<Question, Rejected> {
        let Some(model) = self.model else {
            return Err("no_question".into());
        };
        let entry = &self.known_tables.entries[self.table];
        let named = format!(
            "<table>\nname: {}\n",
            quote(&one_line(&entry.key.name), NAME)
        );
        let shown = by_model::shown(&self.sample)
            .replacen("<table>\n", &named, 1)
            .into();
        let (kind, of) = match &context {
            Context::Invented { .. } => (Kind::InventedContext, Of::Datasheet(text)),
            Context::Recorded { .. } => (Kind::Context, Of::Passage(text)),
        };
        let source = Source {
            shown: &shown,
            of,
            keywords: &keywords(entry, &self.sample),
        };
        let request = by_context::request(model, &source).await;
        let request = request.map_err(|why| self.not_said(why))?;
        if is_for_any(&request.question) {
            return Err("vague".into());
        }
        let tables = self.saying(model, &request, kind).await?;
        if let Context::Invented { text, .. } = &mut context {
            text.clone_from(&request.context);
        }
        Ok(Question {
            question: request.question,
            tables,
            kind,
            template: format!("context-{}", request.way.name()),
            sql: None,
            context: Some(context),
            table: entry.key.name.clone(),
            origin: self.origin.clone(),
            round: self.round,
            statement: at,
        })
    }

    /// The tables of which what a request asks for is known: its own, copies, those with the same
    /// recorded text, and of those that are most alike whichever the model says it of.
    async fn saying(
        &self,
        model: &dyn LanguageModel,
        request: &Request,
        kind: Kind,
    ) -> Result<Vec<String>, Rejected> {
        let known_tables = self.known_tables;
        let with_passage = match kind {
            Kind::Context => known_tables.with_passage(&request.context),
            _ => &[],
        };
        let has = |at: usize| with_passage.binary_search(&at).is_ok();
        let is_sure =
            |at: usize| at == self.table || known_tables.is_copy(at, self.table) || has(at);
        let (sure, others): (Vec<usize>, Vec<usize>) =
            (0..known_tables.entries.len()).partition(|at| is_sure(*at));
        if sure.len() > MOST_ANSWERING {
            return Err("too_many_tables".into());
        }
        let sought = format!("{} {}", request.question, request.context);
        let alike = known_tables.alike(self.table, &sought).into_iter();
        let alike: Vec<usize> = alike
            .filter(|at| others.binary_search(at).is_ok())
            .collect();
        let (mut gold, judged) = (sure, alike.len().min(ALIKE));
        let mut said = 0;
        for at in alike.into_iter().take(ALIKE) {
            let known = by_context::nearest_passage(&known_tables.entries[at].known(), &sought);
            match by_context::answers(model, &request.question, &known).await {
                Ok(true) => {
                    said += 1;
                    gold.push(at);
                }
                Ok(false) => {}
                Err(error) => {
                    return Err(Rejected {
                        why: "unsure",
                        failure: Some((at, error.to_string())),
                    });
                }
            }
        }
        // Where most that were looked at answer, others that were not may do so, too.
        if 2 * said > judged {
            return Err("vague".into());
        }
        let names = gold
            .into_iter()
            .map(|at| known_tables.entries[at].key.name.clone());
        let names: BTreeSet<String> = names.collect();
        Ok(names.into_iter().collect())
    }
}
