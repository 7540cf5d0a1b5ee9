//! Relations: tables as a database or an engine names them, and which table of a lake is meant.
//!
//! What dbt and OpenLineage describe has a name within a schema, and often a place. The path of a
//! lake's table says which one it is, and nothing else does: what lies elsewhere in the lake does
//! not count, so that a part of a lake is described like the whole.
//!
//! 1. A relation whose place ends with the table's path, or with which that ends, is meant.
//! 2. Else, of those called like the table, those of the schema that the nearest of its folders is
//!    called like.
//! 3. Where no folder is called like a schema, the name is enough if it is that of one relation.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::place::without_extension;

/// Relations that are looked at of those that have a name, or a place, in common.
const MOST_ALIKE: usize = 64;

/// A table as others name it, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Relation {
    database: String,
    schema: String,
    part: usize,
}

/// A place, as a path or URL says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// Its steps, the last one without extension.
    steps: Vec<String>,
    /// Whether a table may lie in it, rather than be at it.
    is_folder: bool,
    /// Whether it begins with nothing that is known.
    is_relative: bool,
    part: usize,
}

/// Relations by their names and places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Relations {
    by_name: HashMap<String, Vec<Relation>>,
    /// By schema and name, with a line end between them.
    by_schema: HashMap<String, Vec<Relation>>,
    /// By the last step, and by the last two.
    by_place: HashMap<String, Vec<Place>>,
    schemas: HashSet<String>,
}

/// The name of a relation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Name<'a> {
    /// The database, if it is known.
    pub database: &'a str,
    /// The schema, if it is known.
    pub schema: &'a str,
    /// What else the schema is called, if anything.
    pub also: &'a str,
    /// The name itself.
    pub name: &'a str,
}

impl<'a> Name<'a> {
    /// A name with points: `database.schema.name`, the parts perhaps quoted.
    pub(super) fn of(whole: &'a str) -> Self {
        let bare = |it: &'a str| it.trim().trim_matches(['"', '`', '\'', '[', ']']);
        let mut parts = whole.rsplit('.').map(bare);
        Name {
            name: parts.next().unwrap_or_default(),
            schema: parts.next().unwrap_or_default(),
            database: parts.next().unwrap_or_default(),
            also: "",
        }
    }
}

impl Relations {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.by_place.is_empty()
    }

    /// Bytes that it holds, about.
    pub(super) fn held(&self) -> usize {
        let names = self.by_name.iter().chain(&self.by_schema);
        let names = names.map(|(name, all)| name.len() + 100 * all.len());
        let places = self.by_place.iter();
        let places = places.map(|(key, all)| key.len() + 300 * all.len());
        names.sum::<usize>() + places.sum::<usize>()
    }

    /// Says that a part is about the relation of a name.
    pub(super) fn is_called(&mut self, part: usize, name: Name<'_>) {
        let lower = |text: &str| text.trim().to_lowercase();
        let known = lower(name.name);
        if known.is_empty() {
            return;
        }
        let relation = Relation {
            database: lower(name.database),
            schema: lower(name.schema),
            part,
        };
        for schema in [&relation.schema, &lower(name.also)] {
            if !schema.is_empty() {
                self.schemas.insert(schema.clone());
                add(&mut self.by_schema, format!("{schema}\n{known}"), &relation);
            }
        }
        add(&mut self.by_name, known, &relation);
    }

    /// Says that a part is about what is at a path or URL, or in the folder that it begins with.
    pub(super) fn is_at(&mut self, part: usize, place: &str) {
        let Some(place) = Place::of(place, part) else {
            return;
        };
        for key in keys(&place.steps) {
            add(&mut self.by_place, key, &place);
        }
    }

    /// The parts about the table at a path of the lake.
    pub(super) fn about(&self, path: &str) -> Vec<usize> {
        let steps = steps_of(path);
        match self.at(&steps) {
            found if found.is_empty() => self.called(&steps),
            found => found,
        }
    }

    fn at(&self, steps: &[String]) -> Vec<usize> {
        let folder = steps
            .len()
            .checked_sub(1)
            .map_or(&[][..], |end| &steps[..end]);
        let fits = |steps: &[String], is_in: bool| -> Vec<(usize, usize)> {
            let places = keys(steps)
                .into_iter()
                .filter_map(|key| self.by_place.get(&key));
            let places = places.flatten().filter(|place| !is_in || place.is_folder);
            let fits = places.filter_map(|place| Some((place.fits(steps)?, place.part)));
            fits.collect()
        };
        let mut found = fits(steps, false);
        if found.is_empty() {
            found = fits(folder, true);
        }
        let most = found.iter().map(|(steps, _)| *steps).max();
        let nearest = found.into_iter().filter(|(steps, _)| Some(*steps) == most);
        let mut parts: Vec<usize> = nearest.map(|(_, part)| part).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    fn called(&self, steps: &[String]) -> Vec<usize> {
        let Some((name, folders)) = steps.split_last() else {
            return Vec::new();
        };
        // A database of one file may be called like the file.
        let folders: Vec<&str> = folders.iter().map(|it| without_extension(it)).collect();
        let schema = folders.iter().rev().find(|it| self.schemas.contains(**it));
        let alike = match schema {
            Some(schema) => self.by_schema.get(&format!("{schema}\n{name}")),
            None => self.by_name.get(name),
        };
        let alike = alike.map_or(&[][..], Vec::as_slice);
        let is_near = |it: &&Relation| folders.contains(&it.database.as_str());
        let mut found: Vec<&Relation> = alike.iter().filter(is_near).collect();
        if found.is_empty() {
            found.extend(alike);
        }
        let is_one = found
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a.database == b.database && a.schema == b.schema));
        match is_one {
            true => found.iter().map(|it| it.part).collect(),
            false => Vec::new(),
        }
    }
}

