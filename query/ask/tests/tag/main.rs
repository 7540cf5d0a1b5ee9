//! The 80 questions of TAG-Bench (CIDR 2025) as plans: what people wrote for each in pandas and
//! semantic operators, a plan says.
//!
//! In `tests/tag`, `plans.jsonl` has a question, the semantic operators of its pipeline and the
//! plan on each line, and `schemas.json` the columns of the tables. The tables are made up.
//! `expected.py` has run the benchmark's pipelines over them, with a rule in place of the model:
//! `expected.json` has their answers. What is tested is that plans say what pipelines do, not what
//! a model knows.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod functions;
mod lake;
mod rule;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use lake::{Columns, engine, schemas, text};
use limn_ask::check::{Checked, Faults, check};
use limn_ask::plan::{Instruction, Operation, Plan, Source, SqlStage};
use limn_ask::semantic::{AnswersInMemory, Asker};
use limn_ask::{AskAnswer, AskError, Asking};
use limn_sql::Engine;
use limn_sql::cells::type_word;
use rule::Rule;
use serde::Deserialize;
use serde_json::Value;

/// The questions of the benchmark.
const IDS: &str = "0 1 3 4 5 6 8 10 11 13 16 18 19 20 21 24 25 27 29 30 33 35 36 37 38 39 40 41 42 \
                   43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 81 82 85 \
                   86 87 88 89 90 91 92 93 94 95 96 97 99 100 101 102 103 106 107 108 109 110 111 \
                   952 1000";

/// A line of the plans.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: u32,
    question: String,
    /// The semantic operators of its pipeline.
    operators: BTreeSet<String>,
    /// Where the pipeline does something else than the question asks.
    #[serde(default)]
    differs: Option<String>,
    plan: Plan,
}

/// What a pipeline answers over the tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Its values; those of the rows that are summed up, where it ends in a text.
    answer: Vec<String>,
    /// The column of the plan's answer that has them, where it has several.
    #[serde(default)]
    column: Option<String>,
    /// What the model says where no row holds it, by stage.
    #[serde(default)]
    facts: HashMap<String, Vec<String>>,
}

fn lines() -> Vec<Line> {
    let text = text("plans.jsonl");
    let line = |(at, line)| match serde_json::from_str(line) {
        Ok(line) => line,
        Err(error) => panic!("line {}: {error}", at + 1),
    };
    text.lines().enumerate().map(line).collect()
}

async fn checked(engine: &Engine, plan: &Plan) -> Result<Checked, Faults> {
    check(engine, plan.clone()).await
}

/// The columns that a semantic operator reads, with the name of its input.
fn read_by_model(operation: &Operation) -> Vec<(&str, &Instruction)> {
    match operation {
        Operation::SemFilter(it) => vec![(&it.input, &it.instruction)],
        Operation::SemMap(it) => vec![(&it.input, &it.instruction)],
        Operation::SemExtract(it) => vec![(&it.input, &it.instruction)],
        Operation::SemTopK(it) => vec![(&it.input, &it.instruction)],
        Operation::SemAgg(it) => vec![(&it.input, &it.instruction)],
        Operation::SemJoin(it) => vec![(&it.left, &it.instruction), (&it.right, &it.instruction)],
        Operation::Sql(_) | Operation::SemFact(_) => Vec::new(),
    }
}

#[test]
fn each_question_has_a_plan_with_the_operators_of_its_pipeline() {
    let lines = lines();
    let ids: Vec<String> = lines.iter().map(|it| it.id.to_string()).collect();
    let wanted: BTreeSet<&str> = IDS.split_whitespace().collect();
    assert_eq!(ids.len(), 80);
    assert_eq!(
        ids.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        wanted
    );
    for line in &lines {
        let stages = line.plan.stages.iter().map(|it| &it.operation);
        let semantic = stages.filter(|it| it.is_semantic());
        let used: BTreeSet<String> = semantic.map(|it| it.word().to_owned()).collect();
        assert_eq!(used, line.operators, "{}", line.id);
        assert_eq!(line.question, line.plan.question);
        assert_ne!(line.differs.as_deref(), Some(""));
        // What is written is what was read.
        let written = serde_json::to_string(&line.plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&written).unwrap(), line.plan);
    }
}

#[tokio::test]
async fn the_tables_have_the_types_of_the_schemas() {
    let engine = engine().await;
    for (name, columns) in schemas() {
        let plan = serde_json::json!({
            "version": 1,
            "stages": [{"name": "all", "sql": {"inputs": {"t": {"table": name}}, "statement": "SELECT * FROM t"}}],
            "answer": "all",
        });
        let plan: Plan = serde_json::from_value(plan).unwrap();
        let checked = checked(&engine, &plan).await.unwrap();
        let schema = checked.schema("all").unwrap();
        let fields = schema.fields().iter();
        let found: Columns = fields
            .map(|it| (it.name().clone(), type_word(it.data_type()).to_owned()))
            .collect();
        assert_eq!(found, columns, "{name}");
    }
}

#[tokio::test]
async fn every_plan_is_right_and_needs_all_of_its_stages() {
    let engine = engine().await;
    for Line { id, plan, .. } in lines() {
        match checked(&engine, &plan).await {
            Ok(checked) => {
                assert_eq!(checked.notes(), [] as [&str; 0], "{id}");
                assert!(checked.needs_model(), "{id}");
            }
            Err(faults) => panic!("{id}: {faults}"),
        }
    }
}

