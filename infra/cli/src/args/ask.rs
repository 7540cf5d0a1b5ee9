//! `limn ask`.

use std::path::PathBuf;
use std::time::Duration;

use super::lake::size;
use super::{
    AccessArgs, EncoderPlace, IndexPlace, JsonOutput, MORE, ModelOptions, Under, duration,
};

#[derive(Debug, clap::Args)]
pub struct AskArgs {
    /// The question, in plain words.
    #[arg(required_unless_present_any = ["plan", "sql"], value_name = "QUESTION")]
    pub question: Vec<String>,
    /// Answer from these tables, as `limn tables` prints them [default: those that answer the
    /// question together]
    #[arg(long, group = "of_lake", visible_alias = "table", value_name = "TABLE", num_args = 1..)]
    pub tables: Vec<String>,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Print the plan and what it will cost, and do not run it.
    #[arg(long)]
    pub plan_only: bool,
    /// Run this plan, your own or an edited one: a file of JSON, - for standard input.
    #[arg(long, value_name = "FILE", group = "of_lake", conflicts_with_all = ["tables", "prefix"])]
    pub plan: Option<PathBuf>,
    /// Answer by this statement, which names tables as `limn sql` does and may have sem_filter,
    /// sem_map, sem_topk, sem_agg and sem_fact.
    #[arg(
        long,
        value_name = "STATEMENT",
        group = "of_lake",
        conflicts_with = "prefix"
    )]
    pub sql: Option<String>,
    /// Show the stages of the plan with their first rows, times and tokens.
    #[arg(long)]
    pub explain: bool,
    /// Tokens of prompts and answers that running the plan may take; more is refused before a model
    /// is asked.
    #[arg(help_heading = "Budget", long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// How long all may take.
    #[arg(help_heading = "Budget", long, value_name = "TIME", default_value = "10min", value_parser = duration)]
    pub budget_seconds: Duration,
    /// Ask no language model: simple questions are answered by rules.
    #[arg(help_heading = "Language models", long, conflicts_with_all = ["model", "endpoint"])]
    pub no_model: bool,
    #[command(flatten)]
    pub json: JsonOutput,
    /// The lake of these tables, or of a plan's, where the index is of several.
    #[arg(help_heading = MORE, long, value_name = "URL", requires = "of_lake")]
    pub lake: Option<String>,
    #[command(flatten, next_help_heading = MORE)]
    pub under: Under,
    /// How long each statement may take.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub timeout: Duration,
    /// Memory for sorting, grouping and joining; what does not fit goes to temporary files, ten
    /// times as much at most.
    #[arg(help_heading = MORE, long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory: u64,
    /// Keep nothing in the index, neither counted values nor a model's answers, and use none.
    #[arg(help_heading = MORE, long)]
    pub no_keep: bool,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    #[command(flatten, next_help_heading = "The lake's store")]
    pub access: AccessArgs,
}
