//! The judge through the command: judged searches, a judge that cannot be reached, calibration, and
//! runs compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use limn_models::{ModelStore, SMOLLM2};
use limn_tests::{Run, index_hashed, lake, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

/// A lake, its index, and a folder of models of its own, so that no calibration of the user's is
/// touched.
struct Place {
    scratch: TempDir,
}

impl Place {
    fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        let lake = scratch.path().join("lake");
        lake::varied(&lake);
        assert_eq!(
            index_hashed(&lake, &scratch.path().join("index"), &[]).code,
            0
        );
        let models = scratch.path().join("models");
        fs::create_dir(&models).unwrap();
        let store = ModelStore::from_env();
        store.pull(SMOLLM2, &|_| {}).unwrap();
        copy(&store.root().unwrap().join(SMOLLM2), &models.join(SMOLLM2));
        Self { scratch }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let index = self.path("index");
        let mut command = limn_command(arguments);
        command
            .args(["--index", text(&index)])
            .env("LIMN_MODELS", self.path("models"))
            .env("LIMN_MODEL", SMOLLM2)
            .env_remove("LIMN_JUDGE");
        command
    }

    fn limn(&self, arguments: &[&str]) -> Run {
        run(&mut self.command(arguments))
    }
}

/// The model's files, linked where that can be done.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

fn judged(answer: &Value) -> Vec<&Value> {
    let results = answer["results"].as_array().unwrap();
    results.iter().map(|hit| &hit["judged"]).collect()
}

fn notes(answer: &Value) -> String {
    answer["notes"].to_string()
}

const QUESTION: &str = "which employees took sick leave?";

#[test]
fn a_judge_is_asked_when_it_is_wanted_and_no_search_is_lost_to_it() {
    let place = Place::new();
    let search = ["search", QUESTION, "-k", "3", "--json"];
    let unjudged = place.limn(&search).ok();
    assert!(
        judged(&unjudged).iter().all(|word| word.is_null()),
        "{unjudged}"
    );
    assert!(
        !notes(&unjudged).contains("judge"),
        "auto without a calibration is silent: {unjudged}"
    );

    let answer = place
        .limn(&[&search[..], &["--judge", "llm"]].concat())
        .ok();
    assert!(
        judged(&answer).iter().all(|word| word.is_boolean()),
        "{answer}"
    );
    assert!(notes(&answer).contains("is not calibrated"), "{answer}");
    let shown = place.limn(&["search", QUESTION, "--judge", "llm"]);
    assert!(shown.stdout.contains("judged "), "{shown:?}");

    let unreachable = [
        "--judge",
        "llm",
        "--model",
        "endpoint",
        "--endpoint",
        "http://127.0.0.1:9/v1",
        "--endpoint-model",
        "none",
        "--endpoint-attempts",
        "1",
    ];
    let answer = place.limn(&[&search[..], &unreachable].concat()).ok();
    assert!(
        judged(&answer).iter().all(|word| word.is_null()),
        "{answer}"
    );
    let tables = |answer: &Value| -> Vec<String> {
        let results = answer["results"].as_array().unwrap();
        results.iter().map(|hit| hit["table"].to_string()).collect()
    };
    assert_eq!(tables(&answer), tables(&unjudged));
    assert_eq!(
        notes(&answer).matches("the judge failed").count(),
        1,
        "{answer}"
    );
}

