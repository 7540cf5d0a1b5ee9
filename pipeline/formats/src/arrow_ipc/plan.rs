//! Which rows of which batches are read: pure functions of the batches' metadata, the seed and the
//! sample path.

use std::ops::Range;

use super::arrays::Batch;
use super::buffers::{MOST_REQUESTS, Source};
use super::messages::{Content, Messages, parse};
use super::{FOOTER, corrupt, record_batch, rows_of};
use crate::typed::MAX_ROWS;
use crate::{Failure, ReadOptions, input};

/// Batches of a file that is not read whole whose metadata are looked at.
const MOST_HEADERS: usize = 1024;
/// How many of them are fetched at a time.
const HEADERS_AT_ONCE: usize = 64;
/// Budgets of bytes that they take at most.
const HEADER_BUDGETS: u64 = 2;
/// Slices that a profile is spread over, if it can be.
const SLICES: u64 = 8;
/// Slices at most, each a request.
const MOST_SLICES: u64 = 128;
/// Ranges at most this far apart are fetched together.
const GAP: u64 = 4 << 10;

/// What the batches' metadata say.
pub(super) struct Headers {
    /// The rows of each batch whose metadata were read.
    pub(super) rows: Vec<Option<u64>>,
    /// The nulls of each column in those batches.
    pub(super) nulls: Vec<u64>,
    /// Whether some batch is packed.
    pub(super) packed: bool,
}

impl Headers {
    pub(super) fn read(
        content: &Content,
        messages: &Messages,
        whole: bool,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Headers, Failure> {
        let batches = &messages.batches;
        let metadata: u64 = batches.iter().map(|block| block.metadata).sum();
        let most = if whole {
            batches.len()
        } else {
            let average = metadata / (batches.len() as u64).max(1);
            let affordable = options.scan_budget.max(FOOTER) / average.max(1);
            MOST_HEADERS.min(usize::try_from(affordable).unwrap_or(usize::MAX).max(1))
        };
        let mut headers = Headers {
            rows: vec![None; batches.len()],
            nulls: vec![0; messages.schema.fields().len()],
            packed: false,
        };
        let looked_at = input::spread(batches.len(), most, options.seed, sample_path);
        let at_once = options.scan_budget.max(FOOTER);
        let mut left = HEADER_BUDGETS.saturating_mul(at_once);
        let mut rest = &looked_at[..];
        while !rest.is_empty() {
            // As many as fit, but one at least.
            let (mut count, mut bytes) = (0, 0);
            for i in rest.iter().take(HEADERS_AT_ONCE) {
                bytes += batches[*i].metadata;
                if count > 0 && bytes > at_once {
                    break;
                }
                count += 1;
            }
            let (some, others) = rest.split_at(count);
            rest = others;
            let missing = some.iter().map(|i| batches[*i].metadata_range());
            let missing = missing.filter(|range| content.fetched.get(range).is_none());
            let missing: Vec<Range<u64>> = missing.collect();
            let bytes = missing.iter().map(|range| range.end - range.start).sum();
            let Some(after) = left.checked_sub(bytes) else {
                break;
            };
            left = after;
            let fetched = content.object.get_all(missing, GAP)?;
            for i in some {
                let range = batches[*i].metadata_range();
                let bytes = match fetched.get(&range) {
                    Some(bytes) => bytes,
                    None => content.get(range)?,
                };
                headers.rows[*i] = Some(headers.take(&bytes, messages)?);
            }
        }
        if headers.known_rows() > MAX_ROWS {
            return Err(corrupt("its batches claim more rows than any file has"));
        }
        Ok(headers)
    }

    /// Takes a batch's metadata; returns its rows.
    pub(super) fn take(&mut self, metadata: &[u8], messages: &Messages) -> Result<u64, Failure> {
        let message = parse(metadata)?;
        let batch = record_batch(&message)?;
        self.packed |= batch.compression().is_some();
        let source = Source::Memory(bytes::Bytes::new());
        let none = std::collections::HashMap::new();
        let mut columns = Batch::new(batch, message.version(), &source, &none)?;
        let rows = rows_of(batch)?;
        for (field, nulls) in messages.schema.fields().iter().zip(&mut self.nulls) {
            *nulls = nulls.saturating_add(columns.skip(field)?.min(rows));
        }
        Ok(rows)
    }

    /// Whether every batch's rows are known.
    pub(super) fn all(&self) -> bool {
        self.rows.iter().all(Option::is_some)
    }

    pub(super) fn known_rows(&self) -> u64 {
        self.rows
            .iter()
            .flatten()
            .fold(0, |all, rows| all.saturating_add(*rows))
    }
}

/// Rows of one batch.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub(super) batch: usize,
    /// Within the batch.
    pub(super) rows: Range<u64>,
}

