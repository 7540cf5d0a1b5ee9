//! The graph of a set of tables is the same however it came about, and a change costs what it
//! touches.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use differential_dataflow::input::Input;
use limn_joins::{
    Column, ColumnFacts, Kind, Part, Place, TableId, look_up_band, lookups, value_counts,
};
use limn_profile::{ColumnBuilder, ValueSet};
use proptest::prelude::*;

use super::*;

/// What happens to tables, by their numbers, in one epoch: each has this content now, or is
/// removed.
type Step = Vec<(u8, Option<u8>)>;

/// Table `number` with one of several contents: keys and references that overlap with those of
/// others.
fn table(number: u32, content: u32) -> Arc<Table> {
    let name = format!("d{}/t{number}", number % 3);
    let key = |at: u32| format!("k{}", at + content % 4 * 50);
    let columns = [
        ("key", (0..60).map(key).collect::<Vec<_>>()),
        (
            "other",
            (0..60)
                .map(|at| format!("k{}", at / 2 + content * 10))
                .collect(),
        ),
        ("word", (0..60).map(|at| format!("w{}", at % 25)).collect()),
    ];
    of_columns(&name, &columns)
}

pub fn of_columns(name: &str, columns: &[(&str, Vec<String>)]) -> Arc<Table> {
    let made = (0..).zip(columns).map(|(at, (column, cells))| {
        let mut builder = ColumnBuilder::new(*column);
        cells.iter().for_each(|cell| builder.push(Some(cell)));
        let profile = builder.finish(true).profile;
        Column::new(ColumnFacts {
            place: Place(at),
            name: column,
            kind: Kind::Text,
            uniqueness: profile.uniqueness(),
            range: None,
            values: ValueSet::of(&profile.frequent, profile.distinct(), true),
            counts: value_counts(profile.frequent.sample()),
            lookups: lookups(profile.frequent.sample().map(|it| it.0)),
        })
    });
    let made = made.collect();
    let names: Vec<&str> = columns.iter().map(|it| it.0).collect();
    Arc::new(Table::new(
        TableId::of("lake", name),
        name,
        60,
        &names,
        made,
    ))
}

/// What happens in an epoch.
type Changes = (Vec<TableUpdate>, Vec<MemberUpdate>);

/// What is under a band because a first column has a value that others look up.
fn looked_up(tables: &BTreeMap<u8, Arc<Table>>) -> BTreeSet<(Band, Member)> {
    let columns = || {
        let of_table = |table: &Arc<Table>| {
            let table = Arc::clone(table);
            (0..table.columns.len()).map(move |at| (Arc::clone(&table), at))
        };
        tables.values().flat_map(of_table)
    };
    let mut members = BTreeSet::new();
    for (holds, first) in columns().filter(|it| it.1 == 0) {
        let holds_at = holds.id.column(Place(first as u16));
        for (looks, at) in columns() {
            let found = looks.columns[at].lookups.iter();
            for hash in found.filter(|it| holds.columns[first].lookups.contains(it)) {
                let member = |column, part| (look_up_band(*hash), Member { column, part });
                members.insert(member(holds_at, Part::Holds));
                members.insert(member(looks.id.column(Place(at as u16)), Part::Looks));
            }
        }
    }
    members
}

