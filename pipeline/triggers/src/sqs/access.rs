//! How a queue is reached: credentials as for S3, its address, its region.

use std::sync::Arc;
use std::time::Duration;

use object_store::RetryConfig;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredentialProvider};
use url::Url;

use crate::error::{TriggerError, TriggerErrorKind};

/// The provider of credentials for S3: the `AWS_*` variables, a role's token, the machine's
/// service.
pub(super) fn credentials(
    variables: &[(String, String)],
) -> Result<AwsCredentialProvider, TriggerError> {
    use AmazonS3ConfigKey as Key;
    // A bucket's name is needed, and never used.
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name("unused")
        .with_retry(RetryConfig {
            max_retries: 2,
            retry_timeout: Duration::from_secs(10),
            ..RetryConfig::default()
        });
    for (name, value) in variables {
        let is_set = name.starts_with("AWS_") && !value.is_empty();
        let key = is_set.then(|| name.to_ascii_lowercase().parse::<Key>());
        match key {
            // What is about S3 and not about who we are.
            Some(Ok(
                Key::Bucket
                | Key::Endpoint
                | Key::S3Endpoint
                | Key::S3Express
                | Key::SkipSignature
                | Key::Client(_),
            )) => {}
            Some(Ok(key)) => builder = builder.with_config(key, value),
            _ => {}
        }
    }
    let store = builder.build().map_err(|error| {
        // The builder's errors name settings, never their secret values.
        TriggerError::new(
            TriggerErrorKind::Configuration,
            "the credentials for the queue",
            error.to_string(),
            "check the AWS_* variables",
        )
    })?;
    Ok(Arc::clone(store.credentials()))
}

/// Where a queue is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The queue's URL, its name.
    pub(super) queue: String,
    /// Where requests about it go.
    pub(super) endpoint: Url,
    pub(super) region: String,
}

impl Address {
    /// Reads a queue's URL. It is operators who write it, so its host is trusted.
    pub(super) fn parse(text: &str, variables: &[(String, String)]) -> Result<Self, TriggerError> {
        let wrong = |shown: &str, cause: &str| {
            TriggerError::new(
                TriggerErrorKind::Configuration,
                shown,
                cause,
                "write https://sqs.REGION.amazonaws.com/ACCOUNT/NAME",
            )
        };
        // What is no URL may hold a secret anywhere.
        let url = Url::parse(text).map_err(|_| wrong("the queue's URL", "it is no URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "the queue's URL",
                "credentials do not belong in it (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("the queue's URL", "it has a query or a fragment"));
        }
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return Err(wrong(text, "it is no https:// URL"));
        }
        if url.path().len() < 2 {
            return Err(wrong(text, "the queue's name is missing"));
        }
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| name == wanted);
            found
                .map(|(_, value)| value.as_str())
                .filter(|value| !value.is_empty())
        };
        let denied = variable("AWS_ALLOW_HTTP").is_some_and(|value| {
            matches!(
                value.to_ascii_lowercase().as_str(),
                "false" | "0" | "no" | "off"
            )
        });
        if url.scheme() == "http" && denied {
            return Err(wrong(text, "plain HTTP is denied by AWS_ALLOW_HTTP"));
        }
        let host = url.host_str().unwrap_or_default();
        let region = region_of(host)
            .or(variable("AWS_REGION"))
            .or(variable("AWS_DEFAULT_REGION"))
            .unwrap_or("us-east-1")
            .to_owned();
        let mut endpoint = url.clone();
        endpoint.set_path("/");
        Ok(Self {
            queue: text.to_owned(),
            endpoint,
            region,
        })
    }
}

/// The region that a host of SQS's own is in.
fn region_of(host: &str) -> Option<&str> {
    let own = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
    let below = own.iter().find_map(|domain| host.strip_suffix(domain))?;
    let labels: Vec<&str> = below.split('.').collect();
    let after = |name: &str| {
        let at = labels.iter().position(|label| *label == name)?;
        labels.get(at + 1).copied()
    };
    // REGION.queue is the old form.
    after("sqs")
        .or_else(|| after("sqs-fips"))
        .or_else(|| (labels.get(1) == Some(&"queue")).then(|| labels[0]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_queue_is_in_its_hosts_region() {
        for (host, region) in [
            ("sqs.eu-central-1.amazonaws.com", Some("eu-central-1")),
            ("sqs.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("sqs-fips.us-east-2.amazonaws.com", Some("us-east-2")),
            (
                "vpce-1-x.sqs.eu-west-3.vpce.amazonaws.com",
                Some("eu-west-3"),
            ),
            ("us-west-2.queue.amazonaws.com", Some("us-west-2")),
            ("sqs.evil.example", None),
            ("127.0.0.1", None),
        ] {
            assert_eq!(region_of(host), region, "{host}");
        }
        let variables = [("AWS_REGION".to_owned(), "eu-north-1".to_owned())];
        let at = |url| Address::parse(url, &variables).unwrap();
        assert_eq!(at("http://127.0.0.1:5000/1/q").region, "eu-north-1");
        let own = at("https://sqs.eu-central-1.amazonaws.com/1234/lake");
        assert_eq!(own.region, "eu-central-1");
        assert_eq!(
            own.endpoint.as_str(),
            "https://sqs.eu-central-1.amazonaws.com/"
        );
    }

    #[test]
    fn wrong_urls_are_refused_without_their_secrets() {
        let denied = [("AWS_ALLOW_HTTP".to_owned(), "false".to_owned())];
        for url in [
            "lake",
            "sEcReT",
            "ftp://host/q",
            "https://sqs.eu-central-1.amazonaws.com",
            "https://me:sEcReT@host/1/q",
            "https://host/1/q?X-Amz-Signature=sEcReT",
            "http://host/1/q",
        ] {
            let error = Address::parse(url, &denied).unwrap_err();
            assert_eq!(error.kind(), TriggerErrorKind::Configuration);
            let text = format!("{error} {error:?}");
            assert!(!text.contains("sEcReT"), "{text}");
        }
    }
}
