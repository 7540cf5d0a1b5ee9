//! Killed runs: what they leave behind, and what the next run makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Run;
use crate::ground::{Contents, Ground, before, edit};

/// A lake that was edited since it was indexed, and what an undisturbed run makes of it.
pub struct Killing {
    /// Where it all lies.
    pub ground: Ground,
    /// Snapshots of the index before the edits are taken in.
    pub first: u64,
    /// Snapshots when they are.
    pub last: u64,
    /// What an index of the edited lake says that was built anew.
    pub clean: Contents,
    /// What each snapshot says.
    contents: BTreeMap<u64, Contents>,
}

/// A command that is killed.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its name.
    pub name: &'static str,
    /// The index that it begins with: [`Killing::BEFORE`] or [`Killing::WHOLE`].
    pub start: &'static str,
    /// Its arguments; `LAKE` and `INDEX` stand for themselves.
    pub arguments: &'static [&'static str],
    /// Whether all of the index is a year old.
    pub is_old: bool,
}

/// The nightly job over an edited lake, in several epochs.
pub const INDEX: Job = Job {
    name: "index",
    start: Killing::BEFORE,
    arguments: &[
        "index",
        "LAKE",
        "--index",
        "INDEX",
        "--embedder",
        "hashed-words",
        "--json",
        "--epoch-objects",
        "5",
        "--shards",
        "2",
    ],
    is_old: false,
};

/// Collecting what the snapshots before the last one need.
pub const GC: Job = Job {
    name: "gc",
    start: Killing::WHOLE,
    arguments: &["gc", "--index", "INDEX", "--older-than", "1d", "--json"],
    is_old: true,
};

/// Merging all that can be merged.
pub const COMPACT: Job = Job {
    name: "compact",
    start: Killing::WHOLE,
    arguments: &["compact", "--index", "INDEX", "--full", "--json"],
    is_old: false,
};

/// What was found wrong after kills, by kind.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// `limn verify` found something.
    pub damaged: usize,
    /// A search found something else than at that snapshot, or than the clean index.
    pub wrong_answers: usize,
    /// Tables that the clean index has and this one has not, or otherwise.
    pub lost_tables: usize,
    /// The command failed when it was run again.
    pub failed: usize,
    /// Objects that no snapshot names and that were left by the garbage collection.
    pub garbage: usize,
    /// One text for each.
    pub texts: Vec<String>,
}

impl Findings {
    /// Takes in those of another kill.
    pub fn add(&mut self, other: Findings) {
        self.damaged += other.damaged;
        self.wrong_answers += other.wrong_answers;
        self.lost_tables += other.lost_tables;
        self.failed += other.failed;
        self.garbage += other.garbage;
        self.texts.extend(other.texts);
    }

    /// As a record for the results.
    pub fn json(&self) -> Value {
        json!({
            "damaged": self.damaged,
            "wrong_answers": self.wrong_answers,
            "lost_tables": self.lost_tables,
            "failed_reruns": self.failed,
            "garbage_left": self.garbage,
        })
    }
}

impl Killing {
    /// The index as it was before the lake was edited.
    pub const BEFORE: &'static str = "before";
    /// The index after an undisturbed run.
    pub const WHOLE: &'static str = "whole";

    /// Makes lake and indexes.
    pub fn prepare(ground: Ground) -> Killing {
        let folder = TempDir::new().expect("a scratch folder");
        before(folder.path());
        ground.fill_lake(folder.path());
        let mut this = Killing {
            ground,
            first: 0,
            last: 0,
            clean: Contents {
                tables: Vec::new(),
                answers: Vec::new(),
            },
            contents: BTreeMap::new(),
        };
        this.run(INDEX, Self::BEFORE, &[]).ok();
        this.first = this.newest(Self::BEFORE);
        edit(folder.path());
        this.ground.fill_lake(folder.path());
        this.copy(Self::BEFORE, Self::WHOLE, u64::MAX);
        this.run(INDEX, Self::WHOLE, &[]).ok();
        this.last = this.newest(Self::WHOLE);
        this.run(INDEX, "clean", &[]).ok();
        this.clean = this.ground.contents(&this.ground.at("clean"));
        assert_eq!(
            this.ground.contents(&this.ground.at(Self::WHOLE)),
            this.clean
        );
        for number in this.first..=this.last {
            let name = format!("at{number}");
            this.copy(Self::WHOLE, &name, number);
            let contents = this.ground.contents(&this.ground.at(&name));
            this.contents.insert(number, contents);
        }
        this
    }

    fn copy(&self, from: &str, to: &str, up_to: u64) {
        let at = |name| self.ground.at(name);
        self.ground.copy(&at(from), &at(to), up_to);
    }

    fn newest(&self, name: &str) -> u64 {
        self.ground.newest(&self.ground.at(name))
    }

