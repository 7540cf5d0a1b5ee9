//! What is published: the newest snapshot's catalog, as the dataflow needs it.
//!
//! Per group it gives the members that the tables were made from (the `published` side of
//! [`crate::changes`]), the summaries of files that need no second read, and where the tables'
//! blocks are, so that the next snapshot can delete them. A session keeps it, and reads what is new
//! before each listing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use limn_formats::member::{is_left_out, refusal, shown, split};
use limn_formats::{Declaration, Fingerprint, Format, IS_DUCKDB, ObjectRecord, ObjectVersion};
use limn_lake::contexts::ContextPart;
use limn_lake::layout::{GroupKey, content_fingerprint, describes_beside};
use limn_lake::reach::parent;
use limn_lake::{Contexts, Ignored, LogTable, TableName};
use limn_profile::FileSummary;
use limn_segment::{
    ColumnRecord, ContextRecord, FileRecord, HeldRows, HeldValue, IndexStore, SinceSample,
    Sketches, Snapshot, TableKey, TableRecord,
};
use serde::{Deserialize, Serialize};

use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::graph::keeping::GraphRow;
use crate::graph::size::{GraphSize, MostTables};
use crate::listing::KnownPlaces;
use crate::position::Position;
use crate::report::Failure;
use crate::settings::IndexSettings;
use crate::share::Share;
use crate::sketches::{JoinColumns, kept};

pub use limn_segment::REGISTERED;

/// The catalog of one lake in the newest snapshot that was looked at.
#[derive(Debug, Default)]
pub struct Published {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The snapshot, if the index has one.
    snapshot: Option<Snapshot>,
    held: HeldRows<WriterRow>,
    /// The rows of tables that there are and of files that are passed over, in the order of their
    /// names.
    groups: HashMap<GroupId, Vec<Arc<TableRecord>>>,
    /// The same by the hash of their name.
    by_name: HashMap<u128, Arc<TableRecord>>,
    /// Files in this very version.
    by_content: HashMap<Fingerprint, Place>,
    /// Files that have a summary, of whatever version, by the hash of their path.
    by_path: HashMap<u128, Place>,
    /// Whether a file may be in two rows.
    is_doubled: bool,
    /// Contexts beside the data, by the hash of their path.
    contexts: HashMap<u128, Place>,
    /// Those that have a text, of whatever version, by the hash of their path.
    texts: HashMap<u128, Place>,
    registered: Contexts,
    /// The settings of all the lake's tables, if their file summaries may be used again.
    reuse: Option<MemberId>,
    narrates: bool,
    /// Whether rows may lack what joins are found by.
    are_counted: bool,
    /// The part of the lake whose tables are known.
    share: Share,
    /// Whether the index has the lake, of which another share may have all tables.
    is_known: bool,
    /// How large the others are.
    elsewhere: GraphSize,
}

/// What is to be said of the tables that are published, of this share of a lake or of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Tables that can be found.
    pub tables: u64,
    /// What could not be read, by table.
    pub failures: Vec<Failure>,
    /// Files that hold no table, by the name of their row.
    pub passed_over: Vec<(String, Ignored)>,
    /// The names of tables that await a narration, whoever can give it.
    pub awaiting: Vec<String>,
    /// The names for which contexts are registered, of tables present or gone.
    pub registered: BTreeSet<String>,
    /// How large the join graph is.
    pub size: GraphSize,
}

impl Standing {
    /// Adds that of another share.
    pub fn add(&mut self, other: Standing) {
        self.tables += other.tables;
        self.failures.extend(other.failures);
        self.passed_over.extend(other.passed_over);
        self.awaiting.extend(other.awaiting);
        self.registered.extend(other.registered);
        self.size.add(other.size);
    }
}

/// What a writer keeps of a row: all that it goes on from. What the catalog has of columns and
/// sampled rows follows from the files' summaries; it is kept only where the row itself is to be
/// written again, with narrations, and as far as joins are found by it.
#[derive(Debug)]
struct WriterRow(Arc<TableRecord>, JoinColumns);

impl HeldValue for WriterRow {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn of_row(mut row: TableRecord) -> Self {
        let joining = JoinColumns::of(&row);
        if !row.awaits_narration {
            row.sample = Vec::new();
            row.sketches = Sketches::default();
            // Columns without a narration have none to carry over into another schema.
            if row.columns.iter().any(|column| column.narration.is_some()) {
                row.columns = row.columns.into_iter().map(words_of).collect();
            } else {
                row.columns = Vec::new();
            }
        }
        Self(Arc::new(row), joining)
    }
}

