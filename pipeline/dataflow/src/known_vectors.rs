//! Known vectors: no text is embedded whose vector the index has, or a killed run has left.
//!
//! Each process knows the vectors of its part of all texts ([`TextShare`]). Before a table is
//! embedded, each process that may know vectors of its texts is asked once, for all of them: hashes
//! go out, vectors come back, and the texts stay. The table waits on its worker until all have
//! answered. What a process asks itself stays on the worker, so that in a run of one process
//! nothing travels.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use half::f16;
use half::vec::{HalfBitsVecExt, HalfFloatVecExt};
use limn_segment::TextHash;
use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Concat, Exchange};

use crate::changes::Epoch;
use crate::describe::TableChange;
use crate::error::PipelineError;
use crate::kept::KeptVectors;
use crate::published_vectors::PublishedVectors;
use crate::text_share::TextShare;
use crate::when_complete::{Whole, when_complete};

/// A table that waits, as questions and answers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Its worker, by its number among all.
    pub worker: u64,
    /// Its own number, which no other table has there.
    pub number: u64,
}

/// A table, or what is asked for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Asked {
    /// The table, which stays.
    Table(Box<WaitingTable>),
    /// What one process is asked.
    Question(Question),
}

/// A table that waits for answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WaitingTable {
    /// What answers name it.
    pub asker: Asker,
    /// How many answers are to come.
    pub questions: usize,
    /// The table.
    pub table: TableChange,
}

/// A table asks a process for the vectors of texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The table.
    pub asker: Asker,
    /// The process that knows the vectors, if any does.
    pub process: u64,
    /// Hashes of the texts.
    pub texts: Vec<TextHash>,
}

/// What a process knows of what a table asked it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The table.
    pub asker: Asker,
    /// The vectors that there are, as the bits of their values.
    pub found: Vec<(TextHash, Vec<u16>)>,
}

/// A table with the vectors of its texts that are known.
#[derive(Clone, Debug)]
pub struct AnsweredTable {
    /// The table.
    pub table: TableChange,
    /// Vectors by the hashes of their texts.
    pub vectors: HashMap<TextHash, Vec<f16>>,
}

impl Asked {
    /// A table that wants the vectors of these texts, each of which may be given several times: the
    /// table itself, and a question to each process that may know some.
    pub fn by(
        asker: Asker,
        table: TableChange,
        mut texts: Vec<TextHash>,
        share: TextShare,
    ) -> Vec<Asked> {
        texts.sort_unstable();
        texts.dedup();
        let mut by_process: BTreeMap<u64, Vec<TextHash>> = BTreeMap::new();
        for text in texts {
            let of_process = by_process.entry(share.holder(text)).or_default();
            of_process.push(text);
        }
        let table = Asked::Table(Box::new(WaitingTable {
            asker,
            questions: by_process.len(),
            table,
        }));
        let questions = by_process.into_iter().map(|(process, texts)| {
            Asked::Question(Question {
                asker,
                process,
                texts,
            })
        });
        std::iter::once(table).chain(questions).collect()
    }
}

impl Question {
    /// The worker that answers, as an exchange key, where each process has so many: the one whose
    /// place in its process is the asking worker's.
    pub fn route(&self, workers: u64) -> u64 {
        self.process * workers + self.asker.worker % workers
    }
}

/// The vectors that a process knows; shared by its workers.
pub struct KnownVectors {
    published: Arc<PublishedVectors>,
    kept: Arc<KeptVectors>,
}

impl KnownVectors {
    /// Those that are published, and those that killed runs were about to publish.
    pub fn new(published: Arc<PublishedVectors>, kept: Arc<KeptVectors>) -> Self {
        Self { published, kept }
    }

    /// Answers a question.
    ///
    /// # Errors
    /// A published segment, or the list of what killed runs have left, cannot be read.
    pub async fn answer(&self, question: Question) -> Result<Vec<Answer>, PipelineError> {
        let Question { asker, texts, .. } = question;
        let mut found = Vec::new();
        for text in texts {
            let vector = match self.published.find(text).await? {
                Some(vector) => Some(vector),
                None => self.kept.find(text).await?,
            };
            if let Some(vector) = vector {
                found.push((text, vector.reinterpret_into()));
            }
        }
        Ok(vec![Answer { asker, found }])
    }
}

/// A table and its answers, as far as they have come, in any order.
#[derive(Default)]
pub struct Waiting {
    table: Option<Box<WaitingTable>>,
    answers: usize,
    vectors: HashMap<TextHash, Vec<f16>>,
}

/// A table, or what is answered for it.
pub enum Awaited {
    /// The table.
    Table(Box<WaitingTable>),
    /// What a process has answered.
    Answer(Answer),
}

impl Whole for Waiting {
    type Key = u64;
    type Part = Awaited;

    fn key(part: &Awaited, _: Epoch) -> u64 {
        match part {
            Awaited::Table(table) => table.asker.number,
            Awaited::Answer(answer) => answer.asker.number,
        }
    }

    fn add(&mut self, part: Awaited) {
        match part {
            Awaited::Table(table) => self.table = Some(table),
            Awaited::Answer(answer) => {
                self.answers += 1;
                let found = answer.found.into_iter();
                self.vectors
                    .extend(found.map(|(text, bits)| (text, bits.reinterpret_into::<f16>())));
            }
        }
    }

    fn is_complete(&self) -> bool {
        let table = self.table.as_ref();
        table.is_some_and(|table| table.questions == self.answers)
    }
}

/// Joins tables with their answers. One that asks nothing passes at once.
pub fn await_answers<'scope>(
    tables: Stream<'scope, Epoch, Vec<WaitingTable>>,
    answers: Stream<'scope, Epoch, Vec<Answer>>,
) -> Stream<'scope, Epoch, Vec<AnsweredTable>> {
    let answers = answers.exchange(|answer: &Answer| answer.asker.worker);
    let tables = tables.map(|table| Awaited::Table(Box::new(table)));
    let parts = tables.concat(answers.map(Awaited::Answer));
    when_complete(parts, "await answers", |waiting: Waiting| {
        let Waiting { table, vectors, .. } = waiting;
        table.map(|waiting| AnsweredTable {
            table: waiting.table,
            vectors,
        })
    })
}

#[cfg(test)]
mod tests;
