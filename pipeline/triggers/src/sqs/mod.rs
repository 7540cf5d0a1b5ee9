//! A queue of SQS, polled.
//!
//! A message that names something of the lake is *held* from its receipt to the end of its burst:
//! kept invisible to others, then deleted. One that names nothing is deleted at once. One that
//! cannot be read is left to come again, in case that a newer limn or a fixed sender shares the
//! queue, and set aside after some tries.

mod access;
mod client;
mod held;
mod queue;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use limn_store::one_line;
use tokio::time::{Instant, sleep, sleep_until};

use crate::collector::Collector;
use crate::error::{TriggerError, TriggerErrorKind};
use crate::event::{self, Unreadable};
use crate::root::LakeRoot;
use client::{Client, backoff};
use queue::Queue;
pub(crate) use queue::{Delivery, delete};
use wire::Message;

/// The longest that a request for messages waits for one; no more is allowed.
const LONG_POLL: Duration = Duration::from_secs(20);
/// A server that says at once that there is nothing is not asked more often.
const SHORTEST_POLL: Duration = Duration::from_secs(1);
/// The first wait after a failure.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// What is shown of a message that cannot be read, in characters.
const SHOWN: usize = 80;

/// A queue to poll.
#[derive(Clone, PartialEq, Eq)]
pub struct QueueOptions {
    /// The queue's URL.
    pub url: String,
    /// The URL of the queue to which messages go that cannot be read; without one they are deleted,
    /// with a warning.
    pub set_aside: Option<String>,
    /// How often a message that cannot be read comes before that.
    pub tries: u32,
    /// How long a message that was received stays invisible to others, whatever the queue's own
    /// setting; prolonged as long as it is needed. After a kill it comes again after so long.
    pub visibility: Duration,
}

impl fmt::Debug for QueueOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may have been given with a password.
        f.debug_struct("QueueOptions")
            .field("tries", &self.tries)
            .field("visibility", &self.visibility)
            .finish_non_exhaustive()
    }
}

impl QueueOptions {
    /// Five tries and two minutes.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            set_aside: None,
            tries: 5,
            visibility: Duration::from_secs(120),
        }
    }
}

/// A queue that was asked once.
pub(crate) struct Source {
    queue: Arc<Queue>,
    aside: Option<Client>,
    tries: u32,
    collector: Arc<Collector>,
    root: LakeRoot,
}

impl Source {
    /// Asks the queue for messages, to see whether it can be.
    pub(crate) async fn open(
        options: QueueOptions,
        variables: &[(String, String)],
        collector: Arc<Collector>,
        root: LakeRoot,
    ) -> Result<Self, TriggerError> {
        let credentials = access::credentials(variables)?;
        let client = |url: &str| Client::new(url, variables, Arc::clone(&credentials));
        let own = client(&options.url)?;
        let aside = options.set_aside.as_deref().map(client).transpose()?;
        if options.set_aside.as_ref() == Some(&options.url) {
            return Err(TriggerError::new(
                TriggerErrorKind::Configuration,
                own.shown(),
                "it cannot take the messages itself that are set aside from it",
                "name another queue",
            ));
        }
        let source = Self {
            queue: Arc::new(Queue::new(own, options.visibility)),
            aside,
            tries: options.tries.max(1),
            collector,
            root,
        };
        match source.queue.receive(Duration::ZERO).await {
            Ok(messages) => source.take(messages).await,
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, "the queue is asked again and again");
            }
            Err(error) => return Err(error),
        }
        Ok(source)
    }

    /// Polls, and keeps what it holds invisible, for ever.
    pub(crate) async fn run(self) {
        tokio::join!(self.poll(), self.queue.keep_held());
    }

    async fn poll(&self) {
        let mut failures = 0;
        loop {
            self.collector.room().await;
            let asked = Instant::now();
            match self.queue.receive(LONG_POLL).await {
                Ok(messages) => {
                    failures = 0;
                    if messages.is_empty() {
                        sleep_until(asked + SHORTEST_POLL).await;
                    }
                    self.take(messages).await;
                }
                Err(error) => {
                    failures += 1;
                    let wait = backoff(FIRST_WAIT, failures);
                    tracing::warn!(%error, ?wait, "the queue gives no messages; it is asked again");
                    sleep(wait).await;
                }
            }
        }
    }

    /// Passes on the hints of messages, and deletes those that say nothing of the lake.
    async fn take(&self, messages: Vec<Message>) {
        let (mut objects, mut everything) = (Vec::new(), false);
        let mut deliveries = Vec::new();
        let mut finished = Vec::new();
        for message in messages {
            match event::read(message.body.as_bytes(), &self.root) {
                Ok(hints) if hints.events() == 0 => {
                    self.collector.counters.count(0, hints.ignored);
                    finished.push(message.receipt);
                }
                Ok(hints) => {
                    // One that came again while it is held is in a burst already.
                    let Some(delivery) = self.queue.hold(message) else {
                        continue;
                    };
                    self.collector.counters.count(hints.events(), hints.ignored);
                    objects.extend(hints.objects);
                    everything |= hints.everything;
                    deliveries.push(delivery);
                }
                Err(unreadable) => {
                    self.collector.counters.poison();
                    if message.receives() >= self.tries
                        && self.set_aside(&message, &unreadable).await
                    {
                        finished.push(message.receipt);
                    }
                }
            }
        }
        self.collector.add(objects, everything, deliveries);
        if let Err(error) = self.queue.delete(finished).await {
            tracing::debug!(%error, "messages that name nothing of the lake come again");
        }
    }

    /// Puts a message that cannot be read out of the way; whether it may be deleted.
    async fn set_aside(&self, message: &Message, why: &Unreadable) -> bool {
        let id = one_line(&message.id);
        if let Some(aside) = &self.aside {
            if let Err(error) = queue::send(aside, &message.body).await {
                tracing::warn!(%error, id, "a message that cannot be read could not be set aside");
                return false;
            }
            tracing::warn!(id, %why, to = aside.shown(), "a message was set aside");
            return true;
        }
        // What confirms a subscription is a secret of sorts.
        let body: String = match why {
            Unreadable::Confirmation => String::new(),
            _ => one_line(&message.body).chars().take(SHOWN).collect(),
        };
        tracing::warn!(id, %why, body, "a message that cannot be read was deleted");
        true
    }
}
