//! Incremental equals from scratch (design, invariant 1), over random edit scripts.
//!
//! A script of edits is carried out over a lake in a temporary folder. After each one the kept
//! index takes the change in, by a run with other numbers of workers and epochs every time
//! (invariant 2) or by a session that lasts beside them, and the lake is built anew into an empty
//! index. Both must hold the same rows, texts and vectors, report the same failures, and answer
//! fifty questions with the same scores to the bit. What cannot be read takes part with its last
//! good version (decision 6), so the build anew is one of the lake in which that version is
//! still there.
//!
//! Two scripts of 55 steps each are tried, and more at night. A script that fails is shrunk and
//! printed.

mod cells;
use crate::common;
use crate::rounds::rounds;
pub mod compare;
mod draw;
mod edits;
mod lake;
mod rare;
mod shrink;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use common::Lab;
use common::fake_narrator::FakeNarrator;
use common::narrated::{narrated_by, sharing};
use compare::{Contents, answers, contents, difference};
use draw::edit;
use edits::Edit;
use lake::Lake;
use limn_lake::{Contexts, TableName};
use limn_models::HashedWords;
use limn_pipeline::{Narrate, Report, RunOptions, Scope, Session};
use limn_segment::{IndexStore, Retention};
use limn_store::Store;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use shrink::Failed;

/// Edits in a script.
const STEPS: usize = 55;

/// An edit, and how the run that takes it in is cut.
#[derive(Clone, Debug)]
struct Step {
    edit: Edit,
    workers: usize,
    epoch_objects: usize,
    /// Whether the session takes it in, where it can.
    in_session: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let epochs = prop_oneof![1..6usize, Just(10_000)];
    let step = (edit(), 1..5usize, epochs, any::<bool>());
    step.prop_map(|(edit, workers, epoch_objects, in_session)| Step {
        edit,
        workers,
        epoch_objects,
        in_session,
    })
}

#[test]
fn an_index_grown_by_edits_is_one_built_anew() {
    hold(rounds(2), || None);
}

#[test]
fn a_narrated_index_grown_by_edits_is_one_built_anew_with_its_narrations() {
    hold(rounds(1), || Some(FakeNarrator::counting().shared()));
}

/// Carries out so many scripts, and shortens the first that fails.
fn hold(scripts: u32, fake: impl Fn() -> Option<Arc<FakeNarrator>>) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: scripts,
        // `shrink` does it.
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ended = runner.run(&vec(step(), STEPS), |script| {
        let fails = |script: &[Step]| carry_out(script, fake()).err();
        let Some(failed) = fails(&script) else {
            return Ok(());
        };
        let (script, (at, reported)) = shrink::shortest(&script, failed, fails);
        let lines: String = script.iter().map(|step| format!("  {step:?}\n")).collect();
        Err(TestCaseError::fail(format!(
            "after step {at} of\n{lines}{reported}"
        )))
    });
    match ended {
        Ok(()) => {}
        // Without the script as it was drawn, which is long.
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(TestError::Abort(reason)) => panic!("given up: {reason}"),
    }
}

/// Carries a script out to its end, or to the step that fails.
fn carry_out(script: &[Step], fake: Option<Arc<FakeNarrator>>) -> Result<Seen, Failed> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut twin = Twin::new(fake);
    for (number, step) in script.iter().enumerate() {
        let step = AssertUnwindSafe(|| runtime.block_on(twin.step(number, step)));
        let ended = catch_unwind(step).unwrap_or_else(|_| Err("a panic, see above".into()));
        ended.map_err(|reported| (number, reported))?;
    }
    // Seen with --nocapture: whether scripts come to what they are to try.
    println!("{:?}", twin.seen);
    Ok(twin.seen)
}

/// A lake with the index that is kept of it, and what a build anew gave last.
struct Twin {
    lake: Lake,
    kept: Lab,
    /// A session that lasts as long as the script, beside the runs.
    session: Session,
    /// All contexts ever registered.
    registered: Contexts,
    anew: Contents,
    seen: Seen,
}

/// What a script came to, in steps where it was so.
#[derive(Debug, Default)]
struct Seen {
    most_tables: usize,
    in_session: usize,
    with_failures: usize,
    with_last_good: usize,
    with_removed_last_good: usize,
    with_notes: usize,
    with_joins: usize,
}

impl Twin {
    fn new(fake: Option<Arc<FakeNarrator>>) -> Self {
        let lake = Lake::new();
        let mut kept = Lab::new();
        kept.lake = Store::open(lake.root().to_str().unwrap()).unwrap();
        match &fake {
            Some(fake) => narrated_by(&mut kept, fake),
            None => kept.options.narrate = Narrate::Names,
        }
        let session = Session::new(
            kept.lake.clone(),
            kept.index.clone(),
            Arc::new(HashedWords),
            RunOptions {
                epoch_objects: 3,
                ..kept.options.clone()
            },
        );
        Self {
            lake,
            kept,
            session,
            registered: Contexts::new(),
            anew: Contents::default(),
            seen: Seen::default(),
        }
    }

