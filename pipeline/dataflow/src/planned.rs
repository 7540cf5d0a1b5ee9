//! What the processes of a cluster send each other of their shares before epochs are fed: what was
//! listed, which the leader judges as a whole, and what was planned, which it reports.

use std::collections::BTreeSet;

use limn_lake::Ignored;
use serde::{Deserialize, Serialize};

use crate::listing::ForOthers;
use crate::published::Standing;
use crate::report::Failure;

/// What a process, or all of them, have listed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Listed {
    /// Objects.
    pub objects: usize,
    /// Objects and members of containers that filters leave out.
    pub left_out: usize,
    /// Whether there is anything, if only a failure.
    pub is_any: bool,
    /// Whether any object may hold rows.
    pub has_data: bool,
    /// Whether something could not be listed.
    pub lacks_some: bool,
    /// Tables that the index has.
    pub known: u64,
    /// The processes that have the language model.
    pub askers: BTreeSet<usize>,
    /// What others have to know of it.
    pub for_others: ForOthers,
}

impl Listed {
    /// Adds what another process has listed.
    pub fn add(&mut self, other: Listed) {
        self.objects += other.objects;
        self.left_out += other.left_out;
        self.is_any |= other.is_any;
        self.has_data |= other.has_data;
        self.lacks_some |= other.lacks_some;
        self.known += other.known;
        self.askers.extend(other.askers);
        self.for_others.add(other.for_others);
    }
}

/// What a process, or all of them, have planned, and what is to be said of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Planned {
    /// Epochs that something is fed into.
    pub epochs: usize,
    /// Files of groups that differ from what is published.
    pub files_wanted: usize,
    /// Objects that were listed.
    pub listed: usize,
    /// Objects that filters leave out.
    pub filtered: usize,
    /// Objects that are no data.
    pub ignored: Ignored,
    /// What could not be listed, opened or named.
    pub failures: Vec<Failure>,
    /// Remarks.
    pub notes: Vec<String>,
    /// Groups with a table that awaits a narration, where the run can give one.
    pub awaiting: usize,
    /// Contexts that name no table.
    pub orphans: Vec<String>,
    /// Texts about folders that reach no table.
    pub unreached: BTreeSet<String>,
    /// Contexts that name or reach a table, of those that several processes look at.
    pub matched: BTreeSet<String>,
    /// Tables that are restated: this run's settings cannot reach their files.
    pub restated: BTreeSet<String>,
    /// Tables that are one by their log now, and how many the index has had of the files in their
    /// folders.
    pub joined: Vec<(String, usize)>,
    /// What is published.
    pub standing: Standing,
}

impl Planned {
    /// Adds what another process has planned.
    pub fn add(&mut self, other: Planned) {
        self.epochs = self.epochs.max(other.epochs);
        self.files_wanted += other.files_wanted;
        self.listed += other.listed;
        self.filtered += other.filtered;
        self.ignored.add(&other.ignored);
        self.failures.extend(other.failures);
        self.notes.extend(other.notes);
        self.awaiting += other.awaiting;
        self.matched.extend(other.matched);
        let known: BTreeSet<String> = self.orphans.iter().cloned().collect();
        let new = other.orphans.into_iter();
        self.orphans.extend(new.filter(|it| !known.contains(it)));
        self.orphans.retain(|it| !self.matched.contains(it));
        self.unreached.extend(other.unreached);
        self.unreached.retain(|it| !self.matched.contains(it));
        self.restated.extend(other.restated);
        self.joined.extend(other.joined);
        self.standing.add(other.standing);
    }
}
