//! The rows of delimited text, of which a quote that is never closed swallows none.
//!
//! Such a quote makes one cell of the lines below, up to the next quote, which opened a cell and
//! now closes one, or to the end. The first sign of it is that letters follow the closing quote, or
//! that there is none; the second that its line is as wide as the row above and the line below if
//! it is a letter. With both the line is read as it stands, and the next ones for themselves.

use csv::ByteRecord;

use super::dialect::{Dialect, Quoting};

/// A quoted cell of more lines than this has probably lost its closing quote.
pub(super) const LINES_IN_A_CELL: u64 = 1000;
/// How many times the text may be read again for the sake of quotes that are never closed: where
/// all lines have one, each would be read to the end.
const MOST_READ_AGAIN: usize = 8;

/// Reads a text row by row.
pub(super) struct Rows<'a> {
    dialect: Dialect,
    text: &'a [u8],
    /// Whether the text ends where its file does, so that its last row is whole.
    to_end: bool,
    reader: csv::Reader<&'a [u8]>,
    /// Bytes and line ends before those of the reader.
    before: (usize, u64),
    /// Bytes that were read in vain, as part of a row that is another one's.
    in_vain: usize,
    /// Cells of the row read last.
    width: usize,
    /// The line of the row read last, if a quote in it is never closed.
    pub(super) unclosed: Option<u64>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(dialect: Dialect, text: &'a [u8], to_end: bool) -> Rows<'a> {
        Rows {
            dialect,
            text,
            to_end,
            reader: dialect.reader(text),
            before: (0, 0),
            in_vain: 0,
            width: 0,
            unclosed: None,
        }
    }

    /// Bytes read.
    pub(super) fn byte(&self) -> usize {
        let read = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        self.before.0.saturating_add(read).min(self.text.len())
    }

    /// The line where the reader is, from 1 on.
    pub(super) fn line(&self) -> u64 {
        self.before.1 + self.reader.position().line()
    }

    /// Reads the next row; false at the end.
    pub(super) fn read(&mut self, row: &mut ByteRecord) -> bool {
        let (from, line) = (self.byte(), self.line());
        self.unclosed = None;
        // Reading from memory cannot fail, and rows of any width are wanted.
        let more = self.reader.read_byte_record(row).unwrap_or(false);
        if more
            && (self.line() > line + 1 || self.byte() == self.text.len())
            && let Some(end) = self.end_of_unclosed(from)
        {
            self.in_vain += self.byte() - end;
            let read = &self.text[from..end];
            let lines = read.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.before = (end, line - 1 + lines);
            self.reader = self.dialect.reader(&self.text[end..]);
            self.unclosed = Some(self.before.1);
            read_line(&self.dialect.without_quotes(), read, row);
        }
        self.width = row.len();
        more
    }

    /// Where the first line of the row ends that has been read from a byte on, if a quote in it is
    /// surely never closed.
    fn end_of_unclosed(&self, from: usize) -> Option<usize> {
        let is_too_much = self.in_vain / MOST_READ_AGAIN > self.text.len();
        if is_too_much || self.dialect.quoting == Quoting::Off {
            return None;
        }
        let read = &self.text[from..self.byte()];
        let blank = read.iter().take_while(|byte| b"\r\n".contains(byte));
        let row = &read[blank.count()..];
        let end = row.iter().position(|byte| *byte == b'\n');
        let (first, below) = row.split_at(end.map_or(row.len(), |end| end + 1));
        let is_lost = match self.closing(row)? {
            Closing::BeforeLetters => !below.is_empty(),
            Closing::Never => {
                let lines = row.iter().filter(|byte| **byte == b'\n').count() as u64;
                self.to_end || lines > LINES_IN_A_CELL
            }
        };
        // Lines that end as those of an old Mac do are not distinguished here.
        if !is_lost || first.trim_ascii_end().contains(&b'\r') {
            return None;
        }
        let mut record = ByteRecord::new();
        let letters = self.dialect.without_quotes();
        let mut width = |dialect, line| read_line(dialect, line, &mut record).then(|| record.len());
        let next = below.split_inclusive(|byte| *byte == b'\n').next();
        let mut fits = |dialect, line| width(dialect, line) == Some(self.width);
        let is_one = self.width > 1
            && fits(&letters, first)
            && next.is_none_or(|next| fits(&self.dialect, next) || fits(&letters, next));
        is_one.then(|| from + read.len() - below.len())
    }

    /// How the first quoted cell of a row ends that does not end as it should.
    fn closing(&self, row: &[u8]) -> Option<Closing> {
        let Dialect { delimiter, quoting } = self.dialect;
        let is_edge = |byte: u8| byte == delimiter || matches!(byte, b'\r' | b'\n');
        let mut bytes = row.iter().copied().peekable();
        let mut begins = true;
        while let Some(byte) = bytes.next() {
            if !(begins && byte == b'"') {
                begins = is_edge(byte);
                continue;
            }
            // Within a quoted cell, up to its end.
            loop {
                match (bytes.next(), bytes.peek()) {
                    (None, _) => return Some(Closing::Never),
                    (Some(b'\\'), _) if quoting == Quoting::Backslash => _ = bytes.next(),
                    (Some(b'"'), Some(b'"')) if quoting == Quoting::Doubled => _ = bytes.next(),
                    (Some(b'"'), Some(next)) if !is_edge(*next) => {
                        return Some(Closing::BeforeLetters);
                    }
                    (Some(b'"'), _) => break,
                    _ => {}
                }
            }
            begins = false;
        }
        None
    }
}

