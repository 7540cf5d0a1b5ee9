//! Joins that show in what the index holds of two tables' columns.
//!
//! Likeness stands beside the join graph ([`KnownJoins`]), and counts where it is more: every two
//! candidates have it, headers without a row, too. The weight of a pair of columns is JAR's (§3.3),
//! ω = max(u) · (j + e) / 2 with values' overlap j, names' likeness e, and uniqueness u: the
//! likelier one of them is a key, the better. Beyond the paper, j is the mean of Jaccard and of the
//! share of the referring column's values that the key has (Jaccard alone punishes small foreign
//! keys), each by its lower confidence bound; columns of one value and booleans join nothing; and
//! tables whose names begin alike join a little better.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use limn_models::{Embedder, ModelError};
use limn_retrieval::KnownJoins;
use limn_segment::TableKey;

use crate::columns::{Column, Kind, TableColumns};
use crate::join::{Basis, Cardinality, ColumnOf, Join, Joined};
use crate::names::{kinship, overlap};
use crate::vectors::{TableVectors, cosine, prepare};

/// Weights below this are no joins.
const LEAST: f64 = 0.1;
/// What a column of unknown uniqueness counts that is called as keys are, and any other.
const LIKELY_KEY: f64 = 1.0;
const UNLIKELY_KEY: f64 = 0.5;
/// What names count for values that are not known, and that are known and shared by none.
const FOR_UNKNOWN: f64 = 0.5;
const APART: f64 = 0.25;
/// What names count of which no value is known, where they are not the same and one is no key's.
const UNLIKE: f64 = 0.7;
/// What a join of numbers counts whose columns have no word in common, where the join graph has
/// compared them and has no such join.
const CHANCE: f64 = 0.25;
/// The most that alike beginnings of tables' names add.
const KINSHIP: f64 = 0.4;
/// Pairs of tables that are kept; then all are forgotten. Their keys take 26 MB, as reckoned; most
/// pairs have no join.
const KEPT: usize = 500_000;

/// The best join of two tables, or that there is none.
type Known = Option<Like>;

/// How two tables join by likeness.
#[derive(Clone)]
struct Like {
    join: Arc<Join>,
    /// The same where the join graph has compared the tables: with less weight, if it is of counts.
    compared: Arc<Join>,
}

impl Like {
    fn of(join: Join, a: &TableColumns, b: &TableColumns) -> Like {
        let weight = match is_of_counts(&join, a, b) {
            true => CHANCE * join.weight,
            false => join.weight,
        };
        let join = Arc::new(join);
        let compared = match weight < join.weight {
            true => Arc::new(Join {
                weight,
                ..Join::clone(&join)
            }),
            false => Arc::clone(&join),
        };
        Like { join, compared }
    }
}

/// Joins of candidates by what the index holds of their columns, found when they are asked for and
/// kept.
pub(crate) struct Likeness {
    embedder: Arc<dyn Embedder>,
    kept: Mutex<HashMap<(u64, u64), Known>>,
}

impl Likeness {
    pub(crate) fn new(embedder: Arc<dyn Embedder>) -> Likeness {
        Likeness {
            embedder,
            kept: Mutex::default(),
        }
    }

    /// The pairs that are kept, with what is known of them; those that are not have none.
    fn known(&self, tables: &[Arc<TableColumns>]) -> Vec<(usize, usize, Option<Known>)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs = (0..tables.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let known = pairs.map(|(a, b)| (a, b, kept.get(&(tables[a].id, tables[b].id)).cloned()));
        known.collect()
    }
}

