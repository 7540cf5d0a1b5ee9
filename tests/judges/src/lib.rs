//! What the targets have in common: a file of a lake, read as the job reads it, and what must hold
//! of every outcome.
//!
//! Whatever the bytes, reading ends soon with a summary that makes sense or with one line that
//! names the object; our own code never panics. Panics of the libraries that decode Parquet, Arrow
//! and postings are let pass where the reader catches them: by design they cost one file, or one
//! question.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a target reports a finding"
)]

mod logs;

use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use limn_formats::member::{is_remark, refusal};
use limn_formats::{
    DataFile, Declaration, FileError, FileErrorKind, Format, ObjectRecord, OpenContainers,
    ReadOptions, answer_book, summarise_file,
};
use limn_lake::open_container;
use limn_profile::FileSummary;
use limn_store::Store;

pub use self::logs::{read_deleted, read_log};

/// Bytes of a file that are looked at: small, so that sampling is reached by small inputs.
const BUDGET: u64 = 4 << 10;
/// No input of the sizes used here takes this long.
const LONGEST: Duration = Duration::from_secs(20);
/// A container's members are read one after another until this much time has passed.
const ENOUGH: Duration = Duration::from_secs(5);
/// A reading of a database may take 20 seconds by design.
const LONGEST_OF_DATABASE: Duration = Duration::from_secs(30);
/// How archives begin.
const ARCHIVE: &[u8] = b"PK\x03\x04";
/// What the paths of libraries' sources have in them.
const LIBRARIES: &str = "/registry/src/";

/// Ends the process at a panic of our own code. Those of libraries are for the readers to catch:
/// one that is not caught ends the process, too.
pub fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            let place = place.unwrap_or_default();
            if !place.contains(LIBRARIES) {
                eprintln!("{panic}");
                std::process::abort();
            }
        }));
    });
}

/// Reads `content` as the file `name` of a lake, within a small budget and within the default one.
///
/// # Panics
/// If anything does not hold that the crate promises.
pub fn read(name: &str, content: &[u8]) {
    watch_panics();
    for scan_budget in [BUDGET, ReadOptions::default().scan_budget] {
        let options = ReadOptions {
            scan_budget,
            ..ReadOptions::default()
        };
        if scan_budget == BUDGET || content.len() as u64 > BUDGET {
            read_within(name, content, &options);
        }
    }
}

/// As [`read`], of a file that another one belongs to.
///
/// # Panics
/// As [`read`].
pub fn read_with(name: &str, content: &[u8], part: &str, of_part: &[u8]) {
    watch_panics();
    for scan_budget in [BUDGET, ReadOptions::default().scan_budget] {
        let options = ReadOptions {
            scan_budget,
            ..ReadOptions::default()
        };
        read_files_within(name, content, Some((part, of_part)), &options);
    }
}

fn read_within(name: &str, content: &[u8], options: &ReadOptions) {
    read_files_within(name, content, None, options);
}

fn read_files_within(
    name: &str,
    content: &[u8],
    part: Option<(&str, &[u8])>,
    options: &ReadOptions,
) {
    let started = Instant::now();
    let outcome = runtime().block_on(async {
        let (store, object) = stored(name, content).await;
        let mut file = data_file(object);
        if let Some((part, content)) = part {
            let bytes = bytes::Bytes::copy_from_slice(content);
            store.put(part, bytes).await.expect("memory takes it");
            file.declared = Some(Arc::new(Declaration {
                parts: vec![ObjectRecord::unversioned(part, content.len() as u64)],
                ..Declaration::default()
            }));
        }
        summarise_file(&store, &file, options).await
    });
    assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
    judge(name, outcome, options);
}

/// Lists `content` as the container `name` of a lake, and reads its members.
///
/// # Panics
/// If anything does not hold that the crate promises.
pub fn read_container(name: &str, content: &[u8]) {
    watch_panics();
    for scan_budget in [BUDGET, ReadOptions::default().scan_budget] {
        let options = ReadOptions {
            scan_budget,
            containers: OpenContainers::opened_here(BUDGET, |given| answer_book(given)),
            ..ReadOptions::default()
        };
        runtime().block_on(read_members(name, content, &options));
    }
}

