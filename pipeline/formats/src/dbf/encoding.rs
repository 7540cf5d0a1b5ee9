//! How the texts of a dBase table are written: as its `.cpg` file says, else as the head's language
//! driver does, else as UTF-8, and what is no UTF-8 as windows-1252.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How texts become UTF-8.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    encoding: Option<&'static Encoding>,
    /// What the file says of it that is not understood.
    unknown: Option<String>,
}

impl Texts {
    /// `label` is that of a `.cpg` file or of a person, `driver` the head's byte.
    pub(super) fn of(label: Option<&str>, driver: u8) -> Texts {
        let label = label.map(str::trim).filter(|label| !label.is_empty());
        let (encoding, unknown) = match (label, code_page(driver)) {
            (Some(label), _) => (of_label(label), label.to_owned()),
            (None, Some(page)) => (of_code_page(page), format!("code page {page}")),
            (None, None) => {
                return Texts {
                    encoding: None,
                    unknown: None,
                };
            }
        };
        Texts {
            encoding,
            unknown: encoding.is_none().then_some(unknown),
        }
    }

    /// The text that bytes are, without blanks and NULs at its end.
    pub(super) fn decode<'b>(&self, bytes: &'b [u8]) -> Cow<'b, str> {
        let padding = |byte: &&u8| matches!(byte, 0 | b' ');
        let blanks = bytes.iter().rev().take_while(padding).count();
        let bytes = bytes.get(..bytes.len() - blanks).unwrap_or_default();
        match (self.encoding, std::str::from_utf8(bytes)) {
            (None, Ok(text)) => Cow::Borrowed(text),
            (None, Err(_)) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
            (Some(encoding), _) => encoding.decode_without_bom_handling(bytes).0,
        }
    }

    /// What is to be said of it, where texts have other letters than ASCII's.
    pub(super) fn note(&self) -> Option<String> {
        let shown: String = self.unknown.as_ref()?.chars().take(40).collect();
        Some(format!(
            "its encoding is none that limn knows, and text that is no UTF-8 is read as windows-1252: {}",
            shown.escape_debug()
        ))
    }
}

/// An encoding by what a `.cpg` file calls it: `UTF-8`, `1252`, `ANSI 1252`, `CP936`, `88591`,
/// `ISO 8859-1`.
fn of_label(label: &str) -> Option<&'static Encoding> {
    let label = label.to_ascii_lowercase();
    let digits = label.trim_start_matches(|c: char| !c.is_ascii_digit());
    let prefix = label.get(..label.len() - digits.len()).unwrap_or_default();
    let is_page = matches!(
        prefix.trim_end_matches([' ', '-', '_']),
        "" | "ansi" | "oem" | "cp" | "windows" | "ldid"
    );
    if let (true, Ok(page)) = (is_page, digits.parse()) {
        return of_code_page(page);
    }
    let dashed = label.replace([' ', '_'], "-");
    Encoding::for_label(label.as_bytes()).or_else(|| Encoding::for_label(dashed.as_bytes()))
}

fn of_code_page(page: u32) -> Option<&'static Encoding> {
    let label = match page {
        65_001 => return Some(UTF_8),
        866 => "ibm866".to_owned(),
        874 => "windows-874".to_owned(),
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        1250..=1258 => format!("windows-{page}"),
        10_000 => "macintosh".to_owned(),
        10_007 => "x-mac-cyrillic".to_owned(),
        20_866 => "koi8-r".to_owned(),
        21_866 => "koi8-u".to_owned(),
        28_591..=28_606 => format!("iso-8859-{}", page - 28_590),
        54_936 => "gb18030".to_owned(),
        // As ArcGIS writes `ISO 8859-15`.
        88_591..=88_599 => format!("iso-8859-{}", page - 88_590),
        885_910..=885_916 => format!("iso-8859-{}", page - 885_900),
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

/// The code page of a language driver, by its byte in the head; none where that says nothing.
fn code_page(driver: u8) -> Option<u32> {
    Some(match driver {
        0x01 | 0x09 | 0x0b | 0x0d | 0x0f | 0x11 | 0x15 | 0x18 | 0x19 | 0x1b => 437,
        0x02 | 0x0a | 0x0e | 0x10 | 0x12 | 0x14 | 0x16 | 0x1a | 0x1d | 0x25 | 0x37 => 850,
        0x03 | 0x57..=0x59 => 1252,
        0x04 => 10_000,
        0x08 | 0x17 | 0x66 => 865,
        0x13 | 0x7b => 932,
        0x1c | 0x6c => 863,
        0x1f | 0x22 | 0x23 | 0x40 | 0x64 | 0x87 => 852,
        0x24 => 860,
        0x26 | 0x65 => 866,
        0x4d | 0x7a => 936,
        0x4e | 0x79 => 949,
        0x4f | 0x78 => 950,
        0x50 | 0x7c => 874,
        0x67 => 861,
        0x6a | 0x86 => 737,
        0x6b | 0x88 => 857,
        0x7d => 1255,
        0x7e => 1256,
        0xc8 => 1250,
        0xc9 => 1251,
        0xca => 1254,
        0xcb => 1253,
        0xcc => 1257,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(label: Option<&str>, driver: u8, bytes: &[u8]) -> String {
        Texts::of(label, driver).decode(bytes).into_owned()
    }

    #[test]
    fn texts_are_read_as_the_label_says_then_as_the_driver_does() {
        for label in ["UTF-8", "utf8", "65001", " UTF-8\r\n"] {
            assert_eq!(
                read(Some(label), 0x57, "Zürich \0".as_bytes()),
                "Zürich",
                "{label}"
            );
        }
        for label in [
            "1252",
            "ANSI 1252",
            "CP1252",
            "ISO 8859-1",
            "88591",
            "latin1",
            "windows-1252",
        ] {
            assert_eq!(read(Some(label), 0, b"Z\xfcrich"), "Zürich", "{label}");
        }
        assert_eq!(read(Some("936"), 0, b"\xb1\xb1\xbe\xa9"), "北京");
        assert_eq!(read(None, 0x7b, b"\x93\x8c\x8b\x9e"), "東京");
        assert_eq!(read(None, 0xc9, b"\xcc\xee\xf1\xea\xe2\xe0"), "Москва");
        assert_eq!(read(None, 0, "Zürich".as_bytes()), "Zürich");
        assert_eq!(read(None, 0, b"Z\xfcrich"), "Zürich");
        assert_eq!(read(None, 0, b"  "), "");
    }

    #[test]
    fn unknown_encodings_are_reported() {
        assert_eq!(Texts::of(None, 0).note(), None);
        assert_eq!(Texts::of(Some("UTF-8"), 1).note(), None);
        for (label, driver, said) in [
            (Some("klingon\n"), 0, ": klingon"),
            (None, 2, ": code page 850"),
        ] {
            let note = Texts::of(label, driver).note().unwrap_or_default();
            assert!(note.contains(said), "{note}");
        }
    }
}
