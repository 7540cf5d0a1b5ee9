//! WHERE in parts: whatever is split has the rows of the whole.

use proptest::prelude::*;

use super::compiled;
use crate::plan::Operation;

/// A condition, and what it has to become: conditions without functions, filters, or a refusal.
#[derive(Clone, Debug)]
enum Condition {
    Plain(u8),
    Filter(u8),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Brackets(Box<Condition>),
}

impl Condition {
    fn sql(&self) -> String {
        match self {
            Condition::Plain(at) => format!("c{at} = 1"),
            Condition::Filter(at) => format!("sem_filter('{{c}} is {at}')"),
            // OR binds less than AND.
            Condition::And(a, b) => format!("{} AND {}", a.side(), b.side()),
            Condition::Or(a, b) => format!("{} OR {}", a.sql(), b.sql()),
            Condition::Brackets(inner) => format!("({})", inner.sql()),
        }
    }

    fn side(&self) -> String {
        match self {
            Condition::Or(..) => format!("({})", self.sql()),
            _ => self.sql(),
        }
    }

    fn has_filter(&self) -> bool {
        match self {
            Condition::Plain(_) => false,
            Condition::Filter(_) => true,
            Condition::And(a, b) | Condition::Or(a, b) => a.has_filter() || b.has_filter(),
            Condition::Brackets(inner) => inner.has_filter(),
        }
    }

    /// Whether rows of these values meet it: bits for columns, and for sentences that are true.
    fn holds(&self, plain: u8, filters: u8) -> bool {
        match self {
            Condition::Plain(at) => plain >> at & 1 == 1,
            Condition::Filter(at) => filters >> at & 1 == 1,
            Condition::And(a, b) => a.holds(plain, filters) && b.holds(plain, filters),
            Condition::Or(a, b) => a.holds(plain, filters) || b.holds(plain, filters),
            Condition::Brackets(inner) => inner.holds(plain, filters),
        }
    }

    fn is_split(&self) -> bool {
        match self {
            Condition::And(a, b) => a.is_split() && b.is_split(),
            Condition::Or(a, b) => !a.has_filter() && !b.has_filter(),
            Condition::Brackets(inner) => inner.is_split(),
            _ => true,
        }
    }
}

fn conditions() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        (0..4_u8).prop_map(Condition::Plain),
        (0..4_u8).prop_map(Condition::Filter),
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            3 => pair.clone().prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            1 => pair.prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
            1 => inner.prop_map(|it| Condition::Brackets(Box::new(it))),
        ]
    })
}

/// The condition that a text without functions is, read by itself.
fn read(sql: &str) -> Condition {
    let (query, mut open) = (sql.replace("= 1", ""), Vec::new());
    // Brackets first, then OR, then AND.
    let parts = |word: &str| {
        let (mut depth, mut from, mut parts) = (0_i32, 0, Vec::new());
        for (at, letter) in query.char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 && query[at..].starts_with(word) {
                parts.push(query[from..at].to_owned());
                from = at + word.len();
            }
        }
        parts.push(query[from..].to_owned());
        parts
    };
    for (word, is_or) in [(" OR ", true), (" AND ", false)] {
        let parts = parts(word);
        if parts.len() > 1 {
            open.extend(parts.iter().map(|it| read(it)));
            let join = |a, b| match is_or {
                true => Condition::Or(Box::new(a), Box::new(b)),
                false => Condition::And(Box::new(a), Box::new(b)),
            };
            return open.into_iter().reduce(join).unwrap();
        }
    }
    let bare = query.trim();
    match bare.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
        Some(inner) => read(inner),
        None => Condition::Plain(bare.trim_start_matches('c').parse().unwrap()),
    }
}

proptest! {
    #[test]
    fn conditions_are_split_so_that_the_same_rows_come_out(condition in conditions()) {
        let sql = format!("SELECT c FROM post WHERE {}", condition.sql());
        let stages = compiled(&sql);
        if !condition.has_filter() {
            prop_assert!(stages.unwrap().is_none());
            return Ok(());
        }
        prop_assert_eq!(stages.is_ok(), condition.is_split(), "{}", sql);
        let Ok(Some(stages)) = stages else {
            return Ok(());
        };
        let Operation::Sql(first) = &stages[0].operation else {
            panic!("{stages:?}");
        };
        let first = first.statement.split_once(" WHERE ").map(|it| read(it.1));
        let filters = stages[1..].iter().map(|stage| match &stage.operation {
            Operation::SemFilter(it) => it.instruction.to_string()[7..].parse::<u8>().unwrap(),
            other => panic!("{other:?}"),
        });
        let filters: Vec<u8> = filters.collect();
        for values in 0..=255_u8 {
            let (plain, judged) = (values & 15, values >> 4);
            let is_kept = first.as_ref().is_none_or(|it| it.holds(plain, 0))
                && filters.iter().all(|it| judged >> it & 1 == 1);
            prop_assert_eq!(is_kept, condition.holds(plain, judged), "{}", sql);
        }
    }
}
