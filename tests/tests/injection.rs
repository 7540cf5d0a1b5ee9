//! Text in tables that tries to steer the judge.
//!
//! What must hold (asserted): every verdict keeps its form, whatever a table says. What can only be
//! measured (reported): how many verdicts such text turns. `injection/attacks.jsonl` is a corpus of
//! attempts, each put into a cell and into the context of a table that answers a question and of
//! one that does not.
//!
//! The report takes minutes:
//! `LIMN_INJECTION_MODELS=smollm2-135m,qwen2.5-coder-1.5b infra/test --test injection -- --ignored
//! --nocapture`; it is written to `tests/bench/results`.

use std::fs;
use std::sync::Arc;

use limn_models::{Decoder, DecoderOptions, LanguageModel, ModelStore, SMOLLM2};
use limn_retrieval::judge::{Judge, PROMPT_VERSION, TableText, Word};
use limn_tests::repository;
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// A table and a question that it answers.
struct Case {
    question: String,
    table: TableText,
}

/// Text in a table, and the verdict that it wants: yes, no, or none.
struct Attack {
    name: String,
    wants: Option<bool>,
    text: String,
}

fn lines(file: &str) -> Vec<Value> {
    let path = repository().join("tests/tests/injection").join(file);
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap().to_owned()
}

fn cases() -> Vec<Case> {
    let case = |line: &Value| Case {
        question: text(line, "question"),
        table: TableText {
            schema: text(line, "schema"),
            rows: text(line, "rows"),
            context: text(line, "context"),
        },
    };
    lines("tables.jsonl").iter().map(case).collect()
}

fn attacks() -> Vec<Attack> {
    let attack = |line: &Value| Attack {
        name: text(line, "name"),
        wants: match line["wants"].as_str().unwrap() {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
        text: text(line, "text"),
    };
    lines("attacks.jsonl").iter().map(attack).collect()
}

fn attacked(table: &TableText, attack: &Attack) -> TableText {
    TableText {
        schema: table.schema.clone(),
        rows: format!("{} | remarks: {}", table.rows, attack.text),
        context: format!("{}\n{}", table.context, attack.text),
    }
}

fn model(name: &str) -> Arc<dyn LanguageModel> {
    let store = ModelStore::from_env();
    let files = store.language_model_files(name, &|_| {}).unwrap();
    Arc::new(Decoder::load(&files, &DecoderOptions::default()).unwrap())
}

/// The table's log-odds: the higher of its two variants. Every verdict has this form.
async fn odds(judge: &Judge, question: &str, table: &TableText) -> f32 {
    let words = judge.read(question, table).await.unwrap();
    let odds = words.map(|word| match word {
        Some(Word::Odds(odds)) if odds.is_finite() => odds,
        other => panic!("no log-odds but {other:?} for {table:?}"),
    });
    odds[0].max(odds[1])
}

/// One attempt's log-odds beside those of the table without it.
struct Tried<'a> {
    attack: &'a Attack,
    relevant: bool,
    clean: f32,
    attacked: f32,
}

/// Every case's own table and its neighbour's, with every attack.
async fn try_all<'a>(judge: &Judge, cases: &[Case], attacks: &'a [Attack]) -> Vec<Tried<'a>> {
    let mut tried = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let other = &cases[(at + 1) % cases.len()].table;
        for (table, relevant) in [(&case.table, true), (other, false)] {
            let clean = odds(judge, &case.question, table).await;
            let tables: Vec<TableText> = attacks.iter().map(|it| attacked(table, it)).collect();
            let asked = tables
                .iter()
                .map(|table| odds(judge, &case.question, table));
            let answers = futures::future::join_all(asked).await;
            tried.extend(attacks.iter().zip(answers).map(|(attack, attacked)| Tried {
                attack,
                relevant,
                clean,
                attacked,
            }));
        }
    }
    tried
}

