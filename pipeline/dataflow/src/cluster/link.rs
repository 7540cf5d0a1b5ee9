//! A data connection as timely reads and writes it, which reports its loss.
//!
//! Timely's network threads panic when a connection breaks, and the panic poisons the workers. This
//! one reports the loss and stops where it is: the run ends with an error instead, and the process
//! with it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use timely::communication::allocator::zero_copy::stream::Stream;

use super::mesh::Mesh;

/// The bytes of the header of no message, with which timely's streams end: so many zeros.
const END: usize = 48;

/// A connection to one peer.
pub struct Link {
    stream: TcpStream,
    peer: usize,
    mesh: Arc<Mesh>,
    /// Zeros that were read last.
    zeros: usize,
}

impl Link {
    /// The connection to `peer`.
    pub fn new(stream: TcpStream, peer: usize, mesh: Arc<Mesh>) -> Self {
        Self {
            stream,
            peer,
            mesh,
            zeros: 0,
        }
    }

    /// The connection is gone before its end: nothing goes on here.
    fn stop<T>(&self) -> T {
        self.mesh.suspect(self.peer);
        loop {
            std::thread::park();
        }
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) if self.zeros < END && !buffer.is_empty() => self.stop(),
                Ok(read) => {
                    let zeros = buffer[..read].iter().rev().take_while(|byte| **byte == 0);
                    let zeros = zeros.count();
                    self.zeros = if zeros == read {
                        self.zeros + zeros
                    } else {
                        zeros
                    };
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stop(),
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.stop(),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        let stream = self.stream.try_clone()?;
        Ok(Self::new(stream, self.peer, Arc::clone(&self.mesh)))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // Where the other side is gone already, there is nothing to end.
        let _ = self.stream.shutdown(how);
        Ok(())
    }
}
