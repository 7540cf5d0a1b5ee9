//! `.limn.yaml` files: which files of a folder are one table and how they are read, as the people
//! who keep them say.
//!
//! ```yaml
//! tables:
//! - name: orders            # these files are one table, shop/orders in a folder `shop`, whatever their columns are
//!   files: "export_*.csv"
//!   columns: {qty: integer, day: {type: date, description: The day of the order}}
//!   date-order: day-first
//! - files: "report_*.csv"   # each of these is a table of its own, however alike they are
//!   separate: true
//! - files: "old.csv"        # what it makes is found out as ever, how it is read is not
//!   header: none
//!   encoding: windows-1252
//! ```
//!
//! A file holds for the data files of its own folder, by their names, and with a slash in the
//! pattern (`*/orders.csv`) for those in folders of dates below it; the first entry that matches
//! decides. Which table partitions (`day=1/…`), parts (`part-00000…`) and what is in containers are
//! of is as it always is; parts are read as is said of their names, and tables in a container as is
//! said of the container's.

use std::collections::BTreeMap;
use std::sync::Arc;

use limn_formats::Declaration;
use limn_formats::member;
use serde::Deserialize;

use self::entry::{Checked, Entry};
pub use self::error::DeclaredError;
use self::error::MOST_ENTRIES;
use crate::dates::dated;
use crate::place::{join, split_path};

mod entry;
mod error;

/// The name of such a file.
pub const DECLARED_FILE: &str = ".limn.yaml";

/// Whether an object is such a file, as its path says.
pub fn is_declared_file(path: &str) -> bool {
    split_path(path).1 == DECLARED_FILE
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    tables: Vec<Entry>,
}

/// What is said of some files of a folder.
#[derive(Clone, Debug)]
struct Rule {
    files: globset::GlobMatcher,
    /// Whether they lie in folders of dates.
    is_deep: bool,
    /// The table that they are.
    table: Option<String>,
    /// Whether each is a table.
    is_separate: bool,
    declaration: Arc<Declaration>,
}

/// What an entry declares of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Says<'a> {
    /// It is a part of this folder's table of this name.
    Of {
        /// The folder of the file that says so.
        folder: &'a str,
        table: &'a str,
    },
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
        let by = join(folder, DECLARED_FILE);
        let rules = entries.into_iter().map(|entry| {
            let checked = entry.check(&by)?;
            Ok(Rule::of(checked))
        });
        let rules = rules.collect::<Result<Vec<Rule>, DeclaredError>>()?;
        if !rules.is_empty() {
            self.folders.insert(folder.to_owned(), rules);
        }
        Ok(())
    }

    /// Which table a data file makes, if that is said.
    pub(crate) fn says(&self, path: &str) -> Option<Says<'_>> {
        let (folder, rule) = self.rule(path)?;
        match (&rule.table, rule.is_separate) {
            (Some(table), _) => Some(Says::Of { folder, table }),
            (None, true) => Some(Says::Alone),
            (None, false) => None,
        }
    }

    /// Whether the delimiter or the header of a text is declared, so that it is a table.
    pub(crate) fn cuts(&self, path: &str) -> bool {
        let entry = self.entry(path);
        entry.is_some_and(|it| it.reading.delimiter.is_some() || it.reading.header.is_some())
    }

    /// The entry that speaks of a data file; of what is in a container that which speaks of the
    /// container.
    pub(crate) fn entry(&self, path: &str) -> Option<Arc<Declaration>> {
        if self.folders.is_empty() {
            return None;
        }
        let (_, rule) = self.rule(member::outside(path))?;
        Some(Arc::clone(&rule.declaration))
    }

    /// The rule that speaks of a file: of its folder, or of the one above all dates of its path.
    /// The first one's folder, too.
    fn rule(&self, path: &str) -> Option<(&str, &Rule)> {
        // Nothing is declared in most lakes.
        if self.folders.is_empty() {
            return None;
        }
        let of_folder = |folder: &str, below: &str, is_deep: bool| {
            let (folder, rules) = self.folders.get_key_value(folder)?;
            let mut rules = rules.iter().filter(|rule| rule.is_deep == is_deep);
            let rule = rules.find(|rule| rule.files.is_match(below))?;
            Some((folder.as_str(), rule))
        };
        let (folder, name) = split_path(path);
        of_folder(folder, name, false).or_else(|| {
            let dated = dated(path)?;
            of_folder(dated.home, dated.below, true)
        })
    }
}

