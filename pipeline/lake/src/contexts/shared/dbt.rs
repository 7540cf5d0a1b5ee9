//! dbt's artifacts: `manifest.json` (<https://schemas.getdbt.com/dbt/manifest/v12.json>) and
//! `catalog.json` (<https://schemas.getdbt.com/dbt/catalog/v1.json>).
//!
//! A manifest of a large project has tens of megabytes, most of them code. So it is read node by
//! node, code is passed over, and what is kept of a node is its text: description, columns, what
//! tests and constraints declare, its direct parents and children, and who uses it. A catalog has
//! the comments of the database; what it counts is stale, and left out.

use std::collections::{BTreeMap, HashMap};

use limn_profile::text::prefix;
use serde_json::Value;

use super::Parts;
use super::manifests::{MOST_SAID, all, first, heading, member, texts};
use super::relations::Name;
use super::said::{self, Column, Keys, MOST_COLUMNS, Reference, flat, listed};
use super::sparse::{self, TooMuch};

/// What of a node says nothing about its table.
const LEFT_OUT: [&str; 12] = [
    "raw_code",
    "raw_sql",
    "compiled_code",
    "compiled_sql",
    "extra_ctes",
    "checksum",
    "docs",
    "unrendered_config",
    "macros",
    "stats",
    "language",
    "refs",
];
/// Nodes of one manifest; a larger one is refused.
const MOST_NODES: usize = 200_000;
/// Tables that a table is made of, or that are made of it, which are named; and which are kept.
const MOST_NAMED: usize = 10;
const MOST_PARENTS: usize = 200;
/// Characters of the description of an exposure.
const EXPOSURE_CHARS: usize = 300;

/// The parts of a manifest.
pub(super) fn manifest(text: &[u8], parts: &mut Parts) -> Result<(), serde_json::Error> {
    let mut project = Project::default();
    let sections = ["nodes", "sources", "exposures"];
    sparse::members(text, &sections, &LEFT_OUT, &mut |section, id, value| {
        project.take(section, id, &value)
    })?;
    project.declare_tests();
    project.write(parts);
    Ok(())
}

/// The parts of a catalog.
pub(super) fn catalog(text: &[u8], parts: &mut Parts) -> Result<(), serde_json::Error> {
    let sections = ["nodes", "sources"];
    let mut count = 0;
    sparse::members(text, &sections, &LEFT_OUT, &mut |_, _, node| {
        counted(&mut count)?;
        let Some(table) = member(&node, "metadata") else {
            return Ok(());
        };
        let columns = member(&node, "columns").and_then(Value::as_object);
        let columns = columns.into_iter().flatten().map(|(name, column)| {
            let comment = first(column, &["comment"]).unwrap_or_default();
            let data_type = first(column, &["type"]).unwrap_or_default();
            Column {
                data_type: data_type.to_owned(),
                ..Column::new(first(column, &["name"]).unwrap_or(name), comment)
            }
        });
        let mut text = line(first(table, &["comment"]).unwrap_or_default());
        text.push_str(&said::lines(columns.collect(), &Keys::default()));
        if text.is_empty() {
            return Ok(());
        }
        let part = parts.add(text, None);
        let of = |name| first(table, &[name]).unwrap_or_default();
        let name = Name {
            database: of("database"),
            schema: of("schema"),
            name: of("name"),
            also: "",
        };
        parts.relations.is_called(part, name);
        Ok(())
    })
}

fn counted(count: &mut usize) -> Result<(), TooMuch> {
    *count += 1;
    match *count > MOST_NODES {
        true => Err(TooMuch::Nodes(MOST_NODES)),
        false => Ok(()),
    }
}

fn line(text: &str) -> String {
    match flat(text, MOST_SAID) {
        text if text.is_empty() => text,
        text => text + "\n",
    }
}

/// What a manifest says, by the ids of its nodes.
#[derive(Default)]
struct Project {
    nodes: BTreeMap<String, Node>,
    tests: Vec<Test>,
    /// What uses nodes outside of the project, in the order of their names.
    exposures: BTreeMap<String, Exposure>,
    count: usize,
}

