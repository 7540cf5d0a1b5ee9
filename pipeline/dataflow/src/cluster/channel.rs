//! A channel: a connection between two processes, sealed by TLS where the cluster has a
//! [key](super::key).
//!
//! One thread reads and others write at the same time, so nobody may hold the state of TLS while
//! waiting for the network: bytes are read, and written, beside it. What is sealed is written in
//! the order in which it was sealed.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConnection, Connection, ServerConnection};

use super::key::ClusterKey;

/// Sealed bytes that are read at once.
const AT_ONCE: usize = 64 << 10;
/// The first byte of TLS records that carry a handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;
/// The first byte of those that carry an alert.
const ALERT: u8 = 21;

/// Which end of a connection this is.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// It called.
    Caller,
    /// It was called.
    Answerer,
}

/// Why a connection was not sealed.
#[derive(Debug)]
pub enum Unsealed {
    /// The other end has another key.
    OtherKey,
    /// The other end does not speak TLS.
    Plain,
    /// It closed, was silent, or talks of other things.
    Broken(io::Error),
}

/// A connection to another process. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct Channel {
    stream: Arc<TcpStream>,
    seal: Option<Arc<Seal>>,
}

#[derive(Debug)]
struct Seal {
    tls: Mutex<Connection>,
    /// What was read and not yet opened.
    incoming: Mutex<Incoming>,
    /// What is sealed and not yet written.
    outgoing: Mutex<Outgoing>,
}

#[derive(Debug, Default)]
struct Incoming {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

#[derive(Debug, Default)]
struct Outgoing {
    bytes: Vec<u8>,
    /// A record was written in part: nothing can follow it.
    is_broken: bool,
}

impl Channel {
    /// A connection as it is.
    pub fn plain(stream: TcpStream) -> Self {
        Self {
            stream: Arc::new(stream),
            seal: None,
        }
    }

    /// A connection whose both ends have shown each other the key, which they must until a moment.
    /// The stream's own limit holds for writing.
    ///
    /// # Errors
    /// They did not.
    pub fn sealed(
        stream: TcpStream,
        key: &ClusterKey,
        end: End,
        until: Instant,
    ) -> Result<Self, Unsealed> {
        let begun = match end {
            End::Caller => ServerName::try_from("limn")
                .map_err(|_| rustls::Error::General("no name".into()))
                .and_then(|name| ClientConnection::new(Arc::clone(&key.caller), name))
                .map(Connection::from),
            End::Answerer => ServerConnection::new(Arc::clone(&key.answerer)).map(Connection::from),
        };
        let mut tls = begun.map_err(|error| Unsealed::Broken(io::Error::other(error)))?;
        let mut io = Until {
            stream: &stream,
            until,
        };
        while tls.is_handshaking() {
            if let Err(error) = tls.complete_io(&mut io) {
                // The other end learns why, if it still listens.
                while tls.wants_write() && tls.write_tls(&mut io).is_ok_and(|said| said > 0) {}
                return Err(unsealed(error));
            }
        }
        Ok(Self {
            stream: Arc::new(stream),
            seal: Some(Arc::new(Seal {
                tls: Mutex::new(tls),
                incoming: Mutex::default(),
                outgoing: Mutex::default(),
            })),
        })
    }

    /// A reader for which the time runs out at a moment, however slowly bytes come. It changes the
    /// limit of reading.
    pub fn until(&self, until: Instant) -> impl Read {
        UntilRead {
            channel: self,
            until,
        }
    }

    /// Whether what a plain connection brings first is of one that the other end seals.
    ///
    /// # Errors
    /// Nothing came until a moment.
    pub fn meets_tls(&self, until: Instant) -> io::Result<bool> {
        if self.seal.is_some() {
            return Ok(false);
        }
        let mut first = [0];
        self.stream.set_read_timeout(Some(left(until)?))?;
        let came = self.stream.peek(&mut first)?;
        Ok(came > 0 && [HANDSHAKE, ALERT].contains(&first[0]))
    }

    /// How long reading may wait.
    ///
    /// # Errors
    /// The connection's.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(limit)
    }

