//! Who may see what: callers, the tables they may see, and their rights.
//!
//! A caller is known by an API key ([`KeyFile`]) or a token of an issuer ([`Issuer`]), or is
//! anyone who can reach a node that asks for neither. What a caller may see is decided before
//! anything is ranked, counted or looked up: a request works on a [`View`](crate::live::View) that
//! holds the allowed tables only, so there is nothing to leak.

mod key_edit;
mod keys;
mod oidc;
mod rate;
mod share;
mod turns;

use std::fmt;
use std::sync::Arc;

use limn_segment::{TableKey, is_under};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::{Code, Problem};

pub use key_edit::edit_records;
pub use keys::{KeyError, KeyFile, KeyRecord, NewKey, read_records};
pub use oidc::{Issuer, IssuerError, IssuerOptions, IssuerTrouble};
pub use rate::Rates;
pub use share::{Share, Shares};
pub use turns::{Turn, Turns};

/// What a caller may do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Ask, and read what is known of tables but for their values.
    Search,
    /// Read values of rows: samples, frequent values, ranges, the texts that are made of them.
    Rows,
    /// Have questions answered by plans, which may ask a language model; it needs `rows`, too.
    Ask,
    /// Write descriptions of tables, where the node takes them.
    Describe,
    /// Hand over events, read metrics, and see the index as a whole.
    Admin,
}

impl Right {
    /// All of them.
    pub const ALL: [Right; 5] = [
        Right::Search,
        Right::Rows,
        Right::Ask,
        Right::Describe,
        Right::Admin,
    ];
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Right::Search => "search",
            Right::Rows => "rows",
            Right::Ask => "ask",
            Right::Describe => "describe",
            Right::Admin => "admin",
        })
    }
}

/// A text that names no [`Right`].
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no right; there are search, rows, ask, describe and admin")]
pub struct UnknownRight(String);

impl std::str::FromStr for Right {
    type Err = UnknownRight;

    fn from_str(text: &str) -> Result<Right, UnknownRight> {
        let known = Right::ALL.into_iter();
        known
            .into_iter()
            .find(|right| right.to_string() == text)
            .ok_or_else(|| UnknownRight(text.to_owned()))
    }
}

/// The tables that a caller may see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// All.
    Everything,
    /// Those whose name is one of these paths or lies below it. A path with `://` in it, or that
    /// begins with `/`, is of the lake's URL and the name together.
    Under(Arc<[String]>),
}

impl Reach {
    /// The tables under these paths; sorted, so that equal ones are equal.
    pub fn under(paths: impl IntoIterator<Item = String>) -> Reach {
        let mut paths: Vec<String> = paths.into_iter().collect();
        paths.sort();
        paths.dedup();
        Reach::Under(paths.into())
    }

    /// Whether a table is among them.
    pub fn allows(&self, table: &TableKey) -> bool {
        let Reach::Under(paths) = self else {
            return true;
        };
        let whole = || format!("{}/{}", table.lake.trim_end_matches('/'), table.name);
        // A path of nothing is a mistake, and no way to say everything.
        let mut paths = paths
            .iter()
            .filter(|path| !path.trim_matches('/').is_empty());
        paths.any(|path| {
            if path.contains("://") {
                is_under(&whole(), path)
            } else if path.starts_with('/') {
                let whole = whole();
                is_under(whole.trim_start_matches('/'), path)
            } else {
                is_under(&table.name, path)
            }
        })
    }

    /// The paths in a lake, of this URL, at or below which lie all tables of it that are among
    /// them; an empty one is the whole lake.
    pub fn paths_in(&self, lake: &str) -> Vec<String> {
        let Reach::Under(paths) = self else {
            return vec![String::new()];
        };
        let within = |path: &String| {
            let named = path.trim_matches('/');
            let lake = match (path.contains("://"), path.starts_with('/')) {
                (false, false) => return Some(named.to_owned()),
                (true, _) => lake.trim_end_matches('/'),
                (false, true) => lake.trim_matches('/'),
            };
            match named.strip_prefix(lake) {
                _ if is_under(lake, named) => Some(String::new()),
                Some(rest) if lake.is_empty() => Some(rest.to_owned()),
                Some(rest) => rest.strip_prefix('/').map(str::to_owned),
                None => None,
            }
        };
        let paths = paths
            .iter()
            .filter(|path| !path.trim_matches('/').is_empty());
        paths.filter_map(within).collect()
    }

