//! Archives are listed by their members, and opened only when they change.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Lab, seen};

/// A plain tar archive of these files.
fn tar(members: &[(&str, &str)]) -> String {
    let mut archive = String::new();
    for (name, text) in members {
        let field = |text: &str, length: usize| format!("{text:\0<length$}");
        let head = [
            field(name, 100),
            field("0000644", 8),
            field("0000000", 8),
            field("0000000", 8),
            field(&format!("{:011o}", text.len()), 12),
            field("00000000000", 12),
        ]
        .concat();
        let tail = format!("0{}", "\0".repeat(355));
        let sum: u32 = format!("{head}        {tail}").bytes().map(u32::from).sum();
        archive += &format!("{head}{sum:06o}\0 {tail}{text}");
        archive += &"\0".repeat((512 - text.len() % 512) % 512);
    }
    archive + &"\0".repeat(1024)
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_tables_and_an_unchanged_archive_is_not_opened() {
    let lab = Lab::new();
    let (people, cities) = (
        ("people.csv", "id,name\n1,a\n2,b\n"),
        ("geo/cities.csv", "city\nx\n"),
    );
    lab.put("d/x.tar", &tar(&[people, cities])).await;
    lab.put("t.csv", "a\n1\n").await;
    let report = lab.run().await;
    assert_eq!(
        (report.tables.added, report.objects.listed),
        (3, 2),
        "{report:?}"
    );
    let of_people = ("d/x.tar//people", seen(2));
    let (of_cities, t) = (("d/x.tar//geo/cities", seen(1)), ("t", seen(1)));
    lab.expect([of_people.clone(), of_cities.clone(), t.clone()])
        .await;
    let before = lab.lake.counts();
    lab.run_is_idle().await;
    assert_eq!(lab.lake.counts().since(&before).get, 0);
    // A member more.
    let more = ("more.csv", "z\n1\n2\n3\n");
    lab.put("d/x.tar", &tar(&[people, more])).await;
    lab.run().await;
    lab.expect([of_people.clone(), ("d/x.tar//more", seen(3)), t.clone()])
        .await;
    lab.run_is_idle().await;
    // Damaged: what there was stays.
    lab.corrupt("d/x.tar").await;
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    lab.expect([of_people, ("d/x.tar//more", seen(3)), t.clone()])
        .await;
    lab.remove("d/x.tar").await;
    lab.run().await;
    lab.expect([t]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_in_an_archive_are_one_table() {
    let lab = Lab::new();
    let parts = [
        ("part-00000.csv", "a\n1\n"),
        ("part-00001.csv", "a\n2\n3\n"),
    ];
    lab.put("x.tar", &tar(&parts)).await;
    lab.run().await;
    lab.expect([("x.tar", seen(3))]).await;
    lab.run_is_idle().await;
}
