//! What a table joins with, its copies, parts and unions, or the way of joins to another table.
//!
//! Edges lead between tables of the caller's view only. Who may not read values gets what a file
//! declares: any other edge would confirm a guess of values.

use std::sync::Arc;
use std::time::Instant;

use limn_joins::{Cardinality, EdgeKind, Evidence};
use limn_retrieval::{Direction, JoinGraphs, KnownJoins, Partner, notes_of_way};
use limn_segment::{JoinRecord, TableKey};
use limn_store::one_line;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Grant;
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Problem, shortened};

/// Letters of a name in a note.
const NAME: usize = 200;
/// Partners of one answer.
const MOST: usize = 1_000;
/// Why there are no joins yet.
const STILL_READ: &str = "the index's joins are still being read";

/// Which table.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JoinsRequest {
    /// Its name: its path in its lake.
    pub table: String,
    /// The lake's URL, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Another table of its lake: then the answer is the way of joins there.
    #[serde(default)]
    pub with: Option<String>,
    /// Only partners of this kind: `join`, `copy`, `subset` or `union`.
    #[serde(default)]
    pub kind: Option<String>,
}

/// What a table joins with.
#[derive(Debug, Serialize, ToSchema)]
pub struct JoinsAnswer {
    /// The table.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// The snapshot that this is from.
    pub snapshot: u64,
    /// The other table; only where a way was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// Its partners, the surest first, at most 1000; not where a way was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partners: Option<Vec<JoinPartner>>,
    /// The steps of the way, each from its `table` to its `partner`; null where there is none of
    /// four joins or fewer. Only where a way was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<JoinPartner>>)]
    pub path: Option<Option<Vec<JoinPartner>>>,
    /// What there is to know besides: that the index has no joins, or that some are not shown.
    pub notes: Vec<String>,
}

/// What another table is to a table.
#[derive(Debug, Serialize, ToSchema)]
pub struct JoinPartner {
    /// The table.
    pub table: String,
    /// The other one.
    pub partner: String,
    /// `join`, `copy`, `subset` or `union`.
    pub kind: String,
    /// The table's columns, of joins.
    pub columns: Vec<String>,
    /// The partner's, in the same order.
    pub partner_columns: Vec<String>,
    /// `refers_to` where many of the table's rows may go with one of the partner's, and where it is
    /// part of it; `referred_by` the other way round; else `neither`.
    pub direction: String,
    /// How many of the table's rows go with how many of the partner's: `1:1`, `n:1`, `1:n` or
    /// `n:m`; null but of joins.
    pub cardinality: Option<String>,
    /// How sure it is, 0 to 1.
    pub score: f32,
    /// The share of the referring side's distinct values that the other side has; null where values
    /// are not shown.
    pub containment: Option<f32>,
    /// That share at least, with 97.5 % confidence.
    pub containment_low: Option<f32>,
    /// The shared values as a share of those of both; null where values are not shown.
    pub jaccard: Option<f32>,
    /// Why it is there: `declared`, `values and names`, `values` or `names`.
    pub evidence: String,
}

impl JoinsAnswer {
    /// Of a table, or of its way to another, before its joins are looked up.
    fn without_joins(
        (lake, table): (&str, &str),
        with: Option<&str>,
        grant: &Grant,
    ) -> JoinsAnswer {
        JoinsAnswer {
            table: table.to_owned(),
            lake: lake.to_owned(),
            snapshot: grant.view.snapshot.number,
            with: with.map(str::to_owned),
            partners: with.is_none().then(Vec::new),
            path: with.is_some().then_some(None),
            notes: Vec::new(),
        }
    }
}

impl JoinPartner {
    fn of(partner: Partner, shows_values: bool) -> JoinPartner {
        let direction = match partner.direction {
            Direction::RefersTo => "refers_to",
            Direction::ReferredBy => "referred_by",
            Direction::Neither => "neither",
        };
        JoinPartner {
            kind: partner.kind.name().to_owned(),
            direction: direction.to_owned(),
            cardinality: partner
                .cardinality
                .map(Cardinality::name)
                .map(str::to_owned),
            score: partner.score,
            containment: shows_values.then_some(partner.containment),
            containment_low: shows_values.then_some(partner.containment_low),
            jaccard: shows_values.then_some(partner.jaccard),
            evidence: partner.evidence.name().to_owned(),
            table: partner.table,
            partner: partner.partner,
            columns: partner.columns,
            partner_columns: partner.partner_columns,
        }
    }
}

