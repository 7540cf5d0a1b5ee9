#![allow(clippy::unwrap_used, clippy::expect_used)]
use limn_profile::SUMMARY_VERSION;

use super::*;

/// Settings as an index made before summaries had a version names them.
const OLD: &str = r#"{"embedder":"e","dimensions":2,"narrate":"names","sample_rows":5,"scan_budget":16777216,
    "seed":0,"documents":2,"analyzer":1}"#;

#[test]
fn what_is_not_understood_of_remembered_settings_is_refused() {
    let lake = "s3://lake";
    let known: IndexSettings = serde_json::from_str(OLD).unwrap();
    let mut good = Snapshot::first("e", 2, 1);
    assert_eq!(IndexSettings::intended(&good, lake).unwrap(), None);
    known.put_into(&mut good.settings, lake, true);
    assert_eq!(
        IndexSettings::of_lake(&good, lake).unwrap(),
        Some(known.clone())
    );
    assert_eq!(IndexSettings::intended(&good, "s3://other").unwrap(), None);
    let refused = |change: &dyn Fn(&mut serde_json::Value), named: &str| {
        for all in [true, false] {
            let mut settings = serde_json::Value::Null;
            known.put_into(&mut settings, lake, all);
            change(&mut settings);
            let snapshot = Snapshot {
                settings,
                ..good.clone()
            };
            let error = IndexSettings::intended(&snapshot, lake).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    };
    let of_lake = |settings: &mut serde_json::Value, name: &str| {
        for list in [LAKES, CHANGING] {
            if let Some(of_lake) = settings.get_mut(list).and_then(|it| it.get_mut(lake)) {
                of_lake[name] = "strict".into();
            }
        }
    };
    refused(&|settings| of_lake(settings, "redact"), "strict");
    refused(&|settings| of_lake(settings, "moon"), "moon");
    refused(&|settings| settings["moon"] = "full".into(), "moon");
    refused(&|settings| settings[LAKES] = "all".into(), "lakes");
    refused(&|settings| *settings = "none".into(), "settings");
}

#[test]
fn files_are_read_again_where_summaries_would_differ_and_only_there() {
    let old: IndexSettings = serde_json::from_str(OLD).unwrap();
    let now = IndexSettings {
        summaries: SUMMARY_VERSION,
        ..old.clone()
    };
    assert!(!now.summaries_match(&old));
    for (same, changed) in [
        (
            true,
            IndexSettings {
                documents: 99,
                ..now.clone()
            },
        ),
        (
            true,
            IndexSettings {
                narrate: Words::Off,
                ..now.clone()
            },
        ),
        (
            false,
            IndexSettings {
                summaries: 99,
                ..now.clone()
            },
        ),
        (
            false,
            IndexSettings {
                seed: 99,
                ..now.clone()
            },
        ),
        (
            false,
            IndexSettings {
                scan_budget: 99,
                ..now.clone()
            },
        ),
        (
            false,
            IndexSettings {
                sample_rows: 99,
                ..now.clone()
            },
        ),
    ] {
        assert_eq!(changed.summaries_match(&now), same, "{changed:?}");
        // All tables are described anew either way.
        assert_ne!(changed.fingerprint(), now.fingerprint());
    }
}
