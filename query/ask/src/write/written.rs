//! What came of a question: the plan, how it was chosen, and what it cost.

use std::collections::BTreeMap;

use limn_cells::CellsAnswer;
use limn_models::{Generated, ModelError};
use limn_store::one_line;
use serde::Serialize;
use utoipa::ToSchema;

use super::prompt::Style;
use super::statement::NoStatement;
use super::template::Ruled;
use super::trials::{Planned, Trials};
use super::try_out::{Refusal, Tried, Worth};
use super::vote::{agreed_empty, votes, winner};
use crate::plan::{Operation, Plan, Source, SqlStage, Stage, WrittenSource};

/// The stage of a plan that is written.
const STAGE: &str = "answer";
/// What to know where a question needs judgement and SQL alone answers it.
const UNJUDGED: &str = "the question seems to need judgement, and this is SQL alone: see whether it says what was meant";

/// What was written for a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Written {
    /// The plan; none where `unwritten` says why.
    pub plan: Option<Plan>,
    /// Why there is no plan.
    pub unwritten: Option<Unwritten>,
    /// All candidates, in order: those of prompts, then that of a rule.
    pub candidates: Vec<Candidate>,
    /// The place of the candidate that the plan is of.
    pub chosen: Option<usize>,
    /// Whether the question needs a model that reads rows.
    pub needs_judgement: bool,
    /// What was spent.
    pub spent: Spent,
    /// Words of the question that no rule reads, where rules were tried.
    pub unread: Vec<String>,
    /// The tables, by the names that the candidates give them.
    #[schema(value_type = BTreeMap<String, WrittenSource>)]
    pub inputs: BTreeMap<String, Source>,
    /// The tables that were looked at, by their whole names.
    pub looked_at: Vec<String>,
    /// What to know of it, one line each.
    pub notes: Vec<String>,
    #[serde(skip)]
    question: String,
}

/// Why nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unwritten {
    /// No table was given.
    #[error("no table was found for the question")]
    NoTables,
    /// The question has too many bytes.
    #[error("the question is longer than 4000 bytes")]
    QuestionTooLong,
    /// What the question is about is in none of the tables.
    #[error("nothing that the question is about is in these tables")]
    NothingFits,
    /// No rule fits the question, and there is no model.
    #[error("no rule fits the question, and no language model was asked to write SQL")]
    NoRule,
    /// No candidate could be run.
    #[error("no statement that was written can be run")]
    AllFailed,
    /// All candidates that could be run are without rows, and they do not agree.
    #[error("no statement that was written has an answer in these tables")]
    AllEmpty,
    /// The model took too long.
    #[error("the language model took too long to write")]
    TimeOver,
}

/// Where a candidate is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A model, by a prompt.
    Prompt {
        /// How it asked.
        style: Style,
    },
    /// A rule.
    Template,
}

/// A statement that may answer the question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Candidate {
    /// Where it is from.
    pub origin: Origin,
    /// The statement; where none was written, what was, on a line.
    pub statement: String,
    /// How many changes were made to it.
    pub mends: usize,
    /// What came of it.
    pub outcome: Outcome,
    /// How many candidates have the same rows, itself among them.
    pub votes: usize,
    /// What the plan has where it is chosen.
    #[serde(skip)]
    shown: Option<String>,
    /// What to know of it where it is chosen, one line each.
    #[serde(skip)]
    notes: Vec<String>,
    #[serde(skip)]
    tried: Option<Tried>,
    /// Its stages, where it is a plan of several.
    #[serde(skip)]
    stages: Option<Vec<Stage>>,
}

/// What came of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has rows.
    Rows {
        /// How many, as far as they were read.
        count: u64,
        /// Whether there are more.
        is_cut: bool,
    },
    /// It is a plan, of which a model would read rows.
    Planned {
        /// How many, as far as they were read; none where the model comes first.
        rows: Option<u64>,
    },
    /// It has no row, or nothing but nulls.
    Empty,
    /// The engine refuses it, or could not finish it.
    Refused {
        /// Why, in a line.
        error: String,
        /// Whether the statement is to blame.
        is_of_statement: bool,
    },
    /// What was written is no statement.
    NoStatement {
        /// Why not.
        why: NoStatement,
    },
}

/// What was spent on a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = WriteSpent)]
pub struct Spent {
    /// Prompts.
    pub prompts: usize,
    /// Their tokens, shared ones each time.
    pub prompt_tokens: usize,
    /// Tokens that were written.
    pub generated_tokens: usize,
}

