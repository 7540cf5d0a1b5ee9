//! `limn context`: what people know of a table is added, listed and taken back, and costs that
//! table only.

use std::fs;
use std::path::{Path, PathBuf};

use limn_tests::{Run, index_hashed, limn, text};
use serde_json::Value;
use tempfile::TempDir;

/// The model-free embedder.
const HASHED: [&str; 2] = ["--embedder", "hashed-words"];

struct Desk {
    _scratch: TempDir,
    lake: PathBuf,
    index: PathBuf,
}

impl Desk {
    fn new() -> Desk {
        let scratch = TempDir::new().unwrap();
        let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
        fs::create_dir_all(lake.join("crm")).unwrap();
        let desk = Desk {
            _scratch: scratch,
            lake,
            index,
        };
        desk.write_churn();
        fs::write(desk.lake.join("sales.csv"), "day,amount\n2020-01-02,3\n").unwrap();
        desk.index();
        desk
    }

    fn churn(&self) -> PathBuf {
        self.lake.join("crm/churn.csv")
    }

    fn write_churn(&self) {
        fs::write(self.churn(), "customer,c90\n1,true\n2,false\n").unwrap();
    }

    fn context(&self, arguments: &[&str]) -> Run {
        let place = ["--index", text(&self.index), "--json"];
        limn(&[&["context"], arguments, &place].concat())
    }

    /// A change, and what it did.
    fn change(&self, arguments: &[&str]) -> Value {
        self.context(&[arguments, &HASHED].concat()).ok()
    }

    fn listed(&self) -> Vec<Value> {
        self.context(&["list"]).ok().as_array().unwrap().clone()
    }

    fn table(&self) -> Value {
        limn(&["show", "crm/churn", "--index", text(&self.index), "--json"]).ok()[0].clone()
    }

    fn index(&self) {
        index_hashed(&self.lake, &self.index, &[]).ok();
    }
}

fn texts(table: &Value) -> Vec<&str> {
    let contexts = table["contexts"].as_array().unwrap();
    contexts
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect()
}

fn write_note(folder: &Path, text: &str) -> PathBuf {
    let note = folder.join("note.md");
    fs::write(&note, text).unwrap();
    note
}

#[test]
fn a_text_is_added_listed_and_taken_back() {
    let desk = Desk::new();
    let report = desk.change(&["add", "crm/churn", "c90: left within ninety days"]);
    assert_eq!(report["tables"]["changed"], 1, "{report}");
    assert_eq!(report["objects"]["read"], 0, "{report}");
    let table = desk.table();
    assert_eq!(texts(&table), ["c90: left within ninety days"]);
    let described = &table["columns"][1]["description"];
    assert_eq!(described, "left within ninety days");
    let again = desk.change(&["add", "crm/churn", "c90: left within ninety days"]);
    assert_eq!(again["tables"]["changed"], 0, "{again}");

    let note = write_note(&desk.index, "Made by the desk of Berta.");
    desk.change(&["add", "crm/churn.csv", "--file", text(&note)]);
    let listed = desk.listed();
    let got: Vec<(&Value, &Value)> = listed
        .iter()
        .map(|it| (&it["about"], &it["number"]))
        .collect();
    assert_eq!(
        got,
        [
            (&"crm/churn".into(), &1.into()),
            (&"crm/churn.csv".into(), &1.into())
        ]
    );
    assert!(
        listed
            .iter()
            .all(|it| it["tables"] == serde_json::json!(["crm/churn"])),
        "{listed:?}"
    );
    // A nightly run keeps them.
    desk.index();
    assert_eq!(desk.listed(), listed);

    let report = desk.change(&["remove", "crm/churn", "1"]);
    assert_eq!(report["tables"]["changed"], 1, "{report}");
    assert_eq!(texts(&desk.table()), ["Made by the desk of Berta."]);
    assert!(desk.table()["columns"][1]["description"].is_null());
    desk.change(&["remove", "crm/churn.csv", "--all"]);
    assert_eq!(desk.listed(), Vec::<Value>::new());
    desk.index();
    assert!(texts(&desk.table()).is_empty());
}

