//! Runs with a model whose every answer is scripted: in which order things end decides nothing.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::Bytes;
use limn_formats::{Format, ObjectRecord, ReadOptions, summarise_file};
use limn_lake::assemble::merge_files;
use limn_lake::{TableFile, TableName};
use limn_models::{Classified, Finish, Generated, Limits, ModelError, ModelId, Prompt, Usage};
use limn_profile::{FileSummary, Redact};
use limn_segment::{ColumnRecord, FileRecord, TableRecord};
use limn_sql::Lake;
use limn_store::Store;
use tokio::sync::watch;
use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::question::{Kinds, Mode};

/// When a model answers.
#[derive(Clone, Copy)]
enum Pace {
    /// Sooner or later, by the prompt.
    Mixed,
    /// The same, but none before there were prompts about two tables.
    Gated,
}

/// A model that answers by the prompt alone.
struct Scripted {
    id: ModelId,
    pace: Pace,
    /// What each question was made of.
    statements: Mutex<HashMap<String, String>>,
    /// The tables that prompts were about.
    tables: Mutex<HashSet<Arc<str>>>,
    /// Whether they are two.
    is_open: watch::Sender<bool>,
    under_way: AtomicUsize,
}

/// Counts a prompt for as long as somebody waits for it.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn number(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

fn between<'a>(text: &'a str, before: &str, behind: &str) -> &'a str {
    let text = text.split_once(before).map_or("", |it| it.1);
    text.split_once(behind).map_or(text, |it| it.0)
}

impl Scripted {
    fn new(pace: Pace) -> Arc<Scripted> {
        Arc::new(Scripted {
            id: ModelId::new("scripted"),
            pace,
            statements: Mutex::default(),
            tables: Mutex::default(),
            is_open: watch::Sender::new(false),
            under_way: AtomicUsize::new(0),
        })
    }

    fn waiting(&self) -> Waiting<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Waiting(&self.under_way)
    }

    /// Waits as the pace says.
    async fn wait(&self, prompt: &Prompt) {
        if matches!(self.pace, Pace::Gated) {
            let tables = {
                let mut tables = self.tables.lock().unwrap();
                tables.insert(Arc::clone(&prompt.shared));
                tables.len()
            };
            if tables > 1 {
                self.is_open.send_replace(true);
            }
            let mut is_open = self.is_open.subscribe();
            assert!(*is_open.wait_for(|it| *it).await.unwrap());
        }
        for _ in 0..number(&prompt.own) % 50 {
            tokio::task::yield_now().await;
        }
    }

    /// What becomes of a statement or of a question about a context, of so many fates.
    fn fate(&self, text: &str, of: u64) -> u64 {
        match self.pace {
            Pace::Mixed => number(text) % of,
            Pace::Gated => of,
        }
    }

    /// What it writes; none where it fails.
    fn answer(&self, prompt: &Prompt) -> Option<String> {
        let own = prompt.own.as_str();
        let begins = |with: &str| prompt.system.starts_with(with);
        Some(if begins("You put SQL") {
            let sql = between(own, "SQL: ", "\nQuestion:");
            let question = match self.fate(sql, 7) {
                0 => return None,
                1 => return Some("Hm.".to_owned()),
                // One that copies the name of a column.
                2 | 3 => format!("Which {} has {}?", between(sql, "\"", "\""), number(sql)),
                _ => format!("Please look up {}?", number(sql)),
            };
            let mut statements = self.statements.lock().unwrap();
            statements.insert(question.clone(), sql.to_owned());
            format!("Question: {question}")
        } else if begins("You write SQL") {
            let question = between(own, "Question: ", "\nSQL:");
            let sql = self.statements.lock().unwrap()[question].clone();
            if self.fate(&sql, 7) == 4 {
                return Some("SELECT 1".to_owned());
            }
            let ends = [" WHERE", " GROUP BY", " ORDER BY"];
            let end = ends.iter().filter_map(|it| sql.find(it)).min();
            let (select, rest) = sql.split_at(end.unwrap_or(sql.len()));
            format!("{select} FROM t{rest}")
        } else if begins("You made the table") {
            let asked = between(own, "Question: ", "\nAnswer:");
            let mark = number(&format!("{asked}{}", prompt.shared)) % 100_000;
            match self.fate(asked, 4) {
                0 => "No.".to_owned(),
                _ => format!("Helpers of the watch put it together on long walks, m{mark}x."),
            }
        } else if begins("You look for a table") {
            let mark = between(between(own, "walks, ", "\n"), "", ".");
            format!("Question: What did somebody gather for {mark}?")
        } else {
            // Worded anew, a question is as it was.
            let asked = between(own, "<question>\n", "\n</question>");
            let asked = match asked.is_empty() {
                true => between(own, "\nQuestion: ", "\n"),
                false => asked,
            };
            format!("Question: {asked}")
        })
    }
}

