//! The policy over thousands of nights, as numbers without files.

use super::*;
use crate::compact::policy::{MAX_SIZE, MEMBERS, MIN_SIZE};

/// Blocks of a table, one row beside them.
const BLOCKS: u32 = 4;

/// One shard of which nights change tables at random.
struct Lake {
    snapshot: Snapshot,
    /// The member that holds each table.
    tables: Vec<usize>,
    written: u64,
    changed: u64,
    seed: u64,
}

impl Lake {
    fn of(tables: usize) -> Self {
        let mut lake = Self {
            snapshot: Snapshot::first("m", 2, 1),
            tables: vec![usize::MAX; tables],
            written: 0,
            changed: 0,
            seed: 0,
        };
        let all: Vec<usize> = (0..tables).collect();
        lake.change(&all);
        lake
    }

    fn add(&mut self, tables: &[usize], member: usize) {
        let count = tables.len() as u32;
        self.snapshot.segments.push(SegmentEntry {
            shard: Shard(0),
            path: format!("s{member}"),
            bytes: 0,
            hot: 0,
            blocks: count * BLOCKS,
            tables: count,
            deletes: None,
        });
        self.snapshot.catalog.push(CatalogEntry {
            shard: Shard(0),
            path: format!("c{member}"),
            rows: u64::from(count),
            bytes: 0,
            segment: Some(format!("s{member}")),
        });
        for table in tables {
            self.tables[*table] = member;
        }
        self.written += u64::from(count * (BLOCKS + 1));
    }

    fn member(&mut self) -> usize {
        self.seed += 1;
        self.seed as usize
    }

    fn change(&mut self, tables: &[usize]) {
        for table in tables {
            let path = format!("s{}", self.tables[*table]);
            if let Some(at) = self.snapshot.segments.iter().position(|it| it.path == path) {
                let entry = &mut self.snapshot.segments[at];
                let count = entry.deletes.as_ref().map_or(0, |it| it.count) + BLOCKS;
                entry.deletes = Some(DeletesEntry {
                    path: String::new(),
                    count,
                });
                if count == entry.blocks {
                    self.snapshot.segments.remove(at);
                }
            }
        }
        let member = self.member();
        self.add(tables, member);
        self.changed += tables.len() as u64 * u64::from(BLOCKS + 1);
    }

    fn night(&mut self, share: usize) {
        let mut changed: Vec<usize> = (0..self.tables.len().div_ceil(share))
            .map(|i| {
                let at = noise(self.seed, i as u64);
                (at % self.tables.len() as u64) as usize
            })
            .collect();
        changed.sort_unstable();
        changed.dedup();
        self.change(&changed);
        for merge in plan(&self.snapshot, &Policy::default()) {
            let (catalog, segments) = (&merge.catalog, &merge.segments);
            self.snapshot
                .catalog
                .retain(|it| !catalog.contains(&it.path));
            self.snapshot
                .segments
                .retain(|it| !segments.contains(&it.path));
            let members: Vec<String> = catalog.iter().map(|it| it.replace('c', "s")).collect();
            let tables: Vec<usize> = (0..self.tables.len())
                .filter(|table| members.contains(&format!("s{}", self.tables[*table])))
                .collect();
            let member = self.member();
            if !tables.is_empty() {
                self.add(&tables, member);
            }
        }
    }

    /// Entries named against those that live.
    fn bloat(&self) -> f64 {
        let blocks: u32 = self.snapshot.segments.iter().map(|it| it.blocks).sum();
        let rows: u64 = self.snapshot.catalog.iter().map(|it| it.rows).sum();
        let live = self.tables.len() as f64 * f64::from(BLOCKS + 1);
        (f64::from(blocks) + rows as f64) / live
    }
}

/// The numbers of docs/decisions/011-compaction.md.
#[test]
fn years_of_nights_stay_bounded() {
    for (tables, nights, share) in [
        (40, 3000, 100),
        (2_000, 3000, 100),
        (20_000, 1500, 100),
        (100_000, 300, 100),
        (2_000, 1000, 10),
        (20_000, 1000, 10_000),
    ] {
        let mut lake = Lake::of(tables);
        let start = lake.written;
        let (mut most, mut worst, mut sum) = (0, 0.0f64, 0);
        for _ in 0..nights {
            lake.night(share);
            most = most.max(lake.snapshot.catalog.len());
            sum += lake.snapshot.catalog.len();
            worst = worst.max(lake.bloat());
        }
        let amplification = (lake.written - start) as f64 / (lake.changed - start).max(1) as f64;
        let mean = sum as f64 / f64::from(nights);
        println!(
            "{tables} tables, {nights} nights, 1/{share} a night: at most {most} files (mean {mean:.1}), \
             {worst:.2} x the live entries, each changed entry written {amplification:.1} times"
        );
        let size = lake.tables.len() as u64 * 5;
        let tiers = (size / MIN_SIZE).max(1).ilog(4) as usize + 1;
        assert!(most <= MEMBERS * tiers + 2 * (size / MAX_SIZE) as usize + 1);
        // A small lake is rewritten when it has MEMBERS files more, however little they hold.
        assert!(worst < if tables < 100 { 1.5 } else { 1.26 }, "{worst}");
        // The lowest tier is rewritten whole, which shows where a night changes next to nothing.
        assert!(
            amplification
                < if share > 1000 || tables < 100 {
                    16.0
                } else {
                    8.0
                }
        );
    }
}

