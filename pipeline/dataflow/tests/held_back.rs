//! Settings that do not reach what a run holds back: what they withhold leaves the index all the
//! same.

use crate::common;

use common::Lab;
use common::narrated::{everything, records};
use limn_lake::Filters;
use limn_pipeline::IndexSettings;
use limn_pipeline::Report;
use limn_profile::Redact;

const PEOPLE: &str = "name,email\nAda,ada@example.org\nGrace,grace@example.org\n";

fn young() -> Option<Filters> {
    Some(Filters {
        older_than: Some("1h".parse().unwrap()),
        ..Filters::default()
    })
}

/// Whether a word stands anywhere in the index: in the rows of the catalog or in live texts.
async fn has(lab: &Lab, word: &str) -> bool {
    let rows = serde_json::to_string(&records(lab).await).unwrap();
    let texts = everything(lab).await.join("\n");
    rows.contains(word) || texts.contains(word)
}

async fn says(lab: &Lab) -> Redact {
    let snapshot = lab.index.require_newest().await.unwrap();
    let settings = IndexSettings::of_lake(&snapshot, lab.lake.url());
    settings.unwrap().unwrap().redact
}

fn notes(report: &Report, part: &str) -> usize {
    let notes = report.notes.iter();
    notes.filter(|note| note.contains(part)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_files_that_are_held_back_leave_the_index_at_once() {
    let mut lab = Lab::new();
    lab.put("people.csv", PEOPLE).await;
    lab.put("parts/day=1/a.csv", PEOPLE).await;
    lab.options.redact = Some(Redact::Off);
    lab.run().await;
    assert!(has(&lab, "ada@example.org").await);

    lab.put("people.csv", "name,email\nMary,mary@example.org\n")
        .await;
    lab.options.filters = young();
    lab.options.redact = Some(Redact::Marked);
    let report = lab.run().await;
    assert!(!has(&lab, "@example.org").await, "{report:?}");
    assert_eq!(says(&lab).await, Redact::Marked);
    assert_eq!(
        (
            notes(&report, "do not reach"),
            notes(&report, "2, such as 'parts'")
        ),
        (1, 1),
        "{report:?}"
    );
    assert!(report.failures.is_empty());
    // Names and counts stay, of the version that was read last.
    let people = records(&lab).await.remove("people").unwrap();
    assert_eq!(people.rows, Some(2));
    let [name, email] = &people.columns[..] else {
        panic!("{people:?}");
    };
    assert!(email.withheld && email.distinct == 2 && !name.withheld);
    assert!(has(&lab, "Grace").await);

    // Once: the next run has nothing to do.
    lab.run_is_idle().await;
    let again = lab.run().await;
    assert_eq!(notes(&again, "do not reach"), 0, "{again:?}");
    // When they are old enough, they are read.
    lab.options.filters = Some(Filters::default());
    lab.run().await;
    let people = records(&lab).await.remove("people").unwrap();
    assert_eq!(people.rows, Some(1));
    assert!(!has(&lab, "@example.org").await);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_back_when_what_was_held_back_is_listed_again() {
    let mut lab = Lab::new();
    lab.options.resample_threshold = 0.2;
    lab.put("people.csv", PEOPLE).await;
    lab.put("parts/day=1/a.csv", PEOPLE).await;
    lab.options.redact = Some(Redact::Marked);
    lab.run().await;
    lab.options.filters = young();
    lab.options.redact = Some(Redact::Off);
    let report = lab.run().await;
    assert_eq!(notes(&report, "do not reach"), 1, "{report:?}");
    assert_eq!(notes(&report, "withholds"), 0, "{report:?}");
    assert!(
        !has(&lab, "@example.org").await,
        "nobody has read the files"
    );
    // The very same versions of the files.
    lab.options.filters = Some(Filters::default());
    let report = lab.run().await;
    assert_eq!(report.objects.read, 2);
    for table in ["people", "parts"] {
        let row = records(&lab).await.remove(table).unwrap();
        assert!(row.columns.iter().all(|column| !column.withheld), "{row:?}");
    }
    assert!(has(&lab, "grace@example.org").await);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_cannot_be_opened_any_more_keeps_no_value_either() {
    let mut lab = Lab::new();
    let tar = common::tar(&[("people.csv", PEOPLE), ("cities.csv", "city\nBern\nLyon\n")]);
    lab.put("data.tar", &tar).await;
    lab.put("other.csv", "a\n1\n").await;
    lab.run().await;
    assert!(has(&lab, "ada@example.org").await);
    lab.put("data.tar", &tar[..700]).await;
    lab.options.redact = Some(Redact::AllValues);
    let report = lab.run().await;
    for word in ["ada@example.org", "Grace", "Lyon"] {
        assert!(!has(&lab, word).await, "{word}: {report:?}");
    }
    assert_eq!(notes(&report, "do not reach"), 1, "{report:?}");
    let rows = records(&lab).await.into_values();
    let people = rows.filter(|row| row.name.ends_with("people") && row.columns.len() == 2);
    assert_eq!(people.map(|row| row.rows).collect::<Vec<_>>(), [Some(2)]);
}
