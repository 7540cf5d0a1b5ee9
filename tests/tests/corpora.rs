//! Retrieval quality on corpora that are kept beside the repository: ignored by `cargo test`, run
//! by `infra/test` where they are. The large ones are measured by `tests/bench/corpora.py` instead.

use limn_tests::{corpora, limn, text};
use serde_json::Value;
use tempfile::TempDir;

/// Indexes a corpus with the default configuration and asks all its questions.
fn measure(corpus: &str) -> Value {
    let folder = corpora().join(corpus);
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    limn(&[
        "index",
        text(&folder.join("tables")),
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    let questions = folder.join("questions.jsonl");
    limn(&[
        "eval",
        "--index",
        text(&index),
        "--questions",
        text(&questions),
        "-k",
        "1,5",
        "--json",
    ])
    .ok()
}

fn at_least(scores: &Value, k: &str, share: &str, floor: f64) {
    let got = 100.0 * scores["k"][k][share].as_f64().unwrap();
    assert!(
        got >= floor,
        "{share}@{k} is {got:.1}, below {floor}: {scores}"
    );
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn bird_schema_is_answered_as_promised() {
    let scores = measure("bird_schema");
    at_least(&scores, "1", "hit", 87.0);
    at_least(&scores, "5", "hit", 98.2);
    at_least(&scores, "5", "full", 81.3);
}

#[test]
#[ignore = "needs ../shared/corpora"]
fn spider_is_answered_as_promised() {
    let scores = measure("spider");
    at_least(&scores, "1", "hit", 82.5);
    at_least(&scores, "5", "hit", 97.6);
    at_least(&scores, "5", "full", 90.5);
}

/// Questions for what a column means, in words that its name lacks: the question, the table, the
/// column, words of its description.
const MEANINGS: [(&str, &str, &str, &str); 10] = [
    (
        "where does an employee stand in the corporate hierarchy",
        "Employee",
        "OrganizationNode",
        "corporate hierarchy",
    ),
    (
        "minimum charge for shipping",
        "ShipMethod",
        "ShipBase",
        "Minimum shipping charge",
    ),
    (
        "hourly cost of a manufacturing location",
        "Location",
        "CostRate",
        "Standard hourly cost",
    ),
    (
        "time between placing an order with the vendor and receiving the product",
        "ProductVendor",
        "AverageLeadTime",
        "average span of time",
    ),
    (
        "tracking number supplied by the shipper",
        "SalesOrderDetail",
        "CarrierTrackingNumber",
        "supplied by the shipper",
    ),
    (
        "random value concatenated with the password before it is hashed",
        "Password",
        "PasswordSalt",
        "Random value",
    ),
    (
        "how deep is a document in the hierarchy of documents",
        "Document",
        "DocumentLevel",
        "Depth in the document hierarchy",
    ),
    (
        "resumes of applicants in XML",
        "JobCandidate",
        "Resume",
        "XML format",
    ),
    (
        "storage compartment within an inventory location",
        "ProductInventory",
        "Shelf",
        "Storage compartment",
    ),
    (
        "the exact statement that a trigger recorded",
        "DatabaseLog",
        "TSQL",
        "Transact-SQL",
    ),
];

#[test]
#[ignore = "needs ../shared/corpora"]
fn what_a_column_means_leads_to_its_table() {
    let folder = corpora().join("adventureworks");
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    limn(&[
        "index",
        text(&folder.join("tables")),
        "--index",
        text(&index),
        "--contexts",
        text(&folder.join("contexts.jsonl")),
        "--json",
    ])
    .ok();
    for (question, table, column, words) in MEANINGS {
        let described = limn(&["show", table, "--index", text(&index), "--json"]).ok();
        let columns = described[0]["columns"].as_array().unwrap();
        let of_column = columns.iter().find(|it| it["name"] == column).unwrap();
        let description = of_column["description"].as_str().unwrap_or_default();
        assert!(
            description.contains(words),
            "{table}.{column}: {description}"
        );
        let answer = limn(&["search", question, "--index", text(&index), "--json"]).ok();
        let first = &answer["results"][0];
        assert_eq!(first["table"], table, "{question}: {answer}");
    }
}
