#![allow(clippy::unwrap_used, clippy::expect_used)]
use limn_store::Store;

use super::*;

fn narrator() -> Narrator {
    Narrator {
        model: "a model".into(),
        prompt: 1,
    }
}

fn store(index: &IndexStore, run: &str) -> NarrationStore {
    NarrationStore::new(index.clone(), narrator(), run.to_owned(), false)
}

fn record(context: u128, position: u32, text: Option<&str>) -> NarrationRecord {
    NarrationRecord {
        context,
        position,
        column: format!("c{position}"),
        narration: text.map(str::to_owned),
    }
}

async fn files(index: &IndexStore) -> usize {
    index.narration_files(&narrator()).await.unwrap().len()
}

#[tokio::test]
async fn narrations_are_written_as_they_come_and_merged_at_the_end() {
    let index = IndexStore::new(Store::in_memory());
    let first = store(&index, "first");
    assert_eq!(first.look_up(ContextId(7), 2).await.unwrap(), [None, None]);
    for position in 0..5 {
        first.record(record(7, position, (position != 2).then_some("a text")));
        first.flush().await.unwrap();
        first.flush().await.unwrap();
    }
    assert_eq!(files(&index).await, 5);
    // A killed run's narrations are found; "no description" is an answer as well.
    let killed = store(&index, "other")
        .look_up(ContextId(7), 6)
        .await
        .unwrap();
    let text = Some(Some("a text".to_owned()));
    let expected = [
        text.clone(),
        text.clone(),
        Some(None),
        text.clone(),
        text,
        None,
    ];
    assert_eq!(killed, expected);
    first.finish().await.unwrap();
    assert_eq!(files(&index).await, 1);
    assert_eq!(
        store(&index, "x").look_up(ContextId(7), 6).await.unwrap(),
        expected
    );
    // Nothing new, nothing written.
    let puts = index.store.counts().put;
    let idle = store(&index, "idle");
    idle.look_up(ContextId(7), 6).await.unwrap();
    idle.finish().await.unwrap();
    assert_eq!(index.store.counts().put, puts);
}

#[tokio::test]
async fn two_runs_at_the_same_time_lose_nothing() {
    let index = IndexStore::new(Store::in_memory());
    let (one, two) = (store(&index, "one"), store(&index, "two"));
    for position in 0..MANY_FILES as u32 {
        one.record(record(1, position, Some("one")));
        one.flush().await.unwrap();
        two.record(record(2, position, Some("two")));
        // The same narration by both, in other words.
        two.record(record(3, position, Some("b")));
        one.record(record(3, position, Some("a")));
        two.flush().await.unwrap();
    }
    // The first to end finds many files, and merges those of the other with its own.
    one.finish().await.unwrap();
    assert_eq!(files(&index).await, 1);
    two.record(record(2, 1000, None));
    two.finish().await.unwrap();
    let after = store(&index, "after");
    let columns = MANY_FILES;
    let all = |text: &str| vec![Some(Some(text.to_owned())); columns];
    assert_eq!(
        after.look_up(ContextId(1), columns).await.unwrap(),
        all("one")
    );
    assert_eq!(
        after.look_up(ContextId(2), columns).await.unwrap(),
        all("two")
    );
    assert_eq!(
        after.look_up(ContextId(3), columns).await.unwrap(),
        all("a")
    );
    assert_eq!(
        after.look_up(ContextId(2), 1001).await.unwrap()[1000],
        Some(None)
    );
}

#[tokio::test]
async fn a_damaged_file_is_named_with_the_remedy() {
    let index = IndexStore::new(Store::in_memory());
    let good = store(&index, "run");
    good.record(record(7, 0, Some("a text")));
    good.flush().await.unwrap();
    let (path, _) = index.narration_files(&narrator()).await.unwrap().remove(0);
    index.store.put(&path, "not parquet".into()).await.unwrap();
    let error = store(&index, "next")
        .look_up(ContextId(7), 1)
        .await
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains(&path) && error.contains("delete it"),
        "{error}"
    );
    index.remove_narrations(&path).await.unwrap();
    assert_eq!(
        store(&index, "next")
            .look_up(ContextId(7), 1)
            .await
            .unwrap(),
        [None]
    );
}