/// The edges after each step, and what each step cost: pairs of columns that met or parted,
/// comparisons.
fn run(workers: usize, steps: Vec<Changes>) -> Vec<(Vec<Edge>, u64, u64)> {
    let (send, receive) = mpsc::channel();
    let (send_cost, costs) = mpsc::channel();
    let work = Arc::new(GraphWork::default());
    let count = steps.len();
    let guards = timely::execute(timely::Config::process(workers), move |worker| {
        let (send, work) = (send.clone(), Arc::clone(&work));
        let (mut input, mut members, probe) = worker.dataflow::<Epoch, _, _>(|scope| {
            let (input, tables) = scope.new_collection();
            let (members, looked_up) = scope.new_collection();
            let edges = edges(tables, looked_up, &work).inspect(move |(edge, epoch, diff)| {
                send.send((*epoch, edge.clone(), *diff)).unwrap();
            });
            (input, members, edges.probe().0)
        });
        for (epoch, step) in (1..).zip(&steps) {
            if worker.index() == 0 {
                for (table, diff) in &step.0 {
                    input.update(Arc::clone(table), *diff);
                }
                for (member, diff) in &step.1 {
                    members.update(*member, *diff);
                }
            }
            input.advance_to(epoch);
            members.advance_to(epoch);
            input.flush();
            members.flush();
            while probe.less_than(&epoch) {
                worker.step();
            }
            if worker.index() == 0 {
                let met = work.met.swap(0, Ordering::Relaxed);
                send_cost
                    .send((met, work.compared.swap(0, Ordering::Relaxed)))
                    .unwrap();
            }
        }
    });
    drop(guards.unwrap());
    let mut updates: Vec<(Epoch, Edge, isize)> = receive.iter().collect();
    updates.sort();
    let mut found: BTreeMap<Edge, isize> = BTreeMap::new();
    let costs: Vec<(u64, u64)> = costs.iter().collect();
    let states = (0..count as Epoch)
        .zip(costs)
        .map(|(epoch, (met, compared))| {
            for (_, edge, diff) in updates.iter().filter(|it| it.0 == epoch) {
                *found.entry(edge.clone()).or_default() += diff;
            }
            found.retain(|_, times| *times != 0);
            assert!(found.values().all(|times| *times == 1));
            (found.keys().cloned().collect(), met, compared)
        });
    states.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_graph_that_grew_is_one_made_anew(
        script in prop::collection::vec(
            prop::collection::vec((0u8..12, prop::option::weighted(0.7, 0u8..9)), 1..6), 1..6),
        workers in 1usize..4,
    ) {
        let script: Vec<Step> = script;
        let mut now: BTreeMap<u8, Arc<Table>> = BTreeMap::new();
        let mut steps = Vec::new();
        for step in &script {
            let mut updates = Vec::new();
            let before = looked_up(&now);
            for (number, content) in step {
                updates.extend(now.remove(number).map(|before| (before, -1)));
                if let Some(content) = content {
                    let made = table(u32::from(*number), u32::from(*content));
                    now.insert(*number, Arc::clone(&made));
                    updates.push((made, 1));
                }
            }
            let after = looked_up(&now);
            let removed = before.difference(&after).map(|it| (*it, -1));
            let come = after.difference(&before).map(|it| (*it, 1));
            steps.push((updates, removed.chain(come).collect()));
        }
        let grown = run(workers, steps).pop().unwrap().0;
        let members = looked_up(&now).into_iter().map(|it| (it, 1)).collect();
        let tables = now.into_values().map(|table| (table, 1)).collect();
        let anew = run(1, vec![(tables, members)]);
        prop_assert_eq!(&grown, &anew[0].0);
    }
}

#[test]
fn a_changed_table_among_many_touches_its_own_pairs() {
    // Pairs of an order table and a customer table, and a word that all of them have.
    let pair = |number: u32, rows: u32| {
        let word = || {
            (
                "country".to_owned(),
                (0..60).map(|at| format!("c{at}")).collect(),
            )
        };
        let customer = |at: u32| format!("{number}/{at}");
        let (name, countries): (String, Vec<String>) = word();
        let customers = [
            ("code", (0..60).map(customer).collect::<Vec<_>>()),
            (name.as_str(), countries),
        ];
        let buyers = (0..60).map(|at| customer(at % rows)).collect();
        [
            of_columns(&format!("{number}/customers"), &customers),
            of_columns(&format!("{number}/orders"), &[("buyer", buyers)]),
        ]
    };
    let first = (0..300)
        .flat_map(|number| pair(number, 30))
        .map(|table| (table, 1));
    let [_, before] = pair(150, 30);
    let [_, after] = pair(150, 40);
    let change = vec![(before, -1), (after, 1)];
    let states = run(2, vec![(first.collect(), Vec::new()), (change, Vec::new())]);
    assert!(
        states[0].1 > 5_000 && states[0].2 > 1_000,
        "{:?}",
        &states[0].1
    );
    let (_, met, compared) = states[1];
    assert!(met <= 40, "{met} pairs of columns");
    // As it was and as it is: with its customers, and with the 32 next of the tables of its schema.
    assert_eq!(compared, 2 * (1 + 32));
}
