//! SQLite databases: each table and view is a member, `base.sqlite//Customers`.
//!
//! A database's schema is a program that its writer chose, so it is run in a cage: the file is read
//! into memory and opened read-only, nothing but reads of its own tables and harmless functions are
//! allowed, and each reading has a number of steps, a time and a limit of memory. Its bytes are
//! fetched once for all its tables ([`super::kept`]). One database is read at a time in a process,
//! because SQLite's limit of memory is the process's: so none can use up another's. Views are read
//! by a process of their own ([`view`]), as no number of steps limits what preparing them takes.
//!
//! Comments in their definitions describe tables, views and columns (`ddl`). Values have the types
//! they are stored by; text that is a date is one. Virtual tables and the tables that serve them,
//! and SQLite's own, are no members.

pub(crate) mod batches;
mod cage;
mod failure;
mod keys;
mod mentions;
mod reading;
pub mod view;

use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use limn_profile::FileSummary;
use limn_store::Store;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use self::failure::{failure, is_too_much, no_database, of_view, too_complex};
use self::keys::Declared;
use self::reading::Reading;
use super::ddl::{self, Commented};
use super::kept::Part;
use super::{MOST_MEMBERS, Members, duckdb, most_unpacked, too_many};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::member::MemberPlace;
use crate::ranged::Ranged;
use crate::{Failure, MAX_COLUMNS, ReadOptions, parse};

const MAGIC: &[u8] = b"SQLite format 3\0";
/// A database must be in memory as a whole; never more than this.
const MOST_BYTES: u64 = 256 << 20;
/// What SQLite may take of memory, the database and all else.
const HEAP: u64 = 512 << 20;
/// Characters of a definition in which comments are looked for.
const LONGEST_DEFINITION: u32 = 256 << 10;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Tables that serve virtual ones are called `<table>_<one of these>`.
const SHADOWS: &[&str] = &[
    "content", "segments", "segdir", "docsize", "stat", "data", "idx", "config", "node", "parent",
    "rowid",
];

/// Lists a database's tables and views.
///
/// # Errors
/// The store's; no database, a damaged one, one that is too large.
pub(super) fn list(
    ranged: &Ranged,
    is_sure: bool,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    let begin = ranged.get(0..ranged.size().min(MAGIC.len() as u64))?;
    if duckdb::is_one(&begin) {
        return Err(duckdb::refused(is_sure));
    }
    if begin != MAGIC {
        // Many programs have files of their own called `.db`.
        return if is_sure { Err(no_database()) } else { Ok(()) };
    }
    let base = Base::of(&database(ranged, options)?, alone())?;
    let mut listed = 0;
    for entry in &base.entries {
        if !entry.is_member {
            continue;
        }
        listed += 1;
        if listed > MOST_MEMBERS {
            return Err(too_many());
        }
        if let Some(name) = members.wants_part(&entry.name) {
            members.add(name, ranged.size(), MemberPlace::Table(entry.id));
        }
    }
    Ok(())
}

/// Reads a table or view.
pub(crate) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let (container, place) = super::part(file)?;
    let ranged = Ranged::new(store.clone(), &container, tokio::runtime::Handle::current());
    let sample_path = file.sample_path.clone();
    let options = options.clone();
    let MemberPlace::Table(id) = place else {
        return Err(super::not_there());
    };
    let (path, own) = (sample_path.clone(), options.clone());
    let read = parse(move || {
        let bytes = database(&ranged, &own)?;
        let base = Base::of(&bytes, alone())?;
        let is_view = base.entries.iter().any(|it| it.id == id && it.is_view);
        match is_view {
            true => Ok(Err(bytes)),
            false => base.read(id, &path, &own).map(Ok),
        }
    });
    match read.await? {
        Ok(table) => Ok(table),
        Err(bytes) => view::read(bytes, id, &sample_path, &options).await,
    }
}

/// A database's bytes.
fn database(ranged: &Ranged, options: &ReadOptions) -> Result<Bytes, Failure> {
    let size = ranged.size();
    let most = most_unpacked(options).min(MOST_BYTES);
    if size > most {
        let cause = format!("it is a database of {size} bytes, more than {most}");
        let remedy = "lay its tables there as files, or raise the scan budget (up to 64 MiB)";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(remedy));
    }
    let all = |most| match size <= most {
        true => ranged.get(0..size).map(Some),
        false => Ok(None),
    };
    let kept = options
        .containers
        .bytes((ranged, Part::Whole), &options.room, all)?;
    kept.map_or_else(|| ranged.get(0..size), Ok)
}

struct Entry {
    id: u64,
    name: String,
    is_view: bool,
    is_member: bool,
}

/// Waits until no other database is read.
fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An opened database. The guard is dropped last.
struct Base {
    connection: Connection,
    entries: Vec<Entry>,
    size: u64,
    _alone: MutexGuard<'static, ()>,
}

impl Base {
    fn of(bytes: &[u8], alone: MutexGuard<'static, ()>) -> Result<Base, Failure> {
        if !bytes.starts_with(MAGIC) || bytes.len() < 100 {
            return Err(no_database());
        }
        let mut base = Base {
            connection: open(bytes).map_err(|error| failure(&error))?,
            entries: Vec::new(),
            size: bytes.len() as u64,
            _alone: alone,
        };
        base.entries = base.schema().map_err(|error| failure(&error))?;
        Ok(base)
    }

