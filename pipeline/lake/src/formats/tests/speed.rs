//! How fast files are read, profile included. Not part of the test run: it measures.
//! `cargo test --release -p limn-lake -- --ignored --nocapture speed`

use std::fmt::Write;
use std::time::Instant;

use super::*;

/// CPU seconds of this process, where the system tells (in hundredths): on a busy machine the clock on
/// the wall says little.
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
    let busy = cpu.and_then(|cpu| Some(cpu_seconds()? - cpu)).unwrap_or(wall);
    let rate = |seconds: f64| size * f64::from(RUNS) / seconds;
    println!("{path}: {size:.1} MB, {:.0} MB per CPU second, {:.0} MB/s", rate(busy), rate(wall));
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
            if x % 3 == 0 { "\"delivered, late\"" } else { "delivered" }
        )
        .unwrap();
        for j in 1..=8 {
            write!(ids, "{}{}", x.wrapping_mul(j) % 1_000_000_007, if j == 8 { '\n' } else { ',' }).unwrap();
        }
        if i % 8 == 0 {
            writeln!(words, "On the {x} of things,\"{}\"", "some words that tell what was found, and how, ".repeat(12)).unwrap();
        }
        writeln!(lines, "{{\"id\":{i},\"city\":\"Rome {}\",\"amount\":{}.5,\"tags\":[\"a\",{}]}}", x % 50, x % 900, x % 9).unwrap();
    }
    report("mixed.csv", mixed.into());
    report("integers.csv", ids.into());
    report("prose.csv", words.into());
    report("lines.jsonl", lines.into());
}
