//! `.limn.yaml` files: which files of a folder are one table, as the people who keep them say.
//!
//! ```yaml
//! tables:
//! - name: orders            # these files are one table, shop/orders in a folder `shop`, whatever their columns are
//!   files: "export_*.csv"
//! - files: "report_*.csv"   # each of these is a table of its own, however alike they are
//!   separate: true
//! ```
//!
//! A file holds for the data files of its own folder, by their names; the first entry that matches decides. What lies in
//! partitions (`day=1/…`), in parts (`part-00000…`) and in containers is as it always is.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use crate::place::split_path;

/// The name of such a file.
pub const DECLARED_FILE: &str = ".limn.yaml";

/// Entries that one has at most.
const MOST_ENTRIES: usize = 1_000;
/// Bytes of a pattern or a name at most: as many as a file's name has on most systems.
const MOST_BYTES: usize = 255;
/// Characters of a wrong one that an error shows.
const SHOWN: usize = 80;

/// Whether an object is such a file, as its path says.
pub fn is_declared_file(path: &str) -> bool {
    split_path(path).1 == DECLARED_FILE
}

/// What is wrong with such a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredError {
    /// It is no YAML, or not of this form.
    #[error("{0}")]
    Yaml(String),
    /// A table's name is none.
    #[error(
        "'{0}' is no name of a table: write one without '/', '*' and control characters, and not '.' or '..'"
    )]
    Name(String),
    /// A pattern of files is none.
    #[error(
        "'{glob}' is no pattern of file names ({cause}): write one such as 'orders_*.csv', without '/'"
    )]
    Glob {
        /// As it is written.
        glob: String,
        /// What is wrong with it.
        cause: String,
    },
    /// It has more entries than are read.
    #[error("it has {0} entries, more than {MOST_ENTRIES}")]
    Entries(usize),
    /// Neither or both of two.
    #[error(
        "the files '{0}' have to be one table with a name, or separate: write name: NAME, or separate: true"
    )]
    Neither(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    tables: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    files: String,
    name: Option<String>,
    #[serde(default)]
    separate: bool,
}

/// What is said of some files of a folder.
#[derive(Clone, Debug)]
struct Rule {
    files: GlobMatcher,
    /// The table that they are; `None` for a table each.
    table: Option<String>,
}

/// What an entry says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Says<'a> {
    /// It is a part of the folder's table of this name.
    Of(&'a str),
    /// It is a table of its own.
    Alone,
}

/// The `.limn.yaml` files of a lake, by their folders.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    folders: BTreeMap<String, Vec<Rule>>,
}

impl Declared {
    /// Takes in the file of a folder (`""` for the root).
    ///
    /// # Errors
    /// What is wrong with it; then nothing of it holds.
    pub fn add(&mut self, folder: &str, text: &str) -> Result<(), DeclaredError> {
        let document: Option<Document> = serde_saphyr::from_str(text)
            .map_err(|error| DeclaredError::Yaml(first_line(&error.to_string())))?;
        let entries = document.map(|it| it.tables).unwrap_or_default();
        if entries.len() > MOST_ENTRIES {
            return Err(DeclaredError::Entries(entries.len()));
        }
        let rules = entries.into_iter().map(Rule::of);
        let rules = rules.collect::<Result<Vec<Rule>, _>>()?;
        if !rules.is_empty() {
            self.folders.insert(folder.to_owned(), rules);
        }
        Ok(())
    }

    /// What is said of a data file.
    pub(crate) fn says(&self, path: &str) -> Option<Says<'_>> {
        let (folder, name) = split_path(path);
        let mut rules = self.folders.get(folder)?.iter();
        let rule = rules.find(|rule| rule.files.is_match(name))?;
        Some(rule.table.as_deref().map_or(Says::Alone, Says::Of))
    }
}

/// What an error says, without the lines of the file that come after it.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    limn_store::one_line(line.strip_prefix("error: ").unwrap_or(line))
}

