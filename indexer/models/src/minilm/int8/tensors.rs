//! Reading single tensors of a safetensors file, without holding the file in memory.
//!
//! The format: eight bytes of length (little-endian), that many bytes of JSON that give each
//! tensor's type, shape and place, then the numbers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

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

    /// The same, as the little-endian bytes they are in the file.
    pub fn bytes(&mut self, name: &str, shape: &[usize]) -> Result<Vec<u8>, String> {
        let tensor = self
            .tensors
            .get(name)
            .ok_or_else(|| format!("it has no tensor {name}"))?;
        let (begin, end) = tensor.data_offsets;
        let length = shape.iter().product::<usize>() * 4;
        if tensor.dtype != "F32"
            || tensor.shape != shape
            || begin.checked_add(length as u64) != Some(end)
        {
            return Err(format!(
                "its tensor {name} is {} {:?}, not F32 {shape:?}",
                tensor.dtype, tensor.shape
            ));
        }
        let mut bytes = vec![0; length];
        self.file
            .seek(SeekFrom::Start(self.start.saturating_add(begin)))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| format!("its tensor {name} cannot be read: {error}"))?;
        Ok(bytes)
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
        for (name, shape) in [("a", 3), ("b", 4), ("c", 2)] {
            assert!(
                file.floats(name, &[shape]).unwrap_err().contains(name),
                "{name}"
            );
        }
        assert!(open(&bytes[..20]).is_err() && open(&[255; 40]).is_err() && open(&[]).is_err());
    }
}
