//! Flags of the node and of its keys.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Subcommand, ValueEnum};
use limn_node::access::Right;

use super::oidc::OidcArgs;
use super::values::ValueError;
use super::{EncoderPlace, IndexPlace, JsonOutput, JudgeOptions, MORE, ModelOptions, positive};

#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Where to listen; port 0 takes a free one.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7700",
        env = "LIMN_LISTEN",
        value_parser = address
    )]
    pub listen: SocketAddr,
    /// Ask for a key of this file (limn keys add), or a token where there is an --oidc-issuer.
    #[arg(long, value_name = "FILE", env = "LIMN_KEYS")]
    pub keys: Option<PathBuf>,
    /// Answer everybody who reaches an address other than loopback, without a key.
    #[arg(long, conflicts_with_all = ["keys", "oidc_issuer"])]
    pub open_to_all: bool,
    /// Without keys: answer requests that name this host, besides localhost.
    #[arg(help_heading = MORE, long, value_name = "NAME", conflicts_with_all = ["keys", "oidc_issuer"])]
    pub allow_host: Vec<String>,
    /// Answer agents in pages of this site at /mcp, too: https://agents.example. May be given
    /// again.
    #[arg(help_heading = MORE, long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    #[command(flatten, next_help_heading = "Tokens")]
    pub oidc: OidcArgs,
    /// The certificate chain of TLS, in PEM; read again when it changes.
    #[arg(long, value_name = "FILE.pem", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM; read again when it changes.
    #[arg(long, value_name = "FILE.pem", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Take descriptions of tables from callers with the right `describe`. This needs what limn
    /// context add needs: to read the lake, and to write the index.
    #[arg(long)]
    pub descriptions: bool,
    /// Show no values of rows: no samples, frequent values, ranges, nor texts made of them.
    #[arg(long)]
    pub no_previews: bool,
    /// Look for a newer snapshot so often.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "10s", value_parser = interval)]
    pub follow: Duration,
    #[command(flatten)]
    pub cache: CacheArgs,
    /// Requests a minute that each key may send, at most [default: no bound].
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = rate)]
    pub per_minute: Option<NonZeroU32>,
    /// How long an answer may take.
    #[arg(help_heading = MORE, long, value_name = "TIME", default_value = "60s", value_parser = patience)]
    pub patience: Duration,
    /// Requests that are answered at a time; more wait for a moment and are then refused.
    #[arg(help_heading = MORE, long, value_name = "N", default_value = "256", value_parser = positive)]
    pub concurrency: usize,
    /// Threads that embed and search [default: the cores].
    #[arg(help_heading = MORE, long, value_name = "N", value_parser = positive)]
    pub threads: Option<usize>,
    /// Embed every question anew: for measuring.
    #[arg(help_heading = MORE, long)]
    pub no_question_cache: bool,
    /// Add people's feedback on results to this file; limn eval reads it as questions.
    #[arg(help_heading = MORE, long, value_name = "FILE.jsonl")]
    pub feedback: Option<PathBuf>,
    /// How large that file may get; beyond it feedback is refused until the file is moved away.
    #[arg(help_heading = MORE, long, value_name = "SIZE", default_value = "1GiB", value_parser = bytes)]
    pub feedback_size: u64,
    /// Hand events of POST /v1/events to the limn watch --listen at this address; its token, of 16
    /// characters or more, is read from LIMN_EVENTS_TOKEN.
    #[arg(help_heading = MORE, long, value_name = "URL")]
    pub events_to: Option<String>,
    #[command(flatten, next_help_heading = "SQL")]
    pub sql: SqlLimits,
    #[command(flatten, next_help_heading = "Answers")]
    pub ask: AskLimits,
    #[command(flatten)]
    pub judge: JudgeOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
}

