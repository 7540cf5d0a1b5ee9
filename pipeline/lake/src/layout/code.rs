//! Folders of code that dbt writes: `target/compiled` and `target/run` beside
//! `target/manifest.json`. What lies there is SQL, also where it is called like a seed
//! (`raw_orders.csv`).

use std::collections::HashSet;

use crate::contexts::SharedKind;
use crate::place::{join, split_path, upwards};

/// The folders of code in a listing.
pub(super) struct CodeFolders(HashSet<String>);

impl CodeFolders {
    /// Those among objects at these paths.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> CodeFolders {
        let is_manifest = |path: &&str| {
            path.ends_with("target/manifest.json")
                && SharedKind::of_path(path) == Some(SharedKind::DbtManifest)
        };
        let targets = paths.filter(is_manifest).map(|path| split_path(path).0);
        let targets = targets.filter(|folder| split_path(folder).1 == "target");
        let folders = targets.flat_map(|target| ["compiled", "run"].map(|it| join(target, it)));
        CodeFolders(folders.collect())
    }

    /// Whether a folder is one, or lies in one.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        !self.0.is_empty() && upwards(folder).any(|it| self.0.contains(it))
    }
}
