//! Edges of small tables, and candidates of few and of many.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_profile::{ColumnBuilder, ValueSet};

use crate::{
    Band, Cardinality, Column, ColumnFacts, Compared, Edge, EdgeKind, Evidence, FEW, Kind, Meeting,
    Member, Millionths, Part, Place, Reference, Table, TableId, Way, bands, candidates,
    changed_candidates, compare, look_up_band, lookups, name_hash, value_counts,
};

/// A table of columns: name and cells.
fn table(name: &str, columns: &[(&str, Vec<String>)]) -> Table {
    let made = columns.iter().enumerate().map(|(at, (column, cells))| {
        let mut builder = ColumnBuilder::new(*column);
        cells.iter().for_each(|cell| builder.push(Some(cell)));
        let profile = builder.finish(true).profile;
        let numbers: Option<Vec<i64>> = cells.iter().map(|it| it.parse().ok()).collect();
        let range = numbers.and_then(|it| Some((*it.iter().min()?, *it.iter().max()?)));
        Column::new(ColumnFacts {
            place: Place(at as u16),
            name: column,
            kind: if range.is_some() {
                Kind::Whole
            } else {
                Kind::Text
            },
            uniqueness: profile.uniqueness(),
            range,
            values: ValueSet::of(&profile.frequent, profile.distinct(), true),
            counts: value_counts(profile.frequent.sample()),
            lookups: lookups(profile.frequent.sample().map(|it| it.0)),
        })
    });
    let made = made.collect();
    let names: Vec<&str> = columns.iter().map(|it| it.0).collect();
    let rows = columns.first().map_or(0, |it| it.1.len() as u64);
    Table::new(TableId::of("lake", name), name, rows, &names, made)
}

fn cells(range: std::ops::Range<u32>, cell: impl Fn(u32) -> String) -> Vec<String> {
    range.map(cell).collect()
}

/// The edges of two tables, by way of their bands.
fn edges(one: &Table, other: &Table) -> Vec<Edge> {
    let (one, other) = if one.id < other.id {
        (one, other)
    } else {
        (other, one)
    };
    edges_with(one, other, &[])
}

/// The same, where these columns are under more bands.
fn edges_with(one: &Table, other: &Table, more: &[(Band, Member)]) -> Vec<Edge> {
    let mut met: std::collections::BTreeMap<_, Vec<Member>> = Default::default();
    let bands = [one, other].into_iter().flat_map(bands);
    for (band, member) in bands.chain(more.iter().copied()) {
        met.entry(band).or_default().push(member);
    }
    let mut pairs: std::collections::BTreeMap<_, Compared> = Default::default();
    for members in met.values_mut() {
        members.sort_unstable();
        candidates(members, |Meeting { pair, way }| {
            let (one, other) = (pair.0.place(), pair.1.place());
            let met = pairs.entry((one, other)).or_default();
            (met.one, met.other) = (one, other);
            met.one_in_other += u16::from(way == Way::LowerInHigher);
            met.other_in_one += u16::from(way == Way::HigherInLower);
        });
    }
    compare(one, other, &pairs.into_values().collect::<Vec<_>>())
}

#[test]
fn a_reference_is_found_by_values_whatever_the_names() {
    let customers = table(
        "customers",
        &[("code", cells(0..500, |at| format!("C{at:05}")))],
    );
    let orders = table(
        "orders",
        &[("buyer", cells(0..2_000, |at| format!("C{:05}", at % 300)))],
    );
    let [edge] = edges(&customers, &orders).try_into().unwrap();
    assert_eq!((edge.left, edge.right), (orders.id, customers.id));
    assert_eq!(edge.cardinality, Cardinality::ManyToOne);
    assert_eq!(edge.evidence, Evidence::Values);
    assert!(edge.containment > Millionths::of(0.99));
}

