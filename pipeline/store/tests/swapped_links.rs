//! A symbolic link that is swapped in while a lake is read leads nowhere.
//!
//! Somebody who may write into the lake exchanges a file or folder of it and a link that leaves the
//! lake, atomically and again and again: a process that checks a path first and opens it then reads
//! outside sooner or later.
#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use futures::StreamExt;
use limn_store::{Store, StoreErrorKind};
use rustix::fs::{CWD, RenameFlags, renameat_with};

const READS: usize = 4_000;

/// Exchanges two names until it is dropped.
struct Exchange {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Exchange {
    fn of(one: PathBuf, other: PathBuf) -> Exchange {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let mut exchanges = 0;
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                exchanges += 1;
            }
            exchanges
        });
        Exchange {
            done,
            thread: Some(thread),
        }
    }

    fn end(mut self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn lake(folder: &Path) -> (PathBuf, Store) {
    let (lake, outside) = (folder.join("lake"), folder.join("outside"));
    std::fs::create_dir_all(lake.join("a")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(lake.join("a/t.csv"), "mine").unwrap();
    std::fs::write(outside.join("t.csv"), "theirs").unwrap();
    std::fs::write(outside.join("secret.csv"), "theirs").unwrap();
    let store = Store::open(lake.to_str().unwrap()).unwrap();
    (lake, store)
}

/// What the reads came to: so many of the lake, so many refused.
async fn reads(store: &Store, path: &str) -> (usize, usize) {
    let (mut mine, mut refused) = (0, 0);
    for _ in 0..READS {
        match store.get(path).await {
            Ok(content) => {
                assert_eq!(content, "mine");
                mine += 1;
            }
            Err(_) => refused += 1,
        }
    }
    (mine, refused)
}

#[tokio::test]
async fn a_file_that_is_swapped_for_a_link_is_not_read_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, store) = lake(folder.path());
    symlink(folder.path().join("outside/t.csv"), lake.join("link")).unwrap();
    let exchange = Exchange::of(lake.join("a/t.csv"), lake.join("link"));
    let (mine, refused) = reads(&store, "a/t.csv").await;
    assert!(exchange.end() > 100);
    assert!(mine > 0 && refused > 0, "{mine} {refused}");
}

#[tokio::test]
async fn a_folder_that_is_swapped_for_a_link_is_neither_read_nor_listed_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, store) = lake(folder.path());
    symlink(folder.path().join("outside"), lake.join("link")).unwrap();
    let exchange = Exchange::of(lake.join("a"), lake.join("link"));
    let (mine, refused) = reads(&store, "a/t.csv").await;
    assert!(mine > 0 && refused > 0, "{mine} {refused}");
    for _ in 0..READS / 4 {
        let items: Vec<_> = store.list("").collect().await;
        for info in items.into_iter().flatten() {
            assert!(info.path.ends_with("/t.csv"), "{info:?}");
            assert_eq!(info.size, "mine".len() as u64, "{info:?}");
        }
    }
    assert!(exchange.end() > 100);
}

/// A link from one place of the lake to another goes on being followed, relative or not.
#[tokio::test]
async fn links_within_the_lake_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, store) = lake(folder.path());
    symlink(lake.join("a"), lake.join("absolute")).unwrap();
    symlink("a/t.csv", lake.join("relative.csv")).unwrap();
    symlink("../absolute/t.csv", lake.join("a/back.csv")).unwrap();
    symlink("../outside/t.csv", lake.join("out.csv")).unwrap();
    symlink("nowhere", lake.join("broken.csv")).unwrap();
    for path in [
        "absolute/t.csv",
        "relative.csv",
        "a/back.csv",
        "absolute/back.csv",
    ] {
        assert_eq!(store.get(path).await.unwrap(), "mine", "{path}");
    }
    let error = store.get("out.csv").await.unwrap_err();
    assert!(error.cause().contains("outside the folder"), "{error}");
    let error = store.get("broken.csv").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
    let error = store.put("out/x.csv", "1".into()).await.err();
    assert!(error.is_none());
    symlink(folder.path().join("outside"), lake.join("elsewhere")).unwrap();
    let error = store.put("elsewhere/x.csv", "1".into()).await.unwrap_err();
    assert!(error.cause().contains("outside the folder"), "{error}");
    assert!(!folder.path().join("outside/x.csv").exists());
}
