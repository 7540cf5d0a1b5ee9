//! Flags of `limn context`.

use clap::Subcommand;

use super::{IndexPlace, JsonOutput, RunArgs};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A context is a text about a table that its rows do not hold: what it is for, what its columns mean. Lines \
such as `churned: left in the last 90 days` go to the column of that name. Only the table is described anew. \
Many contexts at once: limn index --contexts FILE.jsonl. Texts that lie beside the data (NAME.md) \
are read without being asked, and go when they are removed there.

Examples:
  limn context add crm/churn \"Customers and whether they left; one row a customer and month.\" --index lake.limn
  limn context add crm/churn --file notes.md --index lake.limn
  limn context list crm/churn --index lake.limn
  limn context remove crm/churn 1 --index lake.limn")]
pub struct ContextArgs {
    #[command(subcommand)]
    pub command: ContextCommand,
}

#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Register a text for a table, and describe the table anew.
    Add(AddContextArgs),
    /// List what is known about tables from texts, with the numbers that remove takes.
    List(ListContextsArgs),
    /// Take registered texts back, and describe the table anew.
    Remove(RemoveContextArgs),
    /// Do what the JSON on standard input says: for a node that takes descriptions, which starts
    /// this process for each.
    #[command(hide = true)]
    Apply(Box<RunArgs>),
}

#[derive(Debug, clap::Args)]
pub struct AddContextArgs {
    /// The table, as limn tables lists it; or the path of one of its files.
    #[arg(value_name = "TABLE")]
    pub table: String,
    /// The text.
    #[arg(value_name = "TEXT", required_unless_present = "file")]
    pub text: Option<String>,
    /// Take the text from a file; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub file: Option<String>,
    /// The table's lake [default: as the index knows it].
    #[arg(long, value_name = "LAKE", env = "LIMN_LAKE")]
    pub lake: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct RemoveContextArgs {
    /// What the texts are registered for, as limn context list prints it.
    #[arg(value_name = "TABLE")]
    pub table: String,
    /// Which of them, by the numbers that limn context list gives them.
    #[arg(
        value_name = "NUMBER",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub numbers: Vec<usize>,
    /// All of them.
    #[arg(long)]
    pub all: bool,
    /// The table's lake [default: as the index knows it].
    #[arg(long, value_name = "LAKE", env = "LIMN_LAKE")]
    pub lake: Option<String>,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Debug, clap::Args)]
pub struct ListContextsArgs {
    /// Only this table's.
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    #[command(flatten)]
    pub index: IndexPlace,
    #[command(flatten)]
    pub output: JsonOutput,
}
