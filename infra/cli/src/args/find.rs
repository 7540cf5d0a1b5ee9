//! What finds and shows tables is given.

use std::path::PathBuf;

use clap::ValueEnum;

use super::values::{ValueError, positive, share};
use super::{EncoderPlace, IndexPlace, JsonOutput, MORE, ModelOptions};

#[derive(Debug, clap::Args)]
pub struct Under {
    /// Only tables whose name is this path or lies below it.
    #[arg(long, value_name = "PATH")]
    pub prefix: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct SearchOptions {
    /// Weight of words against meaning: 1 is words only, 0 meaning only.
    #[arg(help_heading = MORE, long, default_value_t = 0.5, value_name = "0..1", value_parser = share::<f32>)]
    pub alpha: f32,
    /// Candidates per wanted result from each retriever [default: 5, and 50 tables in all at least]
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = positive)]
    pub candidates: Option<usize>,
    #[command(flatten)]
    pub under: Under,
    #[command(flatten)]
    pub judging: JudgeOptions,
    /// Rank tables one by one: those that join the first, and have words that it lacks, do not come
    /// right behind it.
    #[arg(help_heading = MORE, long)]
    pub alone: bool,
    /// Retrieve as PNEUMA's plain hybrid does: blocks only, no cells, one field. For comparison.
    #[arg(help_heading = MORE, long)]
    pub plain: bool,
    /// What scores tables.
    #[arg(help_heading = MORE, long, value_enum, default_value_t = RankingArg::Learned, conflicts_with = "plain")]
    pub ranking: RankingArg,
}

#[derive(Debug, clap::Args)]
pub struct JudgeOptions {
    /// Whether a language model judges the candidates; tables it rejects come last.
    #[arg(long, value_enum, default_value_t = JudgeArg::Auto, env = "LIMN_JUDGE")]
    pub judge: JudgeArg,
    /// Candidates judged at most [default: 2 for each table wanted, and at least 10]
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = positive)]
    pub judge_depth: Option<usize>,
    /// Limits of the grades strong, weak and unlikely, as limn eval fits them [default: limn's own]
    #[arg(help_heading = MORE, long, value_name = "FILE.json", env = "LIMN_GRADES")]
    pub grades: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JudgeArg {
    /// Judge if --model is here and its calibration says that it helps (limn eval --calibrate).
    Auto,
    /// Judge with --model, fetched at first use.
    Llm,
    /// Do not judge.
    Off,
}

/// What scores tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RankingArg {
    /// The formula, and features with learned weights (names, contexts, words, meaning), the
    /// index's own where limn tune has kept some.
    Learned,
    /// The formula alone.
    Formula,
}

/// How many tables are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCount {
    Given(usize),
    /// As many as are worth it: of sets.
    Auto,
}

fn table_count(text: &str) -> Result<TableCount, ValueError> {
    match text.trim() {
        "auto" => Ok(TableCount::Auto),
        text => positive(text).map(TableCount::Given),
    }
}

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The question, in plain words.
    #[arg(required = true, value_name = "QUESTION")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// How many tables to return, or with --join `auto`: as many as are worth it [default: 5; with
    /// --join auto]
    #[arg(short, value_name = "K", value_parser = table_count)]
    pub k: Option<TableCount>,
    /// Show what each score is the sum of: the formula's words and meaning, and features with their
    /// weights.
    #[arg(help_heading = MORE, long)]
    pub why: bool,
    /// Return the tables that answer the question together, and how they join.
    #[arg(long)]
    pub join: bool,
    /// With --join: what takes the question apart.
    #[arg(help_heading = MORE, long, value_enum, default_value_t = PartsArg::Rules, requires = "join")]
    pub parts: PartsArg,
    #[command(flatten)]
    pub options: SearchOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    #[command(flatten, next_help_heading = MORE)]
    pub output: JsonOutput,
}

/// What takes a question apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartsArg {
    /// Rules: the words that say something, and what they are said of.
    Rules,
    /// --model: one prompt for each question.
    Llm,
}

#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Questions with their tables, one JSON object a line; those with a `kind` are also measured
    /// by kind.
    #[arg(long, value_name = "FILE.jsonl")]
    pub questions: PathBuf,
    /// The cut-offs to measure, with --join also `auto` [default: 1,5,10; with --join 2,5,10,auto]
    #[arg(short, value_delimiter = ',', value_name = "K,…", value_parser = table_count)]
    pub k: Vec<TableCount>,
    /// Measure sets of tables that join: precision, recall, F1 and full.
    #[arg(long, conflicts_with_all = ["save", "against", "calibrate", "vectors_given"])]
    pub join: bool,
    /// With --join: the parts of the questions, one JSON object a line (question, parts), instead
    /// of limn's own reading.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl", requires = "join")]
    pub decompositions: Option<PathBuf>,
    /// With --join: what takes the questions apart that have no given parts.
    #[arg(help_heading = MORE, long, value_enum, default_value_t = PartsArg::Rules, requires = "join")]
    pub parts: PartsArg,
    #[command(flatten)]
    pub options: SearchOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    /// Fit the threshold at which --model judges on these questions, and keep it with what it is
    /// worth.
    #[arg(help_heading = MORE, long, conflicts_with_all = ["save", "against"])]
    pub calibrate: bool,
    /// With --calibrate: replace a record that was made on more questions.
    #[arg(help_heading = MORE, long, requires = "calibrate")]
    pub replace: bool,
    /// Keep what each question found, one JSON object a line.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl")]
    pub save: Option<PathBuf>,
    /// Compare with a run that was saved over the same questions: differences with 95 % intervals.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl")]
    pub against: Option<PathBuf>,
    /// Explain why tables are not found: which words they have, in which field, and their places by
    /// words and by meaning, without a judge.
    #[arg(help_heading = MORE, long, conflicts_with_all = ["join", "calibrate", "plain"])]
    pub explain: bool,
    /// Keep the candidates of each question with their features, one JSON object a line: what
    /// weights are learned from.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl", conflicts_with_all = ["join", "calibrate", "plain"])]
    pub features: Option<PathBuf>,
    /// Questions answered at once [default: the cores; with a judge, as many as keep it busy].
    #[arg(help_heading = MORE, long, value_name = "N")]
    pub threads: Option<usize>,
    /// Compute the question vectors before the clock starts: measures retrieval alone.
    #[arg(help_heading = MORE, long)]
    pub vectors_given: bool,
    /// Use only the first N questions.
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub limit: Option<usize>,
    #[command(flatten, next_help_heading = MORE)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct TablesArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub under: Under,
    /// Only tables of the folder of this one with the same columns, and itself.
    #[arg(long, value_name = "TABLE")]
    pub like: Option<String>,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The table's name, as `limn tables` prints it.
    pub table: String,
    /// Explain why it is a table, and why its files are read as they are.
    #[arg(long)]
    pub why: bool,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct JoinsArgs {
    /// The table's name, as `limn tables` prints it.
    pub table: String,
    /// Find the way of joins to this table instead, of 4 at most.
    #[arg(long, value_name = "TABLE", conflicts_with = "kind")]
    pub with: Option<String>,
    /// List only what is of this kind.
    #[arg(long, value_parser = ["join", "copy", "subset", "union"])]
    pub kind: Option<String>,
    #[command(flatten)]
    pub under: Under,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub output: JsonOutput,
}
