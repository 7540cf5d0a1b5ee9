//! ORC: the footer first, then stripes column by column (ORC specification v1).
//!
//! A file within the scan budget is read whole. Of others stripes are read that a hash draws,
//! spread over the file, and of each the first rows: as much of every column's bytes as those take.
//!
//! This reader is limn's own ([decision 18]): stripes are larger than what may be read at once, and
//! the reader that there is takes memory and panics as the file says.
//!
//! [decision 18]: ../../../../../docs/decisions/018-typed-files.md

pub(super) mod batches;
mod columns;
mod plan;
mod proto;
mod rle;
mod stream;
mod tail;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use limn_profile::FileSummary;
use limn_profile::sample::draw_from;
use limn_profile::text::counted;
use limn_store::Store;
use limn_store::one_line;
use roaring::RoaringTreemap;

use self::columns::{DICTIONARY_DATA, Stripe, fields};
use self::plan::{Plan, Slice};
use self::proto::{StripeFooter, StripeInfo, TypeInfo};
use self::stream::File;
use self::tail::{Tail, kind};
use super::ranged::{Fetched, Ranged, joined};
use super::typed::{Outcome, Purpose, Stopped, Typed, Work, decoding};
use super::{Failure, ReadOptions, deletes, documented, parse};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::live::{LiveRows, living};

/// Budgets of bytes that are fetched beyond what a slice is likely to need: blocks have no parts.
const FETCH_BUDGETS: u64 = 3;
/// Bytes that may be fetched in this way whatever the budget.
const FETCH: u64 = 1 << 20;
/// Budgets of memory that the rows take which are decoded at a time, and dictionaries with them.
const ARRAY_BUDGETS: u64 = 2;
/// They may take this much in memory whatever the budget.
const ARRAY_MEMORY: u64 = 1 << 20;
/// What it costs to find a type's values in a stripe, in bytes.
const TYPE: u64 = 16;
/// Ranges of a stripe that are fetched ahead.
const MOST_AHEAD: usize = 1024;
/// Kinds of streams below this one hold values; others are indexes.
const FIRST_INDEX: u64 = 6;
/// What is fetched of a stream besides its share: the block that a row begins in.
const SLACK: u64 = 64 << 10;
/// Ranges at most this far apart are fetched together.
const GAP: u64 = 16 << 10;
/// Rows decoded at a time: of numbers, of text, and of what holds others, which are fewer the more
/// it holds.
const NUMBERS_AT_ONCE: u64 = 8192;
const TEXTS_AT_ONCE: u64 = 128;
const NESTED_AT_ONCE: std::ops::RangeInclusive<u64> = 8..=256;
const ALL_AT_ONCE: u64 = 1024;

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let object = Ranged::of(store, file);
    let sample_path = file.sample_path.clone();
    let deleted = deletes::of(store, file).await?;
    let options = options.clone();
    parse(move || read(object, deleted, &sample_path, &options)).await
}

fn read(
    object: Ranged,
    deleted: Option<RoaringTreemap>,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let size = object.size();
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    let whole = size <= options.scan_budget;
    let mut fetched = Fetched::default();
    if whole {
        fetched = Fetched::whole(object.get(0..size)?);
    }
    let tail = tail::read(&object, &mut fetched, options.scan_budget)?;
    let plan = Plan::new(&tail, whole, sample_path, options);
    let live = LiveRows::new(tail.rows, deleted);
    let reading = Reading::new(object, fetched, tail, (plan, live), sample_path, options);
    reading.read(sample_path, options)
}

/// One file while it is read.
struct Reading {
    file: Rc<File>,
    fetched: Fetched,
    tail: Tail,
    plan: Plan,
    live: LiveRows,
    typed: Typed,
    /// The first row of each stripe.
    first_rows: Vec<u64>,
    too_large: Vec<bool>,
    /// Zones other than UTC in which timestamps were written.
    zones: BTreeSet<String>,
    /// What rows may take in memory that are decoded together, and a slice of a file that is not at
    /// hand, in bytes.
    memory: u64,
    fetch: u64,
}

