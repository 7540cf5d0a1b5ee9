//! `limn models`: which models limn knows, and fetching them ahead of time.

use std::io::{self, Write};

use anyhow::Context;
use limn_models::{ALL_MINILM, ModelStore};

use crate::Outcome;
use crate::args::{ModelsArgs, ModelsCommand};
use crate::commands::print_json;
use crate::progress::model_progress;
use crate::table::Table;
use crate::text::bytes;

pub async fn run(args: ModelsArgs) -> anyhow::Result<Outcome> {
    match args.command {
        ModelsCommand::List { output } => list(output.json)?,
        ModelsCommand::Pull { name } => pull(name.unwrap_or_else(|| ALL_MINILM.to_owned())).await?,
    }
    Ok(Outcome::Done)
}

fn list(json: bool) -> anyhow::Result<()> {
    let store = ModelStore::from_env();
    let mut rows = Vec::new();
    for card in ModelStore::cards() {
        rows.push((card, store.is_ready(card.name)?));
    }
    if json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|(card, here)| {
                serde_json::json!({
                    "name": card.name, "use": card.purpose, "licence": card.licence, "bytes": card.bytes(), "pulled": here,
                })
            })
            .collect();
        return print_json(&rows);
    }
    let mut table = Table::new(&["model", "use", "licence", "size", "here"], &[3]);
    for (card, here) in rows {
        table.row(vec![
            card.name.to_owned(),
            card.purpose.to_string(),
            card.licence.to_owned(),
            bytes(card.bytes()),
            if here { "yes" } else { "no" }.to_owned(),
        ]);
    }
    let mut out = io::stdout().lock();
    table.write(&mut out)?;
    writeln!(
        out,
        "models are kept in {} (LIMN_MODELS names another folder)",
        store.root().display()
    )?;
    Ok(())
}

async fn pull(name: String) -> anyhow::Result<()> {
    let pulled = name.clone();
    tokio::task::spawn_blocking(move || {
        let progress = model_progress();
        let files = ModelStore::from_env().pull(&pulled, &|event| progress.on(&event));
        progress.finish();
        files
    })
    .await
    .context("the model loader died")??;
    println!("{name} is here and verified");
    Ok(())
}
