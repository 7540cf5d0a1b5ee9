//! The plan: a listing, laid out into groups, cut into epochs, as differences to the last listing.
//!
//! A group (a lone file, a directory of like files, a Hive-partitioned directory) is never split
//! over two epochs, so a table is published whole. The planner remembers, per group, the members it
//! last put into the `lake` collection, so the next listing of a running dataflow feeds differences
//! only. The memory it keeps is fingerprints; paths live as long as their epoch is under way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use limn_lake::assemble::are_unlike;
use limn_lake::{
    Contexts, DataFile, FileError, FileSummary, Group, GroupKind, ObjectRecord, ReadOptions,
    layout, summarise_file,
};
use limn_store::Store;
use serde::{Deserialize, Serialize};

use crate::changes::{GroupId, MemberId, MemberUpdate};
use crate::options::RunOptions;
use crate::published::Published;

/// Files of a family that are read ahead to see whether they are alike at all.
const FAMILY_PROBES: usize = 3;

/// A group of the lake with everything a worker needs to make tables of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// The group's stable fingerprint.
    pub id: GroupId,
    /// Its objects and registered contexts.
    pub group: Group,
    /// The fingerprints that stand for it in the `lake` collection, sorted.
    pub members: Vec<MemberId>,
}

/// What one epoch feeds into the dataflow.
#[derive(Debug, Default)]
pub struct EpochPlan {
    /// Groups that may have changed.
    pub groups: Vec<GroupPlan>,
    /// Updates of the `lake` collection.
    pub lake: Vec<MemberUpdate>,
    /// Updates of the `published` collection.
    pub published: Vec<MemberUpdate>,
}

/// A listing turned into epochs.
#[derive(Debug, Default)]
pub struct Round {
    /// The epochs, in the order they are fed.
    pub epochs: VecDeque<EpochPlan>,
    /// Contexts that name no table of the lake.
    pub orphans: Vec<String>,
    /// Objects that hold rows but whose names no table can have.
    pub refused: Vec<FileError>,
}

/// Turns listings into epochs of differences.
pub struct Planner {
    store: Store,
    root_name: String,
    published: Arc<Published>,
    settings: MemberId,
    read: ReadOptions,
    contexts: Contexts,
    epoch_objects: usize,
    epoch_bytes: u64,
    /// The members of each group in the `lake` collection.
    lake: HashMap<GroupId, Vec<MemberId>>,
    /// Groups whose published side has been fed.
    published_fed: HashSet<GroupId>,
}

impl Planner {
    /// A planner for one lake. `settings` takes part in every group's members.
    pub fn new(
        store: Store,
        published: Arc<Published>,
        settings: MemberId,
        read: ReadOptions,
        options: &RunOptions,
    ) -> Self {
        let mut contexts = published.registered().clone();
        for (table, texts) in &options.contexts {
            let registered = contexts.entry(table.clone()).or_default();
            for text in texts {
                if !registered.contains(text) {
                    registered.push(text.clone());
                }
            }
        }
        let root_name = store
            .url()
            .rsplit('/')
            .find(|part| !part.is_empty())
            .unwrap_or("lake")
            .to_owned();
        Self {
            store,
            root_name,
            published,
            settings,
            read,
            contexts,
            epoch_objects: options.epoch_objects.max(1),
            epoch_bytes: options.epoch_bytes.max(1),
            lake: HashMap::new(),
            published_fed: HashSet::new(),
        }
    }

    /// Lays out a complete listing and cuts its differences to the previous one into epochs.
    pub async fn round(&mut self, objects: Vec<ObjectRecord>) -> Round {
        let layout = layout(objects, &self.contexts, &self.root_name);
        let mut groups = Vec::with_capacity(layout.groups.len());
        for group in layout.groups {
            if group.kind == GroupKind::Family && self.is_unlike(&group).await {
                groups.extend(group.split());
            } else {
                groups.push(group);
            }
        }

        let mut epochs = Vec::new();
        let mut epoch = EpochPlan::default();
        let (mut objects, mut bytes) = (0, 0);
        let mut gone: HashSet<GroupId> = self
            .lake
            .keys()
            .copied()
            .chain(self.published.groups())
            .collect();
        for group in groups {
            let id = group.key.0;
            gone.remove(&id);
            let mut members: Vec<MemberId> = group
                .fingerprints()
                .into_iter()
                .map(|fingerprint| fingerprint.0)
                .collect();
            members.push(self.settings);
            members.sort_unstable();
            members.dedup();
            if self.lake.get(&id) == Some(&members) {
                continue;
            }
            let size: u64 = group.files.iter().map(|file| file.object.size).sum();
            if objects > 0
                && (objects + group.files.len() > self.epoch_objects
                    || bytes + size > self.epoch_bytes)
            {
                epochs.push(std::mem::take(&mut epoch));
                (objects, bytes) = (0, 0);
            }
            objects += group.files.len();
            bytes += size;
            self.feed(&mut epoch, id, members.clone());
            epoch.groups.push(GroupPlan { id, group, members });
        }
        let mut gone: Vec<GroupId> = gone.into_iter().collect();
        gone.sort_unstable();
        for id in gone {
            self.feed(&mut epoch, id, Vec::new());
        }
        epochs.push(epoch);
        Round {
            epochs: epochs.into(),
            orphans: layout.orphans,
            refused: layout.refused,
        }
    }

    /// Puts a group's new members into an epoch, and its published members the first time.
    fn feed(&mut self, epoch: &mut EpochPlan, id: GroupId, members: Vec<MemberId>) {
        if self.published_fed.insert(id) {
            epoch.published.extend(
                self.published
                    .members(id)
                    .into_iter()
                    .map(|member| ((id, member), 1)),
            );
        }
        let old = if members.is_empty() {
            self.lake.remove(&id)
        } else {
            self.lake.insert(id, members.clone())
        };
        let old = old.unwrap_or_default();
        epoch.lake.extend(
            old.iter()
                .filter(|m| !members.contains(m))
                .map(|m| ((id, *m), -1)),
        );
        epoch.lake.extend(
            members
                .iter()
                .filter(|m| !old.contains(m))
                .map(|m| ((id, *m), 1)),
        );
    }

    /// Whether a family is certainly not one table: two of its files have different columns.
    ///
    /// It looks at what the catalog knows, and reads a few files where that does not tell. A "no"
    /// only means "not shown": the dataflow decides when it has seen every file. So this can change
    /// how much one change costs, never what tables there are.
    async fn is_unlike(&self, family: &Group) -> bool {
        let mut first: Option<FileSummary> = None;
        let mut differs = |summary: FileSummary| match &first {
            Some(first) => are_unlike(first, &summary),
            None => {
                first = Some(summary);
                false
            }
        };
        let mut unknown: Vec<&DataFile> = Vec::new();
        for file in &family.files {
            match self.published.summary(file.content_fingerprint()) {
                Some(summary) => {
                    if differs(summary) {
                        return true;
                    }
                }
                None => unknown.push(file),
            }
        }
        unknown.sort_by_key(|file| (file.object.size, file.object.path.clone()));
        let step = (unknown.len() / FAMILY_PROBES).max(1);
        for file in unknown.into_iter().step_by(step).take(FAMILY_PROBES) {
            // An unreadable file tells nothing here; the dataflow reports it.
            if let Ok(summary) = summarise_file(&self.store, file, &self.read).await
                && differs(summary)
            {
                return true;
            }
        }
        false
    }
}
