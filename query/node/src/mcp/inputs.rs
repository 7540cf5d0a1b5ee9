//! What tools are asked.

use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use crate::answers::SearchMode;

/// What `find_tables` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindInput {
    /// What the tables should hold, in plain words.
    pub question: String,
    /// `set`: the tables that answer it together, with the joins and a statement for `sql`;
    /// `tables`: tables that each answer it, one by one. If nothing is said, tables, and behind the
    /// first one those that it joins and needs.
    pub mode: Option<SearchMode>,
    /// How many tables: 1 to 1000, 5 if nothing is said. Of a set 1 to 20, as many as are worth it
    /// if nothing is said.
    pub k: Option<usize>,
    /// Only tables at this path or below it.
    pub prefix: Option<String>,
    /// Only tables of this format: arrow, avro, csv, dbf, delta, hudi, iceberg, jsonlines, orc,
    /// parquet, sheet, sqlite or text.
    pub format: Option<String>,
    /// Whether a language model judges the first tables, where the node has one. Takes seconds.
    pub judge: Option<bool>,
    /// Give all texts that matched, and the columns with their meanings.
    pub more: Option<bool>,
}

/// What `describe_table` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeInput {
    /// The table's name, as find_tables gives it.
    pub table: String,
    /// Its lake, where several lakes have a table of this name.
    pub lake: Option<String>,
    /// Only these columns.
    pub columns: Option<Vec<String>>,
    /// Give all columns, all frequent values, files, whole texts, and why it is a table and read
    /// so.
    pub more: Option<bool>,
}

/// What `sample_rows` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleInput {
    /// The table's name, as find_tables gives it.
    pub table: String,
    /// Its lake, where several lakes have a table of this name.
    pub lake: Option<String>,
    /// How many rows, 5 if nothing is said. The index keeps a few of each table.
    pub limit: Option<usize>,
}

/// What `table_joins` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinsInput {
    /// The table's name, as find_tables gives it.
    pub table: String,
    /// Its lake, where several lakes have a table of this name.
    pub lake: Option<String>,
    /// Another table of its lake: then the answer is the way of joins there.
    pub with: Option<String>,
    /// Only partners of this kind: join, copy, subset or union.
    pub kind: Option<String>,
    /// How many partners, 20 if nothing is said.
    pub limit: Option<usize>,
}

/// What `sql` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlInput {
    /// One statement, such as SELECT "town", avg("depth") FROM "lakes/depths" GROUP BY "town".
    /// Names of tables and columns go in double quotes, texts in single quotes.
    pub sql: String,
    /// Its tables' lake, where several lakes have tables of one name.
    pub lake: Option<String>,
    /// How many rows: 1 to 500, 50 if nothing is said.
    pub max_rows: Option<u64>,
}

/// What `find_cells` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsInput {
    /// What the statement is to answer, in plain words, with names and values as they were asked
    /// for.
    pub question: String,
    /// The tables, as find_tables gives them; the first 5 that it finds if nothing is said.
    pub tables: Option<Vec<String>>,
    /// Their lake, where several lakes have tables of these names.
    pub lake: Option<String>,
    /// `set`: of the tables that answer the question together, if none are named.
    pub mode: Option<SearchMode>,
    /// Only tables at this path or below it, if none are named.
    pub prefix: Option<String>,
    /// Columns for each part of the question, and cells for each run of its words: 1 to 50, 5 if
    /// nothing is said.
    pub k: Option<usize>,
}

/// What `ask` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskInput {
    /// The question in plain words. With a plan it may be left out.
    pub question: Option<String>,
    /// The tables to answer from, as find_tables gives them; those that answer the question
    /// together if nothing is said.
    pub tables: Option<Vec<String>>,
    /// Their lake, where several lakes have tables of these names.
    pub lake: Option<String>,
    /// Only tables at this path or below it, if none are named.
    pub prefix: Option<String>,
    /// A plan to run instead of a new one: that of an earlier answer, as it was or edited.
    pub plan: Option<serde_json::Map<String, Value>>,
    /// A statement to run instead, with tables as find_tables gives them: SQL that may have
    /// functions which ask a language model about rows: `WHERE sem_filter('{title} is about
    /// love')`,
    /// `sem_map('the language of {text}')`, `ORDER BY sem_topk('the sadder of {text}') LIMIT 3`.
    pub sql: Option<String>,
    /// Whether the plan is only made, not run.
    pub plan_only: Option<bool>,
    /// Tokens of prompts and answers that running the plan may take; the node's own limit if
    /// nothing is said.
    pub budget_tokens: Option<u64>,
    /// Rows of the answer, 1 to 100, 20 if nothing is said.
    pub max_rows: Option<usize>,
}

/// What `list_tables` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    /// Only tables at this path or below it.
    pub prefix: Option<String>,
    /// Only tables of this format: arrow, avro, csv, dbf, delta, hudi, iceberg, jsonlines, orc,
    /// parquet, sheet, sqlite or text.
    pub format: Option<String>,
    /// Where to go on: the next of the list before.
    pub after: Option<String>,
    /// How many: 1 to 1000, 50 if nothing is said.
    pub limit: Option<usize>,
}

/// What `lake_changes` is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangesInput {
    /// How long ago, such as 12h or 7d; 1d if nothing is said.
    pub since: Option<String>,
    /// Instead: an older snapshot's number.
    pub from: Option<u64>,
    /// The newer snapshot's number, the newest if nothing is said.
    pub to: Option<u64>,
    /// Only tables at this path or below it.
    pub prefix: Option<String>,
    /// How many tables of each kind, 20 if nothing is said.
    pub limit: Option<usize>,
}
