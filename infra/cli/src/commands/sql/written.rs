//! The rows of an answer in a file.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::FileWriter;
use futures::TryStreamExt;
use limn_sql::Answer;
use limn_sql::cells::json_text;
use limn_sql::written::{as_plain, cells_of, plain};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tempfile::NamedTempFile;

use crate::progress::say;
use crate::text::{one_line, plural};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows as lines, after a header; null is nothing.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line.
    JsonLines,
    /// Apache Parquet, packed with zstd.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

impl Format {
    /// What a file's extension says.
    ///
    /// # Errors
    /// It says nothing that is known.
    pub fn of(path: &Path) -> anyhow::Result<Format> {
        let extension = path
            .extension()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        Ok(match extension.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv,
            "json" => Format::Json,
            "jsonl" | "ndjson" => Format::JsonLines,
            "parquet" | "pq" => Format::Parquet,
            "arrow" | "feather" => Format::Arrow,
            _ => bail!(
                "--output {}: write .csv, .json, .jsonl, .parquet or .arrow",
                path.display()
            ),
        })
    }
}

/// Writes all rows, and says how many. The file is there once it is whole.
pub async fn write(format: Format, path: &Path, answer: &mut Answer) -> anyhow::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    is_outside(path, folder, &answer.local_lakes())?;
    let file = begun(folder).map_err(|error| of_system(path, &error))?;
    let copy = file.reopen().map_err(|error| of_system(path, &error))?;
    let failed = |error: anyhow::Error| anyhow!("{} cannot be written: {error}", path.display());
    let mut writer = Writer::new(format, copy, answer.schema()).map_err(failed)?;
    let mut rows = 0;
    while let Some(batch) = answer.try_next().await? {
        writer.write(&batch).map_err(failed)?;
        rows += batch.num_rows() as u64;
    }
    writer.finish().map_err(failed)?;
    if let Ok(known) = std::fs::metadata(path) {
        let kept = file.as_file().set_permissions(known.permissions());
        kept.map_err(|error| of_system(path, &error))?;
    }
    let kept = file.persist(path);
    kept.map_err(|error| of_system(path, &error.error))?;
    let rows = plural(rows, "row");
    say(&format!("{rows} written to {}", path.display()));
    Ok(())
}

/// A lake is not written to: a file there may be one of its tables, and the next run would take
/// this one for such.
fn is_outside(path: &Path, folder: &Path, lakes: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    // A folder that is not there is reported when it is written to.
    let Ok(folder) = folder.canonicalize() else {
        return Ok(());
    };
    match lakes.iter().find(|lake| folder.starts_with(lake)) {
        Some(lake) => bail!(
            "--output {} lies in the lake {}, which limn only reads; choose another place",
            path.display(),
            lake.display()
        ),
        None => Ok(()),
    }
}

/// A file beside the one that it will be, with the mode of any new file.
fn begun(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// An error of the system, in words.
fn of_system(path: &Path, error: &io::Error) -> anyhow::Error {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => "its folder is not there".to_owned(),
        io::ErrorKind::Other => one_line(&error.to_string()),
        kind => kind.to_string(),
    };
    anyhow!("{} cannot be written: {cause}", path.display())
}

enum Writer {
    Csv(Box<csv::Writer<File>>),
    Json {
        file: BufWriter<File>,
        names: Vec<String>,
        is_array: bool,
        is_first: bool,
    },
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<BufWriter<File>>>, SchemaRef),
}

impl Writer {
    fn new(format: Format, file: File, schema: SchemaRef) -> anyhow::Result<Writer> {
        let names = schema.fields().iter().map(|field| field.name().clone());
        Ok(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(names)?;
                Writer::Csv(Box::new(writer))
            }
            Format::Json | Format::JsonLines => Writer::Json {
                file: BufWriter::new(file),
                names: names.collect(),
                is_array: format == Format::Json,
                is_first: true,
            },
            Format::Parquet => {
                let packed = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(packed).build();
                Writer::Parquet(Box::new(ArrowWriter::try_new(
                    file,
                    schema,
                    Some(properties),
                )?))
            }
            Format::Arrow => {
                let schema = plain(&schema);
                let writer = FileWriter::try_new_buffered(file, &schema)?;
                Writer::Arrow(Box::new(writer), schema)
            }
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        match self {
            Writer::Csv(writer) => {
                let cells = cells_of(batch)?;
                for row in 0..batch.num_rows() {
                    let texts = cells.iter().map(|cell| cell.text(row).unwrap_or_default());
                    writer.write_record(texts)?;
                }
            }
            Writer::Json {
                file,
                names,
                is_array,
                is_first,
            } => {
                let cells = cells_of(batch)?;
                let mut text = String::new();
                for row in 0..batch.num_rows() {
                    text.push_str(match (*is_array, *is_first) {
                        (true, true) => "[\n{",
                        (true, false) => ",\n{",
                        (false, _) => "{",
                    });
                    *is_first = false;
                    for (at, (name, cell)) in names.iter().zip(&cells).enumerate() {
                        if at > 0 {
                            text.push(',');
                        }
                        json_text(name, &mut text);
                        text.push(':');
                        cell.json(row, &mut text);
                    }
                    text.push_str(if *is_array { "}" } else { "}\n" });
                }
                file.write_all(text.as_bytes())?;
            }
            Writer::Parquet(writer) => writer.write(batch)?,
            Writer::Arrow(writer, schema) => writer.write(&as_plain(batch, schema)?)?,
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Writer::Csv(mut writer) => writer.flush()?,
            Writer::Json {
                mut file,
                is_array,
                is_first,
                ..
            } => {
                if is_array {
                    file.write_all(if is_first { b"[]\n" } else { b"\n]\n" })?;
                }
                file.flush()?;
            }
            Writer::Parquet(writer) => drop(writer.close()?),
            Writer::Arrow(mut writer, _) => writer.finish()?,
        }
        Ok(())
    }
}
