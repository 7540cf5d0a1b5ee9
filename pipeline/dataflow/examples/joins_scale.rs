//! The join graph of a made-up lake: `joins_scale COLUMNS [WORKERS]`. Prints one line of JSON:
//! seconds, peak memory, candidate pairs a column, bytes a column in the index, and what one
//! changed table costs.
//!
//! Tables of eight columns, twenty to a folder: a row number, a code, a number and a code that
//! refer to the next table, one of 200 countries, a flag, a measure, a day. In every hundredth
//! table countries are a key; every fiftieth is a copy.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use differential_dataflow::input::Input;
use limn_joins::{
    Column, ColumnFacts, EdgeKind, Kind, Place, Table, TableId, lookups, value_counts,
};
use limn_pipeline::stages::{EdgeUpdate, GraphWork, TableUpdate, edges};
use limn_profile::{ColumnBuilder, ValueSet};
use limn_segment::{IndexStore, JoinRecord, Shard};
use limn_store::Store;

const COLUMNS: usize = 8;
const FOLDER: usize = 20;
const ROWS: usize = 200;

fn column(at: usize, name: &str, kind: Kind, cell: impl Fn(usize) -> String) -> Column {
    let mut builder = ColumnBuilder::new(name);
    (0..ROWS).for_each(|row| builder.push(Some(&cell(row))));
    let profile = builder.finish(true).profile;
    let distinct = profile.distinct();
    Column::new(ColumnFacts {
        place: Place(at as u16),
        name,
        kind,
        uniqueness: profile.uniqueness(),
        range: (kind == Kind::Whole).then_some((0, ROWS as i64)),
        values: ValueSet::of(&profile.frequent, distinct, true),
        counts: value_counts(profile.frequent.sample()),
        lookups: lookups(profile.frequent.sample().map(|it| it.0)),
    })
}

fn name(number: usize) -> String {
    format!("db{}/thing{number}", number / FOLDER)
}

fn table(number: usize, version: usize) -> Arc<Table> {
    // A copy of the table before it.
    let content = number - usize::from(number % 50 == 49);
    let next = content / FOLDER * FOLDER + (content + 1) % FOLDER;
    let refers = format!("thing{next}_id");
    let countries = if content % 100 == 7 { ROWS } else { 30 };
    let code = |of: usize, row: usize| format!("{of:x}-{row:04}");
    let names = [
        "id",
        "code",
        refers.as_str(),
        "parent",
        "country",
        "paid",
        "amount",
        "day",
    ];
    let columns = vec![
        column(0, names[0], Kind::Whole, |row| row.to_string()),
        column(1, names[1], Kind::Text, |row| code(content, row)),
        column(2, names[2], Kind::Whole, |row| (row * 7 % 150).to_string()),
        column(3, names[3], Kind::Text, |row| {
            code(next, row * 3 % (150 - version * 30))
        }),
        column(4, names[4], Kind::Text, |row| {
            format!("country {}", (row + content) % countries)
        }),
        column(5, names[5], Kind::Text, |row| (row % 2).to_string()),
        column(6, names[6], Kind::Fraction, |row| {
            format!("{row}.{}", content % 97)
        }),
        column(7, names[7], Kind::Time, |row| {
            format!("2024-01-{:02}", row % 28 + 1)
        }),
    ];
    let id = TableId::of("lake", &name(number));
    Arc::new(Table::new(id, &name(number), ROWS as u64, &names, columns))
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() >> 10
}

/// What came of two epochs: edges, seconds, pairs of columns that met, pairs of tables compared.
type Cost = (Vec<EdgeUpdate>, f64, u64, u64);

