//! TEMPORARY harness: facts jsonl -> texts -> (vectors from Python) -> segments -> measures.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use limn_models::{Embedder, ModelError, ModelId, ModelStore};
use limn_retrieval::eval::{EvalOptions, evaluate, read_questions};
use limn_retrieval::{Mode, Query, Searcher};
use limn_segment::*;
use limn_summary::{ColumnFacts, DocumentOptions, TableFacts, documents};
use serde::Deserialize;

#[derive(Deserialize)]
struct Col {
    name: String,
    r#type: String,
    min: Option<String>,
    max: Option<String>,
    distinct: u64,
    frequent: Vec<(String, u64)>,
}
#[derive(Deserialize)]
struct Tab {
    name: String,
    rows: Vec<Vec<String>>,
    contexts: Vec<String>,
    columns: Vec<Col>,
}

struct Given {
    id: ModelId,
    by: HashMap<String, Vec<f32>>,
}
impl Embedder for Given {
    fn id(&self) -> &ModelId {
        &self.id
    }
    fn dimensions(&self) -> usize {
        384
    }
    fn window(&self) -> usize {
        256
    }
    fn count_tokens(&self, text: &str) -> usize {
        text.len() / 4 + 2
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts
            .iter()
            .map(|t| {
                self.by
                    .get(*t)
                    .unwrap_or_else(|| panic!("no vector: {t}"))
                    .clone()
            })
            .collect())
    }
}

