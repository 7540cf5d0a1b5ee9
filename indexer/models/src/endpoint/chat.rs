//! A language model over `/chat/completions`.
//!
//! A prompt becomes a system message (its instructions, where there are any) and a user message
//! (what is shared, then its own). Servers cache equal beginnings by themselves.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::client::{Client, Failure};
use super::dialect::{Dialect, Omissions};
use super::meter::Tokens;
use super::options::EndpointOptions;
use super::reply::{self, Answer};
use super::{choice, tokens};
use crate::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};

/// No reply to a short answer is longer, in bytes.
const REPLY_LIMIT: usize = 1 << 20;
/// The most stop texts that a request may have; the others are looked for here.
const STOPS_SENT: usize = 4;
/// The most first tokens that servers list, and what the modest ones do.
const TOP: usize = 20;
const TOP_FEW: usize = 5;
/// Tokens of an answer whose first word is the choice.
const WORD_TOKENS: usize = 8;

/// A language model behind an OpenAI-compatible endpoint.
///
/// Its id is `endpoint:MODEL@HOST/PATH`. Tokens are those that the server counts, or an estimate
/// where it does not. It is to be asked on a tokio runtime with I/O and time.
pub struct EndpointModel {
    id: ModelId,
    client: Client,
    dialect: Dialect,
    window: usize,
    concurrency: usize,
}

/// What is asked of the endpoint.
struct Ask<'a> {
    max_tokens: usize,
    stop: &'a [String],
    probabilities: bool,
}

impl EndpointModel {
    /// Reads the settings; nothing is sent yet.
    ///
    /// # Errors
    /// [`ModelError::Endpoint`] for an address or a key that cannot be used.
    pub fn new(options: &EndpointOptions) -> Result<Self, ModelError> {
        let client = Client::new(options)?;
        Ok(Self {
            id: ModelId::new(format!(
                "endpoint:{}@{}",
                options.model,
                client.address.place()
            )),
            client,
            dialect: Dialect::default(),
            window: options.window,
            concurrency: options.concurrency.max(1),
        })
    }

    /// Sends a prompt, in the server's dialect, and counts what the reply cost.
    async fn chat(&self, prompt: &Prompt, ask: &Ask<'_>) -> Result<(Answer, Tokens), ModelError> {
        let asked = self.estimate(prompt);
        let wanted = asked.saturating_add(ask.max_tokens);
        if wanted > self.window {
            return Err(self.too_long(wanted, self.window));
        }
        let mut omissions = self.dialect.known();
        let reply = loop {
            let body = self.body(prompt, ask, omissions);
            let sent = self.client.post("chat/completions", &body, REPLY_LIMIT);
            match sent.await {
                Ok(reply) => break reply,
                Err(Failure::Other(error)) => return Err(error),
                Err(Failure::Refused(refusal)) if refusal.is_too_long() => {
                    let tokens = refusal.prompt_tokens.unwrap_or(asked);
                    let tokens = tokens.saturating_add(ask.max_tokens);
                    return Err(self.too_long(tokens, refusal.window.unwrap_or(self.window)));
                }
                Err(Failure::Refused(refusal)) => {
                    omissions = omissions
                        .after(&refusal, &body)
                        .ok_or_else(|| self.client.explain_refusal(&refusal))?;
                }
            }
        };
        self.dialect.learn(omissions);
        let answer = reply::answer(&reply).map_err(|detail| {
            self.client
                .error(&format!("its reply cannot be used: {detail}"), false)
        })?;
        let cost = answer.tokens.unwrap_or_else(|| Tokens {
            prompt: asked as u64,
            cached: 0,
            generated: tokens::estimate(&answer.text).min(ask.max_tokens) as u64,
        });
        self.client.meter.replied(cost);
        Ok((answer, cost))
    }

    fn body(&self, prompt: &Prompt, ask: &Ask<'_>, omissions: Omissions) -> Value {
        let user = format!("{}{}", prompt.shared, prompt.own);
        let system = &*prompt.system;
        let messages = if system.is_empty() {
            json!([{"role": "user", "content": user}])
        } else if omissions.has(Omissions::SYSTEM) {
            json!([{"role": "user", "content": format!("{system}\n\n{user}")}])
        } else {
            json!([{"role": "system", "content": system}, {"role": "user", "content": user}])
        };
        let mut body = Map::new();
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        put("model", json!(self.client.model));
        put("messages", messages);
        put("stream", json!(false));
        let max_tokens = if omissions.has(Omissions::OLD_MAX_TOKENS) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        put(max_tokens, json!(ask.max_tokens));
        if !omissions.has(Omissions::TEMPERATURE) {
            put("temperature", json!(0));
        }
        let stop: Vec<_> = stops(ask.stop).take(STOPS_SENT).collect();
        if !stop.is_empty() && !omissions.has(Omissions::STOP) {
            put("stop", json!(stop));
        }
        if ask.probabilities && !omissions.has(Omissions::LOGPROBS) {
            let few = omissions.has(Omissions::FEW_LOGPROBS);
            put("logprobs", json!(true));
            put("top_logprobs", json!(if few { TOP_FEW } else { TOP }));
        }
        Value::Object(body)
    }

