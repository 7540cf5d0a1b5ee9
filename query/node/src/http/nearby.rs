//! Addresses that somebody may have meant who asked for one that there is not.

/// Letters of an address that is looked at: known ones are shorter.
const LONGEST: usize = 64;
/// Letters that are wrong, at most: one in so many.
const ONE_IN: usize = 4;

/// The known addresses that are nearest to this one, if any is near: it misses their first parts
/// (`/search`), or their last (`/health`), or has a few letters wrong.
pub(super) fn nearby<'a>(asked: &str, known: &'a [String]) -> Vec<&'a str> {
    let asked = asked.trim_end_matches('/');
    if asked.len() < 2 || asked.len() > LONGEST {
        return Vec::new();
    }
    let far = known.iter().map(|known| (distance(asked, known), known));
    let near: Vec<_> = far.filter(|(far, _)| far * ONE_IN <= asked.len()).collect();
    let least = near.iter().map(|(far, _)| *far).min();
    let nearest = near.into_iter().filter(|(far, _)| Some(*far) == least);
    nearest.map(|(_, known)| known.as_str()).collect()
}

/// Letters to change until an address is the known one, its end from some part on, or its first
/// parts.
fn distance(asked: &str, known: &str) -> usize {
    let starts = known.match_indices('/').map(|(at, _)| &known[at..]);
    let ends = known.match_indices('/').map(|(at, _)| &known[..at]);
    let parts = starts.chain(ends).filter(|part| !part.is_empty());
    let far = parts.map(|part| strsim::osa_distance(asked, part));
    far.min().unwrap_or(usize::MAX / ONE_IN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_right_is_guessed_and_what_is_not_is_not() {
        let known = [
            "/v1/search",
            "/v1/table",
            "/v1/table/history",
            "/v1/tables",
            "/v1/tree",
            "/health/live",
            "/health/ready",
            "/metrics",
            "/browse",
            "/",
        ];
        let known = known.map(str::to_owned);
        for (asked, meant) in [
            ("/health", &["/health/live", "/health/ready"][..]),
            ("/health/raedy", &["/health/ready"]),
            ("/v1/tabels", &["/v1/tables"]),
            ("/search", &["/v1/search"]),
            ("/search/", &["/v1/search"]),
            ("/v2/search", &["/v1/search"]),
            ("/metric", &["/metrics"]),
            ("/history", &["/v1/table/history"]),
            ("/nothing", &[]),
            ("/", &[]),
            ("//", &[]),
            ("/wp-admin/setup.php", &[]),
        ] {
            assert_eq!(nearby(asked, &known), meant, "{asked}");
        }
        assert!(nearby(&"/health".repeat(1_000), &known).is_empty());
    }
}