/// The words of a column: its name and its narration.
fn words_of(column: ColumnRecord) -> ColumnRecord {
    ColumnRecord {
        name: column.name,
        narration: column.narration,
        ..ColumnRecord::default()
    }
}

/// Where the catalog has a file or context: the table, and the place in the table.
type Place = (Arc<TableRecord>, u32);

/// What came of reading a file in the version that is published.
#[derive(Clone, Debug, PartialEq)]
pub enum KnownFile {
    /// What it holds.
    Summary(Box<FileSummary>),
    /// No table, which its name did not promise either.
    NoTable,
    /// Nothing that can be read, and why.
    Unread(String),
}

/// Whether a table's row has blocks to be found by, even if its newest version cannot be read.
pub fn is_searchable(record: &TableRecord) -> bool {
    !record.removed && (record.blocks > 0 || record.error.is_none())
}

fn hash_of(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}

/// The group that a row is of, if it names one.
pub fn group_of(record: &TableRecord) -> Option<GroupId> {
    GroupId::from_hex(&record.group)
}

impl Published {
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the beginning on, only tables of this share are known.
    pub fn keep_to(&self, share: &Share) {
        self.change().share = share.clone();
    }

    /// So large are the tables of the other shares.
    pub fn know_elsewhere(&self, size: GraphSize) {
        self.change().elsewhere = size;
    }

    /// Goes on to `snapshot`, the newest, of whose catalog it reads what it does not know of the
    /// lake at `lake_url`. `narrates` says whether there is a language model now. Of a lake that is
    /// larger than `most` its columns are counted, and nothing is kept by which they join.
    ///
    /// # Errors
    /// The index is unreadable, or was made with another embedder or number of shards. Nothing is
    /// published then, until it is called again.
    pub async fn advance(
        &self,
        index: &IndexStore,
        snapshot: Option<Snapshot>,
        lake_url: &str,
        settings: &IndexSettings,
        narrates: bool,
        most: MostTables,
    ) -> Result<(), PipelineError> {
        let mut state = std::mem::take(&mut *self.change());
        let Some(snapshot) = snapshot else {
            return Ok(());
        };
        settings.check_against(&snapshot)?;
        state.reuse = IndexSettings::of_lake(&snapshot, lake_url)?
            .filter(|old| old.summaries_match(settings))
            .map(|old| old.fingerprint());
        state.narrates = narrates;
        state.is_known = IndexSettings::intended(&snapshot, lake_url)?.is_some();
        if state.snapshot.is_none() {
            let share = state.share.clone();
            state.held = HeldRows::keeping(Some(lake_url));
            if share.is_partial() {
                state.held = state.held.only(move |name| share.may_have(name));
            }
        }
        let changed = state.held.advance(index, &snapshot).await?;
        state.keep_for_joins(most, &changed);
        state.take_in(changed);
        state.snapshot = Some(snapshot);
        *self.change() = state;
        Ok(())
    }

