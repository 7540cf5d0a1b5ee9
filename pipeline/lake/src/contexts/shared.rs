//! Texts about several tables: a directory's README, data dictionaries, and the manifests of
//! datasets.
//!
//! A table is given its own part of such a text and nothing else, so that a change of one part is a
//! change of one table. Parts are found by the paths that a manifest gives its resources
//! (Frictionless `path`, CSVW `url`, Croissant `contentUrl`), by the names that a text calls tables
//! by, or as relations (dbt, OpenLineage). Each text is cut up once ([`SharedText::of`]) and asked
//! as often as there are tables.

mod dbt;
mod kind;
mod lineage;
mod manifests;
mod relations;
mod said;
mod sections;
mod sparse;
mod yaml;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use limn_formats::{Artifact, Confined, Container, FileError, FileErrorKind, Format, ObjectRecord};
use limn_profile::text::prefix;
use limn_store::Store;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::relations::Relations;
use super::read_text;
use crate::place::{split_path, without_extension};

pub use self::kind::SharedKind;

/// Characters of a table's part of a shared text; more says nothing that a search could use.
const PART_CHARS: usize = 64 << 10;

/// By what a text about several tables may speak of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct About {
    /// The paths by which it may name the table.
    pub paths: Vec<String>,
    /// The folders that the table lies in below that of the text. What is said of them is said of
    /// the table, if nothing is said of itself.
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
    /// Parts about folders, as the text itself says.
    of_folders: BTreeSet<usize>,
    /// Parts by what their tables are called in a database, and where they lie.
    relations: Relations,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    text: String,
    /// What it does not make sense without: the header of its table, the package of its resource.
    above: Option<usize>,
    /// Of prose the lines of the whole that it is.
    lines: Range<usize>,
}

impl Parts {
    fn add(&mut self, text: String, above: Option<usize>) -> usize {
        self.add_lines(text, above, 0..0)
    }

    fn add_lines(&mut self, text: String, above: Option<usize>, lines: Range<usize>) -> usize {
        self.parts.push(Part { text, above, lines });
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

    /// Says that a part is about the table, file or, with a slash at its end, folder of a name.
    fn is_called(&mut self, part: usize, name: &str) {
        let name = name.trim().to_lowercase();
        let name = match name.strip_suffix('/') {
            Some(folder) => {
                self.of_folders.insert(part);
                folder.to_owned()
            }
            None => name,
        };
        if !name.is_empty() {
            self.by_name.entry(name).or_default().push(part);
        }
    }

    /// The text's parts about the table at a path.
    fn about(&self, path: &str, found: &mut BTreeSet<usize>) {
        if !self.relations.is_empty() {
            found.extend(self.relations.about(path));
            return;
        }
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
        self.0.whole.len() + parts.sum::<usize>() + self.0.relations.held()
    }

    /// Cuts up the text of an object.
    ///
    /// # Errors
    /// It is a manifest and not JSON, or not YAML.
    pub fn of(path: &str, kind: SharedKind, text: String) -> Result<SharedText, FileError> {
        Self::with(path, |parts| {
            if kind.may_hold_rows() {
                return written_by_program(path, text.as_bytes(), parts);
            }
            written_by_people(path, kind, &text, parts)?;
            if matches!(kind, SharedKind::Dictionary | SharedKind::Readme) {
                parts.whole = text;
            }
            Ok(())
        })
    }

    fn with(
        path: &str,
        cut: impl FnOnce(&mut Parts) -> Result<(), NotCut>,
    ) -> Result<SharedText, FileError> {
        let mut parts = Parts {
            directory: split_path(path).0.to_owned(),
            ..Parts::default()
        };
        cut(&mut parts).map_err(|error| {
            FileError::new(path, FileErrorKind::NotItsFormat, error.to_string())
                .with_remedy("mend it, or give it another name")
        })?;
        Ok(SharedText(Arc::new(parts)))
    }

    /// What it says of tables at these paths, if it names tables as databases do: of a large
    /// manifest a little. Any other is as it was. Whatever [`SharedText::part`] says of the tables,
    /// it says the same of.
    #[must_use]
    pub fn of_tables<'a>(&self, paths: impl Iterator<Item = &'a str>) -> SharedText {
        if self.0.relations.is_empty() {
            return self.clone();
        }
        let found: Vec<(&str, Vec<usize>)> = paths
            .map(|path| (path, self.0.relations.about(path)))
            .collect();
        let wanted: BTreeSet<usize> = found.iter().flat_map(|(_, parts)| parts).copied().collect();
        let mut few = Parts::default();
        let mut places = HashMap::new();
        for at in wanted {
            if let Some(part) = self.0.parts.get(at) {
                places.insert(at, few.add(part.text.clone(), None));
            }
        }
        for (path, parts) in found {
            let parts = parts.iter().filter_map(|part| places.get(part).copied());
            few.by_path.insert(path.to_owned(), parts.collect());
        }
        SharedText(Arc::new(few))
    }

