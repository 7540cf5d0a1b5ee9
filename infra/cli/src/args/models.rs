//! Which models compute, and `limn models`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use limn_models::{DeviceChoice, Prices};

use super::JsonOutput;
use super::values::{ValueError, positive};

/// Which language model narrates or judges.
#[derive(Clone, Debug, clap::Args)]
pub struct ModelOptions {
    /// The language model: a name of `limn models list`, a path of your own model's file or folder,
    /// or `endpoint` [default: the endpoint if one is named with its model, else
    /// qwen2.5-coder-1.5b]
    #[arg(long, value_name = "NAME", env = "LIMN_MODEL")]
    pub model: Option<String>,
    /// An OpenAI-compatible endpoint, for --model endpoint: http://localhost:8000/v1. Its key is
    /// read from LIMN_ENDPOINT_KEY, or else OPENAI_API_KEY, and from nowhere else.
    #[arg(
        long,
        value_name = "URL",
        env = "LIMN_ENDPOINT",
        hide_env_values = true
    )]
    pub endpoint: Option<String>,
    /// The model's name at the endpoint.
    #[arg(long, value_name = "NAME", env = "LIMN_ENDPOINT_MODEL")]
    pub endpoint_model: Option<String>,
    #[command(flatten)]
    pub endpoint_settings: EndpointSettings,
    /// What computes embedded models.
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto, env = "LIMN_DEVICE")]
    pub device: DeviceArg,
    /// Threads of an embedded model [default: the cores].
    #[arg(long, value_name = "N", env = "LIMN_MODEL_THREADS", value_parser = positive)]
    pub model_threads: Option<usize>,
    /// Prompts that an embedded model computes at a time, at most [default: 192; 1000 on a GPU].
    #[arg(long, value_name = "N", env = "LIMN_MODEL_BATCH", value_parser = positive)]
    pub model_batch: Option<usize>,
}

impl ModelOptions {
    /// The name that means an endpoint.
    pub const ENDPOINT: &str = "endpoint";

    /// The model that is meant. An endpoint alone, without its model's name, may be an embedder's.
    pub fn name(&self) -> &str {
        match &self.model {
            Some(name) => name,
            None if self.is_named() => Self::ENDPOINT,
            None => limn_models::QWEN_CODER,
        }
    }

    /// Whether it is one that somebody chose.
    pub fn is_named(&self) -> bool {
        self.model.is_some() || self.endpoint.is_some() && self.endpoint_model.is_some()
    }

    /// What half of an endpoint is missing, where it was named without its model or the other way
    /// round, and no other model was.
    pub fn half_an_endpoint(&self) -> Option<&'static str> {
        match (&self.model, &self.endpoint, &self.endpoint_model) {
            (None, Some(_), None) => Some(
                "an endpoint is named without its model: give --endpoint-model NAME too, or --model NAME for an embedded one",
            ),
            (None, None, Some(_)) => Some(
                "an endpoint's model is named without its address: give --endpoint URL too, or --model NAME for an embedded one",
            ),
            _ => None,
        }
    }

    /// Whether an endpoint is meant.
    pub fn is_endpoint(&self) -> bool {
        self.name() == Self::ENDPOINT
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceArg {
    /// All GPUs, if limn was built with CUDA and finds one; else the processor.
    Auto,
    /// The processor.
    Cpu,
    /// All GPUs, and an error where there is none (docs/gpu.md).
    #[value(alias = "gpu")]
    Cuda,
}

impl From<DeviceArg> for DeviceChoice {
    fn from(device: DeviceArg) -> Self {
        match device {
            DeviceArg::Auto => Self::Auto,
            DeviceArg::Cpu => Self::Cpu,
            DeviceArg::Cuda => Self::Cuda,
        }
    }
}

/// How an endpoint is used; docs/endpoint.md.
#[derive(Clone, Debug, clap::Args)]
pub struct EndpointSettings {
    /// The window of the endpoint's model in tokens, which the endpoint does not report.
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 8192,
        env = "LIMN_ENDPOINT_WINDOW"
    )]
    pub endpoint_window: usize,
    /// Requests under way at once.
    #[arg(long, value_name = "N", default_value = "8", env = "LIMN_ENDPOINT_CONCURRENCY", value_parser = positive)]
    pub endpoint_concurrency: usize,
    /// Times that a request is sent at most, where its failure may pass.
    #[arg(long, value_name = "N", default_value_t = 5, env = "LIMN_ENDPOINT_ATTEMPTS", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub endpoint_attempts: u32,
    /// The longest an attempt may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, env = "LIMN_ENDPOINT_TIMEOUT", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub endpoint_timeout: u64,
    /// What a million tokens cost: of prompts, written, and of prompts that were cached
    /// [default of the last: as other prompts].
    #[arg(long, value_name = "PROMPT,WRITTEN[,CACHED]", env = "LIMN_ENDPOINT_PRICES", value_parser = prices)]
    pub endpoint_prices: Option<Prices>,
}

fn prices(text: &str) -> Result<Prices, ValueError> {
    let price = |text: &str| {
        let price = text.trim().parse::<f64>().ok();
        price.filter(|price| price.is_finite() && *price >= 0.0)
    };
    let prices: Option<Vec<f64>> = text.split(',').map(price).collect();
    let [prompt, generated, cached] = match prices.as_deref() {
        Some(&[prompt, generated]) => [prompt, generated, prompt],
        Some(&[prompt, generated, cached]) => [prompt, generated, cached],
        _ => {
            return Err(ValueError::NoPrices(text.to_owned()));
        }
    };
    Ok(Prices {
        prompt,
        cached,
        generated,
    })
}

#[derive(Debug, clap::Args)]
pub struct ModelsArgs {
    #[command(subcommand)]
    pub command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Show the models limn knows, their licences and sizes, and which are here.
    List {
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Fetch and verify a model, so that later runs need no network.
    Pull {
        /// Its name; without one, the default embedder.
        name: Option<String>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Measure how many tokens a second a language model reads and writes, or an embedder embeds.
    #[command(after_help = "\
Examples:
  limn models bench --model qwen2.5-coder-1.5b --model-threads 2
  limn models bench --model all-MiniLM-L6-v2 --texts blocks.txt")]
    Bench {
        #[command(flatten, next_help_heading = "Language models")]
        model: ModelOptions,
        /// Prompts asked of a language model at a time; a sixteenth as many are asked one by one
        /// [default: 64]
        #[arg(long, value_name = "N", value_parser = positive)]
        prompts: Option<usize>,
        /// Texts for an embedder, one a line [default: texts of three sizes, made up]
        #[arg(long, value_name = "FILE")]
        texts: Option<PathBuf>,
        #[command(flatten)]
        output: JsonOutput,
    },
    /// Ask a language model one question, to see that it answers before a long run needs it.
    #[command(after_help = "\
Examples:
  limn models check --model endpoint --endpoint http://localhost:11434/v1 --endpoint-model qwen3
  limn models check --model ./my-model.gguf")]
    Check {
        #[command(flatten, next_help_heading = "Language models")]
        model: ModelOptions,
        #[command(flatten)]
        output: JsonOutput,
    },
}