impl Likeness {
    /// Each two of these tables that join.
    ///
    /// # Errors
    /// Where the embedder fails.
    pub(crate) fn joins(
        &self,
        tables: &[Arc<TableColumns>],
        graphs: &KnownJoins,
    ) -> Result<Vec<Joined>, ModelError> {
        let pairs = self.known(tables);
        if pairs.iter().any(|(.., known)| known.is_none()) {
            prepare(self.embedder.as_ref(), tables)?;
        }
        let keys: Vec<&TableKey> = tables.iter().map(|it| &it.table).collect();
        let mut of_graphs = graphs.among(&keys);
        let has_compared =
            |one: &TableKey, other: &TableKey| graphs.has_compared(&one.lake, &other.lake);
        let (mut joins, mut made) = (Vec::new(), Vec::new());
        for (a, b, known) in pairs {
            let (one, other) = (Side::of(&tables[a]), Side::of(&tables[b]));
            let join = known.unwrap_or_else(|| {
                let join = one.zip(other).and_then(|(a, b)| a.best_join(&b));
                let join = join.map(|it| Like::of(it, &tables[a], &tables[b]));
                made.push(((tables[a].id, tables[b].id), join.clone()));
                join
            });
            let (one, other) = (&tables[a].table, &tables[b].table);
            let kin = || kinship(&one.name, &other.name);
            let edge = of_graphs.remove(&(a, b));
            let edge = edge.and_then(|it| Join::of_edge(it, &one.lake, graphs.shows_values()));
            let join = join.map(|it| match has_compared(one, other) {
                true => it.compared,
                false => it.join,
            });
            let join = better(edge, join, kin);
            joins.extend(join.map(|join| Joined {
                first: a,
                second: b,
                join,
            }));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + made.len() > KEPT {
            kept.clear();
        }
        kept.extend(made);
        Ok(joins)
    }
}

/// Whether a join is of numbers that have values in common, and no word of their names: counts and
/// row numbers of anything have.
fn is_of_counts(join: &Join, a: &TableColumns, b: &TableColumns) -> bool {
    let column = |of: &ColumnOf| {
        let table = [a, b].into_iter().find(|it| of.is_of(&it.table))?;
        table.columns.iter().find(|it| it.name == of.column)
    };
    let columns = column(&join.left).zip(column(&join.right));
    join.basis == Basis::Values
        && columns.is_some_and(|(left, right)| {
            let is_number = |it: &Column| it.kind == Kind::Number;
            is_number(left) && is_number(right) && overlap(&left.stems, &right.stems) <= 0.0
        })
}

/// The better of what the graph and what likeness says of two tables: by the graph's columns, where
/// it has any.
fn better(
    known: Option<Join>,
    like: Option<Arc<Join>>,
    kin: impl FnOnce() -> f64,
) -> Option<Arc<Join>> {
    let Some(mut join) = known else { return like };
    let like = like.map_or(0.0, |it| it.weight);
    join.weight = akin(join.weight, kin()).max(like);
    Some(Arc::new(join))
}

/// What a join counts for tables whose names begin alike.
fn akin(weight: f64, kin: f64) -> f64 {
    (weight + KINSHIP * kin) / (1.0 + KINSHIP)
}

/// A table's columns with their vectors.
struct Side<'a> {
    table: &'a TableColumns,
    vectors: &'a TableVectors,
}

