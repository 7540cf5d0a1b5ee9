//! What stands below a table and is no row of it: lines of remarks (`Source: …`), and rows of
//! totals.
//!
//! A row that is left out by mistake is lost, one that is kept by mistake is a little untidy. So
//! only the end of a file is looked at, a few lines of it, and each must be distinguished from a
//! row with certainty: by a word that begins it, by a blank line above it, or by being text of
//! several words in one cell below rows that all have their full width. Totals are recognised by
//! their name, if no other row has it: where `total` is one of the values, it is one. A last row
//! without a name is a total if its figures are the sums of their columns ([`sums`]).

mod sums;
mod words;

use csv::ByteRecord;
use limn_profile::DataType;
use limn_profile::infer::classify;
use limn_profile::text::counted;

use super::dialect::{Dialect, is_below_blank};
use super::rows::Rows;
pub(super) use sums::Above;

/// How much of the end is looked at, in bytes.
pub(super) const TAIL: usize = 16 << 10;
/// Lines below a table, at most.
const MOST: usize = 12;
/// Letters of a remark that a note quotes.
const QUOTED: usize = 120;

/// The end of a table within its text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// Where the table ends, in bytes.
    pub(super) start: usize,
    /// What is left out.
    pub(super) notes: Vec<String>,
}

/// A row of the end.
struct Row {
    start: usize,
    below_blank: bool,
    cells: Vec<String>,
}

impl Row {
    fn filled(&self) -> impl Iterator<Item = (usize, &str)> {
        let cells = self.cells.iter().map(String::as_str).enumerate();
        cells.filter(|(_, cell)| !cell.is_empty())
    }

    fn is_blank(&self) -> bool {
        self.filled().next().is_none()
    }

    /// Whether it is text in its first cell and nothing else.
    fn is_line(&self) -> bool {
        let mut filled = self.filled();
        matches!(filled.next(), Some((0, text)) if classify(text) == DataType::Text)
            && filled.next().is_none()
    }

    fn first(&self) -> &str {
        self.cells.first().map_or("", String::as_str)
    }

    /// Whether it begins as remarks do.
    fn is_marked(&self) -> bool {
        words::is_remark(self.first())
    }

    /// Whether it says that the file ends here, and nothing else.
    fn is_ending(&self) -> bool {
        self.is_line() && words::is_end(self.first())
    }

    /// The column that calls it totals: with figures, or with nothing else.
    fn total(&self) -> Option<(usize, String)> {
        let (at, cell) = self.filled().next().filter(|(at, _)| *at < 2)?;
        let name = words::total(cell)?;
        let mut others = self.filled().skip(1).map(|(_, cell)| cell).peekable();
        let is_figure = |cell: &str| {
            let letters = cell.chars().filter(|it| it.is_alphabetic()).count();
            cell.contains(|it: char| it.is_ascii_digit()) && letters < 4
        };
        (others.peek().is_none() || others.any(is_figure)).then_some((at, name))
    }

    /// Whether its first cell names nothing.
    fn is_nameless(&self) -> bool {
        words::is_nameless(self.first())
    }

    /// What is in its other cells, if these are figures alone.
    fn figures(&self) -> Option<Vec<(usize, &str)>> {
        let figures: Vec<(usize, &str)> = self.filled().filter(|(at, _)| *at > 0).collect();
        let are_some = !figures.is_empty() && sums::are_figures(figures.iter().map(|it| it.1));
        are_some.then_some(figures)
    }

    /// As a row of a table of so many columns.
    fn is_regular(&self, columns: usize) -> bool {
        let width = self.cells.len();
        let has_more = width == columns + 1 && self.cells.last().is_some_and(String::is_empty);
        (width == columns || has_more) && self.filled().nth(1).is_some()
    }
}

/// What stands below the table that `text`, a whole file from some row on, holds; `above` is known
/// where all its rows are there.
pub(super) fn find(
    dialect: &Dialect,
    columns: usize,
    text: &[u8],
    above: Option<Above>,
) -> Option<Footer> {
    if columns < 2 {
        return None;
    }
    let rows = rows(dialect, text);
    let is_beyond =
        |row: &Row| row.is_blank() || row.is_line() || row.is_marked() || row.total().is_some();
    let below = rows.iter().rev().take_while(|row| is_beyond(row)).count();
    let sum =
        above.and_then(|above| nameless_sum(&rows[..rows.len() - below], dialect, text, above));
    let below = below + usize::from(sum.is_some());
    if below == 0 || below > MOST {
        return None;
    }
    let (table, below) = rows.split_at(rows.len() - below);
    let table: Vec<&Row> = table.iter().filter(|row| !row.is_blank()).collect();
    // Whatever the end looks like: above it there must be a table.
    if table.len() < 2
        || !table
            .iter()
            .rev()
            .take(3)
            .all(|row| row.is_regular(columns))
    {
        return None;
    }
    let table = Table {
        is_even: table.iter().all(|row| row.is_regular(columns)),
        is_spaced: table.last().is_some_and(|row| row.below_blank),
        rows: table,
        columns,
        sum,
    };
    let first = below.iter().position(|row| table.ends_at(row))?;
    let (mut totals, mut lines) = (0, Vec::new());
    for row in below[first..].iter().filter(|row| !row.is_blank()) {
        match row.total() {
            // One of the values, below a remark: nothing here is certain.
            Some(total) if table.has(&total) => return None,
            Some(_) => totals += 1,
            None if sum == Some(row.start) => totals += 1,
            None => {
                // Some programs repeat a line in every column.
                let mut cells: Vec<&str> = row.filled().map(|(_, cell)| cell).collect();
                cells.dedup();
                lines.push(cells.join(char::from(dialect.delimiter).to_string().as_str()));
            }
        }
    }
    Some(Footer {
        start: below[first].start,
        notes: notes(totals, &lines),
    })
}

