//! What a listing is of: the part of a lake that was listed, and what was found there.

use std::collections::BTreeSet;

use limn_formats::Objects;
use limn_lake::filter::IgnoreFiles;
use limn_lake::{Declared, LogTable};

use crate::report::Failure;
use crate::scope::Part;
use crate::share::Share;

/// A listing of a lake or a part of it, without the objects of indexes that lie inside the lake.
#[derive(Default)]
pub struct Listing {
    /// What was listed.
    pub part: Part,
    /// Whose objects these are: those of the other shares are not here.
    pub share: Share,
    /// The objects of that part.
    pub objects: Objects,
    /// Objects outside of the part or the share on which its tables depend: neighbours that may
    /// have a table's name, and texts that may be about tables of it.
    pub boundary: Objects,
    /// Paths in the lake that could not be listed, with all that lies below them.
    pub unlisted: Vec<String>,
    /// The same for people.
    pub failures: Vec<Failure>,
    /// Indexes other than the run's own that were left out.
    pub notes: Vec<String>,
    /// Paths that filters and `.limnignore` files leave out.
    pub left_out: Vec<String>,
    /// Members of containers that they leave out.
    pub members_left_out: usize,
    /// The `.limnignore` files that were read, until containers are opened.
    pub ignore_files: IgnoreFiles,
    /// Texts that are about others, and that filters do not choose as data.
    pub only_about_others: BTreeSet<String>,
    /// The tables that have logs, as these have them.
    pub logged: Vec<LogTable>,
    /// What the `.limn.yaml` files say.
    pub declared: Declared,
    /// The indexes in the part, whatever filters leave out of them.
    pub indexes: BTreeSet<String>,
}

/// Places of a lake that a part of it depends on, wherever they are, as the index knows them.
#[derive(Debug, Default)]
pub struct KnownPlaces {
    /// The folders of tables that have a log.
    pub logs: BTreeSet<String>,
    /// The objects that programs wrote about tables of other folders.
    pub describing: BTreeSet<String>,
}

impl Listing {
    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.failures.is_empty() && self.left_out.is_empty()
    }
}
