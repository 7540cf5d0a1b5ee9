//! Frames: what two processes send each other, as JSON with its length before it.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest frame that is read: whoever sends more is no process of ours. What is to be said of
/// a share of a large lake may be long.
const LONGEST: u32 = 512 << 20;

/// Writes one frame.
///
/// # Errors
/// The connection's, and `FileTooLarge` for what no process would read.
pub fn write<T: Serialize>(mut to: impl Write, message: &T) -> io::Result<()> {
    let mut frame = vec![0; size_of::<u32>()];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - size_of::<u32>());
    let length = length.ok().filter(|length| *length <= LONGEST);
    let Some(length) = length else {
        let cause = format!("{} bytes are too much for a message", frame.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, cause));
    };
    frame[..size_of::<u32>()].copy_from_slice(&length.to_be_bytes());
    to.write_all(&frame)?;
    to.flush()
}

/// Reads one frame.
///
/// # Errors
/// The connection's, and `InvalidData` for what is no frame of this type.
pub fn read<T: DeserializeOwned>(from: impl Read) -> io::Result<T> {
    read_up_to(from, LONGEST)
}

/// Reads one frame of at most `longest` bytes.
///
/// # Errors
/// As [`read`].
pub fn read_up_to<T: DeserializeOwned>(mut from: impl Read, longest: u32) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > longest {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes"),
        ));
    }
    // Memory is taken for what has come, not for what is claimed.
    let mut json = Vec::new();
    from.take(length.into()).read_to_end(&mut json)?;
    if json.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&json)?)
}
