//! Column names made unique, and compared.

use std::collections::{HashMap, HashSet};

/// A name as files of one table may all spell it: without case, blanks, underscores and hyphens.
/// `Order No` and `order_no` are one column.
pub fn spelt(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    match letters.is_empty() {
        true => name.to_owned(),
        false => letters,
    }
}

/// Calls nameless columns `column_3` by their place, and makes repeated names unique: `name`,
/// `name_2`.
pub fn distinct(tidied: &[impl AsRef<str>]) -> Vec<String> {
    // A made-up name must not take one that a later column has by right.
    let given: HashSet<&str> = tidied.iter().map(AsRef::as_ref).collect();
    let mut taken: HashSet<String> = HashSet::with_capacity(tidied.len());
    let mut names = Vec::with_capacity(tidied.len());
    // The last number that a name was given: thousands of columns may have the same one.
    let mut last: HashMap<String, usize> = HashMap::new();
    for (i, name) in tidied.iter().map(AsRef::as_ref).enumerate() {
        let base = if name.is_empty() {
            format!("column_{}", i + 1)
        } else {
            name.to_owned()
        };
        let mut candidate = base.clone();
        let mut n = last.get(&base).copied().unwrap_or(1);
        while taken.contains(&candidate)
            || (candidate != name && given.contains(candidate.as_str()))
        {
            n += 1;
            candidate = format!("{base}_{n}");
        }
        if n > 1 {
            last.insert(base, n);
        }
        taken.insert(candidate.clone());
        names.push(candidate);
    }
    names
}