    /// The snapshot, if the index has one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.state().snapshot.clone()
    }

    /// Contexts registered by earlier runs, of tables present or gone.
    pub fn registered(&self) -> Contexts {
        self.state().registered.clone()
    }

    /// Rows of tables that are gone and hold registered contexts that are to be forgotten.
    pub fn gone_with(&self, forget: &Contexts) -> Vec<Arc<TableRecord>> {
        if forget.is_empty() {
            return Vec::new();
        }
        let state = self.state();
        let rows = state.held.iter().map(|held| &held.0);
        let gone = rows.filter(|row| {
            let mut contexts = row.contexts.iter();
            row.removed
                && state.share.has_row(row)
                && !row.is_passed_over()
                && contexts.any(|context| is_forgotten(row, context, forget))
        });
        gone.cloned().collect()
    }

    /// The places that a part of the lake depends on, wherever they are.
    pub fn places(&self) -> KnownPlaces {
        let mut places = KnownPlaces::default();
        let groups = self.groups().into_iter();
        for table in groups.flat_map(|group| self.tables(group)) {
            let mut files = table.files_now();
            let log = files.find(|file| table.is_log(&file.path));
            places
                .logs
                .extend(log.map(|log| parent(&log.path).to_owned()));
            let of_table = table.contexts.iter().map(|it| &it.source);
            let describing = of_table.filter(|path| describes_beside(path));
            places.describing.extend(describing.cloned());
            // Others are files that hold no table.
            let passed_over = table.files.iter().filter(|file| file.no_table);
            let describing = passed_over.filter(|file| describes_beside(&file.path));
            places
                .describing
                .extend(describing.map(|file| file.path.clone()));
        }
        places
    }

    /// The table of a folder that has a log, as the index has it; none where files are to be read
    /// anew.
    pub fn logged(&self, folder: &str) -> Option<LogTable> {
        self.state().reuse?;
        let tables = self.tables(GroupKey::of_log(folder).into());
        let table = tables.first()?;
        let files = table.files_now().map(|file| {
            let declared = Declaration::from_json(file.declared.as_deref()?).ok()?;
            Some((object_of(file), declared))
        });
        let files: Vec<_> = files.collect::<Option<_>>()?;
        let log = Format::of_label(&table.format).filter(|it| it.is_log())?;
        LogTable::of_catalog(folder, files, log)
    }

    /// The groups that have something published.
    pub fn groups(&self) -> Vec<GroupId> {
        self.state().groups.keys().copied().collect()
    }

    /// Whether nothing of the lake is published.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.groups.is_empty() && !(state.share.is_partial() && state.is_known)
    }

    /// The tables that a group has in the index; a row of files that are passed over is removed.
    pub fn tables(&self, group: GroupId) -> Vec<Arc<TableRecord>> {
        self.state().groups.get(&group).cloned().unwrap_or_default()
    }

    /// Whether a group has anything in the index.
    pub fn has(&self, group: GroupId) -> bool {
        let state = self.state();
        state.groups.get(&group).is_some_and(|it| !it.is_empty())
    }

    /// A table by its name, whatever group it is in.
    pub fn table(&self, name: &str) -> Option<Arc<TableRecord>> {
        self.state().by_name.get(&hash_of(name)).cloned()
    }

    /// Whether a table of the group awaits a narration that this run can give.
    pub fn awaits_narration(&self, group: GroupId) -> bool {
        let state = self.state();
        let mut tables = state.groups.get(&group).into_iter().flatten();
        state.narrates && tables.any(|table| table.awaits_narration)
    }

    /// How large the lake's join graph is.
    pub fn graph_size(&self) -> GraphSize {
        let state = self.state();
        let mut size = state.graph_size();
        size.add(state.elsewhere);
        size
    }

    /// The rows that the join graph is made of, so that the catalog need not be read again for it;
    /// none where columns were only counted.
    pub fn graph_rows(&self) -> Option<HeldRows<GraphRow>> {
        let state = self.state();
        let is_known = state.snapshot.is_some() && !state.are_counted && !state.share.is_partial();
        is_known.then(|| state.held.map(|_, row| GraphRow::of(&row.0, &row.1)))
    }

    #[cfg(test)]
    pub(crate) fn has_join_columns(&self) -> bool {
        let state = self.state();
        state.held.live().any(|(_, row)| !row.1.names().is_empty())
    }

    /// What is to be said of the tables of this share.
    pub fn standing(&self) -> Standing {
        let state = self.state();
        let mut standing = Standing {
            registered: state.registered.keys().map(ToString::to_string).collect(),
            size: state.graph_size(),
            ..Standing::default()
        };
        for table in state.groups.values().flatten() {
            standing.tables += u64::from(is_searchable(table));
            standing.failures.extend(failures_of(table));
            let passed_over = passed_over(table);
            if passed_over.count() > 0 {
                standing.passed_over.push((table.name.clone(), passed_over));
            }
            if table.awaits_narration {
                standing.awaiting.push(table.name.clone());
            }
        }
        standing
    }

    /// The members that a group's published tables were made from, sorted.
    pub fn members(&self, group: GroupId) -> Vec<MemberId> {
        let tables = self.tables(group);
        let mut members: Vec<MemberId> =
            tables.iter().flat_map(|table| members_of(table)).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// What came of reading this very version of a file before, whatever group it was in then: its
    /// summary, or why it could not be read. A summary that this limn cannot read any more is as
    /// good as none: the file is read.
    pub fn file(&self, content: Fingerprint) -> Option<KnownFile> {
        let (table, file) = {
            let state = self.state();
            state.reuse?;
            state.by_content.get(&content)?.clone()
        };
        let known = table.files.get(file as usize)?;
        if known.since_sample == Some(SinceSample::Went) {
            // Nothing but its summary is published any more.
            return None;
        }
        match &known.error {
            _ if known.no_table => Some(KnownFile::NoTable),
            Some(error) => Some(KnownFile::Unread(error.clone())),
            None => kept(known)
                .ok()?
                .map(|it| KnownFile::Summary(Box::new(it.with_published_hashes()))),
        }
    }

    /// Whether this very version of a file is published.
    pub fn has_file(&self, content: Fingerprint) -> bool {
        let state = self.state();
        state.reuse.is_some() && state.by_content.contains_key(&content)
    }

    /// The text of a context beside the data that was read in this very version before.
    pub fn context(&self, path: &str, version: Fingerprint) -> Option<String> {
        let state = self.state();
        let member = MemberId::of_version(version, state.reuse?).to_string();
        let known = context_at(state.contexts.get(&hash_of(path))?)?;
        let is_current = known.error.is_none() && known.fingerprint == member;
        is_current.then(|| known.text.clone())
    }

    /// The members of containers that the index has, by container, in the versions that it has;
    /// none where files are to be read anew: another budget, or another limn, may find others.
    pub fn members_of_containers(&self) -> HashMap<String, Vec<ObjectRecord>> {
        let state = self.state();
        let mut members: HashMap<String, Vec<ObjectRecord>> = HashMap::new();
        if state.reuse.is_none() {
            return members;
        }
        let files = state.groups.values().flatten().flat_map(|it| &it.files);
        // Of a file that went there may be an entry of the version that it had.
        for file in files.filter(|it| it.since_sample != Some(SinceSample::Went)) {
            if let Some((container, _)) = limn_formats::member::split(&file.path) {
                let known = members.entry(container.to_owned()).or_default();
                known.push(object_of(file));
                known.extend(parts_of(file));
            }
        }
        for known in members.values_mut() {
            known.sort_unstable();
            known.dedup();
        }
        members
    }

    /// A table's part of a text about several tables, that was read in this very version before.
    pub fn part(&self, table: &str, path: &str, version: Fingerprint) -> Option<ContextPart> {
        let member = {
            let state = self.state();
            MemberId::of_version(version, state.reuse?).to_string()
        };
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        let known = contexts.find(|it| it.source == path && it.fingerprint == member)?;
        known.error.is_none().then(|| part_of(known))
    }

    /// The version of a text about several tables that a published table has its part of, and the
    /// part, if that is another version than this one.
    pub fn told_by_another(
        &self,
        table: &str,
        path: &str,
        current: MemberId,
    ) -> Option<(Fingerprint, ContextPart)> {
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        let known = contexts.find(|it| it.source == path && it.error.is_none())?;
        let version: Fingerprint = known.fingerprint.parse().ok()?;
        (version.0 != current.0).then(|| (version, part_of(known)))
    }

    /// A table's part of a text about several tables, as it was last.
    pub fn last_part(&self, table: &str, path: &str) -> Option<ContextPart> {
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        contexts.find(|it| it.source == path).map(part_of)
    }

    /// The last text that a context beside the data had when it could be read, whatever table it
    /// was of.
    pub fn last_text(&self, path: &str) -> Option<String> {
        let state = self.state();
        let known = context_at(state.texts.get(&hash_of(path))?)?;
        Some(known.text.clone())
    }

    /// The summary of the last version of a file that could be read.
    pub fn last_good(&self, path: &str) -> Option<FileSummary> {
        let (table, file) = self.state().by_path.get(&hash_of(path))?.clone();
        let known = table.files.get(file as usize)?;
        kept(known).ok()?.map(FileSummary::with_published_hashes)
    }

    /// The table that has the hashes of a file's values, of this version of it or of the last one
    /// that could be read, and the file's path there: a file may have another one now. None where
    /// files are to be read anew.
    pub fn holder(&self, content: Option<Fingerprint>, path: &str) -> Option<(Position, String)> {
        let state = self.state();
        state.reuse?;
        let of_content = content.and_then(|content| state.by_content.get(&content));
        let is_read = |place: &&Place| {
            let file = place.0.files.get(place.1 as usize);
            file.is_some_and(|file| file.error.is_none())
        };
        let found = of_content.filter(is_read);
        let (table, file) = found.or_else(|| state.by_path.get(&hash_of(path)))?;
        let path = &table.files.get(*file as usize)?.path;
        Some((Position::of(table)?, path.clone()))
    }
}

