//! Archives: which of their members hold rows, and one member as an object that any reader reads.
//!
//! [`open_container`] lists a container's members as objects of the lake ([`crate::member`]); [`enter`] makes one
//! of them a store of its own, of stretches of the container where its bytes stand there as they are. What an
//! archive claims is checked before memory is taken: the number of its members, the length of its directory, how
//! many times its size it unpacks to.

pub(super) mod book;
mod ddl;
pub(super) mod sqlite;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures::FutureExt;
use limn_store::{Store, Stretch, one_line};
use tokio::runtime::Handle;

use super::ranged::Ranged;
use super::{Failure, ReadOptions, counted, parse};
use crate::error::{FileError, FileErrorKind};
use crate::layout::DataFile;
use crate::member::{self, Container, MemberPlace, MemberVersion};
use crate::object::{Format, ObjectRecord};
use crate::place;

/// An archive with more members is refused.
const MOST_MEMBERS: u64 = 100_000;
/// Members that are refused with a line each; the others are counted.
const MOST_LINES: usize = 20;
/// What unpacks to so many times its size is a trap, if it is long.
const MOST_TIMES: u64 = 1000;
/// Long, in bytes.
const LONG: u64 = 16 << 20;
/// A member that must be unpacked before it can be read is at most so many scan budgets long.
const UNPACKED_BUDGETS: u64 = 4;

const UNPACK: &str = "unpack it, and lay its files there";

/// A container's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The members that hold rows, as their names say, by path.
    pub members: Vec<ObjectRecord>,
    /// Members that cannot be read, with the reason.
    pub refused: Vec<FileError>,
}

/// Lists the members of a container that hold rows: a function of its bytes. Of a zip archive the directory is
/// read, of a tar archive the headers, of a compressed one everything.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the container: the store failed, or it is damaged, or a trap.
pub async fn open_container(
    store: &Store,
    container: &ObjectRecord,
    options: &ReadOptions,
) -> Result<Opened, FileError> {
    let ranged = Ranged::new(store.clone(), container, Handle::current());
    let kind = Container::of_path(&container.path);
    let is_sure = !container.path.to_ascii_lowercase().ends_with(".db");
    let options = options.clone();
    let listed = parse(move || {
        let mut members = Members::default();
        match kind {
            Some(Container::Zip) => zip::list(&ranged, &options, &mut members)?,
            Some(Container::Tar) => tar::list(&ranged, &options, &mut members)?,
            Some(Container::Sqlite) => sqlite::list(&ranged, is_sure, &options, &mut members)?,
            Some(Container::Book) => book::list(&ranged, &options, &mut members)?,
            None => {
                let cause = "its name is not that of an archive";
                return Err(Failure::new(FileErrorKind::Unsupported, cause));
            }
        }
        Ok(members)
    });
    let listed = AssertUnwindSafe(listed).catch_unwind().await;
    match listed.unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref()))) {
        Ok(members) => Ok(members.of(container)),
        Err(failure) => Err(failure.about(&container.path)),
    }
}

/// A member as the one object of a store, and what a reader needs to know of it; `None` for a file that is no
/// member.
///
/// # Errors
/// The store's; a member that is not where its version says; one that is too long to be unpacked.
pub(super) async fn enter(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<Option<(Store, DataFile)>, Failure> {
    let Some((container, _)) = member::split(&file.object.path) else {
        return Ok(None);
    };
    if Format::of_part(&file.object.path).is_some() {
        return Ok(None);
    }
    let version = version_of(file)?;
    let container = container_of(file, container, version);
    let ranged = Ranged::new(store.clone(), &container, Handle::current());
    let (file, options) = (file.clone(), options.clone());
    let entered = parse(move || match version.place {
        MemberPlace::Tar(at) => {
            let range = at..at.saturating_add(file.object.size);
            Ok((vec![Stretch::Object(range)], file))
        }
        MemberPlace::PackedTar(at) => tar::unpack(&ranged, at, file, &options),
        MemberPlace::Zip {
            method,
            header,
            packed,
            crc,
        } => {
            let at = zip::content(&ranged, header)?;
            let range = at..at.saturating_add(packed);
            zip::enter(&ranged, method, range, crc, file, &options)
        }
        MemberPlace::Table(_) | MemberPlace::Sheet(_) => Err(not_there()),
    });
    let (stretches, file) = entered.await?;
    Ok(Some((
        store.view(&container.path, container.etag.as_deref(), stretches),
        file,
    )))
}

fn version_of(file: &DataFile) -> Result<MemberVersion<'_>, Failure> {
    let version = file.object.version.as_deref();
    version.and_then(MemberVersion::parse).ok_or_else(not_there)
}

