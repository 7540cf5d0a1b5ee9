//! What the tables of a lake in an index were made with, as its snapshots remember it.

use std::collections::BTreeSet;
use std::fmt;

use limn_models::EncoderRecord;
use limn_profile::{KeptValues, Redact};
use limn_segment::{Narrator, Snapshot};
use serde::{Deserialize, Serialize};

use crate::changes::MemberId;
use crate::error::PipelineError;
use crate::known_failures::FAILED;

/// Version of the texts that are made of a table; another version describes every table anew. How
/// files are read has one of its own, [`SUMMARY_VERSION`].
pub const DOCUMENTS_VERSION: u32 = 11;

/// Where a snapshot names the settings of lakes all of whose tables were made with them.
const LAKES: &str = "lakes";
/// Where it names the settings that a lake's tables are on the way to.
const CHANGING: &str = "changing";
/// What is to be remembered of the encoder's folder that makes the vectors.
pub(crate) const ENCODER: &str = "encoder";
/// Where it names the filters of lakes ([`crate::filtering`]).
pub(crate) const FILTERS: &str = "filters";

/// By how many values of a file its table is found, by default.
pub const DEFAULT_VALUES: u32 = 1_000_000;

/// Where the words of a column without a narration come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Column names split and expanded, types, ranges, most frequent values.
    Names,
    /// Column names as they are, and nothing else.
    Off,
}

/// What a lake's tables in an index were made with. Any difference describes them all anew. A
/// setting that this limn does not know is an error: it may say what has to be kept out of the
/// index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSettings {
    /// The embedder's identity.
    pub embedder: String,
    /// Vector dimensions.
    pub dimensions: usize,
    /// Words of columns that have no narration.
    pub narrate: Words,
    /// Who narrates, if anyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrator: Option<Narrator>,
    /// Rows drawn from each table.
    pub sample_rows: usize,
    /// Bytes read of one file for its profile.
    pub scan_budget: u64,
    /// By how many values of a file its table is found.
    #[serde(default = "default_values", skip_serializing_if = "is_default_values")]
    pub values: u32,
    /// Seed of the row priorities.
    pub seed: u64,
    /// Whose values are kept out.
    #[serde(default, skip_serializing_if = "is_off")]
    pub redact: Redact,
    /// [`DOCUMENTS_VERSION`] of the run.
    pub documents: u32,
    /// [`SUMMARY_VERSION`] of the run; 0 in indexes from before there was one.
    #[serde(default)]
    pub summaries: u32,
    /// Version of the analyzer.
    pub analyzer: u32,
}

fn default_values() -> u32 {
    DEFAULT_VALUES
}

fn is_default_values(values: &u32) -> bool {
    *values == DEFAULT_VALUES
}

fn is_off(redact: &Redact) -> bool {
    *redact == Redact::Off
}

impl IndexSettings {
    /// Whether the index has tables of other lakes than this one.
    pub fn has_others(snapshot: &Snapshot, lake_url: &str) -> bool {
        let lakes = snapshot.settings[LAKES].as_object();
        lakes.is_some_and(|lakes| lakes.keys().any(|lake| lake != lake_url))
    }

    /// The settings that all of a lake's tables in `snapshot` were made with.
    ///
    /// # Errors
    /// This limn does not understand them.
    pub fn of_lake(snapshot: &Snapshot, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        Self::of(snapshot, LAKES, lake_url)
    }

    /// The settings that a lake's tables in `snapshot` were made with or, where a run that changes
    /// them did not end, are to be made with.
    ///
    /// # Errors
    /// This limn does not understand them.
    pub fn intended(snapshot: &Snapshot, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        match Self::of_lake(snapshot, lake_url)? {
            Some(settings) => Ok(Some(settings)),
            None => Self::of(snapshot, CHANGING, lake_url),
        }
    }

    fn of(snapshot: &Snapshot, list: &str, lake_url: &str) -> Result<Option<Self>, PipelineError> {
        let Some(settings) = remembered(snapshot, list, lake_url)? else {
            return Ok(None);
        };
        let settings = serde_json::from_value(settings.clone());
        settings
            .map(Some)
            .map_err(|error| not_understood(lake_url, &error))
    }

    /// Writes these settings into a snapshot's settings for one lake: as those of all its tables,
    /// or as those that its tables are on the way to.
    pub fn put_into(&self, settings: &mut serde_json::Value, lake_url: &str, all: bool) {
        if !settings.is_object() {
            *settings = serde_json::json!({});
        }
        let (list, other) = if all {
            (LAKES, CHANGING)
        } else {
            (CHANGING, LAKES)
        };
        if !settings[list].is_object() {
            settings[list] = serde_json::json!({});
        }
        settings[list][lake_url] = serde_json::json!(self);
        let others = settings.get_mut(other);
        if let Some(others) = others.and_then(|others| others.as_object_mut()) {
            others.remove(lake_url);
        }
    }

