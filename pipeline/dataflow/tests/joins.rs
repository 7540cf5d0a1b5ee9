//! The join graph of a lake as it changes, and of any number of workers and processes.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{Lab, Watched};
use limn_joins::{Cardinality, EdgeKind, Evidence};
use limn_models::HashedWords;
use limn_pipeline::{RunOptions, Scope, Session, index_lake};
use limn_segment::{JoinRecord, Policy, Snapshot};

/// The edges of the only lake, in an order of their own.
async fn joins(lab: &Lab) -> Vec<JoinRecord> {
    let snapshot = lab.index.require_newest().await.unwrap();
    joins_in(lab, &snapshot).await
}

async fn joins_in(lab: &Lab, snapshot: &Snapshot) -> Vec<JoinRecord> {
    let (lake, _) = snapshot.joins.first_key_value().unwrap();
    let mut joins = lab.index.joins(snapshot, lake).await.unwrap().unwrap();
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
    let mut lab = Lab::new();
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
    let mut lab = Lab::new();
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
async fn a_session_forgets_removed_tables_and_names() {
    let lab = Lab::new();
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
        let mut anew = Lab::new();
        anew.lake = lab.lake.clone();
        anew.run().await;
        assert_eq!(short(&joins(&lab).await), short(&joins(&anew).await));
    }
    assert_eq!(joins(&lab).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_lake_of_too_many_tables_no_graph_is_kept() {
    let mut lab = Lab::new();
    fill(&lab).await;
    lab.run().await;
    assert!(!joins(&lab).await.is_empty());
    let is_said = |note: &String| note.contains("--join-tables");
    let without = async |lab: &Lab| {
        let snapshot = lab.index.require_newest().await.unwrap();
        snapshot.joins.is_empty()
    };
    // As it is, and as it grows under the run's eyes.
    for most in [2, 3] {
        lab.options.join_tables = most;
        lab.put("crm/notes.csv", &format!("a,b\n1,{most}\n")).await;
        let report = lab.run().await;
        assert!(report.notes.iter().any(is_said), "{:?}", report.notes);
        assert!(without(&lab).await);
        lab.run_is_idle().await;
        lab.remove("crm/notes.csv").await;
        lab.options.join_tables = 4;
        let report = lab.run().await;
        assert!(!report.notes.iter().any(is_said), "{:?}", report.notes);
        assert_eq!(joins(&lab).await.len(), 3);
        lab.run_is_idle().await;
    }
    // Nobody asks for them: what is there goes, and nothing else is published.
    lab.options.join_tables = 0;
    let report = lab.run().await;
    assert!(without(&lab).await && !report.notes.iter().any(is_said));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_and_processes_do_not_change_the_graph() {
    let mut graphs = Vec::new();
    for (processes, workers) in [(1, 1), (1, 4), (2, 2)] {
        let mut lab = Lab::new();
        (lab.processes, lab.options.workers) = (processes, workers);
        fill(&lab).await;
        lab.run().await;
        graphs.push(joins(&lab).await);
    }
    assert_eq!(graphs[0].len(), 3);
    assert!(graphs.iter().all(|it| *it == graphs[0]));
}

/// The joins that the tables of a snapshot have, of `all` that those of the lake have.
async fn own_joins(lab: &Lab, snapshot: &Snapshot, all: &[JoinRecord]) -> Vec<JoinRecord> {
    let tables = lab.index.tables(snapshot, None).await.unwrap();
    let names: BTreeSet<String> = tables.into_iter().map(|it| it.name).collect();
    let own = all.iter().cloned();
    own.filter(|it| names.contains(&it.left) && names.contains(&it.right))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_snapshot_has_the_joins_of_its_tables_also_that_a_killed_run_leaves() {
    let whole = Lab::new();
    fill(&whole).await;
    whole.run().await;
    let all = joins(&whole).await;
    assert_eq!(all.len(), 3);

    for lives in 1..4 {
        let mut lab = Lab::new();
        (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 1);
        (lab.options.workers, lab.options.compact) = (1, false);
        fill(&lab).await;
        let epochs = AtomicUsize::new(0);
        let dying = Watched(move |_: &[&str]| {
            assert!(epochs.fetch_add(1, Ordering::SeqCst) < lives, "killed");
        });
        let ended = lab.try_run(Arc::new(dying)).await;
        assert_eq!(ended.is_err(), lives < 3, "{ended:?}");
        let newest = lab.index.require_newest().await.unwrap().number;
        assert!(newest >= lives as u64);
        for number in 1..=newest {
            let snapshot = lab.index.snapshot(number).await.unwrap();
            let own = own_joins(&lab, &snapshot, &all).await;
            assert_eq!(joins_in(&lab, &snapshot).await, own, "{lives}: {number}");
        }
        lab.run().await;
        assert_eq!(joins(&lab).await, all);
        lab.run_is_idle().await;
    }
}

/// Each of two runs knows nothing of the other's table until it comes to publish.
#[tokio::test(flavor = "multi_thread")]
async fn writers_that_overtake_each_other_keep_all_joins() {
    let mut lab = Lab::new();
    lab.options.compact = false;
    fill(&lab).await;
    lab.run().await;
    let customers = lines("code,city", 0..500, |at| {
        format!("D{at:04},town {}", at % 30)
    });
    let orders = lines("number,client", 0..900, |at| {
        format!("p{at},D{:04}", at % 300)
    });
    lab.put("crm/customers.csv", &customers).await;
    lab.put("sales/orders.csv", &orders).await;
    let of = |path: &str| Scope::Objects([path.to_owned()].into());
    let (other, runtime) = (lab.options.clone(), tokio::runtime::Handle::current());
    let (lake, index) = (lab.lake.clone(), lab.index.clone());
    let has_run = AtomicBool::new(false);
    let overtaking = Watched(move |_: &[&str]| {
        if !has_run.swap(true, Ordering::SeqCst) {
            let options = RunOptions {
                scope: of("sales/orders.csv"),
                ..other.clone()
            };
            let (lake, index) = (lake.clone(), index.clone());
            let run = index_lake(lake, index, Arc::new(HashedWords), options, Arc::default());
            runtime.block_on(run).unwrap();
        }
    });
    lab.options.scope = of("crm/customers.csv");
    let before = lab.index.require_newest().await.unwrap().number;
    lab.try_run(Arc::new(overtaking)).await.unwrap();
    let newest = lab.index.require_newest().await.unwrap();
    assert_eq!(newest.number, before + 2, "no snapshot of joins alone");
    let expected = ["sales/orders client n:1 crm/customers code"];
    assert_eq!(short(&joins(&lab).await), expected);
    let overtaken = lab.index.snapshot(before + 1).await.unwrap();
    let expected = ["backup/orders buyer n:1 crm/customers code"];
    assert_eq!(short(&joins_in(&lab, &overtaken).await), expected);
}

/// What is known of the catalog serves: of a change the joins read what it has written, and of the
/// segments those that have the values of large keys.
#[tokio::test(flavor = "multi_thread")]
async fn joins_of_a_change_read_no_catalog_again_and_of_none_nothing() {
    let mut costs = Vec::new();
    for most in [0, 10_000] {
        let mut lab = Lab::new();
        // Of several processes each knows its share alone, and the graph is of the whole lake.
        lab.processes = 1;
        (lab.options.join_tables, lab.options.shards) = (most, Some(1));
        lab.options.compact = false;
        fill(&lab).await;
        lab.run().await;
        let counted = async |lab: &Lab| {
            let before = lab.index.store.counts();
            let report = lab.run().await;
            (report, lab.index.store.counts().since(&before))
        };
        let (_, idle) = counted(&lab).await;
        lab.put("crm/zones.csv", "zone,head\nnorth,Ada\n").await;
        let (report, changed) = counted(&lab).await;
        assert_eq!((report.tables.added, report.objects.read), (1, 1));
        let newest = lab.index.require_newest().await.unwrap();
        let last = newest.catalog.last().unwrap().bytes;
        // The customers' values.
        let values = newest.segments.first().unwrap().bytes;
        costs.push((idle, changed, last + values));
    }
    let [(idle_without, without, _), (idle, with, last)] = &costs[..] else {
        panic!("two runs");
    };
    assert_eq!((idle.get, idle.list), (idle_without.get, idle_without.list));
    assert_eq!(with.get, without.get + 2);
    // The rest is the snapshot's own file, which names the joins.
    assert!(with.bytes_read < without.bytes_read + last + 1_000);
    assert_eq!(with.put, without.put, "no edge has changed");
}

/// Customers of a key far too large for its sketch, and columns of a few of its values.
async fn fill_large(lab: &Lab, customers: std::ops::Range<usize>, buyers: &[(&str, usize)]) {
    // No sequence: what is next to each other is not in order.
    let code = |at: usize| format!("C{:07}", at * 7_919 % 9_999_991);
    let lines_of = |range, line: &dyn Fn(usize) -> String| lines("code", range, line);
    let text = lines_of(customers, &|at| format!("{},name {at}", code(at)));
    lab.put("crm/customers.csv", &text.replacen("code", "code,name", 1))
        .await;
    for (name, count) in buyers {
        let text = lines("number,buyer", 0..2 * count, |at| {
            format!("{name}{at},{}", code(at % count * 31))
        });
        lab.put(&format!("sales/{name}.csv"), &text).await;
    }
}

/// The references to customers.
async fn buyers(lab: &Lab) -> Vec<String> {
    let edges = joins(lab).await;
    short(&edges)
        .into_iter()
        .filter(|it| it.ends_with("crm/customers code"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn small_columns_find_large_keys_whichever_of_them_changes() {
    let sizes = [("few", 20), ("more", 120), ("many", 900)];
    let expected = |names: &[&str]| -> Vec<String> {
        let edge = |name: &&str| format!("sales/{name} buyer n:1 crm/customers code");
        names.iter().map(edge).collect()
    };
    let lab = Lab::new();
    let mut session = Session::new(
        lab.lake.clone(),
        lab.index.clone(),
        Arc::new(HashedWords),
        lab.options.clone(),
    );
    let anew = async |lab: &Lab, workers: usize| {
        let mut other = Lab::new();
        other.lake = lab.lake.clone();
        other.options.workers = workers;
        other.run().await;
        joins(&other).await
    };
    fill_large(&lab, 0..30_000, &sizes).await;
    session.look(Scope::Lake, Arc::default()).await.unwrap();
    assert_eq!(buyers(&lab).await, expected(&["few", "many", "more"]));
    let edges = joins(&lab).await;
    let few = edges.iter().find(|it| it.left == "sales/few").unwrap();
    assert_eq!(few.evidence, Evidence::Values);
    assert!(few.containment == 1.0 && few.containment_low < 0.9);
    assert_eq!(edges, anew(&lab, 1).await);

    // The key loses what they refer to, and gets it back; one that refers comes meanwhile.
    fill_large(&lab, 40_000..70_000, &[]).await;
    session.look(Scope::Lake, Arc::default()).await.unwrap();
    assert_eq!(buyers(&lab).await, expected(&[]));
    fill_large(&lab, 0..30_000, &[("late", 60)]).await;
    lab.remove("sales/few.csv").await;
    session.look(Scope::Lake, Arc::default()).await.unwrap();
    assert_eq!(buyers(&lab).await, expected(&["late", "many", "more"]));
    assert_eq!(joins(&lab).await, anew(&lab, 3).await);

    // Another column that refers, with a process of its own.
    fill_large(&lab, 0..30_000, &[("later", 50)]).await;
    lab.run().await;
    assert_eq!(
        buyers(&lab).await,
        expected(&["late", "later", "many", "more"])
    );
    assert_eq!(joins(&lab).await, anew(&lab, 2).await);
}