/// The bands of what a small table looks up in a large key.
fn looked_up(small: &Table, large: &Table, held: impl Fn(usize) -> bool) -> Vec<(Band, Member)> {
    let looks = small.columns.iter().flat_map(|column| {
        let id = small.id.column(column.place);
        let lookups = column.lookups.iter();
        lookups.map(move |it| (*it, id, Part::Looks))
    });
    let looks: Vec<_> = looks.collect();
    let key = large.id.column(Place(0));
    let holds = looks.iter().enumerate().filter(|(at, _)| held(*at));
    let holds = holds.map(|(_, it)| (it.0, key, Part::Holds));
    let all: Vec<_> = looks.iter().copied().chain(holds).collect();
    let member = |(hash, column, part)| (look_up_band(hash), Member { column, part });
    all.into_iter().map(member).collect()
}

#[test]
fn a_small_column_is_found_in_a_key_of_very_many_values_by_what_it_looked_up() {
    let large = |name: &str, step: u32, prefix: &'static str| {
        let values = cells(0..40_000, move |at| {
            format!("{prefix}{}", 100_000 + at * step)
        });
        table(name, &[("code", values)])
    };
    let small = |column: &'static str, prefix: &'static str, every: u32| {
        let values = cells(0..90, move |at| {
            format!("{prefix}{}", 100_000 + at % 30 * every)
        });
        table("orders", &[(column, values)])
    };
    let customers = large("customers", 997, "C");
    let orders = small("buyer", "C", 997);
    assert_eq!(edges(&customers, &orders), [], "no sampled value is shared");
    let all = looked_up(&orders, &customers, |_| true);
    let [edge] = edges_with(&customers, &orders, &all).try_into().unwrap();
    assert_eq!((edge.left, edge.right), (orders.id, customers.id));
    assert_eq!(edge.evidence, Evidence::Values);
    // 16 of 30 values were looked up: the share is estimated, with its bound.
    assert_eq!(edge.containment, Millionths::ONE);
    assert!(edge.containment_low > Millionths::of(0.8));
    assert!(edge.containment_low < Millionths::ONE);
    let few = looked_up(&orders, &customers, |at| at < 7);
    assert_eq!(edges_with(&customers, &orders, &few), []);

    // A full range of numbers has any number by chance: names have to agree.
    let (full, sparse) = (large("customers", 1, ""), large("customers", 997, ""));
    let [amounts, codes] = ["amount", "customer_code"].map(|it| small(it, "", 1));
    let found = |small: &Table, large: &Table| {
        edges_with(large, small, &looked_up(small, large, |_| true)).len()
    };
    assert_eq!((found(&amounts, &full), found(&codes, &full)), (0, 1));
    assert_eq!(found(&amounts, &sparse), 1);
}

#[test]
fn what_any_table_has_makes_no_edges() {
    let numbers = |count: u32| cells(0..count, |at| at.to_string());
    let flags = |count: u32| cells(0..count, |at| (at % 2).to_string());
    let one = |column, cells| table("one", &[(column, cells)]);
    let other = |column, cells| table("other", &[(column, cells)]);
    // Row numbers, flags, constants, and columns without values.
    assert_eq!(
        edges(&one("id", numbers(50)), &other("id", numbers(80))),
        []
    );
    assert_eq!(
        edges(&one("n", numbers(50)), &other("size", numbers(80))),
        []
    );
    assert_eq!(edges(&one("paid", flags(50)), &other("n", numbers(80))), []);
    let constant = |count: u32| cells(0..count, |_| "EUR".to_owned());
    assert_eq!(
        edges(
            &one("currency", constant(9)),
            &other("currency", constant(7))
        ),
        []
    );
    assert_eq!(edges(&one("a", Vec::new()), &other("a", Vec::new())), []);
}

#[test]
fn sequences_join_by_their_names() {
    let numbers = |count: u32, every: u32| cells(0..count, move |at| (at / every).to_string());
    let customers = table(
        "customers",
        &[("id", numbers(50, 1)), ("n", numbers(50, 1))],
    );
    let orders = table(
        "orders",
        &[("customer_id", numbers(90, 3)), ("id", numbers(90, 1))],
    );
    let [edge] = edges(&customers, &orders).try_into().unwrap();
    assert_eq!((edge.left, edge.left_columns), (orders.id, vec![Place(0)]));
    assert_eq!(
        (edge.right_columns, edge.evidence),
        (vec![Place(0)], Evidence::Names)
    );
}

