//! Tables that have a log, and what their logs delete.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use limn_formats::{
    Declaration, FileError, FileErrorKind, ObjectRecord, Objects, ReadOptions, summarise_file,
};
use limn_lake::LogTable;
use limn_lake::sources::{Found, Listed, Opened, logged, open};
use limn_profile::{DeclaredReading, Deletes, Logged};
use limn_store::Store;

use crate::{LONGEST, data_file, judge_error, runtime, stored, watch_panics};

/// What stands between two files.
const BETWEEN: &[u8] = b"\xff--\xff";
/// Files of an input.
const MOST_FILES: usize = 64;
/// The table's folder.
const FOLDER: &str = "t";
/// A data file, of five rows.
const DATA: &[u8] = include_bytes!("../../fuzz/seeds/deletes_data.parquet");
const ROWS: u64 = 5;

/// Opens the table of which an input is the files: each is a line with its path in the folder
/// `log`, or from the table's folder where it begins with `/`, and its content.
///
/// # Panics
/// If anything does not hold that the crate promises.
pub fn read_log(log: &str, content: &[u8]) {
    watch_panics();
    // The library that replays Delta's log waits on threads of the runtime.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let store = Store::in_memory();
        for (path, content) in files(log, content) {
            // A store need not take every name.
            let bytes = bytes::Bytes::copy_from_slice(content);
            let _ = store.put(&path, bytes).await;
        }
        let objects = listed(&store).await;
        for found in logged(&objects) {
            let started = Instant::now();
            let opened = opened(&store, &found, &objects).await;
            assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
            let again = self::opened(&store, &found, &objects).await;
            match (opened, again) {
                (Ok(Some(table)), Ok(Some(again))) => {
                    assert_eq!(table, again, "not the same twice");
                    judge_table(&table, &found, &objects);
                }
                (Ok(None), Ok(None)) => {}
                (Err(error), Err(_)) => judge_log_error(&error),
                (one, other) => panic!("not the same twice: {one:?} {other:?}"),
            }
        }
    });
}

fn files<'a>(log: &'a str, content: &'a [u8]) -> impl Iterator<Item = (String, &'a [u8])> {
    let mut rest = Some(content);
    let parts = std::iter::from_fn(move || {
        let all = rest?;
        let end = all.windows(BETWEEN.len()).position(|it| it == BETWEEN);
        rest = end.map(|end| &all[end + BETWEEN.len()..]);
        Some(&all[..end.unwrap_or(all.len())])
    });
    parts.take(MOST_FILES).filter_map(move |part| {
        let line = part.iter().position(|byte| *byte == b'\n')?;
        let path = std::str::from_utf8(&part[..line]).ok()?;
        let path = match path.strip_prefix('/') {
            Some(path) => format!("{FOLDER}/{path}"),
            None => format!("{FOLDER}/{log}/{path}"),
        };
        Some((path, &part[line + 1..]))
    })
}

async fn listed(store: &Store) -> Objects {
    let mut objects = Objects::default();
    let mut found = store.list("");
    while let Some(object) = futures::StreamExt::next(&mut found).await {
        objects.extend(object.map(ObjectRecord::from));
    }
    objects.sort();
    objects
}

async fn opened(
    store: &Store,
    found: &Found,
    objects: &Objects,
) -> Result<Option<LogTable>, FileError> {
    let none = BTreeSet::new();
    let listed = Listed {
        is_elsewhere: &|_| false,
        is_chosen: &|_, _, _| true,
        objects,
        left_out: &none,
        too_new: &none,
    };
    Ok(match open(store, found, &listed, None).await? {
        Opened::Table(table) => Some(table),
        Opened::LeftOut | Opened::HeldBack | Opened::Uncommitted(_) => None,
    })
}

fn judge_table(table: &LogTable, found: &Found, objects: &Objects) {
    assert_eq!(table.folder, found.folder);
    let [log, files @ ..] = table.files.as_slice() else {
        panic!("a table without its log");
    };
    assert!(log.format.is_log());
    for file in files {
        let path = &file.object.path;
        assert!(
            objects.iter().any(|it| it.path == *path),
            "{path} is not there"
        );
        assert!(!file.format.is_log(), "{path}");
    }
}

fn judge_log_error(error: &FileError) {
    // The library that replays Delta's log may panic, and is caught.
    if error.kind != FileErrorKind::Panicked || !error.object.contains("_delta_log") {
        judge_error(error);
    }
}

/// Reads a data file of which `content` says what is deleted: as a vector in the log, one in an
/// object, a file of positions, or one of equal rows.
///
/// # Panics
/// If anything does not hold that the crate promises.
pub fn read_deleted(kind: u8, content: &[u8]) {
    watch_panics();
    let size = content.len() as u64;
    let (name, deletes) = match kind % 4 {
        0 => ("d.bin", Deletes::Inline(STANDARD.encode(content))),
        1 => (
            "d.bin",
            Deletes::Vector {
                path: "d.bin".to_owned(),
                offset: u64::from(kind / 4),
                size: size.saturating_sub(8 + u64::from(kind / 4)),
            },
        ),
        2 => (
            "d.parquet",
            Deletes::Positions {
                path: "d.parquet".to_owned(),
                size,
                of: "data.parquet".to_owned(),
            },
        ),
        _ => (
            "d.parquet",
            Deletes::Equal {
                path: "d.parquet".to_owned(),
                size,
                ids: vec![1, i32::from(kind / 4)],
                missing: vec![(9, "1".to_owned())],
            },
        ),
    };
    let logged = Logged {
        deletes: vec![deletes],
        ..Logged::default()
    };
    let reading = DeclaredReading {
        logged: Some(Box::new(logged)),
        ..DeclaredReading::default()
    };
    let declared = Declaration {
        reading,
        ..Declaration::default()
    };
    let started = Instant::now();
    let outcome = runtime().block_on(async {
        let (store, object) = stored("data.parquet", DATA).await;
        let bytes = bytes::Bytes::copy_from_slice(content);
        store.put(name, bytes).await.expect("memory takes it");
        let mut file = data_file(object);
        file.declared = Some(Arc::new(declared));
        summarise_file(&store, &file, &ReadOptions::default()).await
    });
    assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
    match outcome {
        Ok(summary) => {
            assert!(summary.rows <= ROWS, "{} rows", summary.rows);
            assert_eq!(summary.sample.rows.len() as u64, summary.rows);
        }
        Err(error) => judge_error(&error),
    }
}
