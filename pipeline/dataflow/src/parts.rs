//! Parts: how a group's files and contexts take part in its tables, once they have been read.
//!
//! What cannot be read takes part with its last good version, if the catalog has one, and is
//! entered there so that the next run reads it again only if that may help.

use std::collections::{BTreeMap, HashMap};

use limn_formats::Fingerprint;
use limn_formats::member::{is_remark, shown};
use limn_lake::contexts::{About, ContextPart, SharedText};
use limn_lake::{ContextSource, ContextText, Group, TableFile, TableName};
use limn_profile::{FileSummary, LoggedColumns, Redact};
use limn_segment::{ContextRecord, FileRecord, TableRecord};

use crate::changes::MemberId;
use crate::error::PipelineError;
use crate::published::{Published, REGISTERED};
use crate::read::{Part, ReadResult, Unread};
use crate::report::Failure;
use crate::sketches::keep;

/// What came of reading a group's parts.
pub type Parts = BTreeMap<Part, Result<ReadResult, Unread>>;

/// A group's files by path and its contexts, as they take part.
pub struct GroupRead {
    files: HashMap<String, FilePart>,
    contexts: HashMap<Fingerprint, Result<ContextRead, Unread>>,
}

/// What was read of a context.
enum ContextRead {
    /// Its text about its table.
    Text(ContextPart),
    /// Its texts about several tables.
    Shared(SharedText),
}

/// What a context that was read is found by. The tables of a group share what is about several:
/// which they are shows when the files are read.
fn place_of(context: &ContextSource) -> Fingerprint {
    match &context.source {
        ContextText::Shared { object, .. } => object.fingerprint(),
        ContextText::Registered { .. }
        | ContextText::Declared { .. }
        | ContextText::Sidecar { .. } => context.fingerprint(),
    }
}

/// How a file takes part in its table.
#[derive(Default)]
struct FilePart {
    /// Of its present version, or of the last one that could be read.
    summary: Option<FileSummary>,
    /// Why its present version could not be read.
    unread: Option<Unread>,
    /// It was read, and takes no part.
    no_table: bool,
}

impl FilePart {
    /// What came of a file; none if that is a text.
    fn of(
        file: &TableFile,
        read: Result<ReadResult, Unread>,
        published: &Published,
    ) -> Result<Option<Self>, PipelineError> {
        let mut part = FilePart::default();
        match read {
            Ok(ReadResult::Summary(summary)) => part.summary = Some(*summary),
            Ok(ReadResult::AsPublished) => {
                part.summary = Some(*published.summary(file.content_fingerprint())?);
            }
            Ok(ReadResult::NoTable) => part.no_table = true,
            Err(unread) => {
                part.summary = published.last_good(&file.object.path)?;
                part.unread = Some(unread);
            }
            Ok(ReadResult::Text(_) | ReadResult::Shared(_)) => return Ok(None),
        }
        Ok(Some(part))
    }
}

