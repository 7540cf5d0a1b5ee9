//! The embedded language model as callers see it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::device::{Device, StepError};
use super::engine::{Answer, Engine, Engines, Job, Request};
use super::gguf::Gguf;
use super::load;
use super::load_error::LoadError;
use super::network::{Network, Weights};
#[cfg(any(feature = "cuda", test))]
use super::on_gpu::GpuNetwork;
use super::safetensors::Folder;
use super::schedule::{Scheduler, find_budget};
use super::shape::Shape;
use super::tokens::Tokens;
#[cfg(any(feature = "cuda", test))]
use crate::cuda::gpu::GpuError;
use crate::kernels::{Cpu, LANES};
use crate::{
    Classified, Devices, Generated, LanguageModel, LanguageModelFiles, Limits, ModelError, ModelId,
    Prompt, Usage,
};

/// The longest prompt with its answer, in tokens, of a model that was made for more.
const LONGEST: usize = 8192;

/// How an embedded language model runs.
#[derive(Clone, Debug)]
pub struct DecoderOptions {
    /// Threads of a step.
    pub threads: usize,
    /// Bytes for the keys and values of running sequences: 1 GiB on the processor, nine tenths of
    /// what is free on a GPU if `None`.
    pub cache_bytes: Option<usize>,
    /// Sequences that are computed at a time at most: 192 on the processor, where more win nothing,
    /// 1,000 on a GPU if `None`.
    pub sequences: Option<usize>,
    /// What computes it; a model is loaded onto each GPU, and prompts are spread over them.
    pub devices: Devices,
}

const CPU_CACHE_BYTES: usize = 1 << 30;
const CPU_SEQUENCES: usize = 192;
#[cfg(any(feature = "cuda", test))]
const GPU_SEQUENCES: usize = 1000;

impl Default for DecoderOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            cache_bytes: None,
            sequences: None,
            devices: Devices::default(),
        }
    }
}

/// A language model of the Llama or Qwen2 family, computed on this machine.
///
/// An answer depends on its prompt alone, to the bit: not on what else is under way, on the number
/// of threads or on the processor's kernels.
pub struct Decoder {
    id: ModelId,
    tokens: Arc<Tokens>,
    window: usize,
    vocabulary: usize,
    concurrency: usize,
    kernels: &'static str,
    weight_bytes: usize,
    engines: Engines,
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
        let invalid = |error: LoadError| invalid(files.path(), error.to_string());
        let model = files.id().to_string();
        let (shape, tokens, weights) = opened(files, options.threads, cpu).map_err(invalid)?;
        let weight_bytes = weights.bytes();
        let vocabulary = shape.vocabulary;
        let longest = shape.window.min(LONGEST);
        let mut loaded = on_gpus(files.id(), &shape, &weights, options)?;
        let kernels = if loaded.is_empty() {
            cpu.name()
        } else {
            "cuda"
        };
        if loaded.is_empty() {
            let network = Network::new(shape, weights, options.threads, cpu).map_err(invalid)?;
            loaded.push(Loaded {
                device: Box::new(network),
                cache_bytes: options.cache_bytes.unwrap_or(CPU_CACHE_BYTES),
                sequences: options.sequences.unwrap_or(CPU_SEQUENCES),
            });
        }
        let tokens = Arc::new(tokens);
        let (mut engines, mut window, mut concurrency) = (Vec::new(), longest, 0);
        for loaded in loaded {
            let (mut device, sequences) = (loaded.device, loaded.sequences);
            let budget = budget(device.as_mut(), loaded.cache_bytes, longest);
            let scheduler = Scheduler::new(longest.min(budget)..=budget, sequences, LANES);
            window = window.min(budget);
            // Enough waiting beside the running ones to choose from.
            concurrency += 2 * sequences.max(1);
            let tokens = Arc::clone(&tokens);
            engines.push(Engine::start(device, scheduler, tokens, model.clone()));
        }
        Ok(Self {
            id: files.id().clone(),
            window,
            vocabulary,
            concurrency,
            kernels,
            weight_bytes,
            engines: Engines::new(engines),
            tokens,
        })
    }

    /// The name of the kernels in use: `cuda`, `amx-int8`, `avx512-vnni`, `avx-vnni`, `avx2`,
    /// `portable`.
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
        let unknown = |token: &&u32| **token as usize >= self.vocabulary;
        let mut tokens = prompt.shared.iter().flatten().chain(&prompt.own);
        if let Some(token) = tokens.find(unknown) {
            return Err(ModelError::Tokenizer {
                model: self.id.to_string(),
                detail: format!(
                    "token {token} of the prompt is not among the model's {}",
                    self.vocabulary
                ),
            });
        }
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
        let load = self.engines.submit(
            count + answer,
            Job {
                prompt,
                request,
                sender,
            },
        );
        let answer = receiver.await.unwrap_or(Err(ModelError::Stopped));
        drop(load);
        Ok((answer?, count))
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

    fn count_prompt(&self, prompt: &Prompt) -> usize {
        let parts = [&*prompt.system, &*prompt.shared, &prompt.own];
        self.tokens
            .prompt(prompt)
            .map_or(parts.map(str::len).iter().sum(), |tokens| tokens.count())
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
        self.engines.usage()
    }
}

/// A network on a device, and what it may use there.
struct Loaded {
    device: Box<dyn Device>,
    cache_bytes: usize,
    sequences: usize,
}

/// The network on each GPU; none where the processor is to compute.
#[cfg(any(feature = "cuda", test))]
fn on_gpus(
    model: &ModelId,
    shape: &Shape,
    weights: &Weights,
    options: &DecoderOptions,
) -> Result<Vec<Loaded>, ModelError> {
    let window = shape.window.min(LONGEST);
    options.devices.load(model, |gpu| {
        let network = GpuNetwork::new(shape.clone(), weights, window, Arc::clone(gpu))?;
        // A card without room for one long prompt is of no use beside any other device.
        let least = window * shape.bytes_per_token();
        let cache_bytes = match options.cache_bytes {
            Some(bytes) => bytes,
            None => network
                .cache_bytes()?
                .checked_sub(least)
                .map(|more| least + more)
                .ok_or(GpuError::OutOfMemory(least))?,
        };
        Ok(Loaded {
            cache_bytes,
            sequences: options.sequences.unwrap_or(GPU_SEQUENCES),
            device: Box::new(network),
        })
    })
}

#[cfg(not(any(feature = "cuda", test)))]
fn on_gpus(
    _: &ModelId,
    _: &Shape,
    _: &Weights,
    _: &DecoderOptions,
) -> Result<Vec<Loaded>, ModelError> {
    Ok(Vec::new())
}

/// Shape, tokenizer and packed weights of some files.
fn opened(
    files: &LanguageModelFiles,
    threads: usize,
    cpu: Cpu,
) -> Result<(Shape, Tokens, Weights), LoadError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()?;
    let model = files.id().to_string();
    let checked = |shape: Shape| match shape.refusal() {
        Some(refusal) => Err(LoadError::Refused(refusal)),
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
