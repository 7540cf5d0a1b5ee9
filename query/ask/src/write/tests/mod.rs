//! What is written with a model and an engine that do what a test says.
#![allow(clippy::unwrap_used)]

mod hostile;
mod judging;
pub(super) mod scripted;

use std::time::Duration;

use limn_cells::CellsAnswer;
use limn_models::{LanguageModel, ModelError};
use scripted::{Engine, Model, singers};

use super::{Mend, NoStatement, Origin, Outcome, QUESTION, Unwritten, Written, write};
use crate::plan::{Operation, Source};

/// A question that no rule reads.
const ASKED: &str = "Which singers from France sang most beautifully in each country?";

fn run(question: &str, cells: &CellsAnswer, model: Option<&Model>, engine: &Engine) -> Written {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let model = model.map(|it| it as &dyn LanguageModel);
    let writing = write(question, cells, model, engine, Duration::from_secs(1));
    runtime.block_on(writing)
}

fn statement(written: &Written) -> Option<&str> {
    match &written.plan.as_ref()?.stages[0].operation {
        Operation::Sql(sql) => Some(&sql.statement),
        _ => None,
    }
}

#[test]
fn candidates_vote_by_their_rows_and_the_first_wins_ties() {
    let answers = &["SELECT 1", "SELECT 2", "```sql\nSELECT 3;\n```", "SELECT 4"];
    let engine = Engine::default()
        .gives("SELECT 1", "text", &["a"])
        .gives("SELECT 2", "text", &["x", "y"])
        .gives("SELECT 3", "text", &["y", "x"]);
    let model = Model::saying(answers);
    let written = run(ASKED, &singers(), Some(&model), &engine);
    assert_eq!(statement(&written), Some("SELECT 2"));
    let votes: Vec<usize> = written.candidates.iter().map(|it| it.votes).collect();
    assert_eq!(votes, [1, 2, 2]);
    assert_eq!(written.chosen, Some(1));
    assert_eq!(
        (written.spent.prompts, written.spent.generated_tokens),
        (3, 6)
    );
    let again = run(ASKED, &singers(), Some(&Model::saying(answers)), &engine);
    let json = |it: &Written| serde_json::to_string(it).unwrap();
    assert_eq!(json(&again), json(&written));
}

#[test]
fn results_that_say_nothing_lose_and_a_count_of_nothing_is_an_answer() {
    let engine = Engine::default()
        .gives("SELECT 0", "integer", &["0"])
        .gives("SELECT 1", "integer", &[])
        .gives("SELECT 7", "integer", &["7"]);
    let of = |answers| {
        let written = run(ASKED, &singers(), Some(&Model::saying(answers)), &engine);
        (statement(&written).map(str::to_owned), written.unwritten)
    };
    let seven = Some("SELECT 7".to_owned());
    assert_eq!(of(&["SELECT 1", "SELECT 0", "SELECT 7"]).0, seven);
    let zero = Some("SELECT 0".to_owned());
    assert_eq!(of(&["SELECT 1", "SELECT 1", "SELECT 0"]).0, zero);
    // One that has no rows, beside others that cannot be run, says nothing.
    let alone = of(&["SELECT 1", "SELECT nothing"]);
    assert_eq!(alone, (None, Some(Unwritten::AllEmpty)));
}

#[test]
fn an_answer_that_other_statements_do_not_give_is_doubted() {
    let engine = Engine::default()
        .gives("SELECT 0", "integer", &["0"])
        .gives("SELECT 7", "integer", &["7"])
        .gives("SELECT 3 + 4", "integer", &["7"]);
    let notes = |answers| run(ASKED, &singers(), Some(&Model::saying(answers)), &engine).notes;
    assert_eq!(notes(&["SELECT 7", "SELECT 3 + 4", "SELECT 7"]), [""; 0]);
    let [doubt] = &notes(&["SELECT 7", "SELECT 0", "SELECT 3 + 4"])[..] else {
        panic!("one note");
    };
    assert!(doubt.starts_with("2 of 3 prompts"), "{doubt}");
}

