//! The crate's promises, on real segments of small lakes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bringing;
mod candidates;
mod copies;
mod explaining;
mod folders;
mod following;
mod judge;
mod languages;
mod pinned;
mod properties;
mod restricted;
mod selection;
mod shared;
mod shortened;
mod similar;
mod speed;
mod wholes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use half::f16;
use limn_models::{Embedder, HashedWords};
use limn_segment::{
    Block, BlockKind, Deletes, Field, IndexStore, SegmentReader, SegmentSettings, Shard, Snapshot,
    TableBlocks, TableKey, TableValues, build_segment,
};
use limn_store::Store;

use crate::corpus::Opened;
use crate::eval::{EvalOptions, EvalQuestion, evaluate};
use crate::{Features, Mode, Query, Ranking, RetrievalError, Searcher, Weights};

const WORDS: [&str; 16] = [
    "river", "lake", "fish", "depth", "country", "name", "year", "city", "water", "level", "boat",
    "owner", "price", "date", "weight", "species",
];

fn key(name: &str) -> TableKey {
    TableKey {
        lake: "lake".into(),
        name: name.into(),
    }
}

fn block(kind: BlockKind, field: Field, text: &str) -> Block {
    let vector = HashedWords.embed_one(text).unwrap();
    Block {
        kind,
        text: text.into(),
        fields: vec![(field, text.into())],
        vector: (kind != BlockKind::Cells).then(|| vector.into_iter().map(f16::from_f32).collect()),
    }
}

fn table(name: &str, schema: &str, rows: &[&str], contexts: &[&str], cells: &str) -> TableBlocks {
    let mut blocks = vec![block(BlockKind::Schema, Field::Names, schema)];
    blocks.extend(
        rows.iter()
            .map(|text| block(BlockKind::Rows, Field::Rows, text)),
    );
    blocks.extend(
        contexts
            .iter()
            .map(|text| block(BlockKind::Context, Field::Contexts, text)),
    );
    if !cells.is_empty() {
        blocks.push(block(BlockKind::Cells, Field::Cells, cells));
    }
    TableBlocks {
        content: None,
        values: TableValues::default(),
        table: key(name),
        location: format!("lake/{name}.csv"),
        blocks,
    }
}

fn segment(
    tables: Vec<TableBlocks>,
    shard: u32,
) -> (Arc<SegmentReader>, Vec<(TableKey, u32, u32)>) {
    let settings = SegmentSettings::new(HashedWords.dimensions(), Shard(shard));
    let built = build_segment(tables, &settings).unwrap();
    let reader = SegmentReader::from_bytes(built.bytes.clone(), &built.entry).unwrap();
    (reader, built.tables)
}

fn snapshot() -> Snapshot {
    Snapshot::first(HashedWords.id().as_str(), HashedWords.dimensions(), 1)
}

fn opened(reader: Arc<SegmentReader>, deletes: Deletes) -> Opened {
    Opened {
        reader,
        deletes: Arc::new(deletes),
        deletes_path: None,
    }
}

/// A searcher over the tables, spread over `shards` shards of up to two segments each.
fn searcher(tables: &[TableBlocks], shards: u32) -> Searcher {
    searcher_with(tables, shards, Arc::new(HashedWords))
}

fn searcher_with(tables: &[TableBlocks], shards: u32, embedder: Arc<dyn Embedder>) -> Searcher {
    let mut by_segment: BTreeMap<(u32, bool), Vec<TableBlocks>> = BTreeMap::new();
    for table in tables {
        let shard = table.table.shard(shards).0;
        let second = shards > 1 && table.table.name.len().is_multiple_of(2);
        by_segment
            .entry((shard, second))
            .or_default()
            .push(table.clone());
    }
    let opened = by_segment
        .into_iter()
        .map(|((shard, _), tables)| opened(segment(tables, shard).0, Deletes::none()))
        .collect();
    Searcher::from_segments(opened, snapshot(), embedder)
}

fn query(text: &str, k: usize, mode: Mode) -> Query {
    Query {
        k,
        mode,
        ..Query::new(text)
    }
}

fn bits(ranking: &Ranking) -> Vec<(String, u32, u32, u32)> {
    ranking
        .tables
        .iter()
        .map(|t| {
            let name = t.key.name.clone();
            (
                name,
                t.score.to_bits(),
                t.lexical.to_bits(),
                t.semantic.to_bits(),
            )
        })
        .collect()
}

fn small_lake() -> Vec<TableBlocks> {
    vec![
        table(
            "shop/orders",
            "shop orders: order id, customer name, order date",
            &["order id: 1 | customer name: Ann Smith"],
            &["Every order a customer placed in the web shop."],
            "customer name: Ann Smith | Bob Jones | Carla Leipzig\norder date: 2024-01-01",
        ),
        table(
            "shop/items",
            "shop items: item id, price, weight",
            &[],
            &[],
            "price: 3 | 4",
        ),
        table(
            "science/fish",
            "science fish: species, depth, river",
            &["species: perch | depth: 3 | river: Elbe"],
            &[],
            "river: Elbe | Saale",
        ),
    ]
}

