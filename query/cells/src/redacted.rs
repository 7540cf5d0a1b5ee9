//! Which values are no cells: what the index of a lake keeps out of itself, answers do, too.

use limn_profile::Redact;
use limn_profile::privacy::is_private;
use limn_segment::Snapshot;

/// Where a snapshot names the settings of a lake's tables: those of all, and those that they are on
/// the way to.
const SETTINGS: [&str; 2] = ["lakes", "changing"];

/// Whose values the index keeps out of what it has of a lake. A setting that is not understood
/// keeps values out.
#[must_use]
pub fn redact_of(snapshot: &Snapshot, lake: &str) -> Redact {
    let settings = SETTINGS
        .iter()
        .filter_map(|list| snapshot.settings.get(list)?.get(lake)?.get("redact"));
    let redacts = settings.map(|said| match said.as_str().map(str::parse) {
        Some(Ok(redact)) => redact,
        _ => Redact::AllValues,
    });
    redacts
        .into_iter()
        .find(|it| *it != Redact::Off)
        .unwrap_or_default()
}

/// Whether a value is to be no cell. Columns whose values are withheld are not read at all.
pub(crate) fn is_kept_out(value: &str, redact: Redact) -> bool {
    redact != Redact::Off && is_private(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_the_index_remembers_holds_whether_all_tables_follow_it_or_not() {
        let of = |settings: Value| {
            let snapshot = Snapshot {
                settings,
                ..Snapshot::first("hashed", 8, 1)
            };
            redact_of(&snapshot, "/lake")
        };
        assert_eq!(of(Value::Null), Redact::Off);
        assert_eq!(
            of(json!({"lakes": {"/lake": {}, "/other": {"redact": "marked"}}})),
            Redact::Off
        );
        assert_eq!(
            of(json!({"lakes": {"/lake": {"redact": "marked"}}})),
            Redact::Marked
        );
        assert_eq!(
            of(json!({"changing": {"/lake": {"redact": "marked"}}})),
            Redact::Marked
        );
        assert_eq!(
            of(json!({"lakes": {"/lake": {"redact": "newer"}}})),
            Redact::AllValues
        );
        assert!(is_kept_out("write to <desk@lake.example>", Redact::Marked));
        assert!(!is_kept_out("all well", Redact::Marked));
        assert!(!is_kept_out("desk@lake.example", Redact::Off));
    }
}