#[test]
fn a_count_refers_to_nothing() {
    let items = table("items", &[("item_id", cells(0..30, |n| n.to_string()))]);
    let totals = |column: &str| {
        let bill = cells(0..20, |n| format!("B{n}"));
        let counts = cells(0..20, |n| (n % 5).to_string());
        table("totals", &[("bill", bill), (column, counts)])
    };
    assert_eq!(edges(&items, &totals("items")), []);
    assert_eq!(edges(&items, &totals("item")).len(), 1);
}

#[test]
fn copies_subsets_and_unions_are_what_they_are() {
    let rows = |name: &str, range: std::ops::Range<u32>| {
        let text = |letter: char| move |at: u32| format!("{letter}{at}");
        let columns = [
            ("key", cells(range.clone(), text('k'))),
            (
                "city",
                cells(range.clone(), |at| format!("city {}", at % 9)),
            ),
            ("note", cells(range, text('n'))),
        ];
        table(name, &columns)
    };
    let kind = |one: &Table, other: &Table| -> Vec<EdgeKind> {
        edges(one, other).iter().map(|it| it.kind).collect()
    };
    let orders = rows("orders", 0..400);
    assert_eq!(
        kind(&orders, &rows("backup/orders", 0..400)),
        [EdgeKind::Copy]
    );
    assert_eq!(kind(&orders, &rows("copy", 10..405)), [EdgeKind::Copy]);
    assert_eq!(
        kind(&orders, &rows("orders_2025", 400..900)),
        [EdgeKind::Union]
    );
    let part = rows("part", 100..200);
    let [edge] = edges(&orders, &part).try_into().unwrap();
    assert_eq!((edge.kind, edge.left), (EdgeKind::Subset, part.id));
}

#[test]
fn what_is_declared_is_an_edge_whatever_the_values() {
    let mut orders = table("orders", &[("buyer", cells(0..9, |at| format!("x{at}")))]);
    let mut people = table("people", &[("Number", cells(0..9, |at| format!("y{at}")))]);
    orders.references.push(Reference {
        columns: vec![Place(0)],
        table: people.id,
        to: vec![name_hash("number")],
    });
    let edge = edges(&orders, &people).remove(0);
    assert_eq!(
        (edge.evidence, edge.score),
        (Evidence::Declared, Millionths::ONE)
    );
    orders.references[0].to.clear();
    assert_eq!(edges(&orders, &people), [], "the primary key is not known");
    people.primary = vec![Place(0)];
    assert_eq!(edges(&orders, &people).len(), 1);
}

#[test]
fn whatever_many_columns_share_costs_each_the_same() {
    let members = |count: usize| -> Vec<Member> {
        let columns = (0..count).map(|at| TableId::of("lake", &format!("t{at}")).column(Place(0)));
        let mut members: Vec<Member> = columns
            .map(|column| Member {
                column,
                part: Part::Both,
            })
            .collect();
        members.sort_unstable();
        members
    };
    let count = |members: &[Member]| {
        let mut pairs = std::collections::BTreeSet::new();
        candidates(members, |pair| {
            pairs.insert(pair);
        });
        pairs.len()
    };
    assert_eq!(count(&members(FEW)), FEW * (FEW - 1) / 2);
    assert!(count(&members(5_000)) <= 5_000 * 16);
    // One that goes takes its own pairs along, and its neighbours get others.
    let all = members(5_000);
    let without: Vec<Member> = all.iter().copied().filter(|it| *it != all[2_500]).collect();
    let pairs = |members: &[Member]| {
        let mut pairs = std::collections::BTreeSet::new();
        candidates(members, |pair| {
            pairs.insert(pair);
        });
        pairs
    };
    let (before, after) = (pairs(&all), pairs(&without));
    assert!(before.symmetric_difference(&after).count() <= 3 * 16);
}