impl GroupRead {
    /// The parts of a group, with what is published of those that could not be read.
    /// From here on it holds no value that is not to be kept.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn of(
        group: &Group,
        mut parts: Parts,
        published: &Published,
        redact: Redact,
    ) -> Result<Self, PipelineError> {
        let mut contexts = HashMap::new();
        for (index, context) in group.contexts.iter().enumerate() {
            let read = match &context.source {
                ContextText::Registered { text, .. } | ContextText::Declared { text, .. } => {
                    Ok(ContextRead::Text(ContextPart::of_table(text.clone())))
                }
                ContextText::Sidecar { .. } | ContextText::Shared { .. } => {
                    match parts.remove(&Part::Context(index as u32)) {
                        Some(Ok(ReadResult::Text(text))) => Ok(ContextRead::Text(text)),
                        Some(Ok(ReadResult::Shared(text))) => Ok(ContextRead::Shared(text)),
                        Some(Err(unread)) => Err(unread),
                        Some(Ok(_)) | None => continue,
                    }
                }
            };
            contexts.insert(place_of(context), read);
        }
        let table = group.files.iter().find_map(TableFile::logged_table);
        let logged = table.map(LoggedColumns::of);
        let mut files = HashMap::new();
        for (index, file) in group.files.iter().enumerate() {
            let path = &file.object.path;
            let Some(read) = parts.remove(&Part::File(index as u32)) else {
                continue;
            };
            let Some(mut part) = FilePart::of(file, read, published)? else {
                continue;
            };
            if let Some(summary) = &mut part.summary {
                if let Some(logged) = logged.as_ref().filter(|_| redact != Redact::Off) {
                    summary.mark_by(logged);
                }
                summary.redact(redact);
            }
            files.insert(path.clone(), part);
        }
        Ok(Self { files, contexts })
    }

    /// The summaries of a table's files with their paths, as far as there are any.
    pub fn summaries<'a>(&'a self, group: &'a Group) -> Vec<(&'a str, &'a FileSummary)> {
        let files = group.files.iter().filter_map(|file| {
            let path = file.object.path.as_str();
            Some((path, self.files.get(path)?.summary.as_ref()?))
        });
        files.collect()
    }

    /// The word for the format that a table's first file turned out to have, where its name says
    /// none.
    pub fn shown_format(&self, group: &Group) -> Option<String> {
        let summaries = self.summaries(group);
        let first = summaries.iter().min_by_key(|(path, _)| *path);
        first.and_then(|(_, summary)| Some(summary.format.as_deref()?.to_owned()))
    }

    /// Whether nothing is known of a table but its log.
    pub fn has_only_log(&self, group: &Group) -> bool {
        let summaries = self.summaries(group);
        let mut summaries = summaries.iter();
        data_files(group)
            .next()
            .is_some_and(|file| !file.format.is_log())
            && summaries.all(|(_, summary)| summary.logged_table().is_some())
    }

    /// Whether a table with a log has a new version of which a file that came with it cannot be
    /// read. Such a version is there as a whole or not at all: its files take the places of others.
    pub fn is_torn(&self, group: &Group, published: &TableRecord) -> bool {
        let is_known = |path: &str| published.files_now().any(|file| file.path == path);
        let has_log = group.files.iter().any(|file| file.format.is_log());
        has_log && published.rows.is_some() && self.unread(group).any(|path| !is_known(path))
    }

    /// Of a table that could be read in part, which files no version could be read of, as a note.
    pub fn missing(&self, group: &Group) -> Option<String> {
        let missing: Vec<&str> = self.unread(group).collect();
        let (first, others) = missing.split_first()?;
        if missing.len() == data_files(group).count() {
            return None;
        }
        let (first, count, files) = (shown(first), missing.len(), group.files.len());
        let others = match others.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        Some(format!(
            "{count} of {files} files left out that could not be read: {first}{others}"
        ))
    }

    /// The files of a table of which no version could be read.
    fn unread<'a>(&self, group: &'a Group) -> impl Iterator<Item = &'a str> {
        let paths = data_files(group).map(|file| file.object.path.as_str());
        paths.filter(|path| {
            let part = self.files.get(*path);
            part.is_some_and(|part| part.unread.is_some() && part.summary.is_none())
        })
    }

    /// Whether any of a table's files could be read in its present version.
    pub fn is_current(&self, group: &Group) -> bool {
        let mut files = data_files(group);
        files.any(|file| {
            self.files
                .get(&file.object.path)
                .is_some_and(|part| part.unread.is_none() && !part.no_table)
        })
    }

    /// Whether there is no table: its files promised none and hold none, or are remarks on a
    /// container.
    pub fn is_passed_over(&self, group: &Group) -> bool {
        let mut files = group.files.iter();
        files.all(|file| {
            let part = self.files.get(&file.object.path);
            is_remark(&file.object.path) || part.is_some_and(|part| part.no_table)
        })
    }

    /// What could not be read of a table.
    pub fn failures(&self, group: &Group) -> Vec<Failure> {
        let failure = |object: &str, unread: &Unread| Failure {
            table: group.name.to_string(),
            object: shown(object).to_owned(),
            error: unread.error.clone(),
        };
        let files = group.files.iter().filter_map(|file| {
            let path = &file.object.path;
            Some(failure(path, self.files.get(path)?.unread.as_ref()?))
        });
        // Nobody misses what is said of no table.
        let is_table = !self.is_passed_over(group);
        let contexts = group.contexts.iter().filter(|_| is_table);
        let contexts = contexts.filter_map(|context| {
            let object = context.source.object()?;
            let read = self.contexts.get(&place_of(context))?;
            Some(failure(&object.path, read.as_ref().err()?))
        });
        files.chain(contexts).collect()
    }

    /// The catalog's entries of a table's files; `members` stand for its files and contexts.
    pub fn file_records(&self, group: &Group, members: &[MemberId]) -> Vec<FileRecord> {
        let files = group.files.iter().zip(members);
        let records = files.filter_map(|(file, id)| {
            let part = self.files.get(&file.object.path)?;
            Some(file_record(file, *id, part))
        });
        let records: Vec<FileRecord> = records.collect();
        let is_known = |it: &FileRecord| !it.fingerprint.is_empty() || it.summary.is_some();
        match records.iter().any(is_known) {
            true => records,
            // The next run tries all of them again.
            false => Vec::new(),
        }
    }

    /// The catalog's entries of a table's contexts.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn context_records(
        &self,
        group: &Group,
        members: &[MemberId],
        published: &Published,
    ) -> Result<Vec<ContextRecord>, PipelineError> {
        let members = members.iter().skip(group.files.len());
        let contexts = group.contexts.iter().zip(members);
        contexts
            .filter_map(|(context, id)| {
                let read = self.contexts.get(&place_of(context))?;
                Some(context_record(
                    &group.name,
                    &context.source,
                    *id,
                    read,
                    published,
                ))
            })
            .collect()
    }
}

