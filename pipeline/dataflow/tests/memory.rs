//! What a listing and its plan cost in memory. A process of its own: its memory is measured.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../examples/listings/lake.rs"]
mod lake;
#[path = "../examples/listings/planned.rs"]
mod planned;

use limn_formats::Objects;

use self::lake::objects;
use self::planned::{memory, plan, share};

/// Enough that what the process has besides does not count.
const OBJECTS: u64 = 400_000;
/// What design/README.md, section 7, allows an object.
const MOST_BYTES: u64 = 200;

#[test]
fn an_object_costs_200_bytes_from_its_listing_to_its_epoch() {
    // What is made once, whatever the lake.
    let all = share(0, 1);
    plan(objects(1_000).collect(), &all);
    let before = memory("VmRSS");
    let listed: Objects = objects(OBJECTS).collect();
    let (groups, epochs) = plan(listed, &all);
    let bytes = (memory("VmHWM") - before) / OBJECTS;
    assert!(groups > OBJECTS / 20 && epochs > 5, "{groups}, {epochs}");
    assert!(bytes <= MOST_BYTES, "{bytes} bytes an object");
}