/// A statement in which a column of one of its tables is misspelt, and the column: the longest that
/// it names.
fn misspelt(sql: &SqlStage, schemas: &BTreeMap<String, Columns>) -> Option<(String, String)> {
    let tables = sql.inputs.values().filter_map(|source| match source {
        Source::Table { name, .. } => Some(&schemas[name]),
        Source::Stage(_) => None,
    });
    let names = tables.flatten().map(|it| it.0.as_str());
    let is_letter = |it: char| it.is_alphanumeric() || it == '_';
    let places = |name: &str| -> Vec<usize> {
        let found = sql.statement.match_indices(name).map(|it| it.0);
        let is_whole = |at: &usize| {
            let before = sql.statement[..*at].chars().next_back();
            let after = sql.statement[at + name.len()..].chars().next();
            !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
        };
        found.filter(is_whole).collect()
    };
    let named = names.filter(|it| !places(it).is_empty());
    let column = named.max_by_key(|it| it.len())?;
    let mut statement = sql.statement.clone();
    for at in places(column).into_iter().rev() {
        statement.insert(at + column.len(), 'x');
    }
    Some((statement, column.to_owned()))
}

#[tokio::test]
async fn a_wrong_column_is_refused_with_the_right_one() {
    let engine = engine().await;
    let schemas = schemas();
    for Line { id, plan, .. } in lines() {
        let mut refused = 0;
        for (at, stage) in plan.stages.iter().enumerate() {
            let mut wrong = plan.clone();
            let column = match &stage.operation {
                Operation::Sql(sql) => {
                    let Some((statement, column)) = misspelt(sql, &schemas) else {
                        continue;
                    };
                    if let Operation::Sql(sql) = &mut wrong.stages[at].operation {
                        sql.statement = statement;
                    }
                    column
                }
                operation => {
                    let read = read_by_model(operation);
                    let Some(column) = read.first().map(|it| it.1.columns()[0].to_owned()) else {
                        continue;
                    };
                    let mut written = serde_json::to_value(stage).unwrap();
                    let of_stage = &mut written[operation.word()]["instruction"];
                    let instruction = of_stage.as_str().unwrap();
                    let braces = format!("{{{column}}}");
                    *of_stage = instruction
                        .replace(&braces, &format!("{{{column}x}}"))
                        .into();
                    wrong.stages[at] = serde_json::from_value(written).unwrap();
                    column
                }
            };
            let faults = checked(&engine, &wrong).await.err();
            let says = faults.map_or(String::new(), |it| it.to_string());
            let stage = format!("stage '{}'", stage.name);
            let suggests = says
                .split_once("did you mean")
                .is_some_and(|it| it.1.contains(&column));
            assert!(
                says.starts_with(&stage) && suggests,
                "{id}, {column}: {says}"
            );
            refused += 1;
        }
        assert_ne!(refused, 0, "{id}");
    }
}

/// Runs a plan, with a rule in place of the model.
async fn run(
    engine: &Engine,
    plan: &Plan,
    facts: &HashMap<String, Vec<String>>,
) -> Result<AskAnswer, AskError> {
    let known = facts.iter().map(|(stage, values)| {
        let Operation::SemFact(fact) = &plan.stage(stage).unwrap().operation else {
            panic!("stage '{stage}' asks for no fact");
        };
        (fact.instruction.clone(), values.join("\n"))
    });
    let model = Rule::new(known.collect(), plan);
    let asker = Asker::new(Arc::new(model), Arc::new(AnswersInMemory::default()));
    let asking = Asking {
        engine,
        asker: Some(&asker),
        budget_tokens: None,
        on: &|_| {},
    };
    asking.answer(plan.clone()).await
}

/// The values of an answer's column, as the pipelines give them.
fn said(answer: &AskAnswer, column: Option<&str>) -> Vec<String> {
    let at = match column {
        Some(column) => answer.columns.iter().position(|it| it.name == column),
        None => (answer.columns.len() == 1).then_some(0),
    };
    let cell = |row: &Vec<Value>| match &row[at.unwrap()] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    answer.rows.iter().map(cell).collect()
}

/// What a plan answers; the rows that it sums up, in order, where it ends in a text.
async fn answered(engine: &Engine, plan: &Plan, of: &Expected) -> Result<Vec<String>, AskError> {
    let answer = run(engine, plan, &of.facts).await?;
    let failed: u64 = answer.model_judged.iter().map(|it| it.failed).sum();
    assert_eq!(failed, 0, "{}", plan.question);
    let column = of.column.as_deref();
    let last = plan.stage(&plan.answer).unwrap();
    let Operation::SemAgg(agg) = &last.operation else {
        return Ok(said(&answer, column));
    };
    assert!(answer.rows.len() < 2, "{}", plan.question);
    let mut before = plan.clone();
    before.answer.clone_from(&agg.input);
    before.stages.retain(|it| it.name != plan.answer);
    let mut said = said(&run(engine, &before, &of.facts).await?, column);
    said.sort();
    Ok(said)
}

#[tokio::test]
async fn every_plan_answers_what_its_pipeline_answers() {
    let engine = engine().await;
    let expected: HashMap<u32, Expected> = serde_json::from_str(&text("expected.json")).unwrap();
    let mut wrong = Vec::new();
    for Line { id, plan, .. } in lines() {
        let expected = &expected[&id];
        match answered(&engine, &plan, expected).await {
            Ok(answer) if answer == expected.answer => {}
            Ok(answer) => wrong.push(format!("{id}: {answer:?}, and not {:?}", expected.answer)),
            Err(error) => wrong.push(format!("{id}: {error}")),
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}
