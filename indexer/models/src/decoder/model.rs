//! The embedded language model as callers see it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::device::{Device, StepError};
use super::engine::{Answer, Engine, Job, Request};
use super::gguf::Gguf;
use super::load;
use super::network::Network;
use super::safetensors::Folder;
use super::schedule::{Scheduler, find_budget};
use super::shape::Shape;
use super::tokens::Tokens;
use crate::kernels::{Cpu, LANES};
use crate::{
    Classified, Generated, LanguageModel, LanguageModelFiles, Limits, ModelError, ModelId, Prompt,
    Usage,
};

/// The longest prompt with its answer, in tokens, of a model that was made for more.
const LONGEST: usize = 8192;

/// How an embedded language model runs.
#[derive(Clone, Debug)]
pub struct DecoderOptions {
    /// Threads of a step.
    pub threads: usize,
    /// Bytes for the keys and values of running sequences.
    pub cache_bytes: usize,
    /// Sequences that are computed at a time at most.
    pub sequences: usize,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            cache_bytes: 1 << 30,
            // More rows than this win nothing.
            sequences: 192,
        }
    }
}

/// A language model of the Llama or Qwen2 family, computed on this machine.
///
/// An answer depends on its prompt alone, to the bit: not on what else is under way, on the number of
/// threads or on the processor's kernels.
pub struct Decoder {
    id: ModelId,
    tokens: Arc<Tokens>,
    window: usize,
    concurrency: usize,
    kernels: &'static str,
    weight_bytes: usize,
    engine: Engine,
}

impl Decoder {
    /// Loads verified files, packs the weights, and starts the engine's thread.
    ///
    /// # Errors
    /// [`ModelError::InvalidModel`] where the files hold no model that this limn can compute.
    pub fn load(files: &LanguageModelFiles, options: &DecoderOptions) -> Result<Self, ModelError> {
        Self::load_with(files, options, Cpu::detect())
    }

    pub(super) fn load_with(
        files: &LanguageModelFiles,
        options: &DecoderOptions,
        cpu: Cpu,
    ) -> Result<Self, ModelError> {
        let invalid = |detail| invalid(files.path(), detail);
        let model = files.id().to_string();
        let (shape, tokens, weights) = opened(files, options.threads, cpu).map_err(invalid)?;
        let network =
            Network::new(shape.clone(), weights, options.threads, cpu).map_err(invalid)?;
        let weight_bytes = network.bytes();
        let window = shape.window.min(LONGEST);
        let mut device: Box<dyn Device> = Box::new(network);
        let budget = budget(device.as_mut(), options.cache_bytes, window);
        let scheduler = Scheduler::new(window.min(budget)..=budget, options.sequences, LANES);
        let tokens = Arc::new(tokens);
        Ok(Self {
            id: files.id().clone(),
            window: window.min(budget),
            // Enough waiting beside the running ones to choose from.
            concurrency: 2 * options.sequences.max(1),
            kernels: cpu.name(),
            weight_bytes,
            engine: Engine::start(device, scheduler, Arc::clone(&tokens), model),
            tokens,
        })
    }

    /// The name of the kernels in use: `amx-int8`, `avx512-vnni`, `avx-vnni`, `avx2`, `portable`.
    pub fn kernels(&self) -> &'static str {
        self.kernels
    }

    /// Bytes of the weights in memory.
    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        answer: usize,
        request: Request,
    ) -> Result<(Answer, usize), ModelError> {
        let prompt = self.tokens.prompt(prompt)?;
        let count = prompt.count();
        // What is reserved is rounded up in each part.
        let rounding = LANES * (prompt.shared.len() + 1);
        if count + answer + rounding > self.window {
            return Err(ModelError::TooLong {
                model: self.id.to_string(),
                tokens: count + answer,
                window: self.window.saturating_sub(rounding),
            });
        }
        let (sender, receiver) = oneshot::channel();
        self.engine.submit(Job {
            prompt,
            request,
            sender,
        });
        let answer = receiver.await.unwrap_or(Err(ModelError::Stopped))?;
        Ok((answer, count))
    }

    fn mixed_up(&self) -> ModelError {
        ModelError::Compute {
            model: self.id.to_string(),
            detail: "an answer of another kind than asked for came back".to_owned(),
        }
    }
}

