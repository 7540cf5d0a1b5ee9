//! Texts about several tables: a directory's README, data dictionaries, and the manifests of datasets.
//!
//! A table is given its own part of such a text and nothing else, so that a change of one part is a change of one table. Parts are
//! found by the paths that a manifest gives its resources (Frictionless `path`, CSVW `url`, Croissant `contentUrl`), or by the
//! names that a text calls tables by. Each text is cut up once ([`SharedText::of`]) and asked as often as there are tables.

mod manifests;
mod sections;
mod yaml;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use limn_formats::{Confined, Container, FileError, FileErrorKind, Format, ObjectRecord};
use limn_profile::text::prefix;
use limn_store::Store;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::read_text;
use crate::place::{split_path, without_extension};

/// Characters of a table's part of a shared text; more says nothing that a search could use.
const PART_CHARS: usize = 64 << 10;

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
    /// `schema.yml`, `models.yml`, `sources.yml`, `stg_schema.yaml`, `_models.yml`, `_stg_shop__models.yml`.
    Dbt,
    /// `data_dictionary.md`, `codebook.txt`, `codebook.pdf`, and so on.
    Dictionary,
    /// `README.md`, `README.txt`, `README.html`, `README.pdf`.
    Readme,
}

impl SharedKind {
    /// What an object is, if its name is one of those above, in any case.
    pub fn of_path(path: &str) -> Option<SharedKind> {
        // A sheet or a database's table may have any name.
        if Format::of_part(path).is_some() {
            return None;
        }
        let name = split_path(path).1.to_ascii_lowercase();
        match name.as_str() {
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
        let (stem, extension) = name.rsplit_once('.')?;
        let is_text = matches!(extension, "md" | "txt" | "html" | "htm" | "pdf");
        let is_yaml = matches!(extension, "yaml" | "yml");
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

    /// Whether it may be about tables below its directory, too.
    pub fn reaches_below(self) -> bool {
        self != Self::Dictionary
    }

    /// Whether it is written for programs: then one that cannot be read is a failure of its tables.
    fn is_manifest(self) -> bool {
        !matches!(self, Self::Dictionary | Self::Readme)
    }
}

/// By what a text about several tables may speak of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct About {
    /// The paths by which it may name the table.
    pub paths: Vec<String>,
    /// The folders that the table lies in below that of the text. What is said of them is said of the table, if nothing is said of
    /// itself.
    pub folders: Vec<String>,
    /// Whether the table has all of a text that names no other…
    pub whole: bool,
    /// …the other tables of its folder, by their paths.
    pub others: Vec<String>,
}

/// One table's part of a text about several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// The text; empty if nothing.
    pub text: String,
    /// Whether it is about a folder of tables, and names none of them.
    pub of_folder: bool,
}

impl ContextPart {
    /// A text about one table.
    pub fn of_table(text: String) -> ContextPart {
        ContextPart {
            text,
            of_folder: false,
        }
    }
}

/// A shared text, cut into the parts that are about tables. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedText(Arc<Parts>);

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Parts::deserialize(deserializer).map(|parts| SharedText(Arc::new(parts)))
    }
}

/// The parts of a text and what they are about.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Parts {
    /// The directory of the text.
    directory: String,
    /// All of it, where a table may have all.
    whole: String,
    parts: Vec<Part>,
    /// Parts by paths from the directory.
    by_path: HashMap<String, Vec<usize>>,
    /// Parts by names of files or tables, in lower case.
    by_name: HashMap<String, Vec<usize>>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    text: String,
    /// What it does not make sense without: the header of its table, the package of its resource.
    above: Option<usize>,
}

impl Parts {
    fn add(&mut self, text: String, above: Option<usize>) -> usize {
        self.parts.push(Part { text, above });
        self.parts.len() - 1
    }

    /// Says that a part is about what is at a path or URL.
    fn is_at(&mut self, part: usize, place: &str) {
        let place = place.trim().trim_end_matches('/');
        if place.contains("://") {
            let path = place.split(['?', '#']).next().unwrap_or(place);
            return self.is_called(part, split_path(path).1);
        }
        let place = place.strip_prefix("./").unwrap_or(place);
        for key in BTreeSet::from([place, without_extension(place)]) {
            if !key.is_empty() {
                self.by_path.entry(key.to_owned()).or_default().push(part);
            }
        }
    }

    /// Says that a part is about the table or file of a name.
    fn is_called(&mut self, part: usize, name: &str) {
        let name = name.trim().to_lowercase();
        if !name.is_empty() {
            self.by_name.entry(name).or_default().push(part);
        }
    }

    /// The text's parts about the table at a path.
    fn about(&self, path: &str, found: &mut BTreeSet<usize>) {
        let below = path.strip_prefix(self.directory.as_str());
        let below = below.map(|it| it.strip_prefix('/').unwrap_or(it));
        let stem = without_extension(path);
        let (name, bare) = (split_path(path).1, split_path(stem).1);
        let (name, bare) = (name.to_lowercase(), bare.to_lowercase());
        let at = below.and_then(|below| {
            let by_path = self.by_path.get(below);
            by_path.or_else(|| self.by_path.get(without_extension(below)))
        });
        let found_here = match at {
            Some(parts) => parts.as_slice(),
            None => {
                let named = self.by_name.get(&name).into_iter();
                let others = self.by_name.get(&bare).into_iter().filter(|_| name != bare);
                found.extend(named.chain(others).flatten());
                return;
            }
        };
        found.extend(found_here);
    }
}

