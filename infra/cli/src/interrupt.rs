//! Interrupts: the first asks a run to stop in good order, the second ends the process.

use std::io;

use limn_pipeline::CancellationToken;

/// The exit code of a run that was stopped, as shells give it after an interrupt.
pub const INTERRUPTED: u8 = 130;

/// The message at the first interrupt.
pub const STOPPING: &str = "stopping: tables under way are finished and published, answers that have come are kept; interrupt again to end at once";

/// Cancels `stop` at the first interrupt (or request to terminate), and ends the process at the
/// second. `say` prints a message.
pub fn stop_when_interrupted(stop: CancellationToken, say: impl Fn(&str) + Send + 'static) {
    tokio::spawn(async move {
        // Where signals cannot be waited for, an interrupt ends the process as it always does.
        let Ok(mut interrupts) = Interrupts::new() else {
            return;
        };
        interrupts.next().await;
        stop.cancel();
        // A terminal that takes no line is no reason not to hear the second one.
        std::thread::spawn(move || say(STOPPING));
        interrupts.next().await;
        std::process::exit(i32::from(INTERRUPTED));
    });
}

/// Interrupts of a terminal, and requests to terminate.
#[cfg(unix)]
pub struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    /// Interrupts from now on.
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Interrupts of a terminal.
#[cfg(not(unix))]
pub struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    /// Interrupts from now on.
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
