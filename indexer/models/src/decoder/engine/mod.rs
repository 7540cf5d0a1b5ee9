//! The engine: callers hand in prompts, one thread steps the device with as many as fit.
//!
//! Continuous batching (Orca, Yu et al., OSDI 2022): after every step finished sequences leave and
//! waiting ones join. A step holds one token of every answer being written and pieces of the
//! prompts being read, up to a budget of tokens a step.

mod inbox;
mod job;
mod runner;
mod spread;

use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

pub(super) use job::{Answer, Job, Request};
pub(super) use runner::Runner;
pub(super) use spread::Engines;

use crate::Usage;
use crate::decoder::device::Device;
use crate::decoder::schedule::Scheduler;
use crate::decoder::tokens::Tokens;
use inbox::{Closing, Shared};

/// For so long a device that failed gets no work that another could do.
const SHUNNED: Duration = Duration::from_secs(30);

/// The handle of the engine's thread; dropping it stops the thread after the step under way.
pub(super) struct Engine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts the thread of a device.
    pub fn start(
        device: Box<dyn Device>,
        scheduler: Scheduler,
        tokens: Arc<Tokens>,
        model: String,
    ) -> Self {
        let shared = Arc::new(Shared {
            inbox: Mutex::default(),
            arrived: Condvar::new(),
        });
        let runner = Runner::new(device, scheduler, tokens, model);
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let closing = Closing(shared);
                runner.run(&closing.0);
            })
        };
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Hands in a job; its sender is dropped where nobody takes it.
    pub fn submit(&self, job: Job) {
        let mut inbox = self.shared.lock();
        if !inbox.closed {
            inbox.jobs.push_back(job);
        }
        drop(inbox);
        self.shared.arrived.notify_one();
    }

    /// Whether the device failed lately and has not computed since.
    pub fn is_failing(&self) -> bool {
        let failed = self.shared.lock().failed;
        failed.is_some_and(|at| at.elapsed() < SHUNNED)
    }

    /// What has been done so far.
    pub fn usage(&self) -> Usage {
        self.shared.lock().usage
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
