//! The forms in which changes of objects are announced, as far as they are needed.
//!
//! From the user guide of Amazon S3, "Event message structure" and "Amazon S3 Event Notifications
//! with EventBridge"; servers that are like S3 keep to the former.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

/// An S3 notification.
#[derive(Deserialize)]
pub(super) struct S3Records {
    #[serde(rename = "Records")]
    pub(super) records: Vec<S3Record>,
}

#[derive(Deserialize)]
pub(super) struct S3Record {
    #[serde(rename = "eventName", default)]
    pub(super) name: String,
    pub(super) s3: InBucket,
}

/// Where it happened: `s3` of a notification, `detail` of EventBridge.
#[derive(Deserialize)]
pub(super) struct InBucket {
    pub(super) bucket: Bucket,
    pub(super) object: Object,
}

#[derive(Deserialize)]
pub(super) struct Bucket {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Object {
    pub(super) key: String,
}

/// An event of EventBridge.
#[derive(Deserialize)]
pub(super) struct EventBridge {
    #[serde(rename = "detail-type", default)]
    pub(super) kind: String,
    pub(super) detail: InBucket,
}

/// An envelope of SNS.
#[derive(Deserialize)]
pub(super) struct Notification {
    #[serde(rename = "Message")]
    pub(super) message: String,
}

/// Our own form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Own {
    #[serde(default)]
    pub(super) objects: Vec<String>,
    #[serde(default)]
    pub(super) everything: bool,
}

impl S3Record {
    /// Whether the object itself may have changed. What is not known may have.
    pub(super) fn changes_data(&self) -> bool {
        let name = self.name.strip_prefix("s3:").unwrap_or(&self.name);
        !["ObjectTagging:", "ObjectAcl:", "Replication:"]
            .iter()
            .any(|kind| name.starts_with(kind))
    }
}

impl EventBridge {
    /// As [`S3Record::changes_data`].
    pub(super) fn changes_data(&self) -> bool {
        !["Object Tags ", "Object ACL "]
            .iter()
            .any(|kind| self.kind.starts_with(kind))
    }
}

/// A key as notifications encode it: like a form's field, a space as `+`.
pub(super) fn decoded(key: &str) -> Option<String> {
    let key = key.replace('+', " ");
    let decoded = percent_decode_str(&key).decode_utf8();
    decoded.ok().map(|key| key.into_owned())
}
