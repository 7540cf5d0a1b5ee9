//! `gs://bucket/prefix`, with settings from the `GOOGLE_*` variables.
//!
//! Credentials are found as Google's own tools find them: a service account's or a user's file that
//! `GOOGLE_APPLICATION_CREDENTIALS` names, what `gcloud auth application-default login` has left,
//! the machine's own identity.

use std::sync::Arc;

use http::HeaderValue;
use object_store::StaticCredentialProvider;
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder, GoogleConfigKey};

use super::Opened;
use super::bucket::{Bucket, without_credentials};
use crate::access::{Access, Variables};
use crate::error::place::Provider;
use crate::error::{StoreError, StoreErrorKind};
use crate::requests::{self, Connector, Payer};

/// The projects that may pay, the first that is set. The first is what Google's own libraries read.
const PAYERS: [&str; 2] = ["GOOGLE_CLOUD_QUOTA_PROJECT", "GOOGLE_CLOUD_PROJECT"];
/// A token that Google has given, in the variable that its other tools know.
const TOKEN: &str = "GOOGLE_OAUTH_ACCESS_TOKEN";
/// Where the service is, unless `GOOGLE_BASE_URL` says otherwise.
const SERVICE: &str = "https://storage.googleapis.com";

pub(super) fn open(
    rest: &str,
    access: &Access,
    variables: &Variables,
) -> Result<Opened, StoreError> {
    let bucket = Bucket::parse("gs", rest, "GOOGLE_APPLICATION_CREDENTIALS")?;
    let patience = variables.patience()?;
    let mut connector = Connector::new(patience, variables.at_once(access, false)?);
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_client_options(requests::options().with_allow_http(true));
    let mut endpoint = None;
    let mut unsigned = access.anonymous;
    for (name, value) in variables.beginning("GOOGLE_") {
        let Ok(key) = name.to_ascii_lowercase().parse::<GoogleConfigKey>() else {
            continue;
        };
        match key {
            GoogleConfigKey::Bucket => continue,
            GoogleConfigKey::BaseUrl => endpoint = Some(value),
            GoogleConfigKey::SkipSignature => {
                unsigned |= matches!(value, "1" | "true" | "on" | "yes");
            }
            GoogleConfigKey::ServiceAccount
            | GoogleConfigKey::ServiceAccountKey
            | GoogleConfigKey::ApplicationCredentials
                if access.anonymous =>
            {
                continue;
            }
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if let Some(token) = variables.get(TOKEN).filter(|_| !unsigned) {
        let bearer = token.to_owned();
        let given = StaticCredentialProvider::new(GcpCredential { bearer });
        builder = builder.with_credentials(Arc::new(given));
    }
    if unsigned {
        // Not even looked for, where Google's tools would; writes would ask for some all the same.
        let nobody = GcpCredential {
            bearer: String::new(),
        };
        builder = builder
            .with_skip_signature(true)
            .with_credentials(Arc::new(StaticCredentialProvider::new(nobody)));
    }
    if access.requester_pays {
        connector = connector.paid_by(payer(&bucket, variables, endpoint.unwrap_or(SERVICE))?);
    }
    let client = builder
        .with_bucket_name(&bucket.name)
        .with_http_connector(connector)
        .with_retry(requests::retries(patience))
        .build()
        .map_err(|error| bucket.refused(&error, "GOOGLE_*"))?;
    let endpoint = endpoint.map(without_credentials);
    Ok(bucket.opened(Arc::new(client), Provider::Google, endpoint))
}

/// The project that pays, which has to be named.
fn payer(bucket: &Bucket, variables: &Variables, service: &str) -> Result<Payer, StoreError> {
    let named = PAYERS.iter().find_map(|name| variables.get(name));
    let project = named.and_then(|project| HeaderValue::from_str(project).ok());
    let url = url::Url::parse(service).ok();
    let host = url.and_then(|url| url.host_str().map(str::to_owned));
    match (project, host) {
        (Some(project), Some(host)) => Ok(Payer { host, project }),
        (None, _) => Err(StoreError::new(
            StoreErrorKind::Configuration,
            bucket.url.clone(),
            "no project is named that pays for the requests",
            format!("set {} to your project's id", PAYERS[0]),
        )),
        (_, None) => Err(StoreError::new(
            StoreErrorKind::Configuration,
            bucket.url.clone(),
            "GOOGLE_BASE_URL is no address",
            "write https://HOST, or unset it",
        )),
    }
}
