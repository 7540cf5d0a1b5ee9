//! Which table a name means.
//!
//! A table is called by its whole name (`"crm/churn"`, or `crm.churn` without quotes), or by the
//! end of it (`churn`) where only one table ends so. Letters in another case are good enough where
//! nothing has them as they are written.

use std::collections::BTreeSet;

use datafusion::sql::sqlparser::ast::ObjectName;
use limn_formats::Format;
use limn_segment::TableKey;

use crate::catalogue::Catalogue;
use crate::error::SqlError;
use crate::near::near;

/// Tables among which names like one that does not exist are looked for: among more it would take
/// its time.
const NEAR_AMONG: usize = 20_000;

/// The parts of a written name.
pub(crate) fn parts(name: &ObjectName) -> Vec<&str> {
    let idents = name.0.iter().filter_map(|part| part.as_ident());
    idents.map(|it| it.value.as_str()).collect()
}

/// The one table that these parts of a name mean.
///
/// # Errors
/// There is none, or several.
pub(crate) fn resolve(catalogue: &Catalogue, parts: &[&str]) -> Result<TableKey, SqlError> {
    let wanted = Wanted::of(parts);
    let mut tables: Vec<TableKey> = wanted
        .last_parts()
        .flat_map(|last_part| catalogue.called(last_part))
        .collect();
    for is_meant in [Wanted::is, Wanted::is_end] {
        for any_case in [false, true] {
            let is_found = |table: &TableKey| is_meant(&wanted, &table.name, any_case);
            let found: Vec<usize> = (0..tables.len())
                .filter(|at| is_found(&tables[*at]))
                .collect();
            match found.as_slice() {
                [] => continue,
                [one] => return Ok(tables.swap_remove(*one)),
                several => {
                    let several = several.iter().map(|at| &tables[*at]);
                    return Err(ambiguous(&wanted, &several.collect::<Vec<_>>()));
                }
            }
        }
    }
    Err(unknown(&wanted, catalogue))
}

fn ambiguous(wanted: &Wanted, several: &[&TableKey]) -> SqlError {
    let names: BTreeSet<&str> = several.iter().map(|it| it.name.as_str()).collect();
    let owned = |texts: BTreeSet<&str>| texts.into_iter().map(str::to_owned).collect();
    if let (Some(name), 1) = (names.first(), names.len()) {
        let lakes: BTreeSet<&str> = several.iter().map(|it| it.lake.as_str()).collect();
        return SqlError::SeveralLakes {
            name: (*name).to_owned(),
            lakes: owned(lakes),
        };
    }
    SqlError::AmbiguousTable {
        name: wanted.written.clone(),
        tables: owned(names),
    }
}

fn unknown(wanted: &Wanted, catalogue: &Catalogue) -> SqlError {
    let (path, written) = (&wanted.path, &wanted.written);
    let begins = written.starts_with(['/', '.', '~']);
    let is_path = begins || written.contains("://") || written.contains('\\');
    if is_path {
        return SqlError::ReadsOnly(format!(
            "'{written}' is a path or URL, and only tables of the index can be read"
        ));
    }
    let names: Vec<&str> = catalogue
        .lines()
        .take(NEAR_AMONG + 1)
        .map(|it| it.name)
        .collect();
    let like = |wanted: &str| match names.len() > NEAR_AMONG {
        true => Vec::new(),
        false => near(wanted, names.iter().copied()),
    };
    // Whoever writes a file's name means its table.
    let stem = match path.rsplit_once('.') {
        Some((stem, _)) if Format::of_path(path).is_some() => Some(stem),
        _ => wanted.dotted_stem(),
    };
    let mut alike = like(stem.unwrap_or(path));
    if alike.is_empty() {
        alike = like(path);
    }
    SqlError::UnknownTable {
        name: wanted.written.clone(),
        near: alike,
    }
}

/// A name as it was written.
struct Wanted {
    /// With dots between its parts.
    written: String,
    /// With slashes between its parts.
    path: String,
    /// With dots for slashes, too: what a name with dots in it is compared with.
    dotted: String,
    /// That in lower case.
    folded: String,
}

impl Wanted {
    fn of(parts: &[&str]) -> Wanted {
        let path = parts.join("/");
        let dotted = path.replace('/', ".");
        Wanted {
            written: parts.join("."),
            folded: dotted.trim_matches('.').to_lowercase(),
            dotted,
            path: path.trim_matches('/').to_owned(),
        }
    }

