//! Connecting: every two processes get two connections, one for timely's data and one for what the
//! processes send each other.
//!
//! Each process listens at its own address and calls those before it. Both sides greet, so that a
//! process of another cluster, version or place in the list is found here, and the caller confirms,
//! so that a call that was given up is not taken for a connection. Where the cluster has a key, all
//! of that is sealed by it. A stranger who calls costs a line of the log and a few seconds of one
//! thread, of which there are few, and nobody waits for him.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::build::build;
use super::channel::{Channel, End, Unsealed, left};
use super::frame;
use super::options::{ClusterOptions, Trust};
use crate::error::{PipelineError, Refused, Stranger};

/// How long a refused call waits before it is tried again.
const AGAIN: Duration = Duration::from_millis(50);
/// How often is looked for a call.
const LOOK: Duration = Duration::from_millis(10);
/// How long a caller may take to greet, and who is called to answer.
const GREETING: Duration = Duration::from_secs(5);
/// The longest greeting.
const LONGEST_GREETING: u32 = 1 << 10;
/// Calls that are answered at once.
const CALLS: usize = 64;
/// Strangers, by their addresses, who are logged.
const STRANGERS: usize = 64;

/// The connections of a process, by peer; none to itself.
#[derive(Debug, Default)]
pub struct Connections {
    /// For what processes send each other.
    pub control: Vec<Option<Channel>>,
    /// For timely.
    pub data: Vec<Option<Channel>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Control,
    Data,
}

/// What both ends of a connection say first.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// Version and build.
    limn: String,
    processes: usize,
    from: usize,
    /// Another one at each start of the process.
    start: String,
    to: usize,
    kind: Kind,
}

/// How a call ended that made no connection.
enum Uncalled {
    Later(io::Error),
    Strange(Stranger),
    Never(PipelineError),
}

impl From<Unsealed> for Uncalled {
    fn from(unsealed: Unsealed) -> Self {
        match unsealed {
            Unsealed::OtherKey => Self::Strange(Stranger::OtherKey),
            Unsealed::Plain => Self::Strange(Stranger::NoKey),
            Unsealed::Broken(error) => Self::Later(error),
        }
    }
}

impl From<io::Error> for Uncalled {
    fn from(error: io::Error) -> Self {
        Self::Later(error)
    }
}

/// Why a process did not connect to all the others.
#[derive(Debug)]
pub struct Unconnected {
    /// Not all came in time, one is of another kind, or the run was stopped.
    pub error: PipelineError,
    /// The control connections to those that it reached, which can be informed.
    pub reached: Vec<Option<Channel>>,
}

/// The connections to all other processes.
///
/// # Errors
/// Without one of them there is no run.
pub fn connect(
    options: &ClusterOptions,
    stop: &CancellationToken,
) -> Result<Connections, Box<Unconnected>> {
    let limn = build().map_err(|error| {
        let cause = format!(
            "cannot find out which build of limn this is, since its executable cannot be read: {error}"
        );
        Box::new(Unconnected {
            error: PipelineError::Settings(cause),
            reached: Vec::new(),
        })
    })?;
    let party = Party {
        options: options.clone(),
        start: limn_segment::nonce(),
        limn,
    };
    connect_as(party, stop)
}

