//! A snapshot and a question to ranked tables.
//!
//! A question is put to both indexes of a snapshot: by its words (BM25F over whole tables, with
//! names, contexts, rows and cells as weighted fields) and by its meaning (cosines of blocks).
//! Candidates of either side are scored by the other too, both sides are min-max normalised and
//! mixed by α, as in PNEUMA §5.1; the formula with its constants is one small file, `scoring.rs`.
//! What comes back are tables, each with the texts that made it match.
//!
//! ```no_run
//! # async fn example(embedder: std::sync::Arc<dyn limn_models::Embedder>)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use limn_retrieval::{Query, Searcher};
//! use limn_segment::IndexStore;
//!
//! let index = IndexStore::open("s3://bucket/index")?;
//! let snapshot = index.require_newest().await?;
//! let searcher = Searcher::open(&index, snapshot, embedder).await?;
//! let query = Query::new("which employees were sick longest?");
//! let answer = tokio::task::spawn_blocking(move || searcher.search(&query)).await??;
//! for hit in &answer.results {
//!     println!("{:.2} {}", hit.score, hit.table);
//! }
//! # Ok(()) }
//! ```
//!
//! **Guarantees.** A ranking is a function of the live tables and the question: however tables are
//! spread over shards and segments, whatever was deleted beside them, scores are the same bit by
//! bit (as long as vectors are searched exactly). Statistics are exact and over live tables only. A
//! filter (a prefix, a [`Selection`]) restricts candidates before ranking, so a filtered search
//! still finds k tables where there are k; it never changes what a word is worth. A
//! [restricted](Searcher::restricted) searcher is another thing: it answers as if the other tables
//! did not exist. A [`judge`](judge::Judge) moves the tables it rejects behind the others and
//! changes nothing else. Tables of equal content are one result. [`Searcher`] may be shared by
//! threads. Where nothing relevant is found, the answer says so instead of listing tables.
//!
//! **Non-guarantees.** Above a segment's exact limit vectors come from an approximate graph, whose
//! misses are measured as recall elsewhere. What a judge says is its model's. Scores of different
//! questions are not comparable: min-max is relative to a question's own candidates. [`Grade`]s
//! are.
//!
//! **Recovery.** A searcher keeps the snapshot it was opened with; to see a newer one, open another
//! ([`Searcher::open_after`] reads only what is new).
//! [`RetrievalError::is_retryable`] says whether asking again can help.

mod absent_words;
mod all_values;
mod answer;
mod aside;
mod asked;
mod bringing;
mod copies;
mod corpus;
mod deadline;
mod error;
pub mod eval;
mod evidence;
mod grade;
mod inflected;
mod join_graph;
mod join_graphs;
mod joined;
pub mod judge;
mod known_joins;
mod learned;
mod lexical;
pub mod notes;
mod opening;
mod question;
mod ranking;
mod scoring;
mod scratch;
mod searcher;
mod selection;
mod semantic;
mod shared;
mod shares;
mod shortened;
mod similar;
mod sought;
mod spans;
mod spelling;
mod sums;
mod texts;
mod tuned;
mod ways;
mod wholes;
mod words;

pub use answer::{Answer, Evidence, Hit, Mode, Query, RankedTable, Ranking, ScoredBy};
pub use copies::is_aside;
pub use corpus::Values;
pub use error::RetrievalError;
pub use grade::{Grade, Grading};
pub use join_graph::{Alike, Direction, JoinGraph, Partner, Sees};
pub use join_graphs::JoinGraphs;
pub use joined::JoinedBy;
pub use known_joins::KnownJoins;
pub use learned::{Features, Weights, own_name};
pub use question::{content_terms, is_asking_word, says_nothing};
pub use searcher::{Searcher, TableRef};
pub use selection::Selection;
pub use shares::Share;
pub use similar::Similar;
pub use spans::{Span, spans};
pub use tuned::Tuned;
pub use ways::{MOST_HOPS, notes_of_way};

/// The target of the spans that record what a search spends its time on.
pub const TRACE: &str = "limn::trace";

#[cfg(test)]
mod tests;
