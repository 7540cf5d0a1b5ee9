//! From a message to its hints: which objects of the lake may have changed.
//!
//! Read are, by their form: notifications of S3 (`Records`), its test event, events of EventBridge,
//! either in an envelope of SNS, lists of these, and a plain form of our own:
//! `{"objects": ["a/b.csv"]}` or `{"everything": true}`. A message is read whole or not at all.

mod shapes;
#[cfg(test)]
mod tests;

use limn_store::one_line;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::root::{LakeRoot, is_path};
use shapes::{EventBridge, Notification, Own, S3Records};

/// The hints of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// Objects that may have changed, by path in the lake.
    pub(crate) objects: Vec<String>,
    /// Anything may have changed.
    pub(crate) everything: bool,
    /// Events about something else.
    pub(crate) ignored: u64,
}

impl Hints {
    /// How many events name something in the lake.
    pub(crate) fn events(&self) -> u64 {
        self.objects.len() as u64 + u64::from(self.everything)
    }

    fn object(&mut self, path: Option<String>) {
        match path {
            Some(path) => self.objects.push(path),
            None => self.ignored += 1,
        }
    }
}

/// Why a message cannot be read. The text is one line.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Unreadable {
    #[error("it is no JSON ({0})")]
    Json(String),
    #[error("it looks like {shape}, but {detail}")]
    Shape { shape: &'static str, detail: String },
    #[error("it is neither a notification of S3 nor an event of EventBridge nor limn's own form")]
    Unknown,
    /// Following its link would trust a stranger's word, so limn does not.
    #[error("it asks to confirm a subscription of SNS, and limn follows no links")]
    Confirmation,
}

/// Reads a message about a lake.
pub(crate) fn read(body: &[u8], root: &LakeRoot) -> Result<Hints, Unreadable> {
    let mut hints = Hints::default();
    // The parser ends at a depth of 128.
    let message = parse(body)?;
    match message {
        Value::Array(events) => {
            for event in events {
                read_one(event, root, true, &mut hints)?;
            }
        }
        event => read_one(event, root, true, &mut hints)?,
    }
    Ok(hints)
}

fn read_one(
    event: Value,
    root: &LakeRoot,
    may_be_envelope: bool,
    hints: &mut Hints,
) -> Result<(), Unreadable> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let has = |name: &str| event.get(name).is_some();
    if text("Event") == Some("s3:TestEvent") {
        hints.ignored += 1;
        return Ok(());
    }
    match text("Type") {
        Some("Notification") if may_be_envelope => {
            let envelope: Notification = shaped("an envelope of SNS", event)?;
            return read_one(parse(envelope.message.as_bytes())?, root, false, hints);
        }
        Some("SubscriptionConfirmation" | "UnsubscribeConfirmation") => {
            return Err(Unreadable::Confirmation);
        }
        _ => {}
    }
    if has("Records") {
        records(shaped("a notification of S3", event)?, root, hints)
    } else if has("detail") && has("source") {
        if text("source") != Some("aws.s3") {
            hints.ignored += 1;
            return Ok(());
        }
        let event: EventBridge = shaped("an event of EventBridge", event)?;
        let path = event.changes_data().then(|| {
            let detail = &event.detail;
            root.path(&detail.bucket.name, &detail.object.key)
        });
        hints.object(path.flatten());
        Ok(())
    } else if has("objects") || has("everything") {
        let own: Own = shaped("limn's own form", event)?;
        hints.everything |= own.everything;
        for path in own.objects {
            // A folder may be written with a slash at its end.
            let path = path.trim_end_matches('/');
            hints.object(is_path(path).then(|| path.to_owned()));
        }
        Ok(())
    } else {
        Err(Unreadable::Unknown)
    }
}

fn records(message: S3Records, root: &LakeRoot, hints: &mut Hints) -> Result<(), Unreadable> {
    for record in message.records {
        // What is encoded wrongly names no object.
        let key = shapes::decoded(&record.s3.object.key);
        let path = key.filter(|_| record.changes_data());
        hints.object(path.and_then(|key| root.path(&record.s3.bucket.name, &key)));
    }
    Ok(())
}

fn parse(body: &[u8]) -> Result<Value, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::Json(one_line(&error.to_string())))
}

fn shaped<T: DeserializeOwned>(shape: &'static str, event: Value) -> Result<T, Unreadable> {
    serde_json::from_value(event).map_err(|error| Unreadable::Shape {
        shape,
        detail: one_line(&error.to_string()),
    })
}
