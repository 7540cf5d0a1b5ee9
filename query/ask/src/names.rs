//! Which table a name means.
//!
//! A table is called by its whole name (`"crm/churn"`, or `crm.churn` without quotes), or by the end of it (`churn`) where
//! only one table ends so. Letters in another case are good enough where nothing has them as they are written.

use std::collections::BTreeSet;

use datafusion::sql::sqlparser::ast::ObjectName;
use limn_formats::Format;

use crate::error::AskError;
use crate::near::near;

/// A table's lake and name.
pub(crate) trait Named {
    fn lake(&self) -> &str;
    fn name(&self) -> &str;
}

/// The parts of a written name.
pub(crate) fn parts(name: &ObjectName) -> Vec<&str> {
    let idents = name.0.iter().filter_map(|part| part.as_ident());
    idents.map(|it| it.value.as_str()).collect()
}

/// The one table that these parts of a name mean.
///
/// # Errors
/// There is none, or several.
pub(crate) fn resolve<'a, T: Named>(tables: &'a [T], parts: &[&str]) -> Result<&'a T, AskError> {
    let wanted = Wanted::of(parts);
    for is_meant in [Wanted::is_whole, Wanted::is_end] {
        for any_case in [false, true] {
            let found = tables
                .iter()
                .filter(|table| is_meant(&wanted, table.name(), any_case));
            let found: Vec<&T> = found.collect();
            match found.as_slice() {
                [] => continue,
                [table] => return Ok(table),
                several => return Err(ambiguous(&wanted, several)),
            }
        }
    }
    Err(unknown(&wanted, tables))
}

fn ambiguous<T: Named>(wanted: &Wanted, several: &[&T]) -> AskError {
    let names: BTreeSet<&str> = several.iter().map(|it| it.name()).collect();
    let owned = |texts: BTreeSet<&str>| texts.into_iter().map(str::to_owned).collect();
    if let (Some(name), 1) = (names.first(), names.len()) {
        let lakes: BTreeSet<&str> = several.iter().map(|it| it.lake()).collect();
        return AskError::SeveralLakes {
            name: (*name).to_owned(),
            lakes: owned(lakes),
        };
    }
    AskError::AmbiguousTable {
        name: wanted.written.clone(),
        tables: owned(names),
    }
}

fn unknown<T: Named>(wanted: &Wanted, tables: &[T]) -> AskError {
    let (path, written) = (&wanted.path, &wanted.written);
    let begins = written.starts_with(['/', '.', '~']);
    let is_path = begins || written.contains("://") || written.contains('\\');
    if is_path {
        return AskError::ReadsOnly(format!(
            "'{written}' is a path or URL, and only tables of the index can be read"
        ));
    }
    let names = || tables.iter().map(Named::name);
    // Who writes a file's name means its table.
    let stem = match path.rsplit_once('.') {
        Some((stem, _)) if Format::of_path(path).is_some() => Some(stem),
        _ => wanted.dotted_stem(),
    };
    let mut alike = near(stem.unwrap_or(path), names());
    if alike.is_empty() {
        alike = near(path, names());
    }
    AskError::UnknownTable {
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
}

impl Wanted {
    fn of(parts: &[&str]) -> Wanted {
        let path = parts.join("/");
        Wanted {
            written: parts.join("."),
            dotted: path.replace('/', "."),
            path: path.trim_matches('/').to_owned(),
        }
    }

    fn is(&self, name: &str, any_case: bool) -> bool {
        let same = |a: &str, b: &str| match any_case {
            true => a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase(),
            false => a == b,
        };
        same(name, &self.path)
            || (name.len() == self.dotted.len() && same(&name.replace('/', "."), &self.dotted))
    }

    fn is_whole(&self, name: &str, any_case: bool) -> bool {
        self.is(name, any_case)
    }

    /// Whether a name ends so, from the beginning of a part on.
    fn is_end(&self, name: &str, any_case: bool) -> bool {
        let mut ends = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
        ends.any(|end| self.is(end, any_case))
    }

    /// `churn` of `churn.csv`, where the parts were told apart by the dot.
    fn dotted_stem(&self) -> Option<&str> {
        let (stem, _) = self.path.rsplit_once('/')?;
        Format::of_path(&self.written).map(|_| stem)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Table(&'static str, &'static str);

    impl Named for Table {
        fn lake(&self) -> &str {
            self.0
        }
        fn name(&self) -> &str {
            self.1
        }
    }

    const TABLES: &[Table] = &[
        Table("/lake", "crm/churn"),
        Table("/lake", "emea/crm/visits"),
        Table("/lake", "orders"),
        Table("/lake", "sales/orders"),
        Table("/lake", "sales/Returns"),
        Table("/lake", "hr/staff.v2"),
        Table("/lake", "a/stock"),
        Table("/lake", "b/stock"),
        Table("/lake", "shared"),
        Table("s3://other", "shared"),
        Table("/lake", "Mixed"),
        Table("/lake", "mixed"),
    ];

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
            let found = resolve(TABLES, parts).map(Named::name);
            assert_eq!(found.unwrap(), name, "{parts:?}");
        }
    }

    #[test]
    fn a_name_that_may_be_several_is_an_error_that_lists_them() {
        let error = |parts: &[&str]| resolve(TABLES, parts).map(Named::name).unwrap_err();
        let stock = error(&["stock"]).to_string();
        assert!(stock.contains("a/stock or b/stock"), "{stock}");
        let mixed = error(&["MIXED"]).to_string();
        assert!(mixed.contains("Mixed or mixed"), "{mixed}");
        let shared = error(&["shared"]).to_string();
        assert!(shared.contains("--lake, /lake or s3://other"), "{shared}");
    }

    #[test]
    fn a_name_that_is_none_is_an_error_that_suggests() {
        let error = |parts: &[&str]| resolve(TABLES, parts).map(Named::name).unwrap_err();
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
            assert!(matches!(error(&[path]), AskError::ReadsOnly(_)), "{path}");
        }
    }
}
