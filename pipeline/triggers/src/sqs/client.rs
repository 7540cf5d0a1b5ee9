//! One request to a queue: signed, bounded in time and size, its failure explained.

use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use object_store::aws::{AwsAuthorizer, AwsCredential, AwsCredentialProvider};
use object_store::client::{HttpClient, HttpRequest, HttpResponse};
use rand::Rng;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode, redirect};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::access::Address;
use super::wire::Refusal;
use crate::error::{TriggerError, TriggerErrorKind};

const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long a request takes at most, its wait for messages not counted.
const TIME: Duration = Duration::from_secs(15);
/// No answer is longer: ten messages have at most a mebibyte, in JSON up to six.
const ANSWER: usize = 8 << 20;
/// No wait between attempts is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// How to ask about one queue.
pub(super) struct Client {
    http: HttpClient,
    credentials: AwsCredentialProvider,
    address: Address,
}

/// The wait after so many failures: twice as long each time, up to a minute, and not the same for
/// all who wait.
pub(super) fn backoff(first: Duration, failures: u32) -> Duration {
    let bound = first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    bound
        .min(LONGEST_WAIT)
        .mul_f64(rand::rng().random_range(0.5..=1.0))
}

impl Client {
    /// Reads the queue's URL; nothing is sent yet.
    pub(super) fn new(
        url: &str,
        variables: &[(String, String)],
        credentials: AwsCredentialProvider,
    ) -> Result<Self, TriggerError> {
        let address = Address::parse(url, variables)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIME)
            // What is signed is for the address that was named.
            .redirect(redirect::Policy::none())
            .http1_only()
            .user_agent(concat!("limn/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                TriggerError::new(TriggerErrorKind::Other, url, innermost(&error), "")
            })?;
        Ok(Self {
            http: HttpClient::new(http),
            credentials,
            address,
        })
    }

    /// The queue's URL.
    pub(super) fn url(&self) -> &str {
        &self.address.queue
    }

    /// The queue, for people. Its URL has no secrets, or it would have been refused.
    pub(super) fn shown(&self) -> &str {
        &self.address.queue
    }

    /// Asks for an action, which may wait so long before it answers.
    pub(super) async fn call(
        &self,
        action: &str,
        body: &Value,
        wait: Duration,
    ) -> Result<Vec<u8>, TriggerError> {
        let request = self.request(action, body).await?;
        let exchange = async {
            let response = self.http.execute(request).await;
            let response = response.map_err(|error| self.unavailable(&innermost(&error)))?;
            let status = response.status();
            Ok((status, self.body(response).await?))
        };
        let answer = timeout(wait + TIME, exchange).await;
        let (status, answer) =
            answer.map_err(|_| self.unavailable("it does not answer in time"))??;
        if status.is_success() {
            Ok(answer)
        } else {
            Err(self.refused(action, status, &answer))
        }
    }

    /// Reads an answer.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: &[u8]) -> Result<T, TriggerError> {
        serde_json::from_slice(answer).map_err(|_| {
            self.error(
                TriggerErrorKind::Other,
                "it does not answer as SQS does",
                "check the queue's URL",
            )
        })
    }

    async fn request(&self, action: &str, body: &Value) -> Result<HttpRequest, TriggerError> {
        let credential = self.credentials.get_credential().await.map_err(|error| {
            tracing::debug!(error = innermost(&error), "there are no credentials");
            self.error(
                TriggerErrorKind::AccessDenied,
                "no credentials were found",
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            )
        })?;
        if !fits_a_header(&credential) {
            return Err(self.error(
                TriggerErrorKind::Configuration,
                "the credentials have characters that no header can hold",
                "check AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN for line ends",
            ));
        }
        let wrong = || {
            self.error(
                TriggerErrorKind::Configuration,
                "it is no URL to ask",
                "check the queue's URL",
            )
        };
        let mut request = HttpRequest::new(body.to_string().into());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self
            .address
            .endpoint
            .as_str()
            .parse()
            .map_err(|_| wrong())?;
        let target = HeaderValue::from_str(&format!("AmazonSQS.{action}")).map_err(|_| wrong())?;
        let headers = request.headers_mut();
        headers.insert(TARGET, target);
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-amz-json-1.0"),
        );
        AwsAuthorizer::new(&credential, "sqs", &self.address.region).authorize(&mut request, None);
        Ok(request)
    }

    async fn body(&self, response: HttpResponse) -> Result<Vec<u8>, TriggerError> {
        let mut chunks = response.into_body().bytes_stream();
        let mut body = Vec::new();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| self.unavailable(&innermost(&error)))?);
            if body.len() > ANSWER {
                return Err(self.error(
                    TriggerErrorKind::Other,
                    "its answer is longer than any of SQS",
                    "check the queue's URL",
                ));
            }
        }
        Ok(body)
    }

    /// What a refusal means. The server's message is left out: it may quote what was signed.
    fn refused(&self, action: &str, status: StatusCode, answer: &[u8]) -> TriggerError {
        let refusal: Option<Refusal> = serde_json::from_slice(answer).ok();
        let code = refusal.as_ref().and_then(Refusal::code).unwrap_or_default();
        let said = match code {
            "" => status.as_u16().to_string(),
            code => code.to_owned(),
        };
        let is = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if is(&["QueueDoesNotExist", "NonExistentQueue"]) {
            return self.error(
                TriggerErrorKind::NoSuchQueue,
                "there is no such queue",
                "create it, or check its URL and region",
            );
        }
        if is(&["Throttl", "OverLimit", "TooManyRequests"])
            || status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
        {
            return self.unavailable(&format!("it cannot answer at the moment ({said})"));
        }
        if is(&[
            "AccessDenied",
            "Token",
            "Signature",
            "UnrecognizedClient",
            "AccessKey",
            "Security",
        ]) || matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        {
            return self.error(
                TriggerErrorKind::AccessDenied,
                &format!("{action} is denied ({said})"),
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; limn needs \
                 sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility",
            );
        }
        self.error(
            TriggerErrorKind::Other,
            &format!("{action} is refused ({said})"),
            "check the queue's URL",
        )
    }

    fn unavailable(&self, cause: &str) -> TriggerError {
        self.error(TriggerErrorKind::Unavailable, cause, "")
    }

    fn error(&self, kind: TriggerErrorKind, cause: &str, remedy: &str) -> TriggerError {
        TriggerError::new(kind, self.shown(), cause, remedy)
    }
}

/// Whether signing with them succeeds.
fn fits_a_header(credential: &AwsCredential) -> bool {
    let fits = |text: &str| HeaderValue::from_str(text).is_ok();
    fits(&credential.key_id) && credential.token.as_deref().is_none_or(fits)
}

/// What an error comes down to: the last of its causes. The others may name addresses.
fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
