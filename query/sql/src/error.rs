//! What can go wrong with a statement: each error is one line that says what, where and what to do.

use std::time::Duration;

use datafusion::sql::sqlparser::keywords;
use datafusion::sql::sqlparser::tokenizer::Token;
use limn_lake::scan::ScanError;
use limn_store::StoreError;
use thiserror::Error;

use crate::stale::Stale;

/// Why a statement has no answer, or an answer ended before its end.
#[derive(Debug, Error)]
pub enum SqlError {
    /// The statement does something else than read the tables of the index.
    #[error(
        "limn sql reads only: {0}; it takes SELECT, WITH, VALUES, EXPLAIN, DESCRIBE, SHOW TABLES and SHOW COLUMNS"
    )]
    ReadsOnly(String),
    /// The statement reads, in a way that limn does not have.
    #[error("limn sql has no {0}")]
    Unsupported(String),
    /// The statement is no SQL.
    #[error("the statement cannot be understood: {0}")]
    Syntax(String),
    /// The statement is too long, or too deep.
    #[error("the statement is too large: {what}, and {most} are allowed; {remedy}")]
    TooLarge {
        /// What there is too much of, and how much.
        what: String,
        /// How much there may be.
        most: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// No table has this name.
    #[error("the index has no table '{name}'; {}", near_or(.near, "SHOW TABLES lists what there is"))]
    UnknownTable {
        /// The name as it was written.
        name: String,
        /// The names that are most like it.
        near: Vec<String>,
    },
    /// No input of the statement has this name.
    #[error("the statement has no input '{name}'; it has {}", listed(.known))]
    UnknownInput {
        /// The name as it was written.
        name: String,
        /// The names of its inputs.
        known: Vec<String>,
    },
    /// Several tables have this name.
    #[error("'{name}' may be {}: write the whole name in double quotes", one_of(.tables))]
    AmbiguousTable {
        /// The name as it was written.
        name: String,
        /// The tables' whole names.
        tables: Vec<String>,
    },
    /// Several lakes have a table of this name.
    #[error("several lakes have a table '{name}': choose one with --lake, {}", one_of(.lakes))]
    SeveralLakes {
        /// The table.
        name: String,
        /// The lakes.
        lakes: Vec<String>,
    },
    /// The index has no tables of this lake.
    #[error("the index has no table of the lake {lake}; it has those of {}", listed(.known))]
    UnknownLake {
        /// The lake.
        lake: String,
        /// The lakes that it has.
        known: Vec<String>,
    },
    /// The rows of a table cannot be read.
    #[error("'{table}' cannot be read: {cause}")]
    Unreadable {
        /// The table.
        table: String,
        /// Why not, and what to do.
        cause: String,
    },
    /// No table of the statement has this column.
    #[error("{}", unknown_column(.name, .table.as_deref(), .near, *.is_text))]
    UnknownColumn {
        /// The column as it was written.
        name: String,
        /// The table that it was looked for in, where only one was.
        table: Option<String>,
        /// The columns that are most like it.
        near: Vec<String>,
        /// Whether it was written in double quotes, as text is elsewhere.
        is_text: bool,
    },
    /// No source of the statement's rows is called so.
    #[error("no table of the statement is called '{name}'; {}", source_or(.near, .known))]
    UnknownSource {
        /// What was written before a column.
        name: String,
        /// What the tables and queries of the statement are called.
        known: Vec<String>,
        /// Columns whose whole names are like what was written.
        near: Vec<String>,
    },
    /// Several columns are meant by this name.
    #[error("'{name}' may be {}: say which", one_of(.columns))]
    AmbiguousColumn {
        /// The column as it was written.
        name: String,
        /// The columns that it may be.
        columns: Vec<String>,
    },
    /// The values of a column are kept from everybody.
    #[error("column '{column}' of '{table}' is withheld{}", held(.sensitive.as_deref()))]
    Withheld {
        /// The column.
        column: String,
        /// Its table.
        table: String,
        /// What it holds, if that is why.
        sensitive: Option<String>,
    },
    /// The values of all columns of a table are kept from everybody.
    #[error("every column of '{table}' is withheld: only its rows can be counted")]
    AllWithheld {
        /// The table.
        table: String,
    },
    /// What the index knows of a table cannot be read.
    #[error(transparent)]
    Catalogue(Box<dyn std::error::Error + Send + Sync>),
    /// A file of a table is not what the index knows.
    #[error(transparent)]
    Stale(Box<Stale>),
    /// The rows of a table ended before their end.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A lake cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The statement took too long.
    #[error("stopped after {}: --timeout allows no more", humantime::format_duration(*.0))]
    Timeout(Duration),
    /// The statement took too much memory.
    #[error("stopped at {} of memory: --memory allows no more, and what the query does could not be put on disk; raise it, or ask for fewer rows or columns", bytes(*.0))]
    Memory(u64),
    /// The statement took too much room on disk.
    #[error("stopped at {} of temporary files, which is the limit; raise --memory, so that less is put on disk, or ask for fewer rows or columns", bytes(*.0))]
    Spill(u64),
    /// The statement cannot be planned: types, functions, groups.
    #[error("{0}")]
    Plan(String),
    /// A value cannot be computed: it has another type than is needed, or is out of range.
    #[error("the query failed: {0}")]
    Value(String),
    /// The query failed on its way, which may be by accident: no room, no thread, a library's word.
    #[error("the query failed: {0}")]
    Execution(String),
    /// A defect of limn, or of what it builds on.
    #[error("the query failed for a defect of limn: {0}; please report it")]
    Internal(String),
}

