//! An entry of a `.limn.yaml`: as it is written, and checked.

use std::collections::BTreeMap;
use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use limn_formats::DESCRIPTION_CHARS;
use limn_formats::Declaration;
use limn_formats::names::{NAME_CHARS, tidy};
use limn_profile::DataType;
use limn_profile::notation::{Conventions, DateOrder};
use limn_profile::{DeclaredReading, HeaderLine};
use limn_store::one_line;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::DeclaredError;
use crate::dates::is_date;

/// Bytes of a pattern or a name at most: as many as a file's name has on most systems.
const MOST_BYTES: usize = 255;
/// Characters of a wrong one that an error shows.
const SHOWN: usize = 80;
/// Columns that an entry speaks of at most.
const MOST_COLUMNS: usize = 1_000;
/// The last line that a header may be said to be.
const LAST_HEADER: u32 = 100;
/// Signs for a missing value at most, and characters of one.
const MOST_SIGNS: usize = 100;
const SIGN_CHARS: usize = 64;
/// Characters of a table's description, and of its owner.
const TEXT_CHARS: usize = 4_000;
const OWNER_CHARS: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    files: String,
    name: Option<String>,
    #[serde(default)]
    separate: bool,
    #[serde(default)]
    columns: BTreeMap<String, Column>,
    header: Option<String>,
    delimiter: Option<String>,
    nulls: Option<Vec<String>>,
    date_order: Option<String>,
    decimal: Option<String>,
    encoding: Option<String>,
    description: Option<String>,
    owner: Option<String>,
}

/// A column: its type, or more.
#[derive(Default)]
struct Column {
    data_type: Option<String>,
    description: Option<String>,
}

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct More {
            r#type: Option<String>,
            description: Option<String>,
        }
        struct OfColumn;
        impl<'de> Visitor<'de> for OfColumn {
            type Value = Column;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a type, or {type: …, description: …}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Column, E> {
                Ok(Column {
                    data_type: Some(text.to_owned()),
                    description: None,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Column, A::Error> {
                let more = More::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Column {
                    data_type: more.r#type,
                    description: more.description,
                })
            }
        }
        deserializer.deserialize_any(OfColumn)
    }
}

/// An entry that was checked.
pub(super) struct Checked {
    pub(super) files: GlobMatcher,
    /// Whether they lie in folders of dates.
    pub(super) is_deep: bool,
    /// The table that the files are.
    pub(super) table: Option<String>,
    /// Whether each of them is a table.
    pub(super) is_separate: bool,
    pub(super) declaration: Declaration,
}

impl Entry {
    /// Checks an entry of the file at `by`.
    pub(super) fn check(self, by: &str) -> Result<Checked, DeclaredError> {
        let files = matcher(&self.files)?;
        let is_deep = self.files.contains('/');
        let reading = self.reading()?;
        let text = self.text()?;
        let says_more = !reading.is_empty() || text.is_some();
        if self.separate && self.name.is_some()
            || !self.separate && self.name.is_none() && !says_more
        {
            return Err(DeclaredError::Neither(self.files));
        }
        if let Some(odd) = self.name.as_ref().filter(|name| !is_name(name)) {
            return Err(DeclaredError::Name(shown(odd)));
        }
        Ok(Checked {
            files,
            is_deep,
            table: self.name,
            is_separate: self.separate,
            declaration: Declaration {
                by: by.to_owned(),
                files: self.files,
                reading,
                text,
                parts: Vec::new(),
            },
        })
    }

    fn wrong(&self, key: &str, value: &str, remedy: &'static str) -> DeclaredError {
        DeclaredError::Value {
            key: key.to_owned(),
            files: shown(&self.files),
            value: shown(value),
            remedy,
        }
    }

