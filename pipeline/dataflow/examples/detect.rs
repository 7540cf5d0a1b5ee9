//! Measures change detection over a synthetic listing, made on the fly: `tests/bench/detect.py`
//! runs it.
//!
//! `detect WHAT OBJECTS [WORKERS]`, where WHAT is
//!
//! - `differences`: the dataflow that `limn index` runs, which keeps what differs;
//! - `members`: one that keeps all members of both sides, as limn did first;
//! - `members-alone`: no dataflow, only what makes the members that the other two are fed.
//!
//! Of a thousand objects one was changed, added or removed since it was published. Epochs are cut
//! and fed as a run does it. What comes out is checked: just the groups that were edited. One line
//! of JSON is printed; where a machine is shared, its CPU seconds say more than its wall seconds.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod synthetic;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use differential_dataflow::VecCollection;
use differential_dataflow::input::InputSession;
use limn_formats::{Format, ObjectRecord};
use limn_lake::{Group, GroupKey, GroupKind, TableFile, TableName};
use limn_pipeline::RunOptions;
use limn_pipeline::stages::{Change, Epoch, GroupId, MemberId, changed_groups, members, side};
use timely::Config;
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;
use xxhash_rust::xxh3::xxh3_128;

use synthetic::{AREAS, THINGS, drawn};

/// One object of so many is edited.
const EDITED: u64 = 1000;
/// What stands for the settings of a run.
const SETTINGS: MemberId = MemberId(0x5e77_1465);

/// What happened to an object since it was published.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    None,
    Changed,
    Added,
    Removed,
}

/// A table of the synthetic lake: its number, and how many files it has ever had.
#[derive(Clone, Copy)]
struct Table {
    number: u64,
    files: u64,
}

/// Tables of 1 to 50 files, of so many files together.
fn tables(objects: u64) -> impl Iterator<Item = Table> {
    let mut left = objects;
    (0..).map_while(move |number| {
        let files = (1 + drawn(number, 0) % 50).min(left);
        left -= files;
        (files > 0).then_some(Table { number, files })
    })
}

impl Table {
    fn directory(&self) -> String {
        let area = AREAS[(self.number % 8) as usize];
        let thing = THINGS[(drawn(self.number, 1) % 8) as usize];
        format!("warehouse/{area}/{thing}_{}", self.number)
    }

    fn edit(&self, file: u64) -> Edit {
        match drawn(self.number, 100 + file) % (3 * EDITED) {
            0 => Edit::Changed,
            1 => Edit::Added,
            2 => Edit::Removed,
            _ => Edit::None,
        }
    }

    fn is_edited(&self) -> bool {
        (0..self.files).any(|file| self.edit(file) != Edit::None)
    }

    /// An object as S3 lists it: of a partitioned table, or one that is a table of its own.
    fn object(&self, directory: &str, file: u64, version: u64) -> ObjectRecord {
        let chance = drawn(self.number, 10_000 + 2 * file + version);
        let path = if self.files == 1 {
            format!("{directory}.parquet")
        } else {
            let (month, day) = (1 + file / 28 % 12, 1 + file % 28);
            format!(
                "{directory}/dt=2026-{month:02}-{day:02}/part-{file:05}-{chance:016x}.snappy.parquet"
            )
        };
        // A changed object keeps its path.
        let path = match version {
            0 => path,
            _ => self.object(directory, file, 0).path,
        };
        ObjectRecord {
            path,
            etag: Some(format!(
                "\"{:032x}\"",
                u128::from(chance) * 0x9e37_79b9_7f4a_7c15
            )),
            version: None,
            size: 1000 + chance % (1 << 27),
            modified_ms: 1_790_000_000_000 + (chance >> 20) as i64 % 10_000_000_000,
        }
    }

    /// The objects of one side.
    fn objects(&self, directory: &str, in_lake: bool) -> Vec<ObjectRecord> {
        let files = (0..self.files).filter_map(|file| match (self.edit(file), in_lake) {
            (Edit::Added, false) | (Edit::Removed, true) => None,
            (Edit::Changed, true) => Some(self.object(directory, file, 1)),
            _ => Some(self.object(directory, file, 0)),
        });
        files.collect()
    }