impl<'a> Side<'a> {
    fn of(table: &'a TableColumns) -> Option<Side<'a>> {
        let vectors = table.vectors.get()?;
        Some(Side { table, vectors })
    }

    fn best_join(&self, other: &Side) -> Option<Join> {
        let mut best: Option<(f64, usize, usize, Pair)> = None;
        for (at, column) in self.table.columns.iter().enumerate() {
            for (to, with) in other.table.columns.iter().enumerate() {
                let least = best.as_ref().map_or(LEAST, |(weight, ..)| *weight);
                let key = keyness(column).max(keyness(with));
                if key <= least || !may_join(column, with) {
                    continue;
                }
                let likeness = likeness(column, with, || {
                    cosine(&self.vectors.names[at], &other.vectors.names[to])
                });
                let pair = Pair::of(column, with, likeness);
                let weight = key * pair.relevance();
                if weight > least {
                    best = Some((weight, at, to, pair));
                }
            }
        }
        let (weight, at, to, pair) = best?;
        let kin = kinship(&self.table.table.name, &other.table.table.name);
        let weight = akin(weight, kin);
        Some(pair.join(weight, (self.table, at), (other.table, to)))
    }
}

/// How likely a column is a key.
fn keyness(column: &Column) -> f64 {
    let is_called_so = || column.stems.iter().any(|stem| is_key_word(stem));
    let likely = || match column.is_declared.unwrap_or_else(is_called_so) {
        true => LIKELY_KEY,
        false => UNLIKELY_KEY,
    };
    column.uniqueness.unwrap_or_else(likely)
}

/// Whether two columns are called the same, or both as keys are.
fn are_called_alike(a: &Column, b: &Column) -> bool {
    let is_key = |it: &Column| it.stems.iter().any(|stem| is_key_word(stem));
    a.stems == b.stems || is_key(a) && is_key(b)
}

fn is_key_word(stem: &str) -> bool {
    matches!(stem, "id" | "key" | "code" | "no" | "uuid" | "uid")
}

fn may_join(a: &Column, b: &Column) -> bool {
    let is_fit = |it: &Column| {
        it.kind != Kind::Other
            && (it.kind == Kind::Unknown || it.values.is_none() || it.distinct > 1)
    };
    let is_alike = a.kind == b.kind || a.kind == Kind::Unknown || b.kind == Kind::Unknown;
    is_alike && is_fit(a) && is_fit(b)
}

/// How alike two columns' names are, 0 to 1: half by words, half by meaning.
fn likeness(a: &Column, b: &Column, cosine: impl Fn() -> f64) -> f64 {
    0.5 * overlap(&a.stems, &b.stems) + 0.5 * cosine()
}

/// What is known of a pair of columns.
struct Pair {
    likeness: f64,
    values: Option<Shared>,
}

struct Shared {
    jaccard: f64,
    first_in_second: f64,
    second_in_first: f64,
    /// Whether the second column refers to the first.
    is_turned: bool,
    has_any: bool,
}

impl Pair {
    fn of(a: &Column, b: &Column, likeness: f64) -> Pair {
        let values = a.values.as_ref().zip(b.values.as_ref());
        let likeness = match values {
            None if !are_called_alike(a, b) => UNLIKE * likeness,
            _ => likeness,
        };
        let values = values.map(|(first, second)| {
            let overlap = first.overlap(second);
            let (ahead, back) = (overlap.first_in_second, overlap.second_in_first);
            let (of_a, of_b) = (a.uniqueness.unwrap_or(0.0), b.uniqueness.unwrap_or(0.0));
            Shared {
                jaccard: overlap.jaccard.low,
                first_in_second: ahead.low,
                second_in_first: back.low,
                // The unique one is referred to; where both are, the one that has the other's
                // values.
                is_turned: match (a.is_unique(), b.is_unique()) {
                    (Some(true), Some(true)) => back.value > ahead.value,
                    _ => of_a > of_b,
                },
                has_any: overlap.intersection > 0.0,
            }
        });
        Pair { likeness, values }
    }

    /// (j + e) / 2.
    fn relevance(&self) -> f64 {
        match &self.values {
            None => 0.5 * (1.0 + FOR_UNKNOWN) * self.likeness,
            Some(shared) if !shared.has_any => 0.5 * APART * self.likeness,
            Some(shared) => 0.25 * (shared.jaccard + shared.containment()) + 0.5 * self.likeness,
        }
    }

