//! Flags of `limn tune`.

use std::path::PathBuf;

use super::values::positive;
use super::{EncoderPlace, IndexPlace, JsonOutput, MORE};

#[derive(Debug, clap::Args)]
#[group(id = "what", required = true, multiple = true, args = ["questions", "feedback", "show", "reset"])]
pub struct TuneArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Questions with their tables, one JSON object a line, as limn eval reads them.
    #[arg(long, value_name = "FILE.jsonl")]
    pub questions: Option<PathBuf>,
    /// What people said of tables that were found, as limn serve --feedback keeps it.
    #[arg(long, value_name = "FILE.jsonl")]
    pub feedback: Option<PathBuf>,
    /// Print the weights that the index is searched with.
    #[arg(long, conflicts_with_all = ["questions", "feedback", "reset", "splits", "seed", "dry_run"])]
    pub show: bool,
    /// Take the index's own weights out: limn's hold again.
    #[arg(long, conflicts_with_all = ["questions", "feedback", "splits", "seed", "dry_run"])]
    pub reset: bool,
    /// How often the questions are drawn into halves, of which each is judged by weights that were
    /// fitted on the other.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 5, value_parser = positive)]
    pub splits: usize,
    /// What the draws begin with.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Say what would be kept, and keep nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: JsonOutput,
}
