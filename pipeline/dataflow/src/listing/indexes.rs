//! Indexes of limn that lie within a lake: no tables of it.

use futures::stream::StreamExt;
use limn_segment::FOLDERS;
use limn_store::Store;

use super::state::Listing;
use crate::error::PipelineError;

impl Listing {
    /// An index is known by its snapshots; its catalog would be a lake of tables.
    pub(super) fn leave_out_indexes(&mut self) {
        for index in &std::mem::take(&mut self.indexes) {
            let folders: Vec<String> = FOLDERS
                .iter()
                .map(|folder| format!("{index}{folder}"))
                .collect();
            let is_other = |path: &str| !folders.iter().any(|folder| path.starts_with(folder));
            self.objects.retain(|object| is_other(object.path));
            self.left_out.retain(|path| is_other(path));
            let name = if index.is_empty() {
                "the lake's folder itself"
            } else {
                index.trim_end_matches('/')
            };
            self.notes
                .push(format!("{name} is a limn index and was left out"));
        }
    }
}

/// Whether a folder of the lake is one of an index's own; asked of the store where its name is.
pub(super) async fn is_in_an_index(lake: &Store, folder: &str) -> Result<bool, PipelineError> {
    let slashed = format!("/{folder}/");
    for own in FOLDERS {
        for (at, _) in slashed.match_indices(&format!("/{own}")) {
            let root = slashed[..at].trim_matches('/');
            let separator = if root.is_empty() { "" } else { "/" };
            let mut snapshots = lake.list(&format!("{root}{separator}snapshots"));
            if let Some(first) = snapshots.next().await
                && index_of_snapshot(&first?.path).is_some()
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The index (a path that ends with `/`, or nothing) of which this may be a snapshot:
/// `<index>snapshots/<20 digits>.json`.
pub(super) fn index_of_snapshot(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".json")?;
    let digits = stem.get(stem.len().checked_sub(20)?..)?;
    let index = stem.strip_suffix(digits)?.strip_suffix("snapshots/")?;
    let is_one = digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_one && (index.is_empty() || index.ends_with('/'))).then(|| index.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_known_by_their_names() {
        let of = index_of_snapshot;
        let number = "18446744073709551614";
        assert_eq!(of(&format!("snapshots/{number}.json")).as_deref(), Some(""));
        assert_eq!(
            of(&format!("a/b.limn/snapshots/{number}.json")).as_deref(),
            Some("a/b.limn/")
        );
        for other in [
            "snapshots/1.json",
            "a/mysnapshots/18446744073709551614.json",
            "snapshots/1844674407370955161x.json",
            "18446744073709551614.json",
            "snapshots/ü844674407370955161.json",
            ".json",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
