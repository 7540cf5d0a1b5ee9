//! Scope: which part of a lake a run looks at.
//!
//! A trigger says where something may have changed, and nothing else of it is believed: the part of
//! the lake that the change can reach is listed, and the listing is the truth. So triggers may come
//! late, twice, in any order or for nothing.

use std::collections::BTreeSet;

use limn_formats::member::outside;
use limn_lake::reach::{is_within, parent, reach, reach_of_table};

/// Which part of a lake a run looks at. What is outside stays as it is in the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it.
    #[default]
    Lake,
    /// These tables, by name, and nothing else.
    Tables(BTreeSet<String>),
    /// Whatever a change of these objects (by path in the lake) can have changed.
    Objects(BTreeSet<String>),
}

impl Scope {
    /// The folders that have to be listed, none below another; `""` for the whole lake.
    pub fn folders(&self) -> Vec<String> {
        let folders: BTreeSet<&str> = match self {
            Self::Lake => BTreeSet::from([""]),
            Self::Tables(names) => names.iter().map(|name| reach_of_table(name)).collect(),
            Self::Objects(paths) => paths.iter().map(|path| reach(path)).collect(),
        };
        outermost(folders.into_iter().map(str::to_owned))
    }

    /// Whether it is less than the lake.
    pub fn is_partial(&self) -> bool {
        *self != Self::Lake
    }
}

/// What a table of a lake's root is called: the last segment of the lake's URL.
pub fn root_name(url: &str) -> &str {
    url.rsplit('/')
        .find(|part| !part.is_empty())
        .unwrap_or("lake")
}

/// The folders that lie below no other of them.
pub fn outermost(folders: impl IntoIterator<Item = String>) -> Vec<String> {
    let folders: BTreeSet<String> = folders.into_iter().collect();
    let mut kept: Vec<String> = Vec::new();
    // A folder comes before what lies below it, but other names may come between.
    for folder in folders {
        if !kept.iter().any(|outer| is_within(&folder, outer)) {
            kept.push(folder);
        }
    }
    kept
}

/// The part of a lake that was listed, and what a run may change of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The folders; `""` for the whole lake.
    pub folders: Vec<String>,
    /// Only these tables, if given.
    pub tables: Option<BTreeSet<String>>,
}

impl Part {
    /// All of a lake.
    pub fn whole() -> Self {
        Self {
            folders: vec![String::new()],
            tables: None,
        }
    }

    /// Whether a path is that of one of the folders or below it.
    pub fn has_path(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| is_within(path, folder))
    }

    /// Whether one of the folders is at or below a folder.
    pub fn is_below(&self, folder: &str) -> bool {
        self.folders.iter().any(|it| is_within(it, folder))
    }

    /// Whether a table of this name may be changed.
    pub fn has_table(&self, name: &str) -> bool {
        self.tables
            .as_ref()
            .is_none_or(|tables| tables.contains(name))
    }

    /// Whether a table that may be changed may lie at a path, or below it. `root` is what a table
    /// of the lake's root is called ([`root_name`]).
    pub fn concerns(&self, path: &str, root: &str) -> bool {
        let is_of = |table: &String| {
            let rest = path.strip_prefix(table.as_str());
            let is_of_root = table.strip_prefix("./").unwrap_or(table) == root;
            // Of folders of dates any may be the table's.
            let is_of_dates = reach(path) != parent(path) && reach(path) == reach_of_table(table);
            is_within(outside(table), path)
                || is_of_dates
                || is_of_root && reach(path).is_empty()
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        };
        self.tables
            .as_ref()
            .is_none_or(|tables| tables.iter().any(is_of))
    }

    /// Whether it is less than the lake.
    pub fn is_partial(&self) -> bool {
        *self != Self::whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_elsewhere_concerns_no_table() {
        let part = Part {
            tables: Some(["d/orders".to_owned(), "x.zip//t".to_owned()].into()),
            ..Part::whole()
        };
        for path in [
            "",
            "d",
            "d/orders",
            "d/orders.csv",
            "d/orders/1.csv",
            "x.zip",
        ] {
            assert!(part.concerns(path, "lake"), "{path}");
        }
        for path in ["e", "d/orders2.csv", "d/out.csv", "x.tar"] {
            assert!(!part.concerns(path, "lake"), "{path}");
            assert!(Part::whole().concerns(path, "lake"), "{path}");
        }
        for name in ["lake", "./lake"] {
            let part = Part {
                tables: Some([name.to_owned()].into()),
                ..Part::whole()
            };
            for path in ["orders_3.csv", "day=1/x.csv"] {
                assert!(part.concerns(path, "lake"), "{path}");
            }
            assert!(!part.concerns("d/x.csv", "lake"));
        }
    }

    #[test]
    fn folders_of_dates_are_looked_at_together() {
        let objects = [
            "erp/2024/05/20/x.csv",
            "erp/2024-W14/deep/x.csv",
            "2023/x.csv",
        ];
        let scope = Scope::Objects(objects[..2].iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(scope.folders(), ["erp"]);
        let scope = Scope::Objects([objects[2].to_owned()].into());
        assert_eq!(scope.folders(), [""]);
        for name in [
            "erp/*/x",
            "./erp/*/x",
            "erp/2024/05/20/x",
            "erp/x_*.xlsx//Sheet1",
        ] {
            let tables = BTreeSet::from([name.to_owned()]);
            assert_eq!(Scope::Tables(tables.clone()).folders(), ["erp"], "{name}");
            let part = Part {
                tables: Some(tables),
                ..Part::whole()
            };
            assert!(part.concerns("erp/2024/05/20/x.csv", "lake"), "{name}");
            assert!(!part.concerns("hr/2024/05/20/x.csv", "lake"), "{name}");
        }
    }

    #[test]
    fn no_folder_is_listed_twice() {
        let scope = Scope::Objects(
            [
                "a/b/x.csv",
                "a/x.csv",
                "a-b/x.csv",
                "a/k=1/x.csv",
                "c/d/y.csv",
            ]
            .map(str::to_owned)
            .into(),
        );
        assert_eq!(scope.folders(), ["a", "a-b", "c/d"]);
        assert_eq!(Scope::Lake.folders(), [""]);
        let tables = Scope::Tables(["a/b".to_owned(), "c".to_owned()].into());
        assert_eq!(tables.folders(), [""]);
    }
}