fn part_of(context: &ContextRecord) -> ContextPart {
    ContextPart {
        text: context.text.clone(),
        of_folder: context.of_folder,
    }
}

fn context_at((table, context): &Place) -> Option<&ContextRecord> {
    table.contexts.get(*context as usize)
}

/// Removes what points into this very row.
fn unpoint<K: Eq + std::hash::Hash>(map: &mut HashMap<K, Place>, key: &K, row: &Arc<TableRecord>) {
    if map
        .get(key)
        .is_some_and(|(known, _)| Arc::ptr_eq(known, row))
    {
        map.remove(key);
    }
}

/// A table whose row is another now, and what was kept of the one before.
type ChangedRow = (TableKey, Option<Arc<WriterRow>>);

impl State {
    fn graph_size(&self) -> GraphSize {
        let own = self
            .held
            .live()
            .filter(|(_, row)| self.share.has_row(&row.0));
        GraphSize::of(own.map(|(_, row)| row.1.len()))
    }

    /// Lets go of what joins are found by, if the lake is too large for them.
    fn keep_for_joins(&mut self, most: MostTables, changed: &[ChangedRow]) {
        let counted = |row: &Arc<WriterRow>| WriterRow(Arc::clone(&row.0), row.1.counted());
        if self.are_counted {
            self.held.replace(changed.iter().map(|it| &it.0), counted);
        } else if self.share.is_partial()
            || most == MostTables(0)
            || !most.allows(self.graph_size())
        {
            self.are_counted = true;
            let all: Vec<TableKey> = self.held.live().map(|it| it.0.clone()).collect();
            self.held.replace(all.iter(), counted);
        }
    }