#[async_trait]
impl LanguageModel for Scripted {
    fn id(&self) -> &ModelId {
        &self.id
    }
    fn count_tokens(&self, text: &str) -> usize {
        text.len() / 4
    }
    fn window(&self) -> usize {
        8_192
    }
    fn concurrency(&self) -> usize {
        64
    }
    async fn generate(&self, prompt: &Prompt, _: &Limits) -> Result<Generated, ModelError> {
        let _waiting = self.waiting();
        self.wait(prompt).await;
        Ok(Generated {
            text: self.answer(prompt).ok_or(ModelError::Stopped)?,
            finish: Finish::Stopped,
            prompt_tokens: 1,
            generated_tokens: 1,
        })
    }
    async fn classify(&self, prompt: &Prompt, _: &[&str]) -> Result<Classified, ModelError> {
        let _waiting = self.waiting();
        self.wait(prompt).await;
        let (known, asked) = prompt.own.split_once("<question>").unwrap();
        let is_so = known.contains(between(asked, "gather for ", "?"));
        Ok(Classified {
            choice: usize::from(!is_so),
            log_probabilities: None,
            prompt_tokens: 1,
        })
    }
    fn usage(&self) -> Usage {
        Usage::default()
    }
}

async fn table(store: &Store, name: &str, text: String) -> TableRecord {
    let path = format!("{name}.csv");
    store.put(&path, Bytes::from(text)).await.unwrap();
    let file = TableFile {
        object: ObjectRecord::from(store.head(&path).await.unwrap()),
        format: Format::of_path(&path).unwrap(),
        table_name: TableName::parse(name).unwrap(),
        is_beside: false,
        is_alone: false,
        declared: None,
    };
    let options = ReadOptions::default();
    let read = summarise_file(store, &file.data_file(), &options).await;
    let mut summary: FileSummary = read.unwrap();
    summary.redact(Redact::Off);
    let merged = merge_files(&[(path.as_str(), &summary)], &[path.as_str()]).unwrap();
    let columns = merged.columns.iter().map(|column| ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        ..ColumnRecord::default()
    });
    let record = FileRecord {
        path: path.clone(),
        etag: file.object.etag.clone(),
        version: file.object.version.clone().map(String::from),
        size: file.object.size,
        modified_ms: file.object.modified_ms,
        rows: Some(summary.rows),
        summary: Some(summary.to_stored().unwrap().json),
        ..FileRecord::default()
    };
    TableRecord {
        lake: "/lake".to_owned(),
        name: name.to_owned(),
        format: "csv".to_owned(),
        rows: Some(merged.rows),
        rows_exact: merged.rows_exact,
        columns: columns.collect(),
        files: vec![record],
        ..TableRecord::default()
    }
}

/// A lake of these tables, and of one whose file is gone where that is asked for.
async fn lake(names: &[&str], has_gone: bool) -> KnownTables {
    let store = Store::in_memory();
    let mut tables = Vec::new();
    for name in names {
        let rows = |row: &dyn Fn(u32) -> String| (0..20).map(row).collect::<String>();
        let text = match *name {
            "trees" => {
                "species,height,girth\n".to_owned()
                    + &rows(&|at| format!("oak{at},{},{}\n", at % 5 + 4, at * 2))
            }
            "roads" => {
                "street,lanes,toll\n".to_owned()
                    + &rows(&|at| format!("lane{at},{},{}\n", at % 3 + 2, at * 5))
            }
            // Of so little that it is asked the same again and again, as its copy is.
            _ => "twig,size\nx,5\ny,6\n".to_owned(),
        };
        tables.push(table(&store, name, text).await);
    }
    if has_gone {
        let gone = table(&store, "gone", "a,b\n1,2\n".to_owned()).await;
        store.delete("gone.csv").await.unwrap();
        tables.push(gone);
    }
    let open = move |_: &str| {
        Ok(Lake {
            store: store.clone(),
            options: ReadOptions::default(),
        })
    };
    KnownTables::new(tables, open, &limn_sql::Limits::default())
}

