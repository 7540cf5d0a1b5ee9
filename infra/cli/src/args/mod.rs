//! What the command line says. Each flag is defined once, here; `docs/cli.md` is the contract.

mod context;
mod lake;
mod oidc;
mod serve;
mod sql;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use limn_models::{DeviceChoice, Prices};
use limn_profile::Redact;

pub use context::{
    AddContextArgs, ContextArgs, ContextCommand, ListContextsArgs, RemoveContextArgs,
};
pub use lake::{AccessArgs, FilterArgs};
pub use oidc::OidcArgs;
pub use serve::{
    AddKeyArgs, CacheArgs, KeysArgs, KeysCommand, ListKeysArgs, McpArgs, RemoveKeyArgs, ServeArgs,
    SqlLimits,
};
pub use sql::SqlArgs;

/// The heading of what few people need: above it are the options that most begin with.
const MORE: &str = "More options";
/// Heading of the options that say where changes are announced.
const NOTIFICATIONS: &str = "Change notifications";

/// Find the right table in a data lake by asking in plain words.
#[derive(Debug, Parser)]
#[command(
    name = "limn",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
First steps:
  limn index ./my-lake --index my-lake.limn
  limn search \"which customers left last year?\" --index my-lake.limn

A LAKE and an --index are a path or a URL: file://…, s3://bucket/prefix, gs://bucket/prefix, \
az://container/prefix. A LAKE may also be on the web: https://host/folder/ that lists its files, or \
https://host/file.csv. Credentials come from the environment, as the clouds' own tools have them: \
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL, AWS_ALLOW_HTTP; \
GOOGLE_APPLICATION_CREDENTIALS; AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY. \
The embedded models, and language models that narrate or judge: limn models list."
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say more on standard error; twice for details. LIMN_LOG takes filters.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Describe every table of a lake and publish a searchable index.
    #[command(after_help = "\
A second run over the same lake reads only what changed. Tables that cannot be read are listed and \
cost only themselves; the exit code is then 1.

Where a language model narrates, tables are searchable by their names at once, and in its words as it \
gets on. An interrupt (Ctrl-C) stops a run in good order: what is under way is published, what the \
model has said is kept, and the same command goes on.

Examples:
  limn index ./lake --index lake.limn
  limn index s3://bucket/lake --index s3://bucket/index --contexts contexts.jsonl --json
  limn index ./lake --index lake.limn --narrate llm
  limn index gs://public-data/weather --anonymous --index weather.limn --include '*.parquet'
  limn index https://data.example.org/files/ --index files.limn --exclude archive --max-size 2GiB
  limn index 'iceberg+https://catalog.example.org/api?warehouse=sales' --index s3://bucket/index

A lake that begins with iceberg+https:// is an Iceberg REST catalog: its tables by their names, wherever \
their files lie. LIMN_ICEBERG_TOKEN or LIMN_ICEBERG_CREDENTIAL, with LIMN_ICEBERG_HOST, sign in (docs/cli.md).

Filters hold until others are given: the next limn index, limn update and limn watch of the lake have \
them too. Tables of which files are left out go from the index, or are described without them.

Several processes can share the work of one run (docs/cli.md). Process 0 leads and reports; the same \
command runs on every machine, with its own --process. There is no authentication between processes: \
run them on a private network only.
  limn index ./lake --index lake.limn --processes 4
  limn index s3://bucket/lake --index s3://bucket/index --hosts hosts.txt --process 1
  limn index s3://bucket/lake --index s3://bucket/index --hosts 'limn-{}.limn:7101' --processes 8")]
    Index(IndexArgs),
    /// Bring some tables of an indexed lake up to date, and look at nothing else.
    #[command(after_help = "\
For schedulers that know which table they have just written. Of a lake in an object store only the \
folders of these tables are listed. Tables that are new are added, those that are gone are removed. The \
lake must have been indexed, with the same settings, by limn index.

Example:
  limn update sales/2024/orders sales/customers --index s3://bucket/index")]
    Update(UpdateArgs),
    /// Add what people know of tables to an index, list it, take it back.
    Context(Box<ContextArgs>),
    /// Keep an index up to date while its lake changes.
    #[command(after_help = "\
