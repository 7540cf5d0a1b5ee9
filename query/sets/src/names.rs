//! Names of tables and columns as words.

use limn_retrieval::own_name;
use limn_segment::analyzer::analyze;

/// The words of a name, in lower case and as they are written: `order_id` and `OrderID` are `order
/// id`.
pub(crate) fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut before: Option<char> = None;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            before = None;
            continue;
        }
        let is_hump = c.is_uppercase() && before.is_some_and(char::is_lowercase);
        if (before.is_none() || is_hump) && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
        before = Some(c);
    }
    words
}

/// What stands behind the last slash of a table's name.
pub(crate) fn last_part(table: &str) -> &str {
    table.rsplit('/').next().unwrap_or(table)
}

/// The distinct stems of a name, sorted.
pub(crate) fn stems(name: &str) -> Vec<String> {
    let mut stems = analyze(name);
    stems.sort_unstable();
    stems.dedup();
    stems
}

/// How many words of the shorter of two names the longer has, as a share: 0 to 1.
pub(crate) fn overlap(a: &[String], b: &[String]) -> f64 {
    let shared = a
        .iter()
        .filter(|word| b.binary_search(word).is_ok())
        .count();
    shared as f64 / a.len().min(b.len()).max(1) as f64
}

/// How many words two tables' names begin with alike, as a share of the shorter: tables of one
/// folder, or with one prefix, are about one thing.
pub(crate) fn kinship(a: &str, b: &str) -> f64 {
    let (a, b) = (words(a), words(b));
    let shared = a.split(' ').zip(b.split(' ')).take_while(|(a, b)| a == b);
    let shorter = a.split(' ').count().min(b.split(' ').count());
    shared.count() as f64 / shorter.max(1) as f64
}

/// Words that name a column of whatever table: with its table's name they say something.
const OF_ANY_TABLE: [&str; 9] = [
    "id", "key", "code", "no", "number", "name", "uid", "uuid", "pk",
];

/// A column's name; that of its table before it where it says nothing by itself.
pub(crate) fn qualified(table: &str, column: &str) -> String {
    let column = words(column);
    if !OF_ANY_TABLE.contains(&column.as_str()) {
        return column;
    }
    format!("{} {column}", words(own_name(table)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert_eq!(words("OrderID"), "order id");
        assert_eq!(words("sales/2024-orders__v2"), "sales 2024 orders v2");
        assert_eq!(words("__"), "");
        assert_eq!(qualified("lake/shop__Orders", "ID"), "orders id");
        assert_eq!(qualified("orders", "customer_id"), "customer id");
        let (orders, id) = (stems("orders id"), stems("order_id"));
        assert_eq!(overlap(&orders, &id), 1.0);
        assert_eq!(overlap(&[], &id), 0.0);
        assert_eq!(kinship("shop__orders", "shop__lines"), 0.5);
        assert_eq!(kinship("a/b/c", "x/b/c"), 0.0);
    }
}
