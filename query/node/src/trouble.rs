//! Whether questions can be answered, which is what readiness reports.
//!
//! A node whose index is away goes on answering what it has at hand, so that the index is away says
//! little. What says it is a question that could not be answered because the index could not be
//! read: from then on readiness asks that question again, until it, or somebody else's, is
//! answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use limn_retrieval::{Query, RetrievalError};

use crate::node::Node;
use crate::problem::Problem;

/// How long readiness may ask.
const PATIENCE: Duration = Duration::from_secs(5);

/// What could not be answered.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Whether there is a question, so that those that are answered need no lock.
    is_there: AtomicBool,
    question: Mutex<String>,
    asking: tokio::sync::Mutex<()>,
}

impl Trouble {
    /// Remembers what came of a question.
    pub(crate) fn note<T>(&self, question: &str, answered: &Result<T, RetrievalError>) {
        match answered {
            Ok(_) => {
                if self.is_there.load(Ordering::Relaxed) {
                    self.is_there.store(false, Ordering::Relaxed);
                }
            }
            Err(RetrievalError::Segment(_)) => {
                // A poisoned lock guards a text.
                let lock = self.question.lock();
                *lock.unwrap_or_else(PoisonError::into_inner) = question.to_owned();
                self.is_there.store(true, Ordering::Relaxed);
            }
            // The question's fault, or a model's.
            Err(_) => {}
        }
    }

    fn question(&self) -> Option<String> {
        let lock = self.question.lock();
        let question = lock.unwrap_or_else(PoisonError::into_inner);
        let is_there = self.is_there.load(Ordering::Relaxed);
        is_there.then(|| question.clone())
    }
}

/// Whether the node can answer.
///
/// # Errors
/// The last question that was asked could not be answered, and cannot now, because the index cannot
/// be read.
pub(crate) async fn ready(node: &Node) -> Result<(), Problem> {
    let Some(question) = node.trouble.question() else {
        return Ok(());
    };
    // Anybody may ask whether the node is ready, and it does not search for all of them at once.
    let Ok(_turn) = node.trouble.asking.try_lock() else {
        return Err(Problem::unavailable(
            "the index could not be read a moment ago",
            "ask again soon",
        ));
    };
    let (view, trouble) = (node.live.whole(), Arc::clone(&node.trouble));
    let query = Query {
        until: Some(Instant::now() + PATIENCE),
        ..Query::new(question)
    };
    let ask = move || {
        let answered = view.searcher.search(&query);
        trouble.note(&query.text, &answered);
        answered.map(drop).map_err(Problem::from)
    };
    node.compute(ask).await?
}

#[cfg(test)]
mod tests {
    use limn_segment::SegmentError;

    use super::*;

    #[test]
    fn a_question_that_could_not_be_answered_is_remembered_until_one_is() {
        let trouble = Trouble::default();
        let damaged = || SegmentError::Damaged {
            object: "segments/x.seg".to_owned(),
            detail: "flipped".to_owned(),
        };
        assert_eq!(trouble.question(), None);
        trouble.note::<()>("rivers?", &Err(RetrievalError::TooLate));
        assert_eq!(trouble.question(), None);
        trouble.note::<()>("rivers?", &Err(damaged().into()));
        trouble.note::<()>("lakes?", &Err(RetrievalError::TooLate));
        assert_eq!(trouble.question().as_deref(), Some("rivers?"));
        trouble.note("lakes?", &Ok(()));
        assert_eq!(trouble.question(), None);
    }
}
