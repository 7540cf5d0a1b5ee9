//! Encoders of a person's own folder, on the real binary: an index made with one is searched,
//! served and kept up with it, wherever the folder is, and with no other.

use std::fs;
use std::path::{Path, PathBuf};

use limn_models::{Devices, Embedder, Encoder, EncoderFolder, EncoderOverrides};
use limn_tests::encoder::write_bert;
use limn_tests::node::{Node, escaped};
use limn_tests::{Run, limn, limn_command, repository, run, text};
use serde_json::json;
use tempfile::TempDir;

const QUESTION: &str = "secchi depth of lakes";
/// The most numbers that a vector may have.
const WIDEST: usize = 1024;

/// The example lake, and folders of encoders with random weights beside an index.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let folder = TempDir::new().unwrap();
        copy(
            &repository().join("examples/lake"),
            &folder.path().join("lake"),
        );
        for name in ["bert", "modernbert", "xlm-roberta"] {
            copy(&fixture(name), &folder.path().join(name));
        }
        Ground { folder }
    }

    fn at(&self, name: &str) -> String {
        text(&self.folder.path().join(name)).to_owned()
    }

    fn index(&self, encoder: &str, more: &[&str]) -> Run {
        let (lake, index) = (self.at("lake"), self.at("index"));
        let own = ["index", &lake, "--index", &index, "--narrate", "off"];
        limn(&[&own[..], &["--embedder", encoder, "--json"], more].concat())
    }

    fn search(&self, more: &[&str]) -> Run {
        let index = self.at("index");
        let own = ["search", QUESTION, "--index", &index, "--json"];
        limn(&[&own[..], more].concat())
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).unwrap();
    }
}

fn fixture(name: &str) -> PathBuf {
    repository()
        .join("indexer/models/tests/encoders")
        .join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One line on standard error that says all of these; nothing is answered.
fn refused(run: &Run, says: &[&str]) {
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stdout.is_empty(), "{run:?}");
    let errors = run.stderr.lines().filter(|line| line.starts_with("limn: "));
    assert_eq!(errors.count(), 1, "{run:?}");
    for said in says {
        assert!(run.stderr.contains(said), "{said}: {run:?}");
    }
}

#[test]
fn a_lake_is_indexed_searched_and_served_with_any_encoder() {
    for encoder in ["bert", "modernbert", "xlm-roberta"] {
        let ground = Ground::new();
        ground.index(&ground.at(encoder), &[]).code_is(0);
        let index = ground.at("index");
        let snapshots = limn(&["snapshots", "--index", &index, "--json"]).ok();
        let id = snapshots[0]["embedder"].as_str().unwrap().to_owned();
        assert!(id.starts_with("encoder:"), "{snapshots}");
        // The index says where the folder is.
        let found = ground.search(&[]).ok();
        assert_eq!(
            found["results"][0]["table"], "hydrology/secchi",
            "{encoder}: {found}"
        );
        assert!(found["results"][0]["cosine"].is_number(), "{found}");
        let node = Node::start(&index, &[]);
        let served = node
            .get(&format!("/v1/search?q={}", escaped(QUESTION)))
            .ok();
        assert_eq!(served["results"][0]["table"], found["results"][0]["table"]);
        assert_eq!(served["results"][0]["score"], found["results"][0]["score"]);
        assert_eq!(node.get("/v1/status").ok()["embedder"], id.as_str());
        // Nothing has changed, so nothing is published.
        let again = ground.index(&ground.at(encoder), &[]).ok();
        assert_eq!(again["snapshot"], found["snapshot"], "{again}");
    }
}

#[test]
fn an_encoder_that_moved_is_named_and_another_is_refused() {
    let ground = Ground::new();
    let home = ground.at("bert");
    ground.index(&home, &[]).code_is(0);
    let before = ground.search(&[]).ok();
    ground.rename("bert", "elsewhere");
    let (index, elsewhere) = (ground.at("index"), ground.at("elsewhere"));
    refused(
        &ground.search(&[]),
        &[
            "encoder:bert-3x64@",
            "', which is not found: ",
            &home,
            "no such folder",
            "--embedder FOLDER",
        ],
    );
    let node = limn(&["serve", "--index", &index, "--listen", "127.0.0.1:0"]);
    refused(&node, &["encoder:bert-3x64@", "--embedder FOLDER"]);
    // Named by an option, and by a variable.
    assert_eq!(ground.search(&["--embedder", &elsewhere]).ok(), before);
    let mut command = limn_command(&["search", QUESTION, "--index", &index, "--json"]);
    assert_eq!(run(command.env("LIMN_EMBEDDER", &elsewhere)).ok(), before);
    let node = Node::start(&index, &["--embedder", &elsewhere]);
    let served = node
        .get(&format!("/v1/search?q={}", escaped(QUESTION)))
        .ok();
    assert_eq!(served["results"][0]["score"], before["results"][0]["score"]);
    // Another encoder, whose vectors cannot be compared.
    let other = ground.at("xlm-roberta");
    let says = [
        "encoder:bert-3x64@",
        "encoder:roberta-2x64@",
        &other,
        "limn index --embedder",
    ];
    refused(&ground.search(&["--embedder", &other]), &says);
    refused(
        &ground.index(&other, &[]),
        &["encoder:bert-3x64@", "encoder:roberta-2x64@", "--index"],
    );
    let default = limn(&[
        "index",
        &ground.at("lake"),
        "--index",
        &index,
        "--narrate",
        "off",
    ]);
    refused(
        &default,
        &["encoder:bert-3x64@", "all-MiniLM-L6-v2@", "--embedder /"],
    );
    // A run from where it is now counts for the next ones, though it finds nothing to do; but once.
    let snapshot = |run: Run| run.ok()["snapshot"].as_u64().unwrap();
    let moved = snapshot(ground.index(&elsewhere, &[]));
    assert!(ground.search(&[]).ok()["results"].is_array());
    assert_eq!(snapshot(ground.index(&elsewhere, &[])), moved);
}

