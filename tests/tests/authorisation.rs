//! A key that may see one folder learns nothing of the others: whatever it asks, it is answered as
//! by a node over an index that has no other tables.

use limn_tests::node::{Node, Reply, escaped};
use limn_tests::{index_hashed, lake, limn, text, varied_index};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A key of the file, with what more arguments say.
fn key(file: &str, more: &[&str]) -> String {
    let mut arguments = vec!["keys", "add", "--keys", file, "--json"];
    arguments.extend(more);
    let made = limn(&arguments).ok();
    made["key"].as_str().unwrap().to_owned()
}

/// What is asked: all that describes tables, with names that are hidden, and the ones that are not.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "/v1/tables",
        "/v1/tables?limit=1",
        "/v1/tables?prefix=shop",
        "/v1/tree",
        "/v1/tree?prefix=shop",
        "/v1/tree?prefix=hr",
        "/v1/diff?since=1d",
        "/v1/tables?facets=true&fold=true",
        "/v1/tables?q=cheese",
        "/v1/tables?sort=modified&descending=true&limit=2",
        "/v1/examples",
        "/v1/search?q=cheese+of+customers&preview_rows=5",
    ]
    .map(str::to_owned)
    .into();
    for question in [
        "sick leave of employees",
        "customers and their orders",
        "Nakamura",
        "cheese of Gruyere",
        "hours amount day planet",
        "employees moons cheese",
    ] {
        let question = escaped(question);
        paths.push(format!("/v1/search?q={question}&k=20"));
        paths.push(format!("/v1/search?q={question}&k=3&prefix=shop"));
        paths.push(format!("/v1/search?q={question}&mode=set"));
        paths.push(format!("/v1/search?q={question}&mode=set&k=4"));
        paths.push(format!("/v1/search?q={question}&k=3&format=csv&alpha=1"));
    }
    for start in ["s", "sho", "custo", "em", "moon", "Sick"] {
        paths.push(format!("/v1/suggest?q={start}"));
    }
    for table in [
        "hr/employees",
        "hr/offices",
        "shop/orders",
        "rivers",
        "mixed/table_1",
        "nowhere",
    ] {
        let table = escaped(table);
        paths.push(format!("/v1/table?table={table}"));
        paths.push(format!("/v1/table/similar?table={table}&k=50"));
        paths.push(format!("/v1/joins?table={table}"));
        paths.push(format!("/v1/joins?table={table}&with=shop/customers"));
        paths.push(format!("/v1/table/history?table={table}"));
        paths.push(format!("/v1/table/rows?table={table}&limit=1"));
    }
    paths
}

/// An answer without what differs from one index to another whatever they hold.
fn essence(reply: &Reply) -> (u16, Value) {
    let mut got = reply.json();
    scrub(&mut got);
    (reply.status, got)
}

fn scrub(got: &mut Value) {
    match got {
        Value::Object(fields) => {
            for name in [
                "snapshot",
                "took_ms",
                "request_id",
                "indexed",
                "published",
                "from",
                "to",
            ] {
                fields.remove(name);
            }
            fields.values_mut().for_each(scrub);
        }
        Value::Array(items) => items.iter_mut().for_each(scrub),
        _ => {}
    }
}

#[test]
fn a_key_of_one_folder_is_answered_as_if_there_were_no_other() {
    let folder = TempDir::new().unwrap();
    let lake_folder = folder.path().join("lake");
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let index = |name: &str| {
        let arguments = [
            "index",
            text(&lake_folder),
            "--index",
            &at(name),
            "--embedder",
            "hashed-words",
        ];
        limn(&arguments).code_is(0);
    };
    lake::varied(&lake_folder);
    lake::write(
        &lake_folder,
        "hr/offices.csv",
        "office,city\n1,Zürich\n2,Lagos\n",
    );
    index("whole");
    for entry in std::fs::read_dir(&lake_folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name() != Some("hr".as_ref()) {
            std::fs::remove_dir_all(path).unwrap();
        }
    }
    index("hr-alone");

    let keys = at("keys");
    let hr = key(&keys, &["--prefix", "hr"]);
    let all = key(&keys, &[]);
    let whole = Node::start(&at("whole"), &["--keys", &keys]);
    let alone = Node::start(&at("hr-alone"), &["--keys", &keys]);
    for path in paths() {
        let (seen, wanted) = (whole.get_with(&hr, &path), alone.get_with(&all, &path));
        assert_eq!(essence(&seen), essence(&wanted), "{path}");
        for hidden in ["Nakamura", "orders", "Gruyere", "rivers"] {
            let asked = path.contains(hidden);
            assert!(asked || !seen.body.contains(hidden), "{path}: {seen:?}");
        }
    }
    for statement in [
        "SHOW TABLES",
        "SELECT * FROM employees ORDER BY 1",
        "SELECT * FROM \"shop/orders\"",
        "SELECT * FROM ordes",
        "DESCRIBE songs",
        "SELECT count(*) FROM employees JOIN orders ON true",
        "SELECT nothing FROM employees",
    ] {
        let (seen, wanted) = (
            whole.ask_sql(&hr, statement),
            alone.ask_sql(&all, statement),
        );
        assert_eq!(essence(&seen), essence(&wanted), "{statement}");
    }
    let listed = whole.ask_sql(&all, "SHOW TABLES").ok();
    assert!(listed["rows"].to_string().contains("shop/orders"));
    // The test can fail: the other key sees them.
    let found = whole.get_with(&all, "/v1/search?q=Nakamura&k=20");
    assert!(found.body.contains("shop/orders"));
    let status = whole.get_with(&hr, "/v1/status").ok();
    assert_eq!(
        (&status["tables"], &status["prefixes"]),
        (&json!(2), &json!(["hr"]))
    );
    assert!(status["segments"].is_null() && status["index_bytes"].is_null());
}

