//! `limn ask --sql`: statements with semantic functions give the rows that SQL would if the
//! functions were its own. The model is an oracle that reads names letter by letter.

use std::fs;

use limn_tests::oracle::{Asked, Oracle};
use limn_tests::{Run, index_hashed, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

const CITIES: &str = "id,Name,land,people\n1,Basel,Helvetia,180\n2,Bern,Helvetia,134\n3,Osaka,Nippon,2700\n\
    4,Kyoto,Nippon,1460\n5,Lyon,Gallia,520\n6,Nara,Nippon,350\n7,Nara,Gallia,3\n";
const VISITS: &str =
    "visit,city_id,note\n1,1,\"rain, rain\"\n2,3,sun\n3,3,snow\n4,4,sun\n5,5,\n6,7,rain\n";

struct Lake {
    folder: TempDir,
}

impl Lake {
    fn new() -> Lake {
        let folder = tempfile::tempdir().unwrap();
        let lake = folder.path().join("lake/geo");
        fs::create_dir_all(&lake).unwrap();
        fs::write(lake.join("cities.csv"), CITIES).unwrap();
        fs::write(lake.join("visits.csv"), VISITS).unwrap();
        let lake = Lake { folder };
        lake.index();
        lake
    }

    fn index(&self) {
        let at = |name: &str| self.folder.path().join(name);
        index_hashed(&at("lake"), &at("index"), &[]).code_is(0);
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let index = self.folder.path().join("index");
        limn(&[arguments, &["--index", text(&index), "--json"]].concat())
    }

    fn ask(&self, sql: &str, more: &[&str]) -> Run {
        self.run(&[&["ask", "--sql", sql], more].concat())
    }

    /// A statement fails, and one line says why.
    fn fails(&self, sql: &str, more: &[&str], why: &str) {
        let run = self.ask(sql, more);
        run.code_is(2);
        assert!(run.stderr.contains(why), "{sql}: {run:?}");
    }

    /// The rows of a statement of SQL, in order.
    fn rows(&self, sql: &str) -> Value {
        self.run(&["sql", sql]).json()["rows"].clone()
    }
}

/// What stands between two words of a prompt, the last time.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.rsplit_once(before)?;
    rest.split_once(after).map(|it| it.0)
}

/// Knows whether a name has an a, how long it is, and which name comes first.
fn reader(asked: &Asked) -> Option<String> {
    let user = &asked.user;
    if let Some(name) =
        between(user, "the length of ", "<").or(between(user, "the length of ", "\n"))
    {
        let letters = name.chars().filter(|it| it.is_alphabetic()).count();
        return Some(letters.to_string());
    }
    if let (Some(first), Some(second)) = (
        between(user, "<first>", "</first>"),
        between(user, "<second>", "</second>"),
    ) {
        let is_first = first.trim() < second.trim();
        return Some(if is_first { "first" } else { "second" }.to_owned());
    }
    let has = ["Basel has an a", "Osaka has an a", "Nara has an a"];
    let is_yes = has.iter().any(|it| user.contains(it));
    Some(if is_yes { "yes" } else { "no" }.to_owned())
}

fn sorted(rows: &Value) -> Vec<String> {
    let mut rows: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    rows.sort();
    rows
}

#[test]
fn statements_with_functions_have_the_rows_of_sql() {
    let lake = Lake::new();
    let oracle = Oracle::start(reader);
    let filter = "sem_filter('{Name} has an a')";
    let like = "Name LIKE '%a%'";
    let length = "sem_map('the length of {c.name}', 'integer')";
    for (judged, plain, is_ordered) in [
        (
            format!("SELECT name FROM cities WHERE people > 100 AND {filter} AND (land = 'Nippon' OR id = 1)"),
            format!("SELECT name FROM cities WHERE people > 100 AND {like} AND (land = 'Nippon' OR id = 1)"),
            false,
        ),
        (
            format!("SELECT land, count(*) AS n, max(people) FROM cities WHERE {filter} GROUP BY land ORDER BY n DESC, land LIMIT 1"),
            format!("SELECT land, count(*) AS n, max(people) FROM cities WHERE {like} GROUP BY land ORDER BY n DESC, land LIMIT 1"),
            true,
        ),
        (
            format!("SELECT c.id, v.visit, c.land FROM geo.cities c LEFT JOIN geo.visits v ON v.city_id = c.id WHERE {filter} AND c.id < 7"),
            format!("SELECT c.id, v.visit, c.land FROM geo.cities c LEFT JOIN geo.visits v ON v.city_id = c.id WHERE {like} AND c.id < 7"),
            false,
        ),
        (
            format!("SELECT {length} AS n, count(DISTINCT land) FROM cities c WHERE n > 4 OR id = 6 GROUP BY n ORDER BY n"),
            "SELECT length(Name) AS n, count(DISTINCT land) FROM cities WHERE length(Name) > 4 OR id = 6 GROUP BY 1 ORDER BY 1".into(),
            true,
        ),
        (
            "SELECT land, people FROM cities WHERE id < 6 ORDER BY sem_topk('the first name: {Name}') LIMIT 2 OFFSET 1".into(),
            "SELECT land, people FROM cities WHERE id < 6 ORDER BY Name LIMIT 2 OFFSET 1".into(),
            true,
        ),
        (
            "SELECT DISTINCT land FROM cities ORDER BY sem_topk('the first name: {land}') LIMIT 9".into(),
            "SELECT DISTINCT land FROM cities ORDER BY land".into(),
            true,
        ),
        (
            format!("SELECT * FROM cities WHERE {filter}"),
            format!("SELECT * FROM cities WHERE {like}"),
            false,
        ),
    ] {
        let answer = lake.ask(&judged, &oracle.options()).ok();
        let wanted = lake.rows(&plain);
        match is_ordered {
            true => assert_eq!(answer["rows"], wanted, "{judged}: {}", answer["plan"]),
            false => assert_eq!(sorted(&answer["rows"]), sorted(&wanted), "{judged}: {}", answer["plan"]),
        }
    }
}

