//! How well the nearest vectors of an index are found, against all of them looked at; and how near
//! they are.
//!
//! Prints JSON:
//!
//! - `recall_at_10`: of the ten blocks nearest to a question's vector, the share that is found when
//!   each segment is asked for ten (`asked_for_10`), and when each is asked for as many as a search
//!   for five tables asks (`asked_for_100`). What is as near as the tenth counts. Every vector is
//!   looked at for the comparison, by code that has nothing in common with what is measured.
//! - `milliseconds`: what these searches take, one at a time.
//! - `neighbours`: cosines of questions, and of blocks of the index, to the nearest block of
//!   another table, and the local intrinsic dimension there (Levina and Bickel, 20 neighbours):
//!   what is to be alike in a synthetic index and a real one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use limn_models::ModelStore;
use limn_segment::{Deletes, IndexStore, SegmentReader};
use limn_tests::synthetic::{Random, dot, open};
use serde_json::{Value, json};

/// Blocks that a search for five tables draws from the vectors.
const OF_A_SEARCH: usize = 100;
const TOP: usize = 10;
/// Neighbours that the dimension is estimated by.
const NEIGHBOURS: usize = 20;
/// Rows that are compared with all queries before the next ones.
const ROWS: usize = 64;

type Segments = Vec<(Arc<SegmentReader>, Deletes)>;

/// A block: segment, block, table in the segment.
type Place = (usize, u32, u32);

/// A query; a block of the index is compared with other tables only.
struct Asked {
    vector: Vec<f32>,
    own: Option<(usize, u32)>,
}