#[async_trait]
impl LanguageModel for Decoder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokens
            .encode(text)
            .map_or(text.len(), |tokens| tokens.len())
    }

    fn window(&self) -> usize {
        self.window
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        let mut limits = limits.clone();
        limits.max_tokens = limits.max_tokens.max(1);
        let longest = limits.max_tokens;
        match self.ask(prompt, longest, Request::Generate(limits)).await? {
            (
                Answer::Generated {
                    text,
                    finish,
                    tokens,
                },
                prompt_tokens,
            ) => Ok(Generated {
                text,
                finish,
                prompt_tokens,
                generated_tokens: tokens,
            }),
            _ => Err(self.mixed_up()),
        }
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        let mut beginnings = Vec::with_capacity(words.len());
        for word in words {
            beginnings.push(self.tokens.beginnings(word)?);
        }
        let all: Vec<u32> = beginnings.iter().flatten().copied().collect();
        match self.ask(prompt, 0, Request::Classify(all)).await? {
            (Answer::LogProbabilities(found), prompt_tokens) => {
                let mut found = found.into_iter();
                let sums = beginnings.iter().map(|tokens| {
                    let logs: Vec<f32> = found.by_ref().take(tokens.len()).collect();
                    let most = logs.iter().copied().fold(f32::MIN, f32::max);
                    most + logs.iter().map(|log| (log - most).exp()).sum::<f32>().ln()
                });
                let sums: Vec<f32> = sums.map(|sum| sum.min(0.0)).collect();
                let mut choice = 0;
                for (word, sum) in sums.iter().enumerate() {
                    if *sum > sums[choice] {
                        choice = word;
                    }
                }
                Ok(Classified {
                    choice,
                    log_probabilities: Some(sums),
                    prompt_tokens,
                })
            }
            _ => Err(self.mixed_up()),
        }
    }

    fn usage(&self) -> Usage {
        self.engine.usage()
    }
}

/// Shape, tokenizer and packed weights of some files.
fn opened(
    files: &LanguageModelFiles,
    threads: usize,
    cpu: Cpu,
) -> Result<(Shape, Tokens, super::network::Weights), String> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .map_err(|error| error.to_string())?;
    let model = files.id().to_string();
    let checked = |shape: Shape| match shape.refusal() {
        Some(refusal) => Err(refusal),
        None => Ok(shape),
    };
    let packed = |source: &dyn load::Source, shape: &Shape| {
        pool.install(|| load::weights(source, shape, cpu))
    };
    match files {
        LanguageModelFiles::Gguf { path, .. } => {
            let file = Gguf::open(path)?;
            let shape = checked(file.shape()?)?;
            let tokens = Tokens::of_pieces(file.pieces()?, &model)?;
            let weights = packed(&file, &shape)?;
            Ok((shape, tokens, weights))
        }
        LanguageModelFiles::Safetensors {
            weights,
            config,
            tokenizer,
            ..
        } => {
            let folder = Folder::open(config, weights)?;
            let shape = checked(folder.shape()?)?;
            let (ends, begin) = folder.special_tokens();
            let tokens = Tokens::of_file(tokenizer, ends, begin, &model)?;
            let weights = packed(&folder, &shape)?;
            Ok((shape, tokens, weights))
        }
    }
}

/// The tokens that a device has room for, of those that so many bytes hold.
fn budget(device: &mut dyn Device, bytes: usize, window: usize) -> usize {
    let most = (bytes / device.bytes_per_token().max(1)).max(LANES);
    let fits = |tokens| match device.reserve(None, tokens) {
        Ok(segment) => {
            device.release(segment);
            true
        }
        Err(StepError::OutOfMemory { .. } | StepError::Failed(_)) => false,
    };
    find_budget(window.min(most)..=most, fits)
}

fn invalid(path: &Path, detail: String) -> ModelError {
    ModelError::InvalidModel {
        path: path.to_owned(),
        detail,
    }
}
