//! What is published of files: what came of reading them, and where their values are.

use std::collections::HashMap;
use std::sync::Arc;

use limn_formats::member::split;
use limn_formats::{Declaration, Fingerprint, Format, ObjectRecord};
use limn_lake::LogTable;
use limn_lake::layout::GroupKey;
use limn_profile::FileSummary;
use limn_segment::{FileRecord, SinceSample, TableRecord};

use super::catalog_rows::{content_of, object_of, parts_of};
use super::places::Place;
use super::row::{Row, hash_of};
use super::state::Published;
use crate::error::PipelineError;
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
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn file(&self, content: Fingerprint) -> Result<Option<KnownFile>, PipelineError> {
        let Some(known) = self.content(content)? else {
            return Ok(None);
        };
        if known.file.since_sample == Some(SinceSample::Went) {
            // Nothing but its summary is published any more.
            return Ok(None);
        }
        Ok(match &known.file.error {
            _ if known.file.no_table => Some(KnownFile::NoTable),
            Some(error) => Some(KnownFile::Unread(error.clone())),
            None => known.summary().map(|it| KnownFile::Summary(Box::new(it))),
        })
    }

    /// The summary of a file of which [`file`](Self::file) gave one in this round.
    ///
    /// # Errors
    /// The temporary folder cannot be used; [`file`](Self::file) has not given one.
    pub fn summary(&self, content: Fingerprint) -> Result<Box<FileSummary>, PipelineError> {
        match self.file(content)? {
            Some(KnownFile::Summary(summary)) => Ok(summary),
            _ => Err(PipelineError::Dataflow(
                "a published summary was not there any more".into(),
            )),
        }
    }

    /// Whether this very version of a file is published.
    pub fn has_file(&self, content: Fingerprint) -> bool {
        let state = self.state();
        state.reuse.is_some() && state.places.content(content.0 as u64).is_some()
    }

    /// The summary of the last version of a file that could be read.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn last_good(&self, path: &str) -> Result<Option<FileSummary>, PipelineError> {
        let known = self.path(path)?;
        Ok(known.and_then(|it| it.summary()))
    }

    /// The table that has the hashes of a file's values, of this version of it or of the last one
    /// that could be read, and the file's path there: a file may have another one now. None where
    /// files are to be read anew.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn holder(
        &self,
        content: Option<Fingerprint>,
        path: &str,
    ) -> Result<Option<(Position, String)>, PipelineError> {
        if self.state().reuse.is_none() {
            return Ok(None);
        }
        let found = content.map(|content| self.content(content)).transpose()?;
        let found = found.flatten().filter(|it| it.file.error.is_none());
        let found = match found {
            Some(found) => Some(found),
            None => self.path(path)?,
        };
        let Some(Known { row, file }) = found else {
            return Ok(None);
        };
        Ok(Position::of(&row.head()?).map(|position| (position, file.path)))
    }

    /// A file in this very version; none where files are to be read anew.
    fn content(&self, content: Fingerprint) -> Result<Option<Known>, PipelineError> {
        let place = {
            let state = self.state();
            let is_used = state.reuse.is_some();
            is_used.then(|| state.places.content(content.0 as u64))
        };
        let known = place.flatten().map(Known::at).transpose()?.flatten();
        Ok(known.filter(|it| content_of(&it.file) == content))
    }

    /// A file of a path that has a summary, of whatever version.
    fn path(&self, path: &str) -> Result<Option<Known>, PipelineError> {
        let place = self.state().places.path(hash_of(path));
        let known = place.map(Known::at).transpose()?.flatten();
        Ok(known.filter(|it| it.file.path == path))
    }

    /// The members of containers that the index has, by container, in the versions that it has;
    /// none where files are to be read anew: another budget, or another limn, may find others.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn members_of_containers(
        &self,
    ) -> Result<HashMap<String, Vec<ObjectRecord>>, PipelineError> {
        let state = self.state();
        let mut members: HashMap<String, Vec<ObjectRecord>> = HashMap::new();
        if state.reuse.is_none() {
            return Ok(members);
        }
        let rows = state.groups.values().flatten();
        for row in rows.filter(|it| it.is_contained) {
            let row = row.whole()?;
            // Of a file that went there may be an entry of the version that it had.
            let went = Some(SinceSample::Went);
            for file in row.files.iter().filter(|it| it.since_sample != went) {
                if let Some((container, _)) = split(&file.path) {
                    let known = members.entry(container.to_owned()).or_default();
                    known.push(object_of(file));
                    known.extend(parts_of(file));
                }
            }
        }
        for known in members.values_mut() {
            known.sort_unstable();
            known.dedup();
        }
        Ok(members)
    }

    /// The table of a folder that has a log, as the index has it; none where files are to be read
    /// anew.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn logged(&self, folder: &str) -> Result<Option<LogTable>, PipelineError> {
        if self.state().reuse.is_none() {
            return Ok(None);
        }
        let tables = self.tables(GroupKey::of_log(folder).into())?;
        Ok(tables.first().and_then(|table| logged(folder, table)))
    }
}

/// A table of a folder that has a log.
fn logged(folder: &str, table: &TableRecord) -> Option<LogTable> {
    // What could not be read may be the next time, and is known by no version: the log is read.
    let files = table.files_now().map(|file| {
        if file.fingerprint.is_empty() {
            return None;
        }
        let declared = Declaration::from_json(file.declared.as_deref()?).ok()?;
        Some((object_of(file), declared))
    });
    let files: Vec<_> = files.collect::<Option<_>>()?;
    let log = Format::of_label(&table.format).filter(|it| it.is_log())?;
    LogTable::of_catalog(folder, files, log)
}

/// A file as the catalog has it.
struct Known {
    row: Arc<Row>,
    file: FileRecord,
}

impl Known {
    fn at((row, file): Place) -> Result<Option<Self>, PipelineError> {
        let file = row.file(file)?;
        Ok(file.map(|file| Self { row, file }))
    }

    /// Its summary; none if this limn cannot read it any more.
    fn summary(&self) -> Option<FileSummary> {
        let summary = kept(&self.file).ok()?;
        summary.map(FileSummary::with_published_hashes)
    }
}
