//! Sheets that are no tables: of one cell, or with nothing but sentences below one another, as
//! people explain a book.

/// Rows of a sheet of prose at most; what is longer is a list.
const MOST_ROWS: usize = 30;
/// Words that make a sentence.
const WORDS: usize = 4;

/// Whether the cells of a sheet, as delimited text, are no table: there is one, or no row has two
/// and half of them are sentences (of four words, or with the end of one).
pub(super) fn is_prose(text: &[u8]) -> bool {
    let (mut cells, mut sentences) = (0, 0);
    let mut rest = text;
    while !rest.is_empty() {
        let (row, after) = rest.split_at(end_of_row(rest));
        rest = after.get(1..).unwrap_or_default();
        let row = String::from_utf8_lossy(row);
        let cell = row.trim_matches([',', '"', ' ', '\r']);
        if cell.is_empty() {
            continue;
        }
        cells += 1;
        // Whatever is between the quotes of one cell is its own.
        let is_quoted = row.trim_matches(',').starts_with('"') && !cell.contains("\",");
        if cells > MOST_ROWS || cell.contains(',') && !is_quoted {
            return false;
        }
        let ends = cell.ends_with(['.', '!', '?', ':', '。']);
        sentences += usize::from(ends || cell.split_whitespace().count() >= WORDS);
    }
    cells == 1 || cells > 0 && 2 * sentences >= cells
}

/// Where a row ends: at the first line end that is in no quotes.
fn end_of_row(text: &[u8]) -> usize {
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::is_prose;

    #[test]
    fn sentences_and_single_cells_are_no_tables() {
        for text in [
            "Confidential. Do not forward.\n",
            "Total\n",
            "Capital expenditure\n\nApproved means by the board.\n\"Projects below 5,000 EUR are not listed\"\n",
            ",,\"One cell, \"\"quoted\"\"\nover lines\"\n",
        ] {
            assert!(is_prose(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "name\nAda Lovelace\nCharles Babbage\n",
            "a,b\n",
            "Title of what comes below it\na,b\n1,2\n",
            "\"a b c d\",\"e f g h\"\n\"one two three four.\",\"x\"\n",
        ] {
            assert!(!is_prose(text.as_bytes()), "{text}");
        }
        let list = "a line of a long list\n".repeat(31);
        assert!(!is_prose(list.as_bytes()));
    }
}
