//! What a queue answers, as far as it is needed. See the "Amazon SQS API Reference", AWS JSON
//! protocol.

use std::collections::HashMap;

use serde::Deserialize;

/// The answer to `ReceiveMessage`.
#[derive(Deserialize)]
pub(super) struct Messages {
    #[serde(rename = "Messages", default)]
    pub(super) messages: Vec<Message>,
}

#[derive(Deserialize)]
pub(super) struct Message {
    #[serde(rename = "MessageId")]
    pub(super) id: String,
    #[serde(rename = "ReceiptHandle")]
    pub(super) receipt: String,
    #[serde(rename = "Body", default)]
    pub(super) body: String,
    #[serde(rename = "Attributes", default)]
    attributes: HashMap<String, String>,
}

impl Message {
    /// How often it was received, this time included.
    pub(super) fn receives(&self) -> u32 {
        let count = self.attributes.get("ApproximateReceiveCount");
        count.and_then(|count| count.parse().ok()).unwrap_or(1)
    }
}

/// The answer to a change of several messages.
#[derive(Deserialize)]
pub(super) struct Batch {
    #[serde(rename = "Failed", default)]
    pub(super) failed: Vec<Failed>,
}

#[derive(Deserialize)]
pub(super) struct Failed {
    #[serde(rename = "SenderFault", default)]
    pub(super) sender_fault: bool,
}

/// An error.
#[derive(Deserialize)]
pub(super) struct Refusal {
    #[serde(rename = "__type", default)]
    kind: String,
}

impl Refusal {
    /// Its code, a word.
    pub(super) fn code(&self) -> Option<&str> {
        let code = self.kind.rsplit('#').next()?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '.';
        (!code.is_empty() && code.len() <= 64 && code.chars().all(word)).then_some(code)
    }
}