/// The files of a group that hold rows; of a table that has none its log.
fn data_files(group: &Group) -> impl Iterator<Item = &TableFile> {
    let has_data = group.files.iter().any(|file| !file.format.is_log());
    let files = group.files.iter();
    files.filter(move |file| !has_data || !file.format.is_log())
}

/// The catalog's entry of a file. One whose failure may pass is known by no version, so that the
/// next run tries it again, or notices that it has gone.
fn file_record(file: &TableFile, id: MemberId, part: &FilePart) -> FileRecord {
    let summary = part.summary.as_ref();
    let mut record = FileRecord {
        path: file.object.path.clone(),
        rows: summary.map(FileSummary::own_rows),
        error: part.unread.as_ref().map(|unread| unread.error.clone()),
        no_table: part.no_table,
        beside: file.is_beside,
        alone: file.is_alone,
        declared: file.declared.as_ref().and_then(|it| it.to_json().ok()),
        ..FileRecord::default()
    };
    if let Some(summary) = summary {
        keep(&mut record, summary);
    }
    if part.unread.as_ref().is_some_and(|unread| !unread.settled) {
        return record;
    }
    FileRecord {
        etag: file.object.etag.clone(),
        version: file.object.version.as_ref().map(ToString::to_string),
        size: file.object.size,
        modified_ms: file.object.modified_ms,
        fingerprint: id.to_string(),
        ..record
    }
}

/// The catalog's entry of a context of `table`; one that cannot be read keeps its last text.
fn context_record(
    table: &TableName,
    source: &ContextText,
    id: MemberId,
    read: &Result<ContextRead, Unread>,
    published: &Published,
) -> Result<ContextRecord, PipelineError> {
    let text = read.as_ref().ok().map(|read| match (read, source) {
        (ContextRead::Shared(text), ContextText::Shared { about, .. }) => text.part(about),
        (ContextRead::Shared(text), _) => text.part(&About::default()),
        (ContextRead::Text(text), _) => text.clone(),
    });
    let is_shared = matches!(source, ContextText::Shared { .. });
    let (source, registered_for) = match source {
        ContextText::Registered { name, .. } => {
            let other = (name != table).then(|| name.to_string());
            (REGISTERED.to_owned(), other)
        }
        ContextText::Declared { by, .. } => (by.clone(), None),
        ContextText::Sidecar { object } | ContextText::Shared { object, .. } => {
            (object.path.clone(), None)
        }
    };
    let last = || {
        let last = match is_shared {
            true => published.last_part(table.as_str(), &source)?,
            false => published.last_text(&source)?.map(ContextPart::of_table),
        };
        Ok::<_, PipelineError>(last.unwrap_or_default())
    };
    let settled = read.as_ref().err().is_none_or(|unread| unread.settled);
    let part = text.map_or_else(last, Ok)?;
    Ok(ContextRecord {
        text: part.text,
        of_folder: part.of_folder,
        fingerprint: if settled {
            id.to_string()
        } else {
            String::new()
        },
        error: read.as_ref().err().map(|unread| unread.error.clone()),
        source,
        registered_for,
    })
}