/// What others have asked is answered as late as what nobody has. (The model is the real one: what
/// is remembered of a question is its vector.)
#[test]
fn how_fast_an_answer_comes_does_not_reveal_what_others_have_asked() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    lake::varied(&folder.path().join("lake"));
    limn(&["index", &at("lake"), "--index", &at("index")]).code_is(0);
    let keys = at("keys");
    let (all, hr) = (key(&keys, &[]), key(&keys, &["--prefix", "hr"]));
    let node = Node::start(&at("index"), &["--keys", &keys]);
    let ask = |key: &str, question: &str| {
        let path = format!("/v1/search?q={}", escaped(question));
        let asked = std::time::Instant::now();
        node.get_with(key, &path).ok();
        asked.elapsed().as_secs_f64() * 1e3
    };
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let question = |round: usize, number: usize| {
        format!(
            "which employees of office {number} were on sick leave in the {round} hours before the day of planet {number}?"
        )
    };
    for number in 0..5 {
        ask(&hr, &question(99, number));
    }
    // A machine that is busy with other things is given another chance.
    let mut seen = Vec::new();
    for round in 0..5 {
        let (mut new, mut of_others, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..60 {
            let (one, other) = (question(2 * round, number), question(2 * round + 1, number));
            ask(&all, &other);
            // In turns, so that what the machine does beside strikes both.
            if number % 2 == 0 {
                new.push(ask(&hr, &one));
                of_others.push(ask(&hr, &other));
            } else {
                of_others.push(ask(&hr, &other));
                new.push(ask(&hr, &one));
            }
            own.push(ask(&hr, &one));
        }
        let (new, of_others, own) = (median(new), median(of_others), median(own));
        seen.push((new, of_others, own));
        // What is remembered would be seen: one's own question is answered much sooner.
        let gained = new - own;
        if gained > 0.2 * new && (new - of_others).abs() < 0.3 * gained {
            return;
        }
    }
    panic!("new, asked by another, asked before (milliseconds): {seen:?}");
}

#[test]
fn a_history_is_given_under_the_names_that_may_be_seen() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    for (name, column) in [
        ("hr/rooms", "floor"),
        ("sales/orders", "total"),
        ("sales/returns", "reason"),
    ] {
        lake::write(
            &lake,
            &format!("{name}.csv"),
            &format!("id,{column}\n1,2\n3,4\n"),
        );
    }
    index_hashed(&lake, &index, &[]).code_is(0);
    let rename = |from: &str, to: &str| {
        std::fs::rename(lake.join(from), lake.join(to)).unwrap();
    };
    rename("hr/rooms.csv", "hr/places.csv");
    rename("sales/orders.csv", "hr/orders.csv");
    std::fs::remove_file(lake.join("sales/returns.csv")).unwrap();
    index_hashed(&lake, &index, &[]).code_is(0);
    let keys = text(&folder.path().join("keys")).to_owned();
    let (all, hr) = (key(&keys, &[]), key(&keys, &["--prefix", "hr"]));
    let node = Node::start(text(&index), &["--keys", &keys, "--follow", "200ms"]);
    let asked = |key: &str, table: &str| {
        node.get_with(key, &format!("/v1/table/history?table={}", escaped(table)))
    };
    let life = |key: &str, table: &str| -> Vec<(String, Value)> {
        let got = asked(key, table).ok();
        assert_eq!(got["table"], table);
        let moments = got["history"].as_array().unwrap().iter();
        moments
            .map(|it| {
                (
                    it["change"].as_str().unwrap().to_owned(),
                    it["detail"][0].clone(),
                )
            })
            .collect()
    };
    let appeared = ("appeared".to_owned(), Value::Null);
    let renamed = |from: &str| ("renamed".to_owned(), json!(format!("it was {from} before")));
    let vanished = ("vanished".to_owned(), Value::Null);
    for key in [&all, &hr] {
        let got = life(key, "hr/places");
        assert_eq!(got, [renamed("hr/rooms"), appeared.clone()]);
        assert_eq!(life(key, "hr/rooms"), [vanished.clone(), appeared.clone()]);
    }
    let got = life(&all, "hr/orders");
    assert_eq!(got, [renamed("sales/orders"), appeared.clone()]);
    assert_eq!(life(&hr, "hr/orders"), std::slice::from_ref(&appeared));
    assert_eq!(life(&all, "sales/returns"), [vanished, appeared]);
    for hidden in ["sales/returns", "sales/orders", "sales/nowhere"] {
        asked(&hr, hidden).is_error(404, "not_found");
    }
    asked(&all, "sales/nowhere").is_error(404, "not_found");

    // Back to its first name.
    rename("hr/places.csv", "hr/rooms.csv");
    index_hashed(&lake, &index, &[]).code_is(0);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while node.get_with(&all, "/v1/status").ok()["snapshot"] != 3 {
        assert!(std::time::Instant::now() < until, "{}", node.said());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let got = life(&hr, "hr/rooms");
    let vanished = ("vanished".to_owned(), Value::Null);
    assert_eq!(got[..2], [renamed("hr/places"), vanished]);
}