impl Reading {
    fn new(
        object: Ranged,
        fetched: Fetched,
        tail: Tail,
        (plan, live): (Plan, LiveRows),
        sample_path: &str,
        options: &ReadOptions,
    ) -> Self {
        let mut first_rows = Vec::with_capacity(tail.footer.stripes.len());
        let mut total = 0;
        for stripe in &tail.footer.stripes {
            first_rows.push(total);
            total += stripe.rows;
        }
        let ranges = plan.slices.iter().flat_map(|slice| {
            let first = first_rows[slice.stripe];
            live.among(first..first + slice.rows)
        });
        let drawn = draw_from(options.seed, sample_path, ranges, options.sample_rows);
        let types = &tail.footer.types;
        let fields: Vec<_> = fields(types, &types[0])
            .iter()
            .zip(&types[0].parts)
            .map(|(field, part)| described(field, &types[*part as usize]))
            .collect();
        let names = fields.iter().map(|field| field.name().as_str());
        let described = documented::file(&tail.footer.said, names);
        let too_large = vec![false; fields.len()];
        let mut typed = Typed::new(fields, drawn, options);
        typed.document(described);
        Reading {
            file: Rc::new(File::new(
                object,
                tail.packing,
                options.scan_budget.saturating_mul(FETCH_BUDGETS).max(FETCH),
            )),
            fetched,
            too_large,
            typed,
            first_rows,
            zones: BTreeSet::new(),
            memory: options
                .scan_budget
                .saturating_mul(ARRAY_BUDGETS)
                .max(ARRAY_MEMORY),
            fetch: options.scan_budget / (plan.slices.len() as u64).max(1),
            tail,
            plan,
            live,
        }
    }

    fn read(mut self, sample_path: &str, options: &ReadOptions) -> Result<FileSummary, Failure> {
        let slices = std::mem::take(&mut self.plan.slices);
        for slice in &slices {
            let picks = self.typed.picks(&self.rows_of(slice));
            if !self.typed.is_done(&picks) {
                self.slice(slice, &picks)?;
            }
        }
        self.known();
        let rows = self.live.count();
        let mut notes = Vec::new();
        if !self.plan.complete {
            let read = slices
                .iter()
                .flat_map(|it| self.live.among(self.rows_of(it)));
            let read: u64 = read.map(|rows| rows.end - rows.start).sum();
            notes.push(format!("{read} of {} read", counted(rows, "row")));
        }
        let unread = self
            .too_large
            .iter()
            .filter(|too_large| **too_large)
            .count();
        if unread > 0 {
            notes.push(format!(
                "values of {} not read that take too much at once",
                counted(unread as u64, "column")
            ));
        }
        for zone in &self.zones {
            notes.push(format!(
                "timestamps written in zone {zone} are shown as there, an hour off where it had summer time"
            ));
        }
        let outcome = Outcome {
            rows,
            rows_exact: true,
            complete: self.plan.complete,
            notes,
        };
        Ok(self.typed.finish(outcome, sample_path, options))
    }

    /// Takes the footer's statistics of columns that were not read whole.
    fn known(&mut self) {
        let types = &self.tail.footer.types;
        for (i, column) in types[0].parts.iter().enumerate() {
            if self.too_large[i] {
                self.typed.leave_out(i);
            }
            let all = self.plan.complete && !self.too_large[i] && !self.typed.is_full();
            if all && !self.typed.is_bytes(i) {
                continue;
            }
            if !self.live.are_all() {
                // What the footer says is of deleted rows, too.
                let rows = self.typed.is_bytes(i).then(|| self.live.count());
                self.typed.known(i, (None, None), None, rows);
                continue;
            }
            let Some(known) = self.tail.footer.statistics.get(*column as usize) else {
                continue;
            };
            let values = known.values.filter(|values| *values <= self.tail.rows);
            let nulls = values.map(|values| self.tail.rows - values);
            let (integers, texts) = (&known.integers, &known.texts);
            let of = &types[*column as usize];
            let (min, max) = match of.kind {
                _ if of.iceberg.is_time => (None, None),
                kind::BYTE | kind::SHORT | kind::INT | kind::LONG => (
                    integers.0.map(|min| min.to_string()),
                    integers.1.map(|max| max.to_string()),
                ),
                kind::STRING | kind::VARCHAR => texts.clone(),
                _ => (None, None),
            };
            self.typed
                .known(i, (min.as_deref(), max.as_deref()), nulls, values);
        }
    }

