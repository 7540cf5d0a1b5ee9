//! What the command line says. Each flag is defined once, here; `docs/cli.md` is the contract.

mod ask;
mod bench;
mod cells;
mod context;
mod find;
mod lake;
mod models;
mod oidc;
mod run;
mod serve;
mod sql;
mod tend;
mod tune;
mod values;

use clap::{ArgAction, Parser, Subcommand};

pub use ask::AskArgs;
pub use bench::{BenchArgs, BenchCommand, MakeBenchArgs};
pub use cells::CellsArgs;
pub use context::{
    AddContextArgs, ContextArgs, ContextCommand, ListContextsArgs, RemoveContextArgs,
};
pub use find::{
    EvalArgs, JoinsArgs, JudgeArg, JudgeOptions, PartsArg, RankingArg, SearchArgs, SearchOptions,
    ShowArgs, TableCount, TablesArgs, Under,
};
pub use lake::{AccessArgs, FilterArgs};
pub use models::{DeviceArg, ModelOptions, ModelsArgs, ModelsCommand};
pub use oidc::OidcArgs;
pub use run::{ClusterArgs, IndexArgs, NarrateArg, RunArgs, UpdateArgs, WatchArgs};
pub use serve::{
    AddKeyArgs, AskArg, AskLimits, CacheArgs, KeysArgs, KeysCommand, ListKeysArgs, McpArgs,
    RemoveKeyArgs, ServeArgs, SqlLimits,
};
pub use sql::SqlArgs;
pub use tend::{CompactArgs, DiffArgs, GcArgs, SnapshotsArgs, VerifyArgs};
pub use tune::TuneArgs;
use values::{duration, positive};

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
their files lie. LIMN_ICEBERG_TOKEN or LIMN_ICEBERG_CREDENTIAL, with LIMN_ICEBERG_HOST, sign in (docs/cli.md). \
Requests to AWS's own (glue.REGION.amazonaws.com/iceberg, s3tables.REGION.amazonaws.com/iceberg) are signed with \
the credentials of S3.

Filters hold until others are given: the next limn index, limn update and limn watch of the lake have \
them too. Tables of which files are left out go from the index, or are described without them.

Several processes can share the work of one run (docs/cli.md). Process 0 leads and reports; the same \
command runs on every machine, with its own --process, and with the same --cluster-key: a file of \
random bytes (head -c 32 /dev/urandom | base64), by which processes know each other and encrypt.
  limn index ./lake --index lake.limn --processes 4
  limn index s3://bucket/lake --index s3://bucket/index --hosts hosts.txt --process 1 --cluster-key cluster.key
  limn index s3://bucket/lake --index s3://bucket/index --hosts 'limn-{}.limn:7101' --processes 8 --cluster-key cluster.key")]
    Index(IndexArgs),
    /// Bring some tables of an indexed lake up to date, and look at nothing else.
    #[command(after_help = "\
For schedulers that know which table they have just written. Of a lake in an object store only the \
folders of these tables are listed. Tables that are new are added, those that no longer exist are \
removed. The lake must have been indexed, with the same settings, by limn index.

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
The tools: find_tables, describe_table, sample_rows, find_cells, ask, sql, list_tables, lake_changes. limn serve offers the same at \
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
    /// Make questions about your own lake, with the tables that answer them.
    Bench(BenchArgs),
    /// Fit the ranking of an index to questions about it, and keep that only if it helps.
    #[command(
        override_usage = "limn tune [OPTIONS] [--questions FILE.jsonl] [--feedback FILE.jsonl]
       limn tune [OPTIONS] --show
       limn tune [OPTIONS] --reset",
        after_help = "\
A table's score is a formula's, to which four features of the table add by their weights (docs/ranking.md). limn's \
own weights were learned of other lakes. Here others are fitted to half of the questions and judged on the other \
half, several times; where more questions find their table first, by two standard errors of the gain and more, the \
weights that fit all are kept in the index. Otherwise nothing changes. limn search --ranking formula does without.

Examples:
  limn bench make --index lake.limn -n 500 --out questions.jsonl
  limn tune --index lake.limn --questions questions.jsonl --dry-run
  limn tune --index lake.limn --feedback feedback.jsonl
  limn tune --index lake.limn --reset"
    )]
    Tune(TuneArgs),
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
    /// Give the columns and cells of tables that SQL for a question needs.
    #[command(after_help = "\
For programs that write SQL, such as language models: the columns with types, ranges and frequent values, and \
the cells that the question may mean, spelled as the table has them. Values are counted at the first question \
about a table, and kept in the index.

Examples:
  limn cells \"which customers from Basel left?\" --index lake.limn
  limn cells \"which customers from Basel left?\" --table crm/churn --table crm/customers --index lake.limn --json")]
    Cells(CellsArgs),
    /// Answer a question from the tables of an index, and show where the answer comes from.
    #[command(after_help = "\
The tables that answer it are found, a plan is written (docs/plan.md) and checked, its cost is estimated, and it \
is run. A plan is SQL, and where the question needs judgement, steps that ask a language model about rows. It can \
be kept, edited and run again: the model's answers are kept in the index, so that nothing is asked twice.

Examples:
  limn ask \"how many customers from Basel left?\" --index lake.limn
  limn ask \"how many customers from Basel left?\" --index lake.limn --plan-only > plan.json
  limn ask --plan plan.json --index lake.limn --explain")]
    Ask(Box<AskArgs>),
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
such. The tables stay those of the newest snapshot that is whole. Files of its catalog that are damaged or not there are left out; \
the next limn index reads their tables again, and needs no --repair for that.")]
    Verify(VerifyArgs),
    /// List or fetch the embedded models.
    Models(ModelsArgs),
    /// Take the text out of a PDF on standard input: for limn itself, which does so in a process
    /// apart.
    #[command(hide = true)]
    PdfText,
    /// Read a view of a database on standard input: for limn itself, which does so in a process
    /// apart.
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

/// Where the encoder is that made an index.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EncoderPlace {
    /// The folder of the encoder that made the index, where it is no longer where it was; no other
    /// embedder than the index's can be named [default: LIMN_EMBEDDER if it names a folder, else as
    /// the index remembers it]
    #[arg(help_heading = MORE, long, value_name = "FOLDER")]
    pub embedder: Option<std::path::PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct JsonOutput {
    /// Print JSON instead of text for people.
    #[arg(long)]
    pub json: bool,
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