/// A model, source, seed or snapshot.
#[derive(Default)]
struct Node {
    /// What people call it.
    label: String,
    /// What it is called in its database; nothing if it is not there.
    names: Vec<[String; 4]>,
    places: Vec<String>,
    said: String,
    columns: Vec<Column>,
    keys: Keys,
    parents: Vec<String>,
}

/// A test of a node, as far as it declares anything.
struct Test {
    id: String,
    node: String,
    column: String,
    what: Declared,
}

enum Declared {
    Unique,
    UniqueTogether(Vec<String>),
    NeverEmpty,
    OneOf(Vec<String>),
    RefersTo { table: String, field: String },
}

struct Exposure {
    said: String,
    of: Vec<String>,
}

impl Project {
    fn take(&mut self, section: &str, id: &str, value: &Value) -> Result<(), TooMuch> {
        counted(&mut self.count)?;
        if section == "exposures" {
            self.exposures.insert(id.to_owned(), exposure(value));
            return Ok(());
        }
        match first(value, &["resource_type"]) {
            Some("model" | "seed" | "snapshot" | "source") => {
                self.nodes.insert(id.to_owned(), Node::of(value));
            }
            Some("test") => self.tests.extend(Test::of(id, value)),
            // Analyses, operations and so on are no tables.
            _ => {}
        }
        Ok(())
    }

    /// Has nodes say what their tests declare.
    fn declare_tests(&mut self) {
        self.tests.sort_by(|a, b| a.id.cmp(&b.id));
        for test in std::mem::take(&mut self.tests) {
            let Some(node) = self.nodes.get_mut(&test.node) else {
                continue;
            };
            let column = || vec![test.column.clone()];
            match test.what {
                Declared::UniqueTogether(columns) => node.keys.unique.push(columns),
                _ if test.column.is_empty() => {}
                Declared::Unique => node.keys.unique.push(column()),
                Declared::RefersTo { table, field } => node.keys.references.push(Reference {
                    columns: column(),
                    table,
                    to: vec![field],
                }),
                Declared::NeverEmpty => node.declare(&test.column, "Never empty."),
                Declared::OneOf(values) => {
                    node.declare(&test.column, &format!("One of: {}.", listed(&values)));
                }
            }
        }
    }

    /// Each node becomes a part.
    fn write(self, parts: &mut Parts) {
        let labels: HashMap<&str, &str> = self
            .nodes
            .iter()
            .map(|(id, node)| (id.as_str(), node.label.as_str()))
            .collect();
        let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
        for node in self.nodes.values() {
            for parent in &node.parents {
                children.entry(parent).or_default().push(&node.label);
            }
        }
        let mut uses: HashMap<&str, Vec<&str>> = HashMap::new();
        for exposure in self.exposures.values() {
            for node in &exposure.of {
                uses.entry(node).or_default().push(&exposure.said);
            }
        }
        for (id, node) in &self.nodes {
            if node.names.is_empty() && node.places.is_empty() {
                continue;
            }
            let mut text = node.said.clone();
            let parents = node.parents.iter();
            let parents = parents.filter_map(|parent| labels.get(parent.as_str()).copied());
            text.push_str(&named("Made of", parents));
            let made = children.get(id.as_str()).into_iter().flatten().copied();
            text.push_str(&named("Used for", made));
            let uses = uses.get(id.as_str()).into_iter().flatten();
            for used in uses.take(MOST_NAMED) {
                text.push_str(used);
            }
            text.push_str(&said::lines(node.columns.clone(), &node.keys));
            if text.is_empty() {
                continue;
            }
            let part = parts.add(text, None);
            for [database, schema, name, also] in &node.names {
                parts.relations.is_called(
                    part,
                    Name {
                        database,
                        schema,
                        name,
                        also,
                    },
                );
            }
            for place in &node.places {
                parts.relations.is_at(part, place);
            }
        }
    }
}