    fn join(&self, weight: f64, a: (&TableColumns, usize), b: (&TableColumns, usize)) -> Join {
        let is_turned = match &self.values {
            Some(shared) => shared.is_turned,
            // The one that is called as its table is: `customer.id`.
            None => a.0.columns[a.1].name.len() < b.0.columns[b.1].name.len(),
        };
        let (left, right) = if is_turned { (b, a) } else { (a, b) };
        let column_of = |side: (&TableColumns, usize)| {
            let TableKey { lake, name } = side.0.table.clone();
            ColumnOf {
                table: name,
                lake,
                column: side.0.columns[side.1].name.clone(),
            }
        };
        let column = |side: (&'_ TableColumns, usize)| side.0.columns[side.1].is_unique();
        let names = format!("names {:.0} % alike", 100.0 * self.likeness);
        Join {
            cardinality: match (column(left), column(right)) {
                (Some(true), Some(true)) => Cardinality::OneToOne,
                (_, Some(true)) => Cardinality::ManyToOne,
                (Some(_), Some(_)) => Cardinality::ManyToMany,
                _ => Cardinality::Unknown,
            },
            containment: self.values.as_ref().map(Shared::containment),
            evidence: match &self.values {
                None => format!("{names}; values are not known"),
                Some(shared) if !shared.has_any => format!("{names}; no value in common is known"),
                Some(shared) => format!(
                    "at least {:.0} % of the values of the left column are in the right one; {names}",
                    100.0 * shared.containment()
                ),
            },
            basis: match &self.values {
                Some(shared) if shared.has_any => Basis::Values,
                _ => Basis::Names,
            },
            left: column_of(left),
            right: column_of(right),
            more: Vec::new(),
            weight,
        }
    }
}

impl Shared {
    /// The share of the referring column's values that the other has, at least.
    fn containment(&self) -> f64 {
        match self.is_turned {
            true => self.second_in_first,
            false => self.first_in_second,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use limn_models::HashedWords;

    use super::*;
    use crate::columns::drafts::{table, values};

    fn joins(tables: &[Arc<TableColumns>]) -> Vec<Joined> {
        let joins = Likeness::new(Arc::new(HashedWords));
        let found = joins.joins(tables, &KnownJoins::default()).unwrap();
        let again = joins.joins(tables, &KnownJoins::default()).unwrap();
        let ends = |it: &Joined| (it.first, it.second, Arc::clone(&it.join));
        assert_eq!(
            found.iter().map(ends).collect::<Vec<_>>(),
            again.iter().map(ends).collect::<Vec<_>>()
        );
        found
    }

    #[test]
    fn a_foreign_key_refers_to_its_key() {
        let key = |n: usize| format!("K{:03}", n % 50);
        let town = |n: usize| format!("town {}", n % 3);
        let orders = table(
            "orders",
            &[("customer", values(300, key)), ("state", values(300, town))],
        );
        let customers = table("customers", &[("id", values(60, |n| format!("K{n:03}")))]);
        let found = joins(&[customers, orders]);
        let [joined] = found.as_slice() else {
            panic!("{found:?}")
        };
        let join = &joined.join;
        assert_eq!(
            (join.left.table.as_str(), join.left.column.as_str()),
            ("orders", "customer")
        );
        assert_eq!(
            (join.right.column.as_str(), join.cardinality),
            ("id", Cardinality::ManyToOne)
        );
        assert_eq!(join.containment, Some(1.0));
    }

    #[test]
    fn what_says_nothing_joins_nothing() {
        let constant = || values(50, |_| "A".to_owned());
        let truth = || values(50, |n| (n % 2 == 0).to_string());
        let a = table("a", &[("kind", constant()), ("open", truth())]);
        let b = table("b", &[("kind", constant()), ("open", truth())]);
        assert!(joins(&[a, b]).is_empty());
        assert!(joins(&[table("none", &[]), table("empty", &[])]).is_empty());
    }

    #[test]
    fn names_join_where_no_values_are_known() {
        let (a, b) = (("customer_id", Vec::new()), ("customer_id", Vec::new()));
        let found = joins(&[table("orders", &[a]), table("customers", &[b])]);
        let join = &found[0].join;
        assert_eq!(
            (join.cardinality, join.containment),
            (Cardinality::Unknown, None)
        );
        assert!(join.evidence.contains("not known"));
    }
}
