//! `limn context`: what people know of tables, added to an index and taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};

use anyhow::{Context, bail};
use limn_formats::SIDECAR_BYTES;
use limn_lake::{Contexts, TableName};
use limn_models::EncoderFolder;
use limn_node::Change;
use limn_pipeline::{RunOptions, Scope};
use limn_segment::{IndexStore, REGISTERED, TableRecord};
use limn_store::Store;
use serde::Serialize;

use crate::Outcome;
use crate::args::{
    AddContextArgs, ContextArgs, ContextCommand, ListContextsArgs, RemoveContextArgs, RunArgs,
};
use crate::commands::encoders::given_place;
use crate::commands::{embedder_name, index, newest, print_json};
use crate::table::Table;
use crate::text::{cut, one_line, plural};

/// Letters of a text that a listing shows.
const SHOWN: usize = 90;

pub async fn run(args: ContextArgs) -> anyhow::Result<Outcome> {
    match args.command {
        ContextCommand::Add(args) => add(args).await,
        ContextCommand::List(args) => list(args).await,
        ContextCommand::Remove(args) => remove(args).await,
        ContextCommand::Apply(args) => apply(*args).await,
    }
}

/// Puts one registered text of a table in the place of another, either of which may be missing.
async fn apply(mut args: RunArgs) -> anyhow::Result<Outcome> {
    let change: Change = serde_json::from_reader(io::stdin().lock())
        .context("standard input is no change of a description")?;
    let name = TableName::parse(&change.table)?;
    let index = open_index(&args)?;
    // The node serves the index as it is: its embedder is the one.
    let snapshot = index.require_newest().await?;
    args.embedder = embedder_name(&snapshot, &given_place(&args.embedder)).await?;
    if EncoderFolder::made(&snapshot.embedder) {
        args.embedder_dimensions = Some(snapshot.dimensions);
    }
    let rows = rows_of(&index).await?;
    let meant = rows.iter().filter(|row| row.lake == change.lake);
    let Some(row) = meant
        .filter(|row| !row.removed)
        .find(|row| row.name == change.table)
    else {
        bail!("the index has no table {name}");
    };
    let (mut contexts, mut forget) = (Contexts::new(), Contexts::new());
    if !change.text.is_empty() {
        contexts.insert(name.clone(), vec![change.text]);
    }
    if let Some(old) = change.replaces {
        let mut registered = row.contexts.iter().filter(|it| it.source == REGISTERED);
        let Some(known) = registered.find(|context| context.text == old) else {
            bail!("{name} has no such text any more");
        };
        let about = known.registered_for.as_deref().map(TableName::parse);
        forget.insert(about.transpose()?.unwrap_or(name), vec![old]);
    }
    let defaults = RunOptions {
        scope: Scope::Tables([row.name.clone()].into()),
        contexts,
        forget,
        ..RunOptions::default()
    };
    index::run_over(&change.lake, &args, defaults).await
}

async fn add(args: AddContextArgs) -> anyhow::Result<Outcome> {
    let text = match (args.text, &args.file) {
        (Some(text), _) => text,
        (None, Some(file)) => read_text(file)?,
        (None, None) => bail!("there is no text: give one, or --file"),
    };
    let text = text.trim();
    if text.is_empty() {
        bail!("the text is empty; limn context remove takes texts back");
    }
    if text.len() as u64 > SIDECAR_BYTES {
        bail!("the text is longer than {SIDECAR_BYTES} bytes: keep to what a search could use");
    }
    let name = TableName::parse(args.table.trim_matches('/'))?;
    let rows = rows_of(&open_index(&args.run)?).await?;
    let meant = meant(&rows, name.as_str());
    if meant.is_empty() {
        bail!(
            "the index has no table {name}: limn tables lists them; limn index adds new ones, \
             with what --contexts says of them"
        );
    }
    let lake = lake_of(&meant, args.lake)?;
    let mut contexts = Contexts::new();
    contexts.insert(name, vec![text.to_owned()]);
    let scope = Scope::Tables(meant.iter().map(|row| row.name.clone()).collect());
    let defaults = RunOptions {
        scope,
        contexts,
        ..RunOptions::default()
    };
    index::run_over(&lake, &args.run, defaults).await
}

async fn remove(args: RemoveContextArgs) -> anyhow::Result<Outcome> {
    let name = TableName::parse(args.table.trim_matches('/'))?;
    let mut rows = rows_of(&open_index(&args.run)?).await?;
    if let Some(lake) = &args.lake {
        let lake = Store::open_as(lake, &args.run.access.to_lake())?;
        rows.retain(|row| row.lake == lake.url());
    }
    let registered: Vec<KnownText> = known_texts(&rows)
        .into_iter()
        .filter(|it| it.number.is_some() && it.about == name.as_str())
        .collect();
    if registered.is_empty() {
        bail!("nothing is registered for {name}: limn context list shows what is");
    }
    let lakes: BTreeSet<&str> = registered.iter().map(|it| it.lake.as_str()).collect();
    if lakes.len() > 1 {
        let lakes: Vec<&str> = lakes.into_iter().collect();
        bail!(
            "several lakes of the index know {name}: say --lake, one of {}",
            lakes.join(", ")
        );
    }
    let mut forget = Contexts::new();
    if args.all {
        let texts = registered.iter().map(|it| it.text.clone());
        forget.insert(name.clone(), texts.collect());
    }
    for number in args.numbers {
        let Some(one) = registered.iter().find(|it| it.number == Some(number)) else {
            bail!("{name} has no text {number}: limn context list numbers them");
        };
        let texts = forget.entry(name.clone()).or_default();
        texts.push(one.text.clone());
    }
    let lake = registered[0].lake.clone();
    let tables = registered.iter().flat_map(|it| it.tables.iter().cloned());
    let scope = Scope::Tables(tables.collect());
    let defaults = RunOptions {
        scope,
        forget,
        ..RunOptions::default()
    };
    let lake = args.lake.unwrap_or(lake);
    index::run_over(&lake, &args.run, defaults).await
}

