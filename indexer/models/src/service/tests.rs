//! The service with embedders that are slow, fail, or panic.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::embedder::BATCH_TOKENS;
use crate::{HashedWords, ModelId};

/// Hashed words that record their batches, can be held back, and fail on demand.
#[derive(Default)]
struct Probe {
    /// While a test holds this (it is `true`), no batch ends.
    held: AtomicBool,
    batches: Mutex<Vec<Vec<String>>>,
    threads: Mutex<HashSet<std::thread::ThreadId>>,
    running: AtomicUsize,
    /// Batches that several threads were offered for.
    together: AtomicUsize,
}

impl Embedder for Probe {
    fn id(&self) -> &ModelId {
        HashedWords.id()
    }
    fn dimensions(&self) -> usize {
        HashedWords.dimensions()
    }
    fn window(&self) -> usize {
        HashedWords.window()
    }
    fn count_tokens(&self, text: &str) -> usize {
        assert!(text != "uncountable", "cannot count this");
        HashedWords.count_tokens(text)
    }
    fn embed_together(
        &self,
        texts: &[&str],
        _: &rayon::ThreadPool,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.together.fetch_add(1, Ordering::SeqCst);
        self.embed(texts)
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.running.fetch_add(1, Ordering::SeqCst);
        wait_until(|| !self.held.load(Ordering::SeqCst));
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.threads
            .lock()
            .unwrap()
            .insert(std::thread::current().id());
        self.batches
            .lock()
            .unwrap()
            .push(texts.iter().map(|&text| text.to_owned()).collect());
        for &text in texts {
            assert!(
                text != "panic" && text != "uncountable",
                "a text that panics"
            );
            if text == "fail" {
                return Err(ModelError::Compute {
                    model: "probe".to_owned(),
                    detail: "refused".to_owned(),
                });
            }
        }
        HashedWords.embed(texts)
    }
}

