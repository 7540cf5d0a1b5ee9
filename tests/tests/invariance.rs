//! Any number of workers, shards and epochs, one answer: identical documents, tables and scores.

use limn_tests::answers::everything;
use limn_tests::{index_hashed, lake, limn, repository, text};
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn workers_and_shards_do_not_change_documents_or_scores() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let mut first: Option<Vec<Value>> = None;
    for (workers, shards) in [("1", "1"), ("4", "1"), ("1", "8"), ("4", "8")] {
        let index = scratch.path().join(format!("w{workers}s{shards}.limn"));
        let report = index_hashed(&lake, &index, &["--workers", workers, "--shards", shards]).ok();
        assert_eq!(report["tables"]["added"], 7, "{report}");
        let found = everything(&index);
        match &first {
            None => first = Some(found),
            Some(first) => assert_eq!(
                *first, found,
                "{workers} workers, {shards} shards differ from 1 and 1"
            ),
        }
    }
}

#[test]
fn the_real_embedder_gives_the_same_scores_over_shards_and_workers() {
    let scratch = TempDir::new().unwrap();
    let lake = repository().join("examples/lake");
    let mut scores: Vec<Vec<Value>> = Vec::new();
    for (workers, shards, threads) in [("1", "1", "1"), ("4", "8", "2")] {
        let index = scratch.path().join(format!("s{shards}.limn"));
        let arguments = [
            "index",
            text(&lake),
            "--index",
            text(&index),
            "--workers",
            workers,
            "--shards",
            shards,
            "--embed-threads",
            threads,
            "--json",
        ];
        limn(&arguments).ok();
        let answers =
            ["Which lakes froze?", "late trams", "who borrowed a book?"].map(|question| {
                let answer = limn(&[
                    "search",
                    question,
                    "--index",
                    text(&index),
                    "-k",
                    "10",
                    "--json",
                ])
                .ok();
                answer["results"].clone()
            });
        scores.push(answers.to_vec());
    }
    assert_eq!(scores[0], scores[1]);
}

#[test]
fn a_lake_of_many_epochs_is_indexed_whole_and_like_one_of_one_epoch() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let (one, many) = (
        scratch.path().join("one.limn"),
        scratch.path().join("many.limn"),
    );
    index_hashed(&lake, &one, &[]).ok();
    let report = index_hashed(&lake, &many, &["--epoch-objects", "1"]).ok();
    assert_eq!(report["tables"]["added"], 7, "{report}");
    assert!(
        // Two tables are of one group.
        report["snapshot"].as_u64().unwrap() >= 6,
        "an epoch a group: {report}"
    );
    assert_eq!(everything(&one), everything(&many));
}

#[test]
fn an_index_grown_by_edits_answers_like_one_built_anew() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let grown = scratch.path().join("grown.limn");
    index_hashed(&lake, &grown, &[]).ok();
    // Edit, rename, add a partition, drop a table, break a family, change a context.
    lake::write(
        &lake,
        "hr/employees.csv",
        "EmployeeID,FullName,VacationDays\n1,Ada Byron,20\n4,Barbara Liskov,25\n",
    );
    std::fs::rename(
        lake.join("music/songs.tsv"),
        lake.join("music/recordings.tsv"),
    )
    .unwrap();
    lake::write_parquet(&lake, "rivers/year=2024/month=04/data.parquet", 12);
    std::fs::remove_file(lake.join("shop/orders.jsonl")).unwrap();
    lake::write(&lake, "exports/sales_2025.csv", "person,remark\nAda,late\n");
    lake::write(
        &lake,
        "hr/employees.md",
        "Everyone on the payroll, with vacation days left.",
    );
    let report = index_hashed(&lake, &grown, &[]).ok();
    // employees, rivers changed; songs, orders, and the directory table exports went; recordings
    // and the three sales files came.
    assert_eq!(
        (
            report["tables"]["changed"].as_u64(),
            report["tables"]["removed"].as_u64(),
            report["tables"]["added"].as_u64()
        ),
        (Some(2), Some(3), Some(4)),
        "{report}"
    );
    assert_eq!(
        report["objects"]["read"].as_u64(),
        Some(4),
        "only new and edited files are read: {report}"
    );
    let anew = scratch.path().join("anew.limn");
    index_hashed(&lake, &anew, &[]).ok();
    assert_eq!(everything(&grown), everything(&anew));
}

#[test]
fn a_run_leaves_other_lakes_in_the_index_alone() {
    let scratch = TempDir::new().unwrap();
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    lake::write(&one, "planets.csv", "planet,moons\nMars,2\nJupiter,95\n");
    lake::write(&two, "cheeses.csv", "cheese,country\nBrie,France\n");
    let index = scratch.path().join("both.limn");
    index_hashed(&one, &index, &[]).ok();
    index_hashed(&two, &index, &[]).ok();
    std::fs::remove_file(two.join("cheeses.csv")).unwrap();
    lake::write(&two, "wines.csv", "wine,region\nRioja,Spain\n");
    let report = index_hashed(&two, &index, &[]).ok();
    assert_eq!(
        (&report["tables"]["added"], &report["tables"]["removed"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    let tables = limn(&["tables", "--index", text(&index), "--json"]).ok();
    let names: Vec<&str> = tables
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["table"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["planets", "wines"]);
}
