//! Archives: which of their members hold rows, and one member as an object that any reader reads.
//!
//! [`open_container`] lists a container's members as objects of the lake ([`crate::member`]);
//! [`enter`] makes one of them a store of its own, of stretches of the container where its bytes
//! stand there as they are. What an archive claims is checked before memory is taken: the number of
//! its members, the length of its directory, how many times its size it unpacks to. What cannot be
//! read is listed with its reason ([`crate::member`]).

pub(super) mod book;
mod ddl;
mod duckdb;
mod inner;
mod kept;
pub(super) mod sqlite;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures::FutureExt;
use limn_profile::text::counted;
use limn_store::{Store, Stretch, one_line};
use tokio::runtime::Handle;

use super::ranged::Ranged;
use super::{Failure, ReadOptions, parse};
use crate::data_file::DataFile;
use crate::error::{FileError, FileErrorKind};
use crate::format::{Container, Format};
use crate::member::{self, Listed, MemberPlace, Refusal, SEPARATOR};
use crate::object::ObjectRecord;
use crate::parts;

pub use self::duckdb::IS_DUCKDB;
pub use self::kept::OpenContainers;
use self::kept::Part;

/// An archive with more members is refused.
const MOST_MEMBERS: u64 = 100_000;
/// Members that can be no table are reported in so many lines; the others are counted, in one.
const MOST_LINES: usize = 20;
/// What unpacks to so many times its size is a trap, if it is long.
const MOST_TIMES: u64 = 1000;
/// Long, in bytes.
const LONG: u64 = 16 << 20;
/// A member that must be unpacked before it can be read is at most so many scan budgets long.
const UNPACKED_BUDGETS: u64 = 4;

const UNPACK: &str = "unpack it, and lay its files there";
/// What to do with a damaged file that is no archive.
const COPY_FILE: &str = "write or copy the file again from its source";

/// What names of members say, which is for those who make tables of them to know.
#[derive(Clone, Copy, Debug)]
pub struct MemberNames {
    /// Whether a path is that of data.
    pub is_data: fn(&str) -> bool,
    /// Whether a path is one of those that writers mean to be skipped.
    pub is_hidden: fn(&str) -> bool,
    /// Whether a path is that of a text about several tables.
    pub is_shared_text: fn(&str) -> bool,
}

/// Lists the members of a container that hold rows, as their names say, by path, and what cannot be
/// read of them: a function of its bytes. Of a zip archive the directory is read, of a tar archive
/// the headers, of a compressed one everything; of databases and spreadsheets in an archive all.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the container: the store failed, or it is damaged, or a trap.
pub async fn open_container(
    store: &Store,
    container: &ObjectRecord,
    names: MemberNames,
    options: &ReadOptions,
) -> Result<Listed, FileError> {
    let ranged = Ranged::new(store.clone(), container, Handle::current());
    let kind = Container::of_path(&container.path);
    let (options, store, object) = (options.clone(), store.clone(), container.clone());
    let listed = parse(move || {
        let mut members = Members::named(names);
        match kind {
            Some(Container::Zip) => zip::list(&ranged, &options, &mut members)?,
            Some(Container::Tar) => tar::list(&ranged, &options, &mut members)?,
            Some(kind) => list_parts(kind, &object.path, &ranged, &options, &mut members)?,
            None => {
                let cause = "its name is not that of an archive";
                return Err(Failure::new(FileErrorKind::Unsupported, cause));
            }
        }
        inner::list(&store, &object, &ranged, &options, &mut members)?;
        Ok(members)
    });
    let listed = AssertUnwindSafe(listed).catch_unwind().await;
    match listed.unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref()))) {
        Ok(members) => Ok(members.of(container)),
        Err(failure) => Err(failure.about(&container.path)),
    }
}

/// Lists the tables of a database or spreadsheet file.
fn list_parts(
    kind: Container,
    path: &str,
    ranged: &Ranged,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    match kind {
        Container::Sqlite => {
            // Many programs have files of their own called `.db`.
            let is_sure = !path.to_ascii_lowercase().ends_with(".db");
            sqlite::list(ranged, is_sure, options, members)
        }
        _ => book::list(ranged, options, members),
    }
}