The whole lake is listed at the start and then every --every: that listing is the truth. In between, changes \
are announced by an SQS queue of S3 event notifications (--queue), by POST /v1/events (--listen; the shapes of S3 \
and of EventBridge), and by the file system for a local lake; an Iceberg catalog is only asked --every. An event only says where to look: events may \
come late, twice or in any order, and many of one table cost one reading of it.

A queue's messages are deleted when the changes they announce are published. One that cannot be understood is tried \
--tries times and then moved to --set-aside, or logged and deleted.

Examples:
  limn watch ./lake --index lake.limn
  limn watch s3://bucket/lake --index s3://bucket/index --queue https://sqs.eu-west-1.amazonaws.com/1234/lake
  limn watch s3://bucket/lake --index s3://bucket/index --listen 127.0.0.1:7701")]
    Watch(WatchArgs),
    /// Serve an index to browsers, programs and agents.
    #[command(after_help = "\
The page is at the address itself, the API below /v1 (described at /openapi.json). The node follows the \
index: what a nightly job publishes is served seconds later, and no request is dropped. It listens on \
loopback unless --listen says otherwise, and elsewhere only with keys (limn keys add) or --open-to-all.

Examples:
  limn serve --index lake.limn
  limn keys add --keys keys.jsonl --name dashboards --prefix sales --right search
  limn serve --index s3://bucket/limn --listen 0.0.0.0:7700 --keys keys.jsonl --tls-cert c.pem --tls-key k.pem")]
    Serve(Box<ServeArgs>),
    /// Give an agent tools over an index: the Model Context Protocol on standard input and output.
    #[command(after_help = "\
The tools: find_tables, describe_table, sample_rows, sql, list_tables, lake_changes. limn serve offers the same at \
/mcp (streamable HTTP), with keys.

In the configuration of an agent:
  {\"mcpServers\": {\"limn\": {\"command\": \"limn\", \"args\": [\"mcp\", \"--index\", \"s3://bucket/limn\"]}}}")]
    Mcp(Box<McpArgs>),
    /// Make, list and remove the keys that a node asks for.
    Keys(KeysArgs),
    /// Ask for a table in plain words.
    #[command(after_help = "\
Example:
  limn search \"how deep are the lakes?\" --index lake.limn -k 3")]
    Search(SearchArgs),
    /// Measure how often questions find their tables.
    #[command(after_help = "\
QUESTIONS is a file with one JSON object a line: {\"question\": TEXT, \"tables\": [NAME, …]}. \
hit = share of questions with at least one of their tables among the first k; recall = mean share of \
their tables found; full = share with all of them.")]
    Eval(EvalArgs),
    /// List the tables of an index.
    Tables(TablesArgs),
    /// Show what is known of one table.
    Show(ShowArgs),
    /// List what a table joins with, and its copies, parts and unions; or the way to another table.
    #[command(after_help = "\
Examples:
  limn joins sales/orders --index lake.limn
  limn joins sales/orders --with crm/churn --index lake.limn
  limn joins sales/orders --kind copy --index lake.limn --json")]
    Joins(JoinsArgs),
    /// Ask the tables of an index in SQL, whatever the format of their files.
    #[command(after_help = "\
Examples:
  limn sql 'SHOW TABLES' --index lake.limn
  limn sql 'DESCRIBE \"crm/churn\"' --index lake.limn
  limn sql 'SELECT region, count(*) FROM crm.churn GROUP BY region ORDER BY 2 DESC' --index lake.limn
  limn sql - --index lake.limn --output joined.parquet < join.sql

The rows are those of the files that the index knows; where one has changed since, limn update first.")]
    Sql(SqlArgs),
    /// List the snapshots of an index, newest first.
    Snapshots(SnapshotsArgs),
    /// List which tables appeared, changed and vanished between two snapshots.
    #[command(after_help = "\
It lists what changed in the lake: columns, rows and files, texts about a table. Tables only \
described anew have not changed.

Examples:
  limn diff --index lake.limn            what the last change brought
  limn diff --since 1d --index lake.limn what the last day brought
  limn diff 12 --index lake.limn         since snapshot 12
  limn diff 12 15 --index lake.limn --prefix sales --json")]
    Diff(DiffArgs),
    /// Merge small segments and catalog files, and drop what is no longer live.
    #[command(after_help = "\
limn index does this at its end, so that nightly runs need nothing else; this command is for indexes made \
with --no-compact, and for --full before an index is copied or served for long. Answers stay the same. \
Safe beside running readers and writers: what others publish meanwhile stays. Old files go with \
limn gc, once they are as old as its --older-than says.