fn settings(model: Arc<Scripted>, seed: u64, kinds: Kinds, questions: usize) -> Settings {
    Settings {
        origin: Origin {
            mode: Mode::Model,
            seed,
            snapshot: 1,
            writer: "w".to_owned(),
            prefix: None,
            model: Some("scripted".to_owned()),
            kinds,
        },
        model: Some(model),
        questions,
        visits: 12,
        time: Duration::from_secs(600),
        progress: Arc::default(),
        stop: Arc::default(),
    }
}

/// The lines of the questions of a run with so many places at once, and its report without times.
async fn made(
    known_tables: &KnownTables,
    settings: &Settings,
    earlier: Earlier,
    at_once: usize,
) -> (Vec<String>, serde_json::Value) {
    let mut lines = Vec::new();
    let made = make_at_once(known_tables, settings, earlier, at_once, |question| {
        lines.push(serde_json::to_string(question).unwrap() + "\n");
        Ok(())
    });
    let made = made.await;
    let mut report = serde_json::to_value(made.unwrap()).unwrap();
    report.as_object_mut().unwrap().remove("seconds");
    (lines, report)
}

#[tokio::test]
async fn how_many_visits_are_under_way_changes_neither_questions_nor_counts() {
    let known_tables = lake(&["trees", "roads", "twigs", "old/twigs"], true).await;
    let mut rejected: HashMap<String, u64> = HashMap::new();
    for (seed, kinds, questions) in [
        (1, Kinds::Content, 25),
        (2, Kinds::Content, 500),
        (3, Kinds::Both, 12),
        (4, Kinds::Both, 500),
    ] {
        let settings = settings(Scripted::new(Pace::Mixed), seed, kinds, questions);
        let one = made(&known_tables, &settings, Earlier::default(), 1).await;
        assert!(!one.0.is_empty(), "{}", one.1);
        for at_once in [PLACES, 3 * PLACES] {
            let several = made(&known_tables, &settings, Earlier::default(), at_once).await;
            assert_eq!(several, one, "seed {seed}, {at_once} at once");
        }
        for (why, count) in one.1["rejected"].as_object().unwrap() {
            *rejected.entry(why.clone()).or_default() += count.as_u64().unwrap();
        }
    }
    for why in ["repeated", "model_failed", "cycle", "rewording"] {
        assert!(rejected.contains_key(why), "{why}: {rejected:?}");
    }
}

#[tokio::test]
async fn a_slow_question_keeps_no_later_visit_from_being_asked() {
    let known_tables = lake(&["trees", "roads"], false).await;
    let model = Scripted::new(Pace::Gated);
    let settings = settings(Arc::clone(&model), 1, Kinds::Content, 1);
    let made = make(&known_tables, &settings, Earlier::default(), |_| Ok(()));
    let made = tokio::time::timeout(Duration::from_secs(120), made).await;
    let made = made.unwrap().unwrap();
    assert_eq!(
        (made.ended, made.questions, made.visits),
        (Ended::Complete, 1, 1)
    );
    // What the next visits had asked was given up.
    assert_eq!(model.under_way.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_run_that_goes_on_in_a_visit_makes_what_one_run_makes() {
    let known_tables = lake(&["trees", "roads", "twigs", "old/twigs"], false).await;
    for (seed, kinds) in [(5, Kinds::Content), (6, Kinds::Both)] {
        let settings = settings(Scripted::new(Pace::Mixed), seed, kinds, 20);
        let at_once = visits::at_once(&settings);
        assert_eq!(at_once, 3 * PLACES);
        let (whole, report) = made(&known_tables, &settings, Earlier::default(), at_once).await;
        assert!(whole.len() > 5, "{report}");
        for had in (1..whole.len()).step_by(4) {
            let file = whole[..had].concat();
            let earlier = Earlier::read(&file, "q.jsonl", &settings.origin).unwrap();
            let (rest, later) = made(&known_tables, &settings, earlier, at_once).await;
            assert_eq!(rest, whole[had..], "after {had} questions");
            assert_eq!(
                (&later["earlier"], &later["questions"], &later["ended"]),
                (&had.into(), &report["questions"], &report["ended"])
            );
        }
    }
}
