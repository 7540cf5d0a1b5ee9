//! The process that reads spreadsheets: how often it is started, and what becomes of its ends.
#![cfg(unix)]

use super::other_programs::data;
use super::*;
use crate::confined::Confined;
use crate::confined::tests::scripted;

/// What the process would answer for all sheets of a book, in a script that counts how often it is
/// started.
fn counting(folder: &tempfile::TempDir, book: &[u8]) -> Confined {
    let most = ReadOptions::default().scan_budget * 2;
    let request = format!(
        "{{\"bytes\":{},\"only\":null,\"most\":{most}}}\n",
        book.len()
    );
    let answer = answer_book(&[request.as_bytes(), book].concat()[..]).unwrap();
    let place = folder.path().join("answer");
    std::fs::write(&place, answer).unwrap();
    let script = format!(
        "echo x >> {}\ncat > /dev/null\ncat {}",
        folder.path().join("started").display(),
        place.display()
    );
    scripted(folder, &script)
}

fn started(folder: &tempfile::TempDir) -> usize {
    let started = std::fs::read_to_string(folder.path().join("started"));
    started.unwrap_or_default().lines().count()
}

/// Lists a book, and reads its sheets twice; the paths and rows.
async fn all(path: &str, bytes: Vec<u8>, options: &ReadOptions) -> Vec<(String, u64)> {
    let store = Store::in_memory();
    store.put(path, bytes.into()).await.unwrap();
    let container = ObjectRecord::from(store.head(path).await.unwrap());
    let opened = open_container(&store, &container, NAMES, options)
        .await
        .unwrap();
    let mut rows = Vec::new();
    for member in opened.members.iter().chain(&opened.members) {
        let summary = read_with(&store, member, options).await.unwrap();
        rows.push((member.path.clone(), summary.rows));
    }
    rows
}

#[tokio::test]
async fn a_book_is_opened_once_however_many_sheets_it_has() {
    let book = data("xlwt.xls");
    let expected = all("x.xls", book.clone(), &options()).await;
    assert_eq!(expected.len(), 6, "{expected:?}");
    for (kept, starts) in [(1 << 20, 1), (0, 7)] {
        let folder = tempfile::TempDir::new().unwrap();
        let options = ReadOptions {
            confined: Some(counting(&folder, &book)),
            containers: OpenContainers::keeping(kept),
            ..ReadOptions::default()
        };
        assert_eq!(all("x.xls", book.clone(), &options).await, expected);
        assert_eq!(started(&folder), starts);
    }
}

#[tokio::test]
async fn what_is_kept_of_books_is_bounded_and_of_one_version() {
    let book = data("xlwt.xls");
    let folder = tempfile::TempDir::new().unwrap();
    let confined = Some(counting(&folder, &book));
    let answer = std::fs::metadata(folder.path().join("answer")).unwrap();
    let options = ReadOptions {
        confined,
        containers: OpenContainers::keeping(answer.len() * 3 / 2),
        ..ReadOptions::default()
    };
    for (path, starts) in [("a.xls", 1), ("a.xls", 1), ("b.xls", 2), ("a.xls", 3)] {
        all(path, book.clone(), &options).await;
        assert_eq!(started(&folder), starts, "{path}");
    }
}

#[tokio::test]
async fn ends_of_the_process_are_reported_with_a_remedy() {
    let book = data("xlwt.xls");
    for (script, words, is_retryable) in [
        ("cat > /dev/null; kill -24 $$", "more memory or time", false),
        ("exit 44", "does not limit", false),
        ("exit 1", "the process that reads spreadsheets failed", true),
        (
            "cat > /dev/null",
            "the process that reads spreadsheets failed",
            true,
        ),
    ] {
        let folder = tempfile::TempDir::new().unwrap();
        let confined = Some(scripted(&folder, script));
        let options = ReadOptions {
            confined,
            ..ReadOptions::default()
        };
        let error = opened_with(&book, &options).await;
        assert!(error.cause.contains(words), "{script}: {error}");
        assert_eq!(
            error.kind == FileErrorKind::Panicked,
            is_retryable,
            "{error}"
        );
        assert!(error.to_string().contains("CSV"), "{error}");
    }
    let error = opened_with(&book, &ReadOptions::default()).await;
    assert!(error.cause.contains("only the limn command"), "{error}");
}

async fn opened_with(book: &[u8], options: &ReadOptions) -> FileError {
    let store = Store::in_memory();
    store.put("x.xls", book.to_vec().into()).await.unwrap();
    let container = ObjectRecord::from(store.head("x.xls").await.unwrap());
    let opened = open_container(&store, &container, NAMES, options).await;
    opened.unwrap_err()
}
