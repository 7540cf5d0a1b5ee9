//! Logs: the tables of a listing whose logs say which files they have.
//!
//! A log that is as it was when the index last saw the table is not read; of another that is a
//! checkpoint, and the commits since. A table whose log cannot be read stays as it is in the index.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt, TryStreamExt};
use limn_lake::filter::Selection;
use limn_lake::reach::{is_within, table_folder};
use limn_lake::sources::{self, Listed, Opened, is_of_log, logged};
use limn_store::Store;

use crate::error::PipelineError;
use crate::listing::Listing;
use crate::published::Published;
use crate::report::Failure;
use crate::scope::root_name;

/// Logs that are read at once.
const OPENED_AT_ONCE: usize = 4;

impl Listing {
    /// Reads the logs of tables that have one.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(crate) async fn open_logs(
        &mut self,
        lake: &Store,
        published: &Published,
        selection: &Selection,
    ) -> Result<(), PipelineError> {
        let tables = logged(&self.objects);
        self.objects.sort();
        let left_out: BTreeSet<&str> = self.left_out.iter().map(String::as_str).collect();
        let too_new: BTreeSet<&str> = self.unlisted.iter().map(String::as_str).collect();
        let listed = &Listed {
            objects: &self.objects,
            left_out: &left_out,
            too_new: &too_new,
            is_elsewhere: &|path| self.share.is_partial() && !self.share.has(path),
            is_chosen: &|path, size, modified_ms| selection.has(path, size, modified_ms),
        };
        let root = root_name(lake.url());
        let opened = tables.into_iter().map(|table| {
            let is_meant = self.part.concerns(&table.folder, root);
            async move {
                let opened = match is_meant {
                    true => {
                        let known = published.logged(&table.folder)?;
                        sources::open(lake, &table, listed, known).await
                    }
                    // Nothing is changed of it.
                    false => Ok(Opened::HeldBack),
                };
                Ok::<_, PipelineError>((table.folder, opened))
            }
        });
        let opened = stream::iter(opened.collect::<Vec<_>>()).buffered(OPENED_AT_ONCE);
        let opened: Vec<_> = opened.try_collect().await?;
        for (folder, opened) in opened {
            match opened {
                Ok(Opened::Table(table)) => self.logged.push(table),
                Ok(Opened::LeftOut) => self.objects.retain(|it| !is_of(it.path, &folder)),
                Ok(Opened::HeldBack) => self.hold_back(folder),
                Ok(Opened::Uncommitted(error)) => {
                    self.objects.retain(|it| !is_data_of(it.path, &folder));
                    self.failures.push(Failure::from(&error));
                }
                Err(error) => {
                    self.failures.push(Failure::from(&error));
                    self.hold_back(folder);
                }
            }
        }
        // Logs are listed whatever filters say; what is none of a table's is an object like others.
        let is_chosen = |path: &str, size, modified_ms| {
            !is_of_log(path) || selection.has(path, size, modified_ms)
        };
        self.objects
            .retain(|it| is_chosen(it.path, it.size, it.modified_ms));
        Ok(())
    }

    /// Leaves a table as it is in the index.
    fn hold_back(&mut self, folder: String) {
        self.objects.retain(|it| !is_of(it.path, &folder));
        // In the root there may be other tables, too.
        match folder.is_empty() {
            true => {
                let logs = sources::LOGS.iter();
                self.unlisted.extend(logs.map(|log| (*log).to_owned()));
            }
            false => self.unlisted.push(folder),
        }
    }
}

/// Whether an object lies where the data files of a folder's table do: in it, or in its partitions.
fn is_data_of(path: &str, folder: &str) -> bool {
    let below = match folder.is_empty() {
        true => Some(path),
        false => path
            .strip_prefix(folder)
            .and_then(|it| it.strip_prefix('/')),
    };
    let mut folders = below.map(|it| it.rsplit('/').skip(1)).into_iter().flatten();
    below.is_some() && folders.all(|it| it.contains('='))
}

/// Whether an object is of the table of a folder, or may be: in the root other folders have tables
/// of their own.
fn is_of(path: &str, folder: &str) -> bool {
    match folder.is_empty() {
        true => table_folder(path).is_empty(),
        false => is_within(path, folder),
    }
}