    /// The value of a key, if it is given and `of` makes one of it.
    fn value<T>(
        &self,
        key: &str,
        value: Option<&String>,
        remedy: &'static str,
        of: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, DeclaredError> {
        let made = value.map(|value| of(value).ok_or_else(|| self.wrong(key, value, remedy)));
        made.transpose()
    }

    fn reading(&self) -> Result<DeclaredReading, DeclaredError> {
        let header = self.value(
            "header",
            self.header.as_ref(),
            "write the number of its line, from 1 to 100, or none",
            |text| match text {
                "none" => Some(HeaderLine::None),
                text => {
                    let line = text.parse().ok()?;
                    (1..=LAST_HEADER)
                        .contains(&line)
                        .then_some(HeaderLine::At(line))
                }
            },
        )?;
        let delimiter = self.value(
            "delimiter",
            self.delimiter.as_ref(),
            "write one character of ASCII that is no letter, digit, quote or line end, or tab",
            delimiter,
        )?;
        let date_order = self.value(
            "date-order",
            self.date_order.as_ref(),
            "write day-first, month-first or year-first",
            |text| {
                let orders = [
                    DateOrder::DayFirst,
                    DateOrder::MonthFirst,
                    DateOrder::YearFirst,
                ];
                orders.into_iter().find(|order| order.label() == text)
            },
        )?;
        let decimal = self.value(
            "decimal",
            self.decimal.as_ref(),
            "write \",\" or \".\"",
            |text| match text {
                "," => Some(','),
                "." => Some('.'),
                _ => None,
            },
        )?;
        let encoding = self.value(
            "encoding",
            self.encoding.as_ref(),
            "write a name such as utf-8, windows-1252, utf-16le or shift_jis",
            |text| {
                let encoding = encoding_rs::Encoding::for_label_no_replacement(text.as_bytes())?;
                Some(encoding.name().to_owned())
            },
        )?;
        Ok(DeclaredReading {
            types: self.types()?,
            header,
            delimiter,
            nulls: self.signs()?,
            conventions: Conventions {
                date_order,
                decimal,
            },
            encoding,
            logged: None,
        })
    }

    fn signs(&self) -> Result<Option<Vec<String>>, DeclaredError> {
        let Some(signs) = &self.nulls else {
            return Ok(None);
        };
        let count = signs.len().to_string();
        if signs.len() > MOST_SIGNS {
            return Err(self.wrong("the number of nulls", &count, "write 100 at most"));
        }
        let is_long = |sign: &&String| sign.chars().count() > SIGN_CHARS;
        if let Some(long) = signs.iter().find(is_long) {
            return Err(self.wrong("nulls", long, "write signs of 64 characters at most"));
        }
        let mut signs: Vec<String> = signs.iter().map(|it| it.trim().to_owned()).collect();
        signs.sort_unstable();
        signs.dedup();
        Ok(Some(signs))
    }

    fn types(&self) -> Result<BTreeMap<String, DataType>, DeclaredError> {
        let count = self.columns.len();
        if count > MOST_COLUMNS {
            let count = count.to_string();
            return Err(self.wrong("the number of columns", &count, "write 1,000 at most"));
        }
        let mut types = BTreeMap::new();
        for (name, column) in &self.columns {
            let tidied = tidy(name);
            if tidied.is_empty() || name.chars().count() > NAME_CHARS {
                let remedy = "write the name of a column, of 200 characters at most";
                return Err(self.wrong("columns", name, remedy));
            }
            let key = format!("the type of column '{}'", shown(&tidied));
            let remedy = "write boolean, integer, float, date, timestamp or text";
            let data_type = self.value(&key, column.data_type.as_ref(), remedy, data_type)?;
            if let Some(data_type) = data_type {
                types.insert(tidied, data_type);
            }
        }
        Ok(types)
    }

    /// What it says in words: the description, the owner, and the columns as a table in which
    /// [`crate::contexts::column_descriptions`] finds them.
    fn text(&self) -> Result<Option<String>, DeclaredError> {
        let within = |text: &str, most: usize| {
            let text = text.trim();
            let is_within = !text.is_empty() && text.chars().count() <= most;
            is_within.then(|| text.to_owned())
        };
        let description = self.value(
            "description",
            self.description.as_ref(),
            "write a text of 4,000 characters at most",
            |text| within(text, TEXT_CHARS),
        )?;
        let owner = self.value(
            "owner",
            self.owner.as_ref(),
            "write a text of 200 characters at most",
            |text| {
                Some(format!(
                    "table owner: {}",
                    one_line(&within(text, OWNER_CHARS)?)
                ))
            },
        )?;
        let mut columns = String::new();
        for (name, column) in &self.columns {
            let key = format!("the description of column '{}'", shown(name));
            let remedy = "write a text of 600 characters at most";
            let said = self.value(&key, column.description.as_ref(), remedy, |text| {
                within(text, DESCRIPTION_CHARS)
            })?;
            if let Some(said) = said {
                let cell = |text: &str| one_line(text).replace('|', "/");
                columns.push_str(&format!("| {} | {} |\n", cell(name), cell(&said)));
            }
        }
        if !columns.is_empty() {
            columns.insert_str(0, "| column | description |\n|---|---|\n");
        }
        let parts = [description, owner, Some(columns)].into_iter().flatten();
        let parts: Vec<String> = parts.filter(|it| !it.is_empty()).collect();
        Ok((!parts.is_empty()).then(|| parts.join("\n")))
    }
}

fn shown(text: &str) -> String {
    one_line(&text.chars().take(SHOWN).collect::<String>())
}

fn delimiter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Some(b'\t'),
        [byte] if byte.is_ascii_punctuation() && !b"\"'".contains(byte) => Some(*byte),
        [byte @ (b'\t' | b' ')] => Some(*byte),
        _ => None,
    }
}

fn data_type(word: &str) -> Option<DataType> {
    let types = [
        DataType::Boolean,
        DataType::Integer,
        DataType::Float,
        DataType::Date,
        DataType::Timestamp,
        DataType::Text,
    ];
    types.into_iter().find(|it| it.label() == word)
}

fn is_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c == '/' || c == '*';
    let is_dots = name == "." || name == "..";
    !name.trim().is_empty() && name.len() <= MOST_BYTES && !is_dots && !name.contains(is_odd)
}

fn matcher(files: &str) -> Result<GlobMatcher, DeclaredError> {
    let wrong = |cause: &str| DeclaredError::Glob {
        glob: files.chars().take(SHOWN).collect(),
        cause: cause.to_owned(),
    };
    // A longer one may be more than can be compiled.
    if files.len() > MOST_BYTES {
        return Err(wrong("it is longer than 255 bytes"));
    }
    let folder = files.split_once('/').map(|(folder, _)| folder);
    let may_be_date = |folder: &str| folder.contains(['*', '?', '[', '{']) || is_date(folder);
    if folder.is_some_and(|folder| !may_be_date(folder)) {
        return Err(wrong("it has a folder that is no date"));
    }
    let glob = GlobBuilder::new(files)
        // A star stands for all of `2024/05/20`.
        .literal_separator(folder.is_none())
        .backslash_escape(true)
        .build();
    let glob = glob.map_err(|error| wrong(&error.kind().to_string()))?;
    Ok(glob.compile_matcher())
}
