//! The catalog's sketches: of each column over all files of its table, whatever the way they came
//! there.

use crate::common;

use common::Lab;
use limn_pipeline::stages::{ColumnSketch, SketchedColumns, column_sketches};
use limn_profile::Redact;
use limn_segment::HeldRows;

/// The columns of all tables, read as join discovery reads them.
async fn columns(lab: &Lab) -> Vec<ColumnSketch> {
    let snapshot = lab.index.require_newest().await.unwrap();
    let mut held: HeldRows<SketchedColumns> = HeldRows::keeping(None);
    held.advance(&lab.index, &snapshot).await.unwrap();
    let rows = held.live().map(|(_, row)| column_sketches(&row.0).unwrap());
    rows.flatten().collect()
}

fn lines(header: &str, numbers: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
    let lines: String = numbers.map(|at| line(at) + "\n").collect();
    format!("{header}\n{lines}")
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_are_compared_over_all_files_of_their_tables() {
    let mut lab = Lab::new();
    lab.options.redact = Some(Redact::Marked);
    let customers = lines("id,city,e_mail", 0..1_000, |at| {
        format!("{at},city {},ada{at}@example.org", at % 7)
    });
    lab.put("customers.csv", &customers).await;
    let orders = |numbers: std::ops::Range<usize>| {
        lines("number,customer,note", numbers, |at| {
            format!("o{at},{},", at * 7 % 400)
        })
    };
    lab.put("orders/2024-01.csv", &orders(0..300)).await;
    lab.run().await;
    lab.put("orders/2024-02.csv", &orders(300..600)).await;
    lab.run().await;
    let grown = columns(&lab).await;

    let named: Vec<(&str, &str)> = grown
        .iter()
        .map(|it| (it.table.name.as_str(), it.column.as_str()))
        .collect();
    let expected = [
        ("customers", "id"),
        ("customers", "city"),
        ("orders", "number"),
        ("orders", "customer"),
    ];
    assert_eq!(
        named, expected,
        "no sketch of what is withheld, or has no values"
    );
    let [id, city, number, customer] = grown.as_slice() else {
        panic!("{} columns", grown.len());
    };
    assert_eq!(
        (id.rows, id.nulls, id.distinct, id.place),
        (1_000, 0, 1_000, 0)
    );
    assert_eq!(
        (city.distinct, city.distinct_exact, city.place),
        (7, true, 1)
    );
    assert_eq!((number.rows, number.uniqueness), (600, 1.0));
    assert!((f64::from(customer.distinct as u32) / 400.0 - 1.0).abs() < 0.1);
    assert_eq!(
        (id.data_type.as_str(), number.data_type.as_str()),
        ("integer", "text")
    );
    let overlap = customer.values.overlap(&id.values);
    assert!(overlap.first_in_second.value > 0.99, "{overlap:?}");
    assert!(
        (overlap.second_in_first.value - 0.4).abs() < 0.15,
        "{overlap:?}"
    );
    assert!(number.values.overlap(&id.values).jaccard.value < 0.01);

    // From scratch it is the same.
    let mut anew = Lab::new();
    anew.options = lab.options.clone();
    anew.put("customers.csv", &customers).await;
    anew.put("orders/2024-01.csv", &orders(0..300)).await;
    anew.put("orders/2024-02.csv", &orders(300..600)).await;
    anew.run().await;
    assert_eq!(columns(&anew).await, grown);
}
