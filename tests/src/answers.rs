//! What two indexes are compared by.

use std::path::Path;

use serde_json::Value;

use crate::{limn, text};

/// What the lake of [`crate::lake::varied`] is asked.
const QUESTIONS: [&str; 7] = [
    "How many hours of sick leave did employees take?",
    "songs by John Coltrane",
    "orders of customer Nakamura above 20",
    "water level of the river Aare by month",
    "moons of Jupiter",
    "Swiss cheese",
    "daily sales amount",
];

/// All answers of an index and all its catalog says, without what names the run (segments, times).
pub fn everything(index: &Path) -> Vec<Value> {
    let mut all: Vec<Value> = QUESTIONS
        .iter()
        .map(|question| {
            let mut answer = limn(&[
                "search",
                question,
                "--index",
                text(index),
                "-k",
                "20",
                "--json",
            ])
            .ok();
            answer["snapshot"] = Value::Null;
            answer
        })
        .collect();
    let tables = limn(&["tables", "--index", text(index), "--json"]).ok();
    for table in tables.as_array().unwrap() {
        let mut shown = limn(&[
            "show",
            table["table"].as_str().unwrap(),
            "--index",
            text(index),
            "--json",
        ])
        .ok();
        for row in shown.as_array_mut().unwrap() {
            for field in ["segment", "first_block", "indexed_ms"] {
                row[field] = Value::Null;
            }
        }
        all.push(shown);
    }
    all
}
