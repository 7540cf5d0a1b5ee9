//! Compression around text formats: recognised by the last extension of a name, and by a file's
//! first bytes.

use crate::member::{extension, meaning};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compression {
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878, one frame or several.
    Zstd,
    /// One stream or several.
    Bzip2,
    /// One stream or several.
    Xz,
}

const ALL: [Compression; 4] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Bzip2,
    Compression::Xz,
];

impl Compression {
    /// What a name's last extension says.
    pub(crate) fn of_path(path: &str) -> Option<Compression> {
        Compression::of_extension(extension(path)?)
    }

    /// What an extension says.
    pub(crate) fn of_extension(extension: &str) -> Option<Compression> {
        meaning(extension, |it| match it {
            b"gz" | b"gzip" => Some(Compression::Gzip),
            b"zst" | b"zstd" => Some(Compression::Zstd),
            b"bz2" => Some(Compression::Bzip2),
            b"xz" => Some(Compression::Xz),
            _ => None,
        })
    }

    /// What a file's first bytes say.
    pub(crate) fn of_content(beginning: &[u8]) -> Option<Compression> {
        let begins = |it: &Compression| match it {
            Compression::Gzip => beginning.starts_with(b"\x1f\x8b\x08"),
            Compression::Zstd => beginning.starts_with(b"\x28\xb5\x2f\xfd"),
            Compression::Bzip2 => {
                // The level, then the first block's mark or that of an end without any block.
                matches!(beginning, [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
                    if rest.starts_with(b"\x31\x41\x59\x26\x53\x59") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90"))
            }
            Compression::Xz => beginning.starts_with(b"\xfd7zXZ\0"),
        };
        ALL.into_iter().find(begins)
    }
}

/// A path without the extension that says how the file is compressed.
pub fn without_compression(path: &str) -> &str {
    let dot = Compression::of_path(path).and_then(|_| path.rfind('.'));
    dot.map_or(path, |dot| &path[..dot])
}
