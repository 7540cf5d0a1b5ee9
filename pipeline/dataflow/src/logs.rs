//! Logs: the tables of a listing whose logs say which files they have.
//!
//! Every run reads them: of a table as it was that is a checkpoint, and the commits since. A table whose log cannot be read
//! stays as it is in the index.

use futures::stream::{self, StreamExt};
use limn_lake::reach::is_within;
use limn_lake::sources::{self, logged};
use limn_store::Store;

use crate::listing::Listing;
use crate::report::Failure;

/// Logs that are read at once.
const OPENED_AT_ONCE: usize = 4;

impl Listing {
    /// Reads the logs of tables that have one.
    pub(crate) async fn open_logs(&mut self, lake: &Store) {
        let tables = logged(&self.objects);
        if tables.is_empty() {
            return;
        }
        self.objects.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let objects = &self.objects;
        let opened = tables.into_iter().map(|table| async move {
            let opened = sources::open(lake, &table, objects).await;
            (table.folder, opened)
        });
        let opened = stream::iter(opened.collect::<Vec<_>>()).buffered(OPENED_AT_ONCE);
        let opened: Vec<_> = opened.collect().await;
        for (folder, opened) in opened {
            match opened {
                Ok(table) => self.logged.push(table),
                Err(error) => {
                    self.failures.push(Failure {
                        table: String::new(),
                        object: error.object.clone(),
                        error: error.to_string(),
                    });
                    self.objects.retain(|it| !is_within(&it.path, &folder));
                    self.unlisted.push(folder);
                }
            }
        }
    }
}