fn not_there() -> Failure {
    let cause = "it is not known where it lies in its archive";
    Failure::new(FileErrorKind::Missing, cause)
}

fn container_of(file: &DataFile, path: &str, version: MemberVersion<'_>) -> ObjectRecord {
    ObjectRecord {
        path: path.to_owned(),
        etag: file.object.etag.clone(),
        version: version.of.map(str::to_owned),
        size: version.size,
        modified_ms: file.object.modified_ms,
    }
}

/// The container of a part that is a table and no file, and which part it is.
fn part(file: &DataFile) -> Result<(ObjectRecord, MemberPlace), Failure> {
    let version = version_of(file)?;
    let path = member::outside(&file.object.path);
    Ok((container_of(file, path, version), version.place))
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
#[derive(Default)]
struct Members {
    found: BTreeMap<String, (u64, MemberPlace)>,
    refused: Vec<(String, Failure)>,
    untold: u64,
}

impl Members {
    /// A member's name, if it holds rows.
    fn wants(&mut self, raw: &[u8]) -> Option<String> {
        let shown = String::from_utf8_lossy(raw).replace('\\', "/");
        let is_nested = Container::of_path(&shown).is_some();
        if !is_nested && Format::of_path(&shown).is_none() {
            return None;
        }
        // Only its content tells whether this is a database.
        if shown.to_ascii_lowercase().ends_with(".db") {
            return None;
        }
        match member::tidy_name(raw) {
            Ok(name) if place::is_hidden(&name) => None,
            Ok(name) if is_nested => {
                let cause = "it is an archive within an archive";
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                self.refuse(name, failure.with_remedy("lay it beside the outer one"));
                None
            }
            Ok(name) => Some(name),
            Err(cause) => {
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                let shown = one_line(&shown).chars().take(200).collect();
                self.refuse(shown, failure.with_remedy("pack it under another name"));
                None
            }
        }
    }

    /// The name of a part that is a table.
    fn wants_part(&mut self, raw: &str) -> Option<String> {
        match member::tidy_name(raw.as_bytes()) {
            Ok(name) if name.is_empty() || place::is_hidden(&name) => None,
            Ok(name) => Some(name),
            Err(cause) => {
                let failure = Failure::new(FileErrorKind::Unsupported, cause);
                let shown = one_line(raw).chars().take(200).collect();
                self.refuse(shown, failure.with_remedy("rename it"));
                None
            }
        }
    }

    fn add(&mut self, name: String, size: u64, place: MemberPlace) {
        if self.found.contains_key(&name) {
            let cause = "another member of the archive has the same name";
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            self.refuse(name, failure.with_remedy("pack the archive anew"));
            return;
        }
        self.found.insert(name, (size, place));
    }

    fn refuse(&mut self, name: String, failure: Failure) {
        match self.refused.len() < MOST_LINES {
            true => self.refused.push((name, failure)),
            false => self.untold += 1,
        }
    }

    fn of(self, container: &ObjectRecord) -> Opened {
        let members = self.refused.is_empty().then_some(self.found.len() as u64);
        let found = self.found.into_iter().map(|(name, (size, place))| {
            let version = MemberVersion {
                members,
                place,
                size: container.size,
                of: container.version.as_deref(),
            };
            ObjectRecord {
                path: member::path_of(&container.path, &name),
                etag: container.etag.clone(),
                version: Some(version.to_string()),
                size,
                modified_ms: container.modified_ms,
            }
        });
        let refused = self.refused.into_iter();
        let mut refused: Vec<FileError> = refused
            .map(|(name, failure)| failure.about(&member::path_of(&container.path, &name)))
            .collect();
        if self.untold > 0 {
            let cause = format!(
                "{} of it cannot be read, too",
                counted(self.untold, "more member")
            );
            let error = FileError::new(&container.path, FileErrorKind::Unsupported, cause);
            refused.push(error.with_remedy(UNPACK));
        }
        Opened {
            members: found.collect(),
            refused,
        }
    }
}
