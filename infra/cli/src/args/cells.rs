//! `limn cells`.

use std::time::Duration;

use super::lake::size;
use super::values::number_of_cells;
use super::{AccessArgs, EncoderPlace, IndexPlace, JsonOutput, MORE, Under, duration};

#[derive(Debug, clap::Args)]
pub struct CellsArgs {
    /// The question, in plain words.
    #[arg(required = true, value_name = "QUESTION")]
    pub question: Vec<String>,
    /// A table to look at, as `limn tables` prints it; may be repeated [default: the first 5 that
    /// search finds]
    #[arg(long = "table", value_name = "TABLE", conflicts_with_all = ["join", "prefix"])]
    pub tables: Vec<String>,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Only tables of this lake, where the index is of several.
    #[arg(help_heading = MORE, long, value_name = "URL", requires = "tables")]
    pub lake: Option<String>,
    /// Look at the tables that answer the question together.
    #[arg(long)]
    pub join: bool,
    #[command(flatten)]
    pub under: Under,
    /// Columns for each part of the question, and cells for each run of its words.
    #[arg(short, value_name = "K", default_value_t = limn_cells::K, value_parser = number_of_cells)]
    pub k: usize,
    /// How long reading the tables may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,
    /// Memory for counting values; what does not fit goes to temporary files, ten times as much at
    /// most.
    #[arg(help_heading = MORE, long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory: u64,
    /// Keep no counted values in the index, and use none.
    #[arg(help_heading = MORE, long)]
    pub no_keep: bool,
    #[command(flatten)]
    pub json: JsonOutput,
    #[command(flatten, next_help_heading = "The lake's store")]
    pub access: AccessArgs,
}
