//! Which files are merged: a pure function of their sizes in a snapshot.
//!
//! The members of a shard are its catalog files, each with the segment that its rows point into.
//! Sizes are counted in *entries*: live blocks and live rows. A tier holds the members of like
//! size, each tier's [`FACTOR`] times as large as those of the one below.
//!
//! - A tier with more than [`MEMBERS`] members becomes one member, of a higher tier: an entry is
//!   rewritten once a tier, so in all as often as the logarithm of the shard's size.
//! - A member more than [`DEAD_PERCENT`] of which is no longer live is rewritten, together with all
//!   smaller ones: between two such merges that share of it has to change, which pays for them.
//! - No merge makes a member of more than [`MAX_SIZE`] entries: that bounds a merge's memory.
//!
//! (Log-structured merging: O'Neil et al., 1996; the tiers are those of Lucene's log merge policy.)

use std::collections::BTreeMap;

use crate::snapshot::Snapshot;
use crate::table::Shard;

/// Size of a tier's members against those of the tier below.
pub const FACTOR: u64 = 4;
/// Members that a tier may have.
pub const MEMBERS: usize = 4;
/// Share of a member that may be dead, in percent.
pub const DEAD_PERCENT: u64 = 20;
/// Members below [`FACTOR`] times this are one tier, and fewer dead entries are no reason for a
/// merge.
pub const MIN_SIZE: u64 = 256;
/// Entries of the largest member that a merge makes.
pub const MAX_SIZE: u64 = 262_144;

/// How much is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Members that a tier may have.
    pub members: usize,
    /// Share of a member that may be dead, in percent.
    pub dead_percent: u64,
    /// Size of the lowest tier's members, in entries, and of the dead ones worth a merge.
    pub min_size: u64,
    /// Entries of the largest member that a merge makes.
    pub max_size: u64,
    /// Whether each shard becomes one member, as far as `max_size` allows, without anything dead.
    pub full: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            members: MEMBERS,
            dead_percent: DEAD_PERCENT,
            min_size: MIN_SIZE,
            max_size: MAX_SIZE,
            full: false,
        }
    }
}

impl Policy {
    /// Merges all that can be merged.
    #[must_use]
    pub fn full() -> Self {
        Policy {
            full: true,
            ..Policy::default()
        }
    }

    fn tier(&self, size: u64) -> u32 {
        (size / self.min_size.max(1)).max(1).ilog(FACTOR)
    }
}

/// Files that become one catalog file and one segment.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Merge {
    /// Their shard.
    pub shard: Shard,
    /// Paths of the catalog files, in the order of the snapshot's list.
    pub catalog: Vec<String>,
    /// Their places among the shard's catalog files: two of the same content have the same path.
    #[serde(skip)]
    pub(crate) places: Vec<usize>,
    /// Paths of the segments, in the same order; a catalog file may have none.
    pub segments: Vec<String>,
    /// Live entries (blocks and rows), as far as the snapshot records them.
    pub live: u64,
    /// Entries that are no longer live, as far as the snapshot records them.
    pub dead: u64,
}

impl Merge {
    /// Paths of the segments, each once.
    pub(crate) fn sources(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        paths.dedup();
        paths
    }
}

/// A catalog file and its segment.
#[derive(Clone, Debug)]
struct Member {
    /// Place in the snapshot's list of catalog files.
    catalog: usize,
    /// Place among the catalog files of the shard.
    place: usize,
    /// Places in the snapshot's list of segments: one, or all of the same path, or none.
    segments: Vec<usize>,
    live: u64,
    dead: u64,
}

impl Member {
    fn is_bloated(&self, policy: &Policy) -> bool {
        let all = self.live.saturating_add(self.dead);
        self.dead >= policy.min_size
            && u128::from(self.dead) * 100 > u128::from(policy.dead_percent) * u128::from(all)
    }
}

/// The merges that a snapshot calls for: disjoint, in the order of shards.
#[must_use]
pub fn plan(snapshot: &Snapshot, policy: &Policy) -> Vec<Merge> {
    let mut merges = Vec::new();
    for (shard, members) in members(snapshot) {
        let groups = if policy.full {
            full(members, policy)
        } else {
            by_tier(members, policy)
        };
        merges.extend(groups.into_iter().map(|mut group| {
            group.sort_by_key(|member| member.catalog);
            let segments = group.iter().flat_map(|member| &member.segments);
            Merge {
                shard,
                places: group.iter().map(|member| member.place).collect(),
                segments: segments
                    .map(|at| snapshot.segments[*at].path.clone())
                    .collect(),
                catalog: group
                    .iter()
                    .map(|member| snapshot.catalog[member.catalog].path.clone())
                    .collect(),
                live: total(&group, |member| member.live),
                dead: total(&group, |member| member.dead),
            }
        }));
    }
    merges
}