/// How questions are answered by plans.
#[derive(Debug, clap::Args)]
pub struct AskLimits {
    /// Who writes the SQL for a question, and judges rows.
    #[arg(long, value_enum, default_value_t = AskArg::Rules, conflicts_with = "no_sql")]
    pub ask: AskArg,
    /// How long an answer may take whose steps are sent as they come.
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = patience)]
    pub ask_timeout: Duration,
    /// Tokens of prompts and answers that running one plan may take; a request may ask for less.
    #[arg(long, value_name = "N", default_value = "200000", value_parser = clap::value_parser!(u64).range(1..))]
    pub ask_tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AskArg {
    /// Rules, for simple questions; plans of SQL that are sent are run.
    Rules,
    /// --model, fetched at first use.
    Llm,
    /// Nobody: no question is answered, and no plan run.
    Off,
}

/// What statements of SQL may take; a request may ask for less.
#[derive(Debug, clap::Args)]
pub struct SqlLimits {
    /// Answer no SQL, and read no rows of the lake.
    #[arg(long)]
    pub no_sql: bool,
    /// How long a statement may take.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = patience, conflicts_with = "no_sql")]
    pub sql_timeout: Duration,
    /// Memory for what one sorts, groups and joins.
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = memory, conflicts_with = "no_sql")]
    pub sql_memory: u64,
    /// Temporary files for what does not fit there.
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = memory, conflicts_with = "no_sql")]
    pub sql_disk: u64,
    /// Rows that one answers with, at most.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "no_sql")]
    pub sql_rows: u64,
    /// Statements of one key that run at a time; of all keys four times as many.
    #[arg(long, value_name = "N", default_value = "2", value_parser = positive, conflicts_with = "no_sql")]
    pub sql_at_once: usize,
}

#[derive(Debug, clap::Args)]
pub struct McpArgs {
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub encoder: EncoderPlace,
    /// Only tables at this path or below it. May be repeated [default: all tables].
    #[arg(long, value_name = "PATH", value_parser = path)]
    pub prefix: Vec<String>,
    /// Show no values of rows.
    #[arg(long)]
    pub no_previews: bool,
    #[command(flatten, next_help_heading = "SQL")]
    pub sql: SqlLimits,
    #[command(flatten, next_help_heading = "Answers")]
    pub ask: AskLimits,
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub judge: JudgeOptions,
    #[command(flatten, next_help_heading = "Language models")]
    pub model: ModelOptions,
}

/// Where bytes of a remote index are kept.
#[derive(Debug, clap::Args)]
pub struct CacheArgs {
    /// Where bytes of a remote index are kept [default: ~/.cache/limn/segments]
    #[arg(long, value_name = "FOLDER", env = "LIMN_SEGMENT_CACHE")]
    pub cache: Option<PathBuf>,
    /// How many of them are kept: 500MiB, 20GiB.
    #[arg(help_heading = MORE, long, value_name = "SIZE", default_value = "10GiB", value_parser = bytes)]
    pub cache_size: u64,
}

#[derive(Debug, clap::Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    pub command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key; it is shown once.
    Add(AddKeyArgs),
    /// List keys: what they may see and do.
    List(ListKeysArgs),
    /// Take a key out of the file; nodes refuse it within seconds.
    Remove(RemoveKeyArgs),
}

