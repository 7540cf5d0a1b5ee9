//! Traces: each request, and what it spent its time on, sent to an OpenTelemetry collector.
//!
//! Where they go is said by the variables that OpenTelemetry has for it
//! (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`,
//! `OTEL_TRACES_SAMPLER`…). A request that comes with a `traceparent` goes on with that trace. A
//! span names the address asked, never the question or a table: a collector is another house than
//! the lake.
//!
//! Source: OpenTelemetry specification, environment variables and semantic conventions for HTTP
//! spans; W3C Trace Context.

use async_trait::async_trait;
use axum::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use limn_retrieval::TRACE;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

/// Variables that say where traces go.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];
const NAME: &str = "OTEL_SERVICE_NAME";

/// Traces cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be sent: {0}; see OTEL_EXPORTER_OTLP_ENDPOINT, or unset it")]
pub struct TracesError(String);

/// Sends traces to a collector, in the background, until it is dropped.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// As the environment says; `None` if it names no collector.
    ///
    /// # Errors
    /// Variables that make no sense.
    pub fn from_env(runtime: Handle) -> Result<Option<Traces>, TracesError> {
        let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_off = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|off| off == "true");
        if is_off || !ENDPOINTS.iter().any(is_set) {
            return Ok(None);
        }
        let failed = |error: String| TracesError(error);
        let client = Client {
            http: reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(|error| failed(error.to_string()))?,
            runtime,
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let mut resource = Resource::builder();
        if !is_set(&NAME) {
            resource = resource.with_service_name("limn");
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter);
        Ok(Some(Traces(provider.build())))
    }

    /// What takes in spans.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let tracer = self.0.tracer("limn");
        let is_ours: FilterFn = filter_fn(is_trace);
        tracing_opentelemetry::layer()
            .with_tracer(tracer)
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_filter(is_ours.with_max_level_hint(LevelFilter::INFO))
    }

    /// Sends what has not been sent yet. Waits for the collector for some seconds at most.
    pub fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// Whether this is a span of a trace, and none of the log.
pub fn is_trace(metadata: &tracing::Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == TRACE
}

/// The span of a request, in the trace that its sender has begun.
pub(crate) fn of_request(method: &str, route: &str, id: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: TRACE,
        "request",
        otel.name = format!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = tracing::field::Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = tracing::field::Empty,
        limn.request_id = id,
        limn.caller = tracing::field::Empty,
    );
    if !span.is_disabled() {
        let sent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // Without a collector there is nothing that could go on with it.
        let _ = span.set_parent(sent);
    }
    span
}

/// Records in a request's span how it ended.
pub(crate) fn answered(span: &Span, status: u16, caller: &str) {
    span.record("http.response.status_code", i64::from(status));
    span.record("limn.caller", caller);
    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// The batches are sent from a thread of their own, and a connection lives on the runtime.
#[derive(Debug)]
struct Client {
    http: reqwest::Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let sent = self.http.execute(request);
        let answered = self.runtime.spawn(async move {
            let answer = sent.await?;
            let mut reply = Response::builder().status(answer.status());
            if let Some(headers) = reply.headers_mut() {
                headers.clone_from(answer.headers());
            }
            // What a collector says besides is of no use here, and need not be read.
            Ok::<_, HttpError>(reply.body(Bytes::new())?)
        });
        answered.await?
    }
}