#[test]
fn a_search_that_nobody_waits_for_any_more_is_ended() {
    let searcher = searcher(&small_lake(), 2);
    for mode in [Mode::Limn, Mode::Plain] {
        let late = Query {
            until: Some(Instant::now()),
            ..query("fish", 3, mode)
        };
        let ended = searcher.search(&late).unwrap_err();
        assert!(matches!(ended, RetrievalError::TooLate), "{ended}");
        let in_time = Query {
            until: Some(Instant::now() + Duration::from_secs(600)),
            ..late
        };
        assert!(!searcher.search(&in_time).unwrap().results.is_empty());
    }
    let ended = searcher.similar(&key("shop/items"), 1, None, Some(Instant::now()));
    assert!(matches!(ended, Err(RetrievalError::TooLate)));
}

#[test]
fn an_answer_shows_why() {
    let searcher = searcher(&small_lake(), 2);
    let answer = searcher
        .search(&Query::new("orders of carla leipzig"))
        .unwrap();
    assert_eq!(answer.snapshot, 1);
    let first = &answer.results[0];
    assert_eq!(first.table, "shop/orders");
    assert_eq!(first.location, "lake/shop/orders.csv");
    assert_eq!(first.lake, "lake");
    assert_eq!(first.judged, None);
    let features = Features {
        meaning: first.semantic,
        covered: first.covered,
        name: first.name_match,
        contexts: first.context_match,
    };
    assert_eq!(first.name_match, 1.0);
    let formula = 0.5 * first.lexical + 0.5 * first.semantic;
    let score = Weights::LEARNED.score(formula, &features);
    assert!((first.score - score).abs() < 1e-6);
    let formula_alone = Query {
        weights: Some(Weights::FORMULA),
        ..Query::new("orders of carla leipzig")
    };
    let alone = searcher.search(&formula_alone).unwrap();
    assert!((alone.results[0].score - formula).abs() < 1e-6);
    let cells = first
        .blocks
        .iter()
        .find(|b| b.kind == BlockKind::Cells)
        .unwrap();
    assert_eq!(
        cells.text, "customer name: Carla Leipzig",
        "cut to the values that match"
    );
    assert_eq!(
        cells.words,
        ["Carla", "Leipzig"],
        "heaviest first, then by term"
    );
    let words = |name: &str| {
        let query = Query {
            k: 1,
            ..Query::new(name)
        };
        searcher.search(&query).unwrap().results[0].blocks[0]
            .words
            .clone()
    };
    assert_eq!(words("customers order"), ["customer", "order"]);
    assert!(first.blocks.is_sorted_by(|a, b| a.score >= b.score));
    assert_eq!(cells.score, 0.5, "all words, and no vector");
    assert!(answer.notes.is_empty(), "{:?}", answer.notes);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(
        json["results"][0]["blocks"][0]["kind"]
            .as_str()
            .unwrap()
            .to_lowercase(),
        json["results"][0]["blocks"][0]["kind"]
    );
    assert!(json["results"][0]["judged"].is_null());

    // Texts that were read before are the same, and fewer are the first of them.
    let results = |evidence: usize| {
        let query = Query {
            evidence,
            ..Query::new("customers from Leipzig")
        };
        searcher.search(&query).unwrap().results
    };
    let all = results(Query::EVIDENCE);
    assert!(all[0].blocks.len() > 1);
    for most in [0, 1, 2] {
        for (full, cut) in all.iter().zip(results(most)) {
            let end = most.min(full.blocks.len());
            assert_eq!((&cut.table, cut.score), (&full.table, full.score));
            assert_eq!(cut.blocks, full.blocks[..end]);
        }
    }
}

#[test]
fn unknown_words_are_named_and_nonsense_finds_nothing() {
    let searcher = searcher(&small_lake(), 2);
    let answer = searcher
        .search(&Query::new("which fish are flurbish?"))
        .unwrap();
    assert_eq!(answer.results[0].table, "science/fish");
    assert!(
        answer.notes[0].starts_with(
            "this word occurs nowhere in the index: flurbish (the index holds a sample"
        ),
        "{:?}",
        answer.notes
    );
    assert_eq!(answer.unknown, ["flurbish"]);

    let answer = searcher.search(&Query::new("zzyzx qwrtp")).unwrap();
    assert!(answer.results.is_empty(), "{answer:?}");
    assert!(
        answer.notes[0].starts_with("these words occur nowhere in the index: zzyzx, qwrtp ("),
        "{:?}",
        answer.notes
    );
    assert!(
        answer.notes[1].starts_with("nothing relevant was found"),
        "{:?}",
        answer.notes
    );

    let under = Query {
        prefix: Some("nowhere".into()),
        ..Query::new("fish")
    };
    assert_eq!(
        searcher.search(&under).unwrap().notes,
        ["no table lies under 'nowhere'"]
    );
    // A prefix is a path, not the beginning of a word.
    let half = Query {
        prefix: Some("sho".into()),
        ..Query::new("fish")
    };
    assert!(searcher.search(&half).unwrap().results.is_empty());
    let whole = Query {
        prefix: Some("shop/items/".into()),
        ..Query::new("price")
    };
    assert_eq!(searcher.search(&whole).unwrap().results.len(), 1);

    let empty = Searcher::from_segments(Vec::new(), snapshot(), Arc::new(HashedWords));
    assert_eq!(
        empty.search(&Query::new("fish")).unwrap().notes,
        ["the index holds no tables"]
    );
}

