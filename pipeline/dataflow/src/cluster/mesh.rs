//! The mesh: what the processes of a cluster send each other beside the data, and how the loss of
//! one is noticed.
//!
//! Every process sends every other a pulse. A connection that closes without a farewell, and one on
//! which nothing comes for too long, is a lost process; that ends the run on all of them. Threads
//! of their own do it, so a busy dataflow or runtime is no silence.

use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::channel::Channel;
use super::frame;
use super::options::ClusterOptions;
use super::terms::Terms;
use super::totals::Totals;
use crate::error::{Fatal, PipelineError};
use crate::planned::{Listed, Planned};

/// How often a process says that it is there, at least.
const PULSE: Duration = Duration::from_secs(1);
/// How long a broken data connection waits for the reason, which comes by another way.
const GRACE: Duration = Duration::from_secs(2);
/// How long a process that ends waits for the others to have received why: what a network loses
/// is sent again, but not once the process has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a process sends another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// It is there.
    Pulse,
    /// The leader: what the run is.
    Terms(Box<Terms>),
    /// A follower: it is ready for a run on these terms.
    Agreed,
    /// What a follower has listed; of the leader, what all have.
    Listed(Box<Listed>),
    /// What a follower has planned.
    Planned(Box<Planned>),
    /// A follower: its part is done, and this is what it did.
    Totals(Box<Totals>),
    /// A follower was asked to stop.
    Stop,
    /// It ends in good order.
    Farewell {
        /// Whether the run was stopped before its end.
        stopped: bool,
    },
    /// It ends, because this process failed with this error or, without one, was lost.
    Failed {
        /// The process.
        process: usize,
        /// Its error.
        error: Option<String>,
        /// How its loss was noticed.
        how: String,
    },
}

/// The control connections of a process.
#[derive(Debug)]
pub struct Mesh {
    options: ClusterOptions,
    peers: Vec<Option<Peer>>,
    fatal: Arc<Fatal>,
    stop: CancellationToken,
    /// This process is ending: who leaves now leaves nobody alone.
    over: AtomicBool,
}

#[derive(Debug)]
struct Peer {
    connection: Channel,
    writing: Mutex<()>,
    /// It has done its part or said farewell.
    is_done: AtomicBool,
    /// Nothing more is expected of it: it has closed its end, is silent, or was said to be lost.
    is_gone: AtomicBool,
}

/// What peers have sent, and which of them.
pub type Inbox = UnboundedReceiver<(usize, Message)>;

impl Mesh {
    /// Starts listening to the peers and sending them pulses. Whatever ends the run is given to
    /// `fatal`; a peer that asks to stop cancels `stop`.
    ///
    /// # Errors
    /// A connection or thread cannot be set up.
    pub fn start(
        options: &ClusterOptions,
        connections: Vec<Option<Channel>>,
        fatal: Arc<Fatal>,
        stop: CancellationToken,
    ) -> io::Result<(Arc<Self>, Inbox)> {
        let peers = connections.into_iter().map(|connection| {
            connection.map(|connection| Peer {
                connection,
                writing: Mutex::default(),
                is_done: AtomicBool::new(false),
                is_gone: AtomicBool::new(false),
            })
        });
        let mesh = Arc::new(Self {
            options: options.clone(),
            peers: peers.collect(),
            fatal,
            stop,
            over: AtomicBool::new(false),
        });
        let (send, inbox) = unbounded_channel();
        for (process, peer) in mesh.others() {
            let timeout = Some(options.silence);
            peer.connection.set_read_timeout(timeout)?;
            peer.connection.set_write_timeout(timeout)?;
            let (mesh, send) = (Arc::clone(&mesh), send.clone());
            std::thread::Builder::new()
                .name(format!("limn:recv-{process}"))
                .spawn(move || {
                    mesh.receive(process, &send);
                    mesh.give_up_on(process);
                })?;
        }
        let pulse = Arc::clone(&mesh);
        std::thread::Builder::new()
            .name("limn:pulse".into())
            .spawn(move || pulse.beat())?;
        Ok((mesh, inbox))
    }

    fn others(&self) -> impl Iterator<Item = (usize, &Peer)> {
        let peers = self.peers.iter().enumerate();
        peers.filter_map(|(process, peer)| Some((process, peer.as_ref()?)))
    }

