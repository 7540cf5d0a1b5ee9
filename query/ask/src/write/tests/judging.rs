//! Questions that need judgement: which candidates become plans of several stages, and when they
//! win.

use super::scripted::{Engine, Model, cells, column, singers, table};
use super::{run, statement};
use crate::plan::Operation;
use crate::write::{Mend, Outcome, Style, Written};
use limn_cells::CellsAnswer;

/// A question that needs judgement, and one that may.
const NEEDED: &str = "Which posts with score 3 are sarcastic?";
const PERHAPS: &str = "Which posts with score 3 did Ann laugh at?";
const SQL: &str = "SELECT title FROM posts WHERE title LIKE '%sarcastic%'";
const JUDGING: &str =
    "SELECT title FROM posts WHERE score = 3 AND sem_filter('{body} is sarcastic')";
const FOUND: &str = "SELECT title, body FROM posts WHERE score = 3";

fn posts() -> CellsAnswer {
    let columns = vec![
        column("title", "text", 0.8),
        column("body", "text", 0.6),
        column("score", "integer", 0.6),
    ];
    cells(vec![table("site/posts", columns, &[])], Vec::new())
}

/// Writes SQL, and this where functions are shown.
fn model(judging: &'static str) -> Model {
    Model::new(move |_, prompt| {
        let is_judging = prompt.system.contains("sem_filter(");
        Ok(if is_judging { judging } else { SQL }.to_owned())
    })
}

fn operations(written: &Written) -> Vec<&'static str> {
    let stages = written.plan.iter().flat_map(|it| &it.stages);
    stages.map(|it| it.operation.word()).collect()
}

#[test]
fn a_question_that_needs_judgement_gets_a_plan_whose_conditions_run_first() {
    let engine = Engine::default()
        .gives(SQL, "text", &["a"])
        .gives(FOUND, "text", &["a", "b"]);
    let model = model(JUDGING);
    let written = run(NEEDED, &posts(), Some(&model), &engine);
    assert_eq!(operations(&written), ["sql", "sem_filter", "sql"]);
    assert!(written.needs_judgement);
    let Operation::Sql(first) = &written.plan.as_ref().unwrap().stages[0].operation else {
        panic!("{written:?}");
    };
    assert_eq!(first.statement, FOUND);
    assert!(first.inputs.contains_key("posts"));
    let chosen = &written.candidates[written.chosen.unwrap()];
    assert_eq!(chosen.outcome, Outcome::Planned { rows: Some(2) });
    // One prompt more, beside the others; nothing is asked about rows.
    assert_eq!(model.prompts().len(), 4);
}

#[test]
fn what_a_model_has_seen_as_a_column_is_the_column() {
    let found = "SELECT body FROM posts WHERE title = 'formal'";
    let engine = Engine::default()
        .gives(SQL, "text", &["a"])
        .gives(found, "text", &["a", "b"]);
    let judging = "SELECT sem_map('the tone of {body}') AS title FROM posts WHERE title = 'formal'";
    let written = run(NEEDED, &posts(), Some(&model(judging)), &engine);
    assert_eq!(operations(&written), ["sql", "sem_map", "sql"]);
    let Operation::Sql(first) = &written.plan.as_ref().unwrap().stages[0].operation else {
        panic!("{written:?}");
    };
    assert_eq!(first.statement, found);
}

#[test]
fn a_question_that_sql_answers_is_not_judged() {
    let engine = Engine::default()
        .gives(SQL, "text", &["a"])
        .gives(FOUND, "text", &["a"]);
    let asked = model(JUDGING);
    let written = run(PERHAPS, &posts(), Some(&asked), &engine);
    assert_eq!(statement(&written), Some(SQL));
    assert_eq!((asked.prompts().len(), written.needs_judgement), (3, false));
    // SQL that has no rows is none, and a model may read rows.
    let empty = Engine::default()
        .gives(SQL, "text", &[])
        .gives(FOUND, "text", &["a"]);
    let asked = model(JUDGING);
    let written = run(PERHAPS, &posts(), Some(&asked), &empty);
    assert_eq!(operations(&written), ["sql", "sem_filter", "sql"]);
    assert_eq!(asked.prompts().len(), 4);
    // Not where every word is read: then SQL has said that there is nothing.
    let read = run("Which titles have posts?", &posts(), Some(&asked), &empty);
    assert_eq!(statement(&read), Some(SQL));
    assert_eq!(asked.prompts().len(), 7);
    // Nor over rows that there are none of.
    let nowhere = Engine::default()
        .gives(SQL, "text", &[])
        .gives(FOUND, "text", &[]);
    let written = run(PERHAPS, &posts(), Some(&model(JUDGING)), &nowhere);
    assert_eq!(statement(&written), Some(SQL));
}

#[test]
fn what_cannot_be_a_plan_leaves_sql_with_a_note() {
    let engine = Engine::default().gives(SQL, "text", &["a"]);
    for (judging, why) in [
        (SQL, "NoFunction"),
        (
            "SELECT title FROM posts WHERE NOT sem_filter('{body} is true')",
            "inside NOT",
        ),
        (
            "SELECT title FROM posts WHERE sem_filter('{body')",
            "a brace",
        ),
        (
            "SELECT title FROM secrets WHERE sem_filter('{body} is true')",
            "no such thing",
        ),
        ("DROP TABLE posts", "NoSelect"),
    ] {
        let written = run(NEEDED, &posts(), Some(&model(judging)), &engine);
        assert_eq!(statement(&written), Some(SQL), "{judging}");
        assert_eq!(written.notes.len(), 1, "{:?}", written.notes);
        let outcome = format!("{:?}", written.candidates[3].outcome);
        assert!(outcome.contains(why), "{judging}: {outcome}");
    }
}

#[test]
fn a_column_in_braces_is_mended_like_any_other() {
    let misspelt = Mend::Name {
        written: "bodi".into(),
        meant: "body".into(),
    };
    let engine = Engine::default()
        .refuses(
            &FOUND.replace("body", "bodi"),
            "no bodi",
            Some(misspelt),
            Some("bodi"),
        )
        .gives(FOUND, "text", &["a"]);
    let model =
        model("SELECT title FROM posts WHERE score = 3 AND sem_filter('{bodi} is sarcastic')");
    let written = run(NEEDED, &posts(), Some(&model), &engine);
    assert_eq!(operations(&written), ["sql", "sem_filter", "sql"]);
    assert_eq!(written.candidates[3].mends, 1);
}

#[test]
fn the_prompt_shows_functions_and_the_same_tables() {
    let model = model(JUDGING);
    run(NEEDED, &posts(), Some(&model), &Engine::default());
    let prompts = model.prompts.lock().unwrap();
    let block = |at: usize| {
        prompts[at]
            .own
            .split("</tables>")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(block(3), block(0));
    assert!(prompts[..3].iter().all(|it| !it.system.contains("sem_")));
    // Tables of numbers have nothing to read.
    let mut numbers = singers();
    for table in &mut numbers.tables {
        table.columns.retain(|it| it.data_type != "text");
        table.cells.clear();
    }
    drop(prompts);
    let before = model.prompts().len();
    run(
        "Which singers are sarcastic?",
        &numbers,
        Some(&model),
        &Engine::default(),
    );
    assert_eq!(model.prompts().len() - before, 3);
    assert_eq!(serde_json::to_value(Style::Judging).unwrap(), "judging");
}
