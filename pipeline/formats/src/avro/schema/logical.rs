//! Logical types: values of other types by what a schema adds to them.

use serde_json::{Map, Value, json};

use super::Node;

/// The attributes of a logical type, if it is one of those that have values of their own and in
/// order. Identifiers in text stay text.
pub(super) fn logical(node: &Node, object: &Map<String, Value>) -> Map<String, Value> {
    let none = Map::new();
    let Some(kind) = object.get("logicalType").and_then(Value::as_str) else {
        return none;
    };
    let number = |name: &str| object.get(name).and_then(Value::as_u64);
    let fits = match (node, kind) {
        (Node::Int, "date" | "time-millis") => true,
        (Node::Long, "time-micros") => true,
        (
            Node::Long,
            "timestamp-millis"
            | "timestamp-micros"
            | "timestamp-nanos"
            | "local-timestamp-millis"
            | "local-timestamp-micros"
            | "local-timestamp-nanos",
        ) => true,
        (Node::Fixed(12), "duration") => true,
        (Node::Bytes | Node::Fixed(_), "decimal") => {
            let (precision, scale) = (number("precision"), number("scale").unwrap_or(0));
            let digits = match node {
                // log10(2^(8n − 1)), rounded down.
                Node::Fixed(size) => (((8 * size).max(1) - 1) as f64 * 2f64.log10()) as u64,
                _ => 76,
            };
            let precision = precision.filter(|precision| (1..=digits.min(76)).contains(precision));
            if let Some(precision) = precision.filter(|precision| scale <= *precision) {
                let decimal = json!({"logicalType": kind, "precision": precision, "scale": scale});
                return decimal.as_object().cloned().unwrap_or_default();
            }
            false
        }
        _ => false,
    };
    if fits {
        Map::from_iter([("logicalType".to_owned(), json!(kind))])
    } else {
        none
    }
}