fn connect_as(party: Party, stop: &CancellationToken) -> Result<Connections, Box<Unconnected>> {
    let options = &party.options.clone();
    let rendezvous = Rendezvous {
        options,
        party,
        stop,
        until: Instant::now() + options.silence,
        is_given_up: AtomicBool::new(false),
        found: Mutex::new(Connections::none(options.hosts.len())),
        refused: Mutex::default(),
    };
    let connected = std::thread::scope(|threads| {
        let rendezvous = &rendezvous;
        let calls = (0..options.process).map(|peer| threads.spawn(move || rendezvous.reach(peer)));
        let mut under_way: Vec<_> = calls.collect();
        under_way.push(threads.spawn(|| rendezvous.listen().inspect_err(|_| rendezvous.give_up())));
        let ended = under_way.into_iter().map(|thread| {
            let died = |_| PipelineError::Dataflow("a thread that connects died".into());
            thread.join().map_err(died).flatten()
        });
        // All are waited for; an error that waiting does not mend is the one to report.
        ended.fold(Ok(()), Result::and)
    });
    let error = if stop.is_cancelled() {
        Some(PipelineError::Stopped)
    } else {
        connected.err().or_else(|| rendezvous.missing())
    };
    let found = std::mem::take(&mut *rendezvous.found());
    match error {
        None => Ok(found),
        Some(error) => Err(Box::new(Unconnected {
            error,
            reached: found.control,
        })),
    }
}

/// The begin of a cluster, from one process's side.
struct Rendezvous<'a> {
    options: &'a ClusterOptions,
    party: Party,
    stop: &'a CancellationToken,
    until: Instant,
    /// One side has an error that waiting does not mend.
    is_given_up: AtomicBool,
    found: Mutex<Connections>,
    /// The last caller whose key differed.
    refused: Mutex<Option<Refused>>,
}

