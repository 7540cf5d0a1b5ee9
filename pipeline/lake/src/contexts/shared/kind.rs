//! What a text about several tables is, as its name says.

use limn_formats::{Format, is_named_openlineage, member};
use serde::{Deserialize, Serialize};

use crate::place::{split_path, table_directory};

/// Bytes of a manifest that people write, and of one that programs write, which are read.
const MOST_BYTES: u64 = limn_formats::SIDECAR_BYTES;
const MOST_BYTES_OF_PROGRAMS: u64 = 64 << 20;

/// What a shared text is, as its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// `datapackage.json`.
    Frictionless,
    /// `csv-metadata.json`, `orders.csv-metadata.json`.
    Csvw,
    /// `croissant.json`, `*.croissant.json`, `*.jsonld`.
    Croissant,
    /// `schema.yml`, `models.yml`, `sources.yml`, `stg_schema.yaml`, `_models.yml`,
    /// `_stg_shop__models.yml`.
    Dbt,
    /// dbt's `manifest.json`, if its content says so.
    DbtManifest,
    /// dbt's `catalog.json`, if its content says so.
    DbtCatalog,
    /// `*.openlineage.json`, `openlineage*.jsonl`, if they hold events.
    OpenLineage,
    /// `data_dictionary.md`, `codebook.txt`, `codebook.pdf`, and so on.
    Dictionary,
    /// `README.md`, `README.txt`, `README.html`, `README.pdf`.
    Readme,
}

/// Extensions that such objects have.
const EXTENSIONS: [&str; 11] = [
    "json", "jsonl", "ndjson", "jsonld", "md", "txt", "html", "htm", "pdf", "yaml", "yml",
];

impl SharedKind {
    /// What an object is, if its name is one of those above, in any case.
    pub fn of_path(path: &str) -> Option<SharedKind> {
        let (_, name) = split_path(path);
        let (_, extension) = name.rsplit_once('.')?;
        let mut extensions = EXTENSIONS.iter();
        if !extensions.any(|it| extension.eq_ignore_ascii_case(it)) {
            return None;
        }
        let kind = Self::of_name(path, &name.to_ascii_lowercase())?;
        // A sheet or a database's table may have any name.
        Format::of_part(path).is_none().then_some(kind)
    }

    /// As above, of a name in lower case.
    fn of_name(path: &str, name: &str) -> Option<SharedKind> {
        match name {
            "datapackage.json" => return Some(Self::Frictionless),
            "csv-metadata.json" => return Some(Self::Csvw),
            "croissant.json" => return Some(Self::Croissant),
            _ => {}
        }
        if name.ends_with(".croissant.json") || name.ends_with(".jsonld") {
            return Some(Self::Croissant);
        }
        if let Some(described) = name.strip_suffix("-metadata.json") {
            return Format::of_path(described).map(|_| Self::Csvw);
        }
        if let Some(kind) = Self::of_programs(path, name) {
            // What lies in an archive, or among the files of a table, is data.
            let is_data = member::split(path).is_some() || table_directory(path).is_some();
            return (!is_data).then_some(kind);
        }
        let (stem, extension) = name.rsplit_once('.')?;
        let is_text = matches!(extension, "md" | "txt" | "html" | "htm" | "pdf");
        let is_yaml = matches!(extension, "yaml" | "yml");
        if !is_text && !is_yaml && extension != "json" {
            return None;
        }
        let letters: String = stem.chars().filter(|it| it.is_alphanumeric()).collect();
        let is_dictionary = ["datadictionary", "datadict", "codebook"]
            .iter()
            .any(|end| letters.ends_with(end));
        let last = stem.rsplit(['_', '-', '.']).next().unwrap_or(stem);
        if is_text && stem == "readme" {
            Some(Self::Readme)
        } else if is_dictionary && (is_text || is_yaml || extension == "json")
            || stem == "dictionary" && (is_text || is_yaml)
        {
            Some(Self::Dictionary)
        } else if is_yaml && ["schema", "models", "sources", "properties", "seeds"].contains(&last)
        {
            Some(Self::Dbt)
        } else {
            None
        }
    }

    fn of_programs(path: &str, name: &str) -> Option<SharedKind> {
        match name {
            "manifest.json" => Some(Self::DbtManifest),
            "catalog.json" => Some(Self::DbtCatalog),
            _ => is_named_openlineage(path).then_some(Self::OpenLineage),
        }
    }

    /// Whether its name is that of data as well, and its content decides: without what makes it a
    /// text, it says nothing, and may hold rows.
    pub fn may_hold_rows(self) -> bool {
        matches!(
            self,
            Self::DbtManifest | Self::DbtCatalog | Self::OpenLineage
        )
    }

    /// The folder at `path` or above it whose tables, with those of all folders below, the text may
    /// be about; `None` if it is about those of its directory alone. What programs write lies in a
    /// folder of its own, or in `target/` there: it is about what lies beside that folder.
    pub(crate) fn reach(self, path: &str) -> Option<&str> {
        let directory = split_path(path).0;
        match self {
            Self::Dictionary => None,
            kind if kind.may_hold_rows() => {
                let (above, name) = split_path(directory);
                let project = match name {
                    "target" => above,
                    _ => directory,
                };
                Some(split_path(project).0)
            }
            _ => Some(directory),
        }
    }

    /// Whether it is written for programs: then one that cannot be read is a failure of its tables.
    pub(super) fn is_manifest(self) -> bool {
        !matches!(self, Self::Dictionary | Self::Readme)
    }

    /// Bytes of it that are read at most.
    pub fn most_bytes(self) -> u64 {
        match self.may_hold_rows() {
            true => MOST_BYTES_OF_PROGRAMS,
            false => MOST_BYTES,
        }
    }
}
