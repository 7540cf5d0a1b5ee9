//! The folders of a part of a lake: those whose tables share nothing with what lies elsewhere, and
//! what lies elsewhere and is about their tables.

use std::collections::BTreeSet;

use limn_formats::ObjectRecord;
use limn_lake::is_declared_file;
use limn_lake::layout::{described_below, describes_beside};
use limn_lake::reach::{is_within, parent, shares_name};
use limn_store::{ObjectInfo, Store};

use super::indexes::is_in_an_index;
use super::state::{KnownPlaces, Listing};
use crate::error::PipelineError;
use crate::scope::outermost;

impl Listing {
    /// Folders such that no table of theirs shares its name with a file beside them; what is beside
    /// them is kept, and what further up is about tables below. Folders of indexes are left out.
    pub(super) async fn closed(
        &mut self,
        lake: &Store,
        folders: Vec<String>,
    ) -> Result<Vec<String>, PipelineError> {
        let mut closed = Vec::new();
        for mut folder in folders {
            while !folder.is_empty() {
                let siblings = lake.list_folder(parent(&folder)).await?;
                let names_tables =
                    |it: &ObjectInfo| shares_name(&it.path, &folder) || is_declared_file(&it.path);
                if !siblings.iter().any(names_tables) {
                    self.boundary
                        .extend(siblings.into_iter().map(ObjectRecord::from));
                    break;
                }
                folder = parent(&folder).to_owned();
            }
            if !is_in_an_index(lake, &folder).await? {
                closed.push(folder);
            }
        }
        let closed = outermost(closed);
        // Parents were listed above.
        let parents: BTreeSet<&str> = closed.iter().map(|folder| parent(folder)).collect();
        let mut above: BTreeSet<&str> = BTreeSet::new();
        for folder in parents.iter().filter(|folder| !folder.is_empty()) {
            let mut folder = parent(folder);
            while above.insert(folder) && !folder.is_empty() {
                folder = parent(folder);
            }
        }
        for folder in above.into_iter().filter(|it| !parents.contains(it)) {
            let there = lake.list_folder(folder).await?;
            let reaches =
                |path: &str| described_below(path).is_some_and(|it| is_within(folder, it));
            let reaching = there.into_iter().filter(|it| reaches(&it.path));
            self.boundary.extend(reaching.map(ObjectRecord::from));
        }
        self.boundary
            .retain(|object| !closed.iter().any(|folder| is_within(object.path, folder)));
        Ok(closed)
    }

    /// Adds what programs wrote about tables of the closed folders and lies elsewhere, as far as
    /// the index knows it.
    pub(super) async fn list_describing(
        &mut self,
        lake: &Store,
        closed: &[String],
        known: &KnownPlaces,
    ) -> Result<(), PipelineError> {
        let reaches = |path: &str| {
            let below = described_below(path).filter(|_| describes_beside(path));
            below.is_some_and(|below| closed.iter().any(|folder| is_within(folder, below)))
        };
        let is_listed = |path: &str| closed.iter().any(|folder| is_within(path, folder));
        let wanted = known.describing.iter().map(String::as_str);
        let wanted = wanted.filter(|path| reaches(path) && !is_listed(path));
        let folders: BTreeSet<&str> = wanted.map(parent).collect();
        for folder in folders {
            let there = lake.list_folder(folder).await?;
            let reaching = there.into_iter().filter(|it| reaches(&it.path));
            self.boundary.extend(reaching.map(ObjectRecord::from));
        }
        self.boundary.sort();
        Ok(())
    }
}