    /// Takes in the rows of these tables, as they are held now; with them are the rows of before.
    fn take_in(&mut self, changed: Vec<ChangedRow>) {
        let mut touched: HashSet<GroupId> = HashSet::new();
        let (mut contexts_differ, mut registered_differ) = (false, false);
        let mut look_at = |row: &TableRecord| {
            for context in &row.contexts {
                match context.source == REGISTERED {
                    true => registered_differ = true,
                    false => contexts_differ = true,
                }
            }
        };
        let mut new = Vec::with_capacity(changed.len());
        for (key, before) in changed {
            let held = self.held.get(&key).map(|held| Arc::clone(&held.0));
            for row in before.iter().map(|held| &held.0).chain(&held) {
                look_at(row);
            }
            if let Some(old) = self.by_name.remove(&hash_of(&key.name)) {
                for file in &old.files {
                    unpoint(&mut self.by_content, &content_of(file), &old);
                    unpoint(&mut self.by_path, &hash_of(&file.path), &old);
                }
                if let Some(group) = group_of(&old)
                    && let Some(tables) = self.groups.get_mut(&group)
                {
                    tables.retain(|table| !Arc::ptr_eq(table, &old));
                    touched.insert(group);
                }
            }
            let is_known = |row: &Arc<TableRecord>| {
                (!row.removed || row.is_passed_over()) && self.share.has_row(row)
            };
            new.extend(held.filter(is_known));
        }
        for row in new {
            let Some(group) = group_of(&row) else {
                continue;
            };
            self.by_name.insert(hash_of(&row.name), Arc::clone(&row));
            self.is_doubled |= self.point_at_files(&row);
            self.groups.entry(group).or_default().push(row);
            touched.insert(group);
        }
        for group in touched {
            if let Some(tables) = self.groups.get_mut(&group) {
                if tables.is_empty() {
                    self.groups.remove(&group);
                } else {
                    tables.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                }
            }
        }
        // The other row of a file has to be found when the one that was found is gone. This is
        // rare.
        if self.is_doubled {
            self.by_content.clear();
            self.by_path.clear();
            let tables: Vec<Arc<TableRecord>> = self.by_name.values().cloned().collect();
            let doubled = tables.iter().map(|table| self.point_at_files(table));
            self.is_doubled = doubled.fold(false, |doubled, it| doubled | it);
        }
        // One text may be of several tables: these are few, and no row distinguishes them.
        if contexts_differ {
            self.point_at_contexts();
        }
        if registered_differ {
            self.take_in_registered();
        }
    }

