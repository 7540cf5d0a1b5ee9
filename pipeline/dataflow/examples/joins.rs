//! The join graph of an index against declared keys, which it does not see: `joins INDEX
//! FOREIGN_KEYS.jsonl [WORKERS] [--failures] [--sketches-alone]` (without what is looked up in
//! segments). Prints one line of JSON: precision and recall of the best pair of columns per pair of
//! tables, among tables of one database (the same name up to `__`) and in the whole lake; time and
//! work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use differential_dataflow::input::Input;
use limn_joins::{Edge, EdgeKind, Place, Table, TableId};
use limn_pipeline::stages::{GraphWork, LookedUp, Looking, MemberUpdate, edges, segment_hash};
use limn_pipeline::stages::{JoinColumns, SketchedColumns, graph_table};
use limn_segment::{HeldRows, IndexStore, TableKey, TableRecord};

/// A declared key of the corpus.
#[derive(serde::Deserialize)]
struct Declared {
    table: String,
    column: String,
    ref_table: String,
    ref_column: String,
}

type ColumnName = (String, String);
/// A table's key, its columns, and the hash of its segment.
type InIndex = (TableKey, Box<[Box<str>]>, u64);
type Names<'a> = BTreeMap<TableId, &'a TableRecord>;
/// Two tables by their names, in order.
type Tables = (String, String);
/// The columns of each declared key between two tables.
type Gold = BTreeMap<Tables, BTreeSet<BTreeSet<ColumnName>>>;
/// The best edge that was found between two tables, and its columns.
type Best<'a> = BTreeMap<Tables, (&'a Edge, BTreeSet<ColumnName>)>;

fn graph(
    tables: Vec<Arc<Table>>,
    looked_up: Vec<MemberUpdate>,
    workers: usize,
    work: &Arc<GraphWork>,
) -> Vec<Edge> {
    let (send, receive) = mpsc::channel();
    let fed = Arc::new(Mutex::new(Some((tables, looked_up))));
    let work = Arc::clone(work);
    let config = timely::Config::process(workers);
    let guards = timely::execute(config, move |worker| {
        let (send, work) = (send.clone(), Arc::clone(&work));
        let (mut input, mut members) = worker.dataflow::<u64, _, _>(|scope| {
            let (input, tables) = scope.new_collection();
            let (members, looked_up) = scope.new_collection();
            edges(tables, looked_up, &work).inspect(move |(edge, _, diff)| {
                let _ = send.send((edge.clone(), *diff));
            });
            (input, members)
        });
        let given = fed.lock().ok().and_then(|mut it| it.take());
        if let Some((tables, looked_up)) = given {
            tables.into_iter().for_each(|table| input.insert(table));
            let looked_up = looked_up.into_iter();
            looked_up.for_each(|(member, diff)| members.update(member, diff));
        }
    });
    drop(guards);
    let mut found: BTreeMap<Edge, isize> = BTreeMap::new();
    for (edge, diff) in receive {
        *found.entry(edge).or_default() += diff;
    }
    found
        .into_iter()
        .filter(|it| it.1 > 0)
        .map(|it| it.0)
        .collect()
}

fn named(names: &Names, table: TableId, place: &[Place]) -> Option<ColumnName> {
    let row = names.get(&table)?;
    let column = row.columns.get(usize::from(place.first()?.0))?;
    Some((row.name.to_lowercase(), column.name.to_lowercase()))
}

fn in_index(names: &Names, table: TableId) -> Option<InIndex> {
    let row = names.get(&table)?;
    let columns = row.columns.iter().map(|it| it.name.as_str().into());
    Some((row.key(), columns.collect(), segment_hash(&row.segment)))
}

/// Memory that is no file's, now and at most, in MiB.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() >> 10
    };
    (of("RssAnon:"), of("VmHWM:"))
}

fn database(table: &str) -> &str {
    table.split_once("__").map_or("", |it| it.0)
}

