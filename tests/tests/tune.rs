//! `limn tune`: weights of the ranking for one index, kept where they help and nowhere else.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use limn_segment::IndexStore;
use limn_tests::node::{Node, escaped};
use limn_tests::{Run, index_hashed, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Questions about the lake.
const QUESTIONS: usize = 60;

/// A word that is no other number's.
fn word(number: usize) -> String {
    let mut rest = number * 7919 + 104_729;
    let mut letter = |of: &str| {
        let letter = of.as_bytes()[rest % of.len()];
        rest /= of.len();
        char::from(letter)
    };
    let syllables = (0..4).flat_map(|_| [letter("bdfgklmnprstvz"), letter("aeiou")]);
    syllables.collect()
}

/// A lake whose questions are answered by tables that a text describes in all of their words, while
/// another table has a column of one of them: limn's own weights find some of them, others find
/// more.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let ground = Ground {
            folder: TempDir::new().unwrap(),
        };
        let (mut contexts, mut questions, mut noise) =
            (String::new(), String::new(), String::new());
        fs::create_dir(ground.at("lake")).unwrap();
        for at in 0..QUESTIONS {
            let words = [3 * at, 3 * at + 1, 3 * at + 2].map(word);
            let [a, b, c] = &words;
            ground.write(&format!("lake/t{at:02}.csv"), &format!("k,v\n1,{at}\n"));
            let other = format!("{a},{b}\n1,{at}\n");
            ground.write(&format!("lake/d{at:02}.csv"), &other);
            let text = format!("{a} and {b} and {c} of the year");
            let context = json!({"table": format!("t{at:02}"), "context": text});
            writeln!(contexts, "{context}").unwrap();
            let question = format!("which {a} {b} {c} were there");
            let asked =
                |table: usize| json!({"question": question, "tables": [format!("t{table:02}")]});
            writeln!(questions, "{}", asked(at)).unwrap();
            writeln!(noise, "{}", asked((at + 7) % QUESTIONS)).unwrap();
        }
        ground.write("contexts.jsonl", &contexts);
        ground.write("questions.jsonl", &questions);
        ground.write("noise.jsonl", &noise);
        ground.index("index").code_is(0);
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.at(name), content).unwrap();
    }

    fn index(&self, name: &str) -> Run {
        let contexts = self.at("contexts.jsonl");
        let more = ["--contexts", text(&contexts)];
        index_hashed(&self.at("lake"), &self.at(name), &more)
    }

    fn run(&self, command: &str, more: &[&str]) -> Run {
        let index = self.at("index");
        limn(&[&[command, "--index", text(&index)], more].concat())
    }

    fn tune(&self, option: &str, file: &str, more: &[&str]) -> Run {
        let file = self.at(file);
        self.run("tune", &[&[option, text(&file)], more].concat())
    }

    fn search(&self, index: &str, more: &[&str]) -> Value {
        let index = self.at(index);
        let question = question(5);
        let command = ["search", &question, "--index", text(&index), "--json"];
        limn(&[&command, more].concat()).ok()
    }

    /// The share of questions that find their table first.
    fn first(&self) -> f64 {
        let file = self.at("questions.jsonl");
        let options = ["--questions", text(&file), "-k", "1", "--alone", "--json"];
        let measured = self.run("eval", &options).ok();
        measured["k"]["1"]["hit"].as_f64().unwrap()
    }

    fn snapshot(&self) -> u64 {
        let shown = self.run("tune", &["--show", "--json"]).ok();
        shown["snapshot"].as_u64().unwrap()
    }

    fn store(&self) -> IndexStore {
        IndexStore::open(text(&self.at("index"))).unwrap()
    }
}

fn question(at: usize) -> String {
    let [a, b, c] = [3 * at, 3 * at + 1, 3 * at + 2].map(word);
    format!("which {a} {b} {c} were there")
}