    /// Reads what a peer sends until it leaves.
    fn receive(&self, process: usize, inbox: &UnboundedSender<(usize, Message)>) {
        let Some(peer) = &self.peers[process] else {
            return;
        };
        loop {
            match frame::read(&peer.connection) {
                Ok(Message::Pulse) => {}
                Ok(Message::Stop) => self.stop.cancel(),
                Ok(Message::Failed {
                    process: failed,
                    error,
                    how,
                }) => self.learn(process, failed, error, how),
                Ok(message) => {
                    if matches!(message, Message::Farewell { .. } | Message::Totals(_)) {
                        peer.is_done.store(true, Ordering::Release);
                    }
                    // Nobody listens when the run is over.
                    let _ = inbox.send((process, message));
                }
                Err(error) => {
                    let is_silent = matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    );
                    self.lose(
                        process,
                        if is_silent {
                            let silence = self.options.silence;
                            format!("nothing was heard of it for {silence:?}")
                        } else {
                            "its connection closed".to_owned()
                        },
                    );
                    return;
                }
            }
        }
    }

    /// A peer says which process failed, or was lost.
    fn learn(&self, from: usize, process: usize, error: Option<String>, how: String) {
        let is_lost = error.is_none();
        let how = if is_lost && process == self.options.process {
            // This process is still there, and its user wants to know who sees it otherwise.
            format!("{} says: {how}", self.options.name(from))
        } else {
            how
        };
        self.fatal.set(self.failed(process, error, how));
        if is_lost {
            self.give_up_on(process);
        }
    }

    fn give_up_on(&self, process: usize) {
        if let Some(Some(peer)) = self.peers.get(process) {
            peer.is_gone.store(true, Ordering::Release);
        }
    }

    fn beat(&self) {
        let every = PULSE.min(self.options.silence / 4);
        while !self.over.load(Ordering::Acquire) {
            for (process, peer) in self.others() {
                // One that is being written to knows that this process is there.
                if let Ok(_one_at_a_time) = peer.writing.try_lock() {
                    self.write(process, peer, &Message::Pulse);
                }
            }
            std::thread::sleep(every);
        }
    }

    /// Sends a message to a peer. That it did not arrive is noticed where the peer is listened to.
    pub fn send(&self, process: usize, message: &Message) {
        if let Some(Some(peer)) = self.peers.get(process) {
            let _one_at_a_time = peer.writing.lock().unwrap_or_else(PoisonError::into_inner);
            self.write(process, peer, message);
        }
    }

    fn write(&self, process: usize, peer: &Peer, message: &Message) {
        match frame::write(&peer.connection, message) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let cause = format!(
                    "what process {process} is to know of this one's share: {error}; use fewer processes"
                );
                self.fatal.set(PipelineError::Dataflow(cause));
            }
            Err(error) => tracing::debug!(process, %error, "a peer takes nothing"),
        }
    }

    /// Sends a message to all peers.
    pub fn send_all(&self, message: &Message) {
        for (process, _) in self.others() {
            self.send(process, message);
        }
    }

    /// Something is wrong with the data connection to this process. If that was not at the end, and
    /// nobody says why, the process is lost.
    pub fn suspect(&self, process: usize, how: &str) {
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !self.fatal.is_set() {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.lose(process, how.to_owned());
    }

    fn lose(&self, process: usize, how: String) {
        let peer = self.peers[process].as_ref();
        let is_done = peer.is_none_or(|peer| peer.is_done.load(Ordering::Acquire));
        if !is_done && !self.over.load(Ordering::Acquire) {
            self.fatal.set(self.failed(process, None, how));
        }
    }

    fn failed(&self, process: usize, error: Option<String>, how: String) -> PipelineError {
        let address = self.options.hosts.get(process).cloned().unwrap_or_default();
        match error {
            Some(error) => PipelineError::Peer {
                process,
                address,
                error,
            },
            None => PipelineError::Lost {
                process,
                address,
                how,
            },
        }
    }

    /// What the others learn of a run that ended so here: stopped or not, or with an error.
    pub fn farewell(&self, ended: Result<bool, &PipelineError>) -> Message {
        let (process, error, how) = match ended {
            Ok(stopped) => return Message::Farewell { stopped },
            Err(PipelineError::Lost { process, how, .. }) => (*process, None, how.clone()),
            Err(PipelineError::Peer { process, error, .. }) => {
                (*process, Some(error.clone()), String::new())
            }
            Err(error) => (self.options.process, Some(error.to_string()), String::new()),
        };
        Message::Failed {
            process,
            error,
            how,
        }
    }

    /// Sends all peers how the run ended, and waits a moment for them to have received it.
    pub fn end(&self, farewell: &Message) {
        if self.over.swap(true, Ordering::AcqRel) {
            return;
        }
        self.send_all(farewell);
        for (_, peer) in self.others() {
            // A process that has ended already needs no end.
            let _ = peer.connection.shutdown(Shutdown::Write);
        }
        let until = Instant::now() + FAREWELL;
        let is_open = |(_, peer): (usize, &Peer)| !peer.is_gone.load(Ordering::Acquire);
        while self.others().any(is_open) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// [`end`](Self::end), while other tasks go on.
    pub async fn announce_end(mesh: &Arc<Self>, farewell: Message) {
        let mesh = Arc::clone(mesh);
        let sent = tokio::task::spawn_blocking(move || mesh.end(&farewell));
        if sent.await.is_err() {
            tracing::debug!("the others were not informed of the end");
        }
    }
}