/// Why a declared key is not to be found by values: the reason of the likeliest of its pairs of
/// columns.
fn reason(
    tables: &BTreeMap<String, Arc<Table>>,
    columns: &BTreeSet<BTreeSet<ColumnName>>,
) -> &'static str {
    let known = |(table, column): &ColumnName| {
        let table = tables.get(table)?;
        table.column(table.place(limn_joins::name_hash(column))?)
    };
    let reasons = columns.iter().map(|pair| {
        let sides: Option<Vec<_>> = pair.iter().map(known).collect();
        let Some([one, other]) = sides.as_deref() else {
            return "no values";
        };
        let overlap = one.values.overlap(&other.values);
        let contained = overlap
            .first_in_second
            .value
            .max(overlap.second_in_first.value);
        let is_key = |it: &&limn_joins::Column| it.role == limn_joins::Role::Key;
        match (one, other) {
            _ if one.values.distinct() < 2.0 || other.values.distinct() < 2.0 => "one value",
            _ if contained < 0.5 => "values not contained",
            _ if !is_key(one) && !is_key(other) => "no key on either side",
            _ if one.is_sequence || other.is_sequence => "sequences of other names",
            _ => "other",
        }
    });
    reasons.max().unwrap_or_default()
}

fn tables_of(from: &ColumnName, to: &ColumnName) -> Tables {
    (
        from.0.clone().min(to.0.clone()),
        from.0.clone().max(to.0.clone()),
    )
}

/// The declared keys, and how many are of columns that the index does not have.
fn declared(keys: &str, names: &Names) -> Result<(Gold, usize), Box<dyn std::error::Error>> {
    let mut gold = Gold::new();
    let exists: BTreeSet<ColumnName> = names
        .values()
        .flat_map(|row| {
            row.columns
                .iter()
                .map(|it| (row.name.to_lowercase(), it.name.to_lowercase()))
        })
        .collect();
    let mut absent = 0;
    for line in std::fs::read_to_string(keys)?.lines() {
        let key: Declared = serde_json::from_str(line)?;
        let from = (key.table.to_lowercase(), key.column.to_lowercase());
        let to = (key.ref_table.to_lowercase(), key.ref_column.to_lowercase());
        if from.0 == to.0 || !exists.contains(&from) || !exists.contains(&to) {
            absent += 1;
            continue;
        }
        let tables = tables_of(&from, &to);
        gold.entry(tables).or_default().insert([from, to].into());
    }
    Ok((gold, absent))
}

/// The best edge between each two tables, and how many edges of each kind there are.
fn best_of<'a>(found: &'a [Edge], names: &Names) -> (Best<'a>, BTreeMap<String, usize>) {
    let mut best = Best::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for edge in found {
        *kinds.entry(format!("{:?}", edge.kind)).or_default() += 1;
        let (Some(from), Some(to)) = (
            named(names, edge.left, &edge.left_columns),
            named(names, edge.right, &edge.right_columns),
        ) else {
            continue;
        };
        let tables = tables_of(&from, &to);
        let columns: BTreeSet<ColumnName> = [from, to].into();
        let is_better = best.get(&tables).is_none_or(|it| it.0.score < edge.score);
        if edge.kind == EdgeKind::Join && is_better {
            best.insert(tables, (edge, columns));
        }
    }
    (best, kinds)
}

/// Whether the best edge between two tables is declared; none where either is missing.
fn is_right(gold: &Gold, best: &Best, tables: &Tables) -> Option<bool> {
    let (wanted, found) = (gold.get(tables)?, best.get(tables)?);
    Some(wanted.contains(&found.1))
}

/// How many declared keys were not found, by the reason.
fn missed(
    gold: &Gold,
    best: &Best,
    known: &BTreeMap<String, Arc<Table>>,
) -> BTreeMap<&'static str, usize> {
    let mut missed: BTreeMap<&str, usize> = BTreeMap::new();
    for (tables, columns) in gold {
        if is_right(gold, best, tables) == Some(true) {
            continue;
        }
        let why = match best.contains_key(tables) {
            true => "another pair of columns found",
            false => reason(known, columns),
        };
        *missed.entry(why).or_default() += 1;
    }
    missed
}

