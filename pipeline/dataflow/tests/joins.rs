//! The join graph of a lake as it changes, and of any number of workers and processes.

use crate::common;

use std::sync::Arc;

use common::Lab;
use limn_joins::{Cardinality, EdgeKind, Evidence};
use limn_models::HashedWords;
use limn_pipeline::{Scope, Session};
use limn_segment::{JoinRecord, Policy};

/// The edges of the only lake, in an order of their own.
async fn joins(lab: &Lab) -> Vec<JoinRecord> {
    let snapshot = lab.index.require_newest().await.unwrap();
    let (lake, _) = snapshot.joins.first_key_value().unwrap();
    let mut joins = lab.index.joins(&snapshot, lake).await.unwrap().unwrap();
    joins.sort_by(|a, b| (&a.left, &a.right).cmp(&(&b.left, &b.right)));
    joins
}

fn short(edges: &[JoinRecord]) -> Vec<String> {
    let shown = edges.iter().map(|it| {
        let (left, right) = (it.left_columns.join(","), it.right_columns.join(","));
        match it.kind {
            EdgeKind::Join => format!(
                "{} {left} {} {} {right}",
                it.left,
                it.cardinality.name(),
                it.right
            ),
            // Whichever comes first.
            kind => format!(
                "{} {} {}",
                (&it.left).min(&it.right),
                kind.name(),
                (&it.left).max(&it.right)
            ),
        }
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown
}

fn lines(header: &str, numbers: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
    let lines: String = numbers.map(|at| line(at) + "\n").collect();
    format!("{header}\n{lines}")
}

/// A lake whose joins are looked for.
fn looking() -> Lab {
    let mut lab = Lab::new();
    lab.options.join_tables = Some(100);
    lab
}

async fn fill(lab: &Lab) {
    let customers = lines("code,city", 0..400, |at| {
        format!("C{at:04},city {}", at % 30)
    });
    let orders = lines("number,buyer", 0..900, |at| {
        format!("o{at},C{:04}", at % 300)
    });
    for (path, text) in [
        ("crm/customers.csv", &customers),
        ("sales/orders.csv", &orders),
        ("backup/orders.csv", &orders.replace("o0,", "o00,")),
    ] {
        lab.put(path, text).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_graph_follows_the_lake_and_is_merged_and_left_alone_with_it() {
    let mut lab = looking();
    lab.options.compact = false;
    fill(&lab).await;
    lab.run().await;
    let edges = joins(&lab).await;
    let expected = [
        "backup/orders buyer n:1 crm/customers code",
        "backup/orders copy sales/orders",
        "sales/orders buyer n:1 crm/customers code",
    ];
    assert_eq!(short(&edges), expected);
    let edge = edges
        .iter()
        .find(|it| it.left == "sales/orders" && it.kind == EdgeKind::Join);
    let edge = edge.unwrap();
    assert_eq!(edge.cardinality, Cardinality::ManyToOne);
    assert_eq!(edge.evidence, Evidence::Values);
    assert!(
        edge.containment > 0.99 && edge.containment_low > 0.9,
        "{edge:?}"
    );

    lab.run_is_idle().await;
    lab.index
        .compact(&Policy::default(), &|_| ())
        .await
        .unwrap();
    assert_eq!(joins(&lab).await, edges);

    // A column of other values joins nothing any more.
    let others = lines("number,buyer", 0..900, |at| {
        format!("o{at},X{:04}", at % 300)
    });
    lab.put("sales/orders.csv", &others).await;
    lab.run().await;
    let now = short(&joins(&lab).await);
    assert!(
        !now.iter().any(|it| it.contains("sales/orders buyer")),
        "{now:?}"
    );
    lab.remove("backup/orders.csv").await;
    lab.remove("sales/orders.csv").await;
    lab.run().await;
    assert_eq!(joins(&lab).await, []);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_without_a_graph_gets_one() {
    let mut lab = looking();
    lab.options.compact = false;
    fill(&lab).await;
    lab.run().await;
    let edges = joins(&lab).await;
    let mut older = lab.index.require_newest().await.unwrap().next();
    older.joins.clear();
    lab.index.publish(&older).await.unwrap();
    lab.run().await;
    assert_eq!(joins(&lab).await, edges);
    lab.run_is_idle().await;
}

/// In a session, which keeps the graph, tables go and columns get other names.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_forgets_tables_and_names_that_are_gone() {
    let lab = looking();
    fill(&lab).await;
    let mut session = Session::new(
        lab.lake.clone(),
        lab.index.clone(),
        Arc::new(HashedWords),
        lab.options.clone(),
    );
    let orders = lines("number,client", 0..900, |at| {
        format!("o{at},C{:04}", at % 300)
    });
    let steps: [(&str, Option<&str>); 3] = [
        ("backup/orders.csv", None),
        ("sales/orders.csv", Some(&orders)),
        ("sales/orders.csv", None),
    ];
    session.look(Scope::Lake, Arc::default()).await.unwrap();
    for (path, text) in steps {
        match text {
            Some(text) => lab.put(path, text).await,
            None => lab.remove(path).await,
        }
        session.look(Scope::Lake, Arc::default()).await.unwrap();
        let mut anew = looking();
        anew.lake = lab.lake.clone();
        anew.run().await;
        assert_eq!(short(&joins(&lab).await), short(&joins(&anew).await));
    }
    assert_eq!(joins(&lab).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_lake_of_too_many_tables_no_graph_is_kept() {
    let mut lab = looking();
    fill(&lab).await;
    lab.run().await;
    assert!(!joins(&lab).await.is_empty());
    lab.options.join_tables = Some(2);
    lab.put("crm/notes.csv", "a,b\n1,2\n").await;
    let report = lab.run().await;
    let is_said = |note: &String| note.contains("--join-tables");
    assert!(report.notes.iter().any(is_said), "{:?}", report.notes);
    let snapshot = lab.index.require_newest().await.unwrap();
    assert!(snapshot.joins.is_empty());
    lab.options.join_tables = Some(100);
    lab.run().await;
    assert!(!joins(&lab).await.is_empty());
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_and_processes_do_not_change_the_graph() {
    let mut graphs = Vec::new();
    for (processes, workers) in [(1, 1), (1, 4), (2, 2)] {
        let mut lab = looking();
        (lab.processes, lab.options.workers) = (processes, workers);
        fill(&lab).await;
        lab.run().await;
        graphs.push(joins(&lab).await);
    }
    assert_eq!(graphs[0].len(), 3);
    assert!(graphs.iter().all(|it| *it == graphs[0]));
}
