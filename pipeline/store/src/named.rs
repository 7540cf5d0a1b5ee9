//! Locations as engines write them, in logs and catalogs.

/// A location in the one way in which it is written here: `s3a://b/k` is `s3://b/k`, `file:///d` is
/// `/d`.
pub fn plain_location(location: &str) -> String {
    for scheme in ["s3a://", "s3n://"] {
        if let Some(rest) = location.strip_prefix(scheme) {
            return format!("s3://{rest}");
        }
    }
    match location.strip_prefix("file:") {
        Some(path) => format!("/{}", path.trim_start_matches('/')),
        None => location.to_owned(),
    }
}

/// The path below `root` of what is named by a URL or a path; none of what lies elsewhere.
pub fn path_below(named: &str, root: &str) -> Option<String> {
    let (named, root) = (plain_location(named), plain_location(root));
    let below = named.strip_prefix(root.trim_end_matches('/'))?;
    let below = below.strip_prefix('/')?;
    // Nobody climbs out of it.
    let is_within = !below.split('/').any(|part| matches!(part, "" | "." | ".."));
    is_within.then(|| below.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_of_a_root_is_below_it() {
        for (named, root, expected) in [
            (
                "s3a://b/t/data/x.parquet",
                "s3://b/t",
                Some("data/x.parquet"),
            ),
            ("file:///d/t/x", "/d/t/", Some("x")),
            ("file:/d/t/x", "file:///d/t", Some("x")),
            ("/d/t/x", "/d/t", Some("x")),
            ("/d/tx/x", "/d/t", None),
            ("/d/t/../x", "/d/t", None),
            ("/d/t//x", "/d/t", None),
            ("s3://c/t/x", "s3://b/t", None),
            ("/d/t", "/d/t", None),
        ] {
            assert_eq!(
                path_below(named, root).as_deref(),
                expected,
                "{named} {root}"
            );
        }
    }
}