#[test]
fn queries_that_make_no_sense_are_refused() {
    let searcher = searcher(&small_lake(), 1);
    let base = Query::new("fish");
    for (query, part) in [
        (
            Query {
                k: 0,
                ..base.clone()
            },
            "at least 1",
        ),
        (
            Query {
                alpha: 1.5,
                ..base.clone()
            },
            "alpha is 1.5",
        ),
        (
            Query {
                text: "  ".into(),
                ..base.clone()
            },
            "the question is empty",
        ),
        (
            Query {
                vector: Some(vec![1.0]),
                ..base.clone()
            },
            "1 dimensions and the index 64",
        ),
        (
            Query {
                vector: Some(vec![f32::NAN; 64]),
                ..base.clone()
            },
            "no numbers",
        ),
    ] {
        let error = searcher.search(&query).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.is_retryable());
    }
    // A question without a single word still has an answer by meaning, or says there is none.
    searcher.search(&Query::new("?!")).unwrap();
}

#[test]
fn threads_share_a_searcher() {
    let searcher = searcher(&small_lake(), 3);
    let expected: Vec<_> = WORDS
        .iter()
        .map(|word| bits(&searcher.rank(&Query::new(*word)).unwrap()))
        .collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    for (word, expected) in WORDS.iter().zip(&expected) {
                        assert_eq!(&bits(&searcher.rank(&Query::new(*word)).unwrap()), expected);
                    }
                }
            });
        }
    });
}

#[tokio::test]
async fn an_index_is_opened_from_its_store_and_only_with_its_embedder() {
    let index = IndexStore::new(Store::in_memory());
    let settings = SegmentSettings::new(HashedWords.dimensions(), Shard(0));
    let built = build_segment(small_lake(), &settings).unwrap();
    let mut published = snapshot();
    published
        .segments
        .push(index.put_segment(&built).await.unwrap());
    let opened = Searcher::open(&index, published.clone(), Arc::new(HashedWords))
        .await
        .unwrap();
    assert_eq!(
        (opened.table_count(), opened.names().contains("shop/items")),
        (3, true)
    );
    let whole = searcher(&small_lake(), 1);
    let answers = tokio::task::spawn_blocking(move || {
        let query = Query::new("customer orders");
        (
            bits(&opened.rank(&query).unwrap()),
            bits(&whole.rank(&query).unwrap()),
        )
    });
    let (remote, local) = answers.await.unwrap();
    assert_eq!(remote, local);

    let mut analyzed = published.clone();
    analyzed.analyzer += 1;
    let error = Searcher::open(&index, analyzed, Arc::new(HashedWords))
        .await
        .unwrap_err();
    assert!(
        matches!(error, RetrievalError::OtherAnalyzer { found: 2, .. }),
        "{error}"
    );
    published.embedder = "another@12345678".into();
    let error = Searcher::open(&index, published, Arc::new(HashedWords))
        .await
        .unwrap_err();
    assert!(
        matches!(error, RetrievalError::OtherEmbedder { .. }),
        "{error}"
    );
}

#[test]
fn measuring_counts_what_was_found() {
    let searcher = searcher(&small_lake(), 2);
    let question = |text: &str, tables: &[&str]| EvalQuestion {
        question: text.into(),
        tables: tables.iter().map(|t| (*t).to_owned()).collect(),
        kind: None,
    };
    let questions = [
        question("orders of a customer", &["shop/orders"]),
        question("fish species of a river", &["science/fish", "gone"]),
    ];
    for (mode, vectors_given) in [(Mode::Limn, false), (Mode::Plain, true)] {
        let options = EvalOptions {
            k: vec![1, 3],
            query: query("", 1, mode),
            threads: 2,
            vectors_given,
            progress: Arc::default(),
        };
        let (measured, run) = evaluate(&searcher, &questions, &options).unwrap();
        assert!(
            run.iter()
                .all(|question| question.k == 3 && !question.ranked.is_empty())
        );
        assert_eq!(measured.questions, 2);
        assert_eq!(
            (
                measured.k[&1].hit,
                measured.k[&1].recall,
                measured.k[&1].full
            ),
            (1.0, 0.75, 0.5)
        );
        assert_eq!(measured.mrr, 1.0);
        assert_eq!(measured.gold_tables_missing, 1);
        assert!(
            measured.questions_per_s > 0.0 && measured.latency_ms.p99 >= measured.latency_ms.p50
        );
        let json = serde_json::to_value(&measured).unwrap();
        assert_eq!(json["k"]["1"]["hit"], 1.0);
    }
}