/// A sentence about the tables of these names.
fn named<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    match (names.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("{what}: {}.\n", listed(&names)),
        (false, more) => format!("{what}: {} and {more} more.\n", listed(&names)),
    }
}

impl Node {
    fn of(value: &Value) -> Node {
        let text = |name: &str| first(value, &[name]).unwrap_or_default();
        let config = member(value, "config");
        let name = first(value, &["identifier", "alias", "name"]).unwrap_or_default();
        let mut said = line(text("source_description"));
        said.push_str(&heading(value));
        let columns = member(value, "columns").and_then(Value::as_object);
        let columns = columns.into_iter().flatten();
        let mut node = Node {
            label: prefix(name, 200).to_owned(),
            said,
            columns: columns
                .map(|(name, column)| column_of(name, column))
                .collect(),
            keys: keys_of(value),
            parents: depends_on(value),
            ..Node::default()
        };
        let own = config.and_then(|config| first(config, &["schema"]));
        let of_config = config.and_then(|config| first(config, &["materialized"]));
        if of_config == Some("ephemeral") {
            return node;
        }
        let also = own.unwrap_or_default().to_owned();
        let [database, schema] = ["database", "schema"].map(|it| text(it).to_owned());
        let relation = text("relation_name");
        if relation.contains('/') {
            node.places
                .push(relation.trim_matches(['\'', '"', '`']).to_owned());
        } else if !relation.is_empty() {
            let full = Name::of(relation);
            let parts = [full.database, full.schema, full.name].map(str::to_owned);
            let [database, schema, name] = parts;
            node.names.push([database, schema, name, also.clone()]);
        }
        let named = [database, schema, name.to_owned(), also];
        if !node.names.contains(&named) {
            node.names.push(named);
        }
        node.places.extend(places(value, name));
        node
    }

    fn declare(&mut self, column: &str, sentence: &str) {
        let known = self.columns.iter_mut();
        let mut known = known.filter(|it| it.name.eq_ignore_ascii_case(column));
        if let Some(known) = known.next() {
            known.declare(sentence);
            return;
        }
        if self.columns.len() >= MOST_COLUMNS {
            return;
        }
        let mut new = Column::new(column, "");
        new.declare(sentence);
        self.columns.push(new);
    }
}

