//! A data connection as timely reads and writes it, which reports its loss.
//!
//! Timely's network threads panic when a connection breaks, or brings what timely did not write,
//! and the panic poisons the workers. This one reports the loss and stops where it is: the run ends
//! with an error instead, and the process with it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::ops::Range;
use std::sync::Arc;

use timely::communication::allocator::zero_copy::stream::Stream;

use super::channel::Channel;
use super::mesh::Mesh;

/// The bytes of the header of a message of timely's: six numbers.
const HEADER: usize = 48;
/// The longest message, in bytes: timely makes room for as many as the header says.
const LONGEST: u64 = 1 << 30;

/// A connection to one peer.
pub struct Link {
    channel: Channel,
    peer: usize,
    mesh: Arc<Mesh>,
    messages: Messages,
}

impl Link {
    /// The connection to `peer`, for these workers of this process.
    pub fn new(channel: Channel, peer: usize, workers: Range<u64>, mesh: Arc<Mesh>) -> Self {
        Self {
            channel,
            peer,
            mesh,
            messages: Messages::to(workers),
        }
    }

    /// The connection broke before its end, or is of no use: nothing goes on here.
    fn stop<T>(&self, how: &str) -> T {
        self.mesh.suspect(self.peer, how);
        loop {
            std::thread::park();
        }
    }

    fn closed<T>(&self) -> T {
        self.stop("its data connection closed")
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut channel = &self.channel;
        loop {
            match channel.read(buffer) {
                Ok(0) if !self.messages.are_over && !buffer.is_empty() => self.closed(),
                Ok(read) if self.messages.go_on(&buffer[..read]) => return Ok(read),
                Ok(_) => self.stop("its data made no sense"),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed(),
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut channel = &self.channel;
        loop {
            match channel.write(bytes) {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.closed(),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut channel = &self.channel;
        channel.flush()
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        let workers = self.messages.workers.clone();
        let channel = self.channel.clone();
        Ok(Self::new(
            channel,
            self.peer,
            workers,
            Arc::clone(&self.mesh),
        ))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.channel.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // Where the other side has closed already, there is nothing to end.
        let _ = self.channel.shutdown(how);
        Ok(())
    }
}

/// Where one message ends and the next begins. Timely trusts the headers; here they are checked.
#[derive(Debug)]
struct Messages {
    /// The workers of this process, by their numbers among all.
    workers: Range<u64>,
    header: [u8; HEADER],
    /// Bytes of the header that were read.
    read: usize,
    /// Bytes of the message that are to come.
    left: u64,
    /// The message without content was read, with which timely ends.
    are_over: bool,
}

impl Messages {
    fn to(workers: Range<u64>) -> Self {
        Self {
            workers,
            header: [0; HEADER],
            read: 0,
            left: 0,
            are_over: false,
        }
    }

    /// Takes in what was read; whether it can be timely's.
    fn go_on(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.are_over {
                return false;
            }
            let skipped =
                usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
            (self.left, bytes) = (self.left - skipped as u64, &bytes[skipped..]);
            let taken = (HEADER - self.read).min(bytes.len());
            self.header[self.read..self.read + taken].copy_from_slice(&bytes[..taken]);
            (self.read, bytes) = (self.read + taken, &bytes[taken..]);
            if self.read == HEADER && !self.begin() {
                return false;
            }
        }
        true
    }

    /// A header is complete. Its numbers are the channel, the sender, the first worker that the
    /// message is for, the one after the last, the length and the number of the message.
    fn begin(&mut self) -> bool {
        let mut numbers = self.header.chunks_exact(size_of::<u64>()).map(|bytes| {
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte))
        });
        let (from, to) = (numbers.nth(2).unwrap_or(0), numbers.next().unwrap_or(0));
        let length = numbers.next().unwrap_or(0);
        (self.read, self.left) = (0, length);
        self.are_over = length == 0;
        let is_for_us = self.workers.start <= from && from < to && to <= self.workers.end;
        self.are_over || is_for_us && length <= LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u64, to: u64, content: &[u8]) -> Vec<u8> {
        let length = content.len() as u64;
        let numbers = [3, 0, from, to, length, 7];
        let header = numbers.iter().flat_map(|number| number.to_be_bytes());
        header.chain(content.iter().copied()).collect()
    }

    #[test]
    fn messages_are_followed_however_they_are_cut() {
        let mut bytes = message(2, 4, &[0; 100]);
        bytes.extend(message(3, 4, &[9]));
        bytes.extend(message(0, 0, &[]));
        for size in 1..bytes.len() + 1 {
            let mut messages = Messages::to(2..4);
            for (number, piece) in bytes.chunks(size).enumerate() {
                assert!(!messages.are_over, "{size}");
                assert!(messages.go_on(piece), "{size}: {number}");
            }
            assert!(messages.are_over, "{size}");
            assert!(!messages.go_on(&[0]), "nothing follows the end");
        }
    }

    #[test]
    fn what_timely_would_stumble_over_is_refused() {
        for (from, to) in [(1, 3), (2, 5), (3, 3), (u64::MAX, 0)] {
            assert!(
                !Messages::to(2..4).go_on(&message(from, to, &[1])),
                "{from}..{to}"
            );
        }
        let mut long = message(2, 3, &[]);
        long[32..40].copy_from_slice(&(LONGEST + 1).to_be_bytes());
        assert!(!Messages::to(2..4).go_on(&long));
        assert!(!Messages::to(2..4).go_on(&[b'x'; HEADER]));
    }
}
