//! Spreadsheets and databases in archives: their tables are members, `data.zip//book.xlsx//2024`.
//!
//! Such a file is unpacked whole, within the limits for members: once if it can be kept
//! ([`super::kept`]), else to be listed and for each of its tables. So their number is bounded, and
//! what unpacking all of them then comes to.

use std::panic::{AssertUnwindSafe, catch_unwind};

use limn_store::Store;
use tokio::runtime::Handle;

use super::{MemberNames, Members, list_parts, tar, unpack};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::format::Container;
use crate::member::{self, MemberPlace};
use crate::object::ObjectRecord;
use crate::ranged::Ranged;
use crate::{Failure, ReadOptions};

/// Such files of one archive that are opened.
const MOST_OPENED: usize = 200;

const UNPACK: &str = "lay it beside the archive";

/// Lists the tables of the spreadsheets and databases that were found in an archive.
///
/// # Errors
/// The store's, and too many members; what is wrong with one file is a remark.
pub(super) fn list(
    store: &Store,
    archive: &ObjectRecord,
    ranged: &Ranged,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    let inner = std::mem::take(&mut members.inner);
    for (number, (name, (size, place))) in inner.into_iter().enumerate() {
        let refused = |cause: &str| {
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            failure.with_remedy(UNPACK)
        };
        if number >= MOST_OPENED {
            let cause = format!(
                "its archive has more than {MOST_OPENED} spreadsheets and databases, of which the first are read"
            );
            members.unopened(&name, refused(&cause));
            continue;
        }
        let way = match place {
            MemberPlace::PackedTar(at) => at.saturating_add(size),
            _ => size,
        };
        // Each of its tables is unpacked, and it is once to be listed.
        let work = |tables: usize| way.saturating_mul(tables as u64 + 1);
        let is_too_much = |done: u64| done > tar::most_work(options);
        let too_much = || {
            refused(
                "it must be unpacked for each of its tables, which is too much for this archive",
            )
        };
        if is_too_much(members.work.saturating_add(work(0))) {
            members.unopened(&name, too_much());
            continue;
        }
        // A library's panic costs this file only.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            open(
                store,
                archive,
                ranged,
                (&name, size, &place),
                members.names,
                options,
            )
        }));
        let opened = opened.unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref())));
        let parts = match opened {
            Ok(parts) => parts,
            Err(failure @ Failure::Store(_)) => return Err(failure),
            Err(failure) => {
                members.unopened(&name, failure);
                continue;
            }
        };
        let all = members.work.saturating_add(work(parts.found.len()));
        if is_too_much(all) {
            members.work = members.work.saturating_add(work(0));
            members.unopened(&name, too_much());
            continue;
        }
        members.work = all;
        for (part, (_, part_place)) in parts.found {
            let within = MemberPlace::Within(Box::new(place.clone()), Box::new(part_place));
            members.add(member::path_of(&name, &part), size, within);
        }
        for (part, (size, failure)) in parts.refused {
            match member::is_remark(&part) {
                true => members.remark(&member::path_of(&name, member::shown(&part)), failure),
                false => members.refuse(member::path_of(&name, &part), size, failure),
            }
        }
        members.unlisted += parts.unlisted;
        if members.found.len() as u64 > super::MOST_MEMBERS {
            return Err(super::too_many());
        }
    }
    Ok(())
}

/// The tables of one such file.
fn open(
    store: &Store,
    archive: &ObjectRecord,
    ranged: &Ranged,
    (name, size, place): (&str, u64, &MemberPlace),
    names: MemberNames,
    options: &ReadOptions,
) -> Result<Members, Failure> {
    let kind = Container::of_path(name);
    let format = kind.and_then(Container::format_of_parts);
    let (Some(kind), Some(format)) = (kind, format) else {
        return Err(super::not_there());
    };
    let object = ObjectRecord {
        path: name.to_owned(),
        etag: None,
        version: None,
        size,
        modified_ms: archive.modified_ms,
    };
    let file = DataFile {
        object: object.clone(),
        format,
        // It is not summarised.
        sample_path: String::new(),
        is_beside: false,
        is_alone: false,
        declared: None,
    };
    let (stretches, _) = unpack(ranged, place, file, options, tar::Extent::Whole)?;
    let view = store.view(&archive.path, archive.etag.as_deref(), stretches);
    let ranged = Ranged::new(view, &object, Handle::current());
    let mut members = Members::named(names);
    list_parts(kind, name, &ranged, options, &mut members)?;
    Ok(members)
}

/// A table of such a file, once that is a store's object of its own; `name` is the table's in the
/// archive.
pub(super) fn file(file: &DataFile, name: &str, part: MemberPlace) -> DataFile {
    let (container, table) = member::split(name).unwrap_or_default();
    let container = ObjectRecord {
        modified_ms: file.object.modified_ms,
        ..ObjectRecord::unversioned(container, file.object.size)
    };
    DataFile {
        object: container.with_member((table, file.object.size), 1, part),
        format: file.format,
        sample_path: file.sample_path.clone(),
        is_beside: false,
        is_alone: false,
        declared: file.declared.clone(),
    }
}