    async fn step(&mut self, number: usize, step: &Step) -> Result<(), String> {
        self.lake.begin_step();
        let names: Vec<String> = self.anew.rows.keys().cloned().collect();
        let registers = step.edit.apply(&mut self.lake, &names);
        self.kept.options.contexts = Contexts::new();
        if let Some((table, text)) = registers {
            let table = TableName::parse(&table).unwrap();
            for contexts in [&mut self.registered, &mut self.kept.options.contexts] {
                contexts
                    .entry(table.clone())
                    .or_default()
                    .push(text.clone());
            }
        }
        self.kept.options.workers = step.workers;
        self.kept.options.epoch_objects = step.epoch_objects;

        self.tend(&step.edit).await?;
        // A session registers no context.
        let in_session = step.in_session && self.kept.options.contexts.is_empty();
        let report = self.take_in(in_session).await?;
        self.seen.in_session += usize::from(in_session);
        let grown = contents(&self.kept.index).await;
        let (report_anew, index, anew) = self.build_anew(number).await;
        let stand_ins = self.lake.stand_ins();
        difference(&grown, &anew, &stand_ins)?;
        self.check_failures(&report, &report_anew, &grown)?;
        Self::check_notes(&report, &report_anew)?;
        self.check_cost(&report)?;
        let reported = answers(&self.kept.index, &anew, number).await;
        for (grown, anew) in reported
            .into_iter()
            .zip(answers(&index, &anew, number).await)
        {
            if grown != anew {
                return Err(format!("an answer:\n  grown: {grown}\n  anew:  {anew}"));
            }
        }
        self.check_idle(!in_session, report.snapshot).await?;
        let seen = &mut self.seen;
        seen.most_tables = seen.most_tables.max(anew.rows.len());
        seen.with_failures += usize::from(!report.failures.is_empty());
        seen.with_last_good += usize::from(!stand_ins.is_empty());
        seen.with_removed_last_good += usize::from(self.lake.has_ghosts());
        seen.with_notes += usize::from(!report.notes.is_empty());
        seen.with_joins += usize::from(!anew.joins.is_empty());
        self.anew = anew;
        Ok(())
    }

    /// Takes the lake in as it is.
    async fn take_in(&mut self, in_session: bool) -> Result<Report, String> {
        let report = if in_session {
            let round = self.session.look(Scope::Lake, Arc::default());
            let round = tokio::time::timeout(self.kept.patience, round).await;
            round.expect("a round must end")
        } else {
            self.kept.try_run(Arc::new(HashedWords)).await
        };
        report.map_err(|error| error.to_string())
    }

    /// What is done to the kept index itself between two runs. It changes nothing of what is in it.
    async fn tend(&self, edit: &Edit) -> Result<(), String> {
        let index = &self.kept.index;
        match edit {
            Edit::CollectGarbage => collect_garbage(index).await,
            _ => Ok(()),
        }
    }

    /// An index of the lake as it is, with the last good version of what is broken.
    async fn build_anew(&mut self, number: usize) -> (Report, IndexStore, Contents) {
        let mut known = self.anew.known_files();
        known.append(&mut self.anew.known_texts());
        self.lake.forget_all_but(&known);
        self.lake.set_ghosts([].into_iter());
        let (report, index, anew) = self.build(number).await;
        // A table of which nothing can be read keeps the files that it had under its name.
        let before: BTreeMap<&str, _> = anew
            .unread_tables()
            .filter_map(|name| Some((name, self.anew.rows.get(name)?)))
            .collect();
        let files = before.values().flat_map(|row| &row.files);
        let files: Vec<String> = files
            .filter(|file| file.summary.is_some())
            .map(|file| file.path.clone())
            .collect();
        if files.is_empty() {
            return (report, index, anew);
        }
        self.lake.set_ghosts(files.iter().map(String::as_str));
        self.build(number).await
    }

    /// Builds the mended lake into an empty index.
    async fn build(&self, number: usize) -> (Report, IndexStore, Contents) {
        let index = match &self.kept.options.narrator {
            Some(_) => sharing(&self.kept).await,
            None => IndexStore::new(Store::in_memory()),
        };
        let mut lab = Lab::new();
        (lab.lake, lab.index) = (self.kept.lake.clone(), index);
        lab.options = self.kept.options.clone();
        lab.options.contexts = self.registered.clone();
        lab.options.workers = 1 + number % 2;
        lab.options.epoch_objects = 10_000;
        lab.options.shards = Some(1 + number as u32 % 3);
        let report = self.lake.mended(lab.run()).await;
        assert_eq!(
            report.model.narrated_columns, 0,
            "the narrations are shared"
        );
        let contents = contents(&lab.index).await;
        (report, lab.index, contents)
    }

