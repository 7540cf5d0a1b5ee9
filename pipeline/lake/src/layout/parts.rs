//! Files that are read with a dBase table of their name, and those that are passed over beside one:
//! a shapefile is one table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use limn_formats::parts::{Part, of_path, stem_of_table};
use limn_formats::{Declaration, ObjectRecord};

use super::Ignored;

/// Such files of a lake, and which tables there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Those that are read, by the paths of their tables without extensions.
    read: HashMap<String, Vec<ObjectRecord>>,
    /// Others, with the same.
    others: Vec<(String, String)>,
    tables: HashSet<String>,
}

impl Parts {
    /// Takes such a file. Of two of one kind, whose names differ in case, the first is read.
    pub(super) fn take(&mut self, object: ObjectRecord, part: Part, stem: &str) {
        let stem = stem.to_owned();
        let known = self.read.get(&stem).map_or(&[][..], Vec::as_slice);
        let is_known = known
            .iter()
            .any(|it| of_path(&it.path).is_some_and(|it| it.0 == part));
        match part == Part::Other || is_known {
            true => self.others.push((stem, object.path)),
            false => self.read.entry(stem).or_default().push(object),
        }
    }

    /// Notes a data file, which may be a table of such files.
    pub(super) fn see(&mut self, path: &str) {
        self.tables.extend(stem_of_table(path).map(str::to_owned));
    }

    /// What is declared of a data file, with the files that are read with it.
    pub(super) fn declare(
        &self,
        path: &str,
        declared: Option<Arc<Declaration>>,
    ) -> Option<Arc<Declaration>> {
        let parts = stem_of_table(path).and_then(|stem| self.read.get(stem));
        let Some(parts) = parts else {
            return declared;
        };
        let mut declared = declared.map_or_else(Declaration::default, Arc::unwrap_or_clone);
        declared.parts.clone_from(parts);
        Some(Arc::new(declared))
    }

    /// Counts those that belong to no table.
    pub(super) fn count_strays(&self, ignored: &mut Ignored) {
        let is_stray = |stem: &String| !self.tables.contains(stem);
        let read = self.read.iter().filter(|(stem, _)| is_stray(stem));
        let read = read
            .flat_map(|(_, objects)| objects)
            .map(|it| it.path.as_str());
        let others = self.others.iter().filter(|(stem, _)| is_stray(stem));
        let mut paths: Vec<&str> = read.chain(others.map(|(_, path)| path.as_str())).collect();
        paths.sort_unstable();
        paths.into_iter().for_each(|path| ignored.add_other(path));
    }
}