#[test]
fn the_embedder_that_an_index_was_made_with_may_be_named_and_no_other() {
    let folder = limn_tests::varied_index();
    let index = folder.path().join("index");
    let search = |embedder: &str| {
        let index = text(&index);
        limn(&[
            "search",
            QUESTION,
            "--index",
            index,
            "--embedder",
            embedder,
            "--json",
        ])
    };
    assert!(search("hashed-words").ok()["results"].is_array());
    refused(
        &search("all-MiniLM-L6-v2"),
        &["'hashed-words", "not with all-MiniLM-L6-v2"],
    );
}

#[test]
fn fewer_dimensions_are_remembered() {
    let ground = Ground::new();
    let bert = ground.at("bert");
    ground
        .index(&bert, &["--embedder-dimensions", "32"])
        .code_is(0);
    let index = ground.at("index");
    let snapshots = limn(&["snapshots", "--index", &index, "--json"]).ok();
    let id = snapshots[0]["embedder"].as_str().unwrap();
    assert!(id.starts_with("encoder:bert-3x32@"), "{snapshots}");
    assert!(ground.search(&[]).ok()["results"].is_array());
    refused(&ground.index(&bert, &[]), &["bert-3x32@", "bert-3x64@"]);
    let too_many = ground.index(&bert, &["--embedder-dimensions", "65"]);
    refused(&too_many, &["65", "expected 1 to 64"]);
    let named = ground.index("hashed-words", &["--embedder-dimensions", "32"]);
    refused(&named, &["--embedder-dimensions"]);
}

#[test]
fn vectors_of_1024_numbers_are_the_same_in_both_arithmetics() {
    let folder = TempDir::new().unwrap();
    write_bert(folder.path(), WIDEST);
    let load = |arithmetic: &str| -> Encoder {
        let card = json!({"arithmetic": arithmetic}).to_string();
        fs::write(folder.path().join("limn.json"), card).unwrap();
        let opened = EncoderFolder::open(folder.path(), EncoderOverrides::default(), None);
        opened.unwrap().load(&Devices::default()).unwrap()
    };
    let (integers, floats) = (load("int8"), load("f32"));
    let long = "monthly river depth of lakes by region ".repeat(20);
    let texts = [
        QUESTION,
        "orders of customers by month",
        "",
        "7",
        long.as_str(),
    ];
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let vectors = integers.embed(&texts).unwrap();
    for ((text, one), other) in texts
        .iter()
        .zip(&vectors)
        .zip(floats.embed(&texts).unwrap())
    {
        assert_eq!((one.len(), other.len()), (WIDEST, WIDEST));
        let near = cosine(one, &other);
        assert!((0.99..1.001).contains(&near), "{text:?}: {near}");
    }
    let between = cosine(&vectors[0], &vectors[1]);
    assert!(between < 0.97, "other texts are as near: {between}");
}