fn run(workers: usize, steps: Vec<Vec<TableUpdate>>) -> Vec<Cost> {
    let (send, receive) = mpsc::channel();
    let (send_cost, costs) = mpsc::channel();
    let work = Arc::new(GraphWork::default());
    let steps = Arc::new(Mutex::new(Some(steps)));
    let receive = Arc::new(Mutex::new(receive));
    let guards = timely::execute(timely::Config::process(workers), move |worker| {
        let (send, work) = (send.clone(), Arc::clone(&work));
        let (mut input, probe) = worker.dataflow::<u64, _, _>(|scope| {
            let (input, tables) = scope.new_collection();
            let looked_up = scope.new_collection().1;
            let edges = edges(tables, looked_up, &work).inspect(move |(edge, _, diff)| {
                let _ = send.send((edge.clone(), *diff));
            });
            (input, edges.probe().0)
        });
        let mine = steps.lock().ok().filter(|_| worker.index() == 0);
        let mut mine = mine
            .and_then(|mut it| it.take())
            .unwrap_or_default()
            .into_iter();
        for epoch in 1..=2 {
            let started = Instant::now();
            for (at, (table, diff)) in mine.next().into_iter().flatten().enumerate() {
                input.update(table, diff);
                // As the driver does: bands are many times as many.
                if at % 256 == 255 {
                    input.flush();
                    worker.step();
                }
            }
            input.advance_to(epoch);
            input.flush();
            while probe.less_than(&epoch) {
                worker.step();
            }
            if worker.index() == 0 {
                let found = receive.lock().map(|it| it.try_iter().collect::<Vec<_>>());
                let _ = send_cost.send((
                    found.unwrap_or_default(),
                    started.elapsed().as_secs_f64(),
                    work.met.swap(0, Ordering::Relaxed),
                    work.compared.swap(0, Ordering::Relaxed),
                ));
            }
        }
    });
    drop(guards);
    costs.iter().collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let columns: usize = arguments
        .first()
        .ok_or("joins_scale COLUMNS [WORKERS]")?
        .parse()?;
    let workers = arguments.get(1).map_or(Ok(1), |it| it.parse())?;
    let count = columns / COLUMNS;
    let first: Vec<TableUpdate> = (0..count).map(|number| (table(number, 0), 1)).collect();
    let made = peak_mib();
    let changed = count / 2;
    let second = vec![(table(changed, 0), -1), (table(changed, 1), 1)];
    let costs = run(workers, vec![first, second]);
    let peak = peak_mib();
    let [
        (found, seconds, met, compared),
        (after, again, met_again, compared_again),
    ] = costs.as_slice()
    else {
        return Err("the dataflow ended early".into());
    };
    let names: std::collections::HashMap<TableId, String> = (0..count)
        .map(|number| (TableId::of("lake", &name(number)), name(number)))
        .collect();
    let mut kinds: std::collections::BTreeMap<&str, usize> = Default::default();
    let own = [
        "id", "code", "thing_id", "parent", "country", "paid", "amount", "day",
    ];
    let columns_of = |places: &[Place]| {
        places
            .iter()
            .map(|it| own[usize::from(it.0)].to_owned())
            .collect()
    };
    let mut records: Vec<JoinRecord> = Vec::new();
    for (edge, _) in found {
        *kinds.entry(edge.kind.name()).or_default() += 1;
        records.push(JoinRecord {
            kind: edge.kind,
            left: names[&edge.left].clone(),
            left_columns: columns_of(&edge.left_columns),
            right: names[&edge.right].clone(),
            right_columns: columns_of(&edge.right_columns),
            cardinality: edge.cardinality,
            score: edge.score.share() as f32,
            containment: edge.containment.share() as f32,
            containment_low: edge.containment_low.share() as f32,
            jaccard: edge.jaccard.share() as f32,
            evidence: edge.evidence,
        });
    }
    records.sort_by(|a, b| (&a.left, &a.right).cmp(&(&b.left, &b.right)));
    let index = IndexStore::new(Store::in_memory());
    let entry = index.put_joins("lake", Shard(0), records, None).await?;
    let copies = found
        .iter()
        .filter(|it| it.0.kind == EdgeKind::Copy)
        .count();
    println!(
        "{}",
        serde_json::json!({
            "columns": count * COLUMNS, "tables": count, "workers": workers,
            "seconds": seconds, "peak_mib": peak, "of_which_tables_mib": made,
            "edges": kinds, "copies_planted": count / 50, "copies": copies,
            "pairs_met_a_column": *met as f64 / (count * COLUMNS) as f64,
            "tables_compared_a_table": *compared as f64 / count as f64,
            "bytes_a_column": entry.bytes as f64 / (count * COLUMNS) as f64,
            "one_table_changed": {
                "seconds": again, "pairs_met": met_again, "tables_compared": compared_again,
                "edges": after.len(),
            },
        })
    );
    Ok(())
}
