//! The steps of an answer, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::Stream;
use futures::stream::unfold;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use super::guard::Held;
use crate::answers::{self, AskRequest, Grant};
use crate::node::Node;
use crate::problem::ErrorDetail;

/// An answer that is being made, and the steps that it has taken.
struct Steps {
    steps: UnboundedReceiver<Value>,
    /// It ends when the listener leaves.
    _work: AbortOnDropHandle<()>,
}

/// Answers a question; each step is an event, and the answer, or why there is none, the last. The
/// request holds its place until then.
pub(super) fn stream(
    node: Arc<Node>,
    mut grant: Grant,
    asked: AskRequest,
    held: Arc<Held>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    if let Some(options) = &node.ask {
        grant.until = Instant::now() + options.timeout;
    }
    let (send, steps) = unbounded_channel();
    let work = async move {
        let _held = held;
        let steps = Some(send.clone());
        let last = match answers::ask(&node, &grant, asked, steps).await {
            Ok(answer) => named("answer", &answer),
            Err(problem) => named("problem", &ErrorDetail::from(problem)),
        };
        // The listener may have left.
        let _ = send.send(last);
    };
    let steps = Steps {
        steps,
        _work: AbortOnDropHandle::new(tokio::spawn(work)),
    };
    let events = unfold(steps, |mut steps| async move {
        let step = steps.steps.recv().await?;
        let name = step["event"].as_str().unwrap_or("step").to_owned();
        Some((
            Ok(Event::default().event(name).data(step.to_string())),
            steps,
        ))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// A last step: its name, and what it is under the same name.
fn named(name: &str, what: &impl serde::Serialize) -> Value {
    let what = serde_json::to_value(what).unwrap_or_default();
    serde_json::json!({"event": name, name: what})
}
