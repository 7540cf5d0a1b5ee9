//! OpenLineage: events of runs, jobs and datasets
//! (<https://openlineage.io/spec/2-0-2/OpenLineage.json>), one or many in a file.
//!
//! A dataset is a name within a namespace: of files the namespace is a store and the name a path,
//! of databases the name is `database.schema.table`. What the facets of all events say of a dataset
//! makes its part: `documentation`, the descriptions of `schema`, `columnLineage`, other names
//! (`symlinks`), and the jobs that read and write it. The last event that says anything holds.

use std::collections::BTreeMap;

use limn_profile::text::prefix;
use serde_json::Value;

use super::Parts;
use super::manifests::{MOST_SAID, all, first, member};
use super::relations::Name;
use super::said::{self, Column, Keys, MOST_COLUMNS, flat, listed};
use super::sparse::{self, TooMuch};

/// Datasets of one file; with more it is refused.
const MOST_DATASETS: usize = 50_000;
/// Jobs of a dataset, and datasets that it is made of, that are named.
const MOST_NAMED: usize = 10;
/// Characters of a job's description.
const JOB_CHARS: usize = 300;
/// What of an event says nothing about tables.
const LEFT_OUT: [&str; 6] = [
    "run",
    "sql",
    "sourceCode",
    "inputFacets",
    "outputFacets",
    "spark.logicalPlan",
];

/// The parts of a file of events.
pub(super) fn events(text: &[u8], parts: &mut Parts) -> Result<(), serde_json::Error> {
    let mut datasets: BTreeMap<(String, String), Dataset> = BTreeMap::new();
    sparse::objects(text, &LEFT_OUT, &mut |event| {
        let (inputs, outputs) = (all(&event, "inputs"), all(&event, "outputs"));
        let job = member(&event, "job");
        for (one, is_output) in inputs
            .iter()
            .map(|it| (it, false))
            .chain(outputs.iter().map(|it| (it, true)))
            .chain(member(&event, "dataset").map(|it| (it, false)))
        {
            let id = |name: &str| first(one, &[name]).unwrap_or_default().to_owned();
            let (namespace, name) = (id("namespace"), id("name"));
            if name.is_empty() {
                continue;
            }
            let dataset = datasets.entry((namespace, name)).or_default();
            dataset.read(one);
            dataset.run(job, is_output, inputs);
        }
        match datasets.len() > MOST_DATASETS {
            true => Err(TooMuch::Datasets(MOST_DATASETS)),
            false => Ok(()),
        }
    })?;
    for ((namespace, name), dataset) in datasets {
        dataset.write(&namespace, &name, parts);
    }
    Ok(())
}

/// What is said of a dataset.
#[derive(Default)]
struct Dataset {
    said: String,
    columns: Vec<Column>,
    /// What each column is made of.
    sources: BTreeMap<String, Vec<String>>,
    written: Vec<String>,
    read: Vec<String>,
    made_of: Vec<String>,
    /// Namespaces and names that it has besides.
    symlinks: Vec<(String, String)>,
}

impl Dataset {
    fn read(&mut self, dataset: &Value) {
        let Some(facets) = member(dataset, "facets") else {
            return;
        };
        let documentation = member(facets, "documentation");
        if let Some(said) = documentation.and_then(|it| first(it, &["description"])) {
            self.said = flat(said, MOST_SAID) + "\n";
        }
        let fields = member(facets, "schema").map_or(&[][..], |schema| all(schema, "fields"));
        let columns = fields.iter().filter_map(column_of).take(MOST_COLUMNS);
        let columns: Vec<Column> = columns.collect();
        if !columns.is_empty() {
            self.columns = columns;
        }
        for link in member(facets, "symlinks").map_or(&[][..], |it| all(it, "identifiers")) {
            let of = |name: &str| first(link, &[name]).unwrap_or_default().to_owned();
            let link = (of("namespace"), of("name"));
            if !link.1.is_empty() && self.symlinks.len() < MOST_NAMED {
                add(&mut self.symlinks, link);
            }
        }
        let lineage = member(facets, "columnLineage").and_then(|it| member(it, "fields"));
        for (column, lineage) in lineage.and_then(Value::as_object).into_iter().flatten() {
            let sources = all(lineage, "inputFields").iter().filter_map(|input| {
                let field = first(input, &["field"])?;
                Some(format!("{}.{field}", label(first(input, &["name"])?)))
            });
            let sources: Vec<String> = sources.take(MOST_NAMED).collect();
            if !sources.is_empty() && self.sources.len() < MOST_COLUMNS {
                self.sources.insert(column.clone(), sources);
            }
        }
    }

