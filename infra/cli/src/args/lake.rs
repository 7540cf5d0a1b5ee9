//! How a lake is asked, and which of its objects count.

use limn_lake::Filters;
use limn_lake::filter::Moment;
use limn_store::Access;

use super::positive;
use super::values::ValueError;

/// How the lake's store is asked.
#[derive(Clone, Debug, clap::Args)]
pub struct AccessArgs {
    /// Ask the lake's store without credentials, for public buckets and containers.
    #[arg(long)]
    pub anonymous: bool,
    /// Pay for the requests to the lake's bucket, where its owner does not; on gs:// the project
    /// that GOOGLE_CLOUD_QUOTA_PROJECT names.
    #[arg(long, conflicts_with = "anonymous")]
    pub requester_pays: bool,
    /// Requests under way at once, at most, to the lake's store, and to the index's [default: 64; 8
    /// to a web server]
    #[arg(long, value_name = "N", env = "LIMN_CONCURRENCY", value_parser = positive)]
    pub concurrency: Option<usize>,
}

impl AccessArgs {
    /// How the lake's store is asked.
    pub fn to_lake(&self) -> Access {
        Access {
            anonymous: self.anonymous,
            requester_pays: self.requester_pays,
            at_once: self.concurrency,
        }
    }

    /// How the index's is: with the credentials that the environment has.
    pub fn to_index(&self) -> Access {
        Access {
            at_once: self.concurrency,
            ..Access::default()
        }
    }
}

/// Which objects of the lake count. The index remembers them.
#[derive(Clone, Debug, clap::Args)]
pub struct FilterArgs {
    /// Only data files that match: '*.parquet' (a name, anywhere), 'sales/2024' (a path from the
    /// root, with all below it), 'sales/**/*.csv'. May be given again.
    #[arg(help_heading = None, long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// Nothing that matches. May be given again. A .limnignore file in a folder of the lake says
    /// the same for all who index it, as .gitignore does.
    #[arg(help_heading = None, long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Only data files of this size at least: 1KiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub min_size: Option<u64>,
    /// Only data files of this size at most: 2GiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_size: Option<u64>,
    /// Only data files changed since: 90d (before each run), 2024-01-31.
    #[arg(long, value_name = "TIME", visible_alias = "modified-after")]
    pub newer_than: Option<Moment>,
    /// Only data files not changed since: 10m (so that what is being
    /// written can settle; a table that is younger stays as the index has it), 2024-01-31.
    #[arg(long, value_name = "TIME", visible_alias = "modified-before")]
    pub older_than: Option<Moment>,
    /// Forget the filters that the index remembers.
    #[arg(long, conflicts_with_all = ["include", "exclude", "min_size", "max_size", "newer_than", "older_than"])]
    pub no_filters: bool,
}

impl FilterArgs {
    /// The filters that were said; `None` goes on with what the index remembers.
    pub fn said(&self) -> Option<Filters> {
        let filters = Filters {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            min_size: self.min_size,
            max_size: self.max_size,
            newer_than: self.newer_than.clone(),
            older_than: self.older_than.clone(),
        };
        (self.no_filters || !filters.is_empty()).then_some(filters)
    }
}

/// A file's size, with or without a unit.
pub(super) fn size(text: &str) -> Result<u64, ValueError> {
    let wrong = || ValueError::NoSize {
        text: text.to_owned(),
        examples: "100, 20KB, 500MiB or 2GiB",
    };
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_or_none() {
        for (text, bytes) in [
            ("0", 0),
            ("1", 1),
            ("20KB", 20_000),
            (" 2 gib ", 2 << 30),
            ("5B", 5),
        ] {
            assert_eq!(size(text).ok(), Some(bytes), "{text}");
        }
        for nonsense in ["", "MB", "-1", "1.5GB", "10XB", "99999999999TiB"] {
            assert!(size(nonsense).is_err(), "{nonsense}");
        }
    }
}
