//! The crate's invariants, as properties over small random lakes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use limn_models::{Embedder, HashedWords};
use limn_segment::analyzer::analyze;
use limn_segment::{Deletes, TableBlocks};
use proptest::prelude::*;

use super::{WORDS, bits, opened, query, searcher, segment, snapshot, table};
use crate::scoring::{FIELDS, Formula, combine_kinds, fuse, idf, min_max};
use crate::{Mode, Query, Searcher, Weights};

pub(super) fn texts(words: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..words)
        .prop_map(|words| words.join(" "))
}

pub(super) fn lake() -> impl Strategy<Value = Vec<TableBlocks>> {
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

/// More tables than are candidates by default, made of so few words that many score the same: the
/// cut at the last candidate goes through a tie.
fn lake_of_equals() -> impl Strategy<Value = Vec<TableBlocks>> {
    let words = || prop::collection::vec(prop::sample::select(&WORDS[..3]), 1..3);
    prop::collection::vec((words(), prop::option::of(words())), 150..220).prop_map(|tables| {
        tables
            .into_iter()
            .enumerate()
            .map(|(at, (schema, rows))| {
                let rows: Vec<String> = rows.iter().map(|words| words.join(" ")).collect();
                let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
                // Names whose order is not that of the shards.
                table(
                    &format!("t{}", at * 7919 % 1000),
                    &schema.join(" "),
                    &rows,
                    &[],
                    "",
                )
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Design, invariant 2, where not every table is a candidate.
    #[test]
    fn the_cut_of_candidates_does_not_depend_on_shards(
        tables in lake_of_equals(),
        question in prop::sample::select(&WORDS[..3]),
        k in 1usize..8,
        candidates in prop::option::of(1usize..12),
    ) {
        let (one, many) = (searcher(&tables, 1), searcher(&tables, 8));
        let default = Query { candidates, ..query(question, k, Mode::Limn) };
        // As many results as there are candidates show which tables were taken.
        let all = Query { candidates, ..query(question, 60, Mode::Limn) };
        for query in [default, all] {
            prop_assert_eq!(bits(&many.rank(&query).unwrap()), bits(&one.rank(&query).unwrap()));
        }
    }
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
        let opened = vec![opened(old_reader, all), opened(reader, deletes)];
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
        // No value and no name is a part of the question as a whole.
        let mut tables = tables;
        for (_, text) in tables.iter_mut().flat_map(|table| &mut table.blocks).flat_map(|block| &mut block.fields) {
            text.push_str(" flurbish");
        }
        let expected = by_hand(&tables, &question, alpha);
        let weights = Some(Weights::FORMULA);
        let query = Query { alpha, weights, ..query(&question, tables.len(), Mode::Limn) };
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
            if filtered.tables.is_empty() && tables.iter().any(|t| t.table.name.starts_with("a/")) {
                prop_assert!(filtered.notes.iter().any(|note| note.starts_with("nothing relevant")));
                continue;
            }
            prop_assert_eq!(filtered.tables.len(), tables.iter().filter(|t| t.table.name.starts_with("a/")).count());
            if alpha == 0.0 {
                // Numbers that differ in their last bits may be one over other candidates.
                let scores: BTreeMap<&str, f32> = all.tables.iter().map(|t| (t.key.name.as_str(), t.semantic)).collect();
                let of_all: Vec<f32> = filtered.tables.iter().map(|t| scores[t.key.name.as_str()]).collect();
                prop_assert!(of_all.windows(2).all(|pair| pair[0] > pair[1] - 1e-5), "{of_all:?}");
            } else {
                // Ties at 0 may be ordered by other candidates' absence; matched ones keep order.
                let matched: Vec<_> = all.tables.iter().filter(|t| t.lexical > 0.0 && t.key.name.starts_with("a/")).map(|t| t.key.name.clone()).collect();
                let found: Vec<_> = filtered.tables.iter().take(matched.len()).map(|t| t.key.name.clone()).collect();
                prop_assert_eq!(found, matched);
            }
        }
    }
}