    /// How long writing may wait.
    ///
    /// # Errors
    /// The connection's.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.stream.set_write_timeout(limit)
    }

    /// Whether reading and writing never wait.
    ///
    /// # Errors
    /// The connection's.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    /// Ends one direction or both. Who reads a sealed connection learns that it was not cut.
    ///
    /// # Errors
    /// The connection's.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if let (Some(seal), Shutdown::Write | Shutdown::Both) = (&self.seal, how) {
            let mut outgoing = lock(&seal.outgoing);
            lock(&seal.tls).send_close_notify();
            // Where the other end has closed already, nobody needs to know.
            let _ = outgoing.write(&seal.tls, &self.stream);
        }
        self.stream.shutdown(how)
    }

    /// Whether the other end has not closed it. What that has sent is thrown away: the connection
    /// is of no use afterwards.
    pub fn is_open(&self) -> bool {
        let mut stream = &*self.stream;
        let mut thrown_away = [0; 1 << 12];
        if self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        loop {
            match stream.read(&mut thrown_away) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
}

impl Read for &Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.seal {
            None => (&*self.stream).read(buffer),
            Some(seal) => seal.read(&self.stream, buffer),
        }
    }
}

impl Write for &Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.seal {
            None => (&*self.stream).write(bytes),
            Some(seal) => seal.write(&self.stream, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is kept back.
        Ok(())
    }
}

impl Seal {
    fn read(&self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = lock(&self.incoming);
        let mut is_over = false;
        loop {
            let opened = incoming.open(&mut lock(&self.tls), buffer);
            match opened {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_over => {}
                opened => return opened,
            }
            // Only one thread reads; nobody else waits for this.
            if incoming.fill(stream)? == 0 {
                lock(&self.tls).read_tls(&mut io::empty())?;
                is_over = true;
            }
        }
    }

    /// Takes some of the bytes, seals and writes them.
    fn write(&self, stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let mut outgoing = lock(&self.outgoing);
        let taken = lock(&self.tls).writer().write(bytes)?;
        outgoing.write(&self.tls, stream)?;
        Ok(taken)
    }
}

impl Incoming {
    /// Opens what was read, as far as there is room for it.
    fn open(&mut self, tls: &mut Connection, buffer: &mut [u8]) -> io::Result<usize> {
        let mut opened = 0;
        loop {
            match tls.reader().read(&mut buffer[opened..]) {
                Ok(0) => return Ok(opened),
                Ok(read) => opened += read,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock && opened == 0 => {
                    return Err(error);
                }
                Err(_) if self.from == self.to => break,
                Err(_) => {
                    self.from += tls.read_tls(&mut &self.bytes[self.from..self.to])?;
                    tls.process_new_packets().map_err(invalid)?;
                }
            }
        }
        if opened == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(opened)
    }

    fn fill(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        self.bytes.resize(AT_ONCE, 0);
        (self.from, self.to) = (0, 0);
        self.to = stream.read(&mut self.bytes)?;
        Ok(self.to)
    }
}

impl Outgoing {
    /// Writes all that is sealed.
    fn write(&mut self, tls: &Mutex<Connection>, mut stream: &TcpStream) -> io::Result<()> {
        if self.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.bytes.clear();
        {
            let mut tls = lock(tls);
            while tls.wants_write() {
                tls.write_tls(&mut self.bytes)?;
            }
        }
        let written = stream.write_all(&self.bytes);
        self.is_broken = written.is_err();
        written
    }
}

/// Reads and writes until a moment.
struct Until<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct UntilRead<'a> {
    channel: &'a Channel,
    until: Instant,
}

impl Read for UntilRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.channel.set_read_timeout(Some(left(self.until)?))?;
        let mut channel = self.channel;
        channel.read(buffer)
    }
}

/// The time until a moment, which is not over.
///
/// # Errors
/// It is: `TimedOut`.
pub fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    Ok(left)
}

fn unsealed(error: io::Error) -> Unsealed {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(
            rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
            | rustls::Error::AlertReceived(AlertDescription::AccessDenied),
        ) => Unsealed::OtherKey,
        Some(rustls::Error::InvalidMessage(_)) => Unsealed::Plain,
        _ => Unsealed::Broken(error),
    }
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
