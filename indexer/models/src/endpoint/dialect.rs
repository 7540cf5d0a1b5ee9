//! What a server refused once and is not sent again: endpoints agree on most parameters, not all.
//!
//! A request is sent in full at first. Where the refusal names a parameter that it can do without,
//! it is sent without, and what was left out is remembered only once that was accepted: a refusal
//! may quote a prompt.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;

use super::reply::Refusal;

/// What a request leaves out, or says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Omissions(u8);

impl Omissions {
    /// Fewer of the likeliest tokens: five, where twenty are too many.
    pub(super) const FEW_LOGPROBS: Self = Self(1);
    /// No probabilities.
    pub(super) const LOGPROBS: Self = Self(2);
    /// `max_completion_tokens`, as newer models of OpenAI call it.
    pub(super) const OLD_MAX_TOKENS: Self = Self(4);
    /// The temperature, where a model has one that cannot be changed: then answers vary.
    pub(super) const TEMPERATURE: Self = Self(8);
    /// Stop texts, which are looked for here all the same.
    pub(super) const STOP: Self = Self(16);
    /// The system message, for models whose format has none: it begins the user's then.
    pub(super) const SYSTEM: Self = Self(32);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What else to leave out after a refusal of what was sent; `None` where nothing would help.
    pub(super) fn after(self, refusal: &Refusal, sent: &Value) -> Option<Self> {
        if !matches!(refusal.status, 400 | 403 | 422) {
            return None;
        }
        let message = refusal.message.to_lowercase();
        let named = |name: &str| {
            sent.get(name).is_some()
                && match &refusal.parameter {
                    Some(parameter) => parameter == name,
                    // Between quotes, where it can be distinguished from a word of a sentence.
                    None => ['\'', '"', '`']
                        .iter()
                        .any(|quote| message.contains(&format!("{quote}{name}{quote}"))),
                }
        };
        let probabilities = sent.get("logprobs").is_some()
            && (named("top_logprobs") || named("logprobs") || message.contains("logprobs"));
        let more = if probabilities && self.has(Self::FEW_LOGPROBS) {
            Self::LOGPROBS
        } else if probabilities {
            Self::FEW_LOGPROBS
        } else if named("max_tokens") {
            Self::OLD_MAX_TOKENS
        } else if named("temperature") {
            Self::TEMPERATURE
        } else if named("stop") {
            Self::STOP
        } else if message.contains("system role") {
            Self::SYSTEM
        } else {
            return None;
        };
        Some(self.and(more)).filter(|all| *all != self)
    }
}

/// What an endpoint is known not to take.
#[derive(Debug, Default)]
pub(super) struct Dialect(AtomicU8);

impl Dialect {
    pub(super) fn known(&self) -> Omissions {
        Omissions(self.0.load(Ordering::Relaxed))
    }

    /// Remembers what was left out of a request that was accepted.
    pub(super) fn learn(&self, omissions: Omissions) {
        let before = self.0.fetch_or(omissions.0, Ordering::Relaxed);
        if omissions.has(Omissions::TEMPERATURE) && !Omissions(before).has(Omissions::TEMPERATURE) {
            tracing::warn!("the endpoint's model takes no temperature: its answers vary");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent() -> Value {
        json!({"max_tokens": 1, "temperature": 0, "stop": [], "logprobs": true, "top_logprobs": 20})
    }

    fn refusal(message: &str, parameter: Option<&str>) -> Refusal {
        Refusal {
            status: 400,
            message: message.to_owned(),
            parameter: parameter.map(str::to_owned),
            ..Refusal::default()
        }
    }

    #[test]
    fn a_named_parameter_is_left_out() {
        let none = Omissions::default();
        for (message, parameter, expected) in [
            ("x", Some("max_tokens"), Some(Omissions::OLD_MAX_TOKENS)),
            (
                "Unsupported parameter: 'max_tokens'",
                None,
                Some(Omissions::OLD_MAX_TOKENS),
            ),
            ("x", Some("temperature"), Some(Omissions::TEMPERATURE)),
            ("'stop' is not supported", None, Some(Omissions::STOP)),
            (
                "top_logprobs must be at most 5",
                None,
                Some(Omissions::FEW_LOGPROBS),
            ),
            ("System role not supported", None, Some(Omissions::SYSTEM)),
            ("the temperature of a stop is missing", None, None),
            ("model not found", Some("model"), None),
        ] {
            assert_eq!(
                none.after(&refusal(message, parameter), &sent()),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn probabilities_are_given_up_in_two_steps_and_then_for_good() {
        let refused = refusal("logprobs are not supported", None);
        let few = Omissions::default().after(&refused, &sent());
        assert_eq!(few, Some(Omissions::FEW_LOGPROBS));
        let none = few.and_then(|few| few.after(&refused, &sent()));
        assert!(none.is_some_and(|none| none.has(Omissions::LOGPROBS)));
        assert_eq!(
            none.and_then(|none| none.after(&refused, &json!({"max_tokens": 1}))),
            None
        );
    }
}