impl Rendezvous<'_> {
    fn is_over(&self) -> bool {
        let is_given_up = self.is_given_up.load(Ordering::Acquire);
        is_given_up || self.stop.is_cancelled() || Instant::now() >= self.until
    }

    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
    }

    fn refused(&self) -> MutexGuard<'_, Option<Refused>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self) -> MutexGuard<'_, Connections> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error where some processes did not come.
    fn missing(&self) -> Option<PipelineError> {
        let found = self.found();
        let missing = (0..self.options.hosts.len())
            .filter(|peer| *peer != self.options.process && !found.is_whole(*peer));
        let names: Vec<String> = missing.map(|peer| self.options.name(peer)).collect();
        (!names.is_empty()).then(|| PipelineError::Missing {
            processes: names.join(", "),
            limit: self.options.silence,
            refused: *self.refused(),
        })
    }

    /// Calls a process before this one until it has answered twice. Each is called by a thread of
    /// its own: one that is silent keeps nobody from reaching the others.
    fn reach(&self, peer: usize) -> Result<(), PipelineError> {
        for kind in [Kind::Control, Kind::Data] {
            while !self.is_over() {
                match self.call(peer, kind) {
                    Ok(connection) => {
                        self.found().put(peer, kind, Some(connection));
                        break;
                    }
                    Err(Uncalled::Never(error)) => {
                        self.give_up();
                        return Err(error);
                    }
                    Err(Uncalled::Strange(stranger)) => {
                        self.give_up();
                        let (process, address) = (peer, self.options.hosts[peer].clone());
                        return Err(PipelineError::OtherKey {
                            process,
                            address,
                            stranger,
                        });
                    }
                    Err(Uncalled::Later(error)) => {
                        tracing::debug!(peer, %error, "no answer yet");
                        std::thread::sleep(AGAIN);
                    }
                }
            }
        }
        Ok(())
    }

    fn call(&self, peer: usize, kind: Kind) -> Result<Channel, Uncalled> {
        let mut last = io::Error::other("the name has no address");
        for address in self.options.hosts[peer].to_socket_addrs()? {
            let until = self.until.min(Instant::now() + GREETING);
            match TcpStream::connect_timeout(&address, left(until)?) {
                Ok(connection) => {
                    let until = self.until.min(Instant::now() + GREETING);
                    let connection = self.party.open(connection, End::Caller, until)?;
                    frame::write(&connection, &self.party.greeting(peer, kind))?;
                    if connection.meets_tls(until)? {
                        return Err(Uncalled::Strange(Stranger::Keyed));
                    }
                    let answer = connection.until(until);
                    let answer: Greeting = frame::read_up_to(answer, LONGEST_GREETING)?;
                    let checked = self.party.check(&answer, Some(peer));
                    checked.map_err(Uncalled::Never)?;
                    frame::write(&connection, &Confirmed)?;
                    settle(&connection)?;
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(last.into())
    }

    /// Answers those after this one until all have called.
    fn listen(&self) -> Result<(), PipelineError> {
        let me = self.options.process;
        let listener = loop {
            match TcpListener::bind(self.options.hosts[me].as_str())
                .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            {
                Ok(listener) => break listener,
                // The name may not be known yet, or the process before this one may still run.
                Err(error) if self.is_over() => {
                    return Err(PipelineError::Settings(format!(
                        "process {me} cannot listen at {}: {error}; --hosts names an address of this machine for each process",
                        self.options.hosts[me]
                    )));
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
        };
        let have_called = || {
            let found = self.found();
            (me + 1..self.options.hosts.len()).all(|peer| found.is_whole(peer))
        };
        let mut starts: HashMap<usize, String> = HashMap::new();
        let mut strangers = Strangers::default();
        let (send, answered) = mpsc::channel();
        let under_way = Arc::new(());
        while !have_called() && !self.is_over() {
            match listener.accept() {
                // Each on a thread of its own: a stranger who says nothing keeps nobody waiting.
                Ok((connection, from)) if Arc::strong_count(&under_way) <= CALLS => {
                    let (party, send) = (self.party.clone(), send.clone());
                    let one = Arc::clone(&under_way);
                    let answering = std::thread::Builder::new().name("limn:answer".into());
                    let answering = answering.spawn(move || {
                        let answer = party.answer(connection);
                        // Nobody listens once all have called.
                        let _ = send.send((from.ip(), answer));
                        drop(one);
                    });
                    if let Err(error) = answering {
                        tracing::debug!(%from, %error, "no thread for a call");
                    }
                }
                Ok((_, from)) => strangers.log(from.ip(), &"too many call at once"),
                Err(_) => std::thread::sleep(LOOK),
            }
            for (from, answer) in answered.try_iter() {
                match answer {
                    Ok((greeting, channel)) => {
                        self.take(&mut starts, greeting, channel)?;
                    }
                    Err(Uncalled::Never(error)) => return Err(error),
                    Err(Uncalled::Strange(stranger)) => {
                        strangers.log(from, &stranger);
                        *self.refused() = Some(Refused { from, stranger });
                    }
                    Err(Uncalled::Later(error)) => strangers.log(from, &error),
                }
            }
        }
        Ok(())
    }

    /// Takes a connection in. A process that was started again takes the place of the one before,
    /// if that has ended.
    fn take(
        &self,
        starts: &mut HashMap<usize, String>,
        greeting: Greeting,
        connection: Channel,
    ) -> Result<(), PipelineError> {
        let peer = greeting.from;
        let mut found = self.found();
        let found = &mut *found;
        if starts
            .get(&peer)
            .is_some_and(|start| *start != greeting.start)
        {
            let before = [&mut found.control[peer], &mut found.data[peer]];
            for earlier in before {
                if earlier.take().is_some_and(|earlier| earlier.is_open()) {
                    return Err(PipelineError::Settings(format!(
                        "two processes have the number {peer}: each needs its own"
                    )));
                }
            }
        }
        starts.insert(peer, greeting.start);
        found.put(peer, greeting.kind, Some(connection));
        Ok(())
    }
}

/// Who this process is, to others.
#[derive(Clone, Debug)]
struct Party {
    options: ClusterOptions,
    /// Another one at each start.
    start: String,
    /// Version and build.
    limn: String,
}

/// What a caller says when it has taken the answer.
#[derive(Debug, Serialize, Deserialize)]
struct Confirmed;

/// Who called and was nobody we know.
#[derive(Debug, Default)]
struct Strangers(HashSet<IpAddr>);

impl Strangers {
    /// A line of the log for each address, and no more than a few.
    fn log(&mut self, from: IpAddr, why: &dyn fmt::Display) {
        if self.0.len() < STRANGERS && self.0.insert(from) {
            tracing::warn!(%from, %why, "refused a call to the cluster's port");
        } else {
            tracing::debug!(%from, %why, "refused a call to the cluster's port");
        }
    }
}

impl Party {
    /// A connection on which the greeting can begin.
    fn open(&self, stream: TcpStream, end: End, until: Instant) -> Result<Channel, Uncalled> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(GREETING))?;
        match &self.options.trust {
            Trust::Key(key) => Ok(Channel::sealed(stream, key, end, until)?),
            Trust::Machine | Trust::Network => Ok(Channel::plain(stream)),
        }
    }

    fn answer(&self, stream: TcpStream) -> Result<(Greeting, Channel), Uncalled> {
        let until = Instant::now() + GREETING;
        let connection = self.open(stream, End::Answerer, until)?;
        if connection.meets_tls(until)? {
            // Who has a key learns of that there is none here, once it is no longer talking.
            let _ = connection.until(until).read(&mut [0; 1 << 12])?;
            let me = self.options.process;
            frame::write(&connection, &self.greeting(me, Kind::Control))?;
            return Err(Uncalled::Strange(Stranger::Keyed));
        }
        let greeting = connection.until(until);
        let greeting: Greeting = frame::read_up_to(greeting, LONGEST_GREETING)?;
        // The same greeting says so to whoever is wrong here.
        frame::write(&connection, &self.greeting(greeting.from, greeting.kind))?;
        self.check(&greeting, None).map_err(Uncalled::Never)?;
        let Confirmed = frame::read_up_to(connection.until(until), LONGEST_GREETING)?;
        settle(&connection)?;
        Ok((greeting, connection))
    }

    fn greeting(&self, to: usize, kind: Kind) -> Greeting {
        Greeting {
            limn: self.limn.clone(),
            processes: self.options.hosts.len(),
            from: self.options.process,
            start: self.start.clone(),
            to,
            kind,
        }
    }

    /// Whether a greeting is that of a process of this cluster: of `called`, or of one after this.
    fn check(&self, greeting: &Greeting, called: Option<usize>) -> Result<(), PipelineError> {
        let (me, own) = (self.options.process, self.greeting(0, Kind::Control));
        let from = greeting.from;
        let problem = if greeting.limn != own.limn {
            format!("is of limn {}, process {me} of {}", greeting.limn, own.limn)
        } else if greeting.processes != own.processes {
            format!(
                "was started as one of {} processes, process {me} of {}",
                greeting.processes, own.processes
            )
        } else if called.is_some_and(|called| called != from) || greeting.to != me {
            let at = called.unwrap_or(me);
            format!(
                "is not where process {me} has it: {} is that of process {at} here",
                self.options.hosts[at]
            )
        } else if called.is_none() && (from <= me || from >= own.processes) {
            format!("called process {me}, which is to call it: two processes have one number")
        } else {
            return Ok(());
        };
        Err(PipelineError::Settings(format!(
            "process {from} {problem}; start all processes with the same limn, --hosts and --processes"
        )))
    }
}

impl Connections {
    fn none(processes: usize) -> Self {
        let none = || std::iter::repeat_with(|| None).take(processes).collect();
        Self {
            control: none(),
            data: none(),
        }
    }

    /// Whether there are both to this peer.
    fn is_whole(&self, peer: usize) -> bool {
        self.control[peer].is_some() && self.data[peer].is_some()
    }

    fn put(&mut self, peer: usize, kind: Kind, connection: Option<Channel>) {
        match kind {
            Kind::Control => self.control[peer] = connection,
            Kind::Data => self.data[peer] = connection,
        }
    }
}

/// A connection that is one for the run: without the limits of the greeting.
fn settle(connection: &Channel) -> io::Result<()> {
    connection.set_read_timeout(None)?;
    connection.set_write_timeout(None)
}

#[cfg(test)]
mod tests;
