#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tokio::time::{Instant, advance, sleep, timeout};

use super::*;

const QUIET: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(30);

fn triggers() -> Triggers {
    let coalesce = Coalesce {
        quiet: QUIET,
        longest: LONGEST,
        most: 100,
    };
    Triggers::new(LakeRoot::default(), coalesce)
}

fn objects(paths: &[&str]) -> Hint {
    Hint::Objects(paths.iter().map(|path| (*path).to_owned()).collect())
}

/// The bursts of a source that never ends, and how to give hints.
fn bursts() -> (Bursts, impl Fn(Hint)) {
    let mut triggers = triggers();
    triggers.sources.spawn(std::future::pending());
    let hinting = Triggers {
        collector: Arc::clone(&triggers.collector),
        ..self::triggers()
    };
    (triggers.bursts(), move |hint| hinting.hint(hint))
}

#[tokio::test(start_paused = true)]
async fn a_storm_on_one_object_is_one_burst_of_one_object() {
    let (mut bursts, hint) = bursts();
    for _ in 0..500 {
        hint(objects(&["a.csv"]));
    }
    let start = Instant::now();
    let burst = bursts.next().await.unwrap();
    assert_eq!(start.elapsed(), QUIET);
    assert_eq!(burst.objects.len(), 1);
    assert!(!burst.everything);
    burst.done().await.unwrap();
    assert!(timeout(LONGEST * 2, bursts.next()).await.is_err());
    assert_eq!(bursts.counts().bursts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_burst_ends_although_hints_go_on() {
    let (mut bursts, hint) = bursts();
    let start = Instant::now();
    let hinting = async {
        for n in 0..1000 {
            hint(objects(&[&format!("{}.csv", n % 50)]));
            sleep(Duration::from_millis(700)).await;
        }
    };
    tokio::select! {
        () = hinting => panic!("no burst came"),
        burst = bursts.next() => assert_eq!(burst.unwrap().objects.len(), 43),
    }
    assert_eq!(start.elapsed(), LONGEST);
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_the_caller_works_is_the_next_burst() {
    let (mut bursts, hint) = bursts();
    hint(objects(&["a.csv"]));
    let first = bursts.next().await.unwrap();
    hint(objects(&["b.csv"]));
    advance(Duration::from_secs(600)).await;
    hint(objects(&["c.csv", "b.csv"]));
    first.done().await.unwrap();
    let start = Instant::now();
    let second = bursts.next().await.unwrap();
    assert!(start.elapsed().is_zero(), "it had ended long ago");
    assert_eq!(second.objects, ["b.csv", "c.csv"].map(str::to_owned).into());
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_everything_in_bounded_memory() {
    let (mut bursts, hint) = bursts();
    for n in 0..100 {
        hint(objects(&[&format!("{n}.csv")]));
    }
    assert_eq!(bursts.next().await.unwrap().objects.len(), 100);
    for n in 0..101 {
        hint(objects(&[&format!("{n}.csv")]));
    }
    hint(objects(&["later.csv"]));
    let burst = bursts.next().await.unwrap();
    assert!(burst.everything && burst.objects.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_burst_that_is_put_back_comes_again_with_what_is_new() {
    let (mut bursts, hint) = bursts();
    hint(objects(&["a.csv"]));
    let burst = bursts.next().await.unwrap();
    hint(objects(&["b.csv"]));
    burst.put_back();
    let again = bursts.next().await.unwrap();
    assert_eq!(again.objects, ["a.csv", "b.csv"].map(str::to_owned).into());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_loses_nothing_and_nothing_is_no_burst() {
    let (mut bursts, hint) = bursts();
    hint(objects(&[]));
    hint(objects(&["a.csv"]));
    for _ in 0..10 {
        assert!(timeout(QUIET / 20, bursts.next()).await.is_err());
    }
    assert_eq!(bursts.next().await.unwrap().objects.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_timer_announces_everything_at_once_and_again() {
    let mut triggers = triggers();
    triggers.every(Duration::from_secs(3600));
    let mut bursts = triggers.bursts();
    let start = Instant::now();
    for hours in 0..3_u32 {
        let burst = bursts.next().await.unwrap();
        assert!(burst.everything);
        assert_eq!(start.elapsed().as_secs() / 3600, u64::from(hours));
    }
    assert_eq!(bursts.counts().events, 0, "the clock is no event");
}

#[tokio::test(start_paused = true)]
async fn without_sources_there_are_no_bursts_but_those_that_came() {
    let triggers = triggers();
    triggers.hint(Hint::Everything);
    let mut bursts = triggers.bursts();
    assert!(bursts.next().await.unwrap().everything);
    assert!(bursts.next().await.is_none());
}

#[tokio::test]
async fn what_happens_to_files_is_announced() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let index = root.join("index");
    std::fs::create_dir_all(root.join("sales")).unwrap();
    std::fs::create_dir(&index).unwrap();
    std::fs::write(root.join("sales/old.csv"), "a\n1\n").unwrap();
    let coalesce = Coalesce {
        quiet: Duration::from_millis(200),
        ..Coalesce::default()
    };
    let mut triggers = Triggers::new(LakeRoot::default(), coalesce);
    let unwatched = triggers.folder(root, std::slice::from_ref(&index));
    assert!(unwatched.unwrap().is_empty());
    let mut bursts = triggers.bursts();
    let mut next = async || {
        let burst = timeout(Duration::from_secs(20), bursts.next()).await;
        let burst = burst.unwrap().unwrap();
        assert!(!burst.everything);
        burst.objects.into_iter().collect::<Vec<_>>()
    };

    std::fs::write(root.join("sales/new ü.csv"), "a\n1\n").unwrap();
    std::fs::write(index.join("segment"), "x").unwrap();
    std::fs::write(root.join(".hidden"), "x").unwrap();
    assert_eq!(next().await, [".hidden", "sales/new ü.csv"]);

    std::fs::rename(root.join("sales/old.csv"), root.join("sales/renamed.csv")).unwrap();
    assert_eq!(next().await, ["sales/old.csv", "sales/renamed.csv"]);

    std::fs::remove_file(root.join("sales/renamed.csv")).unwrap();
    assert_eq!(next().await, ["sales/renamed.csv"]);

    // A folder is watched as soon as it is there; what was in it before is below its own name.
    std::fs::create_dir_all(root.join("year/month")).unwrap();
    assert!(next().await.contains(&"year".to_owned()));
    std::fs::write(root.join("year/month/x.csv"), "a\n1\n").unwrap();
    assert_eq!(next().await, ["year/month/x.csv"]);

    // Reading announces nothing.
    std::fs::read(root.join("sales/new ü.csv")).unwrap();
    let read = timeout(Duration::from_secs(1), bursts.next()).await;
    assert!(read.is_err(), "{read:?}");

    assert!(bursts.counts().events >= 6 && bursts.counts().ignored == 0);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_one_clear_line() {
    let mut triggers = triggers();
    let error = triggers
        .folder(Path::new("/nowhere/lake"), &[])
        .unwrap_err();
    assert_eq!(error.kind(), TriggerErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn queues_that_cannot_be_asked_say_why() {
    let mut triggers = triggers();
    let variables = [
        ("AWS_ACCESS_KEY_ID", "limn"),
        ("AWS_SECRET_ACCESS_KEY", "sEcReT"),
        ("AWS_SESSION_TOKEN", "sEcReT\nline"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = QueueOptions::new("http://127.0.0.1:1/1/q");
    let error = triggers.queue_with(options, variables).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("no header can hold") && !text.contains("sEcReT"),
        "{text}"
    );
    let mut options = QueueOptions::new("http://127.0.0.1:1/1/q");
    options.set_aside = Some(options.url.clone());
    let error = triggers.queue_with(options, []).await.unwrap_err();
    assert!(error.to_string().contains("another queue"), "{error}");
}