#[test]
fn no_rows_are_an_answer_where_statements_agree_or_a_rule_reads_the_question() {
    let from_france = "SELECT count(*) FROM singer WHERE Country = 'France'";
    let named = "SELECT Name FROM singer WHERE Country = 'France'";
    let engine = Engine::default()
        .gives("SELECT 1", "integer", &[])
        .gives("SELECT 2", "integer", &[])
        .gives(named, "text", &[])
        .gives(from_france, "integer", &["0"]);
    let of = |question: &str, answers: Option<&'static [&'static str]>| {
        let model = answers.map(Model::saying);
        let written = run(question, &singers(), model.as_ref(), &engine);
        (statement(&written).map(str::to_owned), written.notes)
    };
    let agreed = of(ASKED, Some(&["SELECT 1", "SELECT 2", "SELECT nothing"]));
    assert_eq!(agreed.0.as_deref(), Some("SELECT 1"));
    assert_eq!(agreed.1, ["2 statements agree that there is no value"]);
    let ruled = of("List the names of singers from France", None);
    assert_eq!(ruled.0.as_deref(), Some(named));
    assert_eq!(ruled.1, ["the rule that reads the question finds no value"]);
}

#[test]
fn an_error_is_said_in_the_names_that_the_statement_has() {
    let engine = Engine::default().refuses(
        "SELECT Age FROM concert",
        "'music/concert' has no column 'Age'",
        None,
        Some("Age"),
    );
    let model = Model::saying(&["SELECT Age FROM concert"]);
    let written = run(ASKED, &singers(), Some(&model), &engine);
    assert_eq!(written.unwritten, Some(Unwritten::AllFailed));
    let Outcome::Refused { error, .. } = &written.candidates[0].outcome else {
        panic!("{written:?}");
    };
    assert_eq!(
        error,
        "concert has no column 'Age'; Age is a column of singer"
    );
    // Nobody is asked again; one prompt is of a model that reads rows.
    assert_eq!(model.prompts().len(), 4);
}

#[test]
fn what_has_one_remedy_is_mended_without_the_model() {
    let misspelt = Mend::Name {
        written: "nam".into(),
        meant: "Name".into(),
    };
    let named = "SELECT \"Name\" FROM concert AS T1 JOIN singer AS T2 ON T1.Singer_ID = T2.Singer_ID WHERE T1.Country = 'France'";
    let engine = Engine::default()
        .refuses(
            &named.replace("\"Name\"", "nam"),
            "no nam",
            Some(misspelt),
            Some("nam"),
        )
        .refuses(named, "no Country", None, Some("Country"))
        .gives(&named.replace("T1.Country", "T2.Country"), "text", &["Zaz"]);
    let model = Model::saying(&[
        "SELECT nam FROM concert AS T1 JOIN singer AS T2 ON T1.Singer_ID = T2.Singer_ID WHERE T1.Country = 'France'",
    ]);
    let written = run(ASKED, &singers(), Some(&model), &engine);
    assert!(
        statement(&written)
            .unwrap()
            .ends_with("T2.Country = 'France'")
    );
    assert_eq!(written.candidates[0].mends, 2);
    let inputs = &written.inputs;
    let singer = Source::Table {
        name: "music/singer".into(),
        lake: Some("/lake".into()),
    };
    assert_eq!(inputs.get("singer"), Some(&singer));
    assert_eq!(
        engine.tried.lock().unwrap().len(),
        3,
        "each statement is tried once"
    );
}

#[test]
fn nothing_but_a_select_is_tried() {
    let model = Model::saying(&[
        "DROP TABLE singer;",
        "SELECT 1; DELETE FROM singer",
        "SELECT * FROM secrets",
    ]);
    let engine = Engine::default();
    let written = run(ASKED, &singers(), Some(&model), &engine);
    assert_eq!(written.unwritten, Some(Unwritten::AllFailed));
    let tried = engine.tried.lock().unwrap();
    assert_eq!(*tried, ["SELECT * FROM secrets"]);
    let why = |at: usize| match &written.candidates[at].outcome {
        Outcome::NoStatement { why } => Some(*why),
        _ => None,
    };
    let whys = [why(0), why(1)].map(Option::unwrap);
    assert_eq!(whys, [NoStatement::NoSelect, NoStatement::Several]);
}