impl Candidate {
    pub(super) fn of_none(origin: Origin, answer: &str, why: NoStatement) -> Candidate {
        Candidate {
            origin,
            statement: one_line(answer),
            mends: 0,
            outcome: Outcome::NoStatement { why },
            votes: 0,
            shown: None,
            notes: Vec::new(),
            tried: None,
            stages: None,
        }
    }

    pub(super) fn tried(
        origin: Origin,
        statement: String,
        mends: usize,
        tried: Result<Tried, Refusal>,
    ) -> Candidate {
        let outcome = match &tried {
            Ok(tried) if tried.worth() == Worth::Empty => Outcome::Empty,
            Ok(tried) => Outcome::Rows {
                count: tried.count,
                is_cut: tried.is_cut,
            },
            Err(refusal) => Outcome::Refused {
                error: refusal.line.clone(),
                is_of_statement: refusal.is_of_statement,
            },
        };
        Candidate {
            origin,
            statement,
            mends,
            outcome,
            votes: 0,
            shown: None,
            notes: Vec::new(),
            tried: tried.ok(),
            stages: None,
        }
    }

    pub(super) fn planned(
        origin: Origin,
        statement: String,
        mends: usize,
        planned: Result<Planned, Refusal>,
    ) -> Candidate {
        let (stages, rows) = match planned {
            Ok(planned) => (planned.stages, planned.rows),
            Err(refusal) => return Candidate::tried(origin, statement, mends, Err(refusal)),
        };
        let is_empty = rows.as_ref().is_some_and(|it| it.count == 0);
        let rows = rows.map(|it| it.count);
        Candidate {
            origin,
            statement,
            mends,
            outcome: match is_empty {
                true => Outcome::Empty,
                false => Outcome::Planned { rows },
            },
            votes: 0,
            shown: None,
            notes: Vec::new(),
            tried: None,
            stages: (!is_empty).then_some(stages),
        }
    }

    /// With what a rule says of its statement.
    pub(super) fn of_rule(mut self, ruled: &Ruled) -> Candidate {
        self.notes.clone_from(&ruled.notes);
        self.shown.clone_from(&ruled.shown);
        let has_null = self.tried.as_ref().is_some_and(|it| it.has_null);
        self.notes
            .extend(ruled.of_null.clone().filter(|_| has_null));
        self
    }

    fn worth(&self) -> Option<Worth> {
        self.tried.as_ref().map(Tried::worth)
    }

    /// What it gave.
    #[must_use]
    pub fn result(&self) -> Option<&Tried> {
        self.tried.as_ref()
    }
}

impl Written {
    pub(super) fn new(question: &str, cells: &CellsAnswer) -> Written {
        Written {
            plan: None,
            unwritten: None,
            candidates: Vec::new(),
            chosen: None,
            needs_judgement: false,
            spent: Spent::default(),
            unread: Vec::new(),
            inputs: BTreeMap::new(),
            looked_at: cells.tables.iter().map(|it| it.table.clone()).collect(),
            notes: Vec::new(),
            question: question.to_owned(),
        }
    }

    pub(super) fn none(self, why: Unwritten) -> Written {
        Written {
            unwritten: Some(why),
            ..self
        }
    }

