//! What the targets have in common: a file of a lake, read as the job reads it, and what must hold of every outcome.
//!
//! Whatever the bytes, reading ends soon with a summary that makes sense or with one line that names the object; our own
//! code never panics. Panics of the libraries that decode Parquet, Arrow and postings are let pass where the reader catches
//! them: by design they cost one file, or one question.

use std::sync::Once;
use std::time::{Duration, Instant};

use limn_lake::{
    DataFile, FileErrorKind, Format, ObjectRecord, ReadOptions, TableName, summarise_file,
};
use limn_store::Store;

/// Bytes of a file that are looked at: small, so that sampling is reached by small inputs.
const BUDGET: u64 = 4 << 10;
/// No input of the sizes used here takes this long.
const LONGEST: Duration = Duration::from_secs(20);
/// What the paths of libraries' sources have in them.
const LIBRARIES: &str = "/registry/src/";

/// Ends the process at a panic of our own code. Those of libraries are for the readers to catch: one that is not caught ends
/// the process, too.
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

fn read_within(name: &str, content: &[u8], options: &ReadOptions) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let started = Instant::now();
    let outcome = runtime.block_on(async {
        let store = Store::in_memory();
        let object = ObjectRecord {
            path: name.to_owned(),
            etag: None,
            version: None,
            size: content.len() as u64,
            modified_ms: 0,
        };
        let file = DataFile {
            object,
            format: Format::of_path(name).expect("the name of a data file"),
            table_name: TableName::parse("t").expect("a name of a table"),
        };
        let bytes = bytes::Bytes::copy_from_slice(content);
        store.put(name, bytes).await.expect("memory takes it");
        summarise_file(&store, &file, options).await
    });
    assert!(started.elapsed() < LONGEST, "took {:?}", started.elapsed());
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
            summary.to_json().expect("a summary can be written");
        }
        Err(error) => {
            assert_eq!(error.object, name);
            let line = error.to_string();
            assert!(!line.contains('\n'), "{line}");
            // Only decoders that are not ours may have panicked: the hook ends the process at others.
            if error.kind == FileErrorKind::Panicked {
                assert!(["t.parquet", "t.arrow", "t.avro"].contains(&name), "{line}");
            }
        }
    }
}