/// Where people say that a node's table lies: dbt-duckdb's `external_location` and `location`,
/// dbt-spark's `location_root`, dbt-athena's `external_location` and `s3_data_dir`,
/// dbt-external-tables' `external.location`.
fn places(value: &Value, name: &str) -> Vec<String> {
    let config = member(value, "config");
    let of_config = |name: &str| config.and_then(|it| member(it, name));
    let mut places = Vec::new();
    let things = [
        config,
        of_config("meta"),
        of_config("external"),
        member(value, "meta"),
        member(value, "external"),
        member(value, "source_meta"),
    ];
    for thing in things.into_iter().flatten() {
        let place = first(thing, &["external_location", "location"]);
        let root = first(thing, &["location_root", "s3_data_dir"]);
        let root = root.map(|root| format!("{}/{name}", root.trim_end_matches('/')));
        for place in place.map(str::to_owned).into_iter().chain(root) {
            let own = |key: &str| first(value, &[key]).unwrap_or_default();
            let place = ["name", "identifier", "schema", "database"]
                .iter()
                .fold(place, |place, key| {
                    place.replace(&format!("{{{key}}}"), own(key))
                });
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

fn column_of(name: &str, column: &Value) -> Column {
    let data_type = first(column, &["data_type"]).unwrap_or_default();
    let description = first(column, &["description"]).unwrap_or_default();
    let mut described = Column {
        data_type: data_type.to_owned(),
        ..Column::new(first(column, &["name"]).unwrap_or(name), description)
    };
    for constraint in all(column, "constraints") {
        match first(constraint, &["type"]) {
            Some("not_null") => described.declare("Never empty."),
            Some("unique") => described.declare("Unique."),
            _ => {}
        }
    }
    described
}

/// Keys that a node's constraints, and those of its columns, declare.
fn keys_of(value: &Value) -> Keys {
    let mut keys = Keys {
        primary: texts(value, "primary_key"),
        ..Keys::default()
    };
    let mut constrained = Vec::new();
    for constraint in all(value, "constraints") {
        constrained.push((texts(constraint, "columns"), constraint));
    }
    let columns = member(value, "columns").and_then(Value::as_object);
    for (name, column) in columns.into_iter().flatten() {
        let constraints = all(column, "constraints").iter();
        constrained.extend(constraints.map(|it| (vec![name.clone()], it)));
    }
    for (columns, constraint) in constrained {
        match first(constraint, &["type"]) {
            Some("primary_key") if keys.primary.is_empty() => keys.primary = columns,
            Some("unique") if columns.len() > 1 => keys.unique.push(columns),
            Some("foreign_key") => {
                let to = first(constraint, &["to"]).map(|to| match quoted(to) {
                    Some(name) => name,
                    None => Name::of(to).name,
                });
                if let Some(table) = to.filter(|it| !it.is_empty()) {
                    keys.references.push(Reference {
                        columns,
                        table: table.to_owned(),
                        to: texts(constraint, "to_columns"),
                    });
                }
            }
            _ => {}
        }
    }
    keys
}

fn depends_on(value: &Value) -> Vec<String> {
    let nodes = member(value, "depends_on").map_or_else(Vec::new, |it| texts(it, "nodes"));
    nodes.into_iter().take(MOST_PARENTS).collect()
}

/// The last of the names in quotes: `ref('orders')`, `source('shop', 'orders')`.
fn quoted(text: &str) -> Option<&str> {
    let quotes = ['\'', '"'];
    let end = text.rfind(quotes)?;
    let (before, _) = text.split_at(end);
    let start = before.rfind(quotes)?;
    before.get(start + 1..)
}

impl Test {
    /// One of dbt's own tests, or the like of it in `dbt_utils`; others declare nothing that has a
    /// common meaning.
    fn of(id: &str, value: &Value) -> Option<Test> {
        let test = member(value, "test_metadata")?;
        let kwargs = member(test, "kwargs")?;
        let text = |name: &str| first(kwargs, &[name]).unwrap_or_default().to_owned();
        let what = match first(test, &["name"])? {
            "unique" => Declared::Unique,
            "unique_combination_of_columns" => {
                Declared::UniqueTogether(texts(kwargs, "combination_of_columns"))
            }
            "not_null" => Declared::NeverEmpty,
            "accepted_values" => Declared::OneOf(texts(kwargs, "values")),
            "relationships" => Declared::RefersTo {
                table: prefix(quoted(&text("to"))?, 200).to_owned(),
                field: text("field"),
            },
            _ => return None,
        };
        let column = first(kwargs, &["column_name"]).or_else(|| first(value, &["column_name"]));
        let column = column.unwrap_or_default().trim_matches(['"', '`']);
        // Older manifests name the node by what the test depends on alone.
        let node = first(value, &["attached_node"]).map(str::to_owned);
        let node = node.or_else(|| {
            let model = text("model");
            let end = format!(".{}", quoted(&model)?);
            depends_on(value).into_iter().find(|it| it.ends_with(&end))
        });
        Some(Test {
            id: id.to_owned(),
            node: node?,
            column: column.to_owned(),
            what,
        })
    }
}

/// What people see of a node's rows: a dashboard, a notebook. Its owner's address is nobody's
/// business here.
fn exposure(value: &Value) -> Exposure {
    let name = first(value, &["label", "name"]).unwrap_or_default();
    let kind = first(value, &["type"]).unwrap_or("exposure");
    let description = first(value, &["description"]).map(|it| prefix(it, EXPOSURE_CHARS));
    let said = match description {
        Some(description) => format!("Used in the {kind} {name}: {description}"),
        None => format!("Used in the {kind} {name}."),
    };
    Exposure {
        said: line(&said),
        of: depends_on(value),
    }
}

#[cfg(test)]
mod tests;
