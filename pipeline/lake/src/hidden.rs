//! Which objects writers mean to be skipped, as their paths say.

use crate::contexts::SharedKind;
use crate::place::split_path;

/// Names of files and folders that programs leave beside data, in any case.
const LITTER: [&str; 8] = [
    "thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
    "lost+found",
    "$recycle.bin",
    "system volume information",
    "@eadir",
    "#recycle",
];
/// Extensions that a program gives to what it has not finished, or to its notes about a file, in
/// any case.
const UNFINISHED: [&str; 13] = [
    "tmp",
    "temp",
    "part",
    "partial",
    "crdownload",
    "filepart",
    "inprogress",
    "incomplete",
    "_copying_",
    "swp",
    "bak",
    "lock",
    "crc",
];

/// Whether writers mean this object to be skipped: a component that starts with `.` or `_`, as
/// Hadoop's and Spark's own do (`_SUCCESS`, `_temporary`, `_started_…`, `.x.csv.crc`,
/// `.~lock.x.xlsx#`); what a program is writing, or keeps beside its files (`x.csv.tmp`,
/// `~$x.xlsx`, `Thumbs.db`). Of a directory, `_key=value` is a partition nevertheless (Spark's
/// rule); and dbt's files are called `_models.yml`.
pub(crate) fn is_hidden(path: &str) -> bool {
    let (directory, name) = split_path(path);
    is_hidden_name(name) || is_in_hidden(directory)
}

/// Whether the name of an object says so.
pub(crate) fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.')
        || name.starts_with('_') && SharedKind::of_path(name) != Some(SharedKind::Dbt)
        || name.starts_with("~$")
        || is_unfinished(name)
        || is_litter(name)
}

/// Whether the path of the directory that an object lies in says so.
pub(crate) fn is_in_hidden(directory: &str) -> bool {
    directory.split('/').any(is_hidden_directory)
}

fn is_hidden_directory(part: &str) -> bool {
    part.starts_with('.') || (part.starts_with('_') && !part.contains('=')) || is_litter(part)
}

fn is_litter(part: &str) -> bool {
    LITTER.iter().any(|name| part.eq_ignore_ascii_case(name))
}

fn is_unfinished(name: &str) -> bool {
    let Some((_, extension)) = name.rsplit_once('.') else {
        return name.ends_with('~');
    };
    let mut points = memchr::memchr_iter(b'.', name.as_bytes());
    name.ends_with('~')
        || UNFINISHED.iter().any(|it| extension.eq_ignore_ascii_case(it))
        // Flink adds an id: `part-0-1.inprogress.6d2a…`.
        || points.any(|at| name[at + 1..].starts_with("inprogress."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_scaffolding_is_hidden() {
        for hidden in [
            "_SUCCESS",
            "a/_tmp/x.csv",
            ".x.csv.crc",
            "a/.b/c.csv",
            "a/_x=1.csv",
            "_delta_log/0.json",
            "out/_metadata",
            "out/_common_metadata",
            "out/_SUCCESS.crc",
            "out/_temporary/0/task_1/part-00000.csv",
            "out/_started_7512",
            "out/_committed_7512",
            "a/.DS_Store",
            ".~lock.x.xlsx#",
            "~$x.xlsx",
            "x.csv~",
            "x.csv.tmp",
            "x.TMP",
            "x.parquet.crc",
            "x.csv.part",
            "x.csv.crdownload",
            "x.csv._COPYING_",
            "part-0-1.inprogress.6d2a4f",
            "part-0-1.csv.inprogress",
            "a/Thumbs.db",
            "desktop.ini",
            "@eaDir/x.csv",
            "$RECYCLE.BIN/S-1/x.csv",
            "lost+found/x.csv",
            "__MACOSX/x.csv",
            "_orders.yml",
            "_data_dictionary.yml",
            "_datapackage.json",
            "._models.yml",
            "_tmp/_models.yml",
        ] {
            assert!(is_hidden(hidden), "{hidden}");
        }
        for shown in [
            "a.csv",
            "a_b/c.csv",
            "a/_year=2020/c.csv",
            "a.b/c.csv",
            "tmp/x.csv",
            "x.tmp/y.csv",
            "part.csv",
            "x.part.csv",
            "a~b.csv",
            "bak.csv",
            "thumbs.csv",
            "crc.parquet",
            "inprogress.csv",
            "ü~/x.csv",
            "_models.yml",
            "a/__sources.yaml",
            "_stg_shop__models.yml",
            "_Schema.yml",
        ] {
            assert!(!is_hidden(shown), "{shown}");
        }
    }
}
