//! `limn sql`.

use std::path::PathBuf;
use std::time::Duration;

use super::lake::size;
use super::{AccessArgs, IndexPlace, JsonOutput, duration};

#[derive(Debug, clap::Args)]
pub struct SqlArgs {
    /// What is asked: one SELECT, DESCRIBE table, SHOW TABLES [LIKE 'orders%'] or EXPLAIN; - reads
    /// it from standard input.
    ///
    /// A table is called what `limn tables` prints: "crm/churn" in double quotes, crm.churn, or
    /// churn where no other table's name ends so. Columns may be written in any case. Nothing can
    /// be changed or written to the lake.
    #[arg(value_name = "STATEMENT")]
    pub statement: String,
    #[command(flatten)]
    pub index: IndexPlace,
    /// Only tables of this lake, where the index is of several.
    #[arg(long, value_name = "URL")]
    pub lake: Option<String>,
    /// Rows that are printed or written [default: 10000; all with --output]
    #[arg(long, value_name = "N")]
    pub max_rows: Option<u64>,
    /// How long the statement may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,
    /// Memory for sorting, grouping and joining; what does not fit goes to temporary files, ten
    /// times as much at most.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory: u64,
    /// Write the rows to a file: .csv, .json, .jsonl, .parquet or .arrow.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub json: JsonOutput,
    #[command(flatten, next_help_heading = "The lake's store")]
    pub access: AccessArgs,
}
