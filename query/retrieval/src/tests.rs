//! The crate's guarantees, on real segments of small random lakes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use half::f16;
use limn_models::{Embedder, HashedWords};
use limn_segment::analyzer::analyze;
use limn_segment::{
    Block, BlockKind, Deletes, Field, IndexStore, SegmentReader, SegmentSettings, Shard, Snapshot,
    TableBlocks, TableKey, build_segment,
};
use limn_store::Store;
use proptest::prelude::*;

use crate::eval::{EvalOptions, EvalQuestion, evaluate};
use crate::scoring::{FIELDS, Formula, combine_kinds, fuse, idf, min_max};
use crate::{Mode, Query, Ranking, RetrievalError, Searcher};

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

/// A searcher over the tables, spread over `shards` shards of up to two segments each.
fn searcher(tables: &[TableBlocks], shards: u32) -> Searcher {
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
        .map(|((shard, _), tables)| (segment(tables, shard).0, Deletes::none()))
        .collect();
    Searcher::from_segments(opened, snapshot(), Arc::new(HashedWords))
}

fn texts(words: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..words)
        .prop_map(|words| words.join(" "))
}

fn lake() -> impl Strategy<Value = Vec<TableBlocks>> {
    let one = (
        texts(8),
        prop::collection::vec(texts(6), 0..3),
        prop::collection::vec(texts(12), 0..2),
        prop_oneof![Just(String::new()), texts(20)],
    );
    prop::collection::vec(one, 1..25).prop_map(|mut tables| {
        // Every word is a name somewhere, so that no question finds nothing at all.
        tables.push((WORDS.join(" "), Vec::new(), Vec::new(), String::new()));
        tables
            .into_iter()
            .enumerate()
            .map(|(at, (schema, rows, contexts, cells))| {
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                let contexts: Vec<&str> = contexts.iter().map(String::as_str).collect();
                let folder = ["a", "b", "a/deep"][at % 3];
                table(
                    &format!("{folder}/t{at}"),
                    &schema,
                    &rows,
                    &contexts,
                    &cells,
                )
            })
            .collect()
    })
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

/// The formula as its documentation states it, computed the slow way over texts.
fn by_hand(tables: &[TableBlocks], question: &str, alpha: f32) -> Vec<(String, f32)> {
    let formula = Formula::LIMN;
    let stop = ["what", "is", "the", "of"];
    let terms: HashSet<String> = analyze(question)
        .into_iter()
        .filter(|term| !stop.contains(&term.as_str()))
        .collect();
    let fields: Vec<Vec<Vec<String>>> = tables
        .iter()
        .map(|table| {
            let mut tokens = vec![Vec::new(); FIELDS];
            for (field, text) in table.blocks.iter().flat_map(|block| &block.fields) {
                tokens[field.index()].extend(analyze(text));
            }
            tokens
        })
        .collect();
    let average = |f: usize| {
        let filled = fields.iter().filter(|t| !t[f].is_empty()).count();
        fields.iter().map(|t| t[f].len()).sum::<usize>() as f64 / filled as f64
    };
    let vector = HashedWords.embed_one(question).unwrap();
    let mut lexical = vec![0.0f64; tables.len()];
    for term in &terms {
        let frequency: Vec<f64> = fields
            .iter()
            .map(|table| {
                (0..FIELDS)
                    .map(|f| {
                        let tf = table[f].iter().filter(|t| *t == term).count() as f64;
                        if tf == 0.0 {
                            return 0.0;
                        }
                        let b = f64::from(formula.b[f]);
                        let norm = 1.0 - b + b * table[f].len() as f64 / average(f);
                        f64::from(formula.weights[f]) * tf / norm
                    })
                    .sum()
            })
            .collect();
        let df = frequency.iter().filter(|f| **f > 0.0).count() as u64;
        for (score, f) in lexical.iter_mut().zip(&frequency) {
            let k1 = f64::from(formula.k1);
            *score += f64::from(idf(tables.len() as u64, df)) * f * (k1 + 1.0) / (k1 + f);
        }
    }
    let semantic: Vec<f32> = tables
        .iter()
        .map(|table| {
            let mut kinds = [None::<f32>; 3];
            for block in &table.blocks {
                if let Some(stored) = &block.vector {
                    let cosine: f32 = stored
                        .iter()
                        .zip(&vector)
                        .map(|(a, b)| a.to_f32() * b)
                        .sum();
                    let best = &mut kinds[block.kind as usize];
                    *best = Some(best.map_or(cosine, |best| best.max(cosine)));
                }
            }
            combine_kinds(&kinds, formula.second_kind).unwrap()
        })
        .collect();
    // Fewer tables than the floor: all of them are candidates.
    assert!(tables.len() <= formula.floor);
    let mut lexical: Vec<f32> = lexical.into_iter().map(|score| score as f32).collect();
    if lexical.iter().any(|score| *score > 0.0) {
        min_max(&mut lexical);
    }
    let mut semantic = semantic;
    min_max(&mut semantic);
    let mut ranked: Vec<(String, f32)> = tables
        .iter()
        .zip(lexical.into_iter().zip(semantic))
        .map(|(table, (l, s))| (table.table.name.clone(), fuse(alpha, l, s)))
        .collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Design, invariant 2: scores do not depend on shards or segments, to the last bit.
    #[test]
    fn any_number_of_shards_gives_one_answer(
        tables in lake(),
        question in texts(6),
        k in 1usize..12,
        alpha in 0.0f32..=1.0,
    ) {
        for mode in [Mode::Limn, Mode::Plain] {
            let query = Query { alpha, ..query(&question, k, mode) };
            let one = searcher(&tables, 1).rank(&query).unwrap();
            for shards in [3, 8] {
                let many = searcher(&tables, shards).rank(&query).unwrap();
                prop_assert_eq!(bits(&many), bits(&one));
                prop_assert_eq!(&many.notes, &one.notes);
            }
            prop_assert_eq!(one.tables.len(), k.min(tables.len()), "deepened until k are found");
        }
    }

    /// Design, section 5: what was deleted leaves no trace in any statistic.
    #[test]
    fn deleted_tables_change_nothing(
        tables in lake(),
        stale in lake(),
        question in texts(6),
    ) {
        // Stale versions of the same names lie in an older segment, new names among the live ones.
        let mut older = stale.clone();
        older.retain(|old| !tables.iter().any(|live| live.table == old.table));
        let mut mixed = tables.clone();
        mixed.extend(older.clone());
        let (reader, places) = segment(mixed, 0);
        let mut deletes = Deletes::none();
        for (place, first, blocks) in &places {
            if older.iter().any(|old| old.table == *place) {
                deletes.delete_table(*first, *blocks);
            }
        }
        let (old_reader, _) = segment(stale, 0);
        let mut all = Deletes::none();
        all.delete_table(0, old_reader.block_count());
        let opened = vec![(old_reader, all), (reader, deletes)];
        let with = Searcher::from_segments(opened, snapshot(), Arc::new(HashedWords));
        let without = searcher(&tables, 1);
        for mode in [Mode::Limn, Mode::Plain] {
            let query = query(&question, 5, mode);
            prop_assert_eq!(bits(&with.rank(&query).unwrap()), bits(&without.rank(&query).unwrap()));
        }
    }

    /// The walk over postings gives what the formula says.
    #[test]
    fn scores_are_those_of_the_formula(
        tables in lake(),
        question in texts(6),
        alpha in prop::sample::select(vec![0.0f32, 0.5, 1.0]),
    ) {
        let question = format!("what is the {question} of the {question}");
        let expected = by_hand(&tables, &question, alpha);
        let query = Query { alpha, ..query(&question, tables.len(), Mode::Limn) };
        let found = searcher(&tables, 3).rank(&query).unwrap();
        let expected_of: BTreeMap<&str, f32> = expected.iter().map(|(n, s)| (n.as_str(), *s)).collect();
        prop_assert_eq!(found.tables.len(), expected.len());
        for ranked in &found.tables {
            let expected = expected_of[ranked.key.name.as_str()];
            prop_assert!((ranked.score - expected).abs() < 2e-3, "{:?} {}", ranked, expected);
        }
        prop_assert!(found.tables.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }

    /// A filter restricts candidates before ranking and changes no word's worth.
    #[test]
    fn a_filter_keeps_order_and_finds_all_there_is(tables in lake(), question in texts(6)) {
        let searcher = searcher(&tables, 3);
        for alpha in [0.0, 1.0] {
            // One side alone: min-max over other candidates does not change its order.
            let all = Query { alpha, ..query(&question, tables.len(), Mode::Limn) };
            let filtered = Query { prefix: Some("a/".into()), ..all.clone() };
            let all = searcher.rank(&all).unwrap();
            let filtered = searcher.rank(&filtered).unwrap();
            let names = |ranking: &Ranking, only: bool| -> Vec<(String, bool)> {
                ranking.tables.iter()
                    .filter(|t| !only || t.key.name.starts_with("a/"))
                    .map(|t| (t.key.name.clone(), false))
                    .collect()
            };
            prop_assert_eq!(filtered.tables.len(), tables.iter().filter(|t| t.table.name.starts_with("a/")).count());
            if alpha == 0.0 {
                prop_assert_eq!(names(&filtered, true), names(&all, true));
            } else {
                // Ties at 0 may be ordered by other candidates' absence; matched ones keep order.
                let matched: Vec<_> = all.tables.iter().filter(|t| t.lexical > 0.0 && t.key.name.starts_with("a/")).map(|t| t.key.name.clone()).collect();
                let found: Vec<_> = filtered.tables.iter().take(matched.len()).map(|t| t.key.name.clone()).collect();
                prop_assert_eq!(found, matched);
            }
        }
    }
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
fn an_answer_shows_why() {
    let searcher = searcher(&small_lake(), 2);
    let answer = searcher
        .search(&Query::new("orders of Carla Leipzig"))
        .unwrap();
    assert_eq!(answer.snapshot, 1);
    let first = &answer.results[0];
    assert_eq!(first.table, "shop/orders");
    assert_eq!(first.location, "lake/shop/orders.csv");
    assert_eq!(first.judged, None);
    assert!((first.score - (0.5 * first.lexical + 0.5 * first.semantic)).abs() < 1e-6);
    let cells = first
        .blocks
        .iter()
        .find(|b| b.kind == BlockKind::Cells)
        .unwrap();
    assert_eq!(
        cells.text, "customer name: Carla Leipzig",
        "cut to the values that match"
    );
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
}

#[test]
fn unknown_words_are_told_and_nonsense_finds_nothing() {
    let searcher = searcher(&small_lake(), 2);
    let answer = searcher
        .search(&Query::new("which fish are flurbish?"))
        .unwrap();
    assert_eq!(answer.results[0].table, "science/fish");
    assert_eq!(
        answer.notes,
        ["this word occurs nowhere in the index: flurbish"]
    );

    let answer = searcher.search(&Query::new("zzyzx qwrtp")).unwrap();
    assert!(answer.results.is_empty(), "{answer:?}");
    assert_eq!(
        answer.notes[0],
        "these words occur nowhere in the index: zzyzx, qwrtp"
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
    opened.warm().await.unwrap();
    assert_eq!(
        (opened.table_count(), opened.has_table("shop/items")),
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
        };
        let measured = evaluate(&searcher, &questions, &options).unwrap();
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
