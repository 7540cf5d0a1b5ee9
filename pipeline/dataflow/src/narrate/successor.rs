//! A language model that takes the place of another, or its own with other prompts.

use std::sync::Arc;

use limn_models::LanguageModel;
use limn_segment::Snapshot;

use super::asking::try_out;
use crate::error::PipelineError;
use crate::options::{Narrate, RunOptions};
use crate::settings::IndexSettings;

/// A model whose words are to take the place of others has to answer before these are dropped. It
/// is returned open. Under [`Narrate::Auto`] the run goes without one that does not answer, and a
/// note says so.
///
/// # Errors
/// It does not answer, and the run cannot go without it.
pub async fn try_out_successor(
    options: &mut RunOptions,
    snapshot: Option<&Snapshot>,
    lake: &str,
) -> Result<(Option<Arc<dyn LanguageModel>>, Vec<String>), PipelineError> {
    let (Some(with), Some(snapshot)) = (&options.narrator, snapshot) else {
        return Ok((None, Vec::new()));
    };
    let Some(before) = IndexSettings::intended(snapshot, lake)? else {
        return Ok((None, Vec::new()));
    };
    let takes_over = match (&before.narrator, options.narrate) {
        (Some(before), Narrate::Llm) => *before != with.narrator(),
        (Some(before), Narrate::Auto) => {
            before.model == with.model.as_str() && *before != with.narrator()
        }
        _ => false,
    };
    // A change to other words that did not end may have left some of the old ones.
    let is_changing = before.narrator == Some(with.narrator())
        && IndexSettings::of_lake(snapshot, lake)?.is_none();
    if !takes_over && !is_changing {
        return Ok((None, Vec::new()));
    }
    match try_out(with).await {
        Ok(model) => Ok((Some(model), Vec::new())),
        Err(error) if options.narrate == Narrate::Auto && takes_over => {
            let note = format!(
                "{} does not answer and narrated nothing anew for this limn's prompts ({error}); its words of before stay until it does",
                with.model
            );
            options.narrator = None;
            Ok((None, vec![note]))
        }
        Err(error) => Err(PipelineError::Settings(format!(
            "{} is to narrate this lake in place of the words that its tables have now, and does not answer ({error}); the index is as it was: run again when it does",
            with.model
        ))),
    }
}
