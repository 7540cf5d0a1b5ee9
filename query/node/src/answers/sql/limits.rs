//! What statements may take, and whose turn it is.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use limn_formats::{Confined, ReadOptions};
use limn_sql::{Lake, Limits, SqlError};
use limn_store::Store;

use super::threads::{Home, Threads};
use crate::access::{Caller, Turn, Turns};
use crate::problem::{Code, Problem};

/// How long a statement may wait for a turn.
const WAIT: Duration = Duration::from_secs(5);
/// Statements that run at a time, for each of one caller's.
const CALLERS: usize = 4;

/// What statements may take. A request may ask for less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlOptions {
    /// How long one may take.
    pub timeout: Duration,
    /// Bytes of memory for what one sorts, groups and joins.
    pub memory_bytes: u64,
    /// Bytes of temporary files for what does not fit there.
    pub disk_bytes: u64,
    /// Rows that one answers with.
    pub max_rows: u64,
    /// Statements of one caller that run at a time; of all callers together four times as many.
    pub at_once: usize,
    /// The program that reads views of databases in a process apart: `limn` itself. Without one
    /// they are refused.
    pub confined_program: Option<PathBuf>,
}

impl Default for SqlOptions {
    fn default() -> Self {
        SqlOptions {
            timeout: Duration::from_secs(30),
            memory_bytes: 512 << 20,
            disk_bytes: 2 << 30,
            max_rows: 10_000,
            at_once: 2,
            confined_program: None,
        }
    }
}

impl SqlOptions {
    /// The limits of a statement that asks for no more than these rows and seconds.
    pub(super) fn limits(&self, max_rows: Option<u64>, timeout_s: Option<u64>) -> Limits {
        let timeout = timeout_s.map_or(self.timeout, Duration::from_secs);
        Limits {
            max_rows: Some(max_rows.unwrap_or(self.max_rows).min(self.max_rows)),
            timeout: timeout.min(self.timeout),
            memory_bytes: self.memory_bytes,
            spill_bytes: self.disk_bytes,
        }
    }
}

/// What a node answers statements with.
#[derive(Debug)]
pub(crate) struct Sql {
    pub(super) options: SqlOptions,
    turns: Turns,
    /// Of answers of several statements, which wait for a model besides.
    asks: Turns,
    lakes: Arc<Lakes>,
    threads: Threads,
}

impl Sql {
    /// Within these limits.
    pub(crate) fn new(options: SqlOptions) -> Sql {
        let of_one = options.at_once.max(1);
        Sql {
            turns: Turns::new(of_one.saturating_mul(CALLERS), of_one),
            asks: Turns::new(of_one.saturating_mul(CALLERS), of_one),
            lakes: Arc::new(Lakes {
                stores: Mutex::default(),
                options: ReadOptions {
                    confined: options.confined_program.clone().map(Confined::new),
                    ..ReadOptions::default()
                },
            }),
            threads: Threads::start(),
            options,
        }
    }

    /// A caller's turn at a statement.
    pub(super) async fn turn(&self, caller: &Caller) -> Result<Turn, Problem> {
        Sql::turn_of(&self.turns, caller).await
    }

    /// A caller's turn at an answer of several statements.
    pub(super) async fn ask_turn(&self, caller: &Caller) -> Result<Turn, Problem> {
        Sql::turn_of(&self.asks, caller).await
    }

    async fn turn_of(turns: &Turns, caller: &Caller) -> Result<Turn, Problem> {
        let turn = tokio::time::timeout(WAIT, turns.take(caller)).await;
        turn.ok().and_then(Result::ok).ok_or_else(|| {
            Problem::new(
                Code::Busy,
                "as many statements are running as may at a time, of this key or of all",
                "send the next one when an answer has come to its end",
            )
            .after(Duration::from_secs(1))
        })
    }

    /// Where statements run.
    pub(super) fn home(&self) -> Home {
        self.threads.home()
    }

    /// The lakes that are open.
    pub(super) fn lakes(&self) -> Arc<Lakes> {
        Arc::clone(&self.lakes)
    }
}

/// The lakes that were opened, by URL, with the credentials of the node's environment.
pub(super) struct Lakes {
    stores: Mutex<HashMap<String, Store>>,
    options: ReadOptions,
}

impl std::fmt::Debug for Lakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lakes").finish_non_exhaustive()
    }
}

impl Lakes {
    /// The lake of this URL.
    pub(super) fn open(&self, url: &str) -> Result<Lake, SqlError> {
        // A panic elsewhere leaves nothing half-done here.
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        let store = match stores.get(url) {
            Some(store) => store.clone(),
            None => {
                let store = Store::open(url)?;
                stores.insert(url.to_owned(), store.clone());
                store
            }
        };
        Ok(Lake {
            store,
            options: self.options.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_only_lower_what_it_may_take() {
        let options = SqlOptions::default();
        let limits = options.limits(Some(7), Some(3));
        assert_eq!(limits.max_rows, Some(7));
        assert_eq!(limits.timeout, Duration::from_secs(3));
        let limits = options.limits(Some(u64::MAX), Some(u64::MAX));
        assert_eq!(limits.max_rows, Some(10_000));
        assert_eq!(limits.timeout, Duration::from_secs(30));
        assert_eq!(limits, options.limits(None, None));
        assert_eq!(limits.memory_bytes, 512 << 20);
        assert_eq!(limits.spill_bytes, 2 << 30);
    }
}
