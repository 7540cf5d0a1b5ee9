//! The examples of `docs/plan.md` are plans and stages.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use limn_ask::plan::{Plan, Stage};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/plan.md");

#[test]
fn the_examples_of_the_page_can_be_read() {
    let (_, block) = PAGE.split_once("```json\n").unwrap();
    let (block, rest) = block.split_once("```").unwrap();
    let plan: Plan = serde_json::from_str(block).unwrap();
    assert!(plan.stage(&plan.answer).is_some());
    let stages = rest
        .lines()
        .filter_map(|line| line.strip_prefix("`{\"name\": "));
    let mut shown = BTreeSet::new();
    for stage in stages {
        let written = format!("{{\"name\": {}", stage.trim_end_matches('`'));
        let Ok(stage) = serde_json::from_str::<Stage>(&written) else {
            // A column, which has no operation.
            let column: Value = serde_json::from_str(&written).unwrap();
            assert!(column.get("type").is_some(), "{written}");
            continue;
        };
        let word = stage.operation.word();
        // The page's table has every field of the example.
        let row = rest
            .lines()
            .find(|line| line.starts_with(&format!("| `{word}` |")))
            .unwrap();
        let value = serde_json::to_value(&stage).unwrap();
        for field in value[word].as_object().unwrap().keys() {
            assert!(row.contains(&format!("`{field}`")), "{word}: {field}");
        }
        shown.insert(word);
    }
    assert_eq!(shown.len(), 8);
}
