//! What a round refuses: a lake from which all tables seem removed, and a part of a lake whose rest
//! is indexed otherwise.

use futures::StreamExt;

use super::state::Round;
use crate::error::PipelineError;
use crate::filtering::remembered;
use crate::plan::Plan;
use crate::planned::Listed;
use crate::scope::{Part, Scope};
use crate::settings::IndexSettings;

impl Round {
    /// An unmounted disk and a mistyped prefix look like a lake from which all is removed, and so
    /// do filters that leave nothing.
    pub(super) async fn check_listed(
        &self,
        part: &Part,
        listed: &Listed,
    ) -> Result<(), PipelineError> {
        if self.opening.options.allow_empty {
            return Ok(());
        }
        let lake = &self.opening.lake;
        let mut is_empty = listed.objects == 0 && !listed.is_any;
        if is_empty && part.folders != Part::whole().folders {
            is_empty = lake.list("").next().await.is_none();
        }
        if is_empty && (listed.known > 0 || lake.local_root().is_none()) {
            return Err(PipelineError::EmptyLake {
                lake: lake.url().to_owned(),
                tables: listed.known,
            });
        }
        let may_be_left =
            part.is_partial() || listed.known == 0 || listed.left_out == 0 || listed.lacks_some;
        if !may_be_left && !listed.has_data {
            return Err(PipelineError::NothingLeft {
                lake: lake.url().to_owned(),
                filtered: listed.left_out as u64,
                tables: listed.known,
            });
        }
        Ok(())
    }

    /// A part of a lake can only be kept up to date with the filters that the whole was listed
    /// with.
    pub(super) fn check_filters(&self) -> Result<(), PipelineError> {
        let snapshot = self.opening.known.published.snapshot();
        let lake = self.opening.lake.url();
        if self.opening.options.scope.is_partial()
            && remembered(snapshot.as_ref(), lake)? != self.terms.filters
        {
            return Err(PipelineError::Settings(format!(
                "{lake} is not indexed with these filters yet: run limn index with them first, or leave them away"
            )));
        }
        Ok(())
    }

    /// A part of a lake can only be kept up to date, and of tables that there are.
    pub(super) fn check_scope(&self, plan: &Plan) -> Result<(), PipelineError> {
        let scope = &self.opening.options.scope;
        if !scope.is_partial() {
            return Ok(());
        }
        if !self.opened.is_uniform {
            let snapshot = self.opening.known.published.snapshot();
            let lake = self.opening.lake.url();
            let before = match &snapshot {
                Some(snapshot) => IndexSettings::intended(snapshot, lake)?,
                None => None,
            };
            let differ = before.map(|it| self.terms.settings.differences(&it));
            let differ = differ.filter(|it| !it.is_empty());
            let differ = differ.map_or(String::new(), |it| format!(" ({})", it.join("; ")));
            return Err(PipelineError::Settings(format!(
                "{lake} is not all indexed with these settings yet{differ}: run limn index with them first, or give the options that it was indexed with (such as --narrate off)"
            )));
        }
        if let Scope::Tables(names) = scope {
            let is_known = |name: &&String| {
                plan.tables.contains(*name) || self.opening.known.published.row(name).is_some()
            };
            if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
                return Err(PipelineError::Settings(format!(
                    "no table '{unknown}', neither in {} nor in the index: limn tables lists them",
                    self.opening.lake.url()
                )));
            }
        }
        Ok(())
    }
}