    /// The paths, if it is not everything.
    pub fn paths(&self) -> Option<&[String]> {
        match self {
            Reach::Everything => None,
            Reach::Under(paths) => Some(paths),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its key's id, or its token's issuer and subject, for logs, rates and caches; `anyone` where
    /// none is asked for.
    pub id: Arc<str>,
    /// What it may see.
    pub reach: Reach,
    /// What it may do.
    pub rights: Arc<[Right]>,
    /// Requests a minute, where it has a rate of its own.
    pub per_minute: Option<u32>,
}

impl Caller {
    /// Anyone who reaches a node that asks for no key.
    pub fn anyone() -> Caller {
        Caller {
            id: "anyone".into(),
            reach: Reach::Everything,
            rights: Right::ALL.into(),
            per_minute: None,
        }
    }

    /// Whether it may do this.
    pub fn may(&self, right: Right) -> bool {
        self.rights.contains(&right)
    }
}

/// How callers are known.
#[derive(Debug)]
pub enum Access {
    /// Everybody may do everything: for a node that only this machine's users reach.
    Open,
    /// By what they show.
    Shown {
        /// An API key.
        keys: Option<KeyFile>,
        /// A token.
        issuer: Option<Arc<Issuer>>,
    },
}

impl Access {
    /// The caller that shows this text after `Authorization: Bearer`.
    ///
    /// # Errors
    /// Why nobody is known by it.
    pub async fn caller(&self, shown: Option<&str>) -> Result<Caller, Problem> {
        let Access::Shown { keys, issuer } = self else {
            return Ok(Caller::anyone());
        };
        let shown = shown.unwrap_or_default();
        if let Some(issuer) = issuer
            && !shown.is_empty()
            && !shown.starts_with(keys::MARK)
        {
            return issuer.caller(shown).await;
        }
        let known = keys.as_ref().and_then(|keys| keys.caller(shown));
        known.ok_or_else(|| {
            let remedy = match issuer {
                None => "send Authorization: Bearer KEY; limn keys add makes one",
                Some(_) => "send Authorization: Bearer, and a token of the node's issuer or a key of limn keys add",
            };
            let what = "no key was shown, or none that is known here";
            Problem::new(Code::Unauthorized, what, remedy)
        })
    }

    /// Whether nothing is asked for.
    pub fn is_open(&self) -> bool {
        matches!(self, Access::Open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(lake: &str, name: &str) -> TableKey {
        TableKey {
            lake: lake.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn paths_reach_what_lies_below_them_and_nothing_beside() {
        let reach = Reach::under(["sales".to_owned(), "hr/public/".to_owned()]);
        for (name, allowed) in [
            ("sales", true),
            ("sales/2024/orders", true),
            ("salesforce", false),
            ("hr", false),
            ("hr/public/staff", true),
            ("hr/publicity", false),
        ] {
            assert_eq!(reach.allows(&key("s3://lake", name)), allowed, "{name}");
        }
        assert!(Reach::Everything.allows(&key("s3://lake", "x")));
        for nothing in [vec![], vec![String::new()], vec!["/".to_owned()]] {
            assert!(!Reach::under(nothing).allows(&key("s3://lake", "x")));
        }
    }

    #[test]
    fn paths_may_name_a_lake() {
        let one = Reach::under(["s3://lake/data/hr".to_owned()]);
        assert!(one.allows(&key("s3://lake/data", "hr/staff")));
        assert!(!one.allows(&key("s3://other/data", "hr/staff")));
        let local = Reach::under(["/srv/lake/hr".to_owned()]);
        assert!(local.allows(&key("/srv/lake", "hr/staff")));
        assert!(!local.allows(&key("/srv/lake2", "hr/staff")));
    }

    #[test]
    fn every_allowed_table_lies_at_a_path_of_its_lake() {
        let lakes = ["s3://lake", "s3://lake/data/", "/srv/lake", "/"];
        let names = ["hr", "hr/staff", "data/hr/staff", "srv/lake/hr", "hrx"];
        for path in [
            "hr",
            "/hr/",
            "data",
            "s3://lake",
            "s3://lake/data",
            "s3://lake/data/hr",
            "/srv/lake/hr",
            "/srv",
            "/",
            "",
        ] {
            let reach = Reach::under([path.to_owned()]);
            for (lake, name) in lakes.iter().flat_map(|lake| names.map(|name| (lake, name))) {
                let paths = reach.paths_in(lake);
                let lies = paths.iter().any(|path| is_under(name, path));
                assert_eq!(reach.allows(&key(lake, name)), lies, "{path} {lake} {name}");
            }
        }
        assert_eq!(Reach::Everything.paths_in("s3://lake"), [""]);
        assert!(Reach::under([]).paths_in("s3://lake").is_empty());
    }
}
