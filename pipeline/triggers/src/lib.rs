//! Where notifications of a lake's changes come from: a queue, HTTP, the files of a local lake, the
//! clock.
//!
//! A source gives *hints*: some objects may have changed, or anything may have. Hints that arrive
//! close together form a *burst*. The caller checks it (it lists the part of the lake that the
//! hints reach, and believes nothing else of them) and then acknowledges it.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use limn_triggers::{Coalesce, LakeRoot, Triggers};
//!
//! let store = limn_store::Store::in_memory();
//! let coalesce = Coalesce { quiet: Duration::from_millis(10), ..Coalesce::default() };
//! let mut triggers = Triggers::new(LakeRoot::of(&store), coalesce);
//! triggers.every(Duration::from_secs(24 * 60 * 60));
//! // triggers.queue(QueueOptions::new("https://sqs.eu-central-1.amazonaws.com/1234/lake")).await?;
//! let mut bursts = triggers.bursts();
//! while let Some(burst) = bursts.next().await {
//!     // The first burst is of everything: run over `burst.objects`, or over the whole lake.
//!     assert!(burst.everything);
//!     burst.done().await?;
//! #   break;
//! }
//! # Ok::<(), limn_triggers::TriggerError>(()) }).unwrap();
//! ```
//!
//! **Guarantees.** Memory is bounded: a burst of more than [`Coalesce::most`] objects becomes a
//! burst of everything, and a queue is not polled while 20,000 of its messages wait. A queue's
//! message is deleted only after [`Burst::done`] of the burst that has its hints (or at once, if it
//! names nothing of the lake). While its burst is held it stays invisible to other consumers. No
//! error of a queue ends the sources once they run. A message that cannot be read is set aside or
//! deleted with a warning after a number of tries, and blocks no other. No error, log line or debug
//! output holds a credential, token or signed header, and keys and messages are shown without
//! control characters. No address from a message is ever contacted.
//!
//! **Non-guarantees.** Events arrive late, twice, in any order, or without a change. Hints over
//! HTTP and of file events live in memory: they are lost with the process, and with a burst that is
//! dropped ([`Burst::put_back`] keeps them). File events do not cover what lies behind links or
//! what other machines write.
//!
//! **Recovery.** The periodic listing ([`Triggers::every`]) finds whatever a source missed. After a
//! kill, a queue's messages become visible again when their visibility timeout has passed.

mod burst;
mod collector;
mod counters;
mod error;
mod event;
mod folder;
mod http;
mod root;
mod sqs;
#[cfg(test)]
mod tests;
mod timer;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

pub use burst::{Burst, Bursts, Coalesce};
pub use counters::Counts;
pub use error::{TriggerError, TriggerErrorKind};
pub use http::{ListenOptions, Token};
pub use root::LakeRoot;
pub use sqs::QueueOptions;

use collector::Collector;
use folder::FolderWatch;

/// The sources of a lake's hints. Each gives hints from the moment it is added.
pub struct Triggers {
    root: LakeRoot,
    collector: Arc<Collector>,
    sources: JoinSet<()>,
    folders: Vec<FolderWatch>,
}

/// Where something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// These objects, by path in the lake.
    Objects(Vec<String>),
    /// Anything.
    Everything,
}

impl Triggers {
    /// No sources yet.
    pub fn new(root: LakeRoot, coalesce: Coalesce) -> Self {
        Self {
            root,
            collector: Arc::new(Collector::new(coalesce)),
            sources: JoinSet::new(),
            folders: Vec::new(),
        }
    }

    /// A hint of the caller's own.
    pub fn hint(&self, hint: Hint) {
        match hint {
            Hint::Objects(paths) => self.collector.add(paths, false, Vec::new()),
            Hint::Everything => self.collector.add(Vec::new(), true, Vec::new()),
        }
    }

    /// Adds a source that announces everything, now and each time that `every` has passed. Call it
    /// on a tokio runtime.
    pub fn every(&mut self, every: Duration) {
        let collector = Arc::clone(&self.collector);
        self.sources.spawn(timer::run(collector, every));
    }

    /// Adds the file events of a local lake, except in the folders of `except` (the index). Returns
    /// an error for each folder that cannot be watched; all others are watched.
    ///
    /// # Errors
    /// [`TriggerErrorKind::WatchLimit`] where the system's limit of watches is reached, with the
    /// setting that raises it; others, if the folder cannot be watched. The caller may go on
    /// without.
    pub fn folder(
        &mut self,
        root: &Path,
        except: &[PathBuf],
    ) -> Result<Vec<TriggerError>, TriggerError> {
        let (watch, unwatched) = folder::watch(Arc::clone(&self.collector), root, except)?;
        self.folders.push(watch);
        Ok(unwatched)
    }

    /// Adds the messages of an SQS queue, with credentials from the `AWS_*` variables or the
    /// machine's role. The queue is polled once before this returns.
    ///
    /// # Errors
    /// [`TriggerErrorKind::AccessDenied`], [`TriggerErrorKind::NoSuchQueue`] and
    /// [`TriggerErrorKind::Configuration`]. A queue that does not answer is not an error: it is
    /// polled again.
    pub async fn queue(&mut self, options: QueueOptions) -> Result<(), TriggerError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        self.queue_with(options, variables).await
    }

    /// As [`Triggers::queue`], with the given variables in place of the process's environment.
    ///
    /// # Errors
    /// As [`Triggers::queue`].
    pub async fn queue_with(
        &mut self,
        options: QueueOptions,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), TriggerError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let (collector, root) = (Arc::clone(&self.collector), self.root.clone());
        let source = sqs::Source::open(options, &variables, collector, root).await?;
        self.sources.spawn(source.run());
        Ok(())
    }

    /// Adds events over HTTP (`POST /v1/events`; `GET /v1/health`, which needs no token, counts
    /// them). Returns the address with the port that the system chose.
    ///
    /// # Errors
    /// [`TriggerErrorKind::Configuration`] where the address cannot be bound, or others than
    /// this machine reach it and there is no token.
    pub async fn listen(&mut self, options: ListenOptions) -> Result<SocketAddr, TriggerError> {
        let (collector, root) = (Arc::clone(&self.collector), self.root.clone());
        let server = http::Server::bind(options, collector, root).await?;
        let address = server.address;
        self.sources.spawn(server.run());
        Ok(address)
    }

    /// The bursts of all sources.
    pub fn bursts(self) -> Bursts {
        Bursts {
            collector: self.collector,
            sources: self.sources,
            folders: self.folders,
        }
    }
}