/// Which rows are read.
pub(super) struct Plan {
    /// In file order.
    pub(super) slices: Vec<Slice>,
    /// Whether they are all rows.
    pub(super) complete: bool,
    /// What each slice may take of a file that is not at hand, in bytes.
    pub(super) fetch: u64,
}

impl Plan {
    pub(super) fn new(
        messages: &Messages,
        headers: &Headers,
        whole: bool,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Plan {
        let columns = messages.schema.fields().len() as u64;
        // A cell takes two bytes at least in a text file: the budget means the same amount of work
        // here.
        let cells = options.scan_budget / 2;
        let rows = headers.known_rows();
        let some: Vec<(usize, u64)> = headers
            .rows
            .iter()
            .enumerate()
            .filter_map(|(i, rows)| Some((i, (*rows)?)))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        if whole && rows.saturating_mul(columns) <= cells {
            return Plan {
                slices: some
                    .into_iter()
                    .map(|(batch, rows)| Slice {
                        batch,
                        rows: 0..rows,
                    })
                    .collect(),
                complete: true,
                fetch: 0,
            };
        }
        let body = |i: usize| messages.batches[i].body;
        let bodies = some
            .iter()
            .fold(0, |all: u64, (i, _)| all.saturating_add(body(*i)));
        let by_bytes = if whole {
            rows
        } else {
            let share = u128::from(options.scan_budget) * u128::from(rows);
            (share / u128::from(bodies.max(1))) as u64
        };
        let wanted = by_bytes.min(cells / columns).max(1);
        // Small batches are taken whole, and more of them.
        let in_batch = (rows / (some.len() as u64).max(1)).max(1);
        let mut count = (wanted / in_batch).clamp(SLICES, MOST_SLICES);
        count = count.min(some.len() as u64).min(wanted);
        if headers.packed && !whole {
            // A packed batch has no beginning that could be read alone.
            let average = bodies / (some.len() as u64).max(1);
            count = count.min((options.scan_budget / average.max(1)).max(1));
        }
        let average = bodies / (some.len() as u64).max(1);
        if !headers.packed && !whole && average > options.scan_budget / count.max(1) {
            // Of batches that are not fetched whole, each column is asked for.
            count = count.min((MOST_REQUESTS / (3 * columns)).max(1));
        }
        let length = wanted / count.max(1);
        let chosen = input::spread(some.len(), count as usize, options.seed, sample_path);
        let fetch = options.scan_budget / count.max(1);
        let slices = chosen.into_iter().enumerate().map(|(n, i)| {
            let (batch, in_batch) = some[i];
            let length = length.min(in_batch);
            let is_fetched = whole || body(batch) <= fetch;
            let start = if is_fetched {
                input::draw(options.seed, sample_path, SLICES + n as u64) % (in_batch - length + 1)
            } else {
                0
            };
            Slice {
                batch,
                rows: start..start + length,
            }
        });
        Plan {
            slices: slices.collect(),
            complete: false,
            fetch,
        }
    }
}
