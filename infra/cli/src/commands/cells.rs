//! `limn cells`: the columns and cells that a program needs to answer a question.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use limn_cells::{
    Asked, CellsAnswer, Distinct, Kept, MOST_TABLES, Read, TABLES, answer, key, redact_of,
};
use limn_profile::Redact;
use limn_retrieval::{Hit, JoinGraphs, Query, Searcher};
use limn_segment::{IndexStore, Snapshot, TableKey, TableRecord};
use limn_sets::{KnownJoins, SetQuery, SetSize, Sets, TableColumns};
use limn_sql::{Catalogue, Engine, Limits, SqlError};

use crate::Outcome;
use crate::args::CellsArgs;
use crate::commands::sql::{SPILLED, opener};
use crate::commands::{embedder_of, known, newest, print_json};
use crate::progress::say;

/// Bytes of a question.
const QUESTION: usize = 4_000;

pub async fn run(args: CellsArgs) -> anyhow::Result<Outcome> {
    let (answer, has_failed) = gather(&args).await?;
    if args.json.json {
        print_json(&answer)?;
    } else {
        let mut out = io::stdout().lock();
        out.write_all(answer.text.as_bytes())?;
        out.flush()?;
        answer
            .notes
            .iter()
            .for_each(|note| say(&format!("note: {note}")));
        say(&format!("({} tokens)", answer.tokens.text));
    }
    Ok(match has_failed {
        true => Outcome::SomeFailed,
        false => Outcome::Done,
    })
}

/// The columns and cells that a question needs, and whether a table could not be read.
pub async fn gather(args: &CellsArgs) -> anyhow::Result<(CellsAnswer, bool)> {
    let until = Instant::now() + args.timeout;
    // What was read by then is compared in the time that is left.
    let read_until = Instant::now() + args.timeout / 5 * 4;
    let question = args.question.join(" ");
    if question.len() > QUESTION {
        bail!(
            "the question has {} bytes, and {QUESTION} are read at most",
            question.len()
        );
    }
    if args.tables.len() > MOST_TABLES {
        bail!(
            "{} tables are named: name at most {MOST_TABLES}",
            args.tables.len()
        );
    }
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let embedder = embedder_of(&snapshot, &args.encoder).await?;
    let sets = Arc::new(Sets::new(embedder));
    let graphs = JoinGraphs::read(&index, &snapshot).await?;
    let joins = KnownJoins::new(Arc::new(graphs), true);
    let mut notes = Vec::new();
    let keys = match args.tables.is_empty() {
        true => found(args, &question, (&index, &snapshot), &sets, &joins).await?,
        false => known::tables(&index, &snapshot, &args.tables, args.lake.as_deref()).await?,
    };
    if keys.is_empty() {
        let nothing = match args.under.prefix.as_deref() {
            Some(prefix) => known::nothing_under(&index, &snapshot, prefix).await?,
            None => None,
        };
        notes.push(nothing.unwrap_or_else(|| "no table was found for the question".to_owned()));
    }
    let mut records = known::records(&index, &snapshot, keys.iter().cloned()).await?;
    let asked = Asked::of(&question);
    let mut reads = Vec::new();
    let mut has_failed = false;
    for key in keys {
        let Some(record) = records.remove(&key) else {
            continue;
        };
        let columns = Arc::new(TableColumns::of_row(&record)?);
        let record = (record, redact_of(&snapshot, &key.lake));
        let (read, note) = read(args, &index, record, columns, &asked, read_until).await;
        has_failed |= note.is_some();
        notes.extend(note);
        reads.push(read);
    }
    let (k, number) = (args.k, snapshot.number);
    let choosing = move || answer((&sets, &joins), &asked, k, number, &reads, until, notes);
    let answer = tokio::task::spawn_blocking(choosing).await??;
    Ok((answer, has_failed))
}

