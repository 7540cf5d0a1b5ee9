//! Visits to tables, begun before their turn.
//!
//! A model computes many requests in little more time than one, and the last question of a visit
//! takes longer than most: meanwhile the questions of the next visits are asked. All that is under
//! way is in one stream, which gives what it came to in the order of drawing.
//!
//! Which questions come out does not depend on what takes how long. What is done ahead counts
//! nothing; it only looks at what has come out so far ([`SoFar`]), to ask less in vain. That grows
//! and never shrinks, so what is in vain ahead of its turn is so at its turn. The reverse does not
//! hold: an earlier visit, of the same table even, may still make the question. So whether a
//! statement was asked before, a table is of use or a kind still wanted is looked at again at the
//! turn, when `make` knows all that is before it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::stream::{self, Stream, StreamExt};
use tokio::sync::OnceCell;

use crate::asking::{Asking, Rejected, contexts};
use crate::known_tables::KnownTables;
use crate::make::Settings;
use crate::question::{Earlier, Question};
use crate::random::Draws;
use crate::sample::{self, Unusable};
use crate::{CONTEXTS, STATEMENTS};

/// What the draws of a round are for, beside its statements.
const ORDER: u64 = 1;
const SAMPLE: u64 = 2;
/// Places of a visit: a statement or a context is drawn at each.
pub(crate) const PLACES: usize = STATEMENTS + CONTEXTS;
/// Statements that are asked at the same time where there is no model.
const AT_ONCE: usize = 4;
/// Visits' places that a model may be asked at beside one visit's; they are of up to three visits.
const AHEAD: usize = 2;
/// Why what was asked before becomes no question.
pub(crate) const REPEATED: &str = "repeated";

/// Places that are under way at the same time: with a model, beside a visit as many as keep it
/// busy. A model that takes few at a time would come to this visit's questions the later for more.
pub(crate) fn at_once(settings: &Settings) -> usize {
    match &settings.model {
        None => AT_ONCE,
        Some(model) => model
            .concurrency()
            .saturating_add(PLACES)
            .min((1 + AHEAD) * PLACES),
    }
}

/// What has come out so far, in the order of drawing.
pub(crate) struct SoFar {
    pub(crate) there: Earlier,
    /// By kind, how many questions are wanted.
    pub(crate) shares: [usize; 2],
    /// The tables that gave no sample.
    pub(crate) unusable: HashSet<usize>,
    /// Whether any table gave one.
    pub(crate) has_sample: bool,
}

impl SoFar {
    /// By kind, whether there are to be more questions.
    pub(crate) fn wants(&self) -> [bool; 2] {
        [0, 1].map(|kind| self.there.of_kind[kind] < self.shares[kind])
    }
}

/// What visits are made to and for.
#[derive(Clone, Copy)]
pub(crate) struct Visits<'a> {
    pub(crate) known_tables: &'a KnownTables,
    pub(crate) settings: &'a Settings,
    /// The tables that statements are drawn from.
    pub(crate) tables: &'a [usize],
    pub(crate) so_far: &'a Mutex<SoFar>,
}

impl<'a> Visits<'a> {
    /// What has come out so far; not to be held while anything is waited for.
    pub(crate) fn so_far(self) -> MutexGuard<'a, SoFar> {
        // Nothing that holds the lock leaves what it guards half changed.
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each place comes to, in order, from one of a round on; so many are under way at a time.
    ///
    /// They are in one queue, all of which is polled: a statement that has begun must not wait for
    /// others to end, as it has a deadline. Dropping the stream gives up what is under way.
    pub(crate) fn arrivals(
        self,
        (round, first): (usize, usize),
        at_once: usize,
    ) -> impl Stream<Item = Arrival<'a>> + Unpin {
        let mut order = Order {
            tables: self.tables,
            seed: self.settings.origin.seed,
            pass: None,
            shuffled: Vec::new(),
        };
        let places = (round..self.settings.visits).flat_map(move |round| {
            let visit = Arc::new(Visit {
                visits: self,
                round,
                table: order.table(round),
                begun: OnceCell::new(),
            });
            (0..PLACES).map(move |at| Arc::clone(&visit).arrive(at))
        });
        stream::iter(places.skip(first)).buffered(at_once)
    }
}

