//! Flags of `limn bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::lake::size;
use super::values::number_of_questions;
use super::{AccessArgs, IndexPlace, JsonOutput, MORE, ModelOptions, Under, duration};

#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Draw statements over the tables of an index, execute them, and put them in English.
    #[command(after_help = "\
A question comes from a statement that was drawn at random and has an answer; its tables are all those on which \
the statement was executed and has one. The file is for limn eval. A run that was interrupted goes on with the \
same command. Columns that are withheld or hold personal data are never used.

Examples:
  limn bench make --index lake.limn -n 500 --out questions.jsonl
  limn eval --index lake.limn --questions questions.jsonl")]
    Make(Box<MakeBenchArgs>),
}

#[derive(Debug, clap::Args)]
pub struct MakeBenchArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// How many questions to make.
    #[arg(short, value_name = "N", default_value_t = 500, value_parser = number_of_questions)]
    pub n: usize,
    /// What the draws begin with: the same seed makes the same questions of a snapshot.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// What puts statements in English.
    #[arg(long, value_enum, default_value_t = BenchMode::Template)]
    pub mode: BenchMode,
    /// Which kinds of questions: about rows, about what the index has recorded of tables (where it
    /// has nothing, the model invents it), or half of each; templates make content questions only
    /// [default: content; with --mode model both]
    #[arg(help_heading = MORE, long, value_enum)]
    pub kinds: Option<BenchKinds>,
    /// Write the questions to a file, and go on with what it has of them [default: standard
    /// output]
    #[arg(long, value_name = "FILE.jsonl")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub under: Under,
    /// Visits to tables at most, ten statements each [default: as many as questions, at least 100]
    #[arg(help_heading = MORE, long, value_name = "N")]
    pub max_tables: Option<usize>,
    /// How long the run may take.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub max_time: Duration,
    #[command(flatten)]
    pub json: JsonOutput,
    /// How long a statement may take.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Memory for a statement; what does not fit goes to temporary files, ten times as much at
    /// most.
    #[arg(help_heading = MORE, long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory: u64,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    #[command(flatten, next_help_heading = "The lake's store")]
    pub access: AccessArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchMode {
    /// Templates, without a model: easier questions than people's.
    Template,
    /// A language model (--model), whose questions are checked.
    Model,
}

impl From<BenchMode> for limn_bench::Mode {
    fn from(mode: BenchMode) -> Self {
        match mode {
            BenchMode::Template => Self::Template,
            BenchMode::Model => Self::Model,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchKinds {
    /// Questions that rows of tables answer.
    Content,
    /// Questions that a table's context answers.
    Context,
    /// Half of each.
    Both,
}

impl From<BenchKinds> for limn_bench::Kinds {
    fn from(kinds: BenchKinds) -> Self {
        match kinds {
            BenchKinds::Content => Self::Content,
            BenchKinds::Context => Self::Context,
            BenchKinds::Both => Self::Both,
        }
    }
}