/// Measures how well and how fast the nearest vectors of an index are found.
#[derive(Parser)]
struct Arguments {
    /// The index
    index: String,
    /// Questions, a JSON object with a `question` a line
    #[arg(long)]
    questions: PathBuf,
    /// Questions, and blocks of the index, that are asked for
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    /// Threads that look at every vector for the comparison
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() {
    let Arguments {
        index: location,
        questions,
        limit,
        threads,
    } = Arguments::parse();
    let threads = threads.max(1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let index = IndexStore::open(&location).expect("an index");
    let (snapshot, segments) = runtime.block_on(open(&index));
    let card = ModelStore::card_of_id(&snapshot.embedder).expect("a known embedder");
    let embedder = ModelStore::from_env().embedder(card.name, &|_| {}).unwrap();

    let questions: Vec<String> = std::fs::read_to_string(questions)
        .unwrap()
        .lines()
        .take(limit)
        .map(|line| {
            let question: Value = serde_json::from_str(line).unwrap();
            question["question"].as_str().unwrap().to_owned()
        })
        .collect();
    let ask = |question: &String| Asked {
        vector: embedder.embed_one(question).unwrap(),
        own: None,
    };
    let asked: Vec<Asked> = questions.iter().map(ask).collect();

    // The first questions of a process verify checksums and make copies: not what is measured.
    for asked in asked.iter().take(20) {
        search(&segments, &asked.vector, OF_A_SEARCH);
    }
    let exact = nearest(&segments, &asked, TOP, threads);
    let mut recall = serde_json::Map::new();
    let mut milliseconds = serde_json::Map::new();
    for n in [TOP, OF_A_SEARCH] {
        let (mut found, mut times) = (0, Vec::new());
        for (asked, exact) in asked.iter().zip(&exact) {
            let started = Instant::now();
            let near = search(&segments, &asked.vector, n);
            times.push(started.elapsed().as_secs_f64() * 1e3);
            found += hits(&near, exact);
        }
        let name = format!("asked_for_{n}");
        let wanted: usize = exact.iter().map(Vec::len).sum();
        recall.insert(name.clone(), json!(rounded(found as f64 / wanted as f64)));
        times.sort_by(f64::total_cmp);
        milliseconds.insert(
            name,
            json!({"p50": rounded(quantile(&times, 0.5)), "p99": rounded(quantile(&times, 0.99))}),
        );
    }

    let blocks = sample(&segments, limit);
    let (of_questions, of_blocks) = (
        nearest(&segments, &asked, NEIGHBOURS, threads),
        nearest(&segments, &blocks, NEIGHBOURS, threads),
    );
    let count: usize = segments
        .iter()
        .map(|(segment, _)| segment.vector_count())
        .sum();
    let got = json!({
        "tables": segments.iter().map(|(segment, _)| segment.tables().len()).sum::<usize>(),
        "segments": segments.len(),
        "vectors": count,
        "questions": asked.len(),
        "recall_at_10": recall,
        "milliseconds": milliseconds,
        "neighbours": {
            "of_questions": neighbourhood(&of_questions),
            "of_blocks": neighbourhood(&of_blocks),
        },
    });
    println!("{}", serde_json::to_string_pretty(&got).unwrap());
}

/// The nearest blocks, as the retrieval crate asks for them: the largest segment first, and of each
/// only what is nearer than what is found.
fn search(segments: &Segments, vector: &[f32], n: usize) -> Vec<f32> {
    let mut order: Vec<&(Arc<SegmentReader>, Deletes)> = segments.iter().collect();
    order.sort_by_key(|(segment, _)| std::cmp::Reverse(segment.block_count()));
    let (mut scores, mut least): (Vec<f32>, f32) = (Vec::new(), f32::NEG_INFINITY);
    for (segment, deletes) in order {
        let near = segment.nearest_above(vector, n, least, deletes).unwrap();
        scores.extend(near.iter().map(|(_, score)| score));
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(n);
        if scores.len() == n {
            least = scores[n - 1];
        }
    }
    scores
}

/// How many of the exact scores are reached: a list that lacks one has a lower one in its place.
fn hits(found: &[f32], exact: &[(f32, Place)]) -> usize {
    let Some((least, _)) = exact.last() else {
        return 0;
    };
    // Sums are made in another order here.
    let near = found.iter().filter(|score| **score >= least - 1e-6);
    near.count().min(exact.len())
}

/// Blocks of the index, evenly drawn.
fn sample(segments: &Segments, count: usize) -> Vec<Asked> {
    let mut random = Random::new(11);
    let all: usize = segments
        .iter()
        .map(|(it, _)| it.block_count() as usize)
        .sum();
    let mut drawn = BTreeSet::new();
    while drawn.len() < count.min(all / 2) {
        drawn.insert(random.below(all));
    }
    let mut asked = Vec::new();
    let mut before = 0;
    for (at, (segment, _)) in segments.iter().enumerate() {
        let end = before + segment.block_count() as usize;
        for block in drawn.range(before..end) {
            let block = (block - before) as u32;
            if let Some(vector) = segment.vector(block).unwrap() {
                asked.push(Asked {
                    vector: vector.iter().map(|x| x.to_f32()).collect(),
                    own: Some((at, segment.table_of(block))),
                });
            }
        }
        before = end;
    }
    asked
}

/// The blocks nearest to each query, best first: every vector is looked at.
fn nearest(
    segments: &Segments,
    asked: &[Asked],
    n: usize,
    threads: usize,
) -> Vec<Vec<(f32, Place)>> {
    let share = asked.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = asked
            .chunks(share)
            .map(|asked| scope.spawn(|| nearest_of(segments, asked, n)))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
}

fn nearest_of(segments: &Segments, asked: &[Asked], n: usize) -> Vec<Vec<(f32, Place)>> {
    let mut best: Vec<Vec<(f32, Place)>> = vec![Vec::new(); asked.len()];
    let mut rows: Vec<(Place, Vec<f32>)> = Vec::with_capacity(ROWS);
    let mut compare = |rows: &mut Vec<(Place, Vec<f32>)>| {
        for (asked, best) in asked.iter().zip(&mut best) {
            for (place, row) in rows.iter() {
                let score = dot(&asked.vector, row);
                let is_full = best.len() == n;
                if is_full && score <= best[n - 1].0 || asked.own == Some((place.0, place.2)) {
                    continue;
                }
                let at = best.partition_point(|(other, _)| *other >= score);
                best.truncate(n - usize::from(is_full));
                best.insert(at.min(best.len()), (score, *place));
            }
        }
        rows.clear();
    };
    for (at, (segment, deletes)) in segments.iter().enumerate() {
        for block in (0..segment.block_count()).filter(|block| !deletes.contains(*block)) {
            if let Some(vector) = segment.vector(block).unwrap() {
                let place = (at, block, segment.table_of(block));
                rows.push((place, vector.iter().map(|x| x.to_f32()).collect()));
                if rows.len() == ROWS {
                    compare(&mut rows);
                }
            }
        }
    }
    compare(&mut rows);
    best
}

fn neighbourhood(found: &[Vec<(f32, Place)>]) -> Value {
    let at = |place: usize| {
        let mut cosines: Vec<f64> = found
            .iter()
            .filter_map(|near| near.get(place))
            .map(|(cosine, _)| f64::from(*cosine))
            .collect();
        cosines.sort_by(f64::total_cmp);
        json!({
            "p10": rounded(quantile(&cosines, 0.1)),
            "p50": rounded(quantile(&cosines, 0.5)),
            "p90": rounded(quantile(&cosines, 0.9)),
        })
    };
    let mut dimensions: Vec<f64> = found
        .iter()
        .filter(|near| near.len() == NEIGHBOURS)
        .filter_map(|near| {
            let distance = |cosine: f32| f64::from(2.0 - 2.0 * cosine).max(1e-12).sqrt();
            let farthest = distance(near[NEIGHBOURS - 1].0);
            let sum: f64 = near[..NEIGHBOURS - 1]
                .iter()
                .map(|(cosine, _)| (farthest / distance(*cosine)).ln())
                .sum();
            (sum > 0.0).then(|| (NEIGHBOURS - 1) as f64 / sum)
        })
        .collect();
    dimensions.sort_by(f64::total_cmp);
    json!({
        "cosine_of_nearest": at(0),
        "cosine_of_tenth": at(TOP - 1),
        "local_dimension_p50": rounded(quantile(&dimensions, 0.5)),
    })
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

fn rounded(x: f64) -> f64 {
    (x * 1e4).round() / 1e4
}