/// What is odd about a quoted cell's end.
enum Closing {
    BeforeLetters,
    Never,
}

/// Reads one line; false where it is blank.
fn read_line(dialect: &Dialect, line: &[u8], row: &mut ByteRecord) -> bool {
    dialect.reader(line).read_byte_record(row).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, to_end: bool) -> (Vec<String>, Vec<u64>) {
        let dialect = Dialect {
            delimiter: b',',
            quoting: Quoting::Doubled,
        };
        let mut reader = Rows::new(dialect, text.as_bytes(), to_end);
        let (mut row, mut rows, mut unclosed) = (ByteRecord::new(), Vec::new(), Vec::new());
        while reader.read(&mut row) {
            let cells = row.iter().map(String::from_utf8_lossy);
            rows.push(cells.collect::<Vec<_>>().join("|"));
            unclosed.extend(reader.unclosed);
        }
        (rows, unclosed)
    }

    #[test]
    fn a_quote_that_is_never_closed_is_a_letter() {
        for end in ["\n", "\r\n"] {
            for (below, read) in [
                ("3,c,z", vec!["3|c|z"]),
                ("3,\"c\",z", vec!["3|c|z"]),
                ("3,\"c, d\",z", vec!["3|c, d|z"]),
                ("3,c,z\n4,d,w\n5,\"e\",v", vec!["3|c|z", "4|d|w", "5|e|v"]),
                ("3,\"c,z\n4,d,w", vec!["3|\"c|z", "4|d|w"]),
                ("3,\"c,z", vec!["3|\"c|z"]),
            ] {
                let text = format!("1,a,x\n\n2,\"b,y\n{below}\n").replace('\n', end);
                let (rows, unclosed) = rows(&text, true);
                assert_eq!(rows[..2], ["1|a|x", "2|\"b|y"], "{text:?}");
                assert_eq!(rows[2..], read, "{text:?}");
                assert_eq!(unclosed[0], 3, "{text:?}");
            }
        }
        // More may follow.
        assert_eq!(rows("0,a,x\n1,\"a,x\n2,b,y\n", false).0.len(), 2);
        let long = format!("0,a,x\n1,\"a,x\n{}", "2,b,y\n".repeat(1001));
        assert_eq!(rows(&long, false).0.len(), 1003);
    }

    /// Rows that lost their outer quotes: each would be read to the end of the text.
    #[test]
    fn quotes_that_are_lost_everywhere_are_no_endless_work() {
        let text = "a,b\n".to_owned() + &"x\",\"y\n".repeat(200_000);
        let dialect = Dialect {
            delimiter: b',',
            quoting: Quoting::Doubled,
        };
        let mut reader = Rows::new(dialect, text.as_bytes(), true);
        let mut row = ByteRecord::new();
        while reader.read(&mut row) {}
        assert_eq!(reader.byte(), text.len());
        assert!(reader.in_vain <= (MOST_READ_AGAIN + 2) * text.len());
    }

    #[test]
    fn quotes_that_are_letters_and_lines_of_old_macs_are_left_as_they_are() {
        let text = "a,b\r1,\"x\r2,y\r3,z";
        let (rows, unclosed) = rows(text, true);
        assert_eq!((rows.len(), unclosed.len()), (2, 0), "{rows:?}");
        assert!(rows[1].ends_with("3,z"), "{rows:?}");
        let dialect = Dialect {
            delimiter: b',',
            quoting: Quoting::Off,
        };
        let mut reader = Rows::new(dialect, b"a,b\n1,\"x\n", true);
        let mut row = ByteRecord::new();
        while reader.read(&mut row) {
            assert_eq!(reader.unclosed, None);
        }
    }

    #[test]
    fn lines_in_cells_stay() {
        for text in [
            // Closed as they should be.
            "1,\"a, b\nc, d\",x\n2,b,y\n",
            "1,\"a,b\n2,c\n\"\n3,d\n",
            "1,\"a \"\"b\"\",\n2, \"\"c\",x\n",
            "1,\"a\" b,x",
            // Of other widths.
            "1,\"a\nb \"c\" d\",x\n2,b,y\n",
            "1,\"a, b, c\nd \"e\" f\",x\n2,b,y\n",
            "1,\"a\nb",
            "\"a\nb \"c\" d\"\ne\n",
        ] {
            let text = format!("0,x,y\n{text}");
            assert_eq!(rows(&text, true).1, [0u64; 0], "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn rows_follow_each_other(text in "[ab\",\n\r\\\\]{0,80}", to_end: bool) {
            for quoting in [Quoting::Doubled, Quoting::Backslash, Quoting::Off] {
                let dialect = Dialect { delimiter: b',', quoting };
                let mut reader = Rows::new(dialect, text.as_bytes(), to_end);
                let (mut row, mut byte) = (ByteRecord::new(), 0);
                while reader.read(&mut row) {
                    prop_assert!(reader.byte() > byte);
                    byte = reader.byte();
                }
                let ends = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
                prop_assert_eq!((reader.byte(), reader.line()), (text.len(), ends + 1));
            }
        }

        #[test]
        fn well_written_rows_stay(cells in proptest::collection::vec(("[ab\",\n]{0,8}", "[ab\",\n]{0,8}", "[ab]{1,3}"), 1..20)) {
            let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
            let text: String = cells.iter().map(|(a, b, c)| format!("{},{},{c}\n", quoted(a), quoted(b))).collect();
            let read: Vec<String> = cells.iter().map(|(a, b, c)| format!("{a}|{b}|{c}")).collect();
            prop_assert_eq!(rows(&text, true), (read, vec![]));
        }
    }
}
