//! From a question to a plan: the tables that answer it, their columns and cells, and SQL.

use std::sync::Arc;
use std::time::Instant;

use limn_ask::semantic::KeptAnswers;
use limn_ask::write::{EngineTryOut, TRIED, Written, refused, write};
use limn_ask::{KeptModel, SpentTokens};
use limn_models::LanguageModel;
use limn_sql::Engine;

use crate::args::{AskArgs, CellsArgs, IndexPlace, JsonOutput, Under};
use crate::commands::{cells, language_model};
use crate::progress::Waiting;
use crate::text::one_line;

/// What to do for better answers.
const NO_MODEL: &str = "no language model was asked: one that writes SQL is fetched by `limn models pull qwen2.5-coder-1.5b`, or named with --endpoint and --endpoint-model";

/// The language model, if one is named or here.
pub async fn model(args: &AskArgs) -> anyhow::Result<Option<Arc<dyn LanguageModel>>> {
    if args.no_model {
        return Ok(None);
    }
    let is_here = args.model.is_named() || language_model::id_if_here(&args.model).await?.is_some();
    match is_here {
        true => language_model::open(&args.model).await.map(Some),
        false => Ok(None),
    }
}

/// What was written for a question.
pub struct Planned {
    pub written: Written,
    /// The language model; none where none is there, or the question was refused without one.
    pub model: Option<Arc<dyn LanguageModel>>,
    pub spent: SpentTokens,
}

/// Writes for the question of the arguments. The model is loaded once tables are found that may
/// have the answer.
pub async fn planned(
    args: &AskArgs,
    engine: &Engine,
    kept: Arc<dyn KeptAnswers>,
    until: Instant,
) -> anyhow::Result<Planned> {
    let waiting = Waiting::start("looking for tables, columns and cells".to_owned());
    let gathered = cells::gather(&cells_args(args)).await;
    waiting.finish();
    let (cells, _) = gathered?;
    let question = args.question.join(" ");
    let is_refused = refused(&question, &cells).is_some();
    let model = match is_refused {
        true => None,
        false => model(args).await?,
    };
    let asked = model.clone().map(|model| KeptModel::new(model, kept));
    let waiting = model.as_ref().map(|model| {
        let id = one_line(model.id().as_str());
        Waiting::start(format!("{id} writes SQL"))
    });
    let try_out = EngineTryOut::new(&engine.with_rows(TRIED));
    let left = until.saturating_duration_since(Instant::now());
    let writer = asked.as_ref().map(|it| it as &dyn LanguageModel);
    let mut written = write(&question, &cells, writer, &try_out, left).await;
    if let Some(waiting) = waiting {
        waiting.finish();
    }
    if let Some(asked) = &asked
        && let Err(error) = asked.keep().await
    {
        written
            .notes
            .push(format!("what the model wrote is not kept: {error}"));
    }
    if model.is_none() && !args.no_model && !is_refused {
        written.notes.push(NO_MODEL.to_owned());
    }
    written.notes.extend(cells.notes);
    Ok(Planned {
        written,
        model,
        spent: asked.map(|it| it.spent()).unwrap_or_default(),
    })
}

/// The tables of a question, found as for a set.
fn cells_args(args: &AskArgs) -> CellsArgs {
    CellsArgs {
        question: args.question.clone(),
        tables: args.tables.clone(),
        index: IndexPlace {
            index: args.index.index.clone(),
        },
        encoder: args.encoder.clone(),
        lake: args.lake.clone().filter(|_| !args.tables.is_empty()),
        join: args.tables.is_empty(),
        under: Under {
            prefix: args.under.prefix.clone(),
        },
        k: limn_cells::K,
        timeout: args.timeout,
        memory: args.memory,
        no_keep: args.no_keep,
        json: JsonOutput { json: false },
        access: args.access.clone(),
    }
}