/// Answers what a table joins with.
///
/// # Errors
/// No such table among those that the caller may see, no such kind; an index that cannot be read.
pub async fn joins(
    node: &Node,
    grant: &Grant,
    request: &JoinsRequest,
) -> Result<JoinsAnswer, Problem> {
    grant.require(Right::Search)?;
    let kind = request.kind.as_deref().map(kind).transpose()?;
    if request.with.is_some() && kind.is_some() {
        return Err(Problem::bad(
            "a way is of joins alone, and a kind was asked for",
            "leave out kind, or with",
        ));
    }
    let table = grant.table(&request.table, request.lake.as_deref())?;
    let is_unread = table.error.is_some();
    let TableKey { lake, name } = table.key.to_key();
    let with = match &request.with {
        Some(with) => Some(grant.table(with, Some(&lake))?.key.to_key().name),
        None => None,
    };
    let graphs = in_time(node, grant, grant.until).await?;
    let graphs = graphs.ok_or_else(|| Problem::unavailable(STILL_READ, "ask again soon"))?;
    let mut answer = JoinsAnswer::without_joins((&lake, &name), with.as_deref(), grant);
    if graphs.of_lake(&lake).is_none() {
        answer.notes.push(
            "the index does not know what joins in this lake: limn index finds out, of more than 10,000 tables with --join-tables N"
                .to_owned(),
        );
        return Ok(answer);
    }
    let shows = grant.shows_values;
    if !shows {
        answer.notes.push(
            "values are not shown to this key: only joins that files declare are given".to_owned(),
        );
    }
    let view = grant.view.clone();
    let looking = move || {
        let is_seen = |name: &str| {
            let key = TableKey {
                lake: lake.clone(),
                name: name.to_owned(),
            };
            view.table_list.get(&key).is_some()
        };
        let sees = |edge: &JoinRecord| {
            (shows || edge.evidence == Evidence::Declared)
                && is_seen(&edge.left)
                && is_seen(&edge.right)
        };
        let line = |it: Partner| JoinPartner::of(it, shows);
        let Some(graph) = graphs.of_lake(&lake) else {
            return answer;
        };
        match with {
            Some(with) => {
                let way = graph.path(&name, &with, &sees);
                let said = |name: &str| shortened(&one_line(name), NAME);
                let notes = notes_of_way(way.as_deref(), &name, &with, said);
                answer.notes.extend(notes);
                answer.path = Some(way.map(|way| way.into_iter().map(line).collect()));
            }
            None => {
                let partners = graph.partners(&name, kind, MOST, &sees).into_iter();
                let partners: Vec<JoinPartner> = partners.map(line).collect();
                if is_unread {
                    let name = shortened(&one_line(&name), NAME);
                    answer.notes.push(format!(
                        "'{name}' could not be read: the table itself says why"
                    ));
                }
                answer.partners = Some(partners);
            }
        }
        answer
    };
    node.compute(looking).await
}

/// The join graphs of a view, if they are there when half of the time is over: the rest is for the
/// answer.
///
/// # Errors
/// They cannot be read.
async fn in_time(
    node: &Node,
    grant: &Grant,
    until: Instant,
) -> Result<Option<Arc<JoinGraphs>>, Problem> {
    let left = until.saturating_duration_since(Instant::now());
    let read = tokio::time::timeout(left / 2, node.live.joins(&grant.view)).await;
    read.ok().transpose()
}

/// The joins that a caller may know, for an answer that there is without them, too. There are none
/// where they are not there in time or cannot be read: a note says so, and what is done `without`
/// them.
pub(super) async fn known_joins(
    node: &Node,
    grant: &Grant,
    until: Instant,
    without: &str,
    notes: &mut Vec<String>,
) -> KnownJoins {
    let why = match in_time(node, grant, until).await {
        Ok(Some(graphs)) => return KnownJoins::new(graphs, grant.shows_values),
        Ok(None) => STILL_READ,
        Err(error) => {
            tracing::warn!(%error, "the joins cannot be read");
            "the index's joins cannot be read now"
        }
    };
    notes.push(format!("{why}: {without}"));
    KnownJoins::new(Arc::default(), grant.shows_values)
}