Examples:
  limn compact --index lake.limn --dry-run
  limn compact --index s3://bucket/limn --full")]
    Compact(CompactArgs),
    /// Remove old snapshots, and what no snapshot names.
    #[command(after_help = "\
The newest snapshot stays, with --keep N so many of the newest, and all that are younger than \
--older-than; so does everything that they name. Words that a language model was asked for stay too. \
Safe beside running readers and writers: a job has to publish what it writes within --older-than, and a \
reader of a snapshot that is removed opens the index again.

Examples:
  limn gc --index lake.limn --dry-run
  limn gc --index s3://bucket/limn --older-than 30d --keep 10")]
    Gc(GcArgs),
    /// Read all of an index and check that it is there and as it was written.
    #[command(after_help = "\
Every checksum, every reference, and the counts of the catalog are checked. What is damaged or missing \
is listed; the exit code is then 1. Safe while others read and write.

With --repair, snapshots that nobody can read are renamed to NAME.damaged first: a power cut or a failing disk leaves \
such. The tables stay those of the newest snapshot that is whole.")]
    Verify(VerifyArgs),
    /// List or fetch the embedded models.
    Models(ModelsArgs),
    /// Take the text out of a PDF on standard input: for limn itself, which does so in a process apart.
    #[command(hide = true)]
    PdfText,
    /// Read a view of a database on standard input: for limn itself, which does so in a process apart.
    #[command(hide = true)]
    ReadView,
    /// Read a spreadsheet on standard input: for limn itself, which does so in a process apart.
    #[command(hide = true)]
    ReadBook,
}

#[derive(Debug, clap::Args)]
pub struct IndexPlace {
    /// The index: a path or URL.
    #[arg(long, value_name = "URL", env = "LIMN_INDEX")]
    pub index: String,
}

#[derive(Debug, clap::Args)]
pub struct JsonOutput {
    /// Print JSON instead of text for people.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    /// The lake: a path or URL.
    ///
    /// Tables are read from delimited text, plain text that is clearly a table, JSON, Parquet, Arrow, Avro and ORC files, the sheets of
    /// spreadsheets, the tables of SQLite databases, compressed or inside zip and tar archives.
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
    /// Where the processes are: a file with one HOST:PORT a line, in the order of their numbers, a list
    /// with commas, or a pattern such as limn-{}.limn:7101, where {} stands for the number. They trust each other and
    /// whoever reaches these ports: a private network only.
    #[arg(long, value_name = "FILE|PATTERN|LIST", env = "LIMN_HOSTS")]
    pub hosts: Option<String>,
    /// How many processes there are. Without --hosts so many are started here and watched: if one is
    /// lost, all are started again, three times at most.
    #[arg(long, value_name = "N", env = "LIMN_PROCESSES", value_parser = positive)]
    pub processes: Option<usize>,
    /// The number of this process, from 0; 0 leads [default: JOB_COMPLETION_INDEX]
    #[arg(long, value_name = "I", env = "LIMN_PROCESS")]
    pub process: Option<usize>,
    /// How long a process may take to come at the start, or be silent later, before it is taken for lost.
    #[arg(long, value_name = "TIME", default_value = "60s", env = "LIMN_SILENCE", value_parser = silence)]
    pub silence: Duration,
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
    /// Take events at POST /v1/events of this address. Other than loopback, LIMN_EVENTS_TOKEN is needed:
    /// senders give it as bearer token.
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
    /// Which embedder makes the vectors: a name of `limn models list`, or `endpoint` (docs/endpoint.md).
    #[arg(help_heading = MORE, long, value_name = "NAME", default_value = limn_models::ALL_MINILM, env = "LIMN_EMBEDDER")]
    pub embedder: String,
    /// Draw a table's rows anew, and describe it anew, only when more than this share of its rows came
    /// or went since; 0 does so at every change. New columns are described at once either way.
    #[arg(help_heading = MORE, long, value_name = "0..1", default_value_t = 0.2, value_parser = share::<f64>, env = "LIMN_RESAMPLE_THRESHOLD")]
    pub resample_threshold: f64,
    /// Whose values are kept out of the index: of samples, profiles, texts, vectors and prompts [default: as the index
    /// remembers, at first nobody's].
    #[arg(help_heading = MORE, long, value_enum, env = "LIMN_REDACT")]
    pub redact: Option<RedactArg>,
    /// Find what joins (limn joins) in lakes of up to N tables; 0 finds nothing. It takes about 12 KB of memory a column.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 10_000, env = "LIMN_JOIN_TABLES")]
    pub join_tables: u64,
    /// Rows drawn from each table.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 5)]
    pub sample_rows: usize,
    /// Bytes read of one file for its column profiles; larger files are sampled.
    #[arg(help_heading = MORE, long, value_name = "BYTES", default_value_t = 16 << 20)]
    pub scan_budget: u64,
    /// Publish after this many files of tables that differ at most, so that tables become searchable while a run goes on;
    /// the first time after 1,024.
    #[arg(help_heading = MORE, long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..))]
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
    /// Those of columns whose name or values say that they hold e-mail addresses, telephone numbers, numbers of payment
    /// cards, bank accounts or persons, or secrets.
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

/// Which language model narrates or judges.
#[derive(Clone, Debug, clap::Args)]
pub struct ModelOptions {
    /// The language model: a name of `limn models list`, a path of your own model's file or folder, or
    /// `endpoint` [default: the endpoint if one is named with its model, else qwen2.5-coder-1.5b]
    #[arg(long, value_name = "NAME", env = "LIMN_MODEL")]
    pub model: Option<String>,
    /// An OpenAI-compatible endpoint, for --model endpoint: http://localhost:8000/v1. Its key is read
    /// from LIMN_ENDPOINT_KEY, or else OPENAI_API_KEY, and from nowhere else.
    #[arg(
        long,
        value_name = "URL",
        env = "LIMN_ENDPOINT",
        hide_env_values = true
    )]
    pub endpoint: Option<String>,
    /// The model's name at the endpoint.
    #[arg(long, value_name = "NAME", env = "LIMN_ENDPOINT_MODEL")]
    pub endpoint_model: Option<String>,
    #[command(flatten)]
    pub endpoint_settings: EndpointSettings,
    /// What computes embedded models.
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto, env = "LIMN_DEVICE")]
    pub device: DeviceArg,
    /// Threads of an embedded model [default: the cores].
    #[arg(long, value_name = "N", env = "LIMN_MODEL_THREADS", value_parser = positive)]
    pub model_threads: Option<usize>,
    /// Prompts that an embedded model computes at a time, at most [default: 192; 1000 on a GPU].
    #[arg(long, value_name = "N", env = "LIMN_MODEL_BATCH", value_parser = positive)]
    pub model_batch: Option<usize>,
}