impl SqlError {
    /// Whether the same statement may have an answer later, with nothing changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            SqlError::Timeout(_) | SqlError::Scan(ScanError::Store { .. })
        )
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

fn one_of(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.join(""),
    }
}

fn source_or(near: &[String], known: &[String]) -> String {
    let of = match known {
        [one] => format!("there is {}", quoted(one)),
        several => {
            let names: Vec<String> = several.iter().map(|it| quoted(it)).collect();
            format!("there are {}", names.join(", "))
        }
    };
    near_or(near, &of)
}

fn near_or(near: &[String], otherwise: &str) -> String {
    match near {
        [] => otherwise.to_owned(),
        near => {
            let near: Vec<String> = near.iter().map(|it| quoted(it)).collect();
            format!("did you mean {}?", one_of(&near))
        }
    }
}

/// A name as it has to be written: in double quotes, unless it is a small word that means nothing
/// else.
pub(crate) fn quoted(name: &str) -> String {
    let is_letter = |it: char| it == '_' || it.is_ascii_lowercase();
    let is_plain =
        name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || it.is_ascii_digit());
    match is_plain && !is_keyword(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Whether a word without quotes has a meaning of its own where a name may be.
fn is_keyword(word: &str) -> bool {
    let keyword = match Token::make_word(word, None) {
        Token::Word(word) => word.keyword,
        _ => return false,
    };
    keywords::RESERVED_FOR_COLUMN_ALIAS.contains(&keyword)
        || keywords::RESERVED_FOR_TABLE_ALIAS.contains(&keyword)
        || keywords::RESERVED_FOR_IDENTIFIER.contains(&keyword)
}

fn unknown_column(name: &str, table: Option<&str>, near: &[String], is_text: bool) -> String {
    let of = match table {
        Some(table) => format!("'{table}' has no column '{name}'"),
        None => format!("there is no column '{name}'"),
    };
    match (near, is_text) {
        ([], true) => {
            format!("{of}; text is written in single quotes, double quotes are for names")
        }
        (near, _) => format!(
            "{of}; {}",
            near_or(near, "DESCRIBE lists a table's columns")
        ),
    }
}

fn held(sensitive: Option<&str>) -> String {
    match sensitive {
        Some(kind) => format!(": it holds {kind}"),
        None => ": its values are kept out of the index".to_owned(),
    }
}

/// A size in the unit that makes it short: `1 GiB`, `1.5 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(size.fract() >= 0.05);
    format!("{size:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(1 << 30), "1 GiB");
        assert_eq!(bytes(3 << 19), "1.5 MiB");
        assert_eq!(bytes(12), "12 bytes");
    }

    #[test]
    fn limits_say_how_they_are_raised() {
        let timeout = SqlError::Timeout(Duration::from_secs(60)).to_string();
        assert!(
            timeout.contains("1m") && timeout.contains("--timeout"),
            "{timeout}"
        );
        assert!(SqlError::Memory(1 << 30).to_string().contains("--memory"));
    }

    #[test]
    fn names_are_suggested_in_words() {
        let of = |near: &[&str]| {
            let near = near.iter().map(|it| (*it).to_owned()).collect();
            let error = SqlError::UnknownTable {
                name: "chrn".to_owned(),
                near,
            };
            error.to_string()
        };
        assert!(of(&[]).ends_with("SHOW TABLES lists what there is"));
        assert!(of(&["a"]).ends_with("did you mean a?"));
        assert!(of(&["a", "b", "c"]).ends_with("did you mean a, b or c?"));
        let odd = of(&["customer id", "Name", "order", "crm/churn", "a\"b", "id_2"]);
        let wanted = r#"did you mean "customer id", "Name", "order", "crm/churn", "a""b" or id_2?"#;
        assert!(odd.ends_with(wanted), "{odd}");
    }
}