    fn estimate(&self, prompt: &Prompt) -> usize {
        let parts = [&*prompt.system, &*prompt.shared, &*prompt.own];
        parts.map(tokens::estimate).iter().sum::<usize>() + tokens::FORMAT
    }

    fn too_long(&self, tokens: usize, window: usize) -> ModelError {
        ModelError::TooLong {
            model: self.id.to_string(),
            tokens,
            window,
        }
    }

    /// The choice that a reply makes by probabilities, if it has any.
    fn by_probability(&self, answer: &Answer, words: &[&str]) -> Option<(usize, Vec<f32>)> {
        let logs = choice::log_probabilities(answer.first.as_ref()?, words)?;
        Some((choice::likeliest(&logs), logs))
    }

    fn no_choice(&self, answer: &str, words: &[&str]) -> ModelError {
        ModelError::NoChoice {
            model: self.id.to_string(),
            answer: self.client.said(answer),
            words: words.join(", "),
        }
    }
}

#[async_trait]
impl LanguageModel for EndpointModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        tokens::estimate(text)
    }

    fn count_prompt(&self, prompt: &Prompt) -> usize {
        let parts = [&*prompt.system, &*prompt.shared, &*prompt.own];
        parts.map(tokens::likely).iter().sum::<usize>() + tokens::FORMAT
    }

    fn window(&self) -> usize {
        self.window
    }

    fn concurrency(&self) -> usize {
        self.concurrency
    }

    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError> {
        let _waiting = self.client.meter.waiting();
        let ask = Ask {
            max_tokens: limits.max_tokens.max(1),
            stop: &limits.stop,
            probabilities: false,
        };
        let (answer, cost) = self.chat(prompt, &ask).await?;
        self.client.meter.answered();
        let (text, finish) = match stops(&limits.stop)
            .filter_map(|it| answer.text.find(it))
            .min()
        {
            Some(end) => (answer.text[..end].to_owned(), Finish::Stopped),
            None => (answer.text, answer.finish),
        };
        Ok(Generated {
            text,
            finish,
            prompt_tokens: as_usize(cost.prompt),
            generated_tokens: as_usize(cost.generated),
        })
    }

    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError> {
        let _waiting = self.client.meter.waiting();
        let mut ask = Ask {
            max_tokens: 1,
            stop: &[],
            probabilities: true,
        };
        if !self.dialect.known().has(Omissions::LOGPROBS) {
            let (answer, cost) = self.chat(prompt, &ask).await?;
            if answer.first.is_some() {
                self.client.meter.answered();
                let (choice, logs) = self
                    .by_probability(&answer, words)
                    .ok_or_else(|| self.no_choice(&answer.text, words))?;
                return Ok(Classified {
                    choice,
                    log_probabilities: Some(logs),
                    prompt_tokens: as_usize(cost.prompt),
                });
            }
            // A token without its probability: this server gives none, whether it said so or not.
            if !answer.text.is_empty() {
                self.dialect.learn(Omissions::LOGPROBS);
            }
        }
        ask.max_tokens = WORD_TOKENS;
        ask.probabilities = false;
        let (answer, cost) = self.chat(prompt, &ask).await?;
        self.client.meter.answered();
        let choice = choice::word_of_answer(&answer.text, words)
            .ok_or_else(|| self.no_choice(&answer.text, words))?;
        Ok(Classified {
            choice,
            log_probabilities: None,
            prompt_tokens: as_usize(cost.prompt),
        })
    }

    fn usage(&self) -> Usage {
        self.client.meter.usage()
    }
}

/// The stop texts that there are; an empty one would end every answer.
fn stops(stop: &[String]) -> impl Iterator<Item = &str> {
    stop.iter()
        .map(String::as_str)
        .filter(|stop| !stop.is_empty())
}

fn as_usize(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
