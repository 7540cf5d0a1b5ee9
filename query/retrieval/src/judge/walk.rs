//! Walking down a ranking until enough tables stand (design, section 9).
//!
//! Rejected tables move behind those that stand, order otherwise kept, so the first k results are
//! the first k tables that stand: nothing below the k-th needs to be judged. As many candidates are
//! under way as may still be needed (k less those that stand or are under way), which fills a
//! model's batches and never asks about a table that a judge of one at a time would not have asked
//! about.

use std::future::Future;

use futures::stream::{FuturesUnordered, StreamExt};

/// What became of a judged candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The judge said yes.
    Stands,
    /// The judge said no.
    Rejected,
    /// The judge could not decide: the candidate keeps its place.
    Unknown,
}

/// Judges candidates `0..count` in order until `wanted` of them are kept (stand, or are unknown).
/// `None` for candidates that were not asked about.
///
/// # Errors
/// The first error of `judge`.
pub(crate) async fn walk<E, F>(
    count: usize,
    wanted: usize,
    judge: impl Fn(usize) -> F,
) -> Result<Vec<Option<Verdict>>, E>
where
    F: Future<Output = Result<Verdict, E>>,
{
    let mut verdicts = vec![None; count];
    let mut under_way = FuturesUnordered::new();
    let (mut next, mut kept) = (0, 0);
    loop {
        while next < count && kept + under_way.len() < wanted {
            let verdict = judge(next);
            let at = next;
            under_way.push(async move { (at, verdict.await) });
            next += 1;
        }
        let Some((at, verdict)) = under_way.next().await else {
            return Ok(verdicts);
        };
        let verdict = verdict?;
        kept += usize::from(verdict != Verdict::Rejected);
        verdicts[at] = Some(verdict);
    }
}

/// The order in which candidates are shown: those kept, those rejected, those not judged. Where the
/// walk stopped early, the first group alone is as long as the answer.
pub(crate) fn order(verdicts: &[Option<Verdict>]) -> Vec<usize> {
    let group = |at: &usize| match verdicts[*at] {
        Some(Verdict::Stands | Verdict::Unknown) => 0,
        Some(Verdict::Rejected) => 1,
        None => 2,
    };
    let mut order: Vec<usize> = (0..verdicts.len()).collect();
    order.sort_by_key(group);
    order
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures::executor::block_on;
    use proptest::prelude::*;

    use super::*;

    /// Is ready when it has been asked `polls` times: answers come in any order.
    struct Late(u8, Verdict);

    impl Future for Late {
        type Output = Result<Verdict, Infallible>;

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
            if self.0 == 0 {
                return Poll::Ready(Ok(self.1));
            }
            self.0 -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }

    proptest! {
        /// The first k are those of judging everything, and exactly those candidates are asked
        /// about that one at a time would have been.
        #[test]
        fn stopping_early_changes_nothing(
            candidates in prop::collection::vec((0u8..5, 0u8..6), 0..30),
            k in 1usize..12,
        ) {
            let truth: Vec<Verdict> = candidates
                .iter()
                .map(|(word, _)| [Verdict::Stands, Verdict::Stands, Verdict::Rejected, Verdict::Rejected, Verdict::Unknown][usize::from(*word)])
                .collect();
            let asked = RefCell::new(Vec::new());
            let verdicts = block_on(walk(candidates.len(), k, |at| {
                asked.borrow_mut().push(at);
                Late(candidates[at].1, truth[at])
            }))
            .unwrap();
            let all: Vec<Option<Verdict>> = truth.iter().copied().map(Some).collect();
            let (mut early, mut complete) = (order(&verdicts), order(&all));
            early.truncate(k);
            complete.truncate(k);
            prop_assert_eq!(early, complete);

            let mut kept = 0;
            let one_at_a_time = truth.iter().take_while(|verdict| {
                let wanted = kept < k;
                kept += usize::from(**verdict != Verdict::Rejected);
                wanted
            });
            let one_at_a_time: Vec<usize> = (0..one_at_a_time.count()).collect();
            prop_assert_eq!(asked.into_inner(), one_at_a_time);
        }
    }

    #[test]
    fn an_error_ends_the_walk() {
        let failed = block_on(walk(3, 3, |at| async move {
            if at == 1 {
                Err("broken")
            } else {
                Ok(Verdict::Stands)
            }
        }));
        assert_eq!(failed.unwrap_err(), "broken");
        assert_eq!(
            block_on(walk(0, 3, |_| async { Err("never") })).unwrap(),
            []
        );
    }
}
