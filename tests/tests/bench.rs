//! `limn bench make`: questions about one's own lake, whose tables are those that answer.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use limn_tests::{Run, index_hashed, limn, limn_command, repository, text};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a lake and its index.
struct Made {
    folder: TempDir,
}

impl Made {
    fn of(files: &[(&str, &str)], more: &[&str]) -> Made {
        let made = Made {
            folder: tempfile::tempdir().unwrap(),
        };
        for (path, content) in files {
            let path = made.at("lake").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        index_hashed(&made.at("lake"), &made.at("index"), more).code_is(0);
        made
    }

    fn of_examples() -> Made {
        let folder = tempfile::tempdir().unwrap();
        let lake = repository().join("examples/lake");
        index_hashed(&lake, &folder.path().join("index"), &[]).code_is(0);
        Made { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make(&self, out: &str, more: &[&str]) -> Run {
        let (index, out) = (self.at("index"), self.at(out));
        let command = [
            "bench",
            "make",
            "--index",
            text(&index),
            "--out",
            text(&out),
        ];
        limn(&[&command, more].concat())
    }

    fn questions(&self, out: &str) -> Vec<Value> {
        let file = fs::read_to_string(self.at(out)).unwrap();
        let lines = file.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// Whether a statement, asked of this table, gives a row without a null.
    fn answers(&self, question: &Value, table: &str) -> bool {
        let (sql, own) = (said(question, "sql"), said(question, "table"));
        let of = |table: &str| format!(" FROM \"{table}\"");
        assert!(sql.contains(&of(own)), "{question}");
        let sql = sql.replace(&of(own), &of(table));
        let run = limn(&["sql", &sql, "--index", text(&self.at("index")), "--json"]);
        if run.code != 0 {
            return false;
        }
        let (answer, is_null) = (run.json(), Value::is_null);
        let mut rows = answer["rows"].as_array().unwrap().iter();
        rows.any(|row| !row.as_array().unwrap().iter().any(is_null))
    }
}

fn said<'a>(question: &'a Value, field: &str) -> &'a str {
    question[field].as_str().unwrap()
}

fn tables(question: &Value) -> Vec<&str> {
    let tables = question["tables"].as_array().unwrap().iter();
    tables.map(|it| it.as_str().unwrap()).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn questions_of_the_example_lake_are_answered_by_their_tables_and_no_others() {
    let made = Made::of_examples();
    let report = made
        .make("q.jsonl", &["-n", "25", "--seed", "1", "--json"])
        .ok();
    assert_eq!(report["ended"], "complete", "{report}");
    assert_eq!(
        (&report["questions"], &report["mode"]),
        (&25.into(), &"template".into())
    );
    let rejected = report["rejected"].as_object().unwrap().values();
    let rejected: u64 = rejected.map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(report["drawn"], 25 + rejected, "{report}");
    assert!(report["notes"].to_string().contains("easier than people's"));

    let index = made.at("index");
    let listed = limn(&["tables", "--index", text(&index), "--json"]).ok();
    let listed = listed.as_array().unwrap().iter();
    let all: Vec<&str> = listed.map(|it| it["table"].as_str().unwrap()).collect();
    assert_eq!(all.len(), 22);
    let questions = made.questions("q.jsonl");
    assert_eq!(questions.len(), 25);
    for question in questions.iter().take(8) {
        let own = said(question, "table");
        assert!(tables(question).contains(&own), "{question}");
        assert!(!said(question, "question").contains(own), "{question}");
        for table in &all {
            let is_gold = tables(question).contains(table);
            assert_eq!(
                made.answers(question, table),
                is_gold,
                "{table}: {question}"
            );
        }
    }
    let asked: Vec<&str> = questions.iter().map(|it| said(it, "table")).collect();
    assert!(asked.iter().any(|it| *it != asked[0]), "{asked:?}");

    // The file is one that limn eval reads.
    let questions = made.at("q.jsonl");
    let command = [
        "eval",
        "--index",
        text(&index),
        "--questions",
        text(&questions),
        "--json",
    ];
    let scores = limn(&command).ok();
    assert_eq!(
        (&scores["questions"], &scores["gold_tables_missing"]),
        (&25.into(), &0.into())
    );
}

#[test]
fn seed_and_snapshot_decide_the_questions_and_an_interrupted_file_is_finished() {
    let made = Made::of_examples();
    made.make("whole.jsonl", &["-n", "12", "--seed", "5"])
        .code_is(0);
    let whole = read(&made.at("whole.jsonl"));
    assert_eq!(whole.lines().count(), 12);

    // Without --out they go to standard output.
    let index = made.at("index");
    let printed = limn(&[
        "bench",
        "make",
        "--index",
        text(&index),
        "-n",
        "12",
        "--seed",
        "5",
    ]);
    printed.code_is(0);
    assert_eq!(printed.stdout, whole);

    // A run that was killed in the middle of a line goes on.
    let half = whole.len() / 2;
    fs::write(made.at("cut.jsonl"), &whole[..half]).unwrap();
    let report = made
        .make("cut.jsonl", &["-n", "12", "--seed", "5", "--json"])
        .ok();
    assert_eq!(report["earlier"], whole[..half].matches('\n').count());
    assert_eq!(read(&made.at("cut.jsonl")), whole);

    // One that is finished is let be, and one that is to have more goes on.
    let report = made
        .make("cut.jsonl", &["-n", "12", "--seed", "5", "--json"])
        .ok();
    assert_eq!(
        (&report["earlier"], &report["drawn"]),
        (&12.into(), &0.into())
    );
    let fewer = made.make("cut.jsonl", &["-n", "3", "--seed", "5"]);
    fewer.code_is(0);
    let says =
        "nothing to make: the file has 12 questions about snapshot 1 already, and 3 are wanted";
    assert!(fewer.stderr.contains(says), "{fewer:?}");
    made.make("cut.jsonl", &["-n", "14", "--seed", "5"])
        .code_is(0);
    let longer = read(&made.at("cut.jsonl"));
    assert!(longer.starts_with(&whole) && longer.lines().count() == 14);

    // Another seed makes others, and not in this file.
    let refused = made.make("cut.jsonl", &["-n", "14", "--seed", "6"]);
    refused.code_is(2);
    for part in ["--seed 5", "--seed 6", "give another --out"] {
        assert!(refused.stderr.contains(part), "{refused:?}");
    }
    assert_eq!(read(&made.at("cut.jsonl")), longer);
    made.make("other.jsonl", &["-n", "12", "--seed", "6"])
        .code_is(0);
    assert_ne!(read(&made.at("other.jsonl")), whole);

    // Nor do those of another index, nor what somebody else has written.
    let other = Made::of(&[("a.csv", "x,y\n1,2\n3,4\n")], &[]);
    fs::write(other.at("q.jsonl"), &whole).unwrap();
    let refused = other.make("q.jsonl", &["-n", "12", "--seed", "5"]);
    refused.code_is(2);
    assert!(refused.stderr.contains("of snapshot 1"), "{refused:?}");
    fs::write(other.at("mine.txt"), "my notes\n").unwrap();
    let refused = other.make("mine.txt", &["-n", "1"]);
    refused.code_is(2);
    assert!(refused.stderr.contains("mine.txt, line 1"), "{refused:?}");
    assert_eq!(read(&other.at("mine.txt")), "my notes\n");
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let made = Made::of_examples();
    let index = made.at("index");
    let mut command = limn_command(&["bench", "make", "--index", text(&index), "-n", "200"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command.stdout(writer).output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.is_empty(), "{ended:?}");
}

/// A table of people: what is somebody's own beside what is not.
fn people(towns: &[&str]) -> String {
    let mut file = "town,email,visits,points\n".to_owned();
    for at in 0..40 {
        let town = towns[at % towns.len()];
        writeln!(file, "{town},person{at}@example.org,{},{}", at % 7, at * 3).unwrap();
    }
    file
}

#[test]
fn copies_answer_and_what_is_somebodys_own_is_never_used() {
    let people_of = [people(&["Basel", "Bern"]), people(&["Geneva", "Sion"])];
    let files = [
        ("crm/people.csv", people_of[0].as_str()),
        ("backup/crm_people_old.csv", &people_of[0]),
        ("other/guests.csv", &people_of[1]),
        (
            "other/cars.csv",
            "plate,town\nA1,Basel\nA2,Bern\nA3,Basel\n",
        ),
    ];
    for redact in ["off", "marked"] {
        let made = Made::of(&files, &["--redact", redact]);
        let more = [
            "-n",
            "60",
            "--prefix",
            "crm",
            "--max-tables",
            "60",
            "--json",
        ];
        let run = made.make("q.jsonl", &more);
        assert!(
            run.code == 0 || run.json()["ended"] != "complete",
            "{run:?}"
        );
        let questions = made.questions("q.jsonl");
        assert!(questions.len() > 30, "{redact}: {run:?}");
        let mut alone = 0;
        for question in &questions {
            let text = question.to_string();
            assert!(!text.contains("email") && !text.contains('@'), "{text}");
            assert_eq!(question["table"], "crm/people");
            assert_eq!(question["prefix"], "crm");
            let gold = tables(question);
            assert!(gold.contains(&"backup/crm_people_old"), "{text}");
            alone += usize::from(!gold.contains(&"other/guests"));
            if said(question, "sql").contains("= 'Basel'") {
                assert!(!gold.contains(&"other/guests"), "{text}");
            }
        }
        assert!(0 < alone && alone < questions.len(), "{alone}");
    }
}

#[test]
fn columns_in_another_case_answer_as_their_own_names_do() {
    let table = |names: &str| {
        let rows = (0..12).map(|at| format!("\n{},{},Ort{}", at * 3, at % 4, at % 5));
        names.to_owned() + &rows.collect::<String>()
    };
    let files = [
        ("a.csv", table("Nppes_Id,say \"\"so\"\",Town")),
        ("b.csv", table("NPPES_ID,SAY \"\"SO\"\",TOWN")),
        ("c.csv", table("nppes_id,say,town")),
    ];
    // A quote within a quoted header.
    let quoted = |text: &str| text.replacen("say \"\"so\"\"", "\"say \"\"so\"\"\"", 1);
    let quoted = |text: &str| quoted(text).replacen("SAY \"\"SO\"\"", "\"SAY \"\"SO\"\"\"", 1);
    let files: Vec<(&str, String)> = files
        .iter()
        .map(|(path, text)| (*path, quoted(text)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let made = Made::of(&files, &[]);
    made.make("q.jsonl", &["-n", "40", "--seed", "2"])
        .code_is(0);
    let mut with_quotes = 0;
    for question in &made.questions("q.jsonl") {
        let sql = said(question, "sql").to_lowercase();
        let is_of_two = sql.contains("so\"\"");
        let is_of_c = sql.contains("\"say\"");
        with_quotes += usize::from(is_of_two);
        let wanted: &[&str] = match (is_of_two, is_of_c) {
            (true, _) => &["a", "b"],
            (_, true) => &["c"],
            _ => &["a", "b", "c"],
        };
        assert_eq!(tables(question), wanted, "{question}");
    }
    assert!(with_quotes > 5, "{with_quotes}");
}

#[test]
fn a_table_that_is_fruitful_is_found_among_many_that_are_not() {
    let barren: Vec<String> = (0..24).map(|at| format!("barren{at}.csv")).collect();
    let rows: String = (0..40)
        .map(|at| format!("\nLake {at},{}", at * 3))
        .collect();
    let fruitful = format!("lake,depth{rows}");
    // Whatever is asked of one of them was asked of another.
    let barren = barren.iter().map(|name| (name.as_str(), "k\n1\n"));
    let files: Vec<(&str, &str)> = barren
        .chain([("fruitful.csv", fruitful.as_str())])
        .collect();
    let made = Made::of(&files, &[]);
    for seed in ["1", "2", "3", "4"] {
        let out = format!("{seed}.jsonl");
        let run = made.make(&out, &["-n", "60", "--seed", seed, "--max-tables", "4000"]);
        run.code_is(0);
        assert_eq!(made.questions(&out).len(), 60, "{seed}");
    }
}

#[test]
fn lakes_with_little_or_much_to_ask_about_end_in_a_clear_word() {
    // One table, of one row.
    let made = Made::of(&[("one.csv", "name,size\nx,5\n")], &[]);
    let run = made.make("q.jsonl", &["-n", "500", "--json"]);
    run.code_is(1);
    let report = run.json();
    assert!(
        ["exhausted", "visits"].contains(&said(&report, "ended")),
        "{report}"
    );
    assert!(report["questions"].as_u64() > Some(0), "{report}");
    assert!(
        report["rejected"]["repeated"].as_u64() > Some(0),
        "{report}"
    );

    // Nothing but headers.
    let made = Made::of(&[("a.csv", "name,size\n"), ("b.csv", "name,size\n")], &[]);
    let run = made.make("q.jsonl", &["-n", "5"]);
    run.code_is(2);
    assert!(
        run.stderr.contains("of 2 that were tried, 2 have no rows"),
        "{run:?}"
    );

    // One column, which no statement can both select and compare.
    let made = Made::of(&[("a.csv", "name\nx\ny\n")], &[]);
    let run = made.make("q.jsonl", &["-n", "5", "--json"]);
    run.code_is(1);
    assert!(
        run.json()["rejected"]["no_column"].as_u64() > Some(0),
        "{run:?}"
    );

    // Ten thousand columns.
    let columns = 0..10_000;
    let row = |of: &dyn Fn(u32) -> String| columns.clone().map(of).collect::<Vec<_>>().join(",");
    let wide = [
        row(&|it| format!("c{it}")),
        row(&|it| it.to_string()),
        row(&|it| (it + 1).to_string()),
    ];
    let made = Made::of(&[("wide.csv", &wide.join("\n"))], &[]);
    // It is about ends, not about speed.
    let more = ["-n", "5", "--timeout", "60s"];
    made.make("q.jsonl", &more).code_is(0);
    assert_eq!(made.questions("q.jsonl").len(), 5);
}

#[test]
fn what_cannot_be_made_is_refused_with_a_remedy() {
    let made = Made::of(
        &[
            ("a.csv", "name,size\nx,5\ny,6\n"),
            ("b.csv", "n,s\n1,2\n3,4\n"),
        ],
        &[],
    );
    let refused = |more: &[&str], code: i32, part: &str| {
        let run = made.make("q.jsonl", more);
        run.code_is(code);
        assert!(run.stderr.contains(part), "{part}: {run:?}");
    };
    refused(&["-n", "0"], 2, "'0' is not a number from 1 to");
    refused(&["--prefix", "nowhere"], 2, "no table below 'nowhere'");
    refused(
        &["--max-tables", "1", "-n", "100"],
        1,
        "--max-tables allows more",
    );
    refused(
        &["--max-time", "0s", "-n", "100"],
        1,
        "--max-time allows more",
    );
    let index = made.at("index");
    let run = limn(&["bench", "make", "--index", text(&index), "--json"]);
    run.code_is(2);
    assert!(run.stderr.contains("give --out"), "{run:?}");
    let nowhere = made.at("none/q.jsonl");
    let run = limn(&[
        "bench",
        "make",
        "--index",
        text(&index),
        "--out",
        text(&nowhere),
    ]);
    run.code_is(2);
    assert!(run.stderr.contains("check --out"), "{run:?}");

    // A table that is gone, beside one without rows, has columns all the same.
    let files = [
        ("empty.csv", "name,size\n"),
        ("full.csv", "name,size\nx,5\n"),
    ];
    let mixed = Made::of(&files, &[]);
    fs::remove_file(mixed.at("lake/full.csv")).unwrap();
    for more in [&["-n", "5"][..], &["-n", "5", "--max-tables", "2"]] {
        let run = mixed.make("q.jsonl", more);
        run.code_is(2);
        let says = "of 2 that were tried, 1 has no rows, 1 cannot be read; the first that cannot be read: ";
        assert!(
            run.stderr.contains(says) && run.stderr.contains("full.csv is missing"),
            "{run:?}"
        );
    }
    // Nor are further visits or more time of use where none of the tables so far can be read.
    let files = [
        ("ant.csv", "legs,s\nx,5\n"),
        ("bee.csv", "wings,t\nx,5\n"),
        ("cow.csv", "milk,u\nx,5\n"),
        ("dog.csv", "bark,v\nx,5\n"),
    ];
    let four = Made::of(&files, &[]);
    fs::remove_dir_all(four.at("lake")).unwrap();
    let run = four.make("q.jsonl", &["-n", "5", "--max-tables", "3"]);
    run.code_is(2);
    assert!(
        run.stderr
            .contains("of 3 that were tried, 3 cannot be read"),
        "{run:?}"
    );

    fs::remove_dir_all(made.at("lake")).unwrap();
    let run = made.make("gone.jsonl", &["-n", "5"]);
    run.code_is(2);
    assert!(run.stderr.contains("is the lake still there?"), "{run:?}");
    assert_eq!(read(&made.at("gone.jsonl")), "");
}
