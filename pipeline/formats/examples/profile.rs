//! Reads files as the job does and prints how long it took: `tests/bench/read_speed.py` runs it.
//!
//! `profile [--budget BYTES] FILE…`: schema, row sample and column profiles of each file. The
//! default budget takes any file whole. One line of JSON a file; with `--summary` the summary
//! itself follows on a line of its own.

use std::path::Path;
use std::time::Instant;

use limn_formats::{DataFile, Format, ObjectRecord, ReadOptions, summarise_file};
use limn_store::Store;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut options = ReadOptions {
        scan_budget: 1 << 40,
        ..ReadOptions::default()
    };
    let (mut files, mut with_summary) = (Vec::new(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--budget" => {
                options.scan_budget = arguments.next().ok_or("--budget needs bytes")?.parse()?;
            }
            "--summary" => with_summary = true,
            _ => files.push(argument),
        }
    }
    // As many threads as a worker's share: what waits for bytes, and what parses them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for file in files {
        let path = Path::new(&file).canonicalize()?;
        let folder = path.parent().and_then(Path::to_str).ok_or("no folder")?;
        let name = path
            .file_name()
            .and_then(|it| it.to_str())
            .ok_or("no name")?;
        let size = path.metadata()?.len();
        let data = DataFile {
            object: ObjectRecord {
                path: name.to_owned(),
                etag: None,
                version: None,
                size,
                modified_ms: 0,
            },
            format: Format::of_path(name).ok_or("not the name of a data file")?,
            // It is a table of its own.
            sample_path: String::new(),
            is_beside: false,
            is_alone: false,
            declared: None,
        };
        let started = Instant::now();
        let store = Store::open(folder)?;
        let summary = runtime.block_on(summarise_file(&store, &data, &options))?;
        let result = serde_json::json!({
            "file": name,
            "bytes": size,
            "seconds": started.elapsed().as_secs_f64(),
            "rows": summary.rows,
            "columns": summary.columns.len(),
            "exact": !summary.approximate,
        });
        println!("{result}");
        if with_summary {
            println!("{}", serde_json::to_string(&summary)?);
        }
    }
    Ok(())
}
