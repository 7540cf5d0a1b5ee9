use limn_segment::TableRecord;

use super::*;
use crate::columns::drafts::{table, values};

fn candidate(name: &str, score: f32) -> Candidate {
    let row = TableRecord {
        lake: "/lake".to_owned(),
        name: name.to_owned(),
        ..TableRecord::default()
    };
    let columns = TableColumns::of_row(&row).unwrap_or_else(|error| panic!("{error}"));
    Candidate {
        score,
        columns: Arc::new(columns),
    }
}

#[test]
fn tables_count_more_where_the_first_one_lies() {
    let of = |names: [&str; 3]| {
        let scored = names.iter().zip([3.0, 2.0, 1.0]);
        scores(
            &scored
                .map(|(name, score)| candidate(name, score))
                .collect::<Vec<_>>(),
            &[],
        )
    };
    let (near, far) = (0.5 + AT_HOME, 0.5);
    assert_eq!(
        of(["shop/orders", "crm/people", "shop/lines"]),
        [1.0 + AT_HOME, far, AT_HOME]
    );
    assert_eq!(
        of(["shop__orders", "shop__lines", "crm__people"]),
        [1.0 + AT_HOME, near, 0.0]
    );
    // One folder: nothing is decided by it.
    assert_eq!(of(["a", "b", "c"]), [1.0 + AT_HOME, near, AT_HOME]);
}

#[test]
fn what_surely_joins_the_first_table_counts_as_lying_with_it() {
    let candidates = [
        candidate("erp/orders", 3.0),
        candidate("crm/people", 2.0),
        candidate("ops/events", 1.0),
    ];
    let column = |table: &str| ColumnOf {
        table: table.to_owned(),
        lake: "/lake".to_owned(),
        column: "id".to_owned(),
    };
    let joined = |second: usize, basis: Basis, weight: f64| Joined {
        first: 0,
        second,
        join: Arc::new(crate::join::Join {
            left: column("erp/orders"),
            right: column("crm/people"),
            more: Vec::new(),
            cardinality: crate::join::Cardinality::ManyToOne,
            containment: None,
            evidence: String::new(),
            basis,
            weight,
        }),
    };
    let near = [1.0 + AT_HOME, 0.5 + AT_HOME, 0.0];
    let far = [1.0 + AT_HOME, 0.5, 0.0];
    assert_eq!(scores(&candidates, &[joined(1, Basis::Graph, 0.6)]), near);
    assert_eq!(scores(&candidates, &[joined(1, Basis::Graph, 0.4)]), far);
    assert_eq!(scores(&candidates, &[joined(1, Basis::Values, 0.9)]), far);
}

#[test]
fn a_list_of_codes_joins_nothing_that_has_other_codes() {
    let code = |prefix: &'static str| move |n: usize| format!("{prefix}{}", n % 9);
    let both = |n: usize| match n < 9 {
        true => format!("S{n}"),
        false => format!("T{}", n - 9),
    };
    let id = |prefix: &'static str| move |n: usize| format!("{prefix}-{n:04}");
    let trucks = || {
        vec![
            ("plate", values(60, id("P"))),
            ("state", values(60, code("T"))),
        ]
    };
    let codes = || vec![("code", values(18, both)), ("meaning", values(18, id("M")))];
    let found = |segment: &'static str, more: Option<(&'static str, Vec<String>)>| {
        let mut customers = vec![
            ("number", values(90, id("C"))),
            ("segment", values(90, code(segment))),
        ];
        customers.extend(more);
        let tables = [
            table("trucks", &trucks()),
            table("customers", &customers),
            table("codes", &codes()),
        ];
        let candidates = tables.map(|columns| Candidate {
            score: 1.0,
            columns,
        });
        let sets = Sets::new(Arc::new(limn_models::HashedWords));
        sets.find(&candidates, &[], SetSize::Given(3), &KnownJoins::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    // States of trucks and segments of customers are other codes of the same list.
    let plan = found("S", None).plan;
    assert_eq!(plan.joins.len(), 1, "{:?}", plan.joins);
    assert_eq!(plan.disconnected.len(), 1);
    assert!(plan.warnings.iter().any(|it| it.contains("was left out")));
    // A row with a code that two kinds have finds both.
    let kinds = vec![
        (
            "kind",
            values(18, |n| ["state", "segment"][n / 9].to_owned()),
        ),
        ("code", values(18, |n| format!("S{}", n % 10))),
    ];
    let warned = |segments: usize| {
        let segment = move |n: usize| format!("S{}", n % segments);
        let tables = [
            table("customers", &[("segment", values(90, segment))]),
            table("codes", &kinds),
        ];
        let candidates = tables.map(|columns| Candidate {
            score: 1.0,
            columns,
        });
        let sets = Sets::new(Arc::new(limn_models::HashedWords));
        let found = sets.find(&candidates, &[], SetSize::Given(2), &KnownJoins::default());
        let plan = found.unwrap_or_else(|error| panic!("{error}")).plan;
        assert_eq!(plan.joins.len(), 1);
        let expected = "a condition on codes.kind takes those of one";
        plan.warnings.iter().any(|it| it.contains(expected))
    };
    assert!(warned(5));
    // Of rows that have most of the codes, the other side is no list of codes.
    assert!(!warned(9));
    // Where they have the same codes, rows go together.
    assert_eq!(found("T", None).plan.joins.len(), 2);
    // What joins otherwise stays.
    let plates = ("plate", values(90, |n| format!("P-{:04}", n % 60)));
    assert_eq!(found("S", Some(plates)).plan.joins.len(), 2);
}