/// The table above what may be its footer.
struct Table<'a> {
    rows: Vec<&'a Row>,
    columns: usize,
    /// Whether all its rows have all columns.
    is_even: bool,
    /// Blank lines between all rows part nothing.
    is_spaced: bool,
    /// Where the row begins that has the sums of the others, and no name.
    sum: Option<usize>,
}

impl Table<'_> {
    /// Whether what is called totals is one of the column's values.
    fn has(&self, (at, name): &(usize, String)) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(*at));
        cells.any(|cell| cell.to_lowercase() == *name || words::total(cell).as_ref() == Some(name))
    }

    /// Whether the footer begins with this row.
    fn ends_at(&self, row: &Row) -> bool {
        let is_long = |text: &str| text.split_whitespace().count() > 1;
        let is_sentence = row.cells.len() == 1 && row.filled().all(|(_, text)| is_long(text));
        match row.total() {
            Some(total) => !self.has(&total),
            None if self.sum == Some(row.start) => true,
            None if row.is_ending() => !self.has(&(0, row.first().to_lowercase())),
            None if row.is_line() => {
                row.is_marked() || row.below_blank || self.is_even && is_sentence
            }
            // A remark that the delimiter cuts.
            None => {
                let is_apart = row.below_blank && !self.is_spaced;
                row.is_marked() && (is_apart || row.cells.len() != self.columns)
            }
        }
    }
}

/// What a reader should know of the rows of totals and the lines that are left out.
fn notes(totals: u64, lines: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if totals > 0 {
        let rows = counted(totals, "row");
        notes.push(format!("{rows} of totals at the end left out"));
    }
    if !lines.is_empty() {
        let quoted: String = lines.join(" / ").chars().take(QUOTED).collect();
        let count = counted(lines.len() as u64, "line");
        notes.push(format!(
            "{count} below the table left out: {}",
            limn_store::one_line(&quoted)
        ));
    }
    notes
}

/// Where the last of these rows begins, if it has no name, all others have one, and its figures are
/// the sums of theirs.
fn nameless_sum(rows: &[Row], dialect: &Dialect, text: &[u8], above: Above) -> Option<usize> {
    let (last, others) = rows.split_last()?;
    let figures = last.figures().filter(|_| last.is_nameless())?;
    if others
        .iter()
        .any(|row| !row.is_blank() && row.is_nameless())
    {
        return None;
    }
    let rows = text.get(..last.start)?;
    sums::are_sums(&figures, (dialect, above), rows).then_some(last.start)
}