#[test]
fn a_model_is_calibrated_and_auto_believes_its_record() {
    let place = Place::new();
    let questions = place.path("questions.jsonl");
    let line = |(question, table): (&str, &str)| {
        format!(
            "{}\n",
            serde_json::json!({"question": question, "tables": [table]})
        )
    };
    let asked = [
        (QUESTION, "hr/employees"),
        ("which songs did Miles Davis play?", "music/songs"),
        ("orders of customer Okafor", "shop/orders"),
        ("how many moons has Jupiter?", "mixed/table_1"),
    ];
    let elsewhere = line(("whose is it?", "another/lake"));
    fs::write(&questions, asked.map(line).concat() + &elsewhere).unwrap();
    let eval = ["eval", "--questions", text(&questions), "--json"];
    let got = place.limn(&[&eval[..], &["--calibrate"]].concat()).ok();
    assert!(
        notes(&got).contains("1 question whose tables the index lacks")
            && notes(&got).contains("4 questions are few"),
        "{got}"
    );
    let file = got["file"].as_str().unwrap();
    assert!(
        Path::new(file).starts_with(place.path("models/calibration")),
        "{got}"
    );
    assert_eq!(got["calibration"]["questions"], 4, "{got}");
    assert!(got["judge"]["prompts"].as_u64().unwrap() >= 4 * 4, "{got}");
    assert!(got["calibration"]["difference"]["low"].is_number(), "{got}");

    // Fewer questions do not replace it unasked, and questions of another lake say nothing.
    let fewer = ["--calibrate", "--limit", "3"];
    let refused = place.limn(&[&eval[..], &fewer].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("calibrated on 4 questions"),
        "{refused:?}"
    );
    let replaced = place
        .limn(&[&eval[..], &fewer, &["--replace"]].concat())
        .ok();
    assert_eq!(replaced["calibration"]["questions"], 3, "{replaced}");
    fs::write(&questions, &elsewhere).unwrap();
    let refused = place.limn(&[&eval[..], &["--calibrate"]].concat());
    assert!(refused.stderr.contains("another lake"), "{refused:?}");

    // What the record says is what counts, not what these four questions say.
    let judged_by_auto = |low: f64, version: u64| {
        let mut record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        record["difference"]["low"] = low.into();
        record["prompt_version"] = version.into();
        fs::write(file, record.to_string()).unwrap();
        let answer = place.limn(&["search", QUESTION, "-k", "1", "--json"]).ok();
        !judged(&answer)[0].is_null()
    };
    let version = got["calibration"]["prompt_version"].as_u64().unwrap();
    assert!(judged_by_auto(0.01, version));
    assert!(!judged_by_auto(0.0, version));
    assert!(!judged_by_auto(0.01, version + 1));

    fs::write(file, "nonsense").unwrap();
    let answer = place.limn(&["search", QUESTION, "--json"]).ok();
    assert!(
        notes(&answer).contains("not judged: cannot read the calibration"),
        "{answer}"
    );
}

#[test]
fn runs_are_saved_and_compared() {
    let place = Place::new();
    let questions = place.path("questions.jsonl");
    let lines = format!(
        "{{\"question\": \"{QUESTION}\", \"tables\": [\"hr/employees\"]}}\n{{\"question\": \"moons\", \"tables\": [\"mixed/table_1\"]}}\n"
    );
    fs::write(&questions, lines).unwrap();
    let saved = place.path("run.jsonl");
    let eval = [
        "eval",
        "--questions",
        text(&questions),
        "-k",
        "1,3",
        "--json",
    ];
    let first = place
        .limn(&[&eval[..], &["--save", text(&saved)]].concat())
        .ok();
    assert!(
        first["judge"].is_null() && first["against"].is_null(),
        "{first}"
    );
    let line: Value =
        serde_json::from_str(fs::read_to_string(&saved).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["k"], &line["gold"][0], &line["ranked"][0]),
        (&3.into(), &"hr/employees".into(), &"hr/employees".into())
    );

    let judged = ["--judge", "llm", "--against", text(&saved)];
    let second = place.limn(&[&eval[..], &judged].concat()).ok();
    assert!(
        second["against"]["k"]["1"]["hit"]["low"].is_number(),
        "{second}"
    );
    let judge = &second["judge"];
    let words = judge["standing"].as_u64().unwrap() + judge["rejected"].as_u64().unwrap();
    assert!(
        words >= 6 && judge["failed"] == 0 && judge["prompt_tokens"].as_u64().unwrap() > 100,
        "{second}"
    );
    // Explanations know of no judge, which is said where one was asked.
    let is_said = |more: &[&str]| {
        let run = place.limn(&[&eval[..], &["--explain"], more].concat()).ok();
        assert!(run["explained"].is_array(), "{run}");
        let notes = run["notes"].as_array().unwrap().iter();
        let mut notes = notes.map(|note| note.as_str().unwrap());
        notes.any(|note| note.starts_with("--explain gives places without the judge"))
    };
    assert!(is_said(&["--judge", "llm"]) && !is_said(&["--judge", "off"]));
    let shown = place.limn(&[
        "eval",
        "--questions",
        text(&questions),
        "-k",
        "1,3",
        "--against",
        text(&saved),
    ]);
    assert!(
        shown.code == 0 && shown.stdout.contains("hit +0.0 (+0.0 to +0.0)"),
        "{shown:?}"
    );

    fs::write(
        &saved,
        fs::read_to_string(&saved).unwrap().replace("moons", "suns"),
    )
    .unwrap();
    let refused = place.limn(&[&eval[..], &["--against", text(&saved)]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("line 2: it is another question"),
        "{refused:?}"
    );
}