    /// What is broken is reported, with its table, and nothing else is.
    fn check_failures(
        &self,
        report: &Report,
        anew: &Report,
        grown: &Contents,
    ) -> Result<(), String> {
        let mut expected: BTreeSet<(String, String)> = BTreeSet::new();
        for failure in &anew.failures {
            if !report.failures.contains(failure) {
                return Err(format!(
                    "not reported: {failure:?}, but {:?}",
                    report.failures
                ));
            }
            expected.insert((failure.table.clone(), failure.object.clone()));
        }
        let stand_ins = self.lake.stand_ins();
        for row in grown.rows.values() {
            let files = row.files.iter().map(|file| &file.path);
            let contexts = row.contexts.iter().map(|context| &context.source);
            for path in files.chain(contexts) {
                if stand_ins.contains(path) && self.lake.has(path) {
                    expected.insert((row.name.clone(), path.clone()));
                }
            }
            let mut present = row.files.iter().filter(|file| self.lake.has(&file.path));
            // A file that is no table may be declared one of the table's: it has no rows.
            let is_broken =
                present.all(|file| file.rows.is_none() || self.lake.is_broken(&file.path));
            if is_broken != row.error.is_some() {
                return Err(format!(
                    "{} is broken: {is_broken}, reported: {:?}",
                    row.name, row.error
                ));
            }
        }
        let reported = report.failures.iter();
        let reported = reported.map(|failure| (failure.table.clone(), failure.object.clone()));
        let reported: BTreeSet<(String, String)> = reported.collect();
        if reported != expected {
            return Err(format!(
                "failures: reported {reported:?}, expected {expected:?}"
            ));
        }
        let broken: BTreeSet<&str> = self.lake.broken().collect();
        match reported
            .iter()
            .find(|(_, object)| !broken.contains(object.as_str()))
        {
            Some(other) => Err(format!("{other:?} is reported and is not broken")),
            None => Ok(()),
        }
    }

    /// Files of text that name no table are reported alike. (Not so texts that name a family which
    /// is no table: whether they are reported depends on whether the plan or the dataflow finds
    /// that out.)
    fn check_notes(report: &Report, anew: &Report) -> Result<(), String> {
        let orphans = |report: &Report| {
            let notes = report.notes.iter();
            let notes = notes.filter(|note| note.contains(".md' names no table"));
            notes.cloned().collect::<BTreeSet<String>>()
        };
        let (one, other) = (orphans(report), orphans(anew));
        if one == other {
            Ok(())
        } else {
            Err(format!("notes: grown {one:?}, anew {other:?}"))
        }
    }

    /// Only files that were written in this step are read.
    fn check_cost(&self, report: &Report) -> Result<(), String> {
        let written = self.lake.touched.len() as u64;
        // What is beside such a file decides about it: it is read when that comes or goes.
        let is_uncertain = |path: &&str| {
            path.ends_with(".txt") || path.ends_with(".json") && !path.ends_with("datapackage.json")
        };
        let uncertain = self.lake.paths().filter(is_uncertain);
        if report.objects.read > written + uncertain.count() as u64 {
            return Err(format!(
                "{} files read, {written} written",
                report.objects.read
            ));
        }
        Ok(())
    }

    /// A second run has nothing to do, and the session has nothing to do after a run.
    async fn check_idle(&mut self, in_session: bool, snapshot: u64) -> Result<(), String> {
        self.kept.options.contexts = Contexts::new();
        let again = self.take_in(in_session).await?;
        let did = (again.snapshot, again.objects.read, again.requests.put);
        if did != (snapshot, 0, 0) {
            return Err(format!("a second run is not idle: {again:?}"));
        }
        Ok(())
    }
}

/// Removes everything but the newest snapshot, which must be whole then.
async fn collect_garbage(index: &IndexStore) -> Result<(), String> {
    let retention = Retention {
        older_than: Duration::ZERO,
        keep: 1,
    };
    let garbage = index.garbage(retention, i64::MAX).await.unwrap();
    index.remove_garbage(&garbage, &|| {}).await.unwrap();
    let Some(snapshot) = index.newest().await.unwrap() else {
        return Ok(());
    };
    let verified = index.verify(&snapshot, &|_| {}).await.unwrap();
    if verified.problems.is_empty() {
        Ok(())
    } else {
        Err(format!("without garbage: {:?}", verified.problems))
    }
}