    /// What is kept of the values of a file.
    pub fn kept_values(&self) -> KeptValues {
        KeptValues {
            most: match self.redact {
                Redact::AllValues => 0,
                Redact::Off | Redact::Marked => self.values,
            },
            hides_personal: self.redact == Redact::Marked,
        }
    }

    /// A fingerprint that takes part in every member: other settings, another state.
    pub fn fingerprint(&self) -> MemberId {
        let written = serde_json::json!(self).to_string();
        MemberId(xxhash_rust::xxh3::xxh3_128(written.as_bytes()))
    }

    /// Whether file summaries made with `other` are those this run would make.
    pub fn summaries_match(&self, other: &Self) -> bool {
        let of = |it: &Self| {
            (
                it.sample_rows,
                it.scan_budget,
                it.values,
                it.seed,
                it.redact,
                it.summaries,
            )
        };
        of(self) == of(other)
    }

    /// The settings that differ from those of tables in the index, each with both values.
    pub fn differences(&self, published: &Self) -> Vec<String> {
        let [now, there] = [self, published].map(|it| serde_json::json!(it));
        let both = [&now, &there].into_iter().filter_map(|it| it.as_object());
        let names: BTreeSet<&String> = both.flat_map(|it| it.keys()).collect();
        let differ = names.into_iter().filter(|name| now[*name] != there[*name]);
        let line = |name: &String| format!("{name}: {} there, {} now", there[name], now[name]);
        differ.map(line).collect()
    }

    /// Checks that a run with these settings may write into the index.
    ///
    /// # Errors
    /// The vectors of two embedders cannot be compared, so an index has one embedder.
    pub fn check_against(&self, snapshot: &Snapshot) -> Result<(), PipelineError> {
        if snapshot.embedder != self.embedder {
            let which = match encoder_of(snapshot) {
                Some(record) => format!("--embedder {}", record.folder),
                None => "--embedder says which".to_owned(),
            };
            return Err(PipelineError::Settings(format!(
                "the index was made with embedder '{}', this run has '{}'; use the same embedder or another --index: {which}",
                snapshot.embedder, self.embedder
            )));
        }
        if snapshot.analyzer != self.analyzer {
            return Err(PipelineError::Settings(format!(
                "the index was made with analyzer {}, this limn has {}; index anew into another --index",
                snapshot.analyzer, self.analyzer
            )));
        }
        Ok(())
    }
}

/// What a snapshot remembers of the encoder's folder that made its vectors; `None` where they are
/// of another embedder.
#[must_use]
pub fn encoder_of(snapshot: &Snapshot) -> Option<EncoderRecord> {
    let record = snapshot.settings.get(ENCODER)?;
    serde_json::from_value(record.clone()).ok()
}

/// What a snapshot remembers of a lake under one of the names above, as it is written there.
///
/// # Errors
/// There is more than this limn knows of: to go on without it might index what somebody kept out.
pub(crate) fn remembered<'a>(
    snapshot: &'a Snapshot,
    list: &str,
    lake_url: &str,
) -> Result<Option<&'a serde_json::Value>, PipelineError> {
    if snapshot.settings.is_null() {
        return Ok(None);
    }
    let no_object = |what: &str| not_understood(lake_url, &format!("{what} is no object"));
    let all = snapshot.settings.as_object();
    let all = all.ok_or_else(|| no_object("`settings`"))?;
    let is_known =
        |name: &&String| [LAKES, CHANGING, FILTERS, FAILED, ENCODER].contains(&name.as_str());
    if let Some(unknown) = all.keys().find(|name| !is_known(name)) {
        let unknown = limn_store::one_line(unknown);
        let what = format!("unknown setting `{unknown}`");
        return Err(not_understood(lake_url, &what));
    }
    match all.get(list) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::Object(lakes)) => Ok(lakes.get(lake_url)),
        Some(_) => Err(no_object(&format!("`{list}`"))),
    }
}

fn not_understood(lake_url: &str, why: &dyn fmt::Display) -> PipelineError {
    PipelineError::Settings(format!(
        "the index remembers settings for {lake_url} that this limn does not understand ({why}): use the limn that wrote them, or index into another place"
    ))
}

#[cfg(test)]
mod tests;
