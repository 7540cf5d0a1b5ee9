//! What is published: the previous snapshot's catalog, as the dataflow needs it.
//!
//! The catalog is read once at the start of a run. Per group it gives the members that the tables
//! were made from (the `published` side of [`crate::changes`]), the summaries of files that need no
//! second read, and where the tables' blocks are, so that the next snapshot can delete them.

use std::collections::HashMap;

use limn_lake::{Contexts, FileSummary, Fingerprint, ObjectRecord, TableName};
use limn_segment::{ContextRecord, FileRecord, IndexStore, Snapshot, TableRecord};

use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::options::IndexSettings;
use crate::plan::with_settings;
use crate::report::Failure;

pub use limn_segment::REGISTERED;

/// The catalog of one lake in the newest snapshot.
#[derive(Debug, Default)]
pub struct Published {
    /// The snapshot, if the index has one.
    pub snapshot: Option<Snapshot>,
    groups: HashMap<GroupId, Vec<TableRecord>>,
    /// Tables by the hash of their name.
    by_name: HashMap<u128, (GroupId, u32)>,
    /// Files in this very version.
    by_content: HashMap<Fingerprint, Place>,
    /// Files that have a summary, of whatever version, by the hash of their path.
    by_path: HashMap<u128, Place>,
    /// Contexts beside the data, by the hash of their path.
    contexts: HashMap<u128, Place>,
    /// Those that have a text, of whatever version, by the hash of their path.
    texts: HashMap<u128, Place>,
    registered: Contexts,
    /// The settings of all the lake's tables, if their file summaries may be used again.
    reuse: Option<MemberId>,
    narrates: bool,
}

/// Where the catalog has a file or context: group, table of the group, place in the table.
type Place = (GroupId, u32, u32);

/// Whether a table's row has blocks to be found by, even if its newest version cannot be read.
pub fn is_searchable(record: &TableRecord) -> bool {
    record.blocks > 0 || record.error.is_none()
}

fn hash_of(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}

impl Published {
    /// Reads the catalog rows that `snapshot`, the newest, has of the lake at `lake_url`. `narrates`
    /// says whether the run has a language model.
    ///
    /// # Errors
    /// The index is unreadable, or was made with another embedder or number of shards.
    pub async fn load(
        index: &IndexStore,
        snapshot: Option<Snapshot>,
        lake_url: &str,
        settings: &IndexSettings,
        narrates: bool,
    ) -> Result<Self, PipelineError> {
        let Some(snapshot) = snapshot else {
            return Ok(Self::default());
        };
        settings.check_against(&snapshot)?;
        let mut published = Self {
            reuse: IndexSettings::of_lake(&snapshot, lake_url)
                .filter(|old| old.summaries_match(settings))
                .map(|old| old.fingerprint()),
            narrates,
            ..Self::default()
        };
        for record in index.tables_with_removed(&snapshot, Some(lake_url)).await? {
            published.take_in_registered(&record);
            if record.removed {
                continue;
            }
            if let Ok(group) = GroupId::from_str_radix(&record.group, 16) {
                published.groups.entry(group).or_default().push(record);
            }
        }
        for (group, tables) in &published.groups {
            for (at, table) in tables.iter().enumerate() {
                let place = (*group, at as u32);
                published.by_name.insert(hash_of(&table.name), place);
                for (file, known) in table.files.iter().enumerate() {
                    let place = (*group, at as u32, file as u32);
                    published.by_content.insert(content_of(known), place);
                    if known.summary.is_some() {
                        published.by_path.insert(hash_of(&known.path), place);
                    }
                }
                for (context, known) in table.contexts.iter().enumerate() {
                    if known.source != REGISTERED {
                        let place = (*group, at as u32, context as u32);
                        published.contexts.insert(hash_of(&known.source), place);
                        if !known.text.is_empty() {
                            published.texts.insert(hash_of(&known.source), place);
                        }
                    }
                }
            }
        }
        published.snapshot = Some(snapshot);
        Ok(published)
    }

    /// A context may be in the rows of several tables, those that its name meant one after the other.
    fn take_in_registered(&mut self, record: &TableRecord) {
        let contexts = record.contexts.iter();
        for context in contexts.filter(|context| context.source == REGISTERED) {
            let name = context.registered_for.as_ref().unwrap_or(&record.name);
            if let Ok(name) = TableName::parse(name) {
                let texts = self.registered.entry(name).or_default();
                if !texts.contains(&context.text) {
                    texts.push(context.text.clone());
                }
            }
        }
    }

    /// Contexts registered by earlier runs, of tables present or gone.
    pub fn registered(&self) -> &Contexts {
        &self.registered
    }