    /// Takes a model's answer as a candidate; its failure is a note.
    pub(super) async fn take(
        &mut self,
        style: Style,
        answer: Result<Generated, ModelError>,
        trials: &mut Trials<'_>,
    ) {
        let origin = Origin::Prompt { style };
        match answer {
            Ok(answer) => {
                self.spent.prompts += 1;
                self.spent.prompt_tokens += answer.prompt_tokens;
                self.spent.generated_tokens += answer.generated_tokens;
                let candidate = match style {
                    Style::Judging => trials.judging(origin, &answer.text).await,
                    _ => trials.candidate(origin, &answer.text).await,
                };
                self.candidates.push(candidate);
            }
            Err(error) => {
                tracing::warn!(%error, "a model did not write");
                let note = "the model did not answer: the log says why (-v)".to_owned();
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
        }
    }

    /// What kept every statement from running that is not the statements' fault: a limit, or rows
    /// that cannot be read.
    #[must_use]
    pub fn hindrance(&self) -> Option<&str> {
        let mut hindrances = self.candidates.iter().map(|it| match &it.outcome {
            Outcome::Refused {
                error,
                is_of_statement: false,
            } => Some(error.as_str()),
            _ => None,
        });
        let first = hindrances.next()??;
        hindrances.all(|it| it.is_some()).then_some(first)
    }

    fn results(&self) -> Vec<Option<&Tried>> {
        self.candidates.iter().map(Candidate::result).collect()
    }

    /// Whether a statement has an answer.
    pub(super) fn has_answer(&self) -> bool {
        let mut candidates = self.candidates.iter();
        candidates.any(|it| it.worth() > Some(Worth::Empty))
    }

    /// Chooses among the candidates: a plan with a model that reads rows where the question needs
    /// one, else the statement with the most votes; where none has an answer, that plan.
    pub(super) fn vote(mut self) -> Written {
        let results = self.results();
        let (votes, winner) = (votes(&results), winner(&results));
        let says = winner.filter(|at| self.candidates[*at].worth() > Some(Worth::Empty));
        let is_of_rule = |at: usize| self.candidates[at].origin == Origin::Template;
        let agreed = agreed_empty(&results, is_of_rule);
        for (candidate, votes) in self.candidates.iter_mut().zip(&votes) {
            candidate.votes = *votes;
        }
        let judging = self.candidates.iter().position(|it| it.stages.is_some());
        let chosen = match self.needs_judgement {
            true => judging.or(says),
            false => says.or(judging),
        };
        let chosen = chosen.or_else(|| {
            let at = agreed?;
            self.notes.push(match votes[at] {
                1 => "the rule that reads the question finds no value".to_owned(),
                several => format!("{several} statements agree that there is no value"),
            });
            Some(at)
        });
        let Some(chosen) = chosen else {
            let is_empty = |it: &Candidate| it.outcome == Outcome::Empty;
            let why = match self.candidates.is_empty() {
                true => Unwritten::NoRule,
                false if self.candidates.iter().any(is_empty) => Unwritten::AllEmpty,
                false => Unwritten::AllFailed,
            };
            return self.none(why);
        };
        if self.needs_judgement && judging.is_none() {
            self.notes.push(UNJUDGED.to_owned());
        }
        self.notes.extend(self.candidates[chosen].notes.clone());
        self.notes.extend(self.doubt(chosen));
        let stages = self.stages(&self.candidates[chosen]);
        self.plan = Some(Plan::of(self.question.clone(), stages));
        self.chosen = Some(chosen);
        self
    }

    /// What is said where prompts gave statements with other rows, and no rule read the question as
    /// the one that is chosen does: of such answers fewer than half are right
    /// (`docs/decisions/056`).
    fn doubt(&self, chosen: usize) -> Option<String> {
        let chosen = self.candidates[chosen].result()?;
        let agrees = |it: &Candidate| it.result().is_some_and(|it| it.agrees(chosen));
        let of_rule = |it: &Candidate| it.origin == Origin::Template;
        let mut candidates = self.candidates.iter();
        if candidates.any(|it| of_rule(it) && agrees(it)) || chosen.worth() <= Worth::Empty {
            return None;
        }
        let judging = Origin::Prompt {
            style: Style::Judging,
        };
        let is_prompted = |it: &&Candidate| !of_rule(it) && it.origin != judging;
        let prompted = self.candidates.iter().filter(is_prompted);
        let (all, votes) = (
            prompted.clone().count(),
            prompted.filter(|it| agrees(it)).count(),
        );
        (votes < all).then(|| {
            format!(
                "{votes} of {all} prompts {} these rows: look at the SQL before you trust them",
                if votes == 1 { "gave" } else { "give" }
            )
        })
    }

    fn stages(&self, candidate: &Candidate) -> Vec<Stage> {
        if let Some(stages) = &candidate.stages {
            return stages.clone();
        }
        let tried = candidate.tried.as_ref().map(|it| it.columns.clone());
        let (statement, columns) = match &candidate.shown {
            Some(shown) => (shown, None),
            None => (&candidate.statement, tried),
        };
        vec![Stage {
            name: STAGE.to_owned(),
            operation: Operation::Sql(SqlStage {
                inputs: named(&self.inputs, statement),
                statement: statement.clone(),
            }),
            columns,
        }]
    }
}

/// The inputs that a statement names.
fn named(inputs: &BTreeMap<String, Source>, statement: &str) -> BTreeMap<String, Source> {
    let tokens = super::lexer::tokens(statement).unwrap_or_default();
    let is_named = |name: &str| tokens.iter().any(|it| it.is_name(name));
    let named = inputs.iter().filter(|(name, _)| is_named(name));
    named
        .map(|(name, source)| (name.clone(), source.clone()))
        .collect()
}
