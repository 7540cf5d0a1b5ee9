//! The judge that search and eval use: whether there is one, and at which threshold.
//!
//! `--judge auto` costs a look into one folder where no model was calibrated, and loads a model
//! only after its record has said that it helps. What a calibration says holds for the lakes it was
//! made on; it is kept beside the models because a threshold is above all a trait of a model.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use limn_models::{LanguageModel, ModelStore, Usage};
use limn_retrieval::Grading;
use limn_retrieval::judge::{Calibration, Judge, Tally};
use serde::Serialize;
use tokio::runtime::Handle;

use crate::args::{JudgeArg, JudgeOptions, ModelOptions};
use crate::commands::language_model;
use crate::text::{count, one_line, plural, seconds};

/// The folder of calibrations in the model store's.
const FOLDER: &str = "calibration";

/// A judge, if there is one, and what to say about it.
#[derive(Default)]
pub struct Judging {
    pub judge: Option<Arc<Judge>>,
    /// The threshold it judges at.
    pub threshold: f32,
    pub notes: Vec<String>,
}

/// The judge that the options ask for.
pub async fn open(options: &JudgeOptions, model: &ModelOptions) -> anyhow::Result<Judging> {
    match options.judge {
        JudgeArg::Off => Ok(Judging::default()),
        JudgeArg::Llm => {
            let model = language_model::open(model).await?;
            let record = folder().and_then(|folder| Ok(Calibration::load(&folder, model.id())?));
            Ok(always(options, model, record))
        }
        // Nobody asked for a judge: what is wrong with it is a note and not the end.
        JudgeArg::Auto => Ok(match if_it_helps(options, model).await {
            Ok(judging) => judging,
            Err(error) => Judging {
                notes: vec![format!("not judged: {error}")],
                ..Judging::default()
            },
        }),
    }
}

/// A judge whatever its record says, at the record's threshold if there is one.
fn always(
    options: &JudgeOptions,
    model: Arc<dyn LanguageModel>,
    record: anyhow::Result<Option<Calibration>>,
) -> Judging {
    let id = model.id().to_string();
    let even = "tables are rejected below even odds; limn eval --calibrate fits a threshold";
    let (threshold, note) = match record {
        Ok(Some(record)) if !record.is_current() => (
            0.0,
            Some(format!("{id} was calibrated for other prompts: {even}")),
        ),
        Ok(Some(record)) => {
            let unhelpful = !record.helps();
            let note = unhelpful.then(|| {
                format!(
                    "{id} did not clearly help on the {} questions it was calibrated on",
                    record.questions
                )
            });
            (record.threshold, note)
        }
        Ok(None) => (0.0, Some(format!("{id} is not calibrated: {even}"))),
        Err(error) => (0.0, Some(format!("{error}; {even}"))),
    };
    Judging {
        judge: Some(judge(options, model, threshold)),
        threshold,
        notes: note.into_iter().collect(),
    }
}

/// A judge where the model is here and its record says that it helps.
async fn if_it_helps(options: &JudgeOptions, model: &ModelOptions) -> anyhow::Result<Judging> {
    let Ok(folder) = folder() else {
        return Ok(Judging::default());
    };
    if model.is_named() {
        // An unknown model is an error.
        language_model::id_if_here(model).await?;
    }
    if !folder.is_dir() {
        return Ok(Judging::default());
    }
    let Some(id) = language_model::id_if_here(model).await? else {
        return Ok(Judging::default());
    };
    let Some(record) = Calibration::load(&folder, &id)?.filter(Calibration::helps) else {
        return Ok(Judging::default());
    };
    let model = language_model::open(model).await?;
    Ok(Judging {
        judge: Some(judge(options, model, record.threshold)),
        threshold: record.threshold,
        notes: Vec::new(),
    })
}

/// A judge of the options' depth.
pub fn judge(options: &JudgeOptions, model: Arc<dyn LanguageModel>, threshold: f32) -> Arc<Judge> {
    let runtime = Handle::current();
    Arc::new(Judge::new(model, runtime, threshold, options.judge_depth))
}

/// The limits of grades: those of the file that is named, else limn's own.
pub fn grading(options: &JudgeOptions) -> anyhow::Result<Grading> {
    let Some(path) = &options.grades else {
        return Ok(Grading::DEFAULT);
    };
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let grading: Grading = serde_json::from_str(&text).with_context(|| {
        format!(
            "{shown} holds no limits of grades: {{\"weak\": 0.31, \"strong\": 0.7}} is expected"
        )
    })?;
    if grading.weak > grading.strong {
        bail!("{shown}: weak is above strong");
    }
    Ok(grading)
}

/// Where calibrations are kept.
pub fn folder() -> anyhow::Result<PathBuf> {
    Ok(ModelStore::from_env().root()?.join(FOLDER))
}

/// What judging cost, as eval prints it.
#[derive(Debug, Serialize)]
pub struct Cost {
    pub model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f32>,
    #[serde(flatten)]
    pub tally: Tally,
    pub prompts: u64,
    pub prompt_tokens: u64,
    pub computed_prompt_tokens: u64,
    pub seconds: f64,
    pub cost: Option<f64>,
}

impl Cost {
    /// What a judge has cost since it was opened; its first prompt was sent after `start`.
    pub fn of(judge: &Judge, threshold: Option<f32>, start: Instant) -> Cost {
        let usage: Usage = judge.model().usage();
        Cost {
            model: judge.model().id().to_string(),
            threshold,
            tally: judge.tally(),
            prompts: usage.prompts,
            prompt_tokens: usage.prompt_tokens,
            computed_prompt_tokens: usage.computed_prompt_tokens,
            seconds: start.elapsed().as_secs_f64(),
            cost: usage.cost,
        }
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let Tally {
            standing,
            rejected,
            failed,
        } = self.tally;
        let mut line = format!("judge {}", one_line(&self.model));
        if let Some(threshold) = self.threshold {
            line += &format!(
                " at {threshold:.2}: {} stand, {} rejected, {} failed",
                plural(standing, "table"),
                count(rejected),
                count(failed)
            );
        }
        line += &format!(
            "; {}, {} tokens ({} computed), {}",
            plural(self.prompts, "prompt"),
            count(self.prompt_tokens),
            count(self.computed_prompt_tokens),
            seconds(self.seconds)
        );
        if let Some(cost) = self.cost {
            line += &format!(", cost {cost:.4}");
        }
        line
    }
}