    /// The groups that have something published.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> + '_ {
        self.groups.keys().copied()
    }

    /// The tables that a group has in the index.
    pub fn tables(&self, group: GroupId) -> &[TableRecord] {
        self.groups.get(&group).map_or(&[], Vec::as_slice)
    }

    /// A table by its name, whatever group it is in.
    pub fn table(&self, name: &str) -> Option<&TableRecord> {
        let (group, table) = self.by_name.get(&hash_of(name))?;
        self.tables(*group).get(*table as usize)
    }

    /// Whether a table of the group awaits a narration that this run can give.
    pub fn awaits_narration(&self, group: GroupId) -> bool {
        self.narrates
            && self
                .tables(group)
                .iter()
                .any(|table| table.awaits_narration)
    }

    /// The names of tables that await a narration, whoever can give it.
    pub fn awaiting(&self) -> impl Iterator<Item = &str> {
        let tables = self.groups.values().flatten();
        tables
            .filter(|table| table.awaits_narration)
            .map(|table| table.name.as_str())
    }

    /// Tables in the index that can be found.
    pub fn table_count(&self) -> u64 {
        let tables = self.groups.values().flatten();
        tables.filter(|record| is_searchable(record)).count() as u64
    }

    /// The members that a group's published tables were made from, sorted.
    pub fn members(&self, group: GroupId) -> Vec<MemberId> {
        let mut members: Vec<MemberId> = self.tables(group).iter().flat_map(members_of).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// What could not be read in the versions that are published, by table.
    pub fn failures(&self) -> impl Iterator<Item = Failure> + '_ {
        self.groups.values().flatten().flat_map(|table| {
            let files = table.files.iter().map(|file| (&file.path, &file.error));
            let contexts = table
                .contexts
                .iter()
                .map(|text| (&text.source, &text.error));
            files.chain(contexts).filter_map(|(object, error)| {
                error.as_ref().map(|error| Failure {
                    table: table.name.clone(),
                    object: object.clone(),
                    error: error.clone(),
                })
            })
        })
    }

    fn record(&self, place: &Place) -> Option<&FileRecord> {
        let (group, table, file) = place;
        let table = self.tables(*group).get(*table as usize)?;
        table.files.get(*file as usize)
    }

    /// What came of reading this very version of a file before, whatever group it was in then: its
    /// summary, or why it could not be read. A summary that this limn cannot read any more is as
    /// good as none: the file is read.
    pub fn file(&self, content: Fingerprint) -> Option<Result<FileSummary, String>> {
        self.reuse?;
        let known = self.record(self.by_content.get(&content)?)?;
        match &known.error {
            Some(error) => Some(Err(error.clone())),
            None => FileSummary::from_json(known.summary.as_deref()?)
                .ok()
                .map(Ok),
        }
    }

    /// The text of a context beside the data that was read in this very version before.
    pub fn context(&self, path: &str, version: Fingerprint) -> Option<&str> {
        let member = Fingerprint(with_settings(version, self.reuse?)).to_string();
        let known = self.context_record(self.contexts.get(&hash_of(path))?)?;
        (known.error.is_none() && known.fingerprint == member).then_some(known.text.as_str())
    }

    /// The last text that a context beside the data had when it could be read, whatever table it was of.
    pub fn last_text(&self, path: &str) -> Option<&str> {
        let known = self.context_record(self.texts.get(&hash_of(path))?)?;
        Some(&known.text)
    }

    fn context_record(&self, place: &Place) -> Option<&ContextRecord> {
        let (group, table, context) = place;
        let table = self.tables(*group).get(*table as usize)?;
        table.contexts.get(*context as usize)
    }

    /// The summary of the last version of a file that could be read.
    pub fn last_good(&self, path: &str) -> Option<FileSummary> {
        let known = self.record(self.by_path.get(&hash_of(path))?)?;
        FileSummary::from_json(known.summary.as_deref()?).ok()
    }
}

/// The content fingerprint of a file in the catalog.
fn content_of(file: &FileRecord) -> Fingerprint {
    let object = ObjectRecord {
        path: file.path.clone(),
        etag: file.etag.clone(),
        version: file.version.clone(),
        size: file.size,
        modified_ms: file.modified_ms,
    };
    object.fingerprint()
}

/// The members (files and contexts) that a catalog row was made from.
pub fn members_of(record: &TableRecord) -> impl Iterator<Item = MemberId> + '_ {
    let files = record.files.iter().map(|file| file.fingerprint.as_str());
    let contexts = record
        .contexts
        .iter()
        .map(|context| context.fingerprint.as_str());
    files
        .chain(contexts)
        .filter_map(|hex| MemberId::from_str_radix(hex, 16).ok())
}
