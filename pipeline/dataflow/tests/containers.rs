//! Archives are listed by their members, and opened only when they change.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{Lab, Seen, seen, tar, tar_of};
use limn_lake::Filters;
use limn_models::HashedWords;
use limn_pipeline::{Report, Scope};

const PEOPLE: (&str, &str) = ("people.csv", "id,name\n1,a\n2,b\n");
const CITIES: (&str, &str) = ("geo/cities.csv", "city\nx\n");

/// Runs again, over an unchanged lake: nothing is read of it, and the same is reported.
async fn expect_idle(lab: &Lab, before: &Report) {
    let counts = lab.lake.counts();
    lab.run_is_idle().await;
    let since = lab.lake.counts().since(&counts);
    assert_eq!((since.get, since.head), (0, 0), "a listing is enough");
    let again = lab.run().await;
    assert_eq!(again.failures, before.failures);
    assert_eq!(again.objects.skipped, before.objects.skipped);
    assert_eq!(again.objects.filtered, before.objects.filtered);
    assert_eq!(again.tables.failed, before.tables.failed);
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_with_something_wrong_are_not_opened_again() {
    let lab = Lab::new();
    let nested = [PEOPLE, ("in.tar", "x"), ("../out.csv", "a\n1\n")];
    lab.put("refused.tar", &tar(&nested)).await;
    lab.put("none.tar", &tar(&[("a.png", "x")])).await;
    lab.put("other.db", "some other program's file").await;
    lab.corrupt("damaged.tar").await;
    lab.corrupt("damaged.zip").await;
    let many: Vec<String> = (0..30).map(|i| format!("{i}.zip")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "PK")).collect();
    lab.put("many.tar", &tar(&many)).await;
    let report = lab.run().await;
    let table = [("refused.tar//people", seen(2))];
    lab.expect(table.clone()).await;
    assert_eq!((report.tables.added, report.tables.failed), (1, 25));
    let failed: Vec<&str> = report.failures.iter().map(|it| &*it.object).collect();
    for object in [
        "refused.tar//in.tar",
        "refused.tar//../out.csv",
        "damaged.zip",
        "many.tar",
    ] {
        assert!(failed.contains(&object), "{object}: {failed:?}");
    }
    let skipped: Vec<(&str, u64)> = report
        .objects
        .skipped
        .iter()
        .map(|it| (&*it.extension, it.objects))
        .collect();
    assert_eq!(skipped, [("db", 1), ("tar", 1)]);
    expect_idle(&lab, &report).await;
    // One of them is put right, and one is damaged in another way.
    lab.put("damaged.tar", &tar(&[CITIES])).await;
    lab.put("damaged.zip", "PK and no more").await;
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.failed), (1, 24));
    let cities = ("damaged.tar//geo/cities", seen(1));
    lab.expect([table[0].clone(), cities.clone()]).await;
    expect_idle(&lab, &report).await;
    // What could be read stays as it is, also in the run after that.
    lab.corrupt("damaged.tar").await;
    let report = lab.run().await;
    assert_eq!((report.tables.removed, report.tables.failed), (0, 25));
    lab.expect([table[0].clone(), cities]).await;
    expect_idle(&lab, &report).await;
    for path in [
        "damaged.tar",
        "damaged.zip",
        "many.tar",
        "other.db",
        "none.tar",
    ] {
        lab.remove(path).await;
    }
    let report = lab.run().await;
    assert_eq!((report.tables.removed, report.failures.len()), (1, 2));
    assert!(report.objects.skipped.is_empty(), "{report:?}");
    lab.expect(table).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_is_refused_by_the_store_is_tried_again() {
    let lab = Lab::new();
    lab.put("x.tar", &tar(&[PEOPLE])).await;
    lab.refuse("x.tar", true);
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    lab.refuse("x.tar", false);
    assert_eq!(lab.run().await.tables.added, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_opened_again_where_more_is_read() {
    let mut lab = Lab::new();
    lab.options.scan_budget = 4 << 10;
    let rows: String = (0..9000).map(|i| format!("{{\"a\": {i}}}\n")).collect();
    let database = format!("SQLite format 3\0{rows}");
    lab.put("x.tar", &tar(&[PEOPLE, ("large.sqlite", &database)]))
        .await;
    let report = lab.run().await;
    assert!(
        report.failures[0].error.contains("raise the scan budget"),
        "{report:?}"
    );
    expect_idle(&lab, &report).await;
    lab.options.scan_budget = 1 << 20;
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1);
    assert!(
        !report.failures[0].error.contains("scan budget"),
        "{report:?}"
    );
    expect_idle(&lab, &report).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_among_the_files_of_a_table_is_no_part_of_it() {
    let lab = Lab::new();
    let notes = ("notes.txt", "id  name\n1   ada\n2   bob\n3   cyd\n");
    lab.put("day=1/a.tar", &tar(&[PEOPLE, notes])).await;
    lab.put(
        "t/b.tar",
        &tar(&[("day=1/c.txt", notes.1), ("day=2/c.dat", notes.1)]),
    )
    .await;
    lab.put("u/day=1/a.csv", PEOPLE.1).await;
    lab.put("u/day=1/d.tar", &tar(&[notes])).await;
    let report = lab.run().await;
    assert_eq!(report.failures, []);
    let skipped = report.objects.skipped.iter();
    let skipped: Vec<(&str, u64)> = skipped.map(|it| (&*it.extension, it.objects)).collect();
    assert_eq!(skipped, [("txt", 2)]);
    expect_idle(&lab, &report).await;
    // Where the table goes, the text may be one.
    let before = lab.tables().await.len();
    lab.remove("u/day=1/a.csv").await;
    lab.run().await;
    assert_eq!(lab.tables().await.len(), before);
    let report = lab.run().await;
    assert_eq!(report.objects.skipped.len(), 1);
    expect_idle(&lab, &report).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_among_members_and_archives() {
    let mut lab = Lab::new();
    let members = [
        PEOPLE,
        CITIES,
        ("lines.jsonl", "{\"a\": 1}\n"),
        ("secret.csv", "s\n1\n"),
    ];
    lab.put("d/x.tar", &tar(&members)).await;
    lab.put("y.tar", &tar(&[PEOPLE])).await;
    let of = |include: &[&str], exclude: &[&str]| {
        let all = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
        Some(Filters {
            include: all(include),
            exclude: all(exclude),
            ..Filters::default()
        })
    };
    lab.options.filters = of(&["*.csv"], &["secret*", "y.tar"]);
    let report = lab.run().await;
    let (people, cities) = (
        ("d/x.tar//people", seen(2)),
        ("d/x.tar//geo/cities", seen(1)),
    );
    lab.expect([people.clone(), cities.clone()]).await;
    assert_eq!(report.objects.filtered, 3);
    expect_idle(&lab, &report).await;
    // Other filters: members that stay are not read again.
    lab.options.filters = of(&[], &["d/x.tar/geo", "secret.csv", "y.tar"]);
    let report = lab.run().await;
    assert_eq!(
        (report.objects.read, report.tables.unchanged),
        (1, 1),
        "{report:?}"
    );
    let lines = ("d/x.tar//lines", seen(1));
    lab.expect([people.clone(), lines.clone()]).await;
    expect_idle(&lab, &report).await;
    // Files of the lake's owners.
    lab.options.filters = of(&[], &[]);
    lab.put(".limnignore", "secret*\n").await;
    lab.put("d/.limnignore", "x.tar/geo/\n").await;
    let report = lab.run().await;
    let y = ("y.tar//people", seen(2));
    lab.expect([people.clone(), lines, y.clone()]).await;
    lab.options.filters = None;
    assert_eq!(report.objects.filtered, 2);
    lab.run_is_idle().await;
    lab.put("d/.limnignore", "*.tar\n").await;
    lab.run().await;
    lab.expect([y]).await;
    lab.remove("d/.limnignore").await;
    lab.put(".limnignore", "lines*\n").await;
    lab.run().await;
    lab.expect([
        people,
        cities,
        ("d/x.tar//secret", seen(1)),
        ("y.tar//people", seen(2)),
    ])
    .await;
}

async fn run_over(lab: &mut Lab, scope: Scope) -> Report {
    lab.options.scope = scope;
    let report = lab.try_run(Arc::new(HashedWords)).await.unwrap();
    lab.options.scope = Scope::Lake;
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_an_archive_is_looked_for_by_its_path_or_its_tables() {
    let mut lab = Lab::new();
    let set = |name: &str| BTreeSet::from([name.to_owned()]);
    lab.put("d/x.tar", &tar(&[PEOPLE, CITIES])).await;
    lab.put("e/y.tar", &tar(&[PEOPLE])).await;
    lab.run().await;
    let more = ("people.csv", "id,name\n1,a\n2,b\n3,c\n");
    lab.put("d/x.tar", &tar(&[more, CITIES])).await;
    lab.put("e/y.tar", &tar(&[more])).await;
    let report = run_over(&mut lab, Scope::Objects(set("d/x.tar"))).await;
    assert_eq!(
        (report.objects.listed, report.tables.changed),
        (1, 2),
        "{report:?}"
    );
    let cities = ("d/x.tar//geo/cities", seen(1));
    let y = |rows| ("e/y.tar//people", seen(rows));
    lab.expect([("d/x.tar//people", seen(3)), cities.clone(), y(2)])
        .await;
    // One of its tables alone.
    lab.put(
        "d/x.tar",
        &tar(&[PEOPLE, ("geo/cities.csv", "city\nx\ny\n")]),
    )
    .await;
    let report = run_over(&mut lab, Scope::Tables(set("d/x.tar//geo/cities"))).await;
    assert_eq!(report.tables.changed, 1, "{report:?}");
    let cities = ("d/x.tar//geo/cities", seen(2));
    lab.expect([("d/x.tar//people", seen(3)), cities.clone(), y(2)])
        .await;
    lab.run().await;
    lab.expect([("d/x.tar//people", seen(2)), cities.clone(), y(3)])
        .await;
    lab.run_is_idle().await;
    // An archive comes and one goes.
    lab.put("d/z.tar", &tar(&[CITIES])).await;
    lab.remove("d/x.tar").await;
    let changed = BTreeSet::from(["d/x.tar", "d/z.tar"].map(str::to_owned));
    let report = run_over(&mut lab, Scope::Objects(changed)).await;
    assert_eq!((report.tables.added, report.tables.removed), (1, 2));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_an_archive_s_folder_is_looked_for_by_its_name() {
    let mut lab = Lab::new();
    let parts = |rows: &str| {
        let parts = [
            ("t/part-00000.csv", rows),
            ("t/part-00001.csv", "a\n2\n3\n"),
        ];
        tar(&parts)
    };
    lab.put("d/x.tar", &parts("a\n1\n")).await;
    lab.put("d/y.tar", &tar(&[("part-00000.csv", "a\n1\n")]))
        .await;
    lab.put("t.csv", "a\n1\n").await;
    lab.run().await;
    lab.expect([
        ("d/x.tar//t", seen(3)),
        ("d/y.tar", seen(1)),
        ("t", seen(1)),
    ])
    .await;
    lab.put("d/x.tar", &parts("a\n1\n5\n")).await;
    lab.put("d/y.tar", &tar(&[("part-00000.csv", "a\n1\n2\n")]))
        .await;
    for (name, rows) in [("d/x.tar//t", 4), ("d/y.tar", 2)] {
        let scope = Scope::Tables(BTreeSet::from([name.to_owned()]));
        let report = run_over(&mut lab, scope).await;
        assert_eq!(report.tables.changed, 1, "{name}: {report:?}");
        assert_eq!(lab.tables().await[name], seen(rows));
    }
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_read_by_several_processes() {
    let mut lab = Lab::new();
    (lab.processes, lab.options.workers) = (2, 2);
    let texts: Vec<(String, String)> = (0..20)
        .map(|i| (format!("t{i}/x.csv"), format!("c{i}\n1\n")))
        .collect();
    let mut members: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
    members.extend([("in.tar", "x"), ("t20/x.csv", "")]);
    lab.put("x.tar", &tar(&members)).await;
    lab.put("none.tar", &tar(&[("a.png", "x")])).await;
    let report = lab.run().await;
    assert_eq!(
        (report.tables.added, report.tables.failed),
        (20, 2),
        "{report:?}"
    );
    expect_idle(&lab, &report).await;
    lab.processes = 1;
    lab.run_is_idle().await;
    lab.processes = 2;
    lab.remove("x.tar").await;
    assert_eq!(lab.run().await.tables.removed, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_cannot_be_read_keeps_its_last_version() {
    let lab = Lab::new();
    lab.put("x.tar", &tar(&[PEOPLE, CITIES])).await;
    lab.run().await;
    let broken: String = "\u{0}\u{1}\u{2}".repeat(500);
    lab.put("x.tar", &tar(&[("people.csv", &broken), CITIES]))
        .await;
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    let people = Seen {
        broken: true,
        ..seen(2)
    };
    lab.expect([("x.tar//people", people), ("x.tar//geo/cities", seen(1))])
        .await;
    expect_idle(&lab, &report).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_cannot_be_read_any_more_keep_their_tables_however_many_they_are() {
    let mut lab = Lab::new();
    // What is refused has a length, too.
    lab.options.filters = Some(Filters {
        min_size: Some(1),
        ..Filters::default()
    });
    let names: Vec<String> = (0..30).map(|i| format!("t{i}/data.csv")).collect();
    let members: Vec<(&str, &str)> = names.iter().map(|it| (it.as_str(), "a\n1\n")).collect();
    lab.put("x.tar", &tar(&members)).await;
    assert_eq!(lab.run().await.tables.added, 30);
    lab.put("x.tar", &tar_of('S', &members)).await;
    let report = lab.run().await;
    assert_eq!((report.tables.removed, report.failures.len()), (0, 30));
    assert_eq!(lab.tables().await.len(), 30);
    expect_idle(&lab, &report).await;
}
