//! Writes a synthetic lake of a wanted size: Parquet and CSV tables of mixed widths and lengths.
//!
//! Table names and columns are drawn from word lists, so that texts differ and embeddings cost what
//! they cost; sizes are skewed as in real lakes: most tables small, a few of hundreds of megabytes.
//! The same arguments write the same bytes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use clap::Parser;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const AREAS: [&str; 12] = [
    "sales",
    "hr",
    "finance",
    "logistics",
    "support",
    "marketing",
    "energy",
    "clinic",
    "fleet",
    "research",
    "web",
    "stock",
];
const THINGS: [&str; 24] = [
    "orders",
    "invoices",
    "visits",
    "sessions",
    "shipments",
    "payments",
    "tickets",
    "contracts",
    "sensors",
    "meters",
    "patients",
    "routes",
    "campaigns",
    "suppliers",
    "returns",
    "refunds",
    "employees",
    "reviews",
    "budgets",
    "forecasts",
    "incidents",
    "subscriptions",
    "parcels",
    "assets",
];
const COLUMNS: [&str; 40] = [
    "customer_id",
    "order_date",
    "unit_price",
    "quantity",
    "region",
    "country",
    "status",
    "created_at",
    "updated_at",
    "email",
    "city",
    "postal_code",
    "discount",
    "tax_rate",
    "currency",
    "channel",
    "device",
    "browser",
    "duration_ms",
    "score",
    "weight_kg",
    "height_cm",
    "temperature",
    "pressure",
    "voltage",
    "latitude",
    "longitude",
    "rating",
    "comment",
    "category",
    "brand",
    "sku",
    "warehouse",
    "carrier",
    "tracking_code",
    "department",
    "salary",
    "manager",
    "start_date",
    "end_date",
];
const WORDS: [&str; 32] = [
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "granite", "harbor", "indigo", "jasper",
    "krill", "lagoon", "meadow", "nickel", "ochre", "pebble", "quartz", "river", "saffron",
    "timber", "umber", "velvet", "willow", "xenon", "yarrow", "zephyr", "north", "south", "east",
    "west", "upper", "lower",
];

/// SplitMix64 (Steele, Lea, Flood 2014): a small generator whose stream is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn word(&mut self) -> String {
        format!(
            "{} {} {}",
            self.pick(&WORDS),
            self.pick(&WORDS),
            self.below(100_000)
        )
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Float,
    Text,
    Date,
}

struct Column {
    name: String,
    kind: Kind,
}

fn columns(random: &mut Random) -> Vec<Column> {
    let mut names: Vec<String> = Vec::new();
    for _ in 0..4 + random.below(16) {
        let name = random.pick(&COLUMNS).to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let kind = if name.contains("date") || name.ends_with("_at") {
                Kind::Date
            } else {
                [Kind::Integer, Kind::Float, Kind::Text, Kind::Text][random.below(4) as usize]
            };
            Column { name, kind }
        })
        .collect()
}

fn value(random: &mut Random, kind: Kind) -> String {
    match kind {
        Kind::Integer => random.below(1_000_000).to_string(),
        Kind::Float => format!("{:.3}", random.below(100_000_000) as f64 / 1000.0),
        Kind::Text => random.word(),
        Kind::Date => format!(
            "20{:02}-{:02}-{:02}",
            random.below(26),
            1 + random.below(12),
            1 + random.below(28)
        ),
    }
}

fn write_csv(path: &Path, columns: &[Column], random: &mut Random, bytes: u64) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let header: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    writeln!(out, "{}", header.join(",")).unwrap();
    let mut written = 0;
    while written < bytes {
        let row: Vec<String> = columns
            .iter()
            .map(|column| value(random, column.kind))
            .collect();
        let line = row.join(",");
        written += line.len() as u64 + 1;
        writeln!(out, "{line}").unwrap();
    }
    out.flush().unwrap();
}

fn write_parquet(path: &Path, columns: &[Column], random: &mut Random, bytes: u64) {
    let batch = |random: &mut Random, rows: u64| {
        let arrays = columns.iter().map(|column| {
            let array: ArrayRef = match column.kind {
                Kind::Integer => Arc::new(Int64Array::from_iter_values(
                    (0..rows).map(|_| random.below(1_000_000) as i64),
                )),
                Kind::Float => Arc::new(Float64Array::from_iter_values(
                    (0..rows).map(|_| random.below(100_000_000) as f64 / 1000.0),
                )),
                Kind::Text | Kind::Date => Arc::new(StringArray::from_iter_values(
                    (0..rows).map(|_| value(random, column.kind)),
                )),
            };
            (column.name.clone(), array)
        });
        RecordBatch::try_from_iter(arrays).unwrap()
    };
    let first = batch(random, 64);
    // Snappy, as most lakes have it; row groups of 128 Ki rows.
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(128 << 10))
        .build();
    let mut writer = ArrowWriter::try_new(
        File::create(path).unwrap(),
        first.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&first).unwrap();
    while (writer.bytes_written() + writer.in_progress_size()) as u64 <= bytes {
        writer.write(&batch(random, 4096)).unwrap();
    }
    writer.close().unwrap();
}

/// Writes a lake of synthetic tables, CSV and Parquet.
#[derive(Parser)]
struct Arguments {
    /// The folder to write to
    folder: PathBuf,
    /// Bytes of all tables together, in gigabytes
    #[arg(long, default_value_t = 10.0)]
    gigabytes: f64,
    /// Tables
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..))]
    tables: u64,
    /// Seed of all chance
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() {
    let Arguments {
        folder: root,
        gigabytes,
        tables,
        seed,
    } = Arguments::parse();
    let total = (gigabytes * 1e9) as u64;
    let mut random = Random(seed);

    // A table's share falls with its rank as 1 / (rank + 10): the largest of 3,000 is about 1.7 %.
    let weights: Vec<f64> = (0..tables).map(|rank| 1.0 / (rank as f64 + 10.0)).collect();
    let mut weight_left: f64 = weights.iter().sum();
    let mut written = 0;
    for (rank, weight) in weights.iter().enumerate() {
        // What a table misses its share by, the following ones make up for.
        let bytes = (total.saturating_sub(written) as f64 * weight / weight_left) as u64;
        weight_left -= weight;
        let name = format!("{}_{}", random.pick(&WORDS), random.pick(&THINGS));
        let folder = root
            .join(random.pick(&AREAS))
            .join(format!("{}_{rank}", random.pick(&WORDS)));
        fs::create_dir_all(&folder).unwrap();
        let columns = columns(&mut random);
        let path = folder.join(if rank % 2 == 0 {
            format!("{name}.parquet")
        } else {
            format!("{name}.csv")
        });
        if rank % 2 == 0 {
            write_parquet(&path, &columns, &mut random, bytes);
        } else {
            write_csv(&path, &columns, &mut random, bytes);
        }
        written += fs::metadata(&path).unwrap().len();
    }
    println!(
        "{tables} tables, {:.2} GB in {}",
        written as f64 / 1e9,
        root.display()
    );
}
