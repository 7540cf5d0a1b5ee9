//! Measures what comes before the dataflow, over a synthetic listing: `tests/bench/listings.py`
//! runs it.
//!
//! `listings WHAT OBJECTS [PROCESS PROCESSES]`, where WHAT is
//!
//! - `listing`: the listing alone, as it is kept while a store lists;
//! - `layout`: the same, laid out into groups;
//! - `plan`: a first run's epochs, each dropped as the dataflow drops it when it is published.
//!
//! With a PROCESS of so many, only that one's share of the objects is kept.
//!
//! One line of JSON is printed: bytes are those of the whole process less what it had before.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod lake;
mod planned;

use std::hint::black_box;
use std::time::Instant;

use limn_formats::{ObjectRecord, Objects};
use limn_lake::{Contexts, layout};

use self::lake::objects;
use self::planned::{memory, plan, share};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().expect("what to measure");
    let count: u64 = arguments.next().expect("how many objects").parse().unwrap();
    let place = arguments.next().map(|process| {
        let processes = arguments.next().expect("how many processes");
        (process.parse().unwrap(), processes.parse().unwrap())
    });
    let (process, processes) = place.unwrap_or((0, 1));
    let share = share(process, processes);
    let paths: u64 = objects(10_000).map(|it| it.path.len() as u64).sum();
    let before = memory("VmRSS");
    let started = Instant::now();
    let own = |it: &ObjectRecord| !share.is_partial() || share.has(&it.path);
    let listed: Objects = objects(count).filter(own).collect();
    let kept = listed.len();
    let making_seconds = started.elapsed().as_secs_f64();
    let listing_bytes = memory("VmRSS") - before;
    let started = Instant::now();
    let (groups, epochs) = match what.as_str() {
        "listing" => {
            black_box(&listed);
            (0, 0)
        }
        "layout" => {
            let laid = black_box(layout(listed, &Contexts::new(), "lake"));
            (laid.len() as u64, 0)
        }
        "plan" => plan(listed, &share),
        other => panic!("{other} is nothing to measure"),
    };
    let seconds = started.elapsed().as_secs_f64();
    let report = serde_json::json!({
        "what": what,
        "objects": count,
        "process": process,
        "processes": processes,
        "objects_kept": kept,
        "bytes_a_path": paths as f64 / 10_000.0,
        "groups": groups,
        "epochs": epochs,
        "making_seconds": making_seconds,
        "seconds": seconds,
        "objects_per_second": count as f64 / seconds,
        "listing_bytes_an_object": listing_bytes as f64 / count as f64,
        "peak_bytes_an_object": (memory("VmHWM") - before) as f64 / count as f64,
    });
    println!("{report}");
}
