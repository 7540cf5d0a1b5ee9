//! Unpacking with an end: no more than was asked for is ever held, whatever the packed bytes claim.

use std::io::{self, Read};

/// How bytes are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    /// RFC 1951, without a header.
    Deflate,
    /// Raw blocks, as of Snappy's format description.
    Snappy,
    Zstd,
    /// Frames, as of LZ4's frame format.
    Lz4Frame,
    /// A single block without its length.
    Lz4Block,
}

/// Why bytes were not unpacked.
#[derive(Debug)]
pub(super) enum Refused {
    /// They are more than may be held.
    TooMuch,
    /// They are not what they should be.
    Broken(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Broken(error)
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Refused {
    Refused::Broken(io::Error::other(error))
}

impl Codec {
    /// Unpacks everything, if that is not more than `most` bytes.
    pub(super) fn unpack(self, packed: &[u8], most: u64) -> Result<Vec<u8>, Refused> {
        let most_here = usize::try_from(most).unwrap_or(usize::MAX);
        match self {
            Codec::Snappy => {
                let length = snap::raw::decompress_len(packed).map_err(broken)?;
                // No byte of a sound block stands for more than 64.
                if length > most_here || length / 64 > packed.len() {
                    return Err(Refused::TooMuch);
                }
                let decoder = &mut snap::raw::Decoder::new();
                decoder.decompress_vec(packed).map_err(broken)
            }
            Codec::Lz4Block => {
                // No byte of a block stands for more than 255.
                let room = most_here.min(packed.len().saturating_mul(255).saturating_add(64));
                let mut unpacked = vec![0; room];
                let length =
                    lz4_flex::block::decompress_into(packed, &mut unpacked).map_err(broken)?;
                unpacked.truncate(length);
                Ok(unpacked)
            }
            _ => {
                let unpacked = self.beginning(packed, most.saturating_add(1))?;
                if unpacked.len() as u64 > most {
                    return Err(Refused::TooMuch);
                }
                Ok(unpacked)
            }
        }
    }

    /// The first `length` bytes, or fewer if there are fewer. Blocks that have no beginning
    /// ([`Codec::Snappy`], [`Codec::Lz4Block`]) are unpacked whole.
    pub(super) fn beginning(self, packed: &[u8], length: u64) -> Result<Vec<u8>, Refused> {
        let mut unpacked = Vec::new();
        match self {
            Codec::Deflate => {
                let decoder = flate2::read::DeflateDecoder::new(packed);
                decoder.take(length).read_to_end(&mut unpacked)?;
            }
            Codec::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(packed)?;
                decoder.window_log_max(WINDOW_LOG)?;
                decoder.take(length).read_to_end(&mut unpacked)?;
            }
            Codec::Lz4Frame => {
                let decoder = lz4_flex::frame::FrameDecoder::new(packed);
                decoder.take(length).read_to_end(&mut unpacked)?;
            }
            Codec::Snappy | Codec::Lz4Block => return self.unpack(packed, length),
        }
        Ok(unpacked)
    }
}

/// The longest window of Zstandard that is held, as a power of two: 32 MiB.
const WINDOW_LOG: u32 = 25;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::io::Write;

    use super::*;

    fn packed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
        match codec {
            Codec::Deflate => {
                let mut encoder =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
            Codec::Zstd => zstd::encode_all(bytes, 3).unwrap(),
            Codec::Lz4Frame => {
                let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Codec::Lz4Block => lz4_flex::block::compress(bytes),
        }
    }

    const ALL: [Codec; 5] = [
        Codec::Deflate,
        Codec::Snappy,
        Codec::Zstd,
        Codec::Lz4Frame,
        Codec::Lz4Block,
    ];

    #[test]
    fn what_was_packed_comes_back_if_there_is_room() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i / 100) as u8).collect();
        for codec in ALL {
            let packed = packed(codec, &bytes);
            assert!(packed.len() < bytes.len() / 2, "{codec:?}");
            assert_eq!(codec.unpack(&packed, 100_000).unwrap(), bytes, "{codec:?}");
            assert!(codec.unpack(&packed, 99_999).is_err(), "{codec:?}");
            assert_eq!(codec.unpack(&packed, u64::MAX).unwrap(), bytes, "{codec:?}");
        }
    }

    #[test]
    fn a_beginning_is_no_longer_than_asked_for() {
        let bytes = vec![7; 1 << 20];
        for codec in [Codec::Deflate, Codec::Zstd, Codec::Lz4Frame] {
            let packed = packed(codec, &bytes);
            assert_eq!(
                codec.beginning(&packed, 10).unwrap(),
                bytes[..10],
                "{codec:?}"
            );
        }
    }

    #[test]
    fn broken_bytes_are_refused() {
        for codec in ALL {
            for bytes in [&b"\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8"[..], &[0xf0; 100]] {
                assert!(codec.unpack(bytes, 1 << 20).is_err(), "{codec:?}");
            }
            let mut cut = packed(codec, &(0..=255).collect::<Vec<u8>>());
            cut.truncate(cut.len() / 2);
            assert!(codec.unpack(&cut, 1 << 20).is_err(), "{codec:?}");
        }
    }
}