impl ModelOptions {
    /// The name that means an endpoint.
    pub const ENDPOINT: &str = "endpoint";

    /// The model that is meant. An endpoint alone, without its model's name, may be an embedder's.
    pub fn name(&self) -> &str {
        match &self.model {
            Some(name) => name,
            None if self.is_named() => Self::ENDPOINT,
            None => limn_models::QWEN_CODER,
        }
    }

    /// Whether it is one that somebody chose.
    pub fn is_named(&self) -> bool {
        self.model.is_some() || self.endpoint.is_some() && self.endpoint_model.is_some()
    }

    /// What half of an endpoint is missing, where it was named without its model or the other way round,
    /// and no other model was.
    pub fn half_an_endpoint(&self) -> Option<&'static str> {
        match (&self.model, &self.endpoint, &self.endpoint_model) {
            (None, Some(_), None) => Some(
                "an endpoint is named without its model: give --endpoint-model NAME too, or --model NAME for an embedded one",
            ),
            (None, None, Some(_)) => Some(
                "an endpoint's model is named without its address: give --endpoint URL too, or --model NAME for an embedded one",
            ),
            _ => None,
        }
    }

    /// Whether an endpoint is meant.
    pub fn is_endpoint(&self) -> bool {
        self.name() == Self::ENDPOINT
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceArg {
    /// All GPUs, if limn was built with CUDA and finds one; else the processor.
    Auto,
    /// The processor.
    Cpu,
    /// All GPUs, and an error where there is none (docs/gpu.md).
    #[value(alias = "gpu")]
    Cuda,
}

impl From<DeviceArg> for DeviceChoice {
    fn from(device: DeviceArg) -> Self {
        match device {
            DeviceArg::Auto => Self::Auto,
            DeviceArg::Cpu => Self::Cpu,
            DeviceArg::Cuda => Self::Cuda,
        }
    }
}

/// How an endpoint is used; docs/endpoint.md.
#[derive(Clone, Debug, clap::Args)]
pub struct EndpointSettings {
    /// The window of the endpoint's model in tokens, which the endpoint does not report.
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 8192,
        env = "LIMN_ENDPOINT_WINDOW"
    )]
    pub endpoint_window: usize,
    /// Requests under way at once.
    #[arg(long, value_name = "N", default_value = "8", env = "LIMN_ENDPOINT_CONCURRENCY", value_parser = positive)]
    pub endpoint_concurrency: usize,
    /// Times that a request is sent at most, where its failure may pass.
    #[arg(long, value_name = "N", default_value_t = 5, env = "LIMN_ENDPOINT_ATTEMPTS", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub endpoint_attempts: u32,
    /// The longest an attempt may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, env = "LIMN_ENDPOINT_TIMEOUT", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub endpoint_timeout: u64,
    /// What a million tokens cost: of prompts, written, and of prompts that were cached
    /// [default of the last: as other prompts].
    #[arg(long, value_name = "PROMPT,WRITTEN[,CACHED]", env = "LIMN_ENDPOINT_PRICES", value_parser = prices)]
    pub endpoint_prices: Option<Prices>,
}

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
    /// Retrieve as PNEUMA's plain hybrid does: blocks only, no cells, one field. For comparison.
    #[arg(help_heading = MORE, long)]
    pub plain: bool,
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