    fn schema(&self) -> Result<Vec<Entry>, Error> {
        let mut statement = self.connection.prepare(
            "SELECT rowid, type, name, substr(sql, 1, 100) FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid",
        )?;
        let mut rows = statement.query([])?;
        let mut entries = Vec::new();
        let mut virtuals = HashSet::new();
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let text = |i| match row.get_ref(i) {
                Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            };
            let (kind, name, sql) = (text(1), text(2), text(3));
            let lower = name.to_ascii_lowercase();
            let sql = sql.to_ascii_lowercase();
            let is_virtual = sql.split_whitespace().nth(1) == Some("virtual");
            if is_virtual {
                virtuals.insert(lower.clone());
            }
            entries.push(Entry {
                id: u64::try_from(id).unwrap_or_default(),
                is_view: kind == "view",
                is_member: !is_virtual && !lower.starts_with("sqlite_") && !name.is_empty(),
                name,
            });
        }
        for entry in &mut entries {
            let lower = entry.name.to_ascii_lowercase();
            let is_shadow = lower
                .rsplit_once('_')
                .is_some_and(|(of, part)| SHADOWS.contains(&part) && virtuals.contains(of));
            entry.is_member &= !is_shadow;
        }
        Ok(entries)
    }

    fn read(
        mut self,
        id: u64,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<FileSummary, Failure> {
        let entry = member(&self.entries, id)?;
        let declared = match entry.is_view {
            true => Declared::default(),
            false => {
                let called = |name: &str| {
                    let mut entries = self.entries.iter();
                    let found = entries.find(|it| it.name.eq_ignore_ascii_case(name));
                    found.map(|entry| entry.name.clone())
                };
                let declared = Declared::of(&self.connection, &entry.name, called);
                declared.map_err(|error| failure(&error))?
            }
        };
        if entry.is_view && self.is_too_much(&entry.name).map_err(|it| failure(&it))? {
            return Err(too_complex());
        }
        let commented = self.commented(id).map_err(|error| failure(&error))?;
        let (connection, size) = (&mut self.connection, self.size);
        let asks_too_much = cage::close(connection, size, &self.entries, entry);
        let asks_too_much = asks_too_much.map_err(|error| failure(&error))?;
        let sql = format!("SELECT * FROM main.{}", quoted(&entry.name));
        let failed = |error: &Error| match entry.is_view {
            true if asks_too_much.load(Ordering::Relaxed) => too_complex(),
            true => of_view(error),
            false => failure(error),
        };
        let mut statement = self.connection.prepare(&sql).map_err(|it| failed(&it))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if columns.len() > MAX_COLUMNS {
            return Err(Failure::too_many_columns(columns.len()));
        }
        let mut reading = Reading::new(&columns, sample_path, options);
        let mut rows = statement.query([]).map_err(|it| failed(&it))?;
        loop {
            match rows.next() {
                Ok(None) => break,
                Ok(Some(row)) => {
                    reading.row(row, columns.len());
                    if reading.is_full() {
                        reading.is_cut = true;
                        break;
                    }
                }
                Err(error) if is_too_much(&error) && reading.rows > 0 => {
                    reading.is_cut = true;
                    break;
                }
                Err(error) => return Err(failed(&error)),
            }
        }
        Ok(reading.finish(declared.keys(&columns), commented.of(&columns)))
    }

    /// Whether a view reads too many others.
    fn is_too_much(&self, view: &str) -> Result<bool, Error> {
        let sql = "SELECT name, substr(sql, 1, ?1) FROM sqlite_schema WHERE type = 'view'";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([LONGEST_DEFINITION])?;
        let mut views = Vec::new();
        while let Some(row) = rows.next()? {
            let text = |at| match row.get_ref(at) {
                Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            };
            views.push((text(0), text(1)));
        }
        Ok(mentions::Views::new(&views).is_too_much(view))
    }

    /// What comments in a table's or view's definition say.
    fn commented(&self, id: u64) -> Result<Commented, Error> {
        let sql = "SELECT substr(sql, 1, ?2) FROM sqlite_schema WHERE rowid = ?1";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query(rusqlite::params![id.cast_signed(), LONGEST_DEFINITION])?;
        let Some(row) = rows.next()? else {
            return Ok(Commented::default());
        };
        Ok(match row.get_ref(0)? {
            ValueRef::Text(sql) => ddl::comments(&String::from_utf8_lossy(sql)),
            _ => Commented::default(),
        })
    }
}

/// A table or view.
fn member(entries: &[Entry], id: u64) -> Result<&Entry, Failure> {
    let entry = entries.iter().find(|entry| entry.id == id);
    let member = entry.filter(|entry| entry.is_member);
    member.ok_or_else(super::not_there)
}

fn open(bytes: &[u8]) -> Result<Connection, Error> {
    let mut connection = Connection::open_in_memory()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1000),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (Limit::SQLITE_LIMIT_VDBE_OP, 250_000),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    connection.execute_batch(&format!(
        "PRAGMA hard_heap_limit={HEAP}; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;"
    ))?;
    // In memory there is no log to write ahead; what the file itself holds is read.
    let content = bytes[..18].chain(&[1u8, 1][..]).chain(&bytes[20..]);
    connection.deserialize_read_exact("main", content, bytes.len(), true)?;
    cage::set_steps(&mut connection, bytes.len() as u64, cage::LONGEST)?;
    Ok(connection)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