fn kind(name: &str) -> Result<EdgeKind, Problem> {
    EdgeKind::of_name(name).ok_or_else(|| {
        let kinds = EdgeKind::ALL.map(EdgeKind::name).join(", ");
        Problem::bad(
            format!("there is no kind '{name}'"),
            format!("kinds are {kinds}"),
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use limn_models::{Embedder, HashedWords};
    use limn_segment::{IndexStore, Shard, Snapshot, TableRecord};
    use limn_store::Store;
    use object_store::memory::InMemory;
    use object_store::throttle::{ThrottleConfig, ThrottledStore};

    use super::*;
    use crate::NodeOptions;
    use crate::access::{Access, Caller};
    use crate::answers::{CellsRequest, SearchMode, SearchRequest, cells, search};
    use crate::problem::Code;

    const PATIENCE: Duration = Duration::from_millis(600);
    /// What a read of the store takes from some time on.
    const SLOW: Duration = Duration::from_millis(1500);

    /// A node over an index of two tables that join, and its store.
    async fn node() -> (Arc<Node>, Arc<ThrottledStore<InMemory>>) {
        let store = ThrottledStore::new(InMemory::new(), ThrottleConfig::default());
        let store = Arc::new(store);
        let index = IndexStore::new(Store::over(store.clone()));
        let tables = ["orders", "staff"].map(|name| TableRecord {
            lake: "/lake".to_owned(),
            name: name.to_owned(),
            ..TableRecord::default()
        });
        let edge = JoinRecord {
            kind: EdgeKind::Join,
            left: "orders".to_owned(),
            left_columns: vec!["staff_id".to_owned()],
            right: "staff".to_owned(),
            right_columns: vec!["id".to_owned()],
            cardinality: Cardinality::ManyToOne,
            score: 0.9,
            containment: 1.0,
            containment_low: 0.9,
            jaccard: 0.5,
            evidence: Evidence::Declared,
        };
        let embedder = HashedWords;
        let dimensions = embedder.dimensions();
        let mut snapshot = Snapshot::first(&embedder.id().to_string(), dimensions, 1);
        let entry = index.put_catalog(Shard(0), &tables).await.unwrap();
        snapshot.catalog.push(entry);
        let entry = index.put_joins("/lake", Shard(0), vec![edge], None).await;
        snapshot.joins.insert("/lake".into(), vec![entry.unwrap()]);
        let options = NodeOptions {
            patience: PATIENCE,
            ..NodeOptions::new(Access::Open)
        };
        let node = Node::open(index, snapshot, Arc::new(embedder), options);
        (Arc::new(node.await.unwrap()), store)
    }

    #[tokio::test]
    async fn an_answer_does_not_wait_for_joins_longer_than_there_is_time() {
        let (node, store) = node().await;
        store.config_mut(|it| it.wait_get_per_call = SLOW);
        let start = Instant::now();
        let of_search = async |mode| {
            let grant = node.grant(Caller::anyone()).await.unwrap();
            let request = SearchRequest {
                q: "staff of orders".to_owned(),
                mode,
                ..SearchRequest::default()
            };
            search(&node, &grant, request).await.unwrap().notes
        };
        let of_cells = async || {
            let grant = node.grant(Caller::anyone()).await.unwrap();
            let request = CellsRequest {
                q: "staff of orders".to_owned(),
                ..CellsRequest::default()
            };
            cells(&node, &grant, &request).await.unwrap().notes
        };
        let of_joins = async || {
            let grant = node.grant(Caller::anyone()).await.unwrap();
            let request = JoinsRequest {
                table: "orders".to_owned(),
                ..JoinsRequest::default()
            };
            let answer = joins(&node, &grant, &request).await?;
            Ok::<_, Problem>(answer.partners.unwrap().len())
        };
        let is_said = |notes: &[String]| notes.iter().any(|it| it.starts_with(STILL_READ));
        let all = tokio::join!(
            of_search(None),
            of_search(Some(SearchMode::Set)),
            of_cells(),
            of_joins()
        );
        assert!(start.elapsed() < PATIENCE * 2, "{:?}", start.elapsed());
        let (ranked, set, cells, partners) = all;
        for notes in [&ranked, &set, &cells] {
            assert!(is_said(notes), "{notes:?}");
        }
        // No partner would be an answer of another kind.
        assert_eq!(partners.unwrap_err().code, Code::Unavailable);

        // They were read on, once, though nobody waited.
        tokio::time::sleep(SLOW).await;
        assert!(!is_said(&of_search(None).await));
        assert!(!is_said(&of_search(Some(SearchMode::Set)).await));
        assert!(!is_said(&of_cells().await));
        assert_eq!(of_joins().await.unwrap(), 1);
    }
}