/// The rows of the end.
fn rows(dialect: &Dialect, text: &[u8]) -> Vec<Row> {
    let mut from = text.len().saturating_sub(TAIL);
    if from > 0 {
        let next_line = text[from..].iter().position(|byte| *byte == b'\n');
        from = next_line.map_or(text.len(), |at| from + at + 1);
    }
    let tail = &text[from..];
    let mut reader = Rows::new(*dialect, tail, true);
    let mut record = ByteRecord::new();
    let mut rows = Vec::new();
    loop {
        let start = reader.byte();
        if !reader.read(&mut record) {
            return rows;
        }
        let below_blank = is_below_blank(tail, start) || rows.last().is_some_and(Row::is_blank);
        let cells = record
            .iter()
            .map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
        rows.push(Row {
            start: from + start,
            below_blank,
            cells: cells.collect(),
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::dialect::Quoting;

    const COMMAS: Dialect = Dialect {
        delimiter: b',',
        quoting: Quoting::Doubled,
    };

    /// What is left of a table of three columns, and what is said of the rest.
    fn left(text: &str) -> (&str, String) {
        match find(&COMMAS, 3, text.as_bytes(), Some(Above { skip: 1 })) {
            Some(footer) => (&text[..footer.start], footer.notes.join("; ")),
            None => (text, String::new()),
        }
    }

    const TABLE: &str = "id,name,age\n1,ada,36\n2,bob,41\n";

    #[test]
    fn remarks_and_totals_are_no_rows() {
        for (below, note) in [
            (
                "Source: the register\n",
                "1 line below the table left out: Source: the register",
            ),
            ("\nTaken from the register\n", "1 line below"),
            ("Taken from the register", "1 line below"),
            ("Total,,77\n", "1 row of totals at the end left out"),
            (",Total:,77\n", "1 row of totals"),
            (
                "Summe,,\"1.077,50 €\"\n,,\n* of all staff,,\n",
                "1 row of totals at the end left out; 1 line below the table left out: * of all staff",
            ),
            (
                "Note: ages as of 2020, by year\n",
                "left out: Note: ages as of 2020",
            ),
            (",,\nprinted by x,,\n", "1 line below"),
            ("Total,,\n", "1 row of totals"),
            ("Total\n", "1 row of totals"),
            ("I alt,,77\n", "1 row of totals"),
            ("EOF\n", "left out: EOF"),
            ("EOF,,\n", "left out: EOF"),
            ("-- end of file --\n", "left out: -- end of file --"),
            ("(2 rows affected),,\n", "left out: (2 rows affected)"),
            ("Total,,77\n,,\nEOF\n", "1 row of totals"),
        ] {
            let text = format!("{TABLE}{below}");
            let (rows, notes) = left(&text);
            assert!(notes.contains(note), "{below:?}: {notes}");
            assert_eq!(
                rows.trim_end_matches(['\n', ',']),
                TABLE.trim_end(),
                "{below:?}"
            );
        }
    }

    #[test]
    fn a_last_row_without_a_name_is_a_total_if_it_is_the_sum() {
        let text = format!("{TABLE}3,cyd,20\n");
        for below in [",,97\n", ",,97\n,,\n", ",,97\nSource: x\n"] {
            let whole = format!("{text}{below}");
            let (rows, notes) = left(&whole);
            assert_eq!(rows, text, "{below:?}");
            assert!(notes.contains("1 row of totals"), "{notes}");
            // Where not all rows are there nobody knows.
            let found = find(&COMMAS, 3, whole.as_bytes(), None);
            assert!(found.is_none_or(|footer| footer.start > text.len()));
        }
    }

    #[test]
    fn a_remark_may_have_as_many_cells_as_the_table() {
        for end in ["\n", "\r\n"] {
            let table = "id,n\n1,2\n3,4\n".replace('\n', end);
            let text = format!("{table}{end}Source: the office, Berlin{end}");
            let footer = find(&COMMAS, 2, text.as_bytes(), None).unwrap();
            assert_eq!(
                footer.notes,
                ["1 line below the table left out: Source: the office,Berlin"]
            );
            assert_eq!(text[..footer.start].trim_end(), table.trim_end());
            // Where nothing parts it from the rows it may be one.
            let text = format!("{table}Source: the office, Berlin{end}");
            assert_eq!(find(&COMMAS, 2, text.as_bytes(), None), None);
        }
    }

    #[test]
    fn blank_lines_between_all_rows_part_nothing() {
        let text = "item,qty\n\nbolt,1\n\nnut,2\n\n* washer,4\n";
        assert_eq!(find(&COMMAS, 2, text.as_bytes(), None), None);
    }

    #[test]
    fn rows_stay() {
        for below in [
            "",
            "\n\n",
            "3,cyd,20\n",
            "Smith,,\n",
            "Smith\n",
            "3,,\n",
            ",,\n",
            "Total,female,\n",
            "Totally,,3\n",
            "Total,2,1\n4,x,Total\n",
            "total,x,1\nmale,y,2\ntotal,z,3\n",
            "2020-01-02,,\n",
            "Source,of,life\n",
            "Note,,12\n",
            "EOF,,12\n",
            "EOF,x,1\nEOF,,\n",
            // Sums of too little, or of other rows, or next to others without names.
            ",,77\n",
            "3,cyd,20\n,,98\n",
            "3,cyd,20\n,dan,3\n,,100\n",
            "3,cyd,20\n,x,97\n",
        ] {
            let text = format!("{TABLE}{below}");
            assert_eq!(left(&text), (text.as_str(), String::new()), "{below:?}");
        }
        // Nothing that could be a table stands above.
        for text in ["Source: x\n", "a\nb\nc d\n", "id,name,age\nTotal,,3\n", ""] {
            assert_eq!(left(text), (text, String::new()));
        }
        assert_eq!(find(&COMMAS, 1, b"name\nada\nSource: x\n", None), None);
        // The second half of a line's end is no blank line.
        let text = format!("{TABLE}Smith\n").replace('\n', "\r\n");
        assert_eq!(left(&text), (text.as_str(), String::new()));
    }

    proptest! {
        #[test]
        fn clean_tables_keep_every_row(rows in proptest::collection::vec(("[a-zA-Z:* ]{0,8}[a-z]", "[a-z]{1,6}", 0..99u8), 0..60)) {
            let mut text = TABLE.to_owned();
            for (a, b, n) in &rows {
                text.push_str(&format!("{a},{b},{n}\n"));
            }
            let is_named = rows.last().is_some_and(|row| words::total(&row.0).is_some());
            prop_assert!(is_named || left(&text).0 == text);
        }

        #[test]
        fn any_text_is_looked_at(text in "[a-zT\",;\n\r :*0-9]{0,200}", columns in 0..6usize) {
            if let Some(footer) = find(&COMMAS, columns, text.as_bytes(), None) {
                prop_assert!(footer.start < text.len() && !footer.notes.is_empty());
            }
        }
    }
}
