//! What is published of texts: those beside the data, and each table's part of a text about
//! several.

use limn_formats::Fingerprint;
use limn_lake::contexts::ContextPart;
use limn_segment::ContextRecord;

use super::state::{Place, Published, hash_of};
use crate::changes::MemberId;

impl Published {
    /// The text of a context beside the data that was read in this very version before.
    pub fn context(&self, path: &str, version: Fingerprint) -> Option<String> {
        let state = self.state();
        let member = MemberId::of_version(version, state.reuse?).to_string();
        let known = context_at(state.contexts.get(&hash_of(path))?)?;
        let is_current = known.error.is_none() && known.fingerprint == member;
        is_current.then(|| known.text.clone())
    }

    /// The last text that a context beside the data had when it could be read, whatever table it
    /// was of.
    pub fn last_text(&self, path: &str) -> Option<String> {
        let state = self.state();
        let known = context_at(state.texts.get(&hash_of(path))?)?;
        Some(known.text.clone())
    }

    /// A table's part of a text about several tables, that was read in this very version before.
    pub fn part(&self, table: &str, path: &str, version: Fingerprint) -> Option<ContextPart> {
        let member = {
            let state = self.state();
            MemberId::of_version(version, state.reuse?).to_string()
        };
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        let known = contexts.find(|it| it.source == path && it.fingerprint == member)?;
        known.error.is_none().then(|| part_of(known))
    }

    /// The version of a text about several tables that a published table has its part of, and the
    /// part, if that is another version than this one.
    pub fn part_of_another_version(
        &self,
        table: &str,
        path: &str,
        current: MemberId,
    ) -> Option<(Fingerprint, ContextPart)> {
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        let known = contexts.find(|it| it.source == path && it.error.is_none())?;
        let version: Fingerprint = known.fingerprint.parse().ok()?;
        (version.0 != current.0).then(|| (version, part_of(known)))
    }

    /// A table's part of a text about several tables, as it was last.
    pub fn last_part(&self, table: &str, path: &str) -> Option<ContextPart> {
        let row = self.table(table)?;
        let mut contexts = row.contexts.iter();
        contexts.find(|it| it.source == path).map(part_of)
    }
}

fn part_of(context: &ContextRecord) -> ContextPart {
    ContextPart {
        text: context.text.clone(),
        of_folder: context.of_folder,
    }
}

fn context_at((table, context): &Place) -> Option<&ContextRecord> {
    table.contexts.get(*context as usize)
}
