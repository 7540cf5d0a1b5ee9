//! What looks after an index is given.

use std::time::Duration;

use super::values::{ago, old_enough, positive};
use super::{IndexPlace, JsonOutput, Under};

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
    /// Compare with what there was so long ago: 30m, 12h, 1d, 2w. An older index has no snapshot of
    /// then if they were collected: its oldest is taken.
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
    /// Make one segment of each shard, as far as its size allows, and drop all that is no longer
    /// live.
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
