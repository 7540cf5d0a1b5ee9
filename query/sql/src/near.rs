//! Names that are most like one that does not exist.

use std::collections::BTreeSet;

/// Names that are suggested, at most.
const SUGGESTED: usize = 3;
/// Letters of a name that may be wrong, at most, and one in so many.
const WRONG: usize = 2;
const ONE_IN: usize = 3;

/// Letters of a name that others are suggested for: comparing longer ones takes long.
const LETTERS: usize = 200;

/// The names that are most like `wanted`: in another case, written with other separators, without
/// the folders before it, with a few letters wrong, or going on where it ends.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.trim_matches('/').to_lowercase();
    if wanted.is_empty() || wanted.chars().count() > LETTERS {
        return Vec::new();
    }
    let mut found: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in names {
        found.extend(unlikeness(&wanted, &name.to_lowercase()).map(|it| (it, name)));
    }
    let least = found.first().map(|it| it.0);
    let alike = found.into_iter().filter(|it| Some(it.0) == least);
    alike.map(|it| it.1.to_owned()).take(SUGGESTED).collect()
}

fn unlikeness(wanted: &str, name: &str) -> Option<usize> {
    let end = last_part(name);
    let wanted_end = last_part(wanted);
    let wrong = wrong_letters(wanted, name).min(wrong_letters(wanted, end));
    match wrong {
        _ if name == wanted => Some(0),
        _ if end == wanted || bare(name) == bare(wanted) => Some(1),
        _ if wrong <= WRONG && wrong * ONE_IN <= wanted.chars().count() => Some(1 + wrong),
        _ if end.starts_with(wanted) || end == wanted_end => Some(4),
        _ if end.contains(wanted) => Some(5),
        _ => None,
    }
}

/// The letters that are wrong, where they may be few enough: names whose lengths differ by more are
/// not compared.
fn wrong_letters(a: &str, b: &str) -> usize {
    let (length, other) = (a.chars().count(), b.chars().count());
    match length.abs_diff(other) > WRONG {
        true => usize::MAX,
        false => strsim::osa_distance(a, b),
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Letters and digits only: `customer_id` and `Customer ID` are the same.
fn bare(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn names_that_are_nearly_right_are_suggested() {
        let names = [
            "sales/2024/orders",
            "crm/churn",
            "CustomerID",
            "finance",
            "amount",
        ];
        for (wanted, suggested) in [
            ("chrun", &["crm/churn"][..]),
            ("orders", &["sales/2024/orders"]),
            ("hr/churn", &["crm/churn"]),
            ("customer_id", &["CustomerID"]),
            ("fin", &["finance"]),
            ("AMOUNT", &["amount"]),
            ("weather", &[]),
            ("", &[]),
        ] {
            assert_eq!(near(wanted, names.into_iter()), suggested, "{wanted}");
        }
    }

    #[test]
    fn names_that_are_very_long_are_not_compared() {
        let names: Vec<String> = (0..20)
            .map(|it| format!("{}{it}", "b".repeat(200_000)))
            .collect();
        let begun = std::time::Instant::now();
        let wanted = "a".repeat(200_000);
        assert!(near(&wanted, names.iter().map(String::as_str)).is_empty());
        let wanted = "a".repeat(200);
        assert!(near(&wanted, names.iter().map(String::as_str)).is_empty());
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