    /// A side as the group that `layout` makes of it.
    fn group(&self, in_lake: bool) -> Group {
        let directory = self.directory();
        let objects = self.objects(&directory, in_lake);
        let name = TableName::parse(&directory).unwrap();
        let files = objects.into_iter().map(|object| TableFile {
            table_name: if self.files == 1 {
                name.clone()
            } else {
                TableName::parse(&object.path).unwrap()
            },
            object,
            format: Format::Parquet,
            is_beside: false,
            is_alone: false,
            declared: None,
        });
        Group {
            key: GroupKey(xxh3_128(directory.as_bytes())),
            files: files.collect(),
            kind: GroupKind::Directory,
            path: directory,
            name,
            contexts: Vec::new(),
        }
    }
}

/// The members of both sides of a table, as a plan has them.
fn sides(table: Table) -> (GroupId, Vec<MemberId>, Vec<MemberId>) {
    let of = |group: &Group| {
        let mut members = members(group, SETTINGS);
        members.sort_unstable();
        members.dedup();
        members
    };
    let lake = table.group(true);
    let in_lake = of(&lake);
    let published = match table.is_edited() {
        true => of(&table.group(false)),
        false => in_lake.clone(),
    };
    (lake.key.into(), in_lake, published)
}

/// How the two sides of a table differ.
fn kind(in_lake: &[MemberId], published: &[MemberId]) -> Option<&'static str> {
    match (in_lake.is_empty(), published.is_empty()) {
        _ if in_lake == published => None,
        (true, _) => Some("removed"),
        (_, true) => Some("added"),
        _ => Some("changed"),
    }
}

type Members<'scope> = VecCollection<'scope, Epoch, (GroupId, MemberId), isize>;

/// Change detection as it was first: all members of both sides are kept.
fn all_members_kept<'scope>(
    lake: Members<'scope>,
    published: Members<'scope>,
) -> VecCollection<'scope, Epoch, (GroupId, Change), isize> {
    let lake = lake.map(|(group, member)| (group, (member, true)));
    let published = published.map(|(group, member)| (group, (member, false)));
    lake.concat(published)
        .reduce_named("what changed", |_group, members, changes| {
            let of = |wanted: bool| {
                let members = members.iter().filter(move |((_, side), _)| *side == wanted);
                members.map(|((member, _), _)| *member).collect::<Vec<_>>()
            };
            let (in_lake, published) = (of(true), of(false));
            let bytes: Vec<u8> = in_lake.iter().flat_map(|m| m.0.to_le_bytes()).collect();
            let state = xxh3_128(&bytes);
            let change = match kind(&in_lake, &published) {
                None => return,
                Some("removed") => Change::Removed,
                Some("added") => Change::Added { state },
                Some(_) => Change::Changed { state },
            };
            changes.push((change, 1));
        })
}

/// What a worker has done.
#[derive(Default)]
struct Measured {
    groups: u64,
    seconds: f64,
    making: Duration,
    expected: BTreeMap<GroupId, &'static str>,
}

