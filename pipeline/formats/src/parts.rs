//! Files that belong to a dBase table of their name: of a shapefile the shapes, and the name of the
//! encoding.
//!
//! `roads.shp` and `roads.cpg` are read with `roads.dbf`, whatever the case of their extensions.
//! The others of a shapefile (its index, its projection) and of a dBase table (its memos and
//! indexes) are passed over beside it.

use crate::member::extension;

/// What such a file is to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// `.shp`: the geometry of each row.
    Shapes,
    /// `.cpg`: the encoding of its texts.
    Encoding,
    /// What nothing is read of.
    Other,
}

/// Extensions of files that are passed over beside a dBase table.
const OTHERS: [&str; 19] = [
    "shx", "prj", "qpj", "sbn", "sbx", "qix", "fix", "fbn", "fbx", "ain", "aih", "atx", "ixs",
    "mxs", "dbt", "fpt", "cdx", "mdx", "ndx",
];
/// Metadata that ArcGIS writes beside a shapefile.
const METADATA: &str = ".shp.xml";

/// What a file is to the dBase table that its name would be that of, and the table's path without
/// its extension.
pub fn of_path(path: &str) -> Option<(Part, &str)> {
    let at = path.len().checked_sub(METADATA.len());
    if let Some((stem, end)) = at.and_then(|at| path.split_at_checked(at))
        && end.eq_ignore_ascii_case(METADATA)
    {
        return Some((Part::Other, stem));
    }
    let extension = extension(path)?;
    let stem = path.get(..path.len() - extension.len() - 1)?;
    let is = |name: &str| extension.eq_ignore_ascii_case(name);
    let part = if is("shp") {
        Part::Shapes
    } else if is("cpg") {
        Part::Encoding
    } else if OTHERS.into_iter().any(is) {
        Part::Other
    } else {
        return None;
    };
    Some((part, stem))
}

/// Whether a file is read with the dBase table of its name.
pub fn is_read_with_another(path: &str) -> bool {
    of_path(path).is_some_and(|(part, _)| part != Part::Other)
}

/// The path of a dBase table without its extension.
pub fn stem_of_table(path: &str) -> Option<&str> {
    let at = path.len().checked_sub(".dbf".len())?;
    let (stem, extension) = path.split_at_checked(at)?;
    extension.eq_ignore_ascii_case(".dbf").then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        for (path, expected) in [
            ("a/roads.shp", Some((Part::Shapes, "a/roads"))),
            ("a.zip//R.SHP", Some((Part::Shapes, "a.zip//R"))),
            ("roads.Cpg", Some((Part::Encoding, "roads"))),
            ("roads.shx", Some((Part::Other, "roads"))),
            ("roads.shp.xml", Some((Part::Other, "roads"))),
            ("roads.xml", None),
            ("shp", None),
            ("", None),
        ] {
            assert_eq!(of_path(path), expected, "{path}");
        }
        assert!(is_read_with_another("x.shp") && !is_read_with_another("x.prj"));
        assert_eq!(stem_of_table("a/Roads.DBF"), Some("a/Roads"));
        assert_eq!(stem_of_table("a/roads.db"), None);
        assert_eq!(stem_of_table("é.b"), None);
    }
}
