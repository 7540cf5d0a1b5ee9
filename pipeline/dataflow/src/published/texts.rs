//! What is published of texts: those beside the data, and each table's part of a text about
//! several.

use limn_formats::Fingerprint;
use limn_lake::contexts::ContextPart;
use limn_segment::ContextRecord;

use super::places::Place;
use super::row::hash_of;
use super::state::Published;
use crate::changes::MemberId;
use crate::error::PipelineError;

impl Published {
    /// The text of a context beside the data that was read in this very version before.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn context(
        &self,
        path: &str,
        version: Fingerprint,
    ) -> Result<Option<String>, PipelineError> {
        let (place, member) = {
            let state = self.state();
            let Some(settings) = state.reuse else {
                return Ok(None);
            };
            let member = MemberId::of_version(version, settings).to_string();
            (state.places.context(hash_of(path)), member)
        };
        let known = context_at(place, path)?;
        let is_current = |it: &ContextRecord| it.error.is_none() && it.fingerprint == member;
        Ok(known.filter(is_current).map(|it| it.text))
    }

    /// The last text that a context beside the data had when it could be read, whatever table it
    /// was of.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn last_text(&self, path: &str) -> Result<Option<String>, PipelineError> {
        let place = self.state().places.text(hash_of(path));
        Ok(context_at(place, path)?.map(|it| it.text))
    }

    /// A table's part of a text about several tables, that was read in this very version before.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn part(
        &self,
        table: &str,
        path: &str,
        version: Fingerprint,
    ) -> Result<Option<ContextPart>, PipelineError> {
        let Some(settings) = self.state().reuse else {
            return Ok(None);
        };
        let member = MemberId::of_version(version, settings).to_string();
        let is_this = |it: &ContextRecord| it.source == path && it.fingerprint == member;
        let known = self.context_of(table, is_this)?;
        Ok(known.filter(|it| it.error.is_none()).map(part_of))
    }

    /// The version of a text about several tables that a published table has its part of, and the
    /// part, if that is another version than this one.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn part_of_another_version(
        &self,
        table: &str,
        path: &str,
        current: MemberId,
    ) -> Result<Option<(Fingerprint, ContextPart)>, PipelineError> {
        if self
            .row(table)
            .is_some_and(|it| it.members.contains(&current))
        {
            return Ok(None);
        }
        let known = self.context_of(table, |it| it.source == path && it.error.is_none())?;
        Ok(known.and_then(|it| {
            let version: Fingerprint = it.fingerprint.parse().ok()?;
            (version.0 != current.0).then(|| (version, part_of(it)))
        }))
    }

    /// A table's part of a text about several tables, as it was last.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn last_part(&self, table: &str, path: &str) -> Result<Option<ContextPart>, PipelineError> {
        let known = self.context_of(table, |it| it.source == path)?;
        Ok(known.map(part_of))
    }

    /// The first such context of a table.
    fn context_of(
        &self,
        table: &str,
        is_such: impl Fn(&ContextRecord) -> bool,
    ) -> Result<Option<ContextRecord>, PipelineError> {
        let row = self.row(table).map(|row| row.head()).transpose()?;
        let contexts = row.map(|it| it.contexts);
        Ok(contexts.into_iter().flatten().find(is_such))
    }
}

fn part_of(context: ContextRecord) -> ContextPart {
    ContextPart {
        text: context.text,
        of_folder: context.of_folder,
    }
}

/// A context beside the data, if it is of this path.
fn context_at(place: Option<Place>, path: &str) -> Result<Option<ContextRecord>, PipelineError> {
    let Some((row, at)) = place else {
        return Ok(None);
    };
    let contexts = row.head()?.contexts.into_iter();
    Ok(contexts.skip(at).take(1).find(|it| it.source == path))
}