#[test]
fn what_does_not_fit_is_refused_before_a_model_is_asked() {
    let model = Model::saying(&["SELECT 1"]);
    let engine = Engine::default().gives("SELECT 1", "integer", &["1"]);
    let of =
        |question: &str, cells: &CellsAnswer| run(question, cells, Some(&model), &engine).unwritten;
    let mut far = singers();
    let columns = far.tables.iter_mut().flat_map(|it| &mut it.columns);
    columns.for_each(|it| it.score = 0.3);
    let volcano = "How tall is the volcano in Iceland?";
    assert_eq!(of(volcano, &far), Some(Unwritten::NothingFits));
    assert_eq!(of("How old are the singers?", &far), None);
    // What is misspelt is there, and nothing is about a number or a place in an order.
    assert_eq!(of("How old are the sinegrs?", &far), None);
    assert_eq!(of("the 5 largest singers in 1990", &far), None);
    assert_eq!(of("the top 20", &far), None);
    assert_eq!(of("singers before 2024 and over 100", &far), None);
    let strings = "How old are the strings?";
    assert_eq!(of(strings, &far), Some(Unwritten::NothingFits));
    assert_eq!(
        of(&"x".repeat(QUESTION + 1), &singers()),
        Some(Unwritten::QuestionTooLong)
    );
    // Words of times are about any table with dates, and no other.
    let of_type = |data_type: &str| {
        let columns = vec![scripted::column("placed", data_type, 0.3)];
        scripted::cells(vec![scripted::table("orders", columns, &[])], Vec::new())
    };
    let by_month = "orders by month in March 2024, and of last year";
    assert_eq!(of(by_month, &of_type("date")), None);
    assert_eq!(of(by_month, &of_type("text")), Some(Unwritten::NothingFits));
    let none = scripted::cells(Vec::new(), Vec::new());
    assert_eq!(of(ASKED, &none), Some(Unwritten::NoTables));
    let asked = model.prompts();
    assert!(
        asked
            .iter()
            .all(|it| !it.contains("volcano") && !it.contains("strings")),
        "{asked:?}"
    );
}

#[test]
fn without_a_model_rules_write_or_say_what_they_do_not_read() {
    let engine = Engine::default().gives(
        "SELECT count(*) FROM singer WHERE Country = 'France'",
        "integer",
        &["4"],
    );
    let counted = "How many singers from France are there?";
    let written = run(counted, &singers(), None, &engine);
    assert!(statement(&written).is_some());
    let plan = serde_json::to_value(&written.plan).unwrap();
    let inputs = &plan["stages"][0]["sql"]["inputs"];
    assert_eq!(
        *inputs,
        serde_json::json!({"singer": {"table": "music/singer", "lake": "/lake"}})
    );
    let unread = run(ASKED, &singers(), None, &engine);
    assert_eq!(unread.unwritten, Some(Unwritten::NoRule));
    assert_eq!(unread.unread, ["sang", "beautifully"]);
    let by_country = "SELECT Country, count(*) FROM singer GROUP BY Country";
    for (rows, notes) in [(&["France"][..], 0), (&["France", "NULL"], 1)] {
        let engine = Engine::default().gives(by_country, "text", rows);
        let written = run("singers by country", &singers(), None, &engine);
        assert_eq!(statement(&written), Some(by_country));
        assert_eq!(written.notes.len(), notes, "{:?}", written.notes);
    }
    let misspelt = run("How many sinegrs are there?", &singers(), None, &engine);
    assert_eq!(misspelt.unread, ["sinegrs"]);
    assert_eq!(
        misspelt.notes,
        ["'sinegrs' is in no name; is singer meant?"]
    );
    // What is a name, and no rule reads, is not asked for again.
    let known = run("How singer are singer singer?", &singers(), None, &engine);
    assert!(known.notes.is_empty(), "{:?}", known.notes);
    // A model that fails is noted, and the rule's statement stands.
    let broken = Model::new(|_, _| Err(ModelError::Stopped));
    let written = run(counted, &singers(), Some(&broken), &engine);
    assert!(statement(&written).is_some());
    assert_eq!(written.notes.len(), 1, "{:?}", written.notes);
    assert_eq!(written.candidates[0].origin, Origin::Template);
}

#[test]
fn a_model_that_takes_too_long_is_an_answer_of_its_own() {
    let mut model = Model::saying(&["SELECT 1"]);
    model.delay = Duration::from_millis(700);
    let engine = Engine::default().gives("SELECT 1", "integer", &["1"]);
    let written = run(ASKED, &singers(), Some(&model), &engine);
    assert_eq!(written.unwritten, Some(Unwritten::TimeOver));
}