/// Feeds a lake of so many objects through a dataflow, from the first worker.
fn detect(
    worker: &mut Worker,
    objects: u64,
    all: bool,
    send: mpsc::Sender<(GroupId, Change)>,
) -> Measured {
    let options = RunOptions::default();
    let (mut lake, mut published) = (InputSession::new(), InputSession::new());
    let done = ProbeHandle::new();
    worker.dataflow::<Epoch, _, _>(|scope| {
        let (lake, published) = (lake.to_collection(scope), published.to_collection(scope));
        let changes = match all {
            true => all_members_kept(lake, published),
            false => changed_groups(lake, published, GroupId::hash),
        };
        let changes = changes.inspect(move |((group, change), _, diff)| {
            assert_eq!(*diff, 1);
            send.send((*group, *change)).unwrap();
        });
        changes.probe_with(&done);
    });
    let mut measured = Measured::default();
    if worker.index() > 0 {
        drop((lake, published));
        while worker.has_dataflows() {
            worker.step_or_park(None);
        }
        return measured;
    }
    let started = Instant::now();
    let mut epoch: Epoch = 0;
    let mut fed = 0;
    for table in tables(objects) {
        let making = Instant::now();
        let (group, in_lake, in_published) = sides(table);
        measured.making += making.elapsed();
        measured.groups += 1;
        if let Some(kind) = kind(&in_lake, &in_published) {
            measured.expected.insert(group, kind);
        }
        if fed > 0 && fed + in_lake.len() > options.epoch_objects {
            epoch += 1;
            fed = 0;
            lake.advance_to(epoch);
            published.advance_to(epoch);
            lake.flush();
            published.flush();
            while done.less_than(&(epoch.saturating_sub(options.epochs_in_flight) + 1))
                && epoch >= options.epochs_in_flight
            {
                worker.step_or_park(None);
            }
        }
        fed += in_lake.len();
        for (update, diff) in side(group, in_published, 1) {
            published.update(update, diff);
        }
        for (update, diff) in side(group, in_lake, 1) {
            lake.update(update, diff);
        }
    }
    lake.advance_to(epoch + 1);
    published.advance_to(epoch + 1);
    drop((lake, published));
    while worker.has_dataflows() {
        worker.step_or_park(None);
    }
    measured.seconds = started.elapsed().as_secs_f64();
    measured
}

/// Runs a dataflow, checks what comes out, and counts how many groups of each kind there were.
fn dataflow(objects: u64, workers: usize, all: bool) -> (Measured, BTreeMap<&'static str, u64>) {
    let (send, receive) = mpsc::channel();
    let config = match workers {
        1 => Config::thread(),
        workers => Config::process(workers),
    };
    let guards = timely::execute(config, move |worker| {
        detect(worker, objects, all, send.clone())
    });
    let mut measured = Measured::default();
    for one in guards.unwrap().join() {
        let one = one.unwrap();
        if one.groups > 0 {
            measured = one;
        }
    }
    let found: Vec<(GroupId, Change)> = receive.iter().collect();
    let mut kinds = BTreeMap::new();
    for (group, change) in &found {
        let kind = match change {
            Change::Added { .. } => "added",
            Change::Changed { .. } => "changed",
            Change::Removed => "removed",
            Change::Awaiting => "awaiting",
        };
        assert_eq!(measured.expected.get(group), Some(&kind));
        *kinds.entry(kind).or_default() += 1;
    }
    assert_eq!(
        found.len(),
        measured.expected.len(),
        "a change is lost or emitted twice"
    );
    (measured, kinds)
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// CPU seconds of the process so far, all threads together.
fn cpu_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<u64>().unwrap())
        .sum();
    ticks as f64 / TICKS_A_SECOND
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().expect("what to measure");
    let objects: u64 = arguments.next().expect("how many objects").parse().unwrap();
    let workers: usize = arguments
        .next()
        .map_or(2, |workers| workers.parse().unwrap());
    let mut measured = serde_json::json!({ "what": what, "objects": objects });
    let started = Instant::now();
    let seconds = match what.as_str() {
        "differences" | "members" => {
            let (run, kinds) = dataflow(objects, workers, what == "members");
            measured["workers"] = workers.into();
            measured["groups"] = run.groups.into();
            measured["changes"] = serde_json::json!(kinds);
            measured["making_seconds"] = run.making.as_secs_f64().into();
            run.seconds
        }
        "members-alone" => {
            let made: usize = tables(objects)
                .map(|table| black_box(sides(table)).1.len())
                .sum();
            measured["members"] = made.into();
            started.elapsed().as_secs_f64()
        }
        other => panic!("{other} is nothing to measure"),
    };
    let cpu = cpu_seconds();
    measured["seconds"] = seconds.into();
    measured["cpu_seconds"] = cpu.into();
    measured["cpu_nanoseconds_per_object"] = (cpu * 1e9 / objects as f64).into();
    measured["objects_per_second"] = (objects as f64 / seconds).into();
    measured["peak_rss_bytes"] = peak_rss_bytes().into();
    println!("{measured}");
}
