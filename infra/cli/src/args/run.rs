//! What `limn index`, `update` and `watch` are given.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use limn_profile::Redact;

use super::values::{dimensions, duration, number_of_values, positive, share, silence};
use super::{AccessArgs, FilterArgs, IndexPlace, JsonOutput, MORE, ModelOptions, NOTIFICATIONS};

#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    /// The lake: a path or URL.
    ///
    /// Tables are read from delimited text, plain text that is clearly a table, JSON, Parquet,
    /// Arrow, Avro and ORC files, the sheets of spreadsheets, the tables of SQLite databases,
    /// compressed or inside zip and tar archives.
    #[arg(value_name = "LAKE", env = "LIMN_LAKE")]
    pub lake: String,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten, next_help_heading = "Several processes")]
    pub cluster: ClusterArgs,
}

/// Which process of which cluster this is.
#[derive(Clone, Debug, clap::Args)]
pub struct ClusterArgs {
    /// Where the processes are: a file with one HOST:PORT a line, in the order of their numbers, a
    /// list with commas, or a pattern such as limn-{}.limn:7101, where {} stands for the number.
    /// On several machines they need a --cluster-key.
    #[arg(long, value_name = "FILE|PATTERN|LIST", env = "LIMN_HOSTS")]
    pub hosts: Option<String>,
    /// How many processes there are. Without --hosts so many are started here and watched: if one
    /// is lost, all are started again, three times at most.
    #[arg(long, value_name = "N", env = "LIMN_PROCESSES", value_parser = positive)]
    pub processes: Option<usize>,
    /// The number of this process, from 0; 0 leads [default: JOB_COMPLETION_INDEX]
    #[arg(long, value_name = "I", env = "LIMN_PROCESS")]
    pub process: Option<usize>,
    /// How long a process may take to come at the start, or be silent later, before it is taken for
    /// lost.
    #[arg(long, value_name = "TIME", default_value = "60s", env = "LIMN_SILENCE", value_parser = silence)]
    pub silence: Duration,
    /// A file with at least 32 random bytes, the same for all processes and nobody else's to read:
    /// they prove to each other that they have it, and encrypt what they send.
    #[arg(
        long,
        value_name = "FILE",
        env = "LIMN_CLUSTER_KEY",
        conflicts_with = "cluster_plaintext"
    )]
    pub cluster_key: Option<PathBuf>,
    /// Take whoever reaches the ports of --hosts for a process of this run, and encrypt nothing,
    /// also between machines.
    #[arg(long)]
    pub cluster_plaintext: bool,
}

