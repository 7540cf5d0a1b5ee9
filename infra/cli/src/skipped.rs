//! What a run listed and did not read, by kind: whoever misses a table finds out whether its file
//! is of a kind that limn does not read. Of kinds that hold tables the first are named.

use limn_pipeline::{ObjectCounts, Skipped};
use limn_store::one_line;

use crate::text::count;

/// Extensions of a kind that are named.
const EXTENSIONS_SHOWN: usize = 8;
/// Files of a kind that are named, if it holds tables.
const FILES_SHOWN: usize = 3;
/// The kinds that hold tables.
const OF_TABLES: [&str; 2] = ["database", "statistics file"];

/// One of a kind and several, and the extensions of the kind. Kinds that hold tables come first.
const KINDS: &[(&str, &str, &[&str])] = &[
    (
        "database",
        "databases",
        &[
            "duckdb", "ddb", "mdb", "accdb", "fdb", "gdb", "h2", "dump", "bak", "mdf", "rdb",
        ],
    ),
    (
        "map file",
        "map files",
        &[
            "shp", "shx", "prj", "cpg", "sbn", "sbx", "qix", "gpkg", "topojson", "kml", "kmz",
            "gml", "gpx", "osm", "pbf", "tif", "tiff", "geotiff", "mbtiles", "pmtiles", "fgb",
            "las", "laz",
        ],
    ),
    (
        "statistics file",
        "statistics files",
        &[
            "sas7bdat", "xpt", "sav", "zsav", "por", "dta", "rds", "rda", "rdata",
        ],
    ),
    (
        "array or model",
        "arrays and models",
        &[
            "nc",
            "nc4",
            "cdf",
            "h5",
            "hdf5",
            "hdf",
            "h5ad",
            "zarr",
            "npy",
            "npz",
            "mat",
            "fits",
            "grib",
            "grib2",
            "pkl",
            "pickle",
            "joblib",
            "pt",
            "pth",
            "onnx",
            "safetensors",
            "gguf",
            "tfrecord",
            "model",
        ],
    ),
    (
        "other archive",
        "other archives",
        &["rar", "7z", "jar", "war", "iso", "cab", "arj", "lzh"],
    ),
    (
        "document",
        "documents",
        &[
            "pdf", "doc", "docx", "odt", "rtf", "ppt", "pptx", "odp", "md", "rst", "tex", "html",
            "htm", "epub", "msg", "eml",
        ],
    ),
    (
        "picture, sound or film",
        "pictures, sounds and films",
        &[
            "png", "jpg", "jpeg", "gif", "bmp", "svg", "webp", "heic", "ico", "mp3", "wav", "flac",
            "ogg", "mp4", "mov", "avi", "mkv", "webm",
        ],
    ),
    (
        "program or setting",
        "programs and settings",
        &[
            "py", "ipynb", "r", "rmd", "jl", "sql", "sh", "bash", "js", "ts", "java", "scala",
            "rs", "go", "c", "h", "cpp", "yaml", "yml", "toml", "ini", "cfg", "conf", "xml", "xsd",
            "lock", "so", "dll", "exe", "whl",
        ],
    ),
    ("log", "logs", &["log", "out", "err", "crc"]),
];

/// What was listed and holds nothing for the index, in one line.
pub fn line(objects: &ObjectCounts) -> Option<String> {
    let mut parts = Vec::new();
    let kinds = kinds(&objects.skipped);
    if !kinds.is_empty() {
        parts.push(format!("{} (not read)", kinds.join(", ")));
    }
    if objects.hidden > 0 {
        parts.push(format!("{} hidden or temporary", count(objects.hidden)));
    }
    if objects.filtered > 0 {
        parts.push(format!("{} by filters", count(objects.filtered)));
    }
    (!parts.is_empty()).then(|| format!("skipped: {}", parts.join("; ")))
}

fn kinds(skipped: &[Skipped]) -> Vec<String> {
    let (bare, mut left): (Vec<&Skipped>, Vec<&Skipped>) =
        skipped.iter().partition(|it| it.extension.is_empty());
    let mut parts = Vec::new();
    for (one, several, extensions) in KINDS {
        let is_of_kind = |it: &mut &Skipped| extensions.contains(&it.extension.as_str());
        let of_kind: Vec<&Skipped> = left.extract_if(.., is_of_kind).collect();
        parts.extend(kind(one, several, &of_kind));
    }
    let bare: u64 = bare.iter().map(|it| it.objects).sum();
    if bare > 0 {
        parts.push(format!("{} without an extension", count(bare)));
    }
    parts.extend(kind("other", "others", &left));
    parts
}