/// The tables that search finds for a question: the first, or with `--join` those that answer it
/// together.
async fn found(
    args: &CellsArgs,
    question: &str,
    (index, snapshot): (&IndexStore, &Snapshot),
    sets: &Arc<Sets>,
    joins: &KnownJoins,
) -> anyhow::Result<Vec<TableKey>> {
    let embedder = Arc::clone(sets.embedder());
    let searcher = Arc::new(Searcher::open(index, snapshot.clone(), embedder).await?);
    let query = Query {
        k: TABLES,
        evidence: 0,
        prefix: args.under.prefix.clone(),
        ..Query::new(question)
    };
    if !args.join {
        let answer = tokio::task::spawn_blocking(move || searcher.search(&query)).await??;
        return Ok(answer.results.iter().map(Hit::key).collect());
    }
    let asked = SetQuery {
        query,
        size: SetSize::Auto,
        parts: None,
    };
    let ranked = {
        let (ranking, searcher, joins) = (asked.clone(), Arc::clone(&searcher), joins.clone());
        tokio::task::spawn_blocking(move || ranking.candidates(&searcher, &joins)).await??
    };
    let mut columns = HashMap::new();
    for (table, row) in known::records(index, snapshot, ranked.tables()).await? {
        columns.insert(table, Arc::new(TableColumns::of_row(&row)?));
    }
    let (sets, joins) = (Arc::clone(sets), joins.clone());
    let choosing = move || asked.answer(&sets, &searcher, &joins, ranked, &columns);
    let set = tokio::task::spawn_blocking(choosing).await??;
    Ok(set.answer.results.iter().map(Hit::key).collect())
}

/// Reads a table, with what the index keeps of its cells, and a note of what could not be read.
async fn read(
    args: &CellsArgs,
    index: &IndexStore,
    (record, redact): (TableRecord, Redact),
    columns: Arc<TableColumns>,
    asked: &Asked,
    until: Instant,
) -> (Read, Option<String>) {
    let key = key(&record, redact);
    let kept = match args.no_keep {
        true => None,
        false => kept(index, key).await,
    };
    let catalogue = Catalogue::new([record.clone()], opener(args.access.to_lake()));
    let catalogue = Arc::new(catalogue);
    let engine = || {
        let limits = Limits {
            max_rows: None,
            timeout: until.saturating_duration_since(Instant::now()),
            memory_bytes: args.memory,
            spill_bytes: args.memory.saturating_mul(SPILLED),
        };
        Engine::new(Arc::clone(&catalogue), limits)
    };
    let had = kept.is_some();
    let reading = limn_cells::read(&engine, (&record, redact), kept, asked).await;
    if let (false, false, Some(kept)) = (had, args.no_keep, &reading.kept) {
        keep(index, key, &kept.distinct).await;
    }
    let note = reading.failure.as_ref().map(|error| match error {
        SqlError::Stale(stale) => reading.note(&stale.line(&args.index.index)),
        SqlError::Timeout(_) => reading.note("the time was over (--timeout)"),
        error => reading.note(&error.to_string()),
    });
    let read = Read {
        table: reading.table,
        columns,
        kept: reading.kept,
        probed: reading.probed,
    };
    (read, note)
}

/// What the index keeps of a table's cells. An index that cannot give them costs time, nothing
/// else.
async fn kept(index: &IndexStore, key: u128) -> Option<Arc<Kept>> {
    let bytes = match index.kept_cells(key).await {
        Ok(bytes) => bytes?,
        Err(error) => {
            tracing::info!(%error, "kept cells cannot be read");
            return None;
        }
    };
    Distinct::from_bytes(&bytes).map(|distinct| Arc::new(distinct.into()))
}

/// Keeps cells in the index, where that can be written.
async fn keep(index: &IndexStore, key: u128, distinct: &Distinct) {
    if let Err(error) = index.keep_cells(key, &distinct.to_bytes()).await {
        tracing::info!(%error, "cells are not kept");
    }
}