    fn run(&mut self, job: Option<&Value>, is_output: bool, inputs: &[Value]) {
        if is_output {
            let names = inputs.iter().filter_map(|it| first(it, &["name"]));
            for name in names.take(MOST_NAMED) {
                add(&mut self.made_of, label(name).to_owned());
            }
        }
        let Some(name) = job.and_then(|job| first(job, &["name"])) else {
            return;
        };
        let said = job
            .and_then(|job| member(job, "facets"))
            .and_then(|facets| member(facets, "documentation"))
            .and_then(|it| first(it, &["description"]))
            .filter(|_| is_output);
        let job = match said {
            Some(said) => format!("{name} ({})", prefix(said, JOB_CHARS)),
            None => name.to_owned(),
        };
        let jobs = match is_output {
            true => &mut self.written,
            false => &mut self.read,
        };
        if jobs.len() < MOST_NAMED {
            add(jobs, job);
        }
    }

    fn write(mut self, namespace: &str, name: &str, parts: &mut Parts) {
        for (column, sources) in &self.sources {
            let made = format!("Made of {}.", listed(sources));
            match self.columns.iter_mut().find(|it| it.name == *column) {
                Some(known) => known.declare(&made),
                None => {
                    let mut new = Column::new(column, "");
                    new.declare(&made);
                    self.columns.push(new);
                }
            }
        }
        let mut text = self.said;
        for (what, names) in [
            ("Made of", &self.made_of),
            ("Written by", &self.written),
            ("Read by", &self.read),
        ] {
            if !names.is_empty() {
                let names: Vec<String> = names.iter().map(|it| flat(it, 2 * JOB_CHARS)).collect();
                text.push_str(&format!("{what}: {}.\n", names.join(", ")));
            }
        }
        text.push_str(&said::lines(self.columns, &Keys::default()));
        if text.is_empty() {
            return;
        }
        let part = parts.add(text, None);
        let own = (namespace.to_owned(), name.to_owned());
        for (namespace, name) in std::iter::once(&own).chain(&self.symlinks) {
            if is_place(namespace, name) {
                let separator = match name.starts_with('/') || namespace.ends_with('/') {
                    true => "",
                    false => "/",
                };
                parts
                    .relations
                    .is_at(part, &format!("{namespace}{separator}{name}"));
            } else {
                parts.relations.is_called(part, Name::of(name));
            }
        }
    }
}

/// Adds what is not there yet.
fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// Whether a name is a path: of files, and of stores of objects.
fn is_place(namespace: &str, name: &str) -> bool {
    const STORES: [&str; 12] = [
        "s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "dbfs", "file",
    ];
    let scheme = namespace.split(':').next().unwrap_or_default();
    STORES.contains(&scheme) || name.contains('/')
}

/// What people call a dataset: the end of its name.
fn label(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    let last = name.rsplit('/').next().unwrap_or(name);
    match name.contains('/') {
        true => crate::place::without_extension(last),
        false => Name::of(last).name,
    }
}

fn column_of(field: &Value) -> Option<Column> {
    let data_type = first(field, &["type"]).unwrap_or_default();
    Some(Column {
        data_type: data_type.to_owned(),
        ..Column::new(
            first(field, &["name"])?,
            first(field, &["description"]).unwrap_or_default(),
        )
    })
}

#[cfg(test)]
mod tests;
