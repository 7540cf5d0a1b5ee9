//! Reading single tensors of a safetensors file, without holding the file in memory.
//!
//! The format: eight bytes of length (little-endian), that many bytes of JSON that give each
//! tensor's type, shape and place, then the numbers.
//!
//! Nothing that the header claims is believed: tensors lie within the file, and only those of the
//! size that was asked for are read.
//!
//! `unsafe` here: mapping a file. A map is sound as long as nobody changes or truncates the file
//! behind it. A model's files are put into the model store under another name, checked against
//! their hash and moved into place, and nothing in limn opens one for writing again; those of a
//! person's own folder are only read. Somebody who truncates one by hand while it is used kills
//! who uses it (SIGBUS).

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use half::{bf16, f16};
use memmap2::{Advice, Mmap};
use serde::Deserialize;

/// A header is a few kilobytes; more than this is no safetensors file.
const LONGEST_HEADER: u64 = 16 << 20;
/// Bytes of a matrix that are looked through at a time: a multiple of any number's.
const PART: u64 = 1 << 20;

/// Why the tensors of a file are not those of an encoder.
#[derive(Debug, thiserror::Error)]
pub(super) enum TensorError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is shorter than any header of the format.
    #[error("not in safetensors format: it has no header: {0}")]
    Short(io::Error),
    /// The numbers of a tensor cannot be read.
    #[error("its tensor {name} cannot be read: {cause}")]
    Unread {
        /// Its name.
        name: String,
        /// Why not.
        cause: io::Error,
    },
    /// It begins with no header of the format.
    #[error(
        "not in safetensors format: its header claims {claimed} bytes; expected {LONGEST_HEADER} at most, within the file's {file}"
    )]
    NoHeader {
        /// What its first bytes say.
        claimed: u64,
        /// Bytes of the file.
        file: u64,
    },
    /// Its header is no JSON of the format.
    #[error("its header is damaged: {0}")]
    Header(#[from] serde_json::Error),
    /// A tensor is not there.
    #[error("it has no tensor {0}")]
    Missing(String),
    /// A tensor has other numbers, or is of another shape.
    #[error("its tensor {name} is {dtype} {found:?}; expected F32, F16 or BF16 {expected:?}")]
    Other {
        /// Its name.
        name: String,
        /// The type of its numbers.
        dtype: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape that the configuration asks for.
        expected: Vec<usize>,
    },
    /// A tensor's place has another length than its numbers.
    #[error("its tensor {name} claims the bytes {begin} to {end}; expected {length} bytes")]
    Place {
        /// Its name.
        name: String,
        /// Where it begins.
        begin: u64,
        /// Where it ends.
        end: u64,
        /// Bytes that its numbers take.
        length: u64,
    },
    /// A tensor lies beyond the end of the file.
    #[error("its tensor {0} is cut off: the file is too short")]
    CutOff(String),
    /// A tensor has a number that makes vectors without numbers.
    #[error(
        "its tensor {0} has a number that is not finite (NaN or infinity); expected finite weights"
    )]
    NotFinite(String),
    /// The library of the float engine refuses a tensor.
    #[error("its tensors cannot be used: {0}")]
    Engine(String),
}

/// An open safetensors file.
pub(super) struct TensorFile {
    file: File,
    /// Where the numbers begin, and the file ends.
    start: u64,
    end: u64,
    tensors: HashMap<String, Tensor>,
}

/// The little-endian numbers of a matrix, where they are in the file: in memory is what is looked
/// at, and the system may take it back.
pub(super) struct Mapped {
    file: Mmap,
    range: Range<usize>,
    kind: Kind,
    /// Numbers of a row.
    width: usize,
}

/// What numbers are in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F32,
    F16,
    Bf16,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        match name {
            "F32" => Some(Self::F32),
            "F16" => Some(Self::F16),
            "BF16" => Some(Self::Bf16),
            _ => None,
        }
    }

    /// Bytes of a number.
    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Whether all of the numbers are finite. It looks at every one, so that it does so at many at
    /// a time.
    fn are_finite(self, bytes: &[u8]) -> bool {
        match self {
            Self::F32 => (bytes.as_chunks::<4>().0.iter())
                .fold(true, |all, it| all & f32::from_le_bytes(*it).is_finite()),
            Self::F16 => (bytes.as_chunks::<2>().0.iter())
                .fold(true, |all, it| all & f16::from_le_bytes(*it).is_finite()),
            Self::Bf16 => (bytes.as_chunks::<2>().0.iter())
                .fold(true, |all, it| all & bf16::from_le_bytes(*it).is_finite()),
        }
    }

    /// Writes the numbers, as many as there are places.
    #[inline(always)]
    fn write(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Self::F32 => {
                let numbers = out.iter_mut().zip(bytes.as_chunks::<4>().0);
                numbers.for_each(|(out, bytes)| *out = f32::from_le_bytes(*bytes));
            }
            Self::F16 => {
                let numbers = out.iter_mut().zip(bytes.as_chunks::<2>().0);
                numbers.for_each(|(out, bytes)| *out = f16::from_le_bytes(*bytes).to_f32());
            }
            Self::Bf16 => {
                let numbers = out.iter_mut().zip(bytes.as_chunks::<2>().0);
                numbers.for_each(|(out, bytes)| *out = bf16::from_le_bytes(*bytes).to_f32());
            }
        }
    }
}

