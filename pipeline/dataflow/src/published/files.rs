//! What is published of files: what came of reading them, and where their values are.

use std::collections::HashMap;

use limn_formats::member::split;
use limn_formats::{Declaration, Fingerprint, Format, ObjectRecord};
use limn_lake::LogTable;
use limn_lake::layout::GroupKey;
use limn_profile::FileSummary;
use limn_segment::SinceSample;

use super::rows::{object_of, parts_of};
use super::state::{Place, Published, hash_of};
use crate::position::Position;
use crate::sketches::kept;

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

impl Published {
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
            if let Some((container, _)) = split(&file.path) {
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
}