async fn list(args: ListContextsArgs) -> anyhow::Result<Outcome> {
    let rows = rows_of(&IndexStore::open(&args.index.index)?).await?;
    let mut texts = known_texts(&rows);
    if let Some(table) = args.table.as_deref().map(|it| it.trim_matches('/')) {
        texts.retain(|it| it.about == table || it.tables.contains(table));
        if texts.is_empty() && !rows.iter().any(|row| !row.removed && row.name == table) {
            bail!("the index has no table {table}: limn tables lists them");
        }
    }
    if args.output.json {
        print_json(&texts)?;
        return Ok(Outcome::Done);
    }
    let mut listing = Table::new(&["table", "number", "from", "text"], &[1]);
    for one in &texts {
        let from = match (&one.number, one.tables.is_empty()) {
            (Some(_), true) => "registered, the table was removed",
            (Some(_), false) => "registered",
            (None, _) => one.source.as_str(),
        };
        let text = match &one.error {
            Some(error) => format!("not read: {error}"),
            None => one.text.clone(),
        };
        listing.row(vec![
            one_line(&one.about),
            one.number.map(|it| it.to_string()).unwrap_or_default(),
            one_line(from),
            cut(&one_line(&text), SHOWN),
        ]);
    }
    let mut out = io::stdout().lock();
    if !texts.is_empty() {
        listing.write(&mut out)?;
    }
    writeln!(out, "{}", plural(texts.len() as u64, "text"))?;
    out.flush()?;
    Ok(Outcome::Done)
}

/// A text about tables.
#[derive(Debug, Serialize)]
struct KnownText {
    /// What it was registered for, or the table beside which it lies.
    about: String,
    lake: String,
    /// Of a registered text: which of those for the same name.
    number: Option<usize>,
    /// A path, or `registered`.
    source: String,
    /// The tables that have it now; none if they were removed.
    tables: BTreeSet<String>,
    text: String,
    error: Option<String>,
}

/// All texts: of each lake, by what they are about; registered ones first, numbered from the
/// oldest.
fn known_texts(rows: &[TableRecord]) -> Vec<KnownText> {
    type Key<'a> = (&'a str, &'a str, bool, &'a str);
    let mut found: BTreeMap<Key<'_>, Vec<KnownText>> = BTreeMap::new();
    for row in rows {
        for context in &row.contexts {
            let about = context.registered_for.as_ref().unwrap_or(&row.name);
            let is_beside = context.source != REGISTERED;
            let says_nothing = context.text.trim().is_empty() && context.error.is_none();
            // A text beside files that are no table describes none.
            if says_nothing || is_beside && row.removed {
                continue;
            }
            let key: Key<'_> = (&row.lake, about, is_beside, &context.source);
            let texts = found.entry(key).or_default();
            let at = texts.iter().position(|it| it.text == context.text);
            let at = at.unwrap_or_else(|| {
                texts.push(KnownText {
                    about: about.to_owned(),
                    lake: row.lake.clone(),
                    number: (!is_beside).then_some(texts.len() + 1),
                    source: context.source.clone(),
                    tables: BTreeSet::new(),
                    text: context.text.clone(),
                    error: context.error.clone(),
                });
                texts.len() - 1
            });
            if !row.removed {
                texts[at].tables.insert(row.name.clone());
            }
        }
    }
    found.into_values().flatten().collect()
}

/// The tables that a name means: that of this name; else those that have the file of this path.
fn meant<'a>(rows: &'a [TableRecord], name: &str) -> Vec<&'a TableRecord> {
    let live = || rows.iter().filter(|row| !row.removed);
    let named: Vec<&TableRecord> = live().filter(|row| row.name == name).collect();
    if !named.is_empty() {
        return named;
    }
    live()
        .filter(|row| row.files.iter().any(|file| file.path == name))
        .collect()
}

/// The lake of these tables: the one that was said, else the only one.
fn lake_of(tables: &[&TableRecord], said: Option<String>) -> anyhow::Result<String> {
    if let Some(said) = said {
        return Ok(said);
    }
    let lakes: BTreeSet<&str> = tables.iter().map(|row| row.lake.as_str()).collect();
    let mut lakes = lakes.into_iter();
    match (lakes.next(), lakes.next()) {
        (Some(lake), None) => Ok(lake.to_owned()),
        (first, second) => {
            let lakes: Vec<&str> = first.into_iter().chain(second).chain(lakes).collect();
            bail!(
                "several lakes of the index have a table of this name: say --lake, one of {}",
                lakes.join(", ")
            )
        }
    }
}

fn open_index(args: &RunArgs) -> anyhow::Result<IndexStore> {
    let store = Store::open_as(&args.index.index, &args.access.to_index())?;
    Ok(IndexStore::new(store))
}

async fn rows_of(index: &IndexStore) -> anyhow::Result<Vec<TableRecord>> {
    let snapshot = newest(index).await?;
    Ok(index.tables_with_removed(&snapshot, None).await?)
}

fn read_text(file: &str) -> anyhow::Result<String> {
    let opened: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin()),
        file => {
            Box::new(std::fs::File::open(file).with_context(|| format!("{file} cannot be read"))?)
        }
    };
    let mut text = String::new();
    let mut opened = opened.take(SIDECAR_BYTES + 1);
    let read = opened.read_to_string(&mut text);
    read.with_context(|| format!("{file} cannot be read as UTF-8 text"))?;
    Ok(text)
}