fn texts(range: std::ops::Range<usize>) -> Vec<String> {
    range
        .map(|n| format!("text {n} {}", "word ".repeat(n % 40)))
        .collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "waited in vain"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn vectors_come_back_in_order_whatever_the_threads() {
    for threads in [1, 4] {
        let service = EmbeddingService::start(Arc::new(HashedWords), threads);
        let calls = (0..20).map(|n| service.embed(texts(n * 30..n * 30 + 100)));
        let answers = futures::future::join_all(calls).await;
        for (n, answer) in answers.into_iter().enumerate() {
            let wanted = texts(n * 30..n * 30 + 100);
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            assert_eq!(answer.unwrap(), HashedWords.embed(&wanted).unwrap());
        }
    }
}

#[tokio::test]
async fn no_texts_need_no_batch() {
    let service = EmbeddingService::start(Arc::new(HashedWords), 1);
    assert!(service.embed(Vec::new()).await.unwrap().is_empty());
    assert_eq!(service.stats(), EmbedStats::default());
}

#[tokio::test]
async fn batches_hold_similar_lengths_and_keep_to_the_budget() {
    let probe = Arc::new(Probe::default());
    let service = EmbeddingService::start(Arc::clone(&probe) as Arc<dyn Embedder>, 2);
    let long = "river ".repeat(200);
    let all: Vec<String> = (0..400)
        .map(|n| {
            if n % 2 == 0 {
                format!("short {n}")
            } else {
                format!("{long}{n}")
            }
        })
        .collect();
    service.embed(all).await.unwrap();
    let batches = probe.batches.lock().unwrap();
    let tokens = |batch: &[String]| {
        batch
            .iter()
            .map(|text| HashedWords.count_tokens(text))
            .sum::<usize>()
    };
    assert!(batches.iter().all(|batch| tokens(batch) <= BATCH_TOKENS));
    let mixed = batches.iter().filter(|batch| {
        batch.iter().any(|t| t.starts_with("short")) && batch.iter().any(|t| t.starts_with("river"))
    });
    assert_eq!(
        mixed.count(),
        0,
        "short and long texts belong in different batches"
    );
    let stats = service.stats();
    assert_eq!(stats.texts, 400);
    assert_eq!(stats.batches, batches.len() as u64);
    assert_eq!(
        stats.tokens,
        batches
            .iter()
            .map(|batch| tokens(batch) as u64)
            .sum::<u64>()
    );
    assert!(stats.busy > Duration::ZERO && stats.span() > Duration::ZERO);
}

#[tokio::test]
async fn equal_texts_in_flight_are_computed_once() {
    let probe = Arc::new(Probe::default());
    let service = Arc::new(EmbeddingService::start(
        Arc::clone(&probe) as Arc<dyn Embedder>,
        1,
    ));
    probe.held.store(true, Ordering::SeqCst);
    let call = |texts: Vec<&str>| {
        let service = Arc::clone(&service);
        let texts = texts.into_iter().map(str::to_owned).collect();
        tokio::spawn(async move { service.embed(texts).await })
    };
    let first = call(vec!["a", "b", "a"]);
    tokio::task::yield_now().await;
    wait_until(|| probe.running.load(Ordering::SeqCst) == 1);
    let second = call(vec!["b", "a", "c"]);
    tokio::task::yield_now().await;
    probe.held.store(false, Ordering::SeqCst);
    let (first, second) = (
        first.await.unwrap().unwrap(),
        second.await.unwrap().unwrap(),
    );
    assert_eq!(first[0], first[2]);
    assert_eq!((&first[0], &first[1]), (&second[1], &second[0]));
    let mut computed = probe.batches.lock().unwrap().concat();
    computed.sort();
    assert_eq!(computed, ["a", "b", "c"]);
    assert_eq!(service.stats().joined, 3);
}

#[tokio::test]
async fn a_bad_text_costs_itself_only_and_the_threads_live_on() {
    for (bad, panics) in [("panic", true), ("fail", false), ("uncountable", true)] {
        let service = EmbeddingService::start(Arc::new(Probe::default()), 1);
        let good = service.embed(texts(0..5));
        let with_bad = service.embed(vec!["fine".to_owned(), bad.to_owned()]);
        let (good, with_bad) = futures::join!(good, with_bad);
        assert_eq!(good.unwrap().len(), 5, "{bad}");
        let error = with_bad.unwrap_err();
        assert_eq!(
            matches!(error, ModelError::Panicked { .. }),
            panics,
            "{error}"
        );
        assert_eq!(
            service.embed(texts(5..9)).await.unwrap().len(),
            4,
            "after {bad}"
        );
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_the_queue() {
    let probe = Arc::new(Probe::default());
    let service = Arc::new(EmbeddingService::start(
        Arc::clone(&probe) as Arc<dyn Embedder>,
        1,
    ));
    probe.held.store(true, Ordering::SeqCst);
    let spawn = |text: &str| {
        let (service, text) = (Arc::clone(&service), text.to_owned());
        tokio::spawn(async move { service.embed(vec![text]).await })
    };
    let running = spawn("running");
    tokio::task::yield_now().await;
    wait_until(|| probe.running.load(Ordering::SeqCst) == 1);
    let unwanted = spawn("unwanted");
    tokio::task::yield_now().await;
    unwanted.abort();
    assert!(unwanted.await.unwrap_err().is_cancelled());
    probe.held.store(false, Ordering::SeqCst);
    running.await.unwrap().unwrap();
    spawn("last").await.unwrap().unwrap();
    assert!(
        !probe
            .batches
            .lock()
            .unwrap()
            .concat()
            .contains(&"unwanted".to_owned())
    );
}

#[tokio::test]
async fn a_short_text_that_is_alone_is_computed_together() {
    let probe = Arc::new(Probe::default());
    let service = EmbeddingService::start(probe.clone(), 2);
    let together = || probe.together.load(Ordering::SeqCst);
    let embed = |text: &str| service.embed(vec![text.to_owned()]);
    embed("alone").await.unwrap();
    assert_eq!(together(), 1);
    // A long one keeps a thread busy while others come.
    embed(&"long ".repeat(300)).await.unwrap();
    assert_eq!(together(), 1);
    // Nor has one that another one is computed beside.
    probe.held.store(true, Ordering::SeqCst);
    let first = embed("first");
    let second = async {
        wait_until(|| probe.running.load(Ordering::SeqCst) == 1);
        let second = embed("second");
        let freed = async {
            tokio::task::spawn_blocking({
                let probe = Arc::clone(&probe);
                move || {
                    wait_until(|| probe.running.load(Ordering::SeqCst) == 2);
                    probe.held.store(false, Ordering::SeqCst);
                }
            })
            .await
            .unwrap();
        };
        tokio::join!(second, freed).0
    };
    let (first, second) = tokio::join!(first, second);
    first.unwrap();
    second.unwrap();
    assert_eq!(together(), 2, "the first was alone when it was begun");

    let alone = EmbeddingService::start(probe.clone(), 1);
    alone.embed(vec!["one thread".to_owned()]).await.unwrap();
    assert_eq!(together(), 2);
}

#[test]
fn dropping_the_service_ends_its_threads() {
    let probe = Arc::new(Probe::default());
    let service = EmbeddingService::start(Arc::clone(&probe) as Arc<dyn Embedder>, 3);
    futures::executor::block_on(service.embed(texts(0..300))).unwrap();
    assert_eq!(service.threads(), 3);
    drop(service);
    assert_eq!(
        Arc::strong_count(&probe),
        1,
        "a device thread still holds the embedder"
    );
}

#[test]
fn libraries_below_find_a_single_thread() {
    struct Rayon;
    impl Embedder for Rayon {
        fn id(&self) -> &ModelId {
            HashedWords.id()
        }
        fn dimensions(&self) -> usize {
            1
        }
        fn window(&self) -> usize {
            8
        }
        fn count_tokens(&self, _: &str) -> usize {
            1
        }
        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
            Ok(vec![vec![rayon::current_num_threads() as f32]; texts.len()])
        }
    }
    let service = EmbeddingService::start(Arc::new(Rayon), 2);
    assert_eq!(
        futures::executor::block_on(service.embed(vec!["x".to_owned()])).unwrap(),
        [[1.0]]
    );
}

/// Like an endpoint that is down: it fails at once here, and after minutes of attempts there.
#[tokio::test]
async fn an_embedder_that_is_away_is_not_asked_for_each_text() {
    struct Away(AtomicUsize, ModelId);
    impl Embedder for Away {
        fn id(&self) -> &ModelId {
            &self.1
        }
        fn dimensions(&self) -> usize {
            4
        }
        fn window(&self) -> usize {
            256
        }
        fn count_tokens(&self, text: &str) -> usize {
            text.len()
        }
        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Err(ModelError::Endpoint {
                url: "http://127.0.0.1:9".into(),
                detail: "nobody is there".into(),
                transient: true,
            })
        }
    }
    let away = Arc::new(Away(AtomicUsize::new(0), ModelId::new("away")));
    let service = EmbeddingService::start(Arc::clone(&away) as Arc<dyn Embedder>, 1);
    let error = service.embed(texts(0..40)).await.unwrap_err();
    assert!(error.is_retryable());
    let batches = service.stats().batches as usize;
    assert!(away.0.load(Ordering::SeqCst) <= 2 * batches.max(1));
    assert!(batches < 20);
}