/// `3 documents (.docx, .pdf)`, `1 database (crm/old.mdb)`.
fn kind(one: &str, several: &str, skipped: &[&Skipped]) -> Option<String> {
    let objects: u64 = skipped.iter().map(|it| it.objects).sum();
    let name = if objects == 1 { one } else { several };
    let mut paths: Vec<&String> = skipped.iter().flat_map(|it| &it.paths).collect();
    if OF_TABLES.contains(&one) && !paths.is_empty() {
        paths.sort_unstable();
        let shown = paths.iter().take(FILES_SHOWN);
        let mut shown: Vec<String> = shown.map(|path| one_line(path)).collect();
        if objects > shown.len() as u64 {
            shown.push("…".to_owned());
        }
        return Some(format!("{} {name} ({})", count(objects), shown.join(", ")));
    }
    let shown = skipped.iter().take(EXTENSIONS_SHOWN);
    let mut extensions: Vec<String> = shown.map(|it| format!(".{}", it.extension)).collect();
    if skipped.len() > EXTENSIONS_SHOWN {
        extensions.push("…".to_owned());
    }
    (objects > 0).then(|| format!("{} {name} ({})", count(objects), extensions.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, u64)]) -> ObjectCounts {
        let skipped = pairs.iter().map(|(extension, objects)| Skipped {
            extension: (*extension).to_owned(),
            objects: *objects,
            paths: Vec::new(),
        });
        ObjectCounts {
            skipped: skipped.collect(),
            ..ObjectCounts::default()
        }
    }

    #[test]
    fn what_is_skipped_is_listed_by_kind_and_no_database_hides_among_others() {
        assert_eq!(line(&ObjectCounts::default()), None);
        let mut objects = of(&[
            ("pdf", 1200),
            ("xyz", 4),
            ("docx", 3),
            ("", 2),
            ("duckdb", 1),
            ("shp", 1),
            ("shx", 1),
        ]);
        (objects.hidden, objects.filtered) = (4, 12);
        assert_eq!(
            line(&objects).as_deref(),
            Some(
                "skipped: 1 database (.duckdb), 2 map files (.shp, .shx), 1,203 documents (.pdf, .docx), \
                 2 without an extension, 4 others (.xyz) (not read); 4 hidden or temporary; 12 by filters"
            )
        );
    }

    #[test]
    fn of_kinds_that_hold_tables_the_first_are_named() {
        let mut objects = of(&[("mdb", 2), ("sav", 1), ("duckdb", 7), ("pdf", 1)]);
        let paths: [&[&str]; 4] = [
            &["crm/b.mdb", "crm/d.mdb"],
            &["study/x.sav"],
            &["a.duckdb", "crm/c.duckdb", "e.duckdb"],
            &["x.pdf"],
        ];
        for (skipped, paths) in objects.skipped.iter_mut().zip(paths) {
            skipped.paths = paths.iter().map(|it| (*it).to_owned()).collect();
        }
        assert_eq!(
            line(&objects).as_deref(),
            Some(
                "skipped: 9 databases (a.duckdb, crm/b.mdb, crm/c.duckdb, …), 1 statistics file (study/x.sav), 1 document (.pdf) (not read)"
            )
        );
    }

    #[test]
    fn of_many_extensions_the_most_frequent_are_named() {
        let names: Vec<String> = (0..20).map(|i| format!("x{i}")).collect();
        let pairs: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 2)).collect();
        let line = line(&of(&pairs));
        assert_eq!(
            line.as_deref(),
            Some("skipped: 40 others (.x0, .x1, .x2, .x3, .x4, .x5, .x6, .x7, …) (not read)")
        );
    }

    #[test]
    fn an_extension_is_of_one_kind() {
        let all = KINDS.iter().flat_map(|(_, _, extensions)| *extensions);
        let mut all: Vec<&&str> = all.collect();
        let extensions = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), extensions);
    }
}