fn load(path: &str, with_contexts: bool) -> Vec<TableFacts> {
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|l| {
            let t: Tab = serde_json::from_str(l).unwrap();
            TableFacts {
                name: t.name,
                sample: t
                    .rows
                    .into_iter()
                    .map(|r| {
                        r.into_iter()
                            .map(|v| (!v.trim().is_empty()).then_some(v))
                            .collect()
                    })
                    .collect(),
                contexts: if with_contexts {
                    t.contexts
                } else {
                    Vec::new()
                },
                rows: None,
                columns: t
                    .columns
                    .into_iter()
                    .map(|c| ColumnFacts {
                        name: c.name,
                        type_label: c.r#type,
                        min: c.min,
                        max: c.max,
                        distinct: c.distinct,
                        frequent: c.frequent,
                        ..ColumnFacts::default()
                    })
                    .collect(),
            }
        })
        .collect()
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dir = "/tmp/retr-eval/data";
    let (step, corpus, contexts) = (
        args[0].as_str(),
        args[1].as_str(),
        args.get(2).is_some_and(|a| a == "ctx"),
    );
    let tag = if contexts {
        format!("{corpus}_ctx")
    } else {
        corpus.to_owned()
    };
    let options = DocumentOptions::default();
    let facts = load(&format!("{dir}/{corpus}.jsonl"), contexts);
    let questions_text =
        std::fs::read_to_string(format!("{dir}/{corpus}.questions.jsonl")).unwrap();
    let questions = read_questions(&questions_text, corpus).unwrap();
    let model = ModelStore::from_env()
        .embedder("all-MiniLM-L6-v2", &|_| {})
        .unwrap();
    let counter = limn_summary::EmbedderTokens(&*model);
    let start = std::time::Instant::now();
    let docs: Vec<_> = facts
        .iter()
        .map(|f| documents(f, &counter, &options))
        .collect();
    eprintln!(
        "{tag}: {} tables, {} blocks, documents {:?}",
        facts.len(),
        docs.iter().map(Vec::len).sum::<usize>(),
        start.elapsed()
    );
    let mut by: HashMap<String, Vec<f32>> = HashMap::new();
    let cache = format!("{dir}/cache.bin");
    if let Ok(bytes) = std::fs::read(&cache) {
        let mut at = 0;
        while at < bytes.len() {
            let n = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            let text = String::from_utf8(bytes[at + 4..at + 4 + n].to_vec()).unwrap();
            at += 4 + n;
            by.insert(
                text,
                bytes[at..at + 1536]
                    .chunks_exact(4)
                    .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                    .collect(),
            );
            at += 1536;
        }
    }
    let mut missing: Vec<&String> = docs
        .iter()
        .flatten()
        .filter(|b| b.kind != limn_summary::BlockKind::Cells)
        .map(|b| &b.text)
        .chain(questions.iter().map(|q| &q.question))
        .filter(|t| !by.contains_key(*t))
        .collect();
    missing.sort_by_key(|t| t.len());
    missing.dedup();
    eprintln!("embedding {}", missing.len());
    let start = std::time::Instant::now();
    let mut out = std::io::BufWriter::new(
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&cache)
            .unwrap(),
    );
    let mut new = Vec::new();
    for chunk in missing.chunks(64) {
        let texts: Vec<&str> = chunk.iter().map(|t| t.as_str()).collect();
        for (text, vector) in texts.iter().zip(model.embed(&texts).unwrap()) {
            out.write_all(&(text.len() as u32).to_le_bytes()).unwrap();
            out.write_all(text.as_bytes()).unwrap();
            for x in &vector {
                out.write_all(&x.to_le_bytes()).unwrap();
            }
            new.push(((*text).to_owned(), vector));
        }
    }
    out.flush().unwrap();
    by.extend(new);
    eprintln!("embedded in {:?}", start.elapsed());
    if step == "dump" {
        return;
    }
    let embedder = Arc::new(Given {
        id: ModelId::new("given"),
        by,
    });
    let shards: u32 = std::env::var("SHARDS").map_or(1, |s| s.parse().unwrap());
    let mut per: HashMap<u32, Vec<TableBlocks>> = HashMap::new();
    for (f, d) in facts.iter().zip(&docs) {
        let table = TableKey {
            lake: "lake".into(),
            name: f.name.clone(),
        };
        let blocks = d
            .iter()
            .map(|b| Block {
                kind: BlockKind::ALL[b.kind as usize],
                text: b.text.clone(),
                fields: b
                    .fields
                    .iter()
                    .map(|(f, t)| (Field::ALL[*f as usize], t.clone()))
                    .collect(),
                vector: (b.kind != limn_summary::BlockKind::Cells).then(|| {
                    embedder.by[&b.text]
                        .iter()
                        .map(|x| half::f16::from_f32(*x))
                        .collect()
                }),
            })
            .collect();
        per.entry(table.shard(shards).0)
            .or_default()
            .push(TableBlocks {
                location: f.name.clone(),
                table,
                blocks,
            });
    }
    let place = format!("{dir}/{tag}.index");
    let _ = std::fs::remove_dir_all(&place);
    let index = IndexStore::open(&place).unwrap();
    let mut snapshot = Snapshot::first("given", 384, shards);
    let start = std::time::Instant::now();
    for (shard, tables) in per {
        let built = build_segment(tables, &SegmentSettings::new(384, Shard(shard))).unwrap();
        snapshot
            .segments
            .push(index.put_segment(&built).await.unwrap());
    }
    eprintln!(
        "built in {:?}, {:.1} MB",
        start.elapsed(),
        snapshot.bytes() as f64 / 1e6
    );
    let searcher = Searcher::open(&index, snapshot, embedder).await.unwrap();
    for mode in [Mode::Limn, Mode::Plain] {
        let alpha = std::env::var("ALPHA").map_or(0.5, |s| s.parse().unwrap());
        let options = EvalOptions {
            k: vec![1, 5, 10],
            query: Query {
                mode,
                alpha,
                ..Query::new("x")
            },
            threads: std::env::var("THREADS").map_or(1, |s| s.parse().unwrap()),
            vectors_given: true,
        };
        let m = evaluate(&searcher, &questions, &options).unwrap();
        println!(
            "{tag:14} {mode:?} {:.1}/{:.1}/{:.1} full@5 {:.1} mrr {:.3} | {:.0} q/s p50 {:.2} p99 {:.2} ms missing {}",
            100.0 * m.k[&1].hit,
            100.0 * m.k[&5].hit,
            100.0 * m.k[&10].hit,
            100.0 * m.k[&5].full,
            m.mrr,
            m.questions_per_s,
            m.latency_ms.p50,
            m.latency_ms.p99,
            m.gold_tables_missing
        );
    }
    if let Some(q) = args.get(3) {
        let _ = q;
    }
    if std::env::var("SHOW").is_ok() {
        for q in questions.iter().step_by(questions.len() / 5) {
            println!(
                "{}",
                serde_json::to_string_pretty(
                    &searcher
                        .search(&Query {
                            k: 2,
                            ..Query::new(q.question.clone())
                        })
                        .unwrap()
                )
                .unwrap()
            );
        }
    }
}