fn add<T: Clone + PartialEq>(all: &mut HashMap<String, Vec<T>>, key: String, one: &T) {
    let alike = all.entry(key).or_default();
    if alike.len() < MOST_ALIKE && !alike.contains(one) {
        alike.push(one.clone());
    }
}

impl Place {
    fn of(text: &str, part: usize) -> Option<Place> {
        let text = text.trim();
        let (is_url, path) = match text.split_once("://") {
            Some((_, path)) => (true, path.split(['?', '#']).next().unwrap_or(path)),
            None => (false, text),
        };
        if path.contains(['{', '}', '(', ')']) {
            return None;
        }
        // Of a pattern the folder that it begins with.
        let (path, is_pattern) = match path.find(['*', '?', '[']) {
            Some(at) => (
                path[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
                true,
            ),
            None => (path, false),
        };
        let is_folder = is_pattern || path.ends_with('/');
        let steps = steps_of(path);
        (!steps.is_empty()).then(|| Place {
            steps,
            is_folder,
            is_relative: !is_url && !path.starts_with('/'),
            part,
        })
    }

    /// How many steps it shares with the path of a table at which it may be.
    fn fits(&self, path: &[String]) -> Option<usize> {
        let shared = self.steps.iter().rev().zip(path.iter().rev());
        let shared = shared.take_while(|(a, b)| a == b).count();
        let is_whole = shared == path.len() || self.is_relative && shared == self.steps.len();
        (shared > 0 && is_whole).then_some(shared)
    }
}

/// The steps of a path, the last one without extension.
fn steps_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches('/');
    let steps = without_extension(path).split('/');
    let steps = steps.filter(|it| !matches!(*it, "" | "." | ".."));
    steps.map(str::to_lowercase).collect()
}

fn keys(steps: &[String]) -> Vec<String> {
    let last = steps.last().cloned();
    let two = steps.len().checked_sub(2).map(|at| steps[at..].join("/"));
    two.into_iter().chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relations() -> Relations {
        let mut relations = Relations::default();
        for (part, name) in [
            "shop.raw.orders",
            "shop.marts.orders",
            "shop.marts.people",
            "shop.raw.people",
            "\"shop\".\"marts\".\"Visits\"",
            "a.x.twice",
            "a.y.twice",
        ]
        .into_iter()
        .enumerate()
        {
            relations.is_called(part, Name::of(name));
        }
        // Its schema has another name in the project.
        let visits = Name::of("shop.marts.visits");
        let also = "web";
        relations.is_called(4, Name { also, ..visits });
        relations
    }

    #[test]
    fn a_table_is_of_the_schema_that_its_nearest_folder_is_called_like() {
        let relations = relations();
        for (path, parts) in [
            ("raw/orders.csv", &[0][..]),
            ("lake/MARTS/Orders.parquet", &[1]),
            ("raw/marts/orders", &[1]),
            ("marts/old/orders/", &[1]),
            ("marts.db//people", &[2]),
            // A folder of another schema.
            ("x/visits.csv", &[]),
            ("web/visits.csv", &[4]),
            ("any/visits.csv", &[4]),
            ("raw/visits.csv", &[]),
            // No folder shows which of two is meant.
            ("orders.csv", &[]),
            ("twice.csv", &[]),
            ("y/twice.csv", &[6]),
            ("raw/none.csv", &[]),
            ("", &[]),
        ] {
            assert_eq!(relations.about(path), parts, "{path}");
        }
    }

    #[test]
    fn places_come_before_names() {
        let mut relations = relations();
        relations.is_at(1, "s3://bucket/lake/exports/o.parquet");
        relations.is_at(2, "../folk/*.parquet");
        relations.is_at(3, "/mnt/lake/raw/people/");
        relations.is_at(0, "s3://bucket/{name}.parquet");
        relations.is_at(0, "read_csv('x.csv')");
        for (path, parts) in [
            ("exports/o.parquet", &[1][..]),
            ("exports/o", &[1]),
            ("lake/exports/o.parquet", &[1]),
            ("other/exports/o.parquet", &[]),
            ("o.parquet", &[1]),
            ("folk/1.parquet", &[2]),
            ("people/1.parquet", &[3]),
            ("deep/folk", &[2]),
            ("lake/raw/people", &[3]),
            ("raw/people/part-1.csv", &[3]),
        ] {
            assert_eq!(relations.about(path), parts, "{path}");
        }
    }

    #[test]
    fn a_name_of_many_costs_little() {
        let mut relations = Relations::default();
        for part in 0..10_000 {
            let name = format!("s{part}.orders");
            relations.is_called(part, Name::of(&name));
            relations.is_at(part, "s3://b/x/data.parquet");
        }
        assert_eq!(relations.by_name["orders"].len(), MOST_ALIKE);
        assert_eq!(relations.by_place["data"].len(), MOST_ALIKE);
        assert_eq!(relations.about("s9876/orders.csv"), [9876]);
    }
}