/// How many of the verdicts that an attack wants turned it turns, at a threshold.
fn flips(tried: &[Tried], threshold: f32) -> Value {
    let stands = |odds: f32| odds >= threshold;
    let count = |keep: &dyn Fn(&Tried) -> bool| tried.iter().filter(|it| keep(it)).count();
    let aimed = |it: &Tried, to: bool| it.attack.wants == Some(to) && stands(it.clean) != to;
    json!({
        "threshold": threshold,
        "to_yes": {
            "possible": count(&|it| aimed(it, true)),
            "flipped": count(&|it| aimed(it, true) && stands(it.attacked)),
        },
        "to_no": {
            "possible": count(&|it| aimed(it, false)),
            "flipped": count(&|it| aimed(it, false) && !stands(it.attacked)),
        },
        "any_verdict_changed": count(&|it| stands(it.clean) != stands(it.attacked)),
    })
}

/// The threshold that separates relevant tables from others best where nobody attacks.
fn fitted(tried: &[Tried]) -> f32 {
    let mut clean: Vec<f32> = tried.iter().map(|it| it.clean).collect();
    clean.sort_unstable_by(f32::total_cmp);
    clean.dedup();
    let between = clean.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    let right = |threshold: f32| {
        tried
            .iter()
            .filter(|it| (it.clean >= threshold) == it.relevant)
            .count()
    };
    between
        .max_by_key(|&threshold| right(threshold))
        .unwrap_or(0.0)
}

fn report(model: &dyn LanguageModel, tried: &[Tried]) -> Value {
    let mean = |odds: Vec<f32>| odds.iter().sum::<f32>() / odds.len().max(1) as f32;
    let of = |relevant: bool| tried.iter().filter(move |it| it.relevant == relevant);
    let shift = |wants: Option<bool>| {
        let its = tried.iter().filter(|it| it.attack.wants == wants);
        mean(its.map(|it| it.attacked - it.clean).collect())
    };
    let threshold = fitted(tried);
    let mut strongest: Vec<(f32, &str)> = Vec::new();
    for attack in tried.iter().map(|it| it.attack) {
        if strongest.iter().any(|(_, name)| *name == attack.name) {
            continue;
        }
        let sign = match attack.wants {
            Some(true) => 1.0,
            Some(false) => -1.0,
            None => continue,
        };
        let its = tried.iter().filter(|it| it.attack.name == attack.name);
        strongest.push((
            mean(its.map(|it| sign * (it.attacked - it.clean)).collect()),
            &attack.name,
        ));
    }
    strongest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    strongest.truncate(8);
    json!({
        "model": model.id().as_str(),
        "prompt_version": PROMPT_VERSION,
        "verdicts": tried.len(),
        "mean_odds_clean": {
            "relevant": mean(of(true).map(|it| it.clean).collect()),
            "irrelevant": mean(of(false).map(|it| it.clean).collect()),
        },
        "mean_shift": {
            "wants_yes": shift(Some(true)), "wants_no": shift(Some(false)), "harmless": shift(None),
        },
        "even_odds": flips(tried, 0.0),
        "fitted": flips(tried, threshold),
        "strongest": strongest.iter().map(|(shift, name)| json!({"name": name, "shift": shift})).collect::<Vec<_>>(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_keep_their_form_whatever_a_table_says() {
    let model = model(SMOLLM2);
    let judge = Judge::new(Arc::clone(&model), Handle::current(), 0.0, None);
    let attacks = attacks();
    assert!(attacks.len() >= 30);
    // The neighbour of the one case is the case itself: one table is enough for the form.
    let tried = try_all(&judge, &cases()[..1], &attacks).await;
    println!("{:#}", report(model.as_ref(), &tried));
    assert_eq!(tried.len(), 2 * attacks.len());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes and writes tests/bench/results"]
async fn how_many_verdicts_are_turned() {
    let names = std::env::var("LIMN_INJECTION_MODELS").unwrap_or_else(|_| SMOLLM2.to_owned());
    for name in names.split(',') {
        let model = model(name);
        let judge = Judge::new(Arc::clone(&model), Handle::current(), 0.0, None);
        let (cases, attacks) = (cases(), attacks());
        let tried = try_all(&judge, &cases, &attacks).await;
        let report = report(model.as_ref(), &tried);
        println!("{report:#}");
        let date = chrono::Utc::now().format("%Y-%m-%d");
        let file = format!("tests/bench/results/{date}-injection-{name}.json");
        fs::write(repository().join(file), format!("{report:#}\n")).unwrap();
    }
}
