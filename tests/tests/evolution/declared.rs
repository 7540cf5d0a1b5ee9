//! What people say of tables and of how files are read.

use super::*;

#[test]
fn people_say_what_is_one_table() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let files = small(&[
        ("d/export_a.csv", "id,name 1,Ada"),
        ("d/export_b.csv", "id,colour,weight 2,red,7"),
        ("d/run_1.csv", "id,value 1,2"),
        ("d/run_2.csv", "id,value 3,4"),
    ]);
    write(&at("lake"), &files);
    let index = |code: i32| {
        let run = limn(&["index", text(&at("lake")), "--index", text(&at("index"))]);
        run.code_is(code);
        run.stdout + &run.stderr
    };
    let names = || -> Vec<String> { tables(&at("index")).into_iter().map(|it| it.0).collect() };
    index(0);
    let undeclared = ["d/export_a", "d/export_b", "d/run_1", "d/run_2"];
    assert_eq!(names(), undeclared);
    let rules =
        "tables:\n- name: exports\n  files: 'export_*'\n- name: runs\n  files: 'run_*.csv'\n";
    lake::write(&at("lake"), "d/.limn.yaml", rules);
    index(0);
    assert_eq!(names(), ["d/exports", "d/runs"]);
    let exports = tables(&at("index")).swap_remove(0);
    assert_eq!(
        exports.2,
        [
            "id integer 0.00",
            "name text 0.50 in 1 of 2 files, until export_a.csv",
            "colour text 0.50 in 1 of 2 files, since export_b.csv",
            "weight integer 0.50 in 1 of 2 files, since export_b.csv",
        ]
    );
    // One table by itself is found by its new name.
    lake::write(&at("lake"), "d/run_3.csv", "id,value\n5,6\n7,8\n");
    limn(&[
        "update",
        "d/runs",
        "--lake",
        text(&at("lake")),
        "--index",
        text(&at("index")),
    ])
    .code_is(0);
    assert_eq!(tables(&at("index"))[1].1, 4);
    // What cannot be understood changes nothing but says so.
    lake::write(&at("lake"), "d/.limn.yaml", "tables:\n- name: runs\n");
    let got = index(1);
    assert!(
        got.contains(".limn.yaml") && got.contains("missing field `files`"),
        "{got}"
    );
    assert_eq!(names(), ["d/exports", "d/runs"]);
    lake::write(
        &at("lake"),
        "d/.limn.yaml",
        "tables:\n- files: '*'\n  separate: true\n",
    );
    index(0);
    assert_eq!(
        names(),
        ["d/export_a", "d/export_b", "d/run_1", "d/run_2", "d/run_3"]
    );
    fs::remove_file(at("lake").join("d/.limn.yaml")).unwrap();
    index(0);
    // Most files of the folder are runs.
    assert_eq!(names(), ["d", "d/export_a", "d/export_b"]);
    limn(&["index", text(&at("lake")), "--index", text(&at("anew"))]).code_is(0);
    assert_eq!(
        json!(everything(&at("index"))),
        json!(everything(&at("anew")))
    );
}

#[test]
fn people_say_how_files_are_read_and_see_why() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let orders = |day: &str| {
        format!("Export\n\nsku;qty;paid;day\n00712;3;1.234,50;{day}\n00713;-99;2,5;{day}\n")
    };
    lake::write(&at("lake"), "d/orders_1.csv", &orders("1/2/2024"));
    lake::write(&at("lake"), "d/orders_2.csv", &orders("3/4/2024"));
    lake::write(&at("lake"), "d/other_3.csv", "a,b\n1,2\n");
    lake::write(&at("lake"), "e/far.csv", "a,b\n1,2\n");
    let run = |code: i32| {
        let run = limn(&["index", text(&at("lake")), "--index", text(&at("index"))]);
        run.code_is(code);
        run.stdout + &run.stderr
    };
    run(0);
    let rules = "tables:
- files: 'orders_*.csv'
  name: orders
  description: Orders of the shop
  owner: ada@example.org
  columns: {sku: text, qty: integer, day: {type: date, description: The day of payment}}
  header: 3
  delimiter: ';'
  nulls: ['-99']
  date-order: day-first
  decimal: ','
";
    lake::write(&at("lake"), "d/.limn.yaml", rules);
    run(0);
    let index = text(&at("index")).to_owned();
    let show = |more: &[&str]| limn(&[&["show", "d/orders", "--index", &index], more].concat());
    let shown = &show(&["--json"]).ok()[0];
    let types: Vec<(&str, &str)> = shown["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["name"].as_str().unwrap(),
                it["data_type"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("sku", "text"),
        ("qty", "integer"),
        ("paid", "float"),
        ("day", "date"),
    ];
    assert_eq!(types, expected);
    assert_eq!(shown["columns"][3]["description"], "The day of payment");
    let got = show(&[]).stdout;
    assert!(
        got.contains("Orders of the shop") && got.contains("ada@example.org"),
        "{got}"
    );
    let sql = "SELECT sku, qty, paid, day FROM \"d/orders\" ORDER BY sku, day";
    let asked = || limn(&["sql", sql, "--index", &index, "--json"]).ok()["rows"].clone();
    assert_eq!(
        asked(),
        json!([
            ["00712", 3, 1234.5, "2024-02-01"],
            ["00712", 3, 1234.5, "2024-04-03"],
            ["00713", null, 2.5, "2024-02-01"],
            ["00713", null, 2.5, "2024-04-03"],
        ])
    );
    let why = show(&["--why"]);
    why.code_is(0);
    for got in [
        "d/.limn.yaml, files: 'orders_*.csv' (2 files)",
        "header in line 3 (declared)",
        "cut by ';' (declared)",
        "missing values: '-99' (declared)",
        "DD/MM/YYYY (as declared)",
    ] {
        assert!(why.stdout.contains(got), "{got}: {}", why.stdout);
    }
    let why = &show(&["--why", "--json"]).ok()[0]["why"];
    assert_eq!(why["rule"], "declared");
    assert_eq!(why["columns"][1]["explanation"], "as declared");
    // A value that is none decides nothing, and the run names the key.
    lake::write(
        &at("lake"),
        "d/.limn.yaml",
        &rules.replace("day-first", "dmy"),
    );
    let got = run(1);
    assert!(
        got.contains("date-order of the files 'orders_*.csv' is 'dmy'"),
        "{got}"
    );
    assert_eq!(&show(&["--json"]).ok()[0]["columns"], &shown["columns"]);
    // Another key reads those files again; and an index that followed along is one made from
    // scratch.
    let other = rules.replace("day-first", "month-first");
    lake::write(&at("lake"), "d/.limn.yaml", &other);
    run(0);
    assert_eq!(asked()[0][3], "2024-01-02");
    limn(&["index", text(&at("lake")), "--index", text(&at("anew"))]).code_is(0);
    let same = |other: &str| {
        let (kept, anew) = (everything(&at("index")), everything(&at(other)));
        assert_eq!(json!(kept), json!(anew));
    };
    same("anew");
    fs::remove_file(at("lake").join("d/.limn.yaml")).unwrap();
    run(0);
    limn(&["index", text(&at("lake")), "--index", text(&at("again"))]).code_is(0);
    same("again");
}