#[test]
fn weights_are_kept_where_they_help_and_hold_until_they_are_taken_out() {
    let ground = Ground::new();
    let before = ground.search("index", &[]);
    assert_eq!(before["ranking"], "learned");
    let formula = ground.search("index", &["--ranking", "formula"]);
    let first = ground.first();

    let dry = ground.tune("--questions", "questions.jsonl", &["--dry-run", "--json"]);
    let dry = dry.ok();
    assert_eq!((&dry["helps"], &dry["kept"]), (&json!(true), &Value::Null));
    assert_eq!(ground.snapshot(), 1);
    let tuned = ground
        .tune("--questions", "questions.jsonl", &["--json"])
        .ok();
    assert_eq!(tuned["kept"], 2);
    assert_eq!(tuned["questions"], QUESTIONS);
    // Found again, they are not published again.
    let again = ground.tune("--questions", "questions.jsonl", &["--json"]);
    assert_eq!((&again.ok()["kept"], ground.snapshot()), (&json!(2), 2));
    assert_eq!(tuned["weights"], dry["weights"]);
    assert!((tuned["own"]["hit_at_1"].as_f64().unwrap() - first).abs() < 1e-9);
    let gain = &tuned["gain"];
    let (mean, error) = (&gain["mean"], &gain["standard_error"]);
    let (mean, error) = (mean["hit_at_1"].as_f64(), error["hit_at_1"].as_f64());
    assert!(mean.unwrap() > 2.0 * error.unwrap(), "{gain}");
    let now = ground.first();
    assert!(now >= first + mean.unwrap(), "{first} {now}");

    // A search says so; the formula alone is as it was.
    let after = ground.search("index", &[]);
    assert_eq!(after["ranking"], "tuned");
    assert_ne!(after["results"][0]["score"], before["results"][0]["score"]);
    let same = ground.search("index", &["--ranking", "formula"]);
    assert_eq!(same["ranking"], "formula");
    assert_eq!(same["results"], formula["results"]);
    let said = ground.run("search", &[&question(5)]).stdout;
    assert!(said.contains("by the index's own weights"), "{said}");
    let said = ground.run("tune", &["--show"]).stdout;
    assert!(said.contains("fitted to 60 questions on 20"), "{said}");

    // A run over the same lake publishes nothing; one over another lake, and a compaction, keep
    // them.
    assert_eq!(ground.index("index").ok()["snapshot"], 2);
    ground.write("lake/later.csv", "later,things\n1,2\n");
    ground.index("index").code_is(0);
    ground.run("compact", &["--full"]).code_is(0);
    assert!(ground.snapshot() > 3);
    let kept = ground.search("index", &[]);
    assert_eq!(kept["ranking"], "tuned");
    ground.run("verify", &[]).code_is(0);

    // Without them the index answers as one that never had any.
    let reset = ground.run("tune", &["--reset", "--json"]).ok();
    assert_eq!(reset["reset"], true);
    ground.index("anew").code_is(0);
    let (reset, anew) = (ground.search("index", &[]), ground.search("anew", &[]));
    assert_eq!(reset["ranking"], "learned");
    assert_eq!(reset["results"], anew["results"]);
    let again = ground.run("tune", &["--reset", "--json"]).ok();
    assert_eq!(again, json!({"reset": false, "snapshot": null}));
}