impl Mapped {
    /// The bytes, where the numbers are 32-bit floats.
    #[cfg(any(feature = "cuda", test))]
    pub fn as_f32_bytes(&self) -> Option<&[u8]> {
        (self.kind == Kind::F32).then(|| self.bytes())
    }

    fn bytes(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }

    /// Writes a row's numbers.
    #[inline(always)]
    pub fn row(&self, row: usize, out: &mut [f32]) {
        let length = self.width * self.kind.size();
        let bytes = &self.bytes()[row * length..][..length];
        self.kind.write(bytes, out);
    }
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (u64, u64),
}

/// Where a tensor's numbers are, and what they are.
struct Place {
    range: Range<u64>,
    kind: Kind,
}

impl TensorFile {
    pub fn open(path: &Path) -> Result<Self, TensorError> {
        let mut file = File::open(path)?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(TensorError::Short)?;
        let length = u64::from_le_bytes(length);
        let end = file.metadata()?.len();
        if length > LONGEST_HEADER || length + 8 > end {
            return Err(TensorError::NoHeader {
                claimed: length,
                file: end,
            });
        }
        let mut header = Vec::new();
        (&mut file).take(length).read_to_end(&mut header)?;
        let mut entries: HashMap<String, serde_json::Value> = serde_json::from_slice(&header)?;
        entries.remove("__metadata__");
        let tensors = entries
            .into_iter()
            .map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)));
        Ok(Self {
            file,
            start: length + 8,
            end,
            tensors: tensors.collect::<Result<_, serde_json::Error>>()?,
        })
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The numbers of a tensor of that very shape, all of them finite.
    pub fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TensorError> {
        let Place { range, kind } = self.place(name, shape)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let sought = self.file.seek(SeekFrom::Start(range.start));
        let read = sought.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|cause| TensorError::Unread {
            name: name.to_owned(),
            cause,
        })?;
        if !kind.are_finite(&bytes) {
            return Err(TensorError::NotFinite(name.to_owned()));
        }
        let mut numbers = vec![0.0; bytes.len() / kind.size()];
        kind.write(&bytes, &mut numbers);
        Ok(numbers)
    }

    /// Refuses a matrix with a number that is not finite, without holding it in memory.
    pub fn check_finite(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
    ) -> Result<(), TensorError> {
        let Place { range, kind } = self.place(name, &[rows, width])?;
        let unread = |cause| TensorError::Unread {
            name: name.to_owned(),
            cause,
        };
        let sought = self.file.seek(SeekFrom::Start(range.start));
        sought.map_err(unread)?;
        let mut left = range.end - range.start;
        let mut part = vec![0; left.min(PART) as usize];
        while left > 0 {
            let bytes = &mut part[..left.min(PART) as usize];
            self.file.read_exact(bytes).map_err(unread)?;
            if !kind.are_finite(bytes) {
                return Err(TensorError::NotFinite(name.to_owned()));
            }
            left -= bytes.len() as u64;
        }
        Ok(())
    }

    /// A matrix, left in the file: for one of which little is looked at.
    pub fn mapped(&self, name: &str, rows: usize, width: usize) -> Result<Mapped, TensorError> {
        let Place { range, kind } = self.place(name, &[rows, width])?;
        // SAFETY: see the module's text: the file is not changed while it is mapped.
        let map = unsafe { Mmap::map(&self.file) };
        let file = map?;
        // Best effort.
        let _ = file.advise(Advice::Random);
        let range = range.start as usize..range.end as usize;
        if range.end > file.len() {
            return Err(TensorError::CutOff(name.to_owned()));
        }
        Ok(Mapped {
            file,
            range,
            kind,
            width,
        })
    }

    /// Where in the file the numbers of a tensor of that very shape are.
    fn place(&self, name: &str, shape: &[usize]) -> Result<Place, TensorError> {
        let named = || name.to_owned();
        let tensor = self.tensors.get(name);
        let tensor = tensor.ok_or_else(|| TensorError::Missing(named()))?;
        let kind = Kind::of(&tensor.dtype).filter(|_| tensor.shape == shape);
        let kind = kind.ok_or_else(|| TensorError::Other {
            name: named(),
            dtype: tensor.dtype.clone(),
            found: tensor.shape.clone(),
            expected: shape.to_owned(),
        })?;
        let (begin, end) = tensor.data_offsets;
        let length = (shape.iter().product::<usize>() * kind.size()) as u64;
        if begin.checked_add(length) != Some(end) {
            return Err(TensorError::Place {
                name: named(),
                begin,
                end,
                length,
            });
        }
        let to = self.start.checked_add(end).filter(|to| *to <= self.end);
        let to = to.ok_or_else(|| TensorError::CutOff(named()))?;
        Ok(Place {
            range: to - length..to,
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn open(bytes: &[u8]) -> Result<TensorFile, TensorError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), bytes).unwrap();
        TensorFile::open(&folder.path().join("x"))
    }

    /// Whether it failed, and says this.
    fn says<T>(outcome: Result<T, TensorError>, said: &str) -> bool {
        outcome.is_err_and(|error| error.to_string().contains(said))
    }

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(numbers);
        bytes
    }

    #[test]
    fn tensors_are_read_and_misfits_named() {
        let header = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]},"m":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"n":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#;
        let numbers = [1.5_f32, -2.0, 3.0].map(f32::to_le_bytes).concat();
        let bytes = file(header, &numbers);
        let mut file = open(&bytes).unwrap();
        assert_eq!(file.floats("a", &[2]).unwrap(), [1.5, -2.0]);
        let mapped = file.mapped("m", 1, 2).unwrap();
        let mut row = [0.0; 2];
        mapped.row(0, &mut row);
        assert_eq!(row, [1.5, -2.0]);
        for (name, shape) in [("a", 3), ("b", 4), ("c", 2), ("n", 1)] {
            assert!(says(file.floats(name, &[shape]), name), "{name}");
            assert!(says(file.mapped(name, 1, shape), name), "{name}");
        }
        assert!(open(&bytes[..20]).is_err() && open(&[255; 40]).is_err() && open(&[]).is_err());
    }

    #[test]
    fn numbers_of_sixteen_bits_are_read() {
        let header = r#"{"h":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]}}"#;
        let halves = [f16::from_f32(0.1), f16::from_f32(-6e-8)].map(f16::to_le_bytes);
        let brains = [bf16::from_f32(0.1), bf16::from_f32(-3e38)].map(bf16::to_le_bytes);
        let mut file = open(&file(header, &[halves.concat(), brains.concat()].concat())).unwrap();
        for (name, right) in [
            (
                "h",
                [f16::from_f32(0.1).to_f32(), f16::from_f32(-6e-8).to_f32()],
            ),
            (
                "b",
                [bf16::from_f32(0.1).to_f32(), bf16::from_f32(-3e38).to_f32()],
            ),
        ] {
            assert_eq!(file.floats(name, &[1, 2]).unwrap(), right);
            let mut row = [0.0; 2];
            file.mapped(name, 1, 2).unwrap().row(0, &mut row);
            assert_eq!(row, right);
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused_wherever_they_are() {
        // Of 32 bits, the last one begins a second part.
        const ROWS: usize = PART as usize / 4 + 1;
        let bytes_of = |kind: Kind, number: f32| match kind {
            Kind::F32 => number.to_le_bytes().to_vec(),
            Kind::F16 => f16::from_f32(number).to_le_bytes().to_vec(),
            Kind::Bf16 => bf16::from_f32(number).to_le_bytes().to_vec(),
        };
        for (word, kind) in [("F32", Kind::F32), ("F16", Kind::F16), ("BF16", Kind::Bf16)] {
            let length = ROWS * kind.size();
            let header = format!(
                r#"{{"a":{{"dtype":"{word}","shape":[{ROWS},1],"data_offsets":[0,{length}]}}}}"#
            );
            let outcomes = |at: usize, number: f32| {
                let mut numbers = vec![0; length];
                let place = at * kind.size()..(at + 1) * kind.size();
                numbers[place].copy_from_slice(&bytes_of(kind, number));
                let mut opened = open(&file(&header, &numbers)).unwrap();
                let read = opened.floats("a", &[ROWS, 1]).map(|_| ());
                [read, opened.check_finite("a", ROWS, 1)]
            };
            for at in [0, 7, ROWS - 1] {
                for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    for outcome in outcomes(at, number) {
                        assert!(says(outcome, "tensor a has a number that is not finite"));
                    }
                }
                for number in [65504.0, -65504.0, 6e-8, -0.0] {
                    assert!(outcomes(at, number).iter().all(Result::is_ok), "{number}");
                }
            }
        }
    }

    #[test]
    fn claims_beyond_the_file_are_refused() {
        let claimed = [
            // A header as long as all memory, and one longer than the file.
            [u64::MAX.to_le_bytes().to_vec(), b"{}".to_vec()].concat(),
            [1000_u64.to_le_bytes().to_vec(), b"{}".to_vec()].concat(),
        ];
        for bytes in claimed {
            assert!(says(open(&bytes), "claims"));
        }
        let beyond = r#"{"a":{"dtype":"F32","shape":[1000000],"data_offsets":[0,4000000]},"b":{"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]}}"#;
        let mut opened = open(&file(beyond, &[0; 8])).unwrap();
        assert!(says(opened.floats("a", &[1_000_000]), "cut off"));
        assert!(opened.floats("b", &[2]).is_err());
    }
}
