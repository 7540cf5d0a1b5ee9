//! `s3://bucket/prefix`, with settings from the `AWS_*` variables.

use std::sync::Arc;

use object_store::ClientConfigKey;
use object_store::aws::{
    AmazonS3Builder, AmazonS3ConfigKey, AwsCredentialProvider, S3ConditionalPut,
};

use super::Opened;
use super::bucket::{Bucket, without_credentials};
use crate::access::{Access, Variables};
use crate::error::place::Provider;
use crate::error::{StoreError, StoreErrorKind};
use crate::requests::{self, Connector};

pub(super) fn open(
    rest: &str,
    access: &Access,
    variables: &Variables,
) -> Result<Opened, StoreError> {
    let bucket = Bucket::parse("s3", rest, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")?;
    let patience = variables.patience()?;
    let at_once = variables.at_once(access, false)?;
    let mut builder = AmazonS3Builder::new()
        .with_http_connector(Connector::new(patience, at_once))
        .with_client_options(requests::options());
    let mut endpoint = None;
    let mut s3_endpoint = None;
    let mut allow_http = None;
    for (key, value) in settings(variables) {
        match key {
            AmazonS3ConfigKey::Bucket => continue,
            AmazonS3ConfigKey::Endpoint => endpoint = Some(value),
            AmazonS3ConfigKey::S3Endpoint => s3_endpoint = Some(value),
            AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp) => allow_http = Some(value),
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if access.anonymous {
        builder = builder.with_skip_signature(true);
    }
    if access.requester_pays {
        builder = builder.with_request_payer(true);
    }
    let endpoint = s3_endpoint.or(endpoint);
    // An endpoint written with http:// says that plain HTTP is wanted, unless that is denied aloud.
    if allow_http.is_none() && endpoint.is_some_and(|it| it.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    let client = builder
        .with_bucket_name(&bucket.name)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_retry(requests::retries(patience))
        .build()
        .map_err(|error| bucket.refused(&error, "AWS_*"))?;
    let endpoint = endpoint.map(without_credentials);
    Ok(bucket.opened(Arc::new(client), Provider::S3, endpoint))
}

/// What the environment sets of S3.
fn settings(variables: &Variables) -> impl Iterator<Item = (AmazonS3ConfigKey, &str)> {
    let named = variables.beginning("AWS_");
    named.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)))
}

/// The provider of the credentials that S3 is read with, for another service of AWS: the `AWS_*`
/// variables, a role's token, the machine's service. Nothing is requested.
pub(crate) fn credentials(
    access: &Access,
    variables: &Variables,
) -> Result<AwsCredentialProvider, StoreError> {
    use AmazonS3ConfigKey as Key;
    let patience = variables.patience()?;
    let at_once = variables.at_once(access, false)?;
    // A bucket's name is needed, and never used.
    let builder = AmazonS3Builder::new()
        .with_bucket_name("unused")
        .with_http_connector(Connector::new(patience, at_once))
        .with_client_options(requests::options())
        .with_retry(requests::retries(patience));
    // What is about S3 and not about who asks.
    let is_of_s3 = |key: &Key| {
        matches!(
            key,
            Key::Bucket
                | Key::Endpoint
                | Key::S3Endpoint
                | Key::S3Express
                | Key::SkipSignature
                | Key::Client(_)
        )
    };
    let own = settings(variables).filter(|(key, _)| !is_of_s3(key));
    let builder = own.fold(builder, |builder, (key, value)| {
        builder.with_config(key, value)
    });
    let client = builder.build().map_err(|error| {
        // The builder's errors name settings, never their secret values.
        StoreError::new(
            StoreErrorKind::Configuration,
            "the credentials of AWS",
            error.to_string(),
            "check the AWS_* variables",
        )
    })?;
    Ok(Arc::clone(client.credentials()))
}