/// A name that is nearly right is suggested, and in which lake a table is; not to one who may not
/// see it.
#[test]
fn what_may_be_meant_is_suggested_to_who_may_see_it() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let keys = at("keys");
    let (all, hr) = (key(&keys, &[]), key(&keys, &["--prefix", "hr"]));
    let node = Node::start(&at("index"), &["--keys", &keys]);
    let remedy = |key: &str, table: &str| -> String {
        let path = format!("/v1/table?table={}", escaped(table));
        let refused = node.get_with(key, &path);
        refused.is_error(404, "not_found");
        refused.json()["error"]["remedy"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for near in [
        "orders",
        "/shop/orders/",
        "Shop/Orders",
        "shop/orders.csv",
        "shop/odrers",
    ] {
        let got = remedy(&all, near);
        assert!(
            got.starts_with("did you mean shop/orders?"),
            "{near}: {got}"
        );
        let got = remedy(&hr, near);
        assert!(!got.contains("shop/orders"), "{near}: {got}");
    }
    let elsewhere = node.get_with(&all, "/v1/table?table=shop/orders&lake=nowhere");
    elsewhere.is_error(404, "not_found");
    let got = elsewhere.json();
    let remedy = got["error"]["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("there is one in "), "{got}");
    let hidden = node
        .get_with(&hr, "/v1/table?table=shop/orders&lake=nowhere")
        .json();
    let nowhere = node
        .get_with(&hr, "/v1/table?table=shop/nowhere&lake=nowhere")
        .json();
    assert_eq!(hidden["error"]["remedy"], nowhere["error"]["remedy"]);
}

#[test]
fn rights_are_asked_for() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let keys = at("keys");
    let search = key(&keys, &["--right", "search"]);
    let rows = key(&keys, &[]);
    let admin = key(&keys, &["--right", "admin", "--right", "search"]);
    let part = key(&keys, &["--prefix", "hr", "--right", "admin"]);
    let every = ["search", "rows", "ask"].map(|right| ["--right", right]);
    let answers = key(&keys, every.as_flattened());
    let few = key(&keys, &["--per-minute", "3"]);
    let past = ["keys", "add", "--keys", &keys, "--expires", "2020-01-01"];
    let refused = limn(&past);
    assert!(
        refused.code == 2 && refused.stderr.contains("over"),
        "{refused:?}"
    );
    let soon = chrono::Utc::now() + std::time::Duration::from_secs(1);
    let old = key(&keys, &["--expires", &soon.to_rfc3339()]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let node = Node::start(&at("index"), &["--keys", &keys]);

    for path in [
        "/v1/status",
        "/metrics",
        "/v1/table?table=hr/employees",
        "/v1/nothing",
    ] {
        node.get(path).is_error(401, "unauthorized");
        node.get_with("limn_00000000_0", path)
            .is_error(401, "unauthorized");
        node.get_with(&old, path).is_error(401, "unauthorized");
    }
    for public in ["/", "/health/live", "/health/ready", "/openapi.json"] {
        assert!(node.get(public).status < 300, "{public}");
    }
    // Values of rows are nowhere, not even where texts were made of them.
    for path in [
        "/v1/table?table=hr/employees",
        "/v1/search?q=sick+leave+hours&k=20",
    ] {
        let with = node.get_with(&rows, path).body;
        let without = node.get_with(&search, path).body;
        assert!(with.contains("Hopper"), "{path}");
        assert!(
            !without.contains("Hopper") && !without.contains("Dijkstra"),
            "{path}: {without}"
        );
    }
    // Nor can they be guessed: a value that there is is answered as one that there is not.
    let statement = "SELECT * FROM \"hr/employees\"";
    let got = node.ask_sql(&rows, statement).ok();
    assert!(got.to_string().contains("Hopper"), "{got}");
    for key in [&search, &admin] {
        node.ask_sql(key, statement).is_error(403, "forbidden");
        node.get_with(key, "/v1/table/rows?table=hr/employees")
            .is_error(403, "forbidden");
    }
    for (key, may) in [(&search, false), (&rows, false), (&answers, true)] {
        assert_eq!(node.get_with(key, "/v1/status").ok()["ask"], may);
        let shown = format!("Bearer {key}");
        let headers = [("authorization", shown.as_str())];
        let question = json!({"q": "how many employees are there?"}).to_string();
        let reply = node.send("POST", "/v1/ask", &headers, Some(&question));
        match may {
            true => drop(reply.ok()),
            false => reply.is_error(403, "forbidden"),
        }
    }
    let guessed = |key: &str, value: &str| {
        let path = format!("/v1/search?q=sick+leave+of+{value}&k=20&alpha=1");
        let mut answer = node.get_with(key, &path).ok();
        scrub(&mut answer);
        for result in answer["results"].as_array_mut().unwrap() {
            // The question's own vector is another, and a share tells how near it is.
            for field in ["semantic", "blocks", "shares"] {
                result.as_object_mut().unwrap().remove(field);
            }
        }
        answer.to_string().replace(value, "VALUE")
    };
    assert_eq!(guessed(&search, "Hopper"), guessed(&search, "Hupper"));
    assert_ne!(guessed(&rows, "Hopper"), guessed(&rows, "Hupper"));
    let events = |key: &str| {
        let shown = format!("Bearer {key}");
        let headers = [("authorization", shown.as_str())];
        node.send("POST", "/v1/events", &headers, Some("{}"))
    };
    events(&rows).is_error(403, "forbidden");
    events(&admin).is_error(404, "not_found");
    node.get_with(&rows, "/metrics").is_error(403, "forbidden");
    assert_eq!(node.get_with(&admin, "/metrics").status, 200);
    node.get_with(&part, "/metrics").is_error(403, "forbidden");
    let empty = limn(&["keys", "add", "--keys", &keys, "--prefix", ""]);
    empty.code_is(2);
    for _ in 0..3 {
        node.get_with(&few, "/v1/status").ok();
    }
    let refused = node.get_with(&few, "/v1/status");
    refused.is_error(429, "too_many_requests");
    assert!(refused.headers.contains_key("retry-after"));
    node.get_with(&rows, "/v1/status").ok();

    // A key that is taken out is refused within seconds.
    let listed = limn(&["keys", "list", "--keys", &keys, "--json"]).ok();
    assert_eq!(listed.as_array().unwrap().len(), 7);
    assert!(!listed.to_string().contains("sha256"));
    limn(&["keys", "remove", &rows[5..13], "--keys", &keys]).code_is(0);
    let removed = std::time::Instant::now();
    while node.get_with(&rows, "/v1/status").status == 200 {
        assert!(removed.elapsed() < std::time::Duration::from_secs(20));
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    node.get_with(&rows, "/v1/status")
        .is_error(401, "unauthorized");
    node.get_with(&search, "/v1/status").ok();
}

#[test]
fn a_node_without_previews_shows_values_to_nobody() {
    let folder = varied_index();
    let at = |name: &str| text(&folder.path().join(name)).to_owned();
    let node = Node::start(&at("index"), &["--no-previews"]);
    node.get("/v1/table/rows?table=hr/employees")
        .is_error(403, "forbidden");
    node.post("/v1/sql", &json!({"sql": "SHOW TABLES"}))
        .is_error(403, "forbidden");
    let table = node.get("/v1/table?table=hr/employees").ok();
    assert_eq!(table["previews"], false);
    assert!(!table.to_string().contains("Hopper"));
    assert!(table["columns"][0]["name"] == "EmployeeID" && table["columns"][0]["min"].is_null());
    let found = node.get("/v1/search?q=sick+leave&k=5").ok();
    assert_eq!(found["results"][0]["table"], "hr/employees");
    let blocks = found["results"][0]["blocks"].as_array().unwrap().iter();
    assert!(
        blocks
            .map(|block| &block["kind"])
            .all(|kind| kind == "context"),
        "{found}"
    );
}