#[test]
fn a_model_reads_what_conditions_leave_once_and_its_cost_is_said_before() {
    let lake = Lake::new();
    let oracle = Oracle::start(reader);
    // Of five rows of three lands and names the model reads two names.
    let sql = "SELECT count(*) FROM cities WHERE sem_filter('{Name} has an a') AND people < 400 AND id <> 2";
    let estimated = lake
        .ask(sql, &[&["--plan-only"][..], &oracle.options()].concat())
        .ok();
    assert_eq!(estimated["cost"]["told"]["calls"], 2);
    assert_eq!(oracle.asked().len(), 0);
    let small = [&["--budget-tokens", "10"][..], &oracle.options()].concat();
    lake.fails(sql, &small, "--budget-tokens allows 10");
    assert_eq!(oracle.asked().len(), 0);
    let answer = lake.ask(sql, &oracle.options()).ok();
    assert_eq!(answer["rows"], json!([[3]]));
    assert_eq!(oracle.asked().len(), 2);
    let stages = answer["plan"]["stages"].as_array().unwrap();
    let names: Vec<&Value> = stages.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["found", "kept", "answer"]);
}

#[test]
fn what_is_wrong_with_a_statement_is_said_in_one_line() {
    let lake = Lake::new();
    let oracle = Oracle::start(reader);
    for (sql, why) in [
        (
            "SELECT id FROM cities WHERE id = 1 OR sem_filter('{Name} has an a')",
            "sem_filter cannot stand inside OR",
        ),
        (
            "SELECT id FROM cities WHERE sem_filter('{Nam} has an a')",
            "did you mean \"Name\"?",
        ),
        (
            "SELECT id FROM towns WHERE sem_filter('{Name} has an a')",
            "the index has no table 'towns'",
        ),
        (
            "SELECT id FROM cities WHERE sem_filter('it has an a')",
            "names no column",
        ),
        (
            "SELECT id FROM cities WHERE sem_find('{Name}')",
            "there is no function 'sem_find'",
        ),
        (
            "SELECT id FROM cities ORDER BY sem_topk('the first name: {Name}')",
            "sem_topk without LIMIT would ask a model to rank all rows: add LIMIT n",
        ),
        ("DROP TABLE cities", "limn sql reads only"),
    ] {
        lake.fails(sql, &oracle.options(), why);
    }
    assert_eq!(oracle.asked().len(), 0);
}

#[test]
fn a_question_that_needs_judgement_is_answered_by_stages_that_a_model_reads() {
    let lake = Lake::new();
    let oracle = Oracle::start(|asked| {
        let sql = match (
            asked.system.contains("You write SQL"),
            asked.system.contains("sem_filter("),
        ) {
            (true, true) => {
                "SELECT visit FROM visits WHERE city_id < 4 AND sem_filter('{note} is gloomy')"
            }
            (true, false) => "SELECT visit FROM visits WHERE note LIKE '%sad%'",
            _ if asked.user.contains("rain") => "yes",
            _ => "no",
        };
        Some(sql.to_owned())
    });
    let question = "Which visits to city id below 4 have notes that sound gloomy?";
    let more = [&[question, "--tables", "geo/visits"][..], &oracle.options()].concat();
    let answer = lake.run(&[&["ask"][..], &more].concat()).ok();
    assert_eq!(answer["rows"], json!([[1]]), "{answer}");
    assert_eq!(answer["model_judged"][0]["operation"], "sem_filter");
    // Without a model it is refused, with the words that nothing reads.
    let none = lake
        .run(&["ask", question, "--tables", "geo/visits", "--no-model"])
        .ok();
    assert_eq!(none["answer"], Value::Null);
}

#[test]
fn what_people_say_of_a_table_is_in_no_prompt() {
    let lake = Lake::new();
    let asked = |lake: &Lake| {
        let oracle = Oracle::start(|asked| {
            let writes = asked.system.contains("You write SQL");
            match writes {
                true => {
                    Some("SELECT name FROM cities WHERE sem_filter('{Name} has an a')".to_owned())
                }
                false => reader(asked),
            }
        });
        let question = ["ask", "Which cities of geo have names about an a?"];
        let answer = lake.run(&[&question[..], &oracle.options()].concat()).ok();
        (
            answer["answer"].clone(),
            answer["rows"].clone(),
            oracle.asked(),
        )
    };
    let before = asked(&lake);
    assert!(before.2.len() > 3, "{before:?}");
    let attacks = include_str!("injection/attacks.jsonl").lines();
    let attacks = attacks.map(|it| serde_json::from_str::<Value>(it).unwrap());
    let attacks: Vec<String> = attacks
        .map(|it| it["text"].as_str().unwrap().replace('\n', " "))
        .filter(|it| it.len() > 20 && it.len() < 400 && !it.contains(char::is_control))
        .collect();
    let context = attacks.join("\n\n");
    let beside = lake.folder.path().join("lake/geo");
    fs::write(beside.join("cities.md"), &context).unwrap();
    fs::write(beside.join("README.md"), format!("# Cities\n\n{context}")).unwrap();
    lake.index();
    let shown = lake.run(&["show", "geo/cities"]).ok().to_string();
    assert!(shown.contains(&attacks[0]), "the context is read: {shown}");
    let after = asked(&lake);
    assert_eq!(before, after);
    let said = format!("{:?}", after.2);
    assert!(
        attacks.iter().all(|it| !said.contains(it.as_str())),
        "{said}"
    );
}