    /// The numbers in the file of a slice's rows.
    fn rows_of(&self, slice: &Slice) -> Range<u64> {
        let first = self.first_rows[slice.stripe];
        first..first + slice.rows
    }

    /// Takes the first rows of a stripe, of which these are drawn.
    fn slice(&mut self, slice: &Slice, picks: &[(usize, usize)]) -> Result<(), Failure> {
        let info = self.tail.footer.stripes[slice.stripe].clone();
        let bytes = tail::footer_of(self.tail.packing, &info, |range| {
            match self.fetched.get(&range) {
                Some(bytes) => Ok(bytes),
                None => self.file.object.get(range),
            }
        })?;
        self.typed.charge(bytes.len() as u64);
        let footer = tail::stripe(&bytes)?;
        let streams = streams(&info, &footer)?;
        let ahead = self.ahead(&info, &streams, &footer, slice.rows)?;
        let types = &self.tail.footer.types;
        self.typed.charge(types.len() as u64 * TYPE);
        if types.iter().any(|of| of.kind == kind::TIMESTAMP) {
            let zone = footer.zone.as_deref().unwrap_or_default();
            if !UTC.contains(&zone) {
                self.zones.insert(one_line(zone));
            }
        }
        let stripe = Stripe {
            types,
            footer: &footer,
            file: self.file.clone(),
            streams: &streams,
            ahead: &ahead,
            nodes: &self.tail.nodes,
        };
        for (i, column) in types[0].parts.iter().enumerate() {
            if self.typed.is_bytes(i) || self.too_large[i] || self.typed.is_done(picks) {
                continue;
            }
            let rows = self.first_rows[slice.stripe]..self.first_rows[slice.stripe] + slice.rows;
            stripe.file.set_memory(self.memory);
            let (column, live) = (*column as usize, &self.live);
            let taken = take_column(&stripe, (column, i), rows, live, &mut self.typed);
            self.typed.charge(stripe.file.take_work());
            match taken {
                Ok(()) => {}
                Err(Stopped::TooMuch) => self.too_large[i] = true,
                Err(Stopped::Failed(failure)) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Fetches what the first rows of a stripe are likely to need.
    fn ahead(
        &self,
        info: &StripeInfo,
        streams: &HashMap<(u64, u64), Range<u64>>,
        footer: &StripeFooter,
        rows: u64,
    ) -> Result<Fetched, Failure> {
        if self.fetched.get(&(0..self.file.object.size())).is_some() {
            return Ok(self.fetched.clone());
        }
        let types = &self.tail.footer.types;
        // Columns of bytes are not read, nor what is too large.
        let mut wanted = vec![false; types.len()];
        for (i, column) in types[0].parts.iter().enumerate() {
            wanted[*column as usize] = !self.typed.is_bytes(i) && !self.too_large[i];
        }
        for i in 1..types.len() {
            for part in &types[i].parts {
                wanted[*part as usize] = wanted[i];
            }
        }
        let share = rows as f64 / info.rows.max(1) as f64;
        let ranges = streams.iter().filter_map(|((column, kind), range)| {
            if !wanted.get(*column as usize).copied().unwrap_or(false) {
                return None;
            }
            let length = range.end - range.start;
            let encoding = footer
                .encodings
                .get(*column as usize)
                .map_or(0, |it| it.kind);
            // A dictionary is needed whole, whatever the rows.
            let whole = encoding % 2 == 1 && *kind >= 2 || *kind == DICTIONARY_DATA;
            let part = if whole {
                length
            } else {
                ((length as f64 * share) as u64 + SLACK).min(length)
            };
            Some(range.start..range.start + part)
        });
        let ranges = joined(ranges.collect(), GAP);
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        if bytes > self.fetch || ranges.len() > MOST_AHEAD {
            // Then as it is asked for, as far as it goes.
            return Ok(Fetched::default());
        }
        self.file.object.get_all(ranges, GAP)
    }
}

/// A column with its writer's statistics.
fn described(field: &FieldRef, of: &TypeInfo) -> FieldRef {
    if of.said.is_empty() {
        return field.clone();
    }
    let mut metadata = field.metadata().clone();
    metadata.extend(of.said.clone());
    Arc::new(field.as_ref().clone().with_metadata(metadata))
}

/// Names of the zone that timestamps are shown in.
const UTC: [&str; 9] = [
    "", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Etc/UCT", "UCT", "Zulu",
];

/// Where the streams of values lie, by column and kind.
fn streams(
    info: &StripeInfo,
    footer: &StripeFooter,
) -> Result<HashMap<(u64, u64), Range<u64>>, Failure> {
    let mut streams = HashMap::with_capacity(footer.streams.len());
    let mut at = info.offset;
    let end = info.offset + info.index + info.data;
    for stream in &footer.streams {
        let stops = at.checked_add(stream.length).filter(|stops| *stops <= end);
        let stops = stops.ok_or_else(|| corrupt("a column lies beyond its stripe's end"))?;
        if stream.kind < FIRST_INDEX {
            streams
                .entry((stream.column, stream.kind))
                .or_insert(at..stops);
        }
        at = stops;
    }
    Ok(streams)
}

/// Takes the first values of a column, those of `rows` of the file that are live.
fn take_column(
    stripe: &Stripe<'_>,
    (column, place): (usize, usize),
    rows: Range<u64>,
    live: &LiveRows,
    typed: &mut Typed,
) -> Result<(), Stopped> {
    let mut values = stripe.column(column)?;
    // Dictionaries are held until the last row.
    let memory = stripe.file.memory();
    let (fewest, most) = NESTED_AT_ONCE.into_inner();
    let at_once = match stripe.types[column].kind {
        kind::LIST | kind::MAP | kind::STRUCT | kind::UNION => {
            (ALL_AT_ONCE / stripe.nodes[column]).clamp(fewest, most)
        }
        kind::STRING | kind::VARCHAR | kind::CHAR => TEXTS_AT_ONCE,
        _ => NUMBERS_AT_ONCE,
    };
    let mut at = rows.start;
    while at < rows.end && !typed.is_done(&typed.picks(&(at..rows.end))) {
        let end = (at + at_once).min(rows.end);
        stripe.file.set_memory(memory);
        let array = values.next((end - at) as usize)?;
        typed.charge(stripe.file.take_work());
        let (array, picks) = only_live(&array, typed.picks(&(at..end)), at..end, live)?;
        let array = typed.named(place, &array)?;
        typed.take(place, &array, &picks, Purpose::Both);
        at = end;
    }
    Ok(())
}

/// The values of live rows, and the places of the drawn ones, which all are live, among them.
fn only_live(
    values: &ArrayRef,
    mut picks: Vec<(usize, usize)>,
    rows: Range<u64>,
    live: &LiveRows,
) -> Result<(ArrayRef, Vec<(usize, usize)>), Failure> {
    let mask = live.mask(rows);
    if let Some(mask) = &mask {
        for (place, _) in &mut picks {
            *place = mask.slice(0, *place).true_count();
        }
    }
    let values = living(values, mask.as_ref());
    Ok((values.map_err(|error| decoding(&error.to_string()))?, picks))
}

fn corrupt(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::Corrupt, cause)
}
