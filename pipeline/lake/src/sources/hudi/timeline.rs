//! The active timeline of a Hudi table (specification, "Timeline"): which actions are completed, as
//! the names of their files say.

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::ObjectRecord;

use crate::place::split_path;

/// How a table's version lays its timeline out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Before 1.0: `.hoodie/<time>.<action>`, in JSON.
    First,
    /// Since 1.0: `.hoodie/timeline/<time>_<completion time>.<action>`, in Avro.
    Second,
}

/// An action that is completed and wrote or replaced files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completed<'a> {
    /// The file that says what it did.
    pub(super) object: &'a ObjectRecord,
    /// When it was completed, where its name says so.
    completion: Option<&'a str>,
    /// Whether it replaced file groups by others.
    pub(super) replaces: bool,
}

/// What the names of a timeline's files say.
#[derive(Debug, Default)]
pub(super) struct Timeline<'a> {
    /// By when they began, and their actions.
    completed: BTreeMap<(&'a str, &'a str), Completed<'a>>,
    /// When those began that are not completed.
    pending: BTreeSet<&'a str>,
    /// What is older and not here was archived.
    start: Option<&'a str>,
}

/// The name of a file of the timeline.
#[derive(Debug, PartialEq, Eq)]
struct Name<'a> {
    time: &'a str,
    completion: Option<&'a str>,
    action: &'a str,
    is_completed: bool,
}

