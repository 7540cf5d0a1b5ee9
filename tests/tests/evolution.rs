//! Tables that evolve: like files whose columns come, go, move and are renamed are one table,
//! strays beside them are their own, and an index that followed along is one made from scratch.

mod declared;

use std::fs;
use std::path::Path;

use limn_tests::answers::everything;
use limn_tests::{lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A file of the lake: its path and text.
type Files = Vec<(String, String)>;

fn daily_exports() -> Files {
    let day = |n: usize| {
        let rows = (0..10).map(|row| {
            let more = if n > 90 { ",web" } else { "" };
            format!(
                "2024-{:02}-{:02},A-{row},{n},{row}.5{more}\n",
                1 + n / 28,
                1 + n % 28
            )
        });
        let header = if n > 90 {
            "day,sku,qty,price,channel\n"
        } else {
            "day,sku,qty,price\n"
        };
        let path = format!("daily/export_{n:03}.csv");
        (path, header.to_owned() + &rows.collect::<String>())
    };
    (1..=100).map(day).collect()
}

fn small(files: &[(&str, &str)]) -> Files {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), text.replace(' ', "\n") + "\n");
    files.iter().map(file).collect()
}

/// Files of which an index knows the first ones before it sees the others.
fn evolving() -> (Files, Files) {
    let mut first = small(&[
        (
            "exports/orders_2024-01.csv",
            "order,customer,amount 1,Ada,5 2,Bo,7",
        ),
        ("exports/orders_2024-02.csv", "order,customer,amount 3,Cy,6"),
        ("exports/customers_1.csv", "customer,name Ada,Lovelace"),
        ("exports/customers_2.csv", "customer,name Bo,Diddley"),
        ("exports/customers_3.csv", "customer,name Cy,Young"),
        ("wider/v_1.csv", "id,reading 1,10 2,20"),
        ("renamed/r_1.csv", "id,name,city 1,Ada,Bern"),
        ("headless/h_1.csv", "id,name,score 1,Ada,3.5 2,Bo,4.5"),
        ("headless/h_2.csv", "id,name,score 3,Cy,5.5"),
        ("parts/day=1/x.csv", "a,b 1,2"),
        ("apart/p_1.csv", "id,title,year 1,Dune,1965"),
        ("apart/p_2.csv", "id,title,year 2,Emma,1815"),
        ("lines/j_1.jsonl", r#"{"a":1,"b":"x"}"#),
        ("dates/d_1.csv", "id,on 1,1/2/2020 2,3/4/2020"),
        ("dates/d_2.csv", "id,on 3,05/06/20"),
        ("bare/b_1.csv", "city,land Rome,Italy Paris,France"),
        ("bare/b_2.csv", "city,land Lima,Peru"),
    ]);
    let mut later = small(&[
        (
            "exports/orders_2024-03.csv",
            "order,customer,amount,channel 4,Di,8,web",
        ),
        ("exports/legend.csv", "code,meaning w,web"),
        ("wider/v_2.csv", "id,reading 3,1.5"),
        ("wider/v_3.csv", "id,reading 4,none"),
        ("renamed/r_2.csv", "id,name,town 2,Bo,Thun"),
        ("renamed/r_3.csv", "name,id,city Cy,3,Biel"),
        ("renamed/r_4.csv", "id,name 4,Di"),
        ("headless/h_3.csv", "4,Di,6.5 5,Ed,7.5"),
        ("parts/day=2/x.csv", "a,b,c 3,4,5"),
        ("apart/p_2.csv", "colour,weight red,7"),
        ("lines/j_2.jsonl", r#"{"a":2,"b":"y","c":true}"#),
        ("daily/notes.csv", "who,what Ada,late"),
        // Proves that the day comes first in all files.
        ("dates/d_3.csv", "id,on 4,25/12/2020"),
        // Without a header, which its neighbours show.
        ("bare/b_3.csv", "Bern,Switzerland Oslo,Norway"),
    ]);
    let mut days = daily_exports();
    later.extend(days.split_off(60));
    first.extend(days);
    (first, later)
}

fn write(at: &Path, files: &Files) {
    for (path, text) in files {
        lake::write(at, path, text);
    }
}

/// Each table with its rows and its columns: name, type, share of nulls, and which files have it.
fn tables(index: &Path) -> Vec<(String, u64, Vec<String>)> {
    let tables = limn(&["tables", "--index", text(index), "--json"]).ok();
    let of = |table: &Value| {
        let name = table["table"].as_str().unwrap();
        let shown = &limn(&["show", name, "--index", text(index), "--json"]).ok()[0];
        let column = |it: &Value| {
            let files = it["in_files"].as_str().map(|got| format!(" {got}"));
            let (name, kind) = (
                it["name"].as_str().unwrap(),
                it["data_type"].as_str().unwrap(),
            );
            format!(
                "{name} {kind} {:.2}{}",
                it["null_share"].as_f64().unwrap(),
                files.unwrap_or_default()
            )
        };
        let columns = shown["columns"].as_array().unwrap().iter().map(column);
        (
            name.to_owned(),
            shown["rows"].as_u64().unwrap(),
            columns.collect(),
        )
    };
    tables.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn tables_evolve_and_an_index_that_follows_is_as_one_from_scratch() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (first, later) = evolving();
    write(&at("lake"), &first);
    let index =
        |name: &str| limn(&["index", text(&at("lake")), "--index", text(&at(name))]).code_is(0);
    index("kept");
    let names =
        |index: &Path| -> Vec<String> { tables(index).into_iter().map(|it| it.0).collect() };
    assert_eq!(
        names(&at("kept")),
        [
            "apart",
            "bare",
            "daily",
            "dates",
            "exports/customers_*",
            "exports/orders_*",
            "headless",
            "lines/j_1",
            "parts",
            "renamed/r_1",
            "wider/v_1",
        ]
    );
    write(&at("lake"), &later);
    index("kept");
    index("anew");
    let found = tables(&at("kept"));
    let expected: &[(&str, u64, &[&str])] = &[
        (
            "apart/p_1",
            1,
            &["id integer 0.00", "title text 0.00", "year integer 0.00"],
        ),
        ("apart/p_2", 1, &["colour text 0.00", "weight integer 0.00"]),
        ("bare", 5, &["city text 0.00", "land text 0.00"]),
        (
            "daily",
            1000,
            &[
                "day date 0.00",
                "sku text 0.00",
                "qty integer 0.00",
                "price float 0.00",
                "channel text 0.90 in 10 of 100 files, since export_091.csv",
            ],
        ),
        ("daily/notes", 1, &["who text 0.00", "what text 0.00"]),
        ("dates", 4, &["id integer 0.00", "on date 0.00"]),
        (
            "exports/customers_*",
            3,
            &["customer text 0.00", "name text 0.00"],
        ),
        (
            "exports/legend",
            1,
            &["code text 0.00", "meaning text 0.00"],
        ),
        (
            "exports/orders_*",
            4,
            &[
                "order integer 0.00",
                "customer text 0.00",
                "amount integer 0.00",
                "channel text 0.75 in 1 of 3 files, since orders_2024-03.csv",
            ],
        ),
        (
            "headless",
            5,
            &["id integer 0.00", "name text 0.00", "score float 0.00"],
        ),
        (
            "lines",
            2,
            &[
                "a integer 0.00",
                "b text 0.00",
                "c boolean 0.50 in 1 of 2 files, since j_2.jsonl",
            ],
        ),
        (
            "parts",
            2,
            &[
                "a integer 0.00",
                "b integer 0.00",
                "c integer 0.50 in 1 of 2 files, since day=2/x.csv",
                "day integer 0.00",
            ],
        ),
        (
            "renamed",
            4,
            &[
                "id integer 0.00",
                "name text 0.00",
                "city text 0.50 in 2 of 4 files, until r_3.csv",
                "town text 0.75 in 1 of 4 files, r_2.csv",
            ],
        ),
        ("wider", 4, &["id integer 0.00", "reading text 0.00"]),
    ];
    let got = |it: &(&str, u64, &[&str])| {
        let columns = it.2.iter().map(|column| (*column).to_owned());
        (it.0.to_owned(), it.1, columns.collect::<Vec<_>>())
    };
    assert_eq!(found, expected.iter().map(got).collect::<Vec<_>>());
    assert_eq!(
        json!(everything(&at("kept"))),
        json!(everything(&at("anew")))
    );
    let shown = limn(&["show", "daily", "--index", text(&at("kept"))]);
    let got = "in 10 of 100 files, since export_091.csv";
    assert!(shown.stdout.contains(got), "{}", shown.stdout);
    let dates = &limn(&["show", "dates", "--index", text(&at("kept")), "--json"]).ok()[0];
    let on = &dates["columns"][1];
    assert_eq!(
        (&on["min"], &on["max"]),
        (&json!("2020-02-01"), &json!("2020-12-25"))
    );
    // By a file of it, as a shell completes its path.
    let path = at("lake").join("daily/export_007.csv");
    let by_path = limn(&["show", text(&path), "--index", text(&at("kept"))]);
    assert_eq!(by_path.stdout, shown.stdout);

    // And back: what was evolved by later files is as it was.
    for (path, _) in &later {
        fs::remove_file(at("lake").join(path)).unwrap();
    }
    write(&at("lake"), &first);
    index("kept");
    index("again");
    assert_eq!(
        json!(everything(&at("kept"))),
        json!(everything(&at("again")))
    );
    assert_eq!(names(&at("kept")).len(), 11);
    let dates = &limn(&["show", "dates", "--index", text(&at("kept")), "--json"]).ok()[0];
    assert_eq!(dates["columns"][1]["data_type"], "text");
}

/// Files in folders of dates and with headers in two spellings, which come one after another.
#[test]
fn what_comes_each_day_is_one_table_with_its_date() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let notes = |day: &str, header: &str| {
        let path = format!("erp/2024/05/{day}/notes.csv");
        lake::write(&at("lake"), &path, &format!("{header}\n1,2.5\n2,3.5\n"));
    };
    let index = |name: &str| {
        limn(&["index", text(&at("lake")), "--index", text(&at(name))]).code_is(0);
    };
    notes("20", "note_no,weight");
    lake::write(&at("lake"), "erp/notes.csv", "note_no,weight\n9,9.5\n");
    lake::write(&at("lake"), "erp/2023/costs.csv", "a,b,c\n1,2,3\n");
    lake::write(&at("lake"), "erp/2024/costs.csv", "x,y,z\n1,2,3\n");
    index("index");
    let names = || -> Vec<String> { tables(&at("index")).into_iter().map(|it| it.0).collect() };
    let apart = ["erp/2023/costs", "erp/2024/costs"];
    assert_eq!(
        names(),
        [apart[0], "erp/2024/05/20/notes", apart[1], "erp/notes"]
    );
    notes("21", "Note No,Weight");
    index("index");
    assert_eq!(names(), ["erp/*/notes", apart[0], apart[1], "erp/notes"]);
    let (_, rows, columns) = tables(&at("index")).swap_remove(0);
    assert_eq!(rows, 4);
    assert_eq!(
        columns,
        [
            "note_no integer 0.00",
            "weight float 0.00",
            "path_date date 0.00"
        ]
    );
    // The table by itself is looked at in all its folders.
    notes("22", "note_no,weight");
    limn(&[
        "update",
        "erp/*/notes",
        "--lake",
        text(&at("lake")),
        "--index",
        text(&at("index")),
    ])
    .code_is(0);
    assert_eq!(tables(&at("index"))[0].1, 6);
    fs::remove_file(at("lake").join("erp/2024/05/21/notes.csv")).unwrap();
    index("index");
    index("anew");
    assert_eq!(
        json!(everything(&at("index"))),
        json!(everything(&at("anew")))
    );
}