fn total(group: &[Member], of: impl Fn(&Member) -> u64) -> u64 {
    group.iter().map(of).fold(0, u64::saturating_add)
}

/// The members of each shard. How many rows of a file are superseded is not known: as large a share
/// as of its blocks is deleted, since a row that is superseded has its blocks deleted.
fn members(snapshot: &Snapshot) -> BTreeMap<Shard, Vec<Member>> {
    let mut at: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, segment) in snapshot.segments.iter().enumerate() {
        at.entry(&segment.path).or_default().push(place);
    }
    // The same tables described in the same words again are the same segment: it is the later
    // file's, and all rows of the earlier one are superseded.
    let owners: BTreeMap<&str, usize> = (0..snapshot.catalog.len())
        .filter_map(|at| Some((snapshot.catalog[at].segment.as_deref()?, at)))
        .collect();
    let mut shards: BTreeMap<Shard, Vec<Member>> = BTreeMap::new();
    for (catalog, entry) in snapshot.catalog.iter().enumerate() {
        let segment = entry.segment.as_deref();
        let owned = segment.filter(|path| owners.get(path) == Some(&catalog));
        let named = owned.and_then(|path| at.remove(path)).unwrap_or_default();
        let (live, dead) = match named.first() {
            Some(first) => {
                let blocks = u64::from(snapshot.segments[*first].blocks);
                let copies = named.iter().map(|at| {
                    let deletes = snapshot.segments[*at].deletes.as_ref();
                    blocks.saturating_sub(deletes.map_or(0, |it| u64::from(it.count)))
                });
                // A block lives once, in whichever copy.
                let live = copies.fold(0, u64::saturating_add).min(blocks);
                let rows = u128::from(entry.rows) * u128::from(blocks - live);
                // At most `rows`, since `live` is at most `blocks`.
                let superseded = (rows / u128::from(blocks.max(1))) as u64;
                let named_blocks = blocks.saturating_mul(named.len() as u64);
                (
                    live.saturating_add(entry.rows - superseded),
                    (named_blocks - live).saturating_add(superseded),
                )
            }
            // All of its blocks are deleted.
            None if segment.is_some() => (0, entry.rows),
            None => (entry.rows, 0),
        };
        let members = shards.entry(entry.shard).or_default();
        members.push(Member {
            catalog,
            place: members.len(),
            segments: named,
            live,
            dead,
        });
    }
    shards
}

/// As few groups as fit, first-fit with the largest first.
fn full(mut members: Vec<Member>, policy: &Policy) -> Vec<Vec<Member>> {
    members.sort_by_key(|member| std::cmp::Reverse(member.live));
    let mut groups: Vec<(u64, Vec<Member>)> = Vec::new();
    for member in members {
        let fits = |live: u64| live.saturating_add(member.live) <= policy.max_size;
        match groups.iter_mut().find(|(live, _)| fits(*live)) {
            Some((live, group)) => {
                *live += member.live;
                group.push(member);
            }
            None => groups.push((member.live, vec![member])),
        }
    }
    let groups = groups.into_iter().map(|(_, group)| group);
    let changes = |group: &Vec<Member>| group.len() > 1 || group.iter().any(|it| it.dead > 0);
    groups.filter(changes).collect()
}

/// One group that grows from the lowest tier upwards, and bloated members that are too large to
/// join it.
fn by_tier(mut members: Vec<Member>, policy: &Policy) -> Vec<Vec<Member>> {
    members.sort_by_key(|member| (member.live, member.catalog));
    let mut tiers: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
    for member in members {
        let tier = policy.tier(member.live);
        tiers.entry(tier).or_default().push(member);
    }
    let mut alone = Vec::new();
    let mut group: Vec<Member> = Vec::new();
    let mut size = 0u64;
    // Of lower tiers, smaller first.
    let mut left: Vec<Member> = Vec::new();
    for (tier, mut here) in tiers {
        let lands_here = !group.is_empty() && policy.tier(size) == tier;
        let is_full = here.len() + usize::from(lands_here) > policy.members;
        let has_bloated = here.iter().any(|member| member.is_bloated(policy));
        let mut joining = Vec::new();
        if has_bloated || is_full && lands_here {
            joining.append(&mut left);
        }
        let (join, stay) = here
            .drain(..)
            .partition(|member| is_full || member.is_bloated(policy));
        joining.extend::<Vec<Member>>(join);
        left.extend::<Vec<Member>>(stay);
        for member in joining {
            if size.saturating_add(member.live) <= policy.max_size {
                size += member.live;
                group.push(member);
            } else if member.is_bloated(policy) {
                alone.push(vec![member]);
            } else {
                left.push(member);
            }
        }
    }
    let changes = group.len() > 1 || group.iter().any(|member| member.is_bloated(policy));
    if changes {
        alone.insert(0, group);
    }
    alone
}