    /// Whether another row has one of the same files.
    fn point_at_files(&mut self, row: &Arc<TableRecord>) -> bool {
        let mut is_doubled = false;
        for (at, file) in (0u32..).zip(&row.files) {
            let place = || (Arc::clone(row), at);
            let known = [
                self.by_content.insert(content_of(file), place()),
                match file.summary {
                    Some(_) => self.by_path.insert(hash_of(&file.path), place()),
                    None => None,
                },
            ];
            let mut known = known.iter().flatten();
            is_doubled |= known.any(|(known, _)| !Arc::ptr_eq(known, row));
        }
        is_doubled
    }

    fn point_at_contexts(&mut self) {
        self.contexts.clear();
        self.texts.clear();
        for table in self.groups.values().flatten() {
            for (at, known) in (0u32..).zip(&table.contexts) {
                if known.source != REGISTERED {
                    let place = || (Arc::clone(table), at);
                    self.contexts.insert(hash_of(&known.source), place());
                    if !known.text.is_empty() {
                        self.texts.insert(hash_of(&known.source), place());
                    }
                }
            }
        }
    }

    /// A context may be in the rows of several tables, those that its name meant one after the
    /// other.
    fn take_in_registered(&mut self) {
        self.registered.clear();
        for WriterRow(record, _) in self.held.iter().map(AsRef::as_ref) {
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
    }
}

/// Whether a context of a row is one that was registered and is to be forgotten.
pub fn is_forgotten(row: &TableRecord, context: &ContextRecord, forget: &Contexts) -> bool {
    let name = context.registered_for.as_ref().unwrap_or(&row.name);
    let texts = TableName::parse(name).ok().and_then(|it| forget.get(&it));
    context.source == REGISTERED && texts.is_some_and(|texts| texts.contains(&context.text))
}

/// What could not be read in the version of a table that a row is of.
pub fn failures_of(row: &TableRecord) -> Vec<Failure> {
    let files = row.files.iter().map(|file| (&file.path, &file.error));
    // Nobody misses what is said of no table.
    let contexts = row.contexts.iter().filter(|_| !row.removed);
    let contexts = contexts.map(|text| (&text.source, &text.error));
    let failures = files.chain(contexts).filter_map(|(object, error)| {
        error.as_ref().map(|error| Failure {
            table: row.name.clone(),
            object: shown(object).to_owned(),
            error: error.clone(),
        })
    });
    failures.collect()
}

/// The files of a row that hold no table: they count among the objects that are no data, but for
/// those that are about a table beside them.
pub fn passed_over(row: &TableRecord) -> Ignored {
    let mut found = Ignored::default();
    let is_context = |path: &str, beside| beside && split(path).is_none();
    let files = row.files.iter().filter(|file| file.no_table);
    let files = files.filter(|file| !is_context(&file.path, file.beside));
    for file in files.filter(|file| !is_left_out(&file.path)) {
        let why = refusal(&object_of(file));
        found.add_other(&file.path);
        if why.is_some_and(|why| why.cause == IS_DUCKDB) {
            found.add_duckdb(&file.path);
        }
    }
    found
}

/// The files that a file in the catalog is read with.
fn parts_of(file: &FileRecord) -> Vec<ObjectRecord> {
    let declared = file.declared.as_deref();
    let declared = declared.and_then(|it| Declaration::from_json(it).ok());
    declared.map_or_else(Vec::new, |it| it.parts.clone())
}

/// The content fingerprint of a file in the catalog. What an older limn understood of it otherwise
/// is read again.
fn content_of(file: &FileRecord) -> Fingerprint {
    let declared = file.declared.as_deref();
    let declared = declared.and_then(|it| Declaration::from_json(it).ok());
    let doubts = (file.beside, file.alone);
    content_fingerprint(&object_of(file), doubts, declared.as_deref())
}

/// A file in the catalog as it was listed.
fn object_of(file: &FileRecord) -> ObjectRecord {
    ObjectRecord {
        path: file.path.clone(),
        etag: file.etag.clone(),
        version: file.version.clone().map(ObjectVersion::from),
        size: file.size,
        modified_ms: file.modified_ms,
    }
}

/// The members (files and contexts) that a catalog row was made from.
pub fn members_of(record: &TableRecord) -> impl Iterator<Item = MemberId> + '_ {
    let files = record.files.iter().map(|file| file.fingerprint.as_str());
    let contexts = record
        .contexts
        .iter()
        .map(|context| context.fingerprint.as_str());
    files.chain(contexts).filter_map(MemberId::from_hex)
}
