//! What a server sent: read as a stranger's word, in which anything may be missing or wrong.

use serde_json::Value;
use thiserror::Error;

use super::meter::Tokens;
use crate::Finish;

/// The longest text of a server that an error repeats, in characters.
const REPEATED: usize = 200;

/// The answer of a chat completion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub text: String,
    pub finish: Finish,
    /// As the server counted them; `None` where it does not say.
    pub tokens: Option<Tokens>,
    /// The likeliest first tokens with their log-probabilities; `None` where the server gives none.
    pub first: Option<Vec<(String, f32)>>,
}

/// Why a reply cannot be used.
#[derive(Debug, Error)]
pub(super) enum Unusable {
    /// It lacks a part, or a part is of another kind.
    #[error("{0}")]
    Shape(&'static str),
    /// Another number of vectors than of texts.
    #[error("it has {found} vectors for {texts} texts")]
    Count {
        /// The vectors in it.
        found: usize,
        /// The texts that were sent.
        texts: usize,
    },
    /// A vector of no text that was sent.
    #[error("a vector has the index {0}")]
    Index(String),
}

/// Reads a chat completion; an error says what is wrong with it.
pub(super) fn answer(reply: &Value) -> Result<Answer, Unusable> {
    let choice = reply
        .get("choices")
        .and_then(Value::as_array)
        .and_then(|choices| choices.first())
        .ok_or(Unusable::Shape("there are no choices in it"))?;
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or(Unusable::Shape("its choice has no message"))?;
    let text = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        // A model that thought, or refused, until its tokens were spent has said nothing.
        None | Some(Value::Null) => String::new(),
        Some(_) => return Err(Unusable::Shape("its content is no text")),
    };
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("length") => Finish::Length,
        Some("content_filter") => {
            return Err(Unusable::Shape(
                "the endpoint's content filter withheld the answer",
            ));
        }
        _ => Finish::Stopped,
    };
    Ok(Answer {
        text,
        finish,
        tokens: tokens(reply),
        first: first_tokens(choice),
    })
}

/// The tokens that a reply says it cost.
pub(super) fn tokens(reply: &Value) -> Option<Tokens> {
    let usage = reply.get("usage")?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let cached = usage.pointer("/prompt_tokens_details/cached_tokens");
    Some(Tokens {
        prompt: count("prompt_tokens")?,
        cached: cached.and_then(Value::as_u64).unwrap_or(0),
        generated: count("completion_tokens").unwrap_or(0),
    })
}

fn first_tokens(choice: &Value) -> Option<Vec<(String, f32)>> {
    let first = choice.pointer("/logprobs/content/0")?;
    let top = first.get("top_logprobs").and_then(Value::as_array);
    let top = top.filter(|top| !top.is_empty());
    let read = |token: &Value| {
        let text = token.get("token")?.as_str()?;
        let log = token.get("logprob")?.as_f64()? as f32;
        // Some servers round above nothing; what is no probability at all is left out.
        (log < 0.01).then(|| (text.to_owned(), log.min(0.0)))
    };
    let tokens: Vec<_> = match top {
        Some(top) => top.iter().filter_map(read).collect(),
        None => read(first).into_iter().collect(),
    };
    (!tokens.is_empty()).then_some(tokens)
}

/// The vectors of an embeddings reply, in the order of the texts.
pub(super) fn vectors(reply: &Value, texts: usize) -> Result<Vec<Vec<f32>>, Unusable> {
    let data = reply.get("data").and_then(Value::as_array);
    let data = data.ok_or(Unusable::Shape("there is no data in it"))?;
    if data.len() != texts {
        let found = data.len();
        return Err(Unusable::Count { found, texts });
    }
    let mut vectors = vec![Vec::new(); texts];
    for (place, item) in data.iter().enumerate() {
        let place = match item.get("index") {
            None | Some(Value::Null) => place,
            Some(index) => index
                .as_u64()
                .and_then(|index| usize::try_from(index).ok())
                .filter(|index| *index < texts)
                .ok_or_else(|| Unusable::Index(one_line(&index.to_string())))?,
        };
        let numbers = item.get("embedding").and_then(Value::as_array);
        let numbers = numbers.ok_or(Unusable::Shape("an embedding is no list of numbers"))?;
        let vector: Option<Vec<f32>> = numbers
            .iter()
            .map(|number| Some(number.as_f64()? as f32).filter(|it| it.is_finite()))
            .collect();
        let vector = vector.ok_or(Unusable::Shape("an embedding is no list of numbers"))?;
        if vector.is_empty() || !vectors[place].is_empty() {
            return Err(Unusable::Shape("a vector is empty or there twice"));
        }
        vectors[place] = vector;
    }
    Ok(vectors)
}