    /// Its part about a table.
    ///
    /// A table that is to have it whole has, if nothing names it, what names no other table of its
    /// folder, no file elsewhere and no folder below: that is about the folder as a whole. It is
    /// about the table alone where that is the only one and the text names no other. Any other
    /// table has what names it; else what names its folders.
    #[must_use]
    pub fn part(&self, about: &About) -> ContextPart {
        let own = self.found(&about.paths);
        let is_alone = about.others.is_empty();
        if about.whole && !self.0.whole.is_empty() && (own.is_empty() || is_alone) {
            let mut others = self.found(&about.others);
            // Files that are named in the folder of a table of many are its own.
            if own.is_empty() && about.paths.first().is_some_and(|path| is_data_file(path)) {
                let files = self.0.by_name.iter().filter(|(name, _)| is_data_file(name));
                others.extend(files.flat_map(|(_, parts)| parts));
            }
            let of_folder = !is_alone || !others.is_empty();
            others.extend(&self.0.of_folders);
            let text = self.without(&others);
            return ContextPart {
                of_folder: of_folder && !text.is_empty(),
                text,
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

    /// The whole without some parts; nothing if no words are left.
    fn without(&self, parts: &BTreeSet<usize>) -> String {
        let parts = parts.iter().filter_map(|part| self.0.parts.get(*part));
        let mut out: Vec<Range<usize>> = parts.map(|part| part.lines.clone()).collect();
        if out.iter().all(Range::is_empty) {
            return self.0.whole.clone();
        }
        out.sort_unstable_by_key(|lines| lines.start);
        let mut out = out.into_iter().peekable();
        let mut end = 0;
        let lines = self.0.whole.lines().enumerate().filter(|(at, _)| {
            while let Some(lines) = out.next_if(|lines| lines.start <= *at) {
                end = end.max(lines.end);
            }
            *at >= end
        });
        let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
        let text = lines.join("\n");
        match text.contains(char::is_alphanumeric) {
            true => text.trim().to_owned(),
            false => String::new(),
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

/// Why a text is not cut up.
#[derive(Debug, thiserror::Error)]
enum NotCut {
    #[error("it is not JSON ({0})")]
    Json(#[from] serde_json::Error),
    #[error("it is not YAML ({0})")]
    Yaml(#[from] yaml::Flaw),
}

fn written_by_people(
    path: &str,
    kind: SharedKind,
    text: &str,
    parts: &mut Parts,
) -> Result<(), NotCut> {
    let path_lower = path.to_ascii_lowercase();
    let is_yaml = path_lower.ends_with(".yaml") || path_lower.ends_with(".yml");
    match kind {
        SharedKind::Dictionary if path_lower.ends_with(".json") => {
            Ok(manifests::cut(path, kind, text, parts)?)
        }
        SharedKind::Dbt => {
            yaml::cut(text, parts);
            Ok(yaml::check(text)?)
        }
        SharedKind::Dictionary | SharedKind::Readme if is_yaml => {
            yaml::cut(text, parts);
            Ok(())
        }
        SharedKind::Dictionary | SharedKind::Readme => {
            sections::cut(text, parts);
            Ok(())
        }
        _ => Ok(manifests::cut(path, kind, text, parts)?),
    }
}

/// What is none of the artifacts that its name may be of says nothing.
fn written_by_program(path: &str, text: &[u8], parts: &mut Parts) -> Result<(), NotCut> {
    let cut = match Artifact::of(path, text) {
        Some(Artifact::DbtManifest) => dbt::manifest(text, parts),
        Some(Artifact::DbtCatalog) => dbt::catalog(text, parts),
        Some(Artifact::OpenLineage) => lineage::events(text, parts),
        Some(Artifact::DbtOther) | None => Ok(()),
    };
    Ok(cut?)
}

/// Bytes of a file by which it shows what it is.
const BEGINNING: u64 = 1 << 20;

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
    if kind.may_hold_rows() {
        return read_of_program(store, object, kind).await;
    }
    if object.size > kind.most_bytes() && kind.is_manifest() {
        return Err(too_long(object, kind));
    }
    let text = read_text(store, object, confined).await?;
    SharedText::of(&object.path, kind, text)
}

async fn read_of_program(
    store: &Store,
    object: &ObjectRecord,
    kind: SharedKind,
) -> Result<SharedText, FileError> {
    let is_longer = object.size > kind.most_bytes();
    let length = if is_longer { BEGINNING } else { object.size };
    if length == 0 {
        return SharedText::of(&object.path, kind, String::new());
    }
    let bytes = store.get_range(&object.path, 0..length).await;
    let bytes = bytes.map_err(|error| FileError::from_store(&object.path, &error))?;
    if is_longer && Artifact::of(&object.path, &bytes).is_some() {
        return Err(too_long(object, kind));
    }
    let path = object.path.clone();
    // Tens of megabytes take a while.
    let cut = tokio::task::spawn_blocking(move || {
        SharedText::with(&path, |parts| written_by_program(&path, &bytes, parts))
    });
    cut.await.unwrap_or_else(|error| {
        let cause = format!("it cannot be read ({error})");
        let kind = FileErrorKind::NotItsFormat;
        Err(FileError::new(&object.path, kind, cause))
    })
}

fn too_long(object: &ObjectRecord, kind: SharedKind) -> FileError {
    let most = kind.most_bytes();
    let cause = format!("it is larger than the {most} bytes that are read of a manifest");
    let error = FileError::new(&object.path, FileErrorKind::Unsupported, cause);
    error.with_remedy("describe the tables in several smaller ones")
}

#[cfg(test)]
mod tests;
