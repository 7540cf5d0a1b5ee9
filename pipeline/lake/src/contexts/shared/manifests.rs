//! Manifests: Frictionless data packages, CSVW, Croissant, and data dictionaries in JSON.
//!
//! They say the same in different words: what lies where, what it is, and what its columns mean.
//! Each resource becomes a part: its title and description, and a table of its columns.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::said::{self, Column, Keys, Reference, flat, listed};
use super::{Parts, SharedKind};
use crate::place::{split_path, without_extension};

/// Characters kept of the description of a resource or a package.
pub(super) const MOST_SAID: usize = 8000;
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
pub(super) fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let object = object.as_object()?;
    object.get(name).or_else(|| {
        let mut members = object.iter();
        let named = |key: &str| key.split_once(':').is_some_and(|(_, bare)| bare == name);
        members.find(|(key, _)| named(key)).map(|(_, value)| value)
    })
}

/// All values of a member that may be one or a list.
pub(super) fn all<'a>(object: &'a Value, name: &str) -> &'a [Value] {
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

pub(super) fn first<'a>(object: &'a Value, names: &[&str]) -> Option<&'a str> {
    let mut said = names.iter().filter_map(|name| said(member(object, name)?));
    said.find(|text| !text.trim().is_empty())
}

/// Title and description of a thing, a line each.
pub(super) fn heading(thing: &Value) -> String {
    let mut text = String::new();
    for name in ["title", "description"] {
        if let Some(said) = first(thing, &[name]) {
            text.push_str(&flat(said, MOST_SAID));
            text.push('\n');
        }
    }
    text
}

/// Columns of which no more than a description is said.
fn columns<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let columns = all.map(|(name, description)| Column::new(name, description));
    said::lines(columns.collect(), &Keys::default())
}

/// A column with what is declared of it: `required` and `unique` (CSVW has the first, Table Schema
/// both among its `constraints`), the values that it may have, and its unit.
fn described(name: &str, column: &Value) -> Column {
    let description = first(column, &["description", "title", "comment"]);
    let mut described = Column::new(name, description.unwrap_or_default());
    let constraints = member(column, "constraints");
    let is = |name: &str| {
        let mut said = [Some(column), constraints].into_iter().flatten();
        said.any(|it| member(it, name).and_then(Value::as_bool) == Some(true))
    };
    if is("unique") {
        described.declare("Unique.");
    }
    if is("required") {
        described.declare("Never empty.");
    }
    let values: Vec<String> = constraints.map_or_else(Vec::new, |it| texts(it, "enum"));
    if !values.is_empty() {
        described.declare(&format!("One of: {}.", listed(&values)));
    }
    if let Some(unit) = first(column, &["unit", "unitText", "unitCode"]) {
        // Of a term of a vocabulary its own name.
        let term = unit.rsplit(['/', '#']).next();
        let unit = term.filter(|_| unit.contains("://")).unwrap_or(unit);
        described.declare(&format!("Unit: {}.", listed(&[unit.to_owned()])));
    }
    described
}

/// The texts, numbers and truth values of a member that may be one or a list.
pub(super) fn texts(object: &Value, name: &str) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    };
    all(object, name).iter().filter_map(text).collect()
}

/// The keys of a schema: Table Schema's `primaryKey`, `uniqueKeys` and `foreignKeys` (`fields`, and
/// a `reference` to a `resource`, none for its own), and CSVW's (`columnReference`). `own` is what
/// the resource itself is called.
fn keys(schema: &Value, own: &str) -> Keys {
    let lists = |name: &str| {
        let lists = all(schema, name).iter().filter_map(|it| match it {
            Value::Array(all) => {
                let names = all.iter().filter_map(Value::as_str);
                Some(names.map(str::to_owned).collect())
            }
            Value::String(one) => Some(vec![one.clone()]),
            _ => None,
        });
        lists.collect::<Vec<Vec<String>>>()
    };
    let columns = |it: &Value| match texts(it, "fields") {
        columns if columns.is_empty() => texts(it, "columnReference"),
        columns => columns,
    };
    let references = all(schema, "foreignKeys").iter().filter_map(|key| {
        let target = member(key, "reference")?;
        let table = first(target, &["resource", "schemaReference"]).unwrap_or(own);
        Some(Reference {
            columns: columns(key),
            table: without_extension(split_path(table).1).to_owned(),
            to: columns(target),
        })
    });
    Keys {
        primary: texts(schema, "primaryKey"),
        unique: lists("uniqueKeys"),
        references: references.collect(),
    }
}

