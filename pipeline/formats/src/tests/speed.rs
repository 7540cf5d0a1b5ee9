//! How fast files are read, profile included, and in how much memory. Not part of the test run: it
//! measures. `cargo test --release -p limn-lake -- --ignored --nocapture --test-threads 1 speed`

use std::fmt::Write;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;

/// CPU seconds of this process, where the system reports them (in hundredths): on a busy machine
/// the clock on the wall says little.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn report(path: &str, content: Bytes) {
    const RUNS: u32 = 10;
    let options = budget(1 << 30);
    let size = content.len() as f64 / 1e6;
    let (started, cpu) = (Instant::now(), cpu_seconds());
    for _ in 0..RUNS {
        read_with(path, content.clone(), &options).0.unwrap();
    }
    let wall = started.elapsed().as_secs_f64();
    let busy = cpu
        .and_then(|cpu| Some(cpu_seconds()? - cpu))
        .unwrap_or(wall);
    let rate = |seconds: f64| size * f64::from(RUNS) / seconds;
    println!(
        "{path}: {size:.1} MB, {:.0} MB per CPU second, {:.0} MB/s",
        rate(busy),
        rate(wall)
    );
}

#[test]
#[ignore = "measures"]
fn speed_of_text_files() {
    let mut mixed = String::from("id,customer,city,amount,day,remark\n");
    let mut ids = String::from("a,b,c,d,e,f,g,h\n");
    let mut words = String::from("title,abstract\n");
    let mut lines = String::new();
    for i in 0..200_000u64 {
        let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        writeln!(
            mixed,
            "{i},customer {},{},{}.{:02},2024-{:02}-{:02},{}",
            x % 5000,
            ["Berlin", "Paris", "Rome", "Vienna"][(x % 4) as usize],
            x % 900,
            x % 100,
            1 + x % 12,
            1 + x % 28,
            if x % 3 == 0 {
                "\"delivered, late\""
            } else {
                "delivered"
            }
        )
        .unwrap();
        for j in 1..=8 {
            write!(
                ids,
                "{}{}",
                x.wrapping_mul(j) % 1_000_000_007,
                if j == 8 { '\n' } else { ',' }
            )
            .unwrap();
        }
        if i % 8 == 0 {
            writeln!(
                words,
                "On the {x} of things,\"{}\"",
                "some words that tell what was found, and how, ".repeat(12)
            )
            .unwrap();
        }
        writeln!(
            lines,
            "{{\"id\":{i},\"city\":\"Rome {}\",\"amount\":{}.5,\"tags\":[\"a\",{}]}}",
            x % 50,
            x % 900,
            x % 9
        )
        .unwrap();
    }
    report("mixed.csv", mixed.into());
    report("integers.csv", ids.into());
    report("prose.csv", words.into());
    report("lines.jsonl", lines.into());
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let spread = |i: i64| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        (
            "customer",
            Arc::new(StringArray::from_iter_values(
                rows.clone()
                    .map(|i| format!("customer {}", spread(i) % 5000)),
            )),
        ),
        (
            "amount",
            Arc::new(Float64Array::from_iter_values(
                rows.clone().map(|i| (spread(i) % 90_000) as f64 / 100.0),
            )),
        ),
        (
            "remark",
            Arc::new(StringArray::from_iter_values(
                rows.map(|i| format!("remark {:x} on what was sold", spread(i))),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn snappy() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build()
}

#[test]
#[ignore = "measures"]
fn speed_of_parquet() {
    report(
        "sales.parquet",
        super::parquet_files::write(&batch(0..400_000), snappy()),
    );
}

/// The most memory this process has held since the last reset, in MB (Linux).
fn peak_since_reset(reset: bool) -> f64 {
    if reset {
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1024.0
}

#[test]
#[ignore = "measures"]
fn speed_and_memory_of_large_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut csv =
        std::io::BufWriter::new(std::fs::File::create(folder.path().join("large.csv")).unwrap());
    writeln!(csv, "id,customer,amount,remark").unwrap();
    for i in 0..5_000_000u64 {
        writeln!(
            csv,
            "{i},customer {},{}.5,remark {:x} on what was sold",
            i % 5000,
            i % 900,
            i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        )
        .unwrap();
    }
    csv.into_inner().unwrap();
    for (name, rows_in_group) in [("large.parquet", 1 << 20), ("one_group.parquet", 1 << 30)] {
        let file = std::fs::File::create(folder.path().join(name)).unwrap();
        let properties = snappy()
            .into_builder()
            .set_max_row_group_row_count(Some(rows_in_group))
            .set_offset_index_disabled(true);
        let properties = properties
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk)
            .build();
        let mut writer =
            ArrowWriter::try_new(file, batch(0..1).schema(), Some(properties)).unwrap();
        for i in 0..40 {
            writer
                .write(&batch(i * 200_000..(i + 1) * 200_000))
                .unwrap();
        }
        writer.close().unwrap();
    }
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for name in ["large.csv", "large.parquet", "one_group.parquet"] {
        let size = std::fs::metadata(folder.path().join(name)).unwrap().len();
        let base = peak_since_reset(true);
        let (started, before) = (Instant::now(), store.counts());
        let result = runtime.block_on(summarise_file(
            &store,
            &data_file(name, size as usize),
            &ReadOptions::default(),
        ));
        let counts = store.counts().since(&before);
        println!(
            "{name}: {} MB, {} rows; {:.1} MB in {} reads, {:.2} s, {:.0} MB more memory at the peak",
            size / 1_000_000,
            result.unwrap().rows,
            counts.bytes_read as f64 / 1e6,
            counts.get,
            started.elapsed().as_secs_f64(),
            peak_since_reset(false) - base
        );
    }
}