/// Why a server refused a request, as far as its body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: u16,
    /// What it said, on one line.
    pub message: String,
    /// Its name for the kind of error: `code`, or else `type`.
    pub code: String,
    /// The parameter that it names.
    pub parameter: Option<String>,
    /// Tokens of the prompt and of the window, where the prompt was too long and it says so.
    pub prompt_tokens: Option<usize>,
    pub window: Option<usize>,
}

impl Refusal {
    /// Reads a body: JSON of several fashions, or text. `said` makes its texts fit to be repeated.
    pub(super) fn read(status: u16, body: &str, said: impl Fn(&str) -> String) -> Self {
        let json: Option<Value> = serde_json::from_str(body).ok();
        let error = json.as_ref().map(|json| json.get("error").unwrap_or(json));
        let field = |name: &str| error.and_then(|error| error.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str);
        let number = |name: &str| {
            let number = field(name).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let message = error.and_then(Value::as_str);
        let message = message
            .or_else(|| text("message"))
            .or_else(|| text("detail"));
        Self {
            status,
            message: said(message.unwrap_or(body)),
            code: said(text("code").or_else(|| text("type")).unwrap_or_default()),
            parameter: text("param").map(&said),
            prompt_tokens: number("n_prompt_tokens"),
            window: number("n_ctx"),
        }
    }

    /// Whether the prompt was longer than the window: servers say it in words of their own.
    pub(super) fn is_too_long(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        let words = [
            "context length",
            "context size",
            "context window",
            "maximum context",
            "`inputs` tokens",
            "input is too large",
            "too many tokens",
            "maximum input length",
        ];
        let message = self.message.to_lowercase();
        let said = words.iter().any(|words| message.contains(words));
        self.status == 413
            || codes.contains(&self.code.as_str())
            || (matches!(self.status, 400 | 422 | 500) && said)
    }

    /// Whether the same request may be accepted later.
    pub(super) fn is_transient(&self) -> bool {
        let passes = matches!(self.status, 408 | 425 | 429 | 500 | 502..=504 | 506..=599);
        // A bill that is not paid does not pass.
        passes && self.code != "insufficient_quota" && !self.is_too_long()
    }
}

/// A stranger's text on one line and not too long.
pub(super) fn one_line(text: &str) -> String {
    let words = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().take(4 * REPEATED).map(words).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_read_and_what_is_missing_is_none() {
        let read = answer(&json!({
            "choices": [{
                "finish_reason": "length",
                "message": {"content": "No"},
                "logprobs": {"content": [{"token": "No", "logprob": -0.7, "top_logprobs": [
                    {"token": "No", "logprob": -0.7}, {"token": " yes", "logprob": -2.0},
                    {"token": "?", "logprob": 3.0}, {"token": 5, "logprob": -1.0}, {}, 7,
                ]}]},
            }],
            "usage": {"prompt_tokens": 23, "completion_tokens": 1,
                      "prompt_tokens_details": {"cached_tokens": 20}},
        }))
        .unwrap();
        let tokens = Tokens {
            prompt: 23,
            cached: 20,
            generated: 1,
        };
        assert_eq!(
            read,
            Answer {
                text: "No".to_owned(),
                finish: Finish::Length,
                tokens: Some(tokens),
                first: Some(vec![("No".to_owned(), -0.7), (" yes".to_owned(), -2.0)]),
            }
        );
        let bare = answer(&json!({"choices": [{"message": {"content": null}}]})).unwrap();
        assert_eq!((bare.text.as_str(), bare.finish), ("", Finish::Stopped));
        assert_eq!((bare.tokens, bare.first), (None, None));
    }

    #[test]
    fn broken_replies_are_errors() {
        for broken in [
            json!(null),
            json!([]),
            json!({}),
            json!({"choices": []}),
            json!({"choices": [7]}),
            json!({"choices": [{"message": "text"}]}),
            json!({"choices": [{"message": {"content": ["text"]}}]}),
            json!({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}),
        ] {
            assert!(answer(&broken).is_err(), "{broken}");
        }
        for broken in [
            json!({}),
            json!({"data": []}),
            json!({"data": [{"embedding": [1.0]}, {}]}),
            json!({"data": [{"embedding": [1.0]}, {"embedding": []}]}),
            json!({"data": [{"embedding": [1.0]}, {"embedding": ["1"]}]}),
            json!({"data": [{"embedding": [1.0]}, {"embedding": [1e300]}]}),
            json!({"data": [{"embedding": [1.0], "index": 1}, {"embedding": [1.0], "index": 1}]}),
            json!({"data": [{"embedding": [1.0], "index": 2}, {"embedding": [1.0], "index": 0}]}),
            json!({"data": [{"embedding": [1.0], "index": -1}, {"embedding": [1.0], "index": 0}]}),
        ] {
            assert!(vectors(&broken, 2).is_err(), "{broken}");
        }
        let turned = json!({"data": [
            {"embedding": [1.0], "index": 1}, {"embedding": [2.0], "index": 0},
        ]});
        assert_eq!(vectors(&turned, 2).unwrap(), [[2.0], [1.0]]);
    }

    #[test]
    fn a_prompt_that_is_too_long_is_known_by_the_words_of_each_server() {
        for (status, body) in [
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "message": "x"}}),
            ),
            (
                400,
                json!({"error": {"code": 400, "type": "exceed_context_size_error",
                "message": "request (9031 tokens) exceeds the available context size (2048 tokens)",
                "n_prompt_tokens": 9031, "n_ctx": 2048}}),
            ),
            (
                400,
                json!({"message": "This model's maximum context length is 8 tokens."}),
            ),
            (
                422,
                json!({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048"}),
            ),
            (
                400,
                json!({"detail": "Requested tokens (3000) exceed context window of 2048"}),
            ),
        ] {
            let refusal = Refusal::read(status, &body.to_string(), one_line);
            assert!(refusal.is_too_long() && !refusal.is_transient(), "{body}");
        }
        for (status, body) in [(400, "{}"), (429, "context length"), (400, "no such model")] {
            assert!(
                !Refusal::read(status, body, one_line).is_too_long(),
                "{body}"
            );
        }
    }

    #[test]
    fn a_text_of_any_length_and_kind_becomes_one_short_line() {
        let long = format!("a\u{1b}[31m\r\nb{}", "x".repeat(1 << 20));
        let line = one_line(&long);
        assert!(line.starts_with("a [31m bxx") && line.chars().count() == REPEATED + 1);
        assert_eq!(
            Refusal::read(500, "  <html>\n oops </html>", one_line).message,
            "<html> oops </html>"
        );
    }

    #[test]
    fn what_passes_is_distinguished_from_what_does_not() {
        for (status, transient) in [
            (429, true),
            (500, true),
            (503, true),
            (529, true),
            (400, false),
            (401, false),
            (404, false),
            (501, false),
            (505, false),
        ] {
            assert_eq!(
                Refusal::read(status, "{}", one_line).is_transient(),
                transient,
                "{status}"
            );
        }
        let unpaid = r#"{"error": {"code": "insufficient_quota", "message": "pay"}}"#;
        assert!(!Refusal::read(429, unpaid, one_line).is_transient());
    }
}
