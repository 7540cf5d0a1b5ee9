//! What a catalog answers (Iceberg REST Catalog API, `rest-catalog-open-api.yaml`), as far as it is
//! used.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::CatalogError;

/// Settings by name. They may be secrets.
pub(super) type Properties = BTreeMap<String, String>;

/// `GET /v1/config`.
#[derive(Deserialize)]
pub(super) struct Config {
    #[serde(default, deserialize_with = "texts")]
    pub(super) defaults: Properties,
    #[serde(default, deserialize_with = "texts")]
    pub(super) overrides: Properties,
}

/// A page of namespaces, each the names of its levels.
#[derive(Deserialize)]
pub(super) struct Namespaces {
    #[serde(default)]
    pub(super) namespaces: Vec<Vec<String>>,
    #[serde(rename = "next-page-token")]
    pub(super) next: Option<String>,
}

/// A page of tables.
#[derive(Deserialize)]
pub(super) struct Tables {
    #[serde(default)]
    pub(super) identifiers: Vec<Identifier>,
    #[serde(rename = "next-page-token")]
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Identifier {
    pub(super) name: String,
}

/// A table. Its metadata are read where they lie, but for what is needed to find that.
#[derive(Deserialize)]
pub(super) struct Loaded {
    #[serde(rename = "metadata-location")]
    pub(super) metadata_location: Option<String>,
    pub(super) metadata: Metadata,
    #[serde(default, deserialize_with = "texts")]
    pub(super) config: Properties,
    #[serde(rename = "storage-credentials", default)]
    pub(super) credentials: Option<Vec<Credential>>,
}

#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) location: String,
    /// Of version 1, there may be none.
    #[serde(rename = "table-uuid")]
    pub(super) uuid: Option<String>,
}

/// Settings for what lies below a location.
#[derive(Deserialize)]
pub(super) struct Credential {
    pub(super) prefix: String,
    #[serde(default, deserialize_with = "texts")]
    pub(super) config: Properties,
}

/// `POST` to an OAuth2 server (RFC 6749, section 5.1).
#[derive(Deserialize)]
pub(super) struct Granted {
    pub(super) access_token: String,
}

/// An error: of a catalog, or of a gateway of AWS before one.
#[derive(Default, Deserialize)]
pub(super) struct Failed {
    error: Option<Failure>,
    #[serde(alias = "Message")]
    message: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    message: String,
    #[serde(rename = "type", default)]
    kind: String,
}

impl Failed {
    pub(super) fn message(&self) -> &str {
        let own = self.error.as_ref().map(|it| it.message.as_str());
        own.or(self.message.as_deref()).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &str {
        self.error.as_ref().map_or("", |it| &it.kind)
    }
}

/// The settings that are texts; none where there is `null`.
fn texts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Properties, D::Error> {
    let all = Option::<BTreeMap<String, Value>>::deserialize(deserializer)?;
    let texts = all
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| match value {
            Value::String(text) => Some((name, text)),
            Value::Bool(yes) => Some((name, yes.to_string())),
            Value::Number(number) => Some((name, number.to_string())),
            _ => None,
        });
    Ok(texts.collect())
}

/// An answer of this shape.
pub(super) fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, CatalogError> {
    serde_json::from_slice(answer).map_err(|error| {
        // The error's own words quote the answer, which may hold a secret.
        let what = match error.classify() {
            serde_json::error::Category::Data => {
                "it lacks what the Iceberg REST specification has there"
            }
            _ => "it is no JSON",
        };
        CatalogError::Nonsense(format!(
            "{what} (line {}, column {})",
            error.line(),
            error.column()
        ))
    })
}
