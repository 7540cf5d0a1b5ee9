//! From one file's bytes to its [`FileSummary`], by the reader of its format.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use limn_profile::{DeclaredKeys, FileSummary};
use limn_store::Store;

use crate::data_file::DataFile;
use crate::error::{FileError, FileErrorKind};
use crate::failure::Failure;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::{arrow_ipc, avro, containers, dbf, json, member, orc, parquet, plain, text, unnamed};

/// Reads what limn keeps of a file: its columns with their types and profiles, its row count and a
/// row sample. The result is a function of the file's content, its `sample_path` and the options.
///
/// Requests: files within the budget one ranged read; above it text and Avro files sixteen, the
/// others one for the footer and a few for the values (an Arrow stream one for each of its first
/// 512 batches). The rows drawn from a Parquet file with no page index cost up to their whole
/// column chunks, read in windows, whatever the budget.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the object, the cause and the remedy: the store failed, or the
/// content is not of the format that the file's name promises, or broken.
pub async fn summarise_file(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, FileError> {
    if file.is_stray() {
        let cause = "it lies among a table's files of another format";
        return Err(Failure::new(FileErrorKind::NoTable, cause).about(&file.object.path));
    }
    if let Some(refusal) = member::refusal(&file.object) {
        return Err(refusal);
    }
    let options = &options.of(file);
    let read = async {
        let entered = containers::enter(store, file, options).await;
        let entered = entered.map_err(|failure| unnamed::if_it_was_promised(failure, file))?;
        let mut summary = match entered {
            Some((view, member)) => of_content(store, &view, &member, options).await?,
            None => of_content(store, store, file, options).await?,
        };
        let own = summary.thin_hashes(options.values.most);
        own.map_err(|error| Failure::new(FileErrorKind::Corrupt, error.to_string()))?;
        let format = file.format.found(&summary);
        if !format.is_text() && format != Format::Sheet {
            summary.declare_types(&options.declared().types);
        }
        summary.logged = options.declared().logged.clone().map(|mut logged| {
            // They are with the file.
            logged.deletes.clear();
            logged.nested = None;
            if let Some(table) = &mut logged.table {
                table.nested = None;
            }
            logged
        });
        Ok(summary)
    };
    // Parsing panics are caught at the blocking thread; this is for whatever runs here.
    let outcome = AssertUnwindSafe(read)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref())));
    outcome.map_err(|failure| failure.about(&file.object.path))
}

/// Reads a file whose name may not say what it is. `lake` has what is read with it.
async fn of_content(
    lake: &Store,
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let shown = unnamed::shown(store, file, options).await?;
    let mut summary = by_format(lake, store, &shown, options).await?;
    summary.format = (shown.format != file.format).then(|| shown.format.label().into());
    Ok(summary)
}

async fn by_format(
    lake: &Store,
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    match file.format {
        Format::Parquet => parquet::summarise(store, file, options).await,
        Format::Csv => text::summarise(store, file, options).await,
        Format::Text => plain::summarise(store, file, options).await,
        Format::JsonLines => json::summarise(store, file, options).await,
        Format::Arrow => arrow_ipc::summarise(store, file, options).await,
        Format::Avro => avro::summarise(store, file, options).await,
        Format::Orc => orc::summarise(store, file, options).await,
        Format::Dbf => dbf::summarise(lake, store, file, options).await,
        Format::Sqlite => containers::sqlite::summarise(store, file, options).await,
        Format::Sheet => containers::book::summarise(store, file, options).await,
        Format::Archive | Format::Unnamed => Err(containers::not_there()),
        // What it says of the table is declared of it.
        Format::Delta | Format::Iceberg | Format::Hudi => Ok(log(options)),
    }
}

/// A log's own summary: it has no rows, and the table's columns are in what is declared of it.
fn log(options: &ReadOptions) -> FileSummary {
    let table = options.declared().logged.as_ref();
    let table = table.and_then(|it| it.table.as_ref());
    FileSummary {
        rows_exact: true,
        description: table.and_then(|it| it.description.clone()),
        notes: table.map(|it| it.notes.clone()).unwrap_or_default(),
        keys: DeclaredKeys {
            primary: table.map(|it| it.key.clone()).unwrap_or_default(),
            ..DeclaredKeys::default()
        },
        ..FileSummary::default()
    }
}

/// Runs a parser on a blocking thread.
pub(crate) async fn parse<T: Send + 'static>(
    parser: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(parser).await {
        Ok(result) => result,
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => Failure::panicked(panic.as_ref()),
            Err(_) => Failure::new(FileErrorKind::Unreachable, "the runtime is shutting down"),
        }),
    }
}