#[derive(Debug, clap::Args)]
pub struct KeyFilePlace {
    /// The file of keys. It holds hashes only.
    #[arg(long = "keys", value_name = "FILE", env = "LIMN_KEYS")]
    pub file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub struct AddKeyArgs {
    #[command(flatten)]
    pub place: KeyFilePlace,
    /// What the key is for.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub name: String,
    /// Only tables at this path or below it; a path with :// in it, or that begins with /, is of
    /// the lake's URL and the table's name together. May be repeated [default: all tables].
    #[arg(long, value_name = "PATH", value_parser = path)]
    pub prefix: Vec<String>,
    /// What the key may do: search, rows (see values of rows), ask (have questions answered; with
    /// search and rows), describe, admin. May be repeated.
    #[arg(long = "right", value_name = "RIGHT", default_values = ["search", "rows"])]
    pub rights: Vec<Right>,
    /// When the key ends to be valid: 2027-01-01T00:00:00Z, or a day, whose midnight in UTC is
    /// meant.
    #[arg(long, value_name = "TIME", value_parser = expiry)]
    pub expires: Option<DateTime<Utc>>,
    /// Requests a minute [default: the node's].
    #[arg(long, value_name = "N", value_parser = rate)]
    pub per_minute: Option<NonZeroU32>,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct ListKeysArgs {
    #[command(flatten)]
    pub place: KeyFilePlace,
    #[command(flatten)]
    pub output: JsonOutput,
}

#[derive(Debug, clap::Args)]
pub struct RemoveKeyArgs {
    /// The key's id: the eight digits after limn_.
    pub id: String,
    #[command(flatten)]
    pub place: KeyFilePlace,
}

/// A number of bytes with its unit.
fn bytes(text: &str) -> Result<u64, ValueError> {
    let wrong = || ValueError::NoSize {
        text: text.to_owned(),
        examples: "500MiB or 20GiB",
    };
    let (number, unit) = text.split_at(
        text.find(|it: char| !it.is_ascii_digit())
            .ok_or_else(wrong)?,
    );
    let unit: u64 = match unit.trim() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

/// A size with which a statement can be answered.
fn memory(text: &str) -> Result<u64, ValueError> {
    let least = 1 << 20;
    let size = bytes(text)?;
    (size >= least)
        .then_some(size)
        .ok_or(ValueError::Wrong("1MiB or more is needed"))
}

/// A path that names something: an empty one is a variable that was not set.
fn path(text: &str) -> Result<String, ValueError> {
    if text.trim_matches('/').is_empty() {
        return Err(ValueError::Wrong(
            "the path names nothing; leave --prefix out for all tables",
        ));
    }
    if text.contains('*') {
        return Err(ValueError::Wrong(
            "it is a path and no pattern: all tables at it or below are meant; leave the * out",
        ));
    }
    Ok(text.to_owned())
}

/// An address to listen on; a name is looked up by nobody, but everybody knows one.
fn address(text: &str) -> Result<SocketAddr, ValueError> {
    let numbers = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    let expected = "write it as 127.0.0.1:7700, [::1]:7700 or localhost:7700";
    numbers.parse().map_err(|_| ValueError::Wrong(expected))
}

/// A time that leaves the store in peace.
fn interval(text: &str) -> Result<Duration, ValueError> {
    at_least(Duration::from_millis(100), text)
}

/// A time within which something can be answered.
fn patience(text: &str) -> Result<Duration, ValueError> {
    at_least(Duration::from_secs(1), text)
}

fn at_least(least: Duration, text: &str) -> Result<Duration, ValueError> {
    let wrong = || ValueError::TooShort(humantime::format_duration(least));
    let time = super::duration(text).map_err(|_| wrong())?;
    (time >= least).then_some(time).ok_or_else(wrong)
}

/// A time that is still to come, or a day.
fn expiry(text: &str) -> Result<DateTime<Utc>, ValueError> {
    let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    let time = text.parse().or_else(|_| text.parse().map(midnight));
    let wrong = |_: chrono::ParseError| {
        ValueError::Wrong(
            "a time such as 2027-01-01T00:00:00Z or a day such as 2027-01-01 is expected",
        )
    };
    let time: DateTime<Utc> = time.map_err(wrong)?;
    match time > Utc::now() {
        true => Ok(time),
        false => Err(ValueError::Wrong(
            "that time is over: the key would never be valid",
        )),
    }
}

/// A number of requests.
fn rate(text: &str) -> Result<NonZeroU32, ValueError> {
    let expected = "a whole number from 1 on is expected; without the flag there is no bound";
    text.parse().map_err(|_| ValueError::Wrong(expected))
}
