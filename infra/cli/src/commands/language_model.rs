//! The language model that narrates or judges: an embedded one by name, or an endpoint.

use std::sync::Arc;

use limn_models::LanguageModel;

use crate::args::ModelOptions;

/// Opens the model that the options name, fetched at first use.
pub async fn open(options: &ModelOptions) -> anyhow::Result<Arc<dyn LanguageModel>> {
    anyhow::bail!("unknown language model '{}'", options.model)
}