#[test]
fn texts_are_numbered_from_the_oldest() {
    let desk = Desk::new();
    for text in ["m: the first", "c: the second", "a: the third"] {
        desk.change(&["add", "crm/churn", text]);
    }
    let numbered = || -> Vec<(u64, String)> {
        let listed = desk.listed();
        let of = |it: &Value| {
            (
                it["number"].as_u64().unwrap(),
                it["text"].as_str().unwrap().to_owned(),
            )
        };
        listed.iter().map(of).collect()
    };
    let of = |number: u64, text: &str| (number, text.to_owned());
    let expected = [
        of(1, "m: the first"),
        of(2, "c: the second"),
        of(3, "a: the third"),
    ];
    assert_eq!(numbered(), expected);
    desk.change(&["remove", "crm/churn", "2"]);
    assert_eq!(numbered(), [of(1, "m: the first"), of(2, "a: the third")]);
}

#[test]
fn a_text_of_a_removed_table_can_be_taken_back() {
    let desk = Desk::new();
    for words in ["It counts customers.", "Ask Berta."] {
        desk.change(&["add", "crm/churn", words]);
    }
    fs::remove_file(desk.churn()).unwrap();
    desk.index();
    let listed = desk.listed();
    assert_eq!(listed.len(), 2);
    assert!(
        listed
            .iter()
            .all(|it| it["tables"] == serde_json::json!([]))
    );
    assert_eq!(listed[1]["text"], "Ask Berta.");
    desk.change(&["remove", "crm/churn", "2"]);
    assert_eq!(desk.listed().len(), 1);
    desk.write_churn();
    desk.index();
    assert_eq!(texts(&desk.table()), ["It counts customers."]);
}

#[test]
fn what_cannot_be_meant_is_reported() {
    let desk = Desk::new();
    for (arguments, words) in [
        (&["add", "crm/chrun", "x"][..], "no table crm/chrun"),
        (&["add", "crm/churn", "  "], "empty"),
        (&["add", "crm/churn", "--file", "/nowhere/x"], "/nowhere/x"),
        (&["remove", "crm/churn", "1"], "nothing is registered"),
        (&["list", "nothing"], "no table nothing"),
    ] {
        let ran = desk.context(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    desk.change(&["add", "crm/churn", "It counts customers."]);
    let ran = desk.context(&["remove", "crm/churn", "7"]);
    assert!(ran.stderr.contains("no text 7"), "{}", ran.stderr);
}

#[test]
fn json_beside_a_table_describes_it_or_is_a_table() {
    let desk = Desk::new();
    let about = r#"{"title": "Orders of the shop", "columns": {"placed": "When it came, in UTC"}}"#;
    fs::write(desk.lake.join("orders.json"), about).unwrap();
    fs::write(desk.lake.join("parts.csv"), "part,weight\n1,2\n").unwrap();
    fs::write(
        desk.lake.join("parts.json"),
        "[{\"part\": 1, \"weight\": 2}, {\"part\": 2, \"weight\": 3}]",
    )
    .unwrap();
    desk.index();
    let shown = |table: &str| limn(&["show", table, "--index", text(&desk.index), "--json"]);
    // Alone, one object is a document.
    assert_ne!(shown("orders").code, 0);
    // Rows are no description.
    assert_eq!(shown("parts.json").ok()[0]["rows"], 2);
    assert_eq!(texts(&shown("parts.csv").ok()[0]), [""]);

    fs::write(
        desk.lake.join("orders.csv"),
        "id,placed\n1,2020-01-02\n2,2020-01-03\n",
    )
    .unwrap();
    index_hashed(&desk.lake, &desk.index, &[]);
    let table = shown("orders.csv").ok()[0].clone();
    assert_eq!(texts(&table), [about]);
    assert_eq!(table["columns"][1]["description"], "When it came, in UTC");

    fs::remove_file(desk.lake.join("orders.csv")).unwrap();
    desk.index();
    assert_ne!(shown("orders").code, 0);
    assert_ne!(shown("orders.csv").code, 0);
}
