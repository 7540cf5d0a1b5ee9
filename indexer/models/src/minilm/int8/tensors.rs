//! Reading single tensors of a safetensors file, without holding the file in memory.
//!
//! The format: eight bytes of length (little-endian), that many bytes of JSON that give each
//! tensor's type, shape and place, then the numbers.
//!
//! `unsafe` here: mapping a file. A map is sound as long as nobody changes or truncates the file
//! behind it. A model's files are put into the model store under another name, checked against
//! their hash and moved into place, and nothing in limn opens one for writing again. Somebody who
//! truncates one by hand while it is used kills who uses it (SIGBUS).

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use memmap2::{Advice, Mmap};
use serde::Deserialize;

/// A header is a few kilobytes; more than this is no safetensors file.
const LONGEST_HEADER: u64 = 16 << 20;

/// An open safetensors file.
pub(super) struct TensorFile {
    file: File,
    /// Where the numbers begin.
    start: u64,
    tensors: HashMap<String, Tensor>,
}

/// The little-endian numbers of a tensor, where they are in the file: in memory is what is looked
/// at, and the system may take it back.
pub(super) struct Mapped {
    file: Mmap,
    range: Range<usize>,
}

impl std::ops::Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

impl TensorFile {
    pub fn open(path: &Path) -> Result<Self, String> {
        let mut file = File::open(path).map_err(|error| error.to_string())?;
        let mut length = [0; 8];
        file.read_exact(&mut length)
            .map_err(|error| format!("no header: {error}"))?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER {
            return Err("not in safetensors format".to_owned());
        }
        let mut header = Vec::new();
        (&mut file)
            .take(length)
            .read_to_end(&mut header)
            .map_err(|error| error.to_string())?;
        let mut entries: HashMap<String, serde_json::Value> = serde_json::from_slice(&header)
            .map_err(|error| format!("its header is damaged: {error}"))?;
        entries.remove("__metadata__");
        let tensors = entries
            .into_iter()
            .map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)));
        let tensors = tensors.collect::<Result<_, serde_json::Error>>();
        let tensors = tensors.map_err(|error| format!("its header is damaged: {error}"))?;
        Ok(Self {
            file,
            start: length + 8,
            tensors,
        })
    }

    /// The numbers of a tensor of 32-bit floats of that very shape.
    pub fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let bytes = self.bytes(name, shape)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect())
    }

    /// The same, left in the file: for a tensor of which little is looked at.
    pub fn mapped(&self, name: &str, shape: &[usize]) -> Result<Mapped, String> {
        let range = self.place(name, shape)?;
        // SAFETY: see the module's text: the file is not changed while it is mapped.
        let map = unsafe { Mmap::map(&self.file) };
        let file = map.map_err(|error| format!("it cannot be mapped: {error}"))?;
        // Best effort.
        let _ = file.advise(Advice::Random);
        let range = range.start as usize..range.end as usize;
        if range.end > file.len() {
            return Err(format!("its tensor {name} is cut off"));
        }
        Ok(Mapped { file, range })
    }

    /// The same, as the little-endian bytes they are in the file.
    fn bytes(&mut self, name: &str, shape: &[usize]) -> Result<Vec<u8>, String> {
        let place = self.place(name, shape)?;
        let mut bytes = vec![0; (place.end - place.start) as usize];
        self.file
            .seek(SeekFrom::Start(place.start))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| format!("its tensor {name} cannot be read: {error}"))?;
        Ok(bytes)
    }

    /// Where in the file the numbers of a tensor of that very shape are.
    fn place(&self, name: &str, shape: &[usize]) -> Result<Range<u64>, String> {
        let tensor = self
            .tensors
            .get(name)
            .ok_or_else(|| format!("it has no tensor {name}"))?;
        let (begin, end) = tensor.data_offsets;
        let length = shape.iter().product::<usize>() * 4;
        let place = self
            .start
            .checked_add(begin)
            .zip(self.start.checked_add(end));
        let (Some((from, to)), true) = (
            place,
            tensor.dtype == "F32"
                && tensor.shape == shape
                && begin.checked_add(length as u64) == Some(end),
        ) else {
            return Err(format!(
                "its tensor {name} is {} {:?}, not F32 {shape:?}",
                tensor.dtype, tensor.shape
            ));
        };
        Ok(from..to)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn open(bytes: &[u8]) -> Result<TensorFile, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), bytes).unwrap();
        TensorFile::open(&folder.path().join("x"))
    }

    #[test]
    fn tensors_are_read_and_misfits_named() {
        let header = br#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header);
        bytes.extend(
            [1.5_f32, -2.0, 3.0]
                .iter()
                .flat_map(|number| number.to_le_bytes()),
        );
        let mut file = open(&bytes).unwrap();
        assert_eq!(file.floats("a", &[2]).unwrap(), [1.5, -2.0]);
        let mapped = file.mapped("a", &[2]).unwrap();
        assert_eq!(
            *mapped,
            [1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat()
        );
        for (name, shape) in [("a", 3), ("b", 4), ("c", 2)] {
            assert!(
                file.floats(name, &[shape]).unwrap_err().contains(name),
                "{name}"
            );
            assert!(
                file.mapped(name, &[shape])
                    .is_err_and(|error| error.contains(name)),
                "{name}"
            );
        }
        assert!(open(&bytes[..20]).is_err() && open(&[255; 40]).is_err() && open(&[]).is_err());
    }
}