impl SharedText {
    /// Bytes of text that it holds.
    pub fn held(&self) -> usize {
        let parts = self.0.parts.iter().map(|part| part.text.len());
        self.0.whole.len() + parts.sum::<usize>()
    }

    /// Cuts up the text of an object.
    ///
    /// # Errors
    /// It is a manifest and not JSON, or not YAML.
    pub fn of(path: &str, kind: SharedKind, text: String) -> Result<SharedText, FileError> {
        let mut parts = Parts {
            directory: split_path(path).0.to_owned(),
            ..Parts::default()
        };
        let no_json = |error: serde_json::Error| format!("it is not JSON ({error})");
        let is_json = path.to_ascii_lowercase().ends_with(".json");
        match kind {
            SharedKind::Frictionless | SharedKind::Csvw | SharedKind::Croissant => {
                manifests::cut(path, kind, &text, &mut parts).map_err(no_json)
            }
            SharedKind::Dictionary if is_json => {
                manifests::cut(path, kind, &text, &mut parts).map_err(no_json)
            }
            SharedKind::Dbt => {
                yaml::cut(&text, &mut parts);
                yaml::check(&text).map_err(|flaw| format!("it is not YAML ({flaw})"))
            }
            SharedKind::Dictionary | SharedKind::Readme => {
                let path = path.to_ascii_lowercase();
                if path.ends_with(".yaml") || path.ends_with(".yml") {
                    yaml::cut(&text, &mut parts);
                } else {
                    sections::cut(&text, &mut parts);
                }
                Ok(())
            }
        }
        .map_err(|cause| {
            FileError::new(path, FileErrorKind::NotItsFormat, cause)
                .with_remedy("mend it, or give it another name")
        })?;
        if matches!(kind, SharedKind::Dictionary | SharedKind::Readme) {
            parts.whole = text;
        }
        Ok(SharedText(Arc::new(parts)))
    }

    /// Its part about a table: what names the table; else, in a text that names others, what names
    /// its folders. A table that is to have it whole has all of a text that names no table of its
    /// folder, and of one that names it alone where there is no other.
    #[must_use]
    pub fn part(&self, about: &About) -> ContextPart {
        let own = self.found(&about.paths);
        // Files that are named in the folder of a table of many are its own.
        let is_file = about.paths.first().is_some_and(|path| is_data_file(path));
        let names_others = !self.found(&about.others).is_empty()
            || own.is_empty() && is_file && self.0.by_name.keys().any(|name| is_data_file(name));
        let is_one_of_many = !own.is_empty() && !about.others.is_empty();
        if about.whole && !self.0.whole.is_empty() && !names_others && !is_one_of_many {
            return ContextPart {
                text: self.0.whole.clone(),
                of_folder: !about.others.is_empty(),
            };
        }
        if !own.is_empty() {
            return ContextPart::of_table(self.text_of(own));
        }
        let text = self.text_of(self.found(&about.folders));
        ContextPart {
            of_folder: !text.is_empty(),
            text,
        }
    }

    fn found(&self, paths: &[String]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for path in paths.iter().filter(|path| !path.is_empty()) {
            self.0.about(path, &mut found);
        }
        found
    }

    fn text_of(&self, mut found: BTreeSet<usize>) -> String {
        let above: Vec<usize> = found
            .iter()
            .filter_map(|part| self.0.parts.get(*part)?.above)
            .collect();
        found.extend(above);
        let mut text = String::new();
        for part in found.iter().filter_map(|part| self.0.parts.get(*part)) {
            if text.len() > PART_CHARS {
                break;
            }
            text.push_str(part.text.trim_end());
            text.push('\n');
        }
        prefix(text.trim_end(), PART_CHARS).to_owned()
    }
}

/// Whether a word of a text is the name of a file of a table, and of nothing else.
fn is_data_file(name: &str) -> bool {
    let format = Format::of_path(name);
    format.is_some_and(|it| it != Format::JsonLines && !it.is_uncertain())
        || Container::of_path(name).is_some_and(|it| it.format_of_parts().is_some())
}

/// Reads a shared text, as [`super::read_sidecar`] does, and cuts it up.
///
/// # Errors
/// As [`super::read_sidecar`] and [`SharedText::of`].
pub async fn read_shared(
    store: &Store,
    object: &ObjectRecord,
    kind: SharedKind,
    confined: Option<&Confined>,
) -> Result<SharedText, FileError> {
    if object.size > super::SIDECAR_BYTES && kind.is_manifest() {
        let cause = format!(
            "it is larger than the {} bytes that are read of a manifest",
            super::SIDECAR_BYTES
        );
        let error = FileError::new(&object.path, FileErrorKind::Unsupported, cause);
        return Err(error.with_remedy("describe the tables in several smaller ones"));
    }
    let text = read_text(store, object, confined).await?;
    SharedText::of(&object.path, kind, text)
}

#[cfg(test)]
mod tests;
