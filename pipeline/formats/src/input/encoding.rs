//! In which encoding a text is, and the text as UTF-8.
//!
//! A byte order mark says it; without one UTF-16 shows by its zero bytes and UTF-8 by being valid.
//! What is left is guessed from the letters (`chardetng`, after the detector of Firefox), and
//! noted.

use bytes::Bytes;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

use super::{Input, Piece};

/// How much of the beginning is looked at for UTF-16.
const LOOK: usize = 8 << 10;
/// How much text a guess is made from.
const GUESS_FROM: usize = 1 << 20;
/// Text with at least so many good letters beyond ASCII for each bad one is UTF-8 with some damage.
const GOOD_FOR_BAD: u64 = 8;

/// A text's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    encoding: &'static encoding_rs::Encoding,
    /// Whether the letters say it, and nothing else.
    guessed: bool,
}

impl Encoding {
    /// The encoding of a text, of which there are these pieces.
    pub(super) fn of(pieces: &[Piece]) -> Encoding {
        let known = |encoding| Encoding {
            encoding,
            guessed: false,
        };
        let beginning = &pieces[0].bytes;
        if let Some((marked, _)) = encoding_rs::Encoding::for_bom(beginning) {
            // With two more zero bytes it would be UTF-32, which no one writes.
            if !(marked == UTF_16LE && beginning.get(2..4) == Some(&[0, 0])) {
                return known(marked);
            }
        }
        if let Some(wide) = utf16(&beginning[..beginning.len().min(LOOK)]) {
            return known(wide);
        }
        if is_utf8(pieces) {
            return known(UTF_8);
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        let mut left = GUESS_FROM;
        for piece in pieces {
            let bytes = whole_lines(piece);
            let bytes = &bytes[..bytes.len().min(left)];
            detector.feed(bytes, false);
            left -= bytes.len();
        }
        detector.feed(b"", true);
        Encoding {
            encoding: detector.guess(None, Utf8Detection::Deny),
            guessed: true,
        }
    }

    /// The encoding that is declared of a text.
    pub(super) fn declared(name: &str) -> Option<Encoding> {
        Some(Encoding {
            encoding: encoding_rs::Encoding::for_label(name.as_bytes())?,
            guessed: false,
        })
    }

    /// Whether a letter takes two bytes at least: then zero bytes are no sign of binary data.
    pub(super) fn is_wide(self) -> bool {
        self.encoding == UTF_16LE || self.encoding == UTF_16BE
    }

    /// Makes the text UTF-8; bytes that mean no letter become U+FFFD. Of UTF-8 they are left to the
    /// parsers, which count them.
    pub(super) fn make_utf8(self, input: &mut Input) {
        if self.encoding == UTF_8 {
            return;
        }
        let (mut before, mut after) = (0, 0);
        let mut bad = false;
        for piece in &mut input.pieces {
            let letters = self.whole_letters(piece);
            let (text, had_errors) = self.encoding.decode_with_bom_removal(letters);
            bad |= had_errors;
            before += letters.len();
            after += text.len();
            piece.bytes = Bytes::from(text.into_owned());
        }
        input.size *= after.max(1) as f64 / before.max(1) as f64;
        let name = self.encoding.name();
        input.encoding = Some(name);
        if self.guessed {
            input.notes.push(format!(
                "not in UTF-8: read as {name}, going by its letters"
            ));
        }
        if bad {
            input
                .notes
                .push(format!("some bytes mean no letter in {name}"));
        }
    }

    /// The piece without letters that may be cut through: see [`whole_lines`].
    fn whole_letters(self, piece: &Piece) -> &[u8] {
        let mut bytes = &piece.bytes[..];
        if self.is_wide() {
            let odd = (piece.offset % 2) as usize;
            bytes = bytes.get(odd..).unwrap_or_default();
            let breaks = |pair: &[u8]| match self.encoding == UTF_16LE {
                true => pair == b"\n\0",
                false => pair == b"\0\n",
            };
            if piece.offset > 0
                && let Some(first) = bytes.chunks_exact(2).position(breaks)
            {
                bytes = &bytes[2 * first..];
            }
            if !piece.to_end
                && let Some(last) = bytes.chunks_exact(2).rposition(breaks)
            {
                bytes = &bytes[..2 * last + 2];
            }
            return bytes;
        }
        whole_lines(piece)
    }
}

/// The piece's bytes from its first line break on to its last, where it is cut out of a file: no
/// other letter has a line break's byte in any encoding that is guessed.
fn whole_lines(piece: &Piece) -> &[u8] {
    let mut bytes = &piece.bytes[..];
    let is_break = |byte: &u8| *byte == b'\n';
    if piece.offset > 0
        && let Some(first) = bytes.iter().position(is_break)
    {
        bytes = &bytes[first..];
    }
    if !piece.to_end
        && let Some(last) = bytes.iter().rposition(is_break)
    {
        bytes = &bytes[..=last];
    }
    bytes
}

/// UTF-16 without a mark: every other byte is zero in text with Latin letters, digits, commas or
/// line breaks, and what it says has no control characters.
pub(crate) fn utf16(beginning: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let zeros = |first: usize| {
        let bytes = beginning.iter().skip(first).step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let enough = |zeros: usize| zeros >= 2 && zeros * 20 >= beginning.len();
    // Letters beyond the first 256 may have a zero byte on the other side.
    let encoding = match (even, odd) {
        _ if enough(odd) && even * 10 <= odd => UTF_16LE,
        _ if enough(even) && odd * 10 <= even => UTF_16BE,
        _ => return None,
    };
    let whole = &beginning[..beginning.len() & !1];
    let (text, _) = encoding.decode_without_bom_handling(whole);
    let is_odd = |c: &char| {
        c.is_control() && !matches!(c, '\t' | '\n' | '\r')
            || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}')
    };
    // One half of a pair at the cut is no error of the text.
    let replaced = text
        .chars()
        .filter(|c| *c == char::REPLACEMENT_CHARACTER)
        .count();
    (replaced <= 1 && !text.chars().any(|c| is_odd(&c))).then_some(encoding)
}

/// Whether the pieces are UTF-8, but for letters that were cut through at their ends and for some
/// damage.
fn is_utf8(pieces: &[Piece]) -> bool {
    if pieces
        .iter()
        .all(|piece| str::from_utf8(&piece.bytes).is_ok())
    {
        return true;
    }
    let (mut good, mut bad) = (0, 0);
    for piece in pieces {
        let mut chunks = piece.bytes.utf8_chunks().enumerate().peekable();
        while let Some((i, chunk)) = chunks.next() {
            good += beyond_ascii(chunk.valid());
            let is_cut = i < 3 && piece.offset > 0 && chunk.valid().is_empty()
                || chunks.peek().is_none() && !piece.to_end;
            if !chunk.invalid().is_empty() && !is_cut {
                bad += 1;
            }
        }
    }
    bad == 0 || good >= GOOD_FOR_BAD * bad
}

fn beyond_ascii(text: &str) -> u64 {
    if text.is_ascii() {
        return 0;
    }
    text.chars().filter(|c| !c.is_ascii()).count() as u64
}
