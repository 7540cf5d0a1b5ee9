//! Requests to a queue: receiving messages, and deciding what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::client::{Client, backoff};
use super::held::Held;
use super::wire::{Batch, Message, Messages};
use crate::error::{TriggerError, TriggerErrorKind};

/// As many messages one request is about, at most.
const BATCH: usize = 10;
/// As many requests that change messages are under way.
const REQUESTS: usize = 8;
/// A request that changes messages is sent so often.
const ATTEMPTS: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// A queue, and what is held of it.
pub(crate) struct Queue {
    client: Client,
    visibility: Duration,
    held: Held,
}

/// A message that is held until this is dropped.
pub(crate) struct Delivery {
    queue: Arc<Queue>,
    id: String,
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.queue.held.release(&self.id);
    }
}

/// Deletes messages from their queues: their burst is done.
pub(crate) async fn delete(mut deliveries: Vec<Delivery>) -> Result<(), TriggerError> {
    while let Some(first) = deliveries.first() {
        let queue = Arc::clone(&first.queue);
        let (own, others): (Vec<_>, Vec<_>) = deliveries
            .into_iter()
            .partition(|delivery| Arc::ptr_eq(&delivery.queue, &queue));
        deliveries = others;
        let receipts = own.iter().filter_map(|own| queue.held.receipt(&own.id));
        queue.delete(receipts.collect()).await?;
    }
    Ok(())
}

/// Sends a message to a queue.
pub(super) async fn send(client: &Client, body: &str) -> Result<(), TriggerError> {
    let request = json!({"QueueUrl": client.url(), "MessageBody": body});
    client.call("SendMessage", &request, Duration::ZERO).await?;
    Ok(())
}

impl Queue {
    pub(super) fn new(client: Client, visibility: Duration) -> Self {
        Self {
            client,
            // SQS counts in seconds, up to twelve hours.
            visibility: visibility.clamp(Duration::from_secs(1), Duration::from_secs(43_200)),
            held: Held::default(),
        }
    }

    /// Asks for messages, and waits so long for the first.
    pub(super) async fn receive(&self, wait: Duration) -> Result<Vec<Message>, TriggerError> {
        let request = json!({
            "QueueUrl": self.client.url(),
            "MaxNumberOfMessages": BATCH,
            "WaitTimeSeconds": wait.as_secs(),
            "VisibilityTimeout": self.visibility.as_secs(),
            // The old name and the new one.
            "AttributeNames": ["ApproximateReceiveCount"],
            "MessageSystemAttributeNames": ["ApproximateReceiveCount"],
        });
        let reply = self.client.call("ReceiveMessage", &request, wait).await?;
        let messages: Messages = self.client.read(&reply)?;
        Ok(messages.messages)
    }

    /// Holds a message; `None` if it is held already.
    pub(super) fn hold(self: &Arc<Self>, message: Message) -> Option<Delivery> {
        let until = Instant::now() + self.visibility;
        let id = message.id.clone();
        let new = self.held.hold(message.id, message.receipt, until);
        new.then(|| Delivery {
            queue: Arc::clone(self),
            id,
        })
    }

    /// Deletes messages by their receipts. All are tried; the first error is returned.
    pub(super) async fn delete(&self, receipts: Vec<String>) -> Result<(), TriggerError> {
        let entry = |receipt: &String| json!({"ReceiptHandle": receipt});
        let entries = receipts.iter().map(entry).collect();
        self.change("DeleteMessageBatch", entries).await
    }

    /// Keeps what is held invisible to others, for ever.
    pub(super) async fn keep_held(&self) {
        let seconds = self.visibility.as_secs();
        loop {
            sleep(self.visibility / 4).await;
            let now = Instant::now();
            let ending = self.held.ending(now + self.visibility / 2);
            let entry = |(_, receipt): &(String, String)| json!({"ReceiptHandle": receipt, "VisibilityTimeout": seconds});
            let entries = ending.iter().map(entry).collect();
            match self.change("ChangeMessageVisibilityBatch", entries).await {
                Ok(()) => self.held.prolong(&ending, now + self.visibility),
                // They come again, are known, and are not passed on twice.
                Err(error) => tracing::debug!(%error, "held messages become visible"),
            }
        }
    }

    /// Changes messages, in as few requests as can be. All are tried; the first error is returned.
    async fn change(&self, action: &str, mut entries: Vec<Value>) -> Result<(), TriggerError> {
        let requests = entries.chunks_mut(BATCH).map(|batch| {
            for (n, entry) in batch.iter_mut().enumerate() {
                entry["Id"] = n.to_string().into();
            }
            json!({"QueueUrl": self.client.url(), "Entries": batch})
        });
        let requests: Vec<_> = requests.collect();
        let results = stream::iter(requests)
            .map(async |request| self.change_batch(action, &request).await)
            .buffer_unordered(REQUESTS);
        let results: Vec<_> = results.collect().await;
        results.into_iter().collect()
    }

    /// Asks for a change of a batch, several times if need be. A message that has a newer receipt,
    /// or was deleted, is no error.
    async fn change_batch(&self, action: &str, request: &Value) -> Result<(), TriggerError> {
        let mut failures = 0;
        loop {
            let error = match self.client.call(action, request, Duration::ZERO).await {
                Ok(reply) => {
                    let batch: Batch = self.client.read(&reply)?;
                    if batch.failed.iter().all(|failed| failed.sender_fault) {
                        return Ok(());
                    }
                    TriggerError::new(
                        TriggerErrorKind::Unavailable,
                        self.client.shown(),
                        format!("{action} failed for some messages"),
                        "they come again",
                    )
                }
                Err(error) => error,
            };
            failures += 1;
            if !error.is_retryable() || failures >= ATTEMPTS {
                return Err(error);
            }
            sleep(backoff(FIRST_WAIT, failures)).await;
        }
    }
}
