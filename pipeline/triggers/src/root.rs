//! Where the lake lies, to distinguish its objects from others in a message about a bucket.

use limn_store::Store;

/// Longer paths are no objects: S3 keys end at 1,024 bytes, paths of files at 4,096. It bounds what
/// a burst can hold.
const PATH_LIMIT: usize = 4096;

/// A lake's root, as messages about objects name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LakeRoot {
    /// Bucket and prefix, of a lake in one.
    bucket: Option<(String, String)>,
}

impl LakeRoot {
    /// That of a lake's store. Messages about buckets are all ignored for one that lies in none.
    pub fn of(store: &Store) -> Self {
        let below = store.url().strip_prefix("s3://");
        let bucket = below.map(|below| {
            let (bucket, prefix) = below.split_once('/').unwrap_or((below, ""));
            (bucket.to_owned(), prefix.to_owned())
        });
        Self { bucket }
    }

    /// The path below the root of a bucket's object; `None` for what is not in the lake.
    pub(crate) fn path(&self, bucket: &str, key: &str) -> Option<String> {
        let (own, prefix) = self.bucket.as_ref()?;
        if own != bucket {
            return None;
        }
        let path = match prefix.as_str() {
            "" => key,
            prefix => key.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        is_path(path).then(|| path.to_owned())
    }
}

/// Whether an object of a lake can have this path: none has empty, `.` or `..` parts, so that it
/// needs no looking at. The marker of an empty folder (`a/`) is none either.
pub(crate) fn is_path(path: &str) -> bool {
    path.len() <= PATH_LIMIT && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn root(location: &str) -> LakeRoot {
        LakeRoot::of(&Store::open_with(location, []).unwrap())
    }

    #[test]
    fn only_the_lakes_own_objects_are_its_own() {
        let lake = root("s3://lake/raw/sales/");
        let path = |bucket, key| lake.path(bucket, key);
        assert_eq!(path("lake", "raw/sales/a b/ü.csv").unwrap(), "a b/ü.csv");
        for (bucket, key) in [
            ("lake2", "raw/sales/a.csv"),
            ("lake", "raw/sales2/a.csv"),
            ("lake", "raw/sales"),
            ("lake", "raw/sales/"),
            ("lake", "raw/sales/folder/"),
            ("lake", "raw/sales/../secret.csv"),
            ("lake", "raw/sales/a//b.csv"),
            ("lake", "a.csv"),
        ] {
            assert_eq!(path(bucket, key), None, "{bucket} {key}");
        }
        assert_eq!(root("s3://lake").path("lake", "a.csv").unwrap(), "a.csv");
        assert_eq!(root("/tmp").path("lake", "a.csv"), None);
        assert_eq!(
            root("s3://lake").path("lake", &"a".repeat(PATH_LIMIT + 1)),
            None
        );
    }
}
