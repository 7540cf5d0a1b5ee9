//! The account of a round: its report and its notes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use limn_formats::member::shown;
use limn_lake::{Contexts, Ignored, Others};
use limn_profile::Redact;
use limn_profile::text::counted;

use super::state::Round;
use crate::cluster::totals::Totals;
use crate::known_failures::KnownFailures;
use crate::narrate::outcome::Outcome as Narrated;
use crate::planned::Planned;
use crate::publish::PublishedEpoch;
use crate::published::Standing;
use crate::report::{Failure, ModelTotals, ObjectCounts, Report, Seconds, Skipped, TableCounts};
use crate::scope::Part;
use crate::segments::Outcome;

/// Tables that a note names.
const TABLES_NAMED: usize = 3;

/// What a round has to say, as it is found.
pub(super) struct Account {
    /// The part of the lake that was listed.
    pub(super) part: Part,
    /// Objects that were listed.
    pub(super) listed: usize,
    pub(super) left_out: LeftOut,
    pub(super) failures: Vec<Failure>,
    pub(super) notes: Vec<String>,
    /// What is to be said of what was published before.
    pub(super) standing: Standing,
}

impl Account {
    /// That of a part, as all have planned it.
    pub(super) fn new(part: Part, planned: Planned) -> Account {
        Account {
            part,
            listed: planned.listed,
            left_out: LeftOut {
                filtered: planned.filtered,
                ignored: planned.ignored,
            },
            failures: planned.failures,
            notes: planned.notes,
            standing: planned.standing,
        }
    }
}

/// Objects that a round listed and did not look at.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Left out by filters.
    pub(super) filtered: usize,
    /// No data.
    pub(super) ignored: Ignored,
}

/// What is to be said of DuckDB databases, and how their tables become readable.
fn duckdb_note(found: &Others) -> Option<String> {
    let named = found.first.iter().map(String::as_str);
    let mut named: Vec<&str> = named.take(TABLES_NAMED).collect();
    if found.objects > named.len() {
        named.push("…");
    }
    let named = limn_store::one_line(&named.join(", "));
    let are = match found.objects {
        0 => return None,
        1 => "1 DuckDB database is".to_owned(),
        count => format!("{count} DuckDB databases are"),
    };
    Some(format!(
        "{are} not read: {named}; in DuckDB, EXPORT DATABASE 'folder' (FORMAT parquet) writes the tables as files that are"
    ))
}

impl LeftOut {
    fn counts(self, listed: usize) -> ObjectCounts {
        let others = self.ignored.others.into_iter();
        let others = others.map(|(extension, others)| Skipped {
            extension,
            objects: others.objects as u64,
            paths: others.first.into_iter().collect(),
        });
        let mut skipped: Vec<Skipped> = others.collect();
        // By extension where there are as many.
        skipped.sort_by_key(|it| std::cmp::Reverse(it.objects));
        ObjectCounts {
            listed: listed as u64,
            read: 0,
            filtered: self.filtered as u64,
            hidden: self.ignored.hidden as u64,
            skipped,
        }
    }
}

impl Round {
    /// What is to be said of columns that were not narrated.
    pub(super) fn narration_notes(
        &self,
        epochs: &[PublishedEpoch],
        narrated: &Narrated,
        awaiting: &[String],
    ) -> Vec<String> {
        let Some(narrations) = &self.opened.stages.narrations else {
            return Vec::new();
        };
        let model = &narrations.narrator().model;
        if self.opened.stages.asking.is_some() {
            return narrated.notes(model);
        }
        // Tables of an earlier run that this one left alone, and those of this run.
        let touched: HashSet<&str> = epochs
            .iter()
            .flat_map(|epoch| &epoch.outcomes)
            .map(|(name, _)| name.as_str())
            .collect();
        let left = awaiting.iter();
        let left = left.filter(|name| !touched.contains(name.as_str())).count();
        let new: usize = epochs.iter().map(|epoch| epoch.awaiting).sum();
        match left + new {
            0 => {
                let named = self
                    .opening
                    .options
                    .narrator
                    .as_ref()
                    .filter(|other| other.named);
                let note = named.map(|other| {
                    format!(
                        "the lake is narrated by {model}, and {} was not asked; --narrate llm describes it in that model's words instead",
                        other.model
                    )
                });
                note.into_iter().collect()
            }
            tables => vec![match &self.opening.options.narrator {
                None => format!(
                    "tables that await a narration by {model}, which this run was without: {tables}; they are searchable by names, and a run with the model goes on"
                ),
                Some(other) => format!(
                    "tables that await a narration by {model}: {tables}; they are searchable by names; --narrate llm describes the lake in the words of {} instead",
                    other.model
                ),
            }],
        }
    }