/// What an error says, without the lines of the file that come after it.
fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    limn_store::one_line(line.strip_prefix("error: ").unwrap_or(line))
}

impl Rule {
    fn of(checked: Checked) -> Rule {
        Rule {
            files: checked.files,
            is_deep: checked.is_deep,
            table: checked.table,
            is_separate: checked.is_separate,
            declaration: Arc::new(checked.declaration),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::contexts::column_descriptions;
    use limn_profile::DataType;
    use limn_profile::HeaderLine;
    use limn_profile::notation::{Conventions, DateOrder};

    #[test]
    fn the_first_entry_that_matches_decides() {
        let mut declared = Declared::default();
        let text =
            "tables:\n- files: 'x_0*.csv'\n  separate: true\n- {name: orders, files: 'x_*.csv'}\n";
        declared.add("shop", text).unwrap();
        declared.add("", "# nothing yet\n").unwrap();
        assert_eq!(declared.says("shop/x_01.csv"), Some(Says::Alone));
        assert_eq!(
            declared.says("shop/x_11.csv"),
            Some(Says::Of {
                folder: "shop",
                table: "orders"
            })
        );
        for other in ["shop/y.csv", "shop/deep/x_11.csv", "x_11.csv"] {
            assert_eq!(declared.says(other), None, "{other}");
        }
    }

    #[test]
    fn patterns_with_a_slash_are_of_folders_of_dates() {
        let mut declared = Declared::default();
        let text = "tables:\n- files: '*/old.csv'\n  separate: true\n- {name: orders, files: '202[34]/*.csv'}\n";
        declared.add("shop", text).unwrap();
        declared
            .add("shop/2023", "tables: [{files: 'x.csv', separate: true}]")
            .unwrap();
        let (folder, table) = ("shop", "orders");
        for (path, says) in [
            ("shop/2024/05/20/old.csv", Some(Says::Alone)),
            ("shop/2024/05/20/x.csv", Some(Says::Of { folder, table })),
            ("shop/2023/x.csv", Some(Says::Alone)),
            ("shop/2023/y.csv", Some(Says::Of { folder, table })),
            ("shop/old.csv", None),
            ("shop/eu/old.csv", None),
            ("shop/eu/2024/old.csv", None),
        ] {
            assert_eq!(declared.says(path), says, "{path}");
        }
    }

    #[test]
    fn an_entry_says_how_files_are_read() {
        let mut declared = Declared::default();
        let text = "tables:
- files: '*.csv'
  columns: {qty: integer, day: {type: date, description: The day | of it}, note: {description: Said}}
  header: 3
  delimiter: tab
  nulls: [-99, 'n.a.', n.a.]
  date-order: day-first
  decimal: ','
  encoding: latin1
  description: Orders of the shop.
  owner: ada@example.org
- files: book.xlsx
  header: none
";
        declared.add("shop", text).unwrap();
        assert_eq!(declared.says("shop/x.csv"), None);
        let entry = declared.entry("shop/x.csv").unwrap();
        assert_eq!(
            (&entry.by[..], &entry.files[..]),
            ("shop/.limn.yaml", "*.csv")
        );
        let reading = &entry.reading;
        let types = [("day", DataType::Date), ("qty", DataType::Integer)];
        let types = types.map(|(name, data_type)| (name.to_owned(), data_type));
        assert_eq!(reading.types, BTreeMap::from(types));
        assert_eq!(reading.header, Some(HeaderLine::At(3)));
        assert_eq!(reading.delimiter, Some(b'\t'));
        let signs = ["-99".to_owned(), "n.a.".to_owned()];
        assert_eq!(reading.nulls.as_deref(), Some(&signs[..]));
        let conventions = Conventions {
            date_order: Some(DateOrder::DayFirst),
            decimal: Some(','),
        };
        assert_eq!(reading.conventions, conventions);
        assert_eq!(reading.encoding.as_deref(), Some("windows-1252"));
        let text = entry.text.as_deref().unwrap();
        let begun = "Orders of the shop.\ntable owner: ada@example.org\n| column |";
        assert!(
            text.starts_with(begun) && text.contains("| day | The day / of it |"),
            "{text}"
        );
        let said = column_descriptions(&[text], &["qty", "day", "note", "owner"]);
        let said: Vec<Option<&str>> = said.iter().map(Option::as_deref).collect();
        assert_eq!(said, [None, Some("The day / of it"), Some("Said"), None]);
        // Sheets and members are read as is said of what holds them.
        let sheet = declared.entry("shop/book.xlsx//2024").unwrap();
        assert_eq!(sheet.reading.header, Some(HeaderLine::None));
        assert_eq!(declared.entry("shop/deep/x.csv"), None);
        // What a catalog keeps says the same.
        let kept = Declaration::from_json(&entry.to_json().unwrap()).unwrap();
        assert_eq!(kept.reading, entry.reading);
    }

    #[test]
    fn what_is_wrong_is_reported_with_what_to_write() {
        for (text, wanted) in [
            ("tables: [", "line 1"),
            ("tabels: []", "tabels"),
            ("tables: [{files: 'x*', name: a, heading: 3}]", "heading"),
            ("tables: [{files: 'x*'}]", "separate: true"),
            (
                "tables: [{files: 'x*', name: a, separate: true}]",
                "one table with a name and separate",
            ),
            (
                "tables: [{files: 'x*', header: 0}]",
                "header of the files 'x*' is '0': write the number of its line",
            ),
            ("tables: [{files: 'x*', header: first}]", "or none"),
            ("tables: [{files: 'x*', delimiter: ab}]", "or tab"),
            ("tables: [{files: 'x*', delimiter: '\"'}]", "or tab"),
            ("tables: [{files: 'x*', decimal: ';'}]", "decimal of"),
            ("tables: [{files: 'x*', date-order: dmy}]", "day-first"),
            ("tables: [{files: 'x*', encoding: utf-9}]", "utf-8"),
            (
                "tables: [{files: 'x*', columns: {a: number}}]",
                "the type of column 'a' of the files 'x*' is 'number'",
            ),
            ("tables: [{files: 'x*', columns: {a: {typ: text}}}]", "typ"),
            (
                "tables: [{files: 'x*', columns: {' ': text}}]",
                "columns of",
            ),
            ("tables: [{files: 'x*', columns: [a]}]", "line 1"),
            ("tables: [{files: 'x*', owner: ''}]", "owner of"),
            ("tables: [{files: 'd/x*', name: a}]", "without '/'"),
            ("tables: [{files: 'x[', name: a}]", "no pattern"),
            ("tables: [{files: 'x*', name: 'a/b'}]", "no name of a table"),
            ("tables: [{files: 'x*', name: ' '}]", "no name of a table"),
            ("tables: 7", "line 1"),
            ("&a [*a]", ""),
        ] {
            let error = Declared::default().add("", text).unwrap_err().to_string();
            assert!(
                error.contains(wanted) && error.lines().count() == 1,
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
        let columns: String = (0..1_001).map(|n| format!("c{n}: text, ")).collect();
        let wide = format!("tables: [{{files: 'x*', columns: {{{columns}}}}}]");
        let long = format!(
            "tables: [{{files: 'x*', description: '{}'}}]",
            "x".repeat(4_001)
        );
        let signs = format!("tables: [{{files: 'x*', nulls: [{}]}}]", "a, ".repeat(101));
        let texts = [&bomb, &deep, &nested, &classes, &many, &wide, &long, &signs];
        for text in texts {
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