    /// The arguments of a job on the index of this name.
    pub fn arguments(&self, job: Job, name: &str) -> Vec<String> {
        let filled = job.arguments.iter().map(|argument| match *argument {
            "LAKE" => self.ground.lake(),
            "INDEX" => self.ground.at(name),
            other => other.to_owned(),
        });
        filled.collect()
    }

    /// Runs a job on the index of this name.
    pub fn run(&self, job: Job, name: &str, variables: &[(&str, &str)]) -> Run {
        let arguments = self.arguments(job, name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.ground.limn_with(&arguments, variables)
    }

    /// A fresh index for a job to begin with.
    pub fn begin(&self, job: Job, name: &str) {
        self.copy(job.start, name, u64::MAX);
        if job.is_old {
            self.ground.age(&self.ground.at(name));
        }
    }

    /// What is wrong with an index that a disturbed run left at snapshot `number`. A table that the
    /// store did not let be read stays as it was (invariant 6), and each is at one of its versions
    /// all the same.
    pub fn amiss(&self, found: &Contents, number: u64, store_is_bad: bool) -> Vec<String> {
        // A job that changes no answer may have published more of the same.
        let wanted = match number > self.last {
            true => Some(&self.clean),
            false => self.contents.get(&number),
        };
        let Some(wanted) = wanted else {
            return vec!["there is no such snapshot".to_owned()];
        };
        let known: Vec<BTreeMap<String, Value>> = self.contents.values().map(by_name).collect();
        let (found_rows, wanted_rows) = (by_name(found), by_name(wanted));
        let names: BTreeSet<&String> = found_rows.keys().chain(wanted_rows.keys()).collect();
        let mut amiss = Vec::new();
        let mut differs = false;
        for name in names {
            let row = found_rows.get(name);
            if row == wanted_rows.get(name) {
                continue;
            }
            differs = true;
            let is_known = known
                .iter()
                .any(|rows| rows.get(name).map(version) == row.map(version));
            if !store_is_bad || !is_known {
                amiss.push(format!("{name} is {row:?}"));
            }
        }
        if !differs && found.answers != wanted.answers {
            amiss.push("the tables are right and the answers are not".to_owned());
        }
        amiss
    }

    /// What is wrong with the index of this name after its job was killed, as it is and after the
    /// job has run again. Where the store is bad, tables that it did not let be read are as they
    /// were. Returns the newest snapshot that the kill left, too. The index is removed then.
    pub fn check(&self, job: Job, name: &str, what: &str, store_is_bad: bool) -> (u64, Findings) {
        let index = self.ground.at(name);
        let mut found = Findings::default();
        let mut wrong = |count: fn(&mut Findings) -> &mut usize, text: String| {
            *count(&mut found) += 1;
            found.texts.push(format!("{what}: {text}"));
        };
        let newest = self.newest(name);
        if let Err(damage) = self.ground.verify(&index) {
            wrong(|it| &mut it.damaged, damage);
        }
        let contents = self.ground.contents(&index);
        for text in self.amiss(&contents, newest, store_is_bad) {
            wrong(
                |it| &mut it.wrong_answers,
                format!("at snapshot {newest}: {text}"),
            );
        }
        let again = self.run(job, name, &[]);
        if again.code != 0 {
            wrong(|it| &mut it.failed, format!("{again:?}"));
        }
        for after in ["after the rerun", "after the garbage collection"] {
            let contents = self.ground.contents(&index);
            if contents.answers != self.clean.answers {
                wrong(|it| &mut it.wrong_answers, format!("other answers {after}"));
            }
            if contents.tables != self.clean.tables {
                wrong(|it| &mut it.lost_tables, format!("other tables {after}"));
            }
            if let Err(damage) = self.ground.verify(&index) {
                wrong(|it| &mut it.damaged, format!("{after}: {damage}"));
            }
            if after == "after the rerun" {
                let left = self.ground.collect_garbage(&index);
                if !left.is_empty() {
                    wrong(|it| &mut it.garbage, format!("left: {left:?}"));
                }
            }
        }
        self.ground.remove(&index);
        (newest, found)
    }
}

fn by_name(contents: &Contents) -> BTreeMap<String, Value> {
    let rows = contents.tables.iter().cloned();
    rows.map(|row| (row["name"].to_string(), row)).collect()
}

/// The facts of a row of the catalog about the table's rows: without errors, and without the
/// versions of its files, which those of a file that could not be read are not.
fn version(row: &Value) -> [Value; 4] {
    ["rows", "columns", "sample", "removed"].map(|field| row[field].clone())
}

/// Runs `work` on each item, a few at a time.
pub fn each<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(usize, &T) -> Findings + Sync,
) -> Findings {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Findings::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let one = work(at, item);
                    found.lock().expect("no panic").add(one);
                }
            });
        }
    });
    found.into_inner().expect("no panic")
}
