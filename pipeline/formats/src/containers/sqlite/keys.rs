//! The keys that a database's tables declare: primary and unique ones, and those of other tables.

use std::collections::{BTreeMap, HashMap};

use limn_profile::{DeclaredKeys, Reference};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Row};

use super::quoted;
use crate::{member, names};

/// Keys of a kind that are looked at; columns that a key has.
const MOST: usize = 64;

/// What a table declares, in the database's own names.
#[derive(Debug, Default)]
pub(super) struct Declared(DeclaredKeys);

impl Declared {
    /// `called` distinguishes a table's own name from one in other case.
    pub(super) fn of(
        base: &Connection,
        table: &str,
        called: impl Fn(&str) -> Option<String>,
    ) -> Result<Declared, Error> {
        let mut primary: Vec<(i64, String)> = Vec::new();
        each(base, "table_info", table, |row| {
            let place: i64 = row.get(5)?;
            if place > 0 {
                primary.extend(text(row, 1).map(|name| (place, name)));
            }
            Ok(())
        })?;
        primary.sort();
        let mut indexes = Vec::new();
        each(base, "index_list", table, |row| {
            let (is_unique, is_partial): (bool, bool) = (row.get(2)?, row.get(4)?);
            let is_primary = text(row, 3).as_deref() == Some("pk");
            if is_unique && !is_partial && !is_primary && indexes.len() < MOST {
                indexes.extend(text(row, 1));
            }
            Ok(())
        })?;
        let mut unique = Vec::new();
        for index in indexes {
            let mut columns = Vec::new();
            each(base, "index_info", &index, |row| {
                columns.push(text(row, 2));
                Ok(())
            })?;
            // Of expressions there are no names.
            unique.extend(columns.into_iter().collect::<Option<Vec<String>>>());
        }
        unique.sort();
        unique.dedup();
        let mut references: BTreeMap<i64, Reference> = BTreeMap::new();
        each(base, "foreign_key_list", table, |row| {
            let id: i64 = row.get(0)?;
            if references.len() >= MOST && !references.contains_key(&id) {
                return Ok(());
            }
            let (Some(table), Some(from)) = (text(row, 2), text(row, 3)) else {
                return Ok(());
            };
            let reference = references.entry(id).or_default();
            reference.table = called(&table).unwrap_or(table);
            reference.columns.push(from);
            reference.to.extend(text(row, 4));
            Ok(())
        })?;
        Ok(Declared(DeclaredKeys {
            primary: primary.into_iter().map(|(_, name)| name).collect(),
            unique,
            // The last that is declared has the least number.
            references: references.into_values().rev().collect(),
        }))
    }

    /// The same in the names of a summary of these columns.
    pub(super) fn keys(self, columns: &[String]) -> DeclaredKeys {
        let unique = names::unique(columns.iter().map(String::as_str));
        let known: HashMap<&str, String> = columns.iter().map(String::as_str).zip(unique).collect();
        let renamed = |columns: Vec<String>| -> Vec<String> {
            let columns = columns.into_iter().map(|name| match known.get(&*name) {
                Some(known) => known.clone(),
                None => names::tidy(&name),
            });
            columns.collect()
        };
        let fits = |columns: &[String]| (1..=MOST).contains(&columns.len());
        let DeclaredKeys {
            primary,
            unique,
            references,
        } = self.0;
        let references = references.into_iter().filter(|it| fits(&it.columns));
        DeclaredKeys {
            primary: match fits(&primary) {
                true => renamed(primary),
                false => Vec::new(),
            },
            unique: unique
                .into_iter()
                .filter(|columns| fits(columns))
                .map(renamed)
                .collect(),
            references: references
                .map(|it| Reference {
                    columns: renamed(it.columns),
                    // As its member is called.
                    table: member::tidy_name(it.table.as_bytes())
                        .unwrap_or_else(|_| names::tidy(&it.table)),
                    // Of the other table, whose columns are not at hand.
                    to: it.to.iter().map(|name| names::tidy(name)).collect(),
                })
                .collect(),
        }
    }
}

/// Runs a pragma of a table or index, and looks at each of its rows.
fn each(
    base: &Connection,
    pragma: &str,
    of: &str,
    mut look: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let sql = format!("PRAGMA main.{pragma}({})", quoted(of));
    let mut statement = base.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        look(row)?;
    }
    Ok(())
}

fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}