/// The package's description of itself: above each of its resources.
fn package(json: &Value, parts: &mut Parts) -> Option<usize> {
    let heading = heading(json);
    (!heading.is_empty()).then(|| parts.add(heading, None))
}

fn resources(json: &Value, [list, path, schema, fields]: [&str; 4], parts: &mut Parts) {
    let above = package(json, parts);
    for resource in all(json, list) {
        let places = all(resource, path).iter().filter_map(Value::as_str);
        let schema = member(resource, schema);
        let known = schema.map_or(&[][..], |schema| all(schema, fields));
        let own = || first(resource, &["name"]).or_else(|| places.clone().next());
        let keys = schema.map(|schema| keys(schema, own().unwrap_or_default()));
        let name = |column| first(column, &["name", "titles"]);
        let columns = known.iter().filter_map(|it| Some(described(name(it)?, it)));
        let columns = columns.collect();
        let text = heading(resource) + &said::lines(columns, &keys.unwrap_or_default());
        let part = parts.add(text, above);
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

/// The column that a field is taken from.
fn column_of(field: &Value) -> Option<&str> {
    let source = member(field, "source");
    let extract = source.and_then(|source| member(source, "extract"));
    let extracted = extract.and_then(|extract| first(extract, &["column"]));
    extracted.or_else(|| first(field, &["name"]).map(|name| split_path(name).1))
}

/// The `key` of a record set, and the fields that its own refer to (`references`).
fn keys_of_set(set: &Value, columns_of: &HashMap<&str, &str>) -> Keys {
    let ids = |thing: &Value, name: &str| -> Vec<String> {
        let ids = all(thing, name).iter();
        let ids = ids.filter_map(|it| it.as_str().or_else(|| first(it, &["@id"])));
        ids.map(str::to_owned).collect()
    };
    let column = |id: &str| {
        let column = columns_of.get(id).copied();
        column.unwrap_or(split_path(id).1).to_owned()
    };
    let references = all(set, "field").iter().filter_map(|field| {
        let target = member(field, "references")?;
        let target = ids(target, "field")
            .pop()
            .or_else(|| ids(target, "@id").pop())?;
        Some(Reference {
            columns: vec![column_of(field)?.to_owned()],
            table: split_path(split_path(&target).0).1.to_owned(),
            to: vec![column(&target)],
        })
    });
    Keys {
        primary: ids(set, "key").iter().map(|id| column(id)).collect(),
        unique: Vec::new(),
        references: references.collect(),
    }
}

/// Record sets, each at the places of the files that its fields are taken from.
fn croissant(json: &Value, parts: &mut Parts) {
    let above = package(json, parts);
    let id = |thing| first(thing, &["@id", "name"]);
    let files: HashMap<&str, &Value> = all(json, "distribution")
        .iter()
        .filter_map(|file| Some((id(file)?, file)))
        .collect();
    // The columns of all fields, by which keys name them.
    let sets = all(json, "recordSet").iter();
    let fields = sets.flat_map(|set| all(set, "field"));
    let columns_of: HashMap<&str, &str> = fields
        .filter_map(|field| Some((id(field)?, column_of(field)?)))
        .collect();
    for set in all(json, "recordSet") {
        let fields = all(set, "field");
        let columns = fields.iter().filter_map(|field| {
            let described = described(column_of(field)?, field);
            let description = first(field, &["description"]).unwrap_or_default();
            Some(Column {
                description: description.to_owned(),
                ..described
            })
        });
        let text = said::lines(columns.collect(), &keys_of_set(set, &columns_of));
        let part = parts.add(heading(set) + &text, above);
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

/// Whatever is called like a table and holds something: `{"orders": {…}}`,
/// `[{"table": "orders", …}]`.
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
