//! `limn diff`: what a data team sees in the morning.

use std::fs;

use limn_tests::{index_hashed, lake, limn, text};
use tempfile::TempDir;

#[test]
fn what_changed_in_the_lake_is_listed() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let write = |path: &str, rows: &str| lake::write(&lake, path, rows);
    write("sales/orders.csv", "id,buyer,total\n1,Ann,5\n2,Bob,7\n");
    write("sales/returns.csv", "id,reason\n1,late\n2,broken\n");
    write("hr/staff.csv", "name,height\nBea,180\nCy,175\n");
    write("hr/rooms.csv", "room,floor\nA,1\nB,2\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    let diff = |more: &[&str]| limn(&[&["diff", "--index", text(&index)], more].concat());
    let young = diff(&[]);
    let compared = "an empty index, before the first snapshot, to snapshot 1 (";
    assert!(young.stdout.starts_with(compared), "{young:?}");
    for before_the_first in [&["--json"][..], &["--json", "--since", "1d"]] {
        let first = diff(before_the_first).ok();
        assert_eq!(first["from"]["snapshot"], 0);
        assert_eq!(first["appeared"].as_array().unwrap().len(), 4, "{first}");
    }

    write(
        "sales/orders.csv",
        "id,customer,total,paid\n1,Ann,5,true\n2,Bob,7,true\n3,Eve,9,false\n",
    );
    write("sales/orders.md", "Orders of the web shop.");
    write("hr/desks.csv", "desk,room\n1,A\n2,A\n");
    fs::rename(lake.join("hr/rooms.csv"), lake.join("hr/places.csv")).unwrap();
    fs::remove_file(lake.join("sales/returns.csv")).unwrap();
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    let got = diff(&["--json"]).ok();
    let tables = |what: &str, name: &str| -> Vec<String> {
        let all = got[what].as_array().unwrap().iter();
        all.map(|it| it[name].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        (&got["from"]["snapshot"], &got["to"]["snapshot"]),
        (&1.into(), &2.into())
    );
    assert_eq!(tables("appeared", "table"), ["hr/desks"], "{got}");
    assert_eq!(tables("vanished", "table"), ["sales/returns"]);
    assert_eq!(tables("renamed", "from"), ["hr/rooms"]);
    assert_eq!(tables("renamed", "to"), ["hr/places"]);
    assert_eq!(tables("changed", "table"), ["sales/orders"]);
    let orders = &got["changed"][0];
    let renamed = &orders["schema"]["renamed"][0];
    assert_eq!(
        (&renamed["from"], &renamed["to"]),
        (&"buyer".into(), &"customer".into()),
        "{got}"
    );
    assert_eq!(
        orders["schema"]["added"],
        serde_json::json!(["paid"]),
        "{got}"
    );
    assert_eq!(orders["rows"]["to"], 3);
    assert_eq!(orders["rows"]["files_changed"], 1);
    assert_eq!(orders["context"]["added"][0], "Orders of the web shop.");
    assert!(orders["readable"].is_null(), "{got}");

    let shown = diff(&["1", "2", "--prefix", "sales"]);
    for part in [
        "1 changed, 1 vanished",
        "~ sales/orders",
        "+paid",
        "rows: 2 to 3 (1 file changed)",
        "context: +\"Orders of the web shop.\"",
        "- sales/returns",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    let same = diff(&["2", "2"]);
    assert!(same.stdout.contains("no table differs"), "{same:?}");
    for (wrong, part) in [
        (vec!["2", "1"], "name the older one first"),
        (vec!["7"], "has no snapshot 7"),
        (vec!["--since", "soon"], "invalid value"),
    ] {
        let run = diff(&wrong);
        assert!(
            run.code == 2 && run.stderr.contains(part),
            "{wrong:?}: {run:?}"
        );
    }
    for (since, from) in [("0s", 2), ("1d", 0)] {
        let run = diff(&["--since", since, "--json"]);
        assert_eq!(run.stderr.contains("younger than --since says"), from == 0);
        assert_eq!(run.ok()["from"]["snapshot"], from);
    }
    // A compaction brings nothing that is listed.
    limn(&["compact", "--full", "--index", text(&index)]);
    let got = diff(&["--json"]).ok();
    assert_eq!(got["from"]["snapshot"], 1, "{got}");
    assert_eq!(got["changed"].as_array().unwrap().len(), 1, "{got}");
}
