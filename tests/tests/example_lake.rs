//! The README's story on the bundled example lake, with the real embedded model: index, ask, look,
//! index again.

use std::fs;
use std::path::Path;

use limn_tests::{limn, repository, text};
use serde_json::json;
use tempfile::TempDir;

/// Questions that no table of the example lake answers.
const FOREIGN: [&str; 20] = [
    "How many goals did each footballer score?",
    "Which airline carried most passengers to Singapore?",
    "recipes for chocolate cake",
    "Who won the Nobel prize in literature?",
    "exchange rate of the dollar against the yen",
    "Which actors played in the most films?",
    "satellites launched into orbit",
    "Which parliament members voted against the bill?",
    "box office revenue of movies",
    "guitar chords of popular songs",
    "Which chess openings win most games?",
    "kings and queens of England and their reigns",
    "Which novels were translated into Portuguese?",
    "car insurance claims by accident type",
    "DNA sequences of bacteria",
    "Which countries export the most coffee?",
    "volcano eruptions and their magnitude",
    "programming languages used by developers",
    "Which tennis players won at Wimbledon?",
    "museum paintings by artist and century",
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_example_lake_is_indexed_asked_and_indexed_again() {
    let scratch = TempDir::new().unwrap();
    let examples = repository().join("examples");
    let lake = scratch.path().join("lake");
    copy(&examples.join("lake"), &lake);
    let (lake, index) = (text(&lake).to_owned(), scratch.path().join("example.limn"));
    let index = text(&index);
    let contexts = examples.join("contexts.jsonl");

    // The first run finds every table.
    let report = limn(&[
        "index",
        &lake,
        "--index",
        index,
        "--contexts",
        text(&contexts),
        "--json",
    ])
    .ok();
    assert_eq!(report["tables"]["added"], 22, "{report}");
    assert_eq!(report["snapshot"], 1);
    assert!(
        report["failures"].as_array().unwrap().is_empty(),
        "{report}"
    );
    assert!(report["model"]["embedded_blocks"].as_u64().unwrap() > 40);

    // It answers its questions.
    let questions = examples.join("questions.jsonl");
    let scores = limn(&[
        "eval",
        "--index",
        index,
        "--questions",
        text(&questions),
        "-k",
        "1,5",
        "--json",
    ])
    .ok();
    assert_eq!(scores["questions"], 40);
    assert!(
        scores["k"]["1"]["hit"].as_f64().unwrap() >= 0.75,
        "{scores}"
    );
    assert!(
        scores["k"]["5"]["hit"].as_f64().unwrap() >= 0.95,
        "{scores}"
    );

    // It knows what it cannot answer: of questions that no table answers most are said to be such,
    // and hardly one of the others.
    let both = scratch.path().join("both.jsonl");
    let foreign = FOREIGN.map(|question| json!({"question": question, "tables": []}).to_string());
    let known = fs::read_to_string(&questions).unwrap();
    fs::write(&both, known + &foreign.join("\n")).unwrap();
    let eval = ["eval", "--index", index, "--questions", text(&both)];
    let graded = limn(&[&eval[..], &["-k", "5", "--json"]].concat()).ok();
    let unlikely = |kind: &str| graded["grades"][kind]["unlikely"].as_f64().unwrap();
    assert_eq!(graded["k"]["5"]["hit"], scores["k"]["5"]["hit"]);
    assert_eq!(graded["grades"]["unanswerable"]["questions"], FOREIGN.len());
    assert!(unlikely("unanswerable") >= 0.8, "{graded}");
    assert!(unlikely("answerable") <= 0.05, "{graded}");
    // Other limits may be given; what fits is reported.
    let limits = scratch.path().join("limits.json");
    assert!(graded["grades"]["fitted"]["weak"].is_f64(), "{graded}");
    fs::write(&limits, r#"{"weak": 9.0, "strong": 9.0}"#).unwrap();
    let strict = ["--grades", text(&limits), "--json"];
    let answer = limn(&[&["search", "deep water", "--index", index], &strict[..]].concat()).ok();
    assert_eq!(answer["grade"], "unlikely", "{answer}");
    assert!(
        answer["notes"]
            .to_string()
            .contains("is likely to answer this"),
        "{answer}"
    );
    fs::write(&limits, r#"{"weak": 2}"#).unwrap();
    let refused = limn(&[&["search", "deep water", "--index", index], &strict[..]].concat());
    refused.code_is(2);
    assert!(refused.stderr.contains("limits of grades"), "{refused:?}");

    // A search says which table, where, why.
    let answer = limn(&[
        "search",
        "Which lakes were covered by ice?",
        "--index",
        index,
        "-k",
        "3",
        "--json",
    ])
    .ok();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    assert!(
        results
            .iter()
            .any(|hit| hit["table"] == "hydrology/lake_levels"),
        "{answer}"
    );
    for hit in results {
        for field in [
            "table", "lake", "location", "score", "lexical", "semantic", "judged", "blocks",
        ] {
            assert!(hit.get(field).is_some(), "{field} is missing: {hit}");
        }
        assert!(hit["location"].as_str().unwrap().starts_with(&lake));
        let blocks = hit["blocks"].as_array().unwrap();
        assert!(!blocks.is_empty());
        for block in blocks {
            assert!(
                block["score"].is_f64() && block["words"].is_array(),
                "{block}"
            );
        }
    }
    let people = limn(&[
        "search",
        "Which lakes were covered by ice?",
        "--index",
        index,
    ]);
    assert_eq!(people.code, 0);
    assert!(
        people.stdout.starts_with(" 1. ") && !people.stdout.contains('\u{1b}'),
        "{}",
        people.stdout
    );

    // A cell that only one table holds finds it, and is shown.
    let cell = limn(&[
        "search",
        "when did Juniper Static play?",
        "--index",
        index,
        "--json",
    ])
    .ok();
    assert_eq!(cell["results"][0]["table"], "music/concerts", "{cell}");
    let cells = &cell["results"][0]["blocks"];
    assert!(cells.to_string().contains("Juniper Static"), "{cell}");

    // A prefix is a path and confines; tables are listed by the same rule.
    let inside = limn(&[
        "search",
        "who borrowed a book?",
        "--index",
        index,
        "--prefix",
        "library/",
        "--json",
    ])
    .ok();
    let inside = inside["results"].as_array().unwrap();
    assert!(!inside.is_empty());
    assert!(
        inside
            .iter()
            .all(|hit| hit["table"].as_str().unwrap().starts_with("library/")),
        "{inside:?}"
    );
    let listed = |prefix: &str| {
        let tables = limn(&["tables", "--index", index, "--prefix", prefix, "--json"]).ok();
        tables.as_array().unwrap().len()
    };
    assert!(listed("library") > 0);
    assert_eq!(listed("library/"), listed("library"));
    assert_eq!(listed("librar"), 0, "not the beginning of a word");

    // Tables and one table.
    let tables = limn(&["tables", "--index", index, "--json"]).ok();
    assert_eq!(tables.as_array().unwrap().len(), 22);
    let shown = limn(&["show", "sensors/readings", "--index", index, "--json"]).ok();
    let columns: Vec<&str> = shown[0]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert!(
        columns.contains(&"year") && columns.contains(&"month"),
        "partition keys are columns: {columns:?}"
    );
    assert_eq!(shown[0]["rows"], 320);
    assert_eq!(shown[0]["sample"].as_array().unwrap().len(), 5);
    let unknown = limn(&["show", "sensors/reading", "--index", index]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("did you mean sensors/readings"),
        "{}",
        unknown.stderr
    );

    // Nothing changed: nothing is read, embedded or published. Registered contexts stay.
    let again = limn(&["index", &lake, "--index", index, "--json"]).ok();
    assert_eq!(
        (&again["snapshot"], &again["tables"]["unchanged"]),
        (&1.into(), &22.into()),
        "{again}"
    );
    assert_eq!(
        (
            &again["objects"]["read"],
            &again["model"]["embedded_blocks"]
        ),
        (&0.into(), &0.into()),
        "{again}"
    );

    // One edit: one table, one object.
    let edited = Path::new(&lake).join("hydrology/stations.tsv");
    let content = fs::read_to_string(&edited).unwrap();
    let line = content.lines().nth(1).unwrap();
    fs::write(&edited, format!("{content}{line}\n")).unwrap();
    let third = limn(&["index", &lake, "--index", index, "--json"]).ok();
    assert_eq!(
        (&third["tables"]["changed"], &third["objects"]["read"]),
        (&1.into(), &1.into()),
        "{third}"
    );
    assert_eq!(
        (&third["snapshot"], &third["tables"]["unchanged"]),
        (&2.into(), &21.into()),
        "{third}"
    );

    // A table that goes is found no more.
    fs::remove_file(Path::new(&lake).join("astronomy/variable_stars.csv")).unwrap();
    let fourth = limn(&["index", &lake, "--index", index, "--json"]).ok();
    assert_eq!(fourth["tables"]["removed"], 1, "{fourth}");
    let stars = limn(&[
        "search",
        "which stars vary in brightness?",
        "--index",
        index,
        "-k",
        "10",
        "--json",
    ])
    .ok();
    assert!(
        stars["results"]
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| hit["table"] != "astronomy/variable_stars")
    );
    let snapshots = limn(&["snapshots", "--index", index, "--json"]).ok();
    assert_eq!(snapshots.as_array().unwrap().len(), 3);
}

#[test]
fn a_question_about_nothing_in_the_lake_says_so() {
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("example.limn");
    let lake = repository().join("examples/lake");
    limn(&["index", text(&lake), "--index", text(&index), "--json"]).ok();
    let answer = limn(&[
        "search",
        "zxqv wrrgh blorptang",
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    assert!(answer["results"].as_array().unwrap().is_empty(), "{answer}");
    assert!(!answer["notes"].as_array().unwrap().is_empty(), "{answer}");
}