#[derive(Debug, clap::Args)]
pub struct UpdateArgs {
    /// The tables, by the names that limn tables lists or will list.
    #[arg(value_name = "TABLE", required = true)]
    pub tables: Vec<String>,
    /// The lake [default: as the index knows it].
    #[arg(long, value_name = "LAKE", env = "LIMN_LAKE")]
    pub lake: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// The lake: a path or URL.
    #[arg(value_name = "LAKE", env = "LIMN_LAKE")]
    pub lake: String,
    /// List the whole lake so often: 30m, 12h, 1d.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub every: Duration,
    /// Changes are gathered until none came for so long.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub quiet: Duration,
    /// URL of an SQS queue with the lake's S3 event notifications.
    #[arg(help_heading = NOTIFICATIONS, long, value_name = "URL", env = "LIMN_QUEUE")]
    pub queue: Option<String>,
    /// URL of an SQS queue for messages that cannot be understood.
    #[arg(help_heading = MORE, long, value_name = "URL", requires = "queue")]
    pub set_aside: Option<String>,
    /// How often a message that cannot be understood is looked at.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub tries: u32,
    /// Take events at POST /v1/events of this address. Other than loopback, LIMN_EVENTS_TOKEN is
    /// needed: senders give it as bearer token.
    #[arg(help_heading = NOTIFICATIONS, long, value_name = "ADDRESS", env = "LIMN_EVENTS_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Do not ask the file system for changes of a local lake.
    #[arg(help_heading = MORE, long)]
    pub no_file_events: bool,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What describes and publishes tables.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// Texts about tables, one JSON object a line: {"table": NAME, "context": TEXT}. They stay
    /// registered until removed.
    #[arg(long, value_name = "FILE.jsonl")]
    pub contexts: Vec<String>,
    /// Shards of a new index [default: 2].
    #[arg(help_heading = MORE, long, value_name = "N")]
    pub shards: Option<u32>,
    /// Dataflow workers [default: the cores, at most 4].
    #[arg(help_heading = MORE, long, value_name = "N", env = "LIMN_WORKERS", value_parser = positive)]
    pub workers: Option<usize>,
    /// Threads that embed [default: the cores].
    #[arg(help_heading = MORE, long, value_name = "N", env = "LIMN_EMBED_THREADS", value_parser = positive)]
    pub embed_threads: Option<usize>,
    /// Take a lake that lists nothing as it is, and remove its tables from the index.
    #[arg(help_heading = MORE, long)]
    pub allow_empty: bool,
    /// Leave small segments as they are; limn compact merges them.
    #[arg(help_heading = MORE, long)]
    pub no_compact: bool,
    /// How columns are put into words.
    #[arg(long, value_enum, default_value_t = NarrateArg::Auto, env = "LIMN_NARRATE")]
    pub narrate: NarrateArg,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    /// Which embedder makes the vectors: a name of `limn models list`, `endpoint`
    /// (docs/endpoint.md), or the folder of an encoder (docs/cli.md).
    #[arg(help_heading = MORE, long, value_name = "NAME", default_value = limn_models::ALL_MINILM, env = "LIMN_EMBEDDER")]
    pub embedder: String,
    /// Keep only the first numbers of an encoder's vectors, for models that were trained for it
    /// (Matryoshka) [default: as the folder's limn.json says, else all]
    #[arg(help_heading = MORE, long, value_name = "N", env = "LIMN_EMBEDDER_DIMENSIONS", value_parser = dimensions)]
    pub embedder_dimensions: Option<usize>,
    /// Draw a table's rows anew, and describe it anew, only when more than this share of its rows
    /// came or went since; 0 does so at every change. New columns are described at once either way.
    #[arg(help_heading = MORE, long, value_name = "0..1", default_value_t = 0.2, value_parser = share::<f64>, env = "LIMN_RESAMPLE_THRESHOLD")]
    pub resample_threshold: f64,
    /// Whose values are kept out of the index: of samples, profiles, texts, vectors and prompts
    /// [default: as the index remembers, at first nobody's].
    #[arg(help_heading = MORE, long, value_enum, env = "LIMN_REDACT")]
    pub redact: Option<RedactArg>,
    /// Find what joins, for limn joins, in lakes of up to N tables with ten columns each; 0 forgets
    /// it. It takes about 6 KB of memory a column.
    #[arg(help_heading = MORE, long, value_name = "N", env = "LIMN_JOIN_TABLES", default_value_t = 10_000)]
    pub join_tables: u64,
    /// Rows drawn from each table.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 5)]
    pub sample_rows: usize,
    /// Bytes read of one file for its column profiles; larger files are sampled.
    #[arg(help_heading = MORE, long, value_name = "BYTES", default_value_t = 16 << 20)]
    pub scan_budget: u64,
    /// Find a table by up to N values of each of its files, beyond those that it shows: names,
    /// codes and ids, 6 to 9 bytes of the index each; or off [default: as the index remembers, at
    /// first 1000000].
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = number_of_values, env = "LIMN_VALUES")]
    pub values: Option<u32>,
    /// Publish after this many files of tables that differ at most, so that tables become
    /// searchable while a run goes on; the first time after 1,024.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 16_384, value_parser = clap::value_parser!(u64).range(1..))]
    pub epoch_objects: u64,
    /// Report every failure, and exit with 1, also where an earlier run has reported the same ones.
    #[arg(help_heading = MORE, long)]
    pub strict: bool,
    #[command(flatten, next_help_heading = MORE)]
    pub output: JsonOutput,
    #[command(flatten, next_help_heading = "The lake's store")]
    pub access: AccessArgs,
    #[command(flatten, next_help_heading = "Filters")]
    pub filters: FilterArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NarrateArg {
    /// By a language model if an endpoint is named or the embedded model is here; else as the index
    /// has it, and by names in a new one.
    Auto,
    /// By a language model, which describes each column; fetched at first use.
    Llm,
    /// Column names split into words and expanded, with types, ranges and frequent values.
    Names,
    /// Column names as they are.
    Off,
}

/// Whose values are kept out of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RedactArg {
    /// Nobody's.
    Off,
    /// Those of columns whose name or values say that they hold e-mail addresses, telephone
    /// numbers, numbers of payment cards, bank accounts or persons, or secrets.
    Marked,
    /// Those of all columns: tables are found by names, descriptions and contexts only.
    AllValues,
}

impl From<RedactArg> for Redact {
    fn from(arg: RedactArg) -> Self {
        match arg {
            RedactArg::Off => Redact::Off,
            RedactArg::Marked => Redact::Marked,
            RedactArg::AllValues => Redact::AllValues,
        }
    }
}
