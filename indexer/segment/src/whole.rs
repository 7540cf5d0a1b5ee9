//! Names, values and codes as they are asked for: whole.
//!
//! The analyzer cuts everything into words, so that "sick leave hours" finds `SickLeaveHours`.
//! Whoever asks for `promo_code` or `US-10,123,456-B2` means all of it, though. So a block has,
//! beside the terms of its fields, *whole* terms: a kind and a [`key`], which is the text without
//! its case and separators.
//!
//! - **tables**: the name (`sales/2024/orders`), and what is left of it below each folder
//!   (`2024/orders`, `orders`); with a table's first block.
//! - **files**: the last part of the location, with and without its ending; likewise.
//! - **columns**: each line of the field [`Names`](Field::Names), up to a tab.
//! - **values**: each value of the fields [`Rows`](Field::Rows) and [`Cells`](Field::Cells), which
//!   lines and ` | ` separate; and in these and in [`Contexts`](Field::Contexts) each
//!   [code](codes).
//! - **languages**: those of which a block has [marked terms](crate::languages).
//!
//! A word is a term of its field already, so a value that is one word has no whole term.

use std::collections::BTreeSet;

pub use limn_profile::value_key::key;

use crate::languages::Language;
use crate::table::{Block, Field, TableKey};

/// Folders of a table's name below which the rest of it is a name, too.
const FOLDERS: usize = 8;

/// What a whole term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whole {
    /// A table's name.
    Table,
    /// The name of its file or folder.
    File,
    /// A column's name.
    Column,
    /// A value, or a code in a value or in a context.
    Value,
}

impl Whole {
    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Whole::Table => "table",
            Whole::File => "file",
            Whole::Column => "column",
            Whole::Value => "value",
        }
    }

    /// The term of a [`key`].
    #[must_use]
    pub fn term(self, key: &str) -> String {
        let kind = match self {
            Whole::Table => "t:",
            Whole::File => "f:",
            Whole::Column => "c:",
            Whole::Value => "v:",
        };
        [kind, key].concat()
    }
}

/// Calls `visit` with each code of a text: what stands between white space and has digits together
/// with letters or separators (`A-17`, `3f2b`, `12.5`, `2024-01-02`); and where it has separators,
/// each part of at least four characters that has both letters and digits.
pub fn codes<'a>(text: &'a str, visit: &mut impl FnMut(&'a str)) {
    for token in text.split_whitespace() {
        if !token.bytes().any(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let token = trimmed(token);
        if is_code(token) {
            visit(token);
        }
        let mut parts = token.split(|c: char| !c.is_alphanumeric());
        if parts.next().is_none_or(|first| first.len() == token.len()) {
            continue;
        }
        for part in token.split(|c: char| !c.is_alphanumeric()) {
            if part.len() >= 4 && is_code(part) {
                visit(part);
            }
        }
    }
}

/// Whether a word without white space is a code.
#[must_use]
pub fn is_code(word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_other = |c: char| !c.is_ascii_digit();
    has_digit && trimmed(word).chars().any(is_other)
}

/// Without what stands around it.
fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The whole term of a block that has marked terms of a language.
#[must_use]
pub fn language_term(language: Language) -> String {
    ["l:", language.code()].concat()
}

/// Whether a value is a single term as it is.
fn is_word(value: &str) -> bool {
    let rest = value.strip_prefix(|c: char| c.is_ascii_alphabetic());
    let rest = rest.unwrap_or(value).as_bytes();
    rest.iter().all(u8::is_ascii_lowercase)
        || value.bytes().all(|byte| byte.is_ascii_uppercase())
        || value.bytes().all(|byte| byte.is_ascii_digit())
}

/// The whole terms of a block; those of its table, too, where it is the table's first.
pub(crate) fn of_block(block: &Block) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    let mut add = |kind: Whole, text: &str| terms.extend(key(text).map(|key| kind.term(&key)));
    for (field, text) in &block.fields {
        match field {
            Field::Names => {
                for line in text.lines() {
                    add(Whole::Column, line.split('\t').next().unwrap_or(line));
                }
            }
            Field::Contexts => codes(text, &mut |code| add(Whole::Value, code)),
            Field::Rows | Field::Cells => {
                for value in text.lines().flat_map(|line| line.split(" | ")) {
                    if is_word(value) {
                        continue;
                    }
                    add(Whole::Value, value);
                    codes(value, &mut |code| add(Whole::Value, code));
                }
            }
        }
    }
    terms
}

/// The whole terms of a table and its file.
pub(crate) fn of_table(table: &TableKey, location: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    let mut add = |kind: Whole, text: &str| terms.extend(key(text).map(|key| kind.term(&key)));
    let name = table.name.as_str();
    add(Whole::Table, name);
    let folders = name.match_indices('/').map(|(at, _)| at).rev();
    for at in folders.take(FOLDERS) {
        add(Whole::Table, &name[at + 1..]);
    }
    let file = location.trim_end_matches('/');
    let file = file.rsplit('/').next().unwrap_or(file);
    add(Whole::File, file);
    if let Some((stem, _)) = file.rsplit_once('.') {
        add(Whole::File, stem);
    }
    terms
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::table::BlockKind;

    #[test]
    fn codes_have_digits_and_something_else() {
        let found = |text: &'static str| {
            let mut found = Vec::new();
            codes(text, &mut |code| found.push(code));
            found
        };
        assert_eq!(found("of 12 well-known F1 cars, (A-17)."), ["F1", "A-17"]);
        assert_eq!(
            found("https://x.org/item/AB12CD34 3.5 2024"),
            ["https://x.org/item/AB12CD34", "AB12CD34", "3.5"]
        );
        assert_eq!(found("$1,234 90% #7"), ["1,234"]);
    }

    #[test]
    fn a_block_has_its_columns_values_and_codes() {
        let block = Block {
            kind: BlockKind::Schema,
            text: String::new(),
            fields: vec![
                (Field::Names, "\thr/emp\nSickLeave\nqty\tquantity".into()),
                (Field::Cells, "red | Anna Kessler | 17\nA-17 b | 2.5".into()),
                (Field::Contexts, "see US10123456B2, of two words".into()),
            ],
            vector: None,
        };
        let terms: Vec<String> = of_block(&block).into_iter().collect();
        assert_eq!(
            terms,
            [
                "c:qty",
                "c:sickleave",
                "v:2.5",
                "v:a17",
                "v:a17b",
                "v:annakessler",
                "v:us10123456b2"
            ]
        );
        let table = TableKey {
            lake: "s3://lake".into(),
            name: "hr/2024/Emp".into(),
        };
        let terms: Vec<String> = of_table(&table, "s3://lake/hr/2024/Emp.csv")
            .into_iter()
            .collect();
        assert_eq!(
            terms,
            ["f:emp", "f:empcsv", "t:2024emp", "t:emp", "t:hr2024emp"]
        );
    }
}