#[test]
fn a_file_that_an_evaluation_cannot_write_is_reported_before_it_and_the_questions_stay() {
    let ground = Ground::new();
    let at = |name: &str| ground.at(name);
    let (questions, kept) = (at("questions.jsonl"), at("kept.jsonl"));
    let eval = ["--questions", text(&questions)];
    let before = fs::read_to_string(&questions).unwrap();
    let nowhere = at("none/kept.jsonl");
    for option in ["--save", "--features"] {
        let link = format!("{}/../questions.jsonl", text(&at("lake")));
        for (path, says) in [(&link[..], "holds the questions"), (text(&nowhere), option)] {
            let refused = ground.run("eval", &[&eval[..], &[option, path]].concat());
            refused.code_is(2);
            assert!(
                refused.stderr.contains(says) && refused.stdout.is_empty(),
                "{refused:?}"
            );
        }
        let written = ground.run("eval", &[&eval[..], &[option, text(&kept)]].concat());
        written.code_is(0);
        let lines = fs::read_to_string(&kept).unwrap().lines().count();
        assert_eq!(lines, QUESTIONS, "{option}");
    }
    assert_eq!(fs::read_to_string(&questions).unwrap(), before);
    ground.write("none.jsonl", "");
    let none = ground.run("eval", &["--questions", text(&at("none.jsonl"))]);
    assert!(!none.stdout.contains("mrr"), "{none:?}");
}

#[test]
fn noise_and_a_few_questions_change_nothing() {
    let ground = Ground::new();
    let noise = ground.tune("--questions", "noise.jsonl", &["--json"]).ok();
    assert_eq!(
        (&noise["helps"], &noise["kept"]),
        (&json!(false), &Value::Null)
    );
    let said = ground.tune("--questions", "noise.jsonl", &[]).stdout;
    assert!(said.contains("the index stays as it is"), "{said}");

    let questions = fs::read_to_string(ground.at("questions.jsonl")).unwrap();
    let ten: Vec<&str> = questions.lines().take(10).collect();
    ground.write("ten.jsonl", &ten.join("\n"));
    let few = ground.tune("--questions", "ten.jsonl", &[]);
    few.code_is(2);
    assert!(
        few.stderr.contains("cannot tune: 10 questions are too few") && few.stderr.contains("50"),
        "{}",
        few.stderr
    );
    ground.write("none.jsonl", &questions.replace("[\"t", "[\"elsewhere/t"));
    let none = ground.tune("--questions", "none.jsonl", &[]);
    none.code_is(2);
    assert!(
        none.stderr
            .contains("no question to learn from (60 name tables that the index lacks)"),
        "{}",
        none.stderr
    );
    // Feedback that says of each table both.
    let both = questions.lines().flat_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let said = |verdict| {
            json!({"question": line["question"], "table": line["tables"][0], "verdict": verdict})
        };
        [said("right").to_string(), said("wrong").to_string()]
    });
    ground.write("both.jsonl", &both.collect::<Vec<_>>().join("\n"));
    let both = ground.tune("--feedback", "both.jsonl", &[]);
    both.code_is(2);
    let says = "there is no question to learn from (60 contradict themselves: their tables are said to be right, and wrong or none as well); give 50";
    assert!(both.stderr.contains(says), "{}", both.stderr);
    let one = questions.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["tables"] = json!(["t07"]);
        line.to_string()
    });
    ground.write("one.jsonl", &one.collect::<Vec<_>>().join("\n"));
    let one = ground.tune("--questions", "one.jsonl", &[]);
    one.code_is(2);
    let said = "all 60 questions have one table right, 't07'";
    assert!(
        one.stderr.contains(said) && one.stderr.contains("add questions"),
        "{}",
        one.stderr
    );
    ground.write("torn.jsonl", "{\"question\": \"which\"");
    let torn = ground.tune("--questions", "torn.jsonl", &[]);
    torn.code_is(2);
    assert!(
        torn.stderr.contains("torn.jsonl, line 1: "),
        "{}",
        torn.stderr
    );
    let absent = ground.tune("--feedback", "absent.jsonl", &[]);
    absent.code_is(2);
    assert!(
        absent.stderr.contains("check --feedback"),
        "{}",
        absent.stderr
    );
    assert_eq!(ground.snapshot(), 1);
}