    /// The failures of earlier runs that stand in no row of the catalog.
    fn known_failures(&self) -> KnownFailures {
        let snapshot = self.opening.known.published.snapshot();
        KnownFailures::remembered(snapshot.as_ref(), self.opening.lake.url())
    }

    /// The failures that the snapshot is to remember, since the catalog does not have them: of a
    /// listing, and of epochs. A part of a lake says nothing of the others.
    pub(super) fn to_remember(
        &self,
        account: &Account,
        epochs: &[PublishedEpoch],
        is_partial: bool,
    ) -> KnownFailures {
        let in_rows = KnownFailures::default().and(&account.standing.failures);
        let unwritten = epochs.iter().flat_map(|epoch| &epoch.unwritten);
        let failed = account.failures.iter().chain(unwritten);
        let failed = failed.filter(|failure| !in_rows.has(failure));
        let before = match is_partial {
            true => self.known_failures(),
            false => KnownFailures::default(),
        };
        before.and(failed).into_remembered()
    }

    /// What is to be said of tables that the run's settings cannot reach.
    pub(super) fn restated_note(&self, names: &BTreeSet<String>) -> Option<String> {
        let first = names.first()?;
        let taken_out = match self.terms.settings.redact {
            Redact::Off => String::new(),
            redact => format!(
                "; values that --redact {redact} withholds are out of them now, names and counts stay"
            ),
        };
        let tables = names.len();
        Some(format!(
            "tables whose files are held back or cannot be listed: {tables}, such as '{first}'; this run's settings do not reach them, and they stay as they were read last until they are listed again{taken_out}"
        ))
    }

    /// What is to be said of sensitive columns that the run described and whose values it kept.
    pub(super) fn privacy_note(epochs: &[PublishedEpoch]) -> Option<String> {
        // A table that was put into words twice counts once.
        let exposed: BTreeMap<&str, &[String]> = epochs
            .iter()
            .flat_map(|epoch| &epoch.exposed)
            .map(|(table, kinds)| (table.as_str(), kinds.as_slice()))
            .collect();
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in exposed.values().copied().flatten() {
            *kinds.entry(kind).or_default() += 1;
        }
        let columns: usize = kinds.values().sum();
        let of_kinds = kinds
            .iter()
            .map(|(kind, columns)| format!("{columns} {kind}"));
        let of_kinds: Vec<String> = of_kinds.collect();
        let counted = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let mut tables: Vec<&str> = exposed.keys().copied().take(TABLES_NAMED).collect();
        if exposed.len() > tables.len() {
            tables.push("…");
        }
        (columns > 0).then(|| {
            format!(
                "values of sensitive columns are in the index: {} of {} ({}; {}); --redact marked keeps them out, and limn show TABLE names the columns",
                counted(columns, "column"),
                counted(exposed.len(), "table"),
                of_kinds.join(", "),
                tables.join(", ")
            )
        })
    }

    /// What became of the tables, so far as epochs report it.
    pub(super) async fn report(&self, account: Account, epochs: Vec<PublishedEpoch>) -> Report {
        let Account {
            part,
            listed,
            mut left_out,
            mut failures,
            mut notes,
            standing,
        } = account;
        let mut outcomes: HashMap<String, Outcome> = HashMap::new();
        // A table that was put into words twice counts once.
        let mut passed_over: HashMap<String, Ignored> = HashMap::new();
        for epoch in epochs {
            passed_over.extend(epoch.passed_over);
            for (name, outcome) in epoch.outcomes {
                let known = outcomes.entry(name).or_insert(outcome);
                *known = both(*known, outcome);
            }
            failures.extend(epoch.failures);
        }
        if !part.is_partial() {
            let rest = standing.passed_over.iter();
            let rest = rest.filter(|(table, _)| !outcomes.contains_key(table));
            passed_over
                .values()
                .chain(rest.map(|(_, found)| found))
                .for_each(|found| left_out.ignored.add(found));
        }
        notes.extend(duckdb_note(&left_out.ignored.duckdb));
        let count = |wanted| outcomes.values().filter(|o| **o == wanted).count() as u64;
        let mut tables = TableCounts {
            added: count(Outcome::Added),
            changed: count(Outcome::Changed),
            removed: count(Outcome::Removed),
            ..TableCounts::default()
        };
        // What was unreadable before and has not changed is still worth reporting.
        let before = standing.failures.iter();
        let before = before.filter(|failure| !outcomes.contains_key(&failure.table));
        let of_part = |it: &&Failure| part.has_table(&it.table) && part.has_path(&it.object);
        failures.extend(before.filter(of_part).cloned());
        for failure in &mut failures {
            failure.table = shown(&failure.table).to_owned();
        }
        failures.sort();
        failures.dedup();
        let known = self.known_failures().and(&standing.failures);
        // Sorted among themselves as before.
        failures.sort_by_key(|failure| known.has(failure));
        let failed_before = failures.iter().filter(|it| known.has(it)).count() as u64;
        // What is of no table counts by itself.
        let counted = |failure: &'_ Failure| match failure.table.as_str() {
            "" => (failure.object.clone(), String::new()),
            table => (String::new(), table.to_owned()),
        };
        tables.failed = failures.iter().map(counted).collect::<HashSet<_>>().len() as u64;
        tables.unchanged = standing
            .tables
            .saturating_sub(tables.changed + tables.removed);