/// A member of so many tables of three columns, and what it is there for.
fn member(number: u32, part: u8) -> Member {
    let parts = [
        Part::Seeks,
        Part::IsSought,
        Part::Both,
        Part::Looks,
        Part::Holds,
    ];
    let part = parts[usize::from(part % 5)];
    let table = TableId::of("lake", &format!("f{}/t{}", number % 5, number / 3));
    Member {
        column: table.column(Place((number % 3) as u16)),
        part,
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

    /// Few and many, and where few become many.
    #[test]
    fn what_changes_of_the_candidates_is_what_their_difference_is(
        all in proptest::collection::btree_map(0u32..400, 0u8..5, 40..250),
        edits in proptest::collection::btree_map(0u32..400, proptest::option::of(0u8..9), 1..9),
    ) {
        let members = |of: &std::collections::BTreeMap<u32, u8>| {
            let mut members: Vec<Member> = of.iter().map(|(at, part)| member(*at, *part)).collect();
            members.sort_unstable();
            members
        };
        let mut now = all.clone();
        for (at, part) in &edits {
            match part {
                Some(part) => drop(now.insert(*at, *part)),
                None => drop(now.remove(at)),
            }
        }
        let (before, after) = (members(&all), members(&now));
        let mut times: std::collections::BTreeMap<Meeting, isize> = Default::default();
        candidates(&before, |it| *times.entry(it).or_default() -= 1);
        candidates(&after, |it| *times.entry(it).or_default() += 1);
        times.retain(|_, times| *times != 0);
        let mut changed: Vec<_> = edits.keys().map(|at| member(*at, 0).column).collect();
        changed.sort_unstable();
        let mut found: std::collections::BTreeMap<Meeting, isize> = Default::default();
        changed_candidates(&before, &after, &changed, |it, more| {
            assert!(found.insert(it, more).is_none());
        });
        proptest::prop_assert_eq!(found, times);
    }
}

#[test]
fn rows_that_no_column_tells_apart_are_copies_only_where_values_are_as_frequent() {
    let answers = |name: &str, of: [u32; 4]| {
        let cell = |at: u32, every: u32| {
            if at.is_multiple_of(every) {
                "yes"
            } else {
                "no"
            }
            .to_owned()
        };
        let columns = ["first", "second", "third", "fourth"];
        let columns = columns.iter().zip(of).map(|(column, every)| {
            let kinds = cells(0..400, |at| format!("{}{}", cell(at, every), at % 3));
            (*column, kinds)
        });
        table(name, &columns.collect::<Vec<_>>())
    };
    let test = answers("one", [2, 3, 4, 5]);
    let kinds = |other: &Table| {
        edges(&test, other)
            .iter()
            .map(|it| it.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&answers("copy", [2, 3, 4, 5])), [EdgeKind::Copy]);
    assert_eq!(kinds(&answers("other", [5, 4, 3, 2])), [EdgeKind::Union]);
}

#[test]
fn an_abbreviation_in_another_folder_refers_to_a_key_that_it_uses() {
    let products = table(
        "master/products",
        &[("product_id", cells(100..136, |at| at.to_string()))],
    );
    let lines = |folder: &str, used: u32| {
        let values = cells(0..300, move |at| (100 + at % used).to_string());
        table(&format!("{folder}/lines"), &[("PRD_ID", values)])
    };
    let [edge] = edges(&products, &lines("erp", 36)).try_into().unwrap();
    assert_eq!((edge.right, edge.evidence), (products.id, Evidence::Names));
    assert_eq!(edge.cardinality, Cardinality::ManyToOne);
    // A third of the key's values may be any numbers; in the same folder they are enough.
    assert!(edges(&products, &lines("erp", 12)).is_empty());
    assert_eq!(edges(&products, &lines("master", 12)).len(), 1);
}