#[test]
fn feedback_that_contradicts_itself_is_left_out() {
    let ground = Ground::new();
    let mut feedback = String::new();
    let mut say = |at: usize, table: usize, verdict: &str| {
        let table = format!("t{table:02}");
        let tables = if verdict == "right" {
            vec![&table]
        } else {
            vec![]
        };
        let line = json!({"time": "2026-11-27T10:00:00Z", "caller": "a", "question": question(at),
            "tables": tables, "table": table, "lake": "l", "verdict": verdict});
        writeln!(feedback, "{line}").unwrap();
    };
    for at in 0..QUESTIONS {
        say(at, at, "right");
        say(at, (at + 1) % QUESTIONS, "wrong");
    }
    for at in 0..3 {
        say(at, at, "wrong");
    }
    ground.write("feedback.jsonl", &feedback);
    let tuned = ground
        .tune("--feedback", "feedback.jsonl", &["--json"])
        .ok();
    assert_eq!(tuned["questions"], QUESTIONS - 3);
    assert_eq!(tuned["left_out"]["contradicting"], 3);
    assert_eq!(tuned["left_out"]["without_tables"], 3);
    assert_eq!(tuned["kept"], 2);
    let notes = tuned["notes"].to_string();
    assert!(
        notes.contains("3 tables are said to be right and wrong"),
        "{notes}"
    );
}

#[tokio::test]
async fn weights_that_cannot_be_used_are_reported_and_limns_own_hold() {
    let ground = Ground::new();
    let before = ground.search("index", &[]);
    let unusable = json!({"version": 1, "weights": {"meaning": 0.1, "covered": -3.0, "name": 0.1, "contexts": 0.1},
        "questions": 60, "gain": {}, "tuned_ms": 1});
    let newer = json!({"version": 2});
    for ranking in [unusable, newer, json!("name")] {
        ground.store().put_ranking(&ranking).await.unwrap();
        let question = question(5);
        let run = ground.run("search", &[&question, "--json"]);
        assert_eq!(run.ok()["results"], before["results"]);
        assert!(
            run.stderr.contains("--reset takes them out"),
            "{}",
            run.stderr
        );
        let shown = ground.run("tune", &["--show"]);
        shown.code_is(0);
        assert!(shown.stderr.contains("cannot be used"), "{}", shown.stderr);
        assert!(
            shown.stdout.contains("limn's own weights"),
            "{}",
            shown.stdout
        );
    }
    assert_eq!(
        ground.run("tune", &["--reset", "--json"]).ok()["reset"],
        true
    );
    let run = ground.run("search", &[&question(5), "--json"]);
    assert_eq!(
        (run.ok()["results"].clone(), run.stderr.as_str()),
        (before["results"].clone(), "")
    );
}

#[test]
fn a_node_that_follows_the_index_searches_with_them() {
    let ground = Ground::new();
    let node = Node::start(text(&ground.at("index")), &["--follow", "100ms"]);
    let path = format!("/v1/search?q={}", escaped(&question(5)));
    let score = || node.get(&path).ok()["results"][0]["score"].clone();
    let ranking = || node.get(&path).ok()["ranking"].clone();
    let by_agent = || {
        let accept = ("accept", "application/json, text/event-stream");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "find_tables", "arguments": {"question": question(5)}}});
        let reply = node.send("POST", "/mcp", &[accept], Some(&call.to_string()));
        reply.ok()["result"]["structuredContent"]["ranking"].clone()
    };
    let before = score();
    assert_eq!(
        (ranking(), by_agent()),
        (json!("learned"), json!("learned"))
    );
    let alone = node.get(&format!("{path}&alpha=1")).ok();
    assert_eq!(alone["ranking"], "formula");
    let tuned = ground
        .tune("--questions", "questions.jsonl", &["--json"])
        .ok();
    assert_eq!(tuned["kept"], 2);
    let started = Instant::now();
    while score() == before {
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(
        score(),
        ground.search("index", &["-k", "5"])["results"][0]["score"]
    );
    assert_eq!((ranking(), by_agent()), (json!("tuned"), json!("tuned")));
    assert_eq!(node.end(), Some(0));
}