        Report {
            snapshot: self.opened.stages.committer.snapshot_number().await,
            tables,
            objects: left_out.counts(listed),
            failures,
            failed_before,
            notes,
            ..Report::default()
        }
    }

    /// Puts what was read, computed and written into the report, by this process and the followers.
    pub(super) fn count(&self, report: &mut Report, followers: Totals) {
        let mut all = self.opening.totals(&self.opened.stages);
        all.log();
        all.add(followers);
        report.objects.read = all.files_read;
        (report.requests, report.bytes) = (all.requests, all.bytes);
        report.model = ModelTotals {
            narrated_columns: all.narrated.narrated,
            failed_columns: all.narrated.lost(),
            prompt_tokens: all.narrated.prompt_tokens,
            generated_tokens: all.narrated.generated_tokens,
            embedded_blocks: all.embedded_blocks,
            embedded_tokens: all.embedded_tokens,
        };
        report.seconds = Seconds {
            total: all.total,
            busy: all.busy,
            list: all.list,
            plan: all.plan,
            read: all.read,
            narrate: all.narrate,
            embed: all.embed,
            embed_span: all.embed_span,
            write: all.write,
            publish: all.publish,
        };
    }
}

/// What happened to a table of which two epochs say something.
fn both(earlier: Outcome, later: Outcome) -> Outcome {
    match (earlier, later) {
        // Removed from one group of files and added in another: the table has changed.
        (Outcome::Removed, Outcome::Added) | (Outcome::Added, Outcome::Removed) => Outcome::Changed,
        // Added by its names, then described in a model's words.
        (Outcome::Added, Outcome::Changed) => Outcome::Added,
        (Outcome::Removed | Outcome::Forgotten, other)
        | (other, Outcome::Removed | Outcome::Forgotten) => other,
        (_, latest) => latest,
    }
}

/// What is to be said of tables that have become one by their logs.
pub(super) fn joined_note(joined: &[(String, usize)]) -> Option<String> {
    let (first, _) = joined.first()?;
    let before: usize = joined.iter().map(|(_, count)| count).sum();
    Some(format!(
        "tables are what their logs say from now on: {} with a log, such as '{first}', in place of {} made of files in their folders, with the contexts registered for those",
        counted(joined.len() as u64, "table"),
        counted(before as u64, "table"),
    ))
}

/// Notes on contexts that name no table. Of those that were `given` to this run, the ones are kept
/// that are of a table that was there. Where filters leave something out, that may be what they
/// name.
pub(super) fn orphan_notes(
    orphans: &[String],
    given: &Contexts,
    kept: &BTreeSet<String>,
    filtered: usize,
) -> Vec<String> {
    let is_given = |name: &str| given.keys().any(|it| it.as_str() == name);
    let note = |orphan: &String| {
        if is_given(orphan) && !kept.contains(orphan) {
            format!(
                "context of '{orphan}' names no table of the lake, and is not kept: give it again when the table is there"
            )
        } else if is_text_file(orphan) {
            format!(
                "the text '{orphan}' names no table of the lake: a text is about the table of its own name beside it (limn tables lists names), a README about its folder"
            )
        } else {
            format!(
                "the text registered for '{orphan}' waits: no table of the lake has that name; if it was renamed, register the text again (limn context)"
            )
        }
    };
    match orphans {
        [first, _, ..] if filtered > 0 => vec![format!(
            "contexts that name no table of the lake, which filters may leave out: {}, such as that of '{first}'",
            orphans.len()
        )],
        orphans => {
            let (files, others): (Vec<&String>, Vec<&String>) =
                orphans.iter().partition(|orphan| is_text_file(orphan));
            let folded = match files.as_slice() {
                [first, .., _] if files.len() > MOST_ORPHANS => vec![format!(
                    "{} texts name no table of the lake, such as '{first}': a text is about the table of its own name beside it, a README about its folder",
                    files.len()
                )],
                files => files.iter().copied().map(note).collect(),
            };
            others.into_iter().map(note).chain(folded).collect()
        }
    }
}

/// Up to so many texts that describe no table get a note each; more of them share one.
const MOST_ORPHANS: usize = 3;

/// Whether what a context is called by is a file of text, and no table.
fn is_text_file(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("md" | "txt" | "html" | "htm" | "pdf"))
}
