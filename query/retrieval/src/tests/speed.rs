//! Measures what a question costs, on an index of thousands of tables made of random words and
//! vectors.
//!
//! `cargo test --release --workspace --lib speed -- --ignored --nocapture` prints a table. What is
//! compared takes turns question by question, so a busy machine slows all of it.
//!
//! Tried with it and left out: both sides of a question on two threads (a scoped thread a question,
//! only while a core of the process was idle). On two cores that others kept busy it took 1.05 to
//! 1.7 times as long in the better tenth of the questions, and 3 to 5 times in the middle.

use std::sync::Arc;
use std::time::Instant;

use half::f16;
use limn_models::{Embedder, HashedWords};
use limn_segment::{
    Block, BlockKind, Deletes, Field, SegmentReader, SegmentSettings, Shard, Snapshot, TableBlocks,
    TableKey, TableValues, build_segment, is_under,
};

use super::{key, opened};
use crate::deadline::Deadline;
use crate::lexical::score_tables;
use crate::question::Question;
use crate::scratch::Scratch;
use crate::semantic::nearest;
use crate::{Query, Searcher};

const DIMENSIONS: usize = 384;
const VOCABULARY: u64 = 20_000;
const QUESTIONS: usize = 60;

/// Pseudo-random numbers (xorshift), the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn share(&mut self) -> f32 {
        (self.next() % (1 << 24)) as f32 / (1 << 24) as f32
    }

    /// Few words are frequent, most are rare.
    fn words(&mut self, count: usize) -> String {
        let word = |random: &mut Random| (VOCABULARY as f32).powf(random.share()) as u64;
        let words: Vec<String> = (0..count).map(|_| format!("w{}x", word(self))).collect();
        words.join(" ")
    }

    fn vector(&mut self) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..DIMENSIONS).map(|_| self.share() - 0.5).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

fn index(tables: usize, segments: usize) -> Searcher {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    let mut block = |kind, field, words| {
        let text = random.words(words);
        let vector = random.vector().into_iter().map(f16::from_f32).collect();
        Block {
            kind,
            fields: vec![(field, text.clone())],
            text,
            vector: Some(vector),
        }
    };
    let mut spread: Vec<Vec<TableBlocks>> = vec![Vec::new(); segments];
    for at in 0..tables {
        spread[at % segments].push(TableBlocks {
            content: None,
            values: TableValues::default(),
            table: key(&format!("f{}/t{at}", at % 100)),
            location: String::new(),
            blocks: vec![
                block(BlockKind::Schema, Field::Names, 12),
                block(BlockKind::Rows, Field::Rows, 40),
                block(BlockKind::Context, Field::Contexts, 30),
            ],
        });
    }
    let segments = spread.into_iter().enumerate().map(|(shard, tables)| {
        let settings = SegmentSettings::new(DIMENSIONS, Shard(shard as u32));
        let built = build_segment(tables, &settings).unwrap();
        let reader = SegmentReader::from_bytes(built.bytes, &built.entry).unwrap();
        opened(reader, Deletes::none())
    });
    let snapshot = Snapshot::first(HashedWords.id().as_str(), DIMENSIONS, 1);
    Searcher::from_segments(segments.collect(), snapshot, Arc::new(HashedWords))
}

/// Milliseconds: the middle one, and one of ten.
fn middle(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_unstable_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() / 10])
}

fn milliseconds<T>(times: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    times.push(start.elapsed().as_secs_f64() * 1e3);
    done
}

/// Where a question's time goes: its words, its meaning (the blocks nearest to it), all of it; and
/// a question with a prefix, beside one whose filter looks at every table anew.
#[test]
#[ignore = "measures; run it by hand"]
fn speed_of_a_question() {
    println!("milliseconds, p50 / p10: a busy machine disturbs the second less");
    println!(
        "tables segments        words       nearest         whole        prefix   every table"
    );
    for (tables, segments) in [(4_000, 4), (4_000, 16), (16_000, 8)] {
        let searcher = index(tables, segments);
        let corpus = searcher.corpus();
        let random = &mut Random(77);
        let queries: Vec<Query> = (0..QUESTIONS)
            .map(|_| Query {
                vector: Some(random.vector()),
                ..Query::new(random.words(8))
            })
            .collect();
        let mut times: [Vec<f64>; 5] = Default::default();
        let mut scratch = Scratch::default();
        for _ in 0..8 {
            for query in &queries {
                let [words, meaning, whole, prefix, every] = &mut times;
                let question = Question::new(&query.text, false);
                milliseconds(words, || {
                    score_tables(
                        corpus,
                        &question,
                        &HashedWords,
                        Deadline(None),
                        &mut scratch,
                    )
                })
                .unwrap();
                let vector = query.vector.as_deref().unwrap();
                milliseconds(meaning, || {
                    nearest((corpus, None), vector, 100, None, Deadline(None))
                })
                .unwrap();
                milliseconds(whole, || searcher.rank(query)).unwrap();
                let below = Query {
                    prefix: Some("f7".into()),
                    ..query.clone()
                };
                let found = milliseconds(prefix, || searcher.rank(&below)).unwrap();
                let anew = milliseconds(every, || {
                    let fits = |key: &TableKey| is_under(&key.name, "f7");
                    let selection = Some(Arc::new(searcher.select(fits)));
                    searcher.rank(&Query {
                        selection,
                        ..query.clone()
                    })
                });
                assert_eq!(super::bits(&found), super::bits(&anew.unwrap()));
            }
        }
        print!("{tables:>6} {segments:>8}");
        for (p50, p10) in times.map(middle) {
            print!("  {p50:>5.3} / {p10:.3}");
        }
        println!();
    }
}