fn share<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    match text.parse::<T>() {
        Ok(value) if (T::from(0)..=T::from(1)).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not a number from 0 to 1")),
    }
}

/// How many tables are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableCount {
    Given(usize),
    /// As many as are worth it: of sets.
    Auto,
}

fn table_count(text: &str) -> Result<TableCount, String> {
    match text.trim() {
        "auto" => Ok(TableCount::Auto),
        text => positive(text).map(TableCount::Given),
    }
}

fn positive(text: &str) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(value) if (1..=1000).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not a number from 1 to 1000")),
    }
}

/// A length of time; a number alone is of seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok();
    match seconds.and_then(|it| Duration::try_from_secs_f64(it).ok()) {
        Some(time) => Ok(time),
        None => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

fn ago(text: &str) -> Result<Duration, String> {
    let wrong = |_| "a length of time is expected, such as 30m, 12h, 1d or 2w".to_owned();
    humantime::parse_duration(text).map_err(wrong)
}

fn silence(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < Duration::from_secs(1) {
        return Err("a process is not silent for being quiet for less than a second".to_owned());
    }
    Ok(time)
}

fn old_enough(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time < Duration::from_secs(3600) {
        return Err(
            "a running job may be about to publish what was written in the last hour".to_owned(),
        );
    }
    Ok(time)
}

fn prices(text: &str) -> Result<Prices, String> {
    let price = |text: &str| {
        let price = text.trim().parse::<f64>().ok();
        price.filter(|price| price.is_finite() && *price >= 0.0)
    };
    let prices: Option<Vec<f64>> = text.split(',').map(price).collect();
    let [prompt, generated, cached] = match prices.as_deref() {
        Some(&[prompt, generated]) => [prompt, generated, prompt],
        Some(&[prompt, generated, cached]) => [prompt, generated, cached],
        _ => {
            return Err(format!(
                "'{text}' is not two or three prices such as 0.15,0.6,0.075"
            ));
        }
    };
    Ok(Prices {
        prompt,
        cached,
        generated,
    })
}

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The question, in plain words.
    #[arg(required = true, value_name = "QUESTION")]
    pub question: Vec<String>,
    #[command(flatten)]
    pub index: IndexPlace,
    /// How many tables to return, or with --join `auto`: as many as are worth it [default: 5; with --join auto]
    #[arg(short, value_name = "K", value_parser = table_count)]
    pub k: Option<TableCount>,
    /// Return the tables that answer the question together, and how they join.
    #[arg(long)]
    pub join: bool,
    #[command(flatten)]
    pub options: SearchOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    #[command(flatten, next_help_heading = MORE)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// Questions with their tables, one JSON object a line.
    #[arg(long, value_name = "FILE.jsonl")]
    pub questions: PathBuf,
    /// The cut-offs to measure, with --join also `auto` [default: 1,5,10; with --join 2,5,10,auto]
    #[arg(short, value_delimiter = ',', value_name = "K,…", value_parser = table_count)]
    pub k: Vec<TableCount>,
    /// Measure sets of tables that join: precision, recall, F1 and full.
    #[arg(long, conflicts_with_all = ["save", "against", "calibrate", "vectors_given"])]
    pub join: bool,
    /// With --join: the parts of the questions, one JSON object a line (question, parts), instead of limn's own reading.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl", requires = "join")]
    pub decompositions: Option<PathBuf>,
    #[command(flatten)]
    pub options: SearchOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
    /// Fit the threshold at which --model judges on these questions, and keep it with what it is worth.
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
    /// Questions answered at once [default: the cores; with a judge, as many as keep it busy].
    #[arg(help_heading = MORE, long, value_name = "N")]
    pub threads: Option<usize>,
    /// Compute the question vectors before the clock starts: measures retrieval alone.
    #[arg(help_heading = MORE, long)]
    pub vectors_given: bool,
    /// Use only the first N questions.
    #[arg(help_heading = MORE, long, value_name = "N")]
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

#[derive(Debug, clap::Args)]
pub struct SnapshotsArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// The older snapshot [default: the last one before the newer that differs from it]
    #[arg(value_name = "N")]
    pub from: Option<u64>,
    /// Compare with what there was so long ago: 30m, 12h, 1d, 2w. An older index has no snapshot of then if they were
    /// collected: its oldest is taken.
    #[arg(long, value_name = "TIME", conflicts_with = "from", value_parser = ago)]
    pub since: Option<Duration>,
    /// The newer snapshot [default: the newest]
    #[arg(value_name = "M")]
    pub to: Option<u64>,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub under: Under,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct GcArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// What is younger stays: 12h, 7d, 2w; an hour at least.
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = old_enough)]
    pub older_than: Duration,
    /// So many of the newest snapshots stay, however old.
    #[arg(long, value_name = "N", default_value = "1", value_parser = positive)]
    pub keep: usize,
    /// List what would be removed, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct CompactArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// Make one segment of each shard, as far as its size allows, and drop all that is no longer live.
    #[arg(long)]
    pub full: bool,
    /// List what would be merged, and merge nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    /// Which snapshot [default: the newest]
    #[arg(long, value_name = "N")]
    pub snapshot: Option<u64>,
    /// Set damaged snapshots aside, so that the index goes on from the newest that is whole.
    #[arg(long, conflicts_with = "snapshot")]
    pub repair: bool,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Show the models limn knows, their licences and sizes, and which are here.
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Fetch and verify a model, so that later runs need no network.
    Pull {
        /// Its name; without one, the default embedder.
        name: Option<String>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Measure how many tokens a second a language model reads and writes, or an embedder embeds.
    #[command(after_help = "\
Examples:
  limn models bench --model qwen2.5-coder-1.5b --model-threads 2
  limn models bench --model all-MiniLM-L6-v2 --texts blocks.txt")]
    Bench {
        #[command(flatten, next_help_heading = "Language models")]
        model: ModelOptions,
        /// Prompts asked of a language model at a time; a sixteenth as many are asked one by one
        /// [default: 64]
        #[arg(long, value_name = "N", value_parser = positive)]
        prompts: Option<usize>,
        /// Texts for an embedder, one a line [default: texts of three sizes, made up]
        #[arg(long, value_name = "FILE")]
        texts: Option<PathBuf>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Ask a language model one question, to see that it answers before a long run needs it.
    #[command(after_help = "\
Examples:
  limn models check --model endpoint --endpoint http://localhost:11434/v1 --endpoint-model qwen3
  limn models check --model ./my-model.gguf")]
    Check {
        #[command(flatten, next_help_heading = "Language models")]
        model: ModelOptions,
        #[command(flatten)]
        output: JsonOutput,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Counts the options that stand first in the help of a command and of those below it.
    fn check(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let first = command.get_arguments().filter(|option| {
            !option.is_positional() && !option.is_hide_set() && option.get_help_heading().is_none()
        });
        let first: Vec<&str> = first.map(|option| option.get_id().as_str()).collect();
        assert!(first.len() <= 10, "{path}: {first:?}");
        for below in command.get_subcommands() {
            check(below, &path);
        }
    }

    #[test]
    fn help_begins_with_ten_options_at_most() {
        let mut command = Args::command();
        command.build();
        check(&command, "");
    }
}