/// Reads a spreadsheet of which `content` is said by the process that reads spreadsheets.
///
/// # Panics
/// If anything does not hold that the crate promises.
pub fn read_answer(content: &[u8]) {
    watch_panics();
    let said = |given: &[u8]| {
        let line = given.iter().position(|byte| *byte == b'\n')?;
        Some(given[line + 1 + ARCHIVE.len()..].to_vec())
    };
    let options = ReadOptions {
        containers: OpenContainers::opened_here(BUDGET, said),
        ..ReadOptions::default()
    };
    let book = [ARCHIVE, content].concat();
    runtime().block_on(read_members("t.xlsx", &book, &options));
}

async fn read_members(name: &str, content: &[u8], options: &ReadOptions) {
    let (store, container) = stored(name, content).await;
    let started = Instant::now();
    let opened = open_container(&store, &container, options).await;
    assert!(
        started.elapsed() < LONGEST_OF_DATABASE,
        "took {:?}",
        started.elapsed()
    );
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => {
            assert_eq!(error.object, name);
            return judge_error(&error);
        }
    };
    let again = open_container(&store, &container, options).await;
    assert_eq!(again.as_ref(), Ok(&opened), "not the same twice");
    assert_eq!(opened.total, opened.members.len() as u64);
    let members = opened.members;
    assert!(
        members.is_sorted_by(|a, b| a.path < b.path),
        "two of one path"
    );
    for member in members {
        if started.elapsed() > ENOUGH {
            break;
        }
        let path = member.path.clone();
        assert!(path.starts_with(name), "{path}");
        if let Some(error) = refusal(&member) {
            assert!(error.object.starts_with(name), "{error}");
            judge_error(&error);
            continue;
        }
        assert!(!is_remark(&path) && !path.contains("/../"), "{path}");
        let reading = Instant::now();
        let outcome = summarise_file(&store, &data_file(member), options).await;
        assert!(
            reading.elapsed() < LONGEST_OF_DATABASE,
            "{path} took {:?}",
            reading.elapsed()
        );
        judge(&path, outcome, options);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made")
}

async fn stored(name: &str, content: &[u8]) -> (Store, ObjectRecord) {
    let store = Store::in_memory();
    let bytes = bytes::Bytes::copy_from_slice(content);
    store.put(name, bytes).await.expect("memory takes it");
    let object = ObjectRecord {
        path: name.to_owned(),
        etag: None,
        version: None,
        size: content.len() as u64,
        modified_ms: 0,
    };
    (store, object)
}

fn data_file(object: ObjectRecord) -> DataFile {
    DataFile {
        format: Format::of_path(&object.path).expect("the name of a data file"),
        object,
        sample_path: String::new(),
        is_beside: false,
        is_alone: false,
        declared: None,
    }
}

fn judge(path: &str, outcome: Result<FileSummary, FileError>, options: &ReadOptions) {
    match outcome {
        Ok(summary) => {
            assert!(!summary.columns.is_empty(), "a table without columns");
            for row in &summary.sample.rows {
                assert_eq!(row.values.len(), summary.columns.len());
            }
            if summary.rows_exact && !summary.approximate {
                let sampled = summary.sample.rows.len() as u64;
                assert_eq!(sampled, summary.rows.min(options.sample_rows as u64));
            }
            let stored = summary.to_stored().expect("a summary can be written");
            assert!(stored.read().is_ok(), "what is written can be read");
        }
        Err(error) => {
            assert_eq!(error.object, path);
            judge_error(&error);
        }
    }
}

fn judge_error(error: &FileError) {
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    // Only decoders that are not ours may have panicked: the hook ends the process at others.
    if error.kind == FileErrorKind::Panicked {
        let is_decoded = |name: &&str| error.object.contains(name);
        assert!(DECODED.iter().any(is_decoded), "{line}");
    }
}

/// Names of what libraries decode that may panic.
const DECODED: [&str; 8] = [
    ".parquet", ".arrow", ".avro", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods",
];