/// The order in which tables are visited: another in each pass over all of them.
struct Order<'a> {
    tables: &'a [usize],
    seed: u64,
    pass: Option<usize>,
    /// The tables in the order of the pass.
    shuffled: Vec<usize>,
}

impl Order<'_> {
    /// The table of a round.
    fn table(&mut self, round: usize) -> usize {
        let count = self.tables.len();
        let pass = round / count;
        if self.pass != Some(pass) {
            self.shuffled.clear();
            self.shuffled.extend_from_slice(self.tables);
            let mut draws = Draws::of(&[self.seed, ORDER, pass as u64]);
            draws.keep(count, &mut self.shuffled);
            self.pass = Some(pass);
        }
        self.shuffled[round % count]
    }
}

/// A visit to a table.
pub(crate) struct Visit<'a> {
    visits: Visits<'a>,
    round: usize,
    pub(crate) table: usize,
    /// The first of its places that is polled reads the sample, for all.
    begun: OnceCell<Result<Begun<'a>, Unusable>>,
}

/// A visit whose table gave a sample.
struct Begun<'a> {
    asking: Asking<'a>,
    /// By kind, whether more questions were wanted then.
    wanted: [bool; 2],
}

/// What a place came to, when its turn is next.
pub(crate) struct Arrival<'a> {
    pub(crate) visit: Arc<Visit<'a>>,
    /// None where nothing was to be drawn.
    pub(crate) outcome: Option<Outcome>,
}

/// What became of what was drawn.
pub(crate) struct Outcome {
    /// Its kind, as a place in [`Kinds::shares`](crate::Kinds::shares).
    pub(crate) kind: usize,
    /// What is asked ([`Question::asked`]); none where nothing could be drawn.
    pub(crate) asks: Option<String>,
    pub(crate) became: Result<Question, Rejected>,
}

impl<'a> Visit<'a> {
    /// Why the table gave no sample, if it did not. To be asked once a place has arrived.
    pub(crate) fn unusable(&self) -> Option<&Unusable> {
        self.begun.get()?.as_ref().err()
    }

    async fn arrive(self: Arc<Self>, at: usize) -> Arrival<'a> {
        let outcome = self.outcome(at).await;
        Arrival {
            visit: self,
            outcome,
        }
    }

    async fn outcome(&self, at: usize) -> Option<Outcome> {
        let begun = self.begun.get_or_init(|| self.begin()).await;
        let Begun { asking, wanted } = begun.as_ref().ok()?;
        let kind = usize::from(at >= STATEMENTS);
        if !wanted[kind] {
            return None;
        }
        let (asks, became) = match asking.draw(at)? {
            Err(why) => (None, Err(why.into())),
            Ok(drawn) => {
                let asks = drawn.asks(asking.name());
                let is_repeated = self.visits.so_far().there.has_before(self.round, &asks);
                let became = match is_repeated {
                    true => Err(REPEATED.into()),
                    false => asking.ask(at, drawn).await,
                };
                (Some(asks), became)
            }
        };
        Some(Outcome { kind, asks, became })
    }

    /// Reads the sample.
    async fn begin(&self) -> Result<Begun<'a>, Unusable> {
        let Visits {
            known_tables,
            settings,
            ..
        } = self.visits;
        let (is_unusable, wanted) = {
            let so_far = self.visits.so_far();
            (so_far.unusable.contains(&self.table), so_far.wants())
        };
        if is_unusable {
            return Err(Unusable::Before);
        }
        let (entry, seed) = (&known_tables.entries[self.table], settings.origin.seed);
        let mut draws = Draws::of(&[seed, SAMPLE, self.round as u64]);
        let sample = match known_tables.engine(self.table) {
            Some(engine) if !entry.is_empty => {
                let _permit = known_tables.permit().await;
                sample::read(engine, entry, &mut draws).await?
            }
            _ => return Err(Unusable::Empty),
        };
        self.visits.so_far().has_sample = true;
        let contexts = match wanted[1] {
            true => contexts(entry, seed, self.round),
            false => Vec::new(),
        };
        let asking = Asking {
            known_tables,
            origin: &settings.origin,
            model: settings.model.as_deref(),
            table: self.table,
            sample,
            contexts,
            round: self.round,
        };
        Ok(Begun { asking, wanted })
    }
}
