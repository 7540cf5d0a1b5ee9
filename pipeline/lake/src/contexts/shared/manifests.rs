//! Manifests: Frictionless data packages, CSVW, Croissant, and data dictionaries in JSON.
//!
//! They say the same in different words: what lies where, what it is, and what its columns mean. Each resource becomes a part: its
//! title and description, and a table of its columns.

use std::collections::HashMap;

use limn_formats::DESCRIPTION_CHARS;
use limn_profile::text::prefix;
use limn_store::one_line;
use serde_json::{Map, Value};

use super::{Parts, SharedKind};
use crate::place::split_path;

/// Characters kept of the description of a resource or a package.
const MOST_SAID: usize = 8000;
/// Levels that are looked into for tables and columns.
const LEVELS: usize = 12;

pub(super) fn cut(
    path: &str,
    kind: SharedKind,
    text: &str,
    parts: &mut Parts,
) -> Result<(), serde_json::Error> {
    let json: Value = serde_json::from_str(text)?;
    match kind {
        SharedKind::Frictionless => {
            resources(&json, ["resources", "path", "schema", "fields"], parts)
        }
        SharedKind::Csvw => csvw(path, &json, parts),
        SharedKind::Croissant => croissant(&json, parts),
        _ => dictionary(&json, LEVELS, parts),
    }
    Ok(())
}

/// A member of an object, whatever prefix its name has (`dc:title`, `cr:field`).
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let object = object.as_object()?;
    object.get(name).or_else(|| {
        let mut members = object.iter();
        let named = |key: &str| key.split_once(':').is_some_and(|(_, bare)| bare == name);
        members.find(|(key, _)| named(key)).map(|(_, value)| value)
    })
}

/// All values of a member that may be one or a list.
fn all<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    match member(object, name) {
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    }
}

/// A text, or the first one of a list or of several languages.
fn said(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(all) => all.iter().find_map(Value::as_str),
        Value::Object(by_language) => by_language.values().find_map(Value::as_str),
        _ => None,
    }
}

fn first<'a>(object: &'a Value, names: &[&str]) -> Option<&'a str> {
    let mut said = names.iter().filter_map(|name| said(member(object, name)?));
    said.find(|text| !text.trim().is_empty())
}

/// Title and description of a thing, a line each.
fn heading(thing: &Value) -> String {
    let mut text = String::new();
    for name in ["title", "description"] {
        if let Some(said) = first(thing, &[name]) {
            text.push_str(one_line(prefix(said, MOST_SAID)).trim());
            text.push('\n');
        }
    }
    text
}

/// Columns as rows of a table, in which [`super::super::column_descriptions`] finds them.
fn columns<'a>(columns: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, description) in columns {
        if text.is_empty() {
            text.push_str("| column | description |\n|---|---|\n");
        }
        let cell = |it: &str, most: usize| one_line(prefix(it.trim(), most)).replace('|', "/");
        let description = cell(description, DESCRIPTION_CHARS);
        text.push_str(&format!("| {} | {description} |\n", cell(name, 200)));
    }
    text
}

fn described(column: &Value) -> Option<(&str, &str)> {
    let name = first(column, &["name", "titles"])?;
    Some((name, first(column, &["description", "title", "comment"])?))
}

/// The package's description of itself: above each of its resources.
fn package(json: &Value, parts: &mut Parts) -> Option<usize> {
    let heading = heading(json);
    (!heading.is_empty()).then(|| parts.add(heading, None))
}

fn resources(json: &Value, [list, path, schema, fields]: [&str; 4], parts: &mut Parts) {
    let above = package(json, parts);
    for resource in all(json, list) {
        let known = member(resource, schema).map_or(&[][..], |schema| all(schema, fields));
        let text = heading(resource) + &columns(known.iter().filter_map(described));
        let part = parts.add(text, above);
        let places = all(resource, path).iter().filter_map(Value::as_str);
        let mut is_placed = false;
        for place in places {
            parts.is_at(part, place);
            is_placed = true;
        }
        if let (false, Some(name)) = (is_placed, first(resource, &["name"])) {
            parts.is_called(part, name);
        }
    }
}

fn csvw(path: &str, json: &Value, parts: &mut Parts) {
    const WORDS: [&str; 4] = ["tables", "url", "tableSchema", "columns"];
    if member(json, "tables").is_some() {
        return resources(json, WORDS, parts);
    }
    let mut table = json.clone();
    if member(json, "url").is_none()
        && let (Some(table), Some(described)) = (
            table.as_object_mut(),
            split_path(path).1.strip_suffix("-metadata.json"),
        )
    {
        table.insert("url".to_owned(), Value::from(described));
    }
    let tables = Map::from_iter([("tables".to_owned(), Value::Array(vec![table]))]);
    resources(&Value::Object(tables), WORDS, parts);
}

