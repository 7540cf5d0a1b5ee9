//! What a row of the catalog says of its group, its files and its contexts.

use limn_formats::member::{is_left_out, refusal, shown, split};
use limn_formats::{Declaration, Fingerprint, IS_DUCKDB, ObjectRecord, ObjectVersion};
use limn_lake::layout::content_fingerprint;
use limn_lake::{Contexts, Ignored, TableName};
use limn_segment::{ContextRecord, FileRecord, REGISTERED, SinceSample, TableRecord};

use crate::changes::{GroupId, MemberId};
use crate::report::Failure;

/// Whether a table's row has blocks to be found by, even if its newest version cannot be read.
pub fn is_searchable(record: &TableRecord) -> bool {
    !record.removed && (record.blocks > 0 || record.error.is_none())
}

/// The group that a row is of, if it names one.
pub fn group_of(record: &TableRecord) -> Option<GroupId> {
    GroupId::from_hex(&record.group)
}

/// The members (files and contexts) that a catalog row was made from. What could not be read, and
/// may be read the next time, is one that no lake has: so that it is noticed if it has gone then.
pub fn members_of(record: &TableRecord) -> impl Iterator<Item = MemberId> + '_ {
    let is_there = |file: &&FileRecord| file.since_sample != Some(SinceSample::Went);
    let files = record.files.iter().filter(is_there);
    let files = files.map(|it| (&it.fingerprint, &it.error, &it.path));
    let contexts = record.contexts.iter();
    let contexts = contexts.map(|it| (&it.fingerprint, &it.error, &it.source));
    let members = files.chain(contexts);
    members.filter_map(|(fingerprint, error, path)| match error {
        Some(_) if fingerprint.is_empty() => Some(MemberId::unread(path)),
        _ => MemberId::from_hex(fingerprint),
    })
}

/// Whether a context of a row is one that was registered and is to be forgotten.
pub fn is_forgotten(row: &TableRecord, context: &ContextRecord, forget: &Contexts) -> bool {
    let name = context.registered_for.as_ref().unwrap_or(&row.name);
    let texts = TableName::parse(name).ok().and_then(|it| forget.get(&it));
    context.source == REGISTERED && texts.is_some_and(|texts| texts.contains(&context.text))
}

/// The files that a file in the catalog is read with.
pub(super) fn parts_of(file: &FileRecord) -> Vec<ObjectRecord> {
    let declared = file.declared.as_deref();
    let declared = declared.and_then(|it| Declaration::from_json(it).ok());
    declared.map_or_else(Vec::new, |it| it.parts.clone())
}

/// The content fingerprint of a file in the catalog. What an older limn understood of it otherwise
/// is read again.
pub(super) fn content_of(file: &FileRecord) -> Fingerprint {
    let declared = file.declared.as_deref();
    let declared = declared.and_then(|it| Declaration::from_json(it).ok());
    let doubts = (file.beside, file.alone);
    content_fingerprint(&object_of(file), doubts, declared.as_deref())
}

/// A file in the catalog as it was listed.
pub(super) fn object_of(file: &FileRecord) -> ObjectRecord {
    ObjectRecord {
        path: file.path.clone(),
        etag: file.etag.clone(),
        version: file.version.clone().map(ObjectVersion::from),
        size: file.size,
        modified_ms: file.modified_ms,
    }
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
