//! A first run's plan over a listing, and the memory of the process.

use std::hint::black_box;
use std::sync::Arc;

use limn_formats::{Objects, ReadOptions};
use limn_pipeline::Part;
use limn_pipeline::stages::plan as plan_listing;
use limn_pipeline::stages::{Assignment, Listing, MemberId, Planner, Published, Reader, Share};
use limn_pipeline::{Progress, RunOptions};
use limn_profile::Redact;
use limn_store::Store;

use crate::lake::objects;

/// What stands for the settings of a run.
const SETTINGS: MemberId = MemberId(0x5e77_1465);

/// What the planner makes of a listing before an index exists: groups and epochs.
pub fn plan(objects: Objects, share: &Share) -> (u64, u64) {
    let published = Arc::new(Published::default());
    let reader = Reader::new(
        Store::in_memory(),
        Arc::clone(&published),
        ReadOptions::default(),
        1 << 28,
        Arc::new(Progress::default()),
    );
    let planner = Arc::new(Planner::new(
        "lake",
        Arc::new(reader),
        published,
        (SETTINGS, Redact::Off),
        true,
        &RunOptions::default(),
        share,
    ));
    let listing = Listing {
        part: Part::whole(),
        share: share.clone(),
        objects,
        ..Listing::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let plan = runtime.block_on(plan_listing(planner, listing)).unwrap();
    let (mut groups, mut epochs) = (0, 0);
    for epoch in plan.epochs {
        groups += black_box(epoch).groups.len() as u64;
        epochs += 1;
    }
    (groups, epochs)
}

/// The share of one of so many processes: the lake is assigned by its folders, of which a few
/// objects say enough.
pub fn share(process: usize, processes: usize) -> Share {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let assignment = runtime.block_on(async {
        let lake = Store::in_memory();
        for object in objects(2_000) {
            lake.put(&object.path, "".into()).await.unwrap();
        }
        Assignment::of(&lake, processes).await
    });
    Share::new(&assignment, process)
}

/// What the process has, or has had at most, in bytes.
pub fn memory(what: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}
