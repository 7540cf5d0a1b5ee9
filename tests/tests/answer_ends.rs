//! What `limn ask` says at the ends of an answer: what ties where a list is cut, which rows hold an
//! extreme, that there are none, and of which times; the statement, to be run again.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use limn_tests::node::Node;
use limn_tests::oracle::Oracle;
use limn_tests::{Run, index_hashed, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const BOOKS: &str = "title,author,pages,price,published\nEmma,Austen,474,0.1,2023-01-05\n\
    Persuasion,Austen,249,0.2,2023-01-20\nMiddlemarch,Eliot,880,0.1,2023-03-02\n\
    Romola,Eliot,880,0.1,2024-03-09\nShirley,Brontë,536,0.5,2024-12-31\n";

struct Lake(TempDir);

impl Lake {
    fn new() -> Lake {
        let lake = Lake(tempfile::tempdir().unwrap());
        fs::create_dir_all(lake.at("lake/librairie")).unwrap();
        fs::write(lake.at("lake/librairie/Livres épuisés.csv"), BOOKS).unwrap();
        index_hashed(&lake.at("lake"), &lake.at("index"), &[]).code_is(0);
        lake
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let index = self.at("index");
        limn(&[arguments, &["--index", text(&index)]].concat())
    }

    /// The answer of a statement over the books.
    fn sql(&self, statement: &str) -> Value {
        let table = json!({"table": "librairie/Livres épuisés"});
        let stage = json!({"name": "a", "sql": {"inputs": {"b": table}, "statement": statement}});
        let plan = json!({"version": 1, "stages": [stage], "answer": "a"});
        fs::write(self.at("plan.json"), plan.to_string()).unwrap();
        let file = self.at("plan.json");
        self.run(&["ask", "--no-model", "--json", "--plan", text(&file)])
            .ok()
    }

    fn asked(&self, question: &str) -> Value {
        let table = ["--table", "librairie/Livres épuisés"];
        let ask = ["ask", question, "--no-model", "--json"];
        self.run(&[&ask[..], &table].concat()).ok()
    }
}

fn behind(answer: &Value) -> Vec<&str> {
    let rows = answer["citations"][0]["values"].as_array().unwrap();
    let mut titles: Vec<&str> = rows.iter().map(|row| row[0].as_str().unwrap()).collect();
    titles.sort_unstable();
    titles
}

#[test]
fn a_list_that_is_cut_among_equals_says_so_and_shows_whose_rows() {
    let lake = Lake::new();
    let most =
        lake.sql("SELECT author FROM b GROUP BY author ORDER BY count(*) DESC, author LIMIT 1");
    assert_eq!(
        most["answer"],
        "author: Austen (1 of 2 rows that tie for place 1)"
    );
    assert_eq!(
        most["notes"][0],
        "2 rows tie for place 1: Austen, Eliot; the answer shows 1"
    );
    assert_eq!(behind(&most), ["Emma", "Persuasion"]);
    assert_eq!(most["columns"].as_array().unwrap().len(), 1);
    let alone = lake.sql("SELECT title FROM b ORDER BY price DESC LIMIT 1");
    assert_eq!(
        (&alone["answer"], &alone["notes"]),
        (&json!("title: Shirley"), &json!([]))
    );
    let longest = lake.sql("SELECT max(pages) AS pages FROM b");
    assert_eq!(longest["answer"], "pages: 880");
    assert_eq!(behind(&longest), ["Middlemarch", "Romola"]);
    let dear = lake.sql("SELECT count(*) FILTER (WHERE price > 0.4) AS n FROM b");
    assert_eq!(behind(&dear), ["Shirley"]);
}

#[test]
fn no_rows_are_an_answer_and_floats_are_short() {
    let lake = Lake::new();
    let none = lake.sql("SELECT title FROM b WHERE pages > 2000");
    assert_eq!(
        none["answer"],
        "No rows: nothing in librairie/Livres épuisés has pages > 2000"
    );
    let asked = lake.asked("List the title of livres épuisés with pages above 2000");
    let says = "No rows: nothing in librairie/Livres épuisés has pages > 2000";
    assert_eq!(
        (&asked["answer"], &asked["rows"]),
        (&json!(says), &json!([])),
        "{asked}"
    );
    let notes = asked["notes"].to_string();
    assert!(notes.contains("finds no value"), "{notes}");
    let sum = lake
        .sql("SELECT author, sum(price) AS price FROM b WHERE author = 'Austen' GROUP BY author");
    assert_eq!(sum["answer"], "author: Austen, price: 0.3");
    assert_eq!(sum["rows"], json!([["Austen", 0.1 + 0.2]]));
    let file = lake.at("plan.json");
    let printed = lake.run(&["ask", "--no-model", "--plan", text(&file)]);
    assert!(!printed.stdout.contains("0000004"), "{}", printed.stdout);
}

#[test]
fn a_statement_that_is_shown_can_be_run_and_times_are_read() {
    let lake = Lake::new();
    let monthly = lake.asked("number of livres épuisés by month in 2023");
    let months = json!([["2023-01-01", 2], ["2023-03-01", 1]]);
    assert_eq!(monthly["rows"], months, "{monthly}");
    let inputs = &monthly["plan"]["stages"][0]["sql"]["inputs"];
    assert!(inputs.get("livres_epuises").is_some(), "{inputs}");
    let statement = monthly["stages"][0]["sql"].as_str().unwrap();
    let again = lake.run(&["sql", statement, "--json"]).ok();
    assert_eq!(again["rows"], months, "{statement}");
    let since = lake.asked("how many livres épuisés since March 2024");
    assert_eq!(since["rows"], json!([[2]]), "{since}");
}

#[test]
fn an_answer_in_steps_holds_its_place_and_hints_are_those_of_a_node() {
    let lake = Lake::new();
    let slow = Oracle::start(|_| {
        std::thread::sleep(Duration::from_secs(4));
        Some("yes".to_owned())
    });
    let options = [&["--ask", "llm", "--concurrency", "1"][..], &slow.options()].concat();
    let node = Node::start(text(&lake.at("index")), &options);
    let table = json!({"table": "librairie/Livres épuisés"});
    let first = "SELECT title FROM b WHERE title = 'Emma'";
    let plan = json!({"version": 1, "answer": "y", "stages": [
        {"name": "x", "sql": {"inputs": {"b": table}, "statement": first}},
        {"name": "y", "sem_filter": {"input": "x", "instruction": "{title} is a novel"}}]});
    let steps = |body: &Value| {
        let headers = [("accept", "text/event-stream")];
        node.send("POST", "/v1/ask", &headers, Some(&body.to_string()))
    };
    std::thread::scope(|scope| {
        let streamed = scope.spawn(|| steps(&json!({"plan": plan})).body);
        let begun = Instant::now();
        while slow.asked().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
        // Of one place a caller may have one.
        node.get("/v1/status").is_error(429, "too_many_requests");
        assert!(streamed.join().unwrap().contains("event: answer"));
    });
    let ended = Instant::now();
    while node.get("/v1/status").status != 200 {
        assert!(ended.elapsed() < Duration::from_secs(20));
    }
    let rules = Node::start(text(&lake.at("index")), &[]);
    let unread = rules
        .post("/v1/ask", &json!({"q": "which livres épuisés sing best?"}))
        .ok();
    let notes = unread["notes"].to_string();
    assert!(
        notes.contains("POST /v1/sql") && !notes.contains("limn sql"),
        "{notes}"
    );
}