fn snapshot(sizes: &[(u32, u32)]) -> Snapshot {
    let mut snapshot = Snapshot::first("m", 2, 1);
    for (at, (blocks, deleted)) in sizes.iter().enumerate() {
        snapshot.segments.push(SegmentEntry {
            shard: Shard(0),
            path: format!("s{at}"),
            bytes: 0,
            hot: 0,
            blocks: *blocks,
            tables: 1,
            deletes: (*deleted > 0).then(|| DeletesEntry {
                path: String::new(),
                count: *deleted,
            }),
        });
        snapshot.catalog.push(CatalogEntry {
            shard: Shard(0),
            path: format!("c{at}"),
            rows: 0,
            bytes: 0,
            segment: Some(format!("s{at}")),
        });
    }
    snapshot
}

fn groups(sizes: &[(u32, u32)], policy: &Policy) -> Vec<Vec<String>> {
    let merges = plan(&snapshot(sizes), policy).into_iter();
    merges.map(|merge| merge.segments).collect()
}

#[test]
fn tiers_cascade_and_bloated_members_take_the_smaller_ones_along() {
    let of = |sizes: &[(u32, u32)]| groups(sizes, &Policy::default());
    assert!(of(&[(10, 0), (10, 0), (10, 0), (10, 0)]).is_empty());
    assert_eq!(of(&[(10, 0); 5]), [["s0", "s1", "s2", "s3", "s4"]]);
    // Five small ones make the fifth of the next tier.
    let mut sizes = vec![(2000, 0); 4];
    sizes.extend([(500, 0); 5]);
    assert_eq!(of(&sizes)[0].len(), 9);
    // A fifth of a large one is dead; what is larger stays.
    assert!(of(&[(50_000, 0), (5000, 1000), (10, 0)]).is_empty());
    assert_eq!(of(&[(50_000, 0), (5000, 1001), (10, 0)]), [["s1", "s2"]]);
    // A little that is dead in little is no reason.
    assert!(of(&[(300, 200)]).is_empty());
    // One that is all dead leaves by itself.
    assert_eq!(of(&[(300, 300)]), [["s0"]]);
}

#[test]
fn nothing_grows_beyond_the_maximum() {
    let max = MAX_SIZE as u32;
    for sizes in [vec![(max / 2 + 1, 0); 9], vec![(max, 0); 9]] {
        assert!(groups(&sizes, &Policy::default()).is_empty());
        assert!(groups(&sizes, &Policy::full()).is_empty());
    }
    // Larger ones than any merge makes lose what is dead, each alone.
    let bloated = vec![(2 * max, max / 2); 3];
    assert_eq!(
        groups(&bloated, &Policy::default()),
        [["s0"], ["s1"], ["s2"]]
    );
    let all: Vec<(u32, u32)> = (1..40).map(|i| (i * max / 40, 0)).collect();
    for policy in [Policy::default(), Policy::full()] {
        for merge in plan(&snapshot(&all), &policy) {
            assert!(merge.live <= MAX_SIZE && merge.segments.len() > 1);
        }
    }
    assert_eq!(groups(&[(10, 0), (20, 3)], &Policy::full()), [["s0", "s1"]]);
    assert!(groups(&[(20, 0)], &Policy::full()).is_empty());
}

#[test]
fn hostile_counts_do_not_overflow() {
    let mut snapshot = snapshot(&[(u32::MAX, u32::MAX), (u32::MAX, 3), (0, 0)]);
    for entry in &mut snapshot.catalog {
        entry.rows = u64::MAX;
    }
    for policy in [Policy::default(), Policy::full()] {
        let merges = plan(&snapshot, &policy);
        assert!(merges.iter().all(|merge| !merge.catalog.is_empty()));
    }
}