/// A member as the one object of a store, and what a reader needs to know of it; `None` for a file
/// that is no member, and for a table of a database or spreadsheet file.
///
/// # Errors
/// The store's; a member that is not where its version says; one that is too long to be unpacked.
pub(super) async fn enter(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<Option<(Store, DataFile)>, Failure> {
    let Some((container, place, file)) = placed(file)? else {
        return Ok(None);
    };
    let ranged = Ranged::new(store.clone(), &container, Handle::current());
    let options = options.clone();
    let extent = tar::Extent::Sampled;
    let (stretches, file) = parse(move || unpack(&ranged, &place, file, &options, extent)).await?;
    let view = store.view(&container.path, container.etag.as_deref(), stretches);
    Ok(Some((view, file)))
}

/// As [`enter`], of a member that is going to be read whole. For a reader's own thread.
pub(super) fn enter_whole(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<Option<(Store, DataFile)>, Failure> {
    let Some((container, place, file)) = placed(file)? else {
        return Ok(None);
    };
    let ranged = Ranged::new(store.clone(), &container, Handle::current());
    let (stretches, file) = unpack(&ranged, &place, file, options, tar::Extent::Whole)?;
    let view = store.view(&container.path, container.etag.as_deref(), stretches);
    Ok(Some((view, file)))
}

/// The archive that a file is a member of, its place there, and the file in an archive that holds
/// its table.
fn placed(file: &DataFile) -> Result<Option<(ObjectRecord, MemberPlace, DataFile)>, Failure> {
    let Some((_, name)) = member::split(&file.object.path) else {
        return Ok(None);
    };
    let (container, place) = part(file)?;
    Ok(match place {
        MemberPlace::Table(_) | MemberPlace::Sheet(_) => None,
        MemberPlace::Within(outer, part) => {
            Some((container, *outer, inner::file(file, name, *part)))
        }
        place => Some((container, place, file.clone())),
    })
}

/// The stretches that a member of an archive is made of, and what a reader needs to know of it.
fn unpack(
    ranged: &Ranged,
    place: &MemberPlace,
    file: DataFile,
    options: &ReadOptions,
    extent: tar::Extent,
) -> Result<(Vec<Stretch>, DataFile), Failure> {
    match *place {
        MemberPlace::Tar(at) => {
            let range = at..at.saturating_add(file.object.size);
            Ok((vec![Stretch::Object(range)], file))
        }
        MemberPlace::PackedTar(at) => tar::unpack(ranged, at, file, options, extent),
        MemberPlace::Zip {
            method,
            header,
            packed,
            crc,
        } => {
            let enter = |file| {
                let at = zip::content(ranged, header)?;
                let range = at..at.saturating_add(packed);
                zip::enter(ranged, method, range, crc, file, options)
            };
            if !matches!(file.format, Format::Sqlite | Format::Sheet) {
                return enter(file);
            }
            // Once for all its tables.
            let unpack = |most| match file.object.size <= most {
                true => enter(file.clone()).map(|(stretches, _)| all_bytes(&stretches)),
                false => Ok(None),
            };
            let member = (ranged, Part::Member(header));
            match options.containers.bytes(member, &options.room, unpack)? {
                Some(bytes) => Ok((vec![Stretch::Bytes(bytes)], file)),
                None => enter(file),
            }
        }
        _ => Err(not_there()),
    }
}

pub(super) fn not_there() -> Failure {
    let cause = "it is not known where it lies in its archive";
    Failure::new(FileErrorKind::Missing, cause)
}

/// The container of a member, and where the member is in it.
fn part(file: &DataFile) -> Result<(ObjectRecord, MemberPlace), Failure> {
    let object = &file.object;
    let placed = object.container().zip(object.member());
    let (container, member) = placed.ok_or_else(not_there)?;
    Ok((container, member.place.clone()))
}

/// The bytes that are all of what stretches make, if they are at hand.
fn all_bytes(stretches: &[Stretch]) -> Option<Bytes> {
    match stretches {
        [Stretch::Bytes(bytes)] => Some(bytes.clone()),
        _ => None,
    }
}

/// Bytes that are all of a member.
fn at_hand(bytes: Vec<u8>) -> Vec<Stretch> {
    vec![Stretch::Bytes(Bytes::from(bytes))]
}

/// The most bytes of a member that are unpacked before it is read.
fn most_unpacked(options: &ReadOptions) -> u64 {
    options.scan_budget.saturating_mul(UNPACKED_BUDGETS)
}

fn too_long(size: u64, most: u64) -> Failure {
    Failure::new(
        FileErrorKind::Unsupported,
        format!("it has to be unpacked to be read, and is {size} bytes long, more than {most}"),
    )
    .with_remedy("lay it there unpacked, or raise the scan budget")
}

fn damaged(what: impl std::fmt::Display) -> Failure {
    Failure::new(FileErrorKind::Corrupt, format!("its {what}"))
        .with_remedy("write or copy the archive again from its source")
}

fn trap() -> Failure {
    Failure::new(
        FileErrorKind::Unsupported,
        format!("it unpacks to more than {MOST_TIMES} times its size"),
    )
    .with_remedy("if it is a table nevertheless, lay it there unpacked")
}

fn is_trap(unpacked: u64, packed: u64) -> bool {
    unpacked > LONG && unpacked / packed.max(1) > MOST_TIMES
}

fn too_many() -> Failure {
    let cause = format!("it has more than {MOST_MEMBERS} members");
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy(UNPACK)
}

/// The members of a container that are of interest, as they are found.
struct Members {
    names: MemberNames,
    found: BTreeMap<String, (u64, MemberPlace)>,
    /// Spreadsheets and databases, which have members of their own.
    inner: BTreeMap<String, (u64, MemberPlace)>,
    /// Of those that cannot be read, their length and the reason; names of remarks end with two
    /// slashes.
    refused: BTreeMap<String, (u64, Failure)>,
    /// How many of these are remarks, and how many more there are.
    remarks: usize,
    unlisted: u64,
    /// Bytes that are unpacked if all of them are read.
    work: u64,
}

impl Members {
    fn named(names: MemberNames) -> Self {
        Members {
            names,
            found: BTreeMap::new(),
            inner: BTreeMap::new(),
            refused: BTreeMap::new(),
            remarks: 0,
            unlisted: 0,
            work: 0,
        }
    }

    /// A member's name, if it holds rows, or is read with one that does.
    fn wants(&mut self, raw: &[u8]) -> Option<String> {
        let shown = String::from_utf8_lossy(raw).replace('\\', "/");
        let tidy = member::tidy_name(raw);
        let name = tidy.as_deref().unwrap_or(&shown);
        let container = Container::of_path(name);
        // What a member says of others is not looked for.
        let holds_rows = || match tidy {
            Ok(_) => (self.names.is_data)(name),
            Err(_) => Format::of_path(name).is_some() && !(self.names.is_shared_text)(name),
        };
        let is_wanted = container.is_some() || parts::is_read_with_another(name) || holds_rows();
        if !is_wanted || tidy.is_ok() && (self.names.is_hidden)(name) {
            return None;
        }
        let is_archive = container.is_some_and(|kind| kind.format_of_parts().is_none());
        match tidy {
            Ok(name) if is_archive => {
                let cause = "it is an archive within an archive";
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                self.remark(&name, failure.with_remedy("lay it beside the outer one"));
                None
            }
            Ok(name) => Some(name),
            Err(cause) => {
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                self.remark(&shown, failure.with_remedy("pack it under another name"));
                None
            }
        }
    }

    /// The name of a part that is a table.
    fn wants_part(&mut self, raw: &str) -> Option<String> {
        match member::tidy_name(raw.as_bytes()) {
            Ok(name) if name.is_empty() || (self.names.is_hidden)(&name) => None,
            Ok(name) => Some(name),
            Err(cause) => {
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                self.remark(raw, failure.with_remedy("rename it"));
                None
            }
        }
    }

    fn add(&mut self, name: String, size: u64, place: MemberPlace) {
        let is_taken = self.found.contains_key(&name)
            || self.inner.contains_key(&name)
            || self.refused.contains_key(&name);
        if is_taken {
            let cause = "another member of the archive has the same name";
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            let failure = failure.with_remedy("pack the archive anew");
            self.remark(&format!("{name} (again)"), failure);
            return;
        }
        let is_part = matches!(place, MemberPlace::Table(_) | MemberPlace::Sheet(_));
        let members = match !is_part && is_inner(&name) {
            true => &mut self.inner,
            false => &mut self.found,
        };
        members.insert(name, (size, place));
    }

    /// A member that cannot be read, by its tidy name, of so many bytes.
    fn refuse(&mut self, name: String, size: u64, failure: Failure) {
        if is_inner(&name) {
            return self.unopened(&name, failure);
        }
        if parts::is_read_with_another(&name) {
            return self.remark(&name, failure);
        }
        match self.found.contains_key(&name) || self.refused.contains_key(&name) {
            true => self.remark(&format!("{name} (again)"), failure),
            // However many they are: what is not listed counts as removed, and its last good
            // version would be removed, too.
            false => {
                self.refused.insert(name, (size, failure));
            }
        }
    }

    /// A spreadsheet or database that cannot be opened, by its tidy name, and why: what it was last
    /// stays in the index for as long as this is said of it.
    fn unopened(&mut self, name: &str, failure: Failure) {
        let remark = format!("{name}{SEPARATOR}");
        self.refused.insert(remark, (0, failure));
    }

    /// Something that can be no table, and why.
    fn remark(&mut self, about: &str, failure: Failure) {
        let about: String = one_line(about).chars().take(MOST_SHOWN).collect();
        if let Entry::Vacant(free) = self.refused.entry(format!("{about}{SEPARATOR}")) {
            if self.remarks >= MOST_LINES {
                self.unlisted += 1;
                return;
            }
            self.remarks += 1;
            free.insert((0, failure));
        }
    }

    /// Leaves out what would be read with a table that there is not.
    fn leave_out_parts(&mut self) {
        let stems = self
            .found
            .keys()
            .filter_map(|name| parts::stem_of_table(name));
        let stems: HashSet<String> = stems.map(str::to_owned).collect();
        fn is_table(place: &MemberPlace) -> bool {
            match place {
                MemberPlace::Table(_) | MemberPlace::Sheet(_) => true,
                MemberPlace::Within(_, inner) => is_table(inner),
                _ => false,
            }
        }
        self.found.retain(|name, (_, place)| {
            let part = parts::of_path(name);
            is_table(place) || part.is_none_or(|(_, stem)| stems.contains(stem))
        });
    }

    fn of(mut self, container: &ObjectRecord) -> Listed {
        self.leave_out_parts();
        if self.unlisted > 0 {
            let cause = format!(
                "{} of it cannot be read, too",
                counted(self.unlisted, "more member")
            );
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            self.refused
                .insert(String::new(), (0, failure.with_remedy(UNPACK)));
        } else if self.found.is_empty() && self.refused.is_empty() {
            let failure = Failure::new(FileErrorKind::NoTable, "it holds no table");
            self.refused.insert(String::new(), (0, failure));
        }
        let refused = self.refused.into_iter().map(|(name, (size, failure))| {
            let refusal = Refusal::of(failure.about(&container.path));
            (name, (size, MemberPlace::Refused(Box::new(refusal))))
        });
        self.found.extend(refused);
        let total = self.found.len() as u64;
        let members = self.found.into_iter();
        let members =
            members.map(|(name, (size, place))| container.with_member((&name, size), total, place));
        Listed {
            total,
            members: members.collect(),
        }
    }
}

/// Whether a member is a spreadsheet or database: no table itself, but of tables.
fn is_inner(name: &str) -> bool {
    Container::of_path(name).is_some() && !name.contains(SEPARATOR)
}

/// Characters of a name that is not kept as it is.
const MOST_SHOWN: usize = 200;