fn print_failures(gold: &Gold, best: &Best, known: &BTreeMap<String, Arc<Table>>) {
    for (tables, columns) in gold {
        if is_right(gold, best, tables) != Some(true) {
            println!(
                "missed ({}) {columns:?}; found {:?}",
                reason(known, columns),
                best.get(tables).map(|it| &it.1)
            );
        }
    }
    for (tables, (edge, columns)) in best {
        let is_of_one_database = database(&tables.0) == database(&tables.1);
        if is_right(gold, best, tables) != Some(true) && is_of_one_database {
            println!(
                "wrong {:.2} {:?} {columns:?}",
                edge.score.share(),
                edge.evidence
            );
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, keys, ..] = arguments.as_slice() else {
        return Err("joins INDEX FOREIGN_KEYS.jsonl [WORKERS] [--failures]".into());
    };
    let workers = arguments.get(2).and_then(|it| it.parse().ok()).unwrap_or(1);
    let shows = arguments.iter().any(|it| it == "--failures");
    let index = IndexStore::open(folder)?;
    let snapshot = index.require_newest().await?;
    let mut held: HeldRows<SketchedColumns> = HeldRows::keeping(None);
    held.advance(&index, &snapshot).await?;
    let started = Instant::now();
    let mut tables = Vec::new();
    let mut names: Names = BTreeMap::new();
    for (key, row) in held.live() {
        tables.push(Arc::new(graph_table(&row.0, &JoinColumns::of(&row.0).0)?));
        names.insert(TableId::of(&key.lake, &key.name), &row.0);
    }
    let made = started.elapsed().as_secs_f64();
    let work = Arc::new(GraphWork::default());
    let columns: usize = tables.iter().map(|it| it.columns.len()).sum();
    let count = tables.len();
    let known = tables
        .iter()
        .filter_map(|it| Some((names.get(&it.id)?.name.to_lowercase(), it.clone())));
    let known: BTreeMap<String, Arc<Table>> = known.collect();
    let (looking, before) = (Instant::now(), memory());
    let mut looked_up = LookedUp::default();
    let lakes: BTreeSet<&str> = names.values().map(|row| row.lake.as_str()).collect();
    let lake = *lakes.first().ok_or("the index has no tables")?;
    let rows: Vec<Option<InIndex>> = tables.iter().map(|it| in_index(&names, it.id)).collect();
    let all = tables.iter().zip(&rows).filter_map(|(table, row)| {
        let (key, columns, segment) = row.as_ref()?;
        Some(Looking {
            key,
            table,
            columns,
            segment: *segment,
        })
    });
    let changed = tables.iter().map(|it| it.id).collect();
    let members = looked_up.advance(&index, &snapshot, lake, all, &changed);
    let members = match arguments.iter().any(|it| it == "--sketches-alone") {
        true => Vec::new(),
        false => members.await?,
    };
    let after = memory();
    let (looked, member_count) = (looking.elapsed().as_secs_f64(), members.len());
    let found = graph(tables.clone(), members, workers, &work);
    let seconds = started.elapsed().as_secs_f64();

    let (gold, absent) = declared(keys, &names)?;
    let (best, kinds) = best_of(&found, &names);
    let is_right = |tables: &Tables| is_right(&gold, &best, tables);
    let right = gold.keys().filter(|it| is_right(it) == Some(true)).count();
    let near = best
        .keys()
        .filter(|it| database(&it.0) == database(&it.1))
        .count();
    if shows {
        print_failures(&gold, &best, &known);
    }
    let missed = missed(&gold, &best, &known);
    let share = |of: usize| right as f64 / of.max(1) as f64;
    println!(
        "{}",
        serde_json::json!({
            "tables": count, "columns": columns, "edges": kinds, "absent_keys": absent,
            "pairs_of_tables": {"declared": gold.len(), "right": right, "of_one_database": near, "of_lake": best.len()},
            "recall": share(gold.len()), "precision_of_one_database": share(near), "precision_of_lake": share(best.len()),
            "missed": missed,
            "met": work.met.load(Ordering::Relaxed), "compared": work.compared.load(Ordering::Relaxed),
            "looked_up_members": member_count,
            "anonymous_and_peak_mib": {"tables": before, "looked_up": after, "all": memory()},
            "seconds": {"tables": made, "looked_up": looked, "all": seconds},
        })
    );
    Ok(())
}