    /// What a table that is meant may be called behind its last slash: any dot here may be one
    /// there.
    fn last_parts(&self) -> impl Iterator<Item = &str> {
        let folded = self.folded.as_str();
        let behind = folded.match_indices('.').map(|(at, _)| &folded[at + 1..]);
        std::iter::once(folded).chain(behind)
    }

    fn is(&self, name: &str, any_case: bool) -> bool {
        let same = |a: &str, b: &str| match any_case {
            true => a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase(),
            false => a == b,
        };
        same(name, &self.path)
            || (name.len() == self.dotted.len() && same(&name.replace('/', "."), &self.dotted))
    }

    /// Whether a name ends so, from the beginning of a part on.
    fn is_end(&self, name: &str, any_case: bool) -> bool {
        let mut ends = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
        ends.any(|end| self.is(end, any_case))
    }

    /// `churn` of `churn.csv`, where the parts were separated by the dot.
    fn dotted_stem(&self) -> Option<&str> {
        let (stem, _) = self.path.rsplit_once('/')?;
        Format::of_path(&self.written).map(|_| stem)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_segment::TableRecord;

    use super::*;

    const TABLES: &[(&str, &str)] = &[
        ("/lake", "crm/churn"),
        ("/lake", "emea/crm/visits"),
        ("/lake", "orders"),
        ("/lake", "sales/orders"),
        ("/lake", "sales/Returns"),
        ("/lake", "hr/staff.v2"),
        ("/lake", "a/stock"),
        ("/lake", "b/stock"),
        ("/lake", "shared"),
        ("s3://other", "shared"),
        ("/lake", "Mixed"),
        ("/lake", "mixed"),
    ];

    fn meant(parts: &[&str]) -> Result<String, SqlError> {
        let records = TABLES.iter().map(|(lake, name)| TableRecord {
            lake: (*lake).to_owned(),
            name: (*name).to_owned(),
            ..TableRecord::default()
        });
        let open = |_: &str| Err(SqlError::Unsupported("lake".to_owned()));
        let catalogue = Catalogue::new(records, open);
        resolve(&catalogue, parts).map(|key| key.name)
    }

    #[test]
    fn a_table_is_called_by_its_whole_name_or_the_end_of_it() {
        for (parts, name) in [
            (&["crm/churn"][..], "crm/churn"),
            (&["crm", "churn"], "crm/churn"),
            (&["churn"], "crm/churn"),
            (&["CHURN"], "crm/churn"),
            (&["Crm", "Churn"], "crm/churn"),
            (&["emea", "crm", "visits"], "emea/crm/visits"),
            (&["crm", "visits"], "emea/crm/visits"),
            (&["orders"], "orders"),
            (&["sales", "orders"], "sales/orders"),
            (&["returns"], "sales/Returns"),
            (&["hr", "staff", "v2"], "hr/staff.v2"),
            (&["staff.v2"], "hr/staff.v2"),
            (&["Mixed"], "Mixed"),
            (&["mixed"], "mixed"),
        ] {
            assert_eq!(meant(parts).unwrap(), name, "{parts:?}");
        }
    }

    #[test]
    fn a_name_that_may_be_several_is_an_error_that_lists_them() {
        let error = |parts: &[&str]| meant(parts).unwrap_err();
        let stock = error(&["stock"]).to_string();
        assert!(stock.contains("a/stock or b/stock"), "{stock}");
        let mixed = error(&["MIXED"]).to_string();
        assert!(mixed.contains("Mixed or mixed"), "{mixed}");
        let shared = error(&["shared"]).to_string();
        assert!(shared.contains("--lake, /lake or s3://other"), "{shared}");
    }

    #[test]
    fn a_name_that_is_none_is_an_error_that_suggests() {
        let error = |parts: &[&str]| meant(parts).unwrap_err();
        for (parts, suggested) in [
            (&["crm", "chrun"][..], "crm/churn"),
            (&["churn", "csv"], "crm/churn"),
            (&["crm/churn.parquet"], "crm/churn"),
            (&["churn", "v2"], "SHOW TABLES"),
            (&["weather"], "SHOW TABLES"),
        ] {
            let line = error(parts).to_string();
            assert!(line.contains(suggested), "{parts:?}: {line}");
        }
        for path in [
            "s3://bucket/x.parquet",
            "/etc/passwd",
            "../x.csv",
            "~/x.csv",
        ] {
            assert!(matches!(error(&[path]), SqlError::ReadsOnly(_)), "{path}");
        }
    }
}
