//! Ranged reads from code that cannot await.
//!
//! tantivy asks for bytes through a synchronous trait, possibly on a thread of the caller's
//! runtime, where blocking on that same runtime would deadlock. So the requests run on a runtime of
//! their own and the caller waits on a plain channel. A request may still go over a connection that
//! the caller's runtime opened and drives: while a thread of that runtime waits, it hands its other
//! tasks on.

use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, sync_channel};

use bytes::Bytes;
use futures::{StreamExt, stream};
use limn_store::{Store, StoreError, StoreErrorKind};
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

/// A long range is read in pieces of this size, several at a time.
const PIECE: u64 = 8 << 20;
const PIECES_IN_FLIGHT: usize = 4;

/// A piece of an object: where it begins, and its bytes.
pub(crate) type Piece = Result<(u64, Bytes), StoreError>;

/// The pieces of a read, in any order.
pub(crate) struct Pieces(Receiver<Piece>);

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let wait = || self.0.recv().ok();
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        }
    }
}

fn runtime() -> Result<&'static Runtime, StoreError> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("limn-fetch")
                .enable_all()
                .build()
        })
        .as_ref()
        .map_err(|e| {
            StoreError::new(
                StoreErrorKind::Other,
                "ranged reads",
                format!("no thread could be started: {e}"),
                "raise the limit of threads",
            )
        })
}

/// Starts reading the ranges and returns at once.
pub(crate) fn start(
    store: &Store,
    path: &str,
    ranges: &[Range<u64>],
) -> Result<Pieces, StoreError> {
    let (sender, receiver) = sync_channel(PIECES_IN_FLIGHT);
    let pieces: Vec<Range<u64>> = ranges
        .iter()
        .flat_map(|range| {
            let range = range.clone();
            (range.start..range.end)
                .step_by(PIECE as usize)
                .map(move |start| start..range.end.min(start + PIECE))
        })
        .collect();
    let (store, path) = (store.clone(), path.to_owned());
    runtime()?.spawn(async move {
        let mut reads = stream::iter(pieces)
            .map(|piece| {
                let (store, path) = (store.clone(), path.clone());
                async move {
                    let bytes = store.get_range(&path, piece.clone()).await?;
                    Ok((piece.start, bytes))
                }
            })
            .buffer_unordered(PIECES_IN_FLIGHT);
        while let Some(piece) = reads.next().await {
            // Waiting for a slow receiver may block this thread; the runtime has another, and the
            // receiver needs neither.
            let sent = tokio::task::block_in_place(|| sender.send(piece));
            if sent.is_err() {
                break;
            }
        }
    });
    Ok(Pieces(receiver))
}