impl Rule {
    fn of(entry: Entry) -> Result<Rule, DeclaredError> {
        let Entry {
            files,
            name,
            separate,
        } = entry;
        let wrong = |cause: &str| DeclaredError::Glob {
            glob: files.chars().take(SHOWN).collect(),
            cause: cause.to_owned(),
        };
        // A longer one may be more than can be compiled.
        if files.len() > MOST_BYTES {
            return Err(wrong("it is longer than 255 bytes"));
        }
        if files.contains('/') {
            return Err(wrong("it has a folder"));
        }
        let glob = GlobBuilder::new(&files)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let glob = glob.map_err(|error| wrong(&error.kind().to_string()))?;
        if separate == name.is_some() {
            return Err(DeclaredError::Neither(files));
        }
        let is_name = |name: &&String| {
            let is_odd = |c: char| c.is_control() || c == '/' || c == '*';
            let is_dots = *name == "." || *name == "..";
            !name.trim().is_empty()
                && name.len() <= MOST_BYTES
                && !is_dots
                && !name.contains(is_odd)
        };
        if let Some(odd) = name.as_ref().filter(|name| !is_name(name)) {
            let shown = odd.chars().take(SHOWN).collect::<String>();
            return Err(DeclaredError::Name(shown.escape_debug().to_string()));
        }
        Ok(Rule {
            files: glob.compile_matcher(),
            table: name,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn the_first_entry_that_matches_decides() {
        let mut declared = Declared::default();
        let text =
            "tables:\n- files: 'x_0*.csv'\n  separate: true\n- {name: orders, files: 'x_*.csv'}\n";
        declared.add("shop", text).unwrap();
        declared.add("", "# nothing yet\n").unwrap();
        assert_eq!(declared.says("shop/x_01.csv"), Some(Says::Alone));
        assert_eq!(declared.says("shop/x_11.csv"), Some(Says::Of("orders")));
        for other in ["shop/y.csv", "shop/deep/x_11.csv", "x_11.csv"] {
            assert_eq!(declared.says(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_write() {
        for (text, told) in [
            ("tables: [", "line 1"),
            ("tabels: []", "tabels"),
            ("tables: [{files: 'x*', name: a, header: 3}]", "header"),
            ("tables: [{files: 'x*'}]", "separate: true"),
            (
                "tables: [{files: 'x*', name: a, separate: true}]",
                "one table with a name, or separate",
            ),
            ("tables: [{files: 'd/x*', name: a}]", "without '/'"),
            ("tables: [{files: 'x[', name: a}]", "no pattern"),
            ("tables: [{files: 'x*', name: 'a/b'}]", "no name of a table"),
            ("tables: [{files: 'x*', name: ' '}]", "no name of a table"),
            ("tables: 7", "line 1"),
            ("&a [*a]", ""),
        ] {
            let error = Declared::default().add("", text).unwrap_err().to_string();
            assert!(
                error.contains(told) && error.lines().count() == 1,
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn bombs_cost_nothing() {
        let bomb: String = (1..30)
            .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1))
            .collect();
        let bomb = format!("a0: &a0 [x, x]\n{bomb}");
        let deep = "[".repeat(100_000);
        let nested = format!(
            "tables: [{{files: '{}', name: a}}]",
            "{".repeat(400) + &"}".repeat(400)
        );
        let classes = format!("tables: [{{files: '{}', name: a}}]", "[!a]".repeat(10_000));
        let many = "- {files: 'x*', name: a}\n".repeat(1_001);
        let many = format!("tables:\n{many}");
        for text in [bomb.as_str(), &deep, &nested, &classes, &many] {
            assert!(Declared::default().add("", text).is_err());
        }
        // The most that is taken compiles.
        for glob in [
            "{".repeat(127) + &"}".repeat(127),
            "[!a]".repeat(63),
            "*a".repeat(127),
        ] {
            let text = format!("tables: [{{files: '{glob}', name: a}}]");
            Declared::default().add("", &text).unwrap();
        }
    }
}
