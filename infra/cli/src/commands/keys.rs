//! `limn keys`: who may ask a node, and for what.

use std::io::{self, Write};

use limn_node::access::{KeyError, KeyRecord, NewKey, edit_records, read_records};

use crate::Outcome;
use crate::args::{AddKeyArgs, KeysArgs, KeysCommand, ListKeysArgs, RemoveKeyArgs};
use crate::commands::print_json;
use crate::progress::say;
use crate::table::Table;
use crate::text::{one_line, plural};

pub async fn run(args: KeysArgs) -> anyhow::Result<Outcome> {
    match args.command {
        KeysCommand::Add(args) => add(args),
        KeysCommand::List(args) => list(args),
        KeysCommand::Remove(args) => remove(args),
    }
}

fn add(args: AddKeyArgs) -> anyhow::Result<Outcome> {
    let prefixes = (!args.prefix.is_empty()).then_some(args.prefix);
    let NewKey { key, mut record } = KeyRecord::make(&args.name, prefixes, args.rights)?;
    record.expires = args.expires;
    record.per_minute = args.per_minute.map(Into::into);
    edit_records(&args.place.file, true, |records| {
        records.push(record.clone());
        Ok(())
    })?;
    if args.output.json {
        let mut json = serde_json::to_value(&record)?;
        json["key"] = key.into();
        print_json(&json)?;
        return Ok(Outcome::Done);
    }
    say("this key is shown once and kept nowhere; clients send it as Authorization: Bearer KEY");
    writeln!(io::stdout(), "{key}")?;
    Ok(Outcome::Done)
}

fn list(args: ListKeysArgs) -> anyhow::Result<Outcome> {
    let records = read_records(&args.place.file)?;
    if args.output.json {
        let json: Vec<serde_json::Value> =
            records.iter().map(without_hash).collect::<Result<_, _>>()?;
        print_json(&json)?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(
        &["id", "name", "rights", "sees", "expires", "a minute"],
        &[5],
    );
    for record in &records {
        let rights: Vec<String> = record.rights.iter().map(ToString::to_string).collect();
        let sees = record
            .prefixes
            .as_ref()
            .map_or("everything".to_owned(), |paths| paths.join(", "));
        table.row(vec![
            record.id.clone(),
            one_line(&record.name),
            rights.join(", "),
            one_line(&sees),
            record
                .expires
                .map_or("never".to_owned(), |end| end.to_rfc3339()),
            record
                .per_minute
                .map_or(String::new(), |rate| rate.to_string()),
        ]);
    }
    let mut out = io::stdout().lock();
    if !records.is_empty() {
        table.write(&mut out)?;
    }
    writeln!(out, "{}", plural(records.len() as u64, "key"))?;
    Ok(Outcome::Done)
}

fn without_hash(record: &KeyRecord) -> serde_json::Result<serde_json::Value> {
    let mut json = serde_json::to_value(record)?;
    if let Some(fields) = json.as_object_mut() {
        fields.remove("sha256");
    }
    Ok(json)
}

fn remove(args: RemoveKeyArgs) -> anyhow::Result<Outcome> {
    let path = &args.place.file;
    edit_records(path, false, |records| {
        let before = records.len();
        records.retain(|record| record.id != args.id);
        match records.len() < before {
            true => Ok(()),
            false => Err(KeyError::NoSuchKey {
                path: path.display().to_string(),
                id: args.id.clone(),
            }),
        }
    })?;
    Ok(Outcome::Done)
}
