//! What the shares of a lake have to know of each other's listings.

use std::collections::BTreeSet;

use limn_formats::{ObjectRecord, ObjectRef};
use limn_lake::layout::{described_below, is_data, is_dictionary};
use limn_lake::reach::parent;
use serde::{Deserialize, Serialize};

use super::state::Listing;

/// What the other shares of a lake have to know of one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ForOthers {
    /// Objects that may be about their tables.
    pub texts: Vec<ObjectRecord>,
    /// Files of tables in the same folders as these, where the folders were cut.
    pub neighbours: Vec<ObjectRecord>,
    /// Paths of theirs that are files of a table of this share, by its log.
    pub claimed: Vec<String>,
}

impl ForOthers {
    /// Adds what is to be known of another share.
    pub fn add(&mut self, other: ForOthers) {
        self.texts.extend(other.texts);
        self.neighbours.extend(other.neighbours);
        self.claimed.extend(other.claimed);
    }
}

impl Listing {
    /// What the other shares have to know of this one: the objects that may be about their tables,
    /// and those of their objects that belong to tables of this share by their logs.
    pub fn for_others(&self) -> ForOthers {
        if !self.share.is_partial() {
            return ForOthers::default();
        }
        let is_text = |it: &ObjectRef<'_>| {
            described_below(it.path).is_some_and(|below| self.share.is_shared(below))
                || is_dictionary(it.path) && self.share.is_cut(parent(it.path))
        };
        let texts = self.objects.iter().filter(is_text);
        let folders: BTreeSet<&str> = texts.map(|it| parent(it.path)).collect();
        // What a text says of which table depends on the tables of its own folder.
        let is_neighbour = |it: &ObjectRef<'_>| {
            let folder = parent(it.path);
            is_data(it.path) && self.share.is_cut(folder) && folders.contains(folder)
        };
        let files = self.logged.iter().flat_map(|table| &table.files);
        let claimed = files.map(|file| &file.object.path);
        ForOthers {
            texts: self
                .objects
                .iter()
                .filter(is_text)
                .map(|it| it.record())
                .collect(),
            neighbours: self
                .objects
                .iter()
                .filter(|it| is_neighbour(it) && !is_text(it))
                .map(|it| it.record())
                .collect(),
            claimed: claimed
                .filter(|path| !self.share.has(path))
                .cloned()
                .collect(),
        }
    }

    /// The texts that more than one process looks at.
    pub fn texts_seen_by_several(&self) -> Vec<String> {
        let own = self.for_others().texts.into_iter().map(|it| it.path);
        let others = self.boundary.iter().map(|it| it.path.to_owned());
        own.chain(others).collect()
    }

    /// Takes in what this share has to know of the others.
    pub fn receive(&mut self, others: ForOthers) {
        let claimed: BTreeSet<&str> = others.claimed.iter().map(String::as_str).collect();
        if !claimed.is_empty() {
            self.objects.retain(|object| !claimed.contains(object.path));
        }
        let texts = others.texts.into_iter().chain(others.neighbours);
        self.boundary
            .extend(texts.filter(|it| !self.share.has(&it.path)));
    }
}