#[test]
fn an_index_of_1024_dimensions_takes_no_encoder_of_64_and_the_other_way_round() {
    let ground = Ground::new();
    let (wide, narrow) = (ground.at("wide"), ground.at("bert"));
    write_bert(Path::new(&wide), WIDEST);
    ground.index(&wide, &[]).code_is(0);
    let index = ground.at("index");
    let snapshots = limn(&["snapshots", "--index", &index, "--json"]).ok();
    let id = snapshots[0]["embedder"].as_str().unwrap();
    assert!(id.starts_with("encoder:bert-1x1024@"), "{snapshots}");
    let whole = limn(&["verify", "--index", &index, "--json"]).ok();
    assert_eq!(whole["problems"], json!([]), "{whole}");
    let found = ground.search(&[]).ok();
    assert_eq!(found["results"][0]["table"], "hydrology/secchi", "{found}");
    let by_meaning = ground.search(&["--alpha", "0"]).ok();
    let results = by_meaning["results"].as_array().unwrap();
    assert!(results.len() > 1, "{by_meaning}");
    for hit in results {
        let cosine = hit["cosine"].as_f64().unwrap();
        assert!(cosine.abs() < 1.001, "{by_meaning}");
    }
    assert_ne!(results[0]["cosine"], results[1]["cosine"], "{by_meaning}");
    let says = [
        "encoder:bert-1x1024@",
        "encoder:bert-3x64@",
        &narrow,
        "64 dimensions, and the index has 1024",
        "limn index --embedder",
    ];
    refused(&ground.search(&["--embedder", &narrow]), &says);

    let other = Ground::new();
    other.index(&other.at("bert"), &[]).code_is(0);
    let says = [
        "encoder:bert-3x64@",
        "encoder:bert-1x1024@",
        &wide,
        "1024 dimensions, and the index has 64",
        "limn index --embedder",
    ];
    refused(&other.search(&["--embedder", &wide]), &says);
}

#[test]
fn a_folder_that_is_no_encoder_is_one_clear_error() {
    let ground = Ground::new();
    refused(
        &ground.index("./nowhere", &[]),
        &["./nowhere", "no such folder"],
    );
    refused(
        &ground.index("nowhere", &[]),
        &["nowhere", "all-MiniLM-L6-v2", "./nowhere"],
    );
    let bert = ground.at("bert");
    fs::remove_file(Path::new(&bert).join("tokenizer.json")).unwrap();
    refused(
        &ground.index(&bert, &[]),
        &["tokenizer.json", "expected an encoder's folder"],
    );
    let config = Path::new(&ground.at("modernbert")).join("config.json");
    fs::write(&config, json!({"model_type": "qwen2"}).to_string()).unwrap();
    refused(
        &ground.index(&ground.at("modernbert"), &[]),
        &[text(&config), "is a decoder"],
    );
    // An index of limn's own embedder takes no folder.
    ground.index("hashed-words", &[]).code_is(0);
    let other = ground.at("xlm-roberta");
    refused(
        &ground.search(&["--embedder", &other]),
        &["hashed-words", &other],
    );
}

#[test]
fn a_description_is_written_with_the_encoder_of_the_index() {
    let ground = Ground::new();
    ground.index(&ground.at("bert"), &[]).code_is(0);
    let (index, lake) = (ground.at("index"), ground.at("lake"));
    let change = json!({"lake": lake, "table": "hydrology/secchi", "text": "how far one sees",
        "replaces": null});
    let said = ground.folder.path().join("change.json");
    fs::write(&said, change.to_string()).unwrap();
    let apply = |embedder: Option<&str>, more: &[&str]| {
        let own = ["context", "apply", "--json", "--index", &index];
        let mut command = limn_command(&[&own[..], more].concat());
        command.stdin(fs::File::open(&said).unwrap());
        command.env("LIMN_NARRATE", "off");
        if let Some(embedder) = embedder {
            command.env("LIMN_EMBEDDER", embedder);
        }
        run(&mut command)
    };
    // A folder that holds no encoder, or another one, is no reason to leave the recorded one.
    let (empty, other) = (ground.at("lake"), ground.at("modernbert"));
    for variable in [&empty, &other] {
        apply(Some(variable), &[]).code_is(0);
    }
    refused(
        &apply(None, &["--embedder", &empty]),
        &[
            "encoder:bert-3x64@",
            &empty,
            "config.json",
            "--embedder FOLDER",
        ],
    );
    refused(
        &apply(None, &["--embedder", &other]),
        &[
            "encoder:bert-3x64@",
            "encoder:modernbert-",
            "--embedder FOLDER",
        ],
    );
    ground.rename("bert", "elsewhere");
    refused(
        &apply(Some(&empty), &[]),
        &[
            "encoder:bert-3x64@",
            &empty,
            "config.json",
            "no such folder",
        ],
    );
    apply(Some(&ground.at("elsewhere")), &[]).code_is(0);
}

#[test]
fn an_encoder_is_measured_like_any_embedder() {
    let texts = tempfile::NamedTempFile::new().unwrap();
    fs::write(texts.path(), "lakes\nrivers and their depths\n").unwrap();
    let folder = fixture("roberta");
    let arguments = [
        "models",
        "bench",
        "--model",
        text(&folder),
        "--texts",
        text(texts.path()),
    ];
    let measured = limn(&[&arguments[..], &["--json"]].concat()).ok();
    assert!(
        measured["model"]
            .as_str()
            .unwrap()
            .starts_with("encoder:roberta-3x64@")
    );
    assert_eq!(measured["runs"][0]["texts"], 2);
}