/// Whether a text is a time: digits that compare as texts.
pub(super) fn is_time(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a file is called like one of the timeline.
pub(super) fn is_instant(name: &str) -> bool {
    Name::parse(name).is_some()
}

impl<'a> Name<'a> {
    /// `<time>.<action>`, `<time>_<completion time>.<action>`; `<time>.<action>.requested`,
    /// `<time>.<action>.inflight`, and of commits `<time>.inflight`.
    fn parse(name: &'a str) -> Option<Name<'a>> {
        let (times, rest) = name.split_once('.')?;
        let (time, completion) = match times.split_once('_') {
            Some((time, completion)) => (time, Some(completion)),
            None => (times, None),
        };
        if !is_time(time) || !completion.is_none_or(is_time) {
            return None;
        }
        let (action, is_completed) = match rest.split_once('.') {
            Some((action, "requested" | "inflight")) => (action, false),
            Some(_) => return None,
            None if rest == "inflight" => ("commit", false),
            None => (rest, true),
        };
        let is_word = !action.is_empty() && action.bytes().all(|byte| byte.is_ascii_lowercase());
        is_word.then_some(Name {
            time,
            completion,
            action,
            is_completed,
        })
    }
}

impl<'a> Timeline<'a> {
    /// The timeline of these files.
    pub(super) fn of(
        files: impl Iterator<Item = &'a ObjectRecord>,
        layout: Layout,
    ) -> Timeline<'a> {
        let mut timeline = Timeline::default();
        let mut saved = BTreeSet::new();
        for object in files {
            let Some(name) = Name::parse(split_path(&object.path).1) else {
                continue;
            };
            let has_both = layout == Layout::Second;
            match name.action {
                "savepoint" if name.is_completed => drop(saved.insert(name.time)),
                "commit" | "deltacommit" | "replacecommit"
                    if name.is_completed && name.completion.is_some() == has_both =>
                {
                    let completed = Completed {
                        object,
                        completion: name.completion,
                        replaces: name.action == "replacecommit",
                    };
                    let key = (name.time, name.action);
                    timeline.completed.insert(key, completed);
                }
                "commit" | "deltacommit" | "replacecommit" | "compaction" | "logcompaction"
                | "clustering"
                    if !name.is_completed =>
                {
                    timeline.pending.insert(name.time);
                }
                // They remove files, and write none.
                _ => {}
            }
        }
        let mut times = timeline.completed.keys().map(|(time, _)| *time);
        let first = times.clone().next();
        // A savepoint keeps its commit from being archived with what comes after.
        timeline.start = times.find(|time| !saved.contains(time)).or(first);
        let is_completed = |time: &str| at(&timeline.completed, time).is_some();
        timeline.pending.retain(|time| !is_completed(time));
        timeline
    }

    /// Whether what an action wrote counts: it is completed, or was archived.
    pub(super) fn is_committed(&self, time: &str) -> bool {
        at(&self.completed, time).is_some()
            || !self.pending.contains(time) && self.start.is_some_and(|start| time < start)
    }

    /// When an action was completed, as far as its name says; else when it began.
    pub(super) fn completion<'t>(&'t self, time: &'t str) -> &'t str {
        let completed = at(&self.completed, time);
        completed.and_then(|it| it.completion).unwrap_or(time)
    }

    /// The actions that are completed, by when they began.
    pub(super) fn completed(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&'a str, &Completed<'a>)> + Clone {
        self.completed.iter().map(|((time, _), it)| (*time, it))
    }

    /// When the newest action that is completed began, and when its file was written, in
    /// milliseconds since 1970.
    pub(super) fn newest(&self) -> Option<(&'a str, i64)> {
        let newest = self.completed().next_back();
        newest.map(|(time, it)| (time, it.object.modified_ms))
    }
}

/// An action that began then, if it is completed.
fn at<'t>(
    completed: &'t BTreeMap<(&'t str, &'t str), Completed<'t>>,
    time: &'t str,
) -> Option<&'t Completed<'t>> {
    let mut since = completed.range((time, "")..);
    since
        .next()
        .filter(|((began, _), _)| *began == time)
        .map(|(_, it)| it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(names: &[&str], layout: Layout) -> Vec<ObjectRecord> {
        let folder = match layout {
            Layout::First => ".hoodie",
            Layout::Second => ".hoodie/timeline",
        };
        let object = |name: &&str| ObjectRecord::unversioned(&format!("{folder}/{name}"), 1);
        names.iter().map(object).collect()
    }

    #[test]
    fn only_completed_actions_and_archived_ones_count() {
        let files = timeline(
            &[
                "10.commit",
                "10.commit.requested",
                "10.inflight",
                "20.inflight",
                "20.commit.requested",
                "30.replacecommit",
                "40.deltacommit.inflight",
                "50.rollback",
                "05.commit.requested",
                "60.commit_",
                "60_70.commit",
                "x.commit",
                "80.Commit",
            ],
            Layout::First,
        );
        let found = Timeline::of(files.iter(), Layout::First);
        for (time, expected) in [
            ("04", true),
            ("05", false),
            ("10", true),
            ("15", false),
            ("20", false),
            ("30", true),
            ("40", false),
            ("50", false),
            ("60", false),
            ("80", false),
        ] {
            assert_eq!(found.is_committed(time), expected, "{time}");
        }
        let replacing = found.completed().filter(|(_, it)| it.replaces);
        let replacing: Vec<&str> = replacing.map(|(time, _)| time).collect();
        assert_eq!(replacing, ["30"]);
    }

    #[test]
    fn a_savepoint_does_not_hide_what_was_archived_after_it() {
        let files = timeline(
            &["10.commit", "10.savepoint", "50.commit", "60.commit"],
            Layout::First,
        );
        let found = Timeline::of(files.iter(), Layout::First);
        assert!(found.is_committed("10") && found.is_committed("30"));
        assert!(!found.is_committed("55"));
        let files = timeline(&["10.commit", "10.savepoint"], Layout::First);
        let found = Timeline::of(files.iter(), Layout::First);
        assert!(found.is_committed("05") && !found.is_committed("20"));
        assert!(!Timeline::default().is_committed("05"));
    }

    #[test]
    fn completion_times_are_of_the_second_layout() {
        let files = timeline(
            &["10_15.commit", "20.clustering.inflight", "30.commit"],
            Layout::Second,
        );
        let found = Timeline::of(files.iter(), Layout::Second);
        assert_eq!(found.completion("10"), "15");
        assert_eq!(found.completion("07"), "07");
        assert!(found.is_committed("10") && !found.is_committed("30"));
    }
}