/// Record sets, each at the places of the files that its fields are taken from.
fn croissant(json: &Value, parts: &mut Parts) {
    let above = package(json, parts);
    let id = |thing| first(thing, &["@id", "name"]);
    let files: HashMap<&str, &Value> = all(json, "distribution")
        .iter()
        .filter_map(|file| Some((id(file)?, file)))
        .collect();
    for set in all(json, "recordSet") {
        let fields = all(set, "field");
        let columns = columns(fields.iter().filter_map(|field| {
            let source = member(field, "source");
            let extracted = source
                .and_then(|source| member(source, "extract"))
                .and_then(|extract| first(extract, &["column"]));
            let name = || first(field, &["name"]).map(|name| split_path(name).1);
            let description = first(field, &["description"])?;
            Some((extracted.or_else(name)?, description))
        }));
        let part = parts.add(heading(set) + &columns, above);
        let mut places: Vec<&str> = Vec::new();
        let sources = fields.iter().filter_map(|field| member(field, "source"));
        for source in sources {
            let file = ["fileObject", "fileSet", "distribution"]
                .iter()
                .find_map(|it| member(source, it));
            let Some(file) = file.and_then(|file| file.as_str().or_else(|| id(file))) else {
                continue;
            };
            let file = files.get(file);
            let place = file.and_then(|file| first(file, &["contentUrl", "includes"]));
            places.extend(place.filter(|place| !places.contains(place)).as_slice());
        }
        for place in &places {
            // Of a pattern the folder that it begins with.
            match place.find(['*', '?', '[']) {
                Some(at) if !place.contains("://") => parts.is_at(part, split_path(&place[..at]).0),
                _ => parts.is_at(part, place),
            }
        }
        if let (true, Some(name)) = (places.is_empty(), id(set)) {
            parts.is_called(part, split_path(name).1);
        }
    }
}

/// Whatever is called like a table and holds something: `{"orders": {…}}`, `[{"table": "orders", …}]`.
fn dictionary(json: &Value, levels: usize, parts: &mut Parts) {
    const TABLES: [&str; 7] = [
        "table",
        "table_name",
        "file",
        "filename",
        "path",
        "dataset",
        "resource",
    ];
    const COLUMNS: [&str; 3] = ["columns", "fields", "properties"];
    if levels == 0 {
        return;
    }
    match json {
        Value::Object(object) => {
            let is_table = COLUMNS.iter().any(|it| object.contains_key(*it));
            let name = first(json, &TABLES).or_else(|| first(json, &["name"]).filter(|_| is_table));
            if let Some(name) = name {
                let part = parts.add(render(json), None);
                parts.is_called(part, split_path(name).1);
            }
            for (key, inner) in object {
                if COLUMNS.contains(&key.to_ascii_lowercase().as_str()) {
                    continue;
                }
                if name.is_none() && (inner.is_object() || inner.is_array()) {
                    let part = parts.add(render(inner), None);
                    parts.is_called(part, split_path(key).1);
                }
                dictionary(inner, levels - 1, parts);
            }
        }
        Value::Array(all) => all
            .iter()
            .for_each(|inner| dictionary(inner, levels - 1, parts)),
        _ => {}
    }
}

fn render(json: &Value) -> String {
    let mut rows = Vec::new();
    gather(json, LEVELS, &mut rows);
    heading(json) + &columns(rows.into_iter())
}

/// The columns that a value describes.
fn gather<'a>(json: &'a Value, levels: usize, rows: &mut Vec<(&'a str, &'a str)>) {
    if levels == 0 {
        return;
    }
    match json {
        Value::Object(object) => {
            let name = first(
                json,
                &["column", "column_name", "field", "variable", "name"],
            );
            let description = first(
                json,
                &["description", "comment", "meaning", "label", "definition"],
            );
            if let (Some(name), Some(description)) = (name, description) {
                rows.push((name, description));
                return;
            }
            for (key, inner) in object {
                let about = match inner {
                    Value::String(text) => Some(text.as_str()),
                    Value::Object(_) => first(inner, &["description", "comment", "label"]),
                    _ => None,
                };
                match about {
                    Some(about) => rows.push((key, about)),
                    None => gather(inner, levels - 1, rows),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|inner| gather(inner, levels - 1, rows)),
        _ => {}
    }
}
