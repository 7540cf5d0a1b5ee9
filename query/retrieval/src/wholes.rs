//! Which tables have what a question asks for as a whole: names ([`Named`]) and values
//! ([`HeldValue`]).
//!
//! Only live tables are looked at: a name or value that hidden tables alone have is none.
//!
//! A value is written out in the texts of a table whose column has few, and is one hash of many
//! where it has more ([`limn_segment::TableValues`]): both are one value here, as rare as all its
//! tables make it.

use std::ops::Range;

use limn_profile::value_key;
use limn_segment::SegmentError;
use limn_segment::whole::Whole;

use crate::absent_words::LookUp;
use crate::asked::{Asked, AskedName};
use crate::corpus::{Corpus, DEAD, Values};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::question::Word;
use crate::scoring::idf;

/// A name that the question has as a whole, and the tables that have it.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) kind: Whole,
    /// As the question has it.
    pub(crate) written: String,
    /// Whether it is a part of a longer name that no table has.
    pub(crate) is_part: bool,
    /// Their numbers, sorted.
    pub(crate) tables: Vec<u32>,
}

/// A value, likewise.
#[derive(Debug)]
pub(crate) struct HeldValue {
    /// As the question has it.
    pub(crate) written: String,
    /// Whether it is a code, which may be in a column's name, too.
    pub(crate) is_code: bool,
    /// Which of the question's words, from 0.
    pub(crate) words: Range<usize>,
    /// Their numbers, sorted.
    pub(crate) tables: Vec<u32>,
    /// Whether the question sets it apart from words: it is quoted, a code, a number or a name.
    pub(crate) is_distinct: bool,
    /// Of those that have it among many: table and column, sorted.
    among_many: Vec<(u32, u32)>,
    pub(crate) idf: f32,
}

/// A word that tables have among many values of a column.
#[derive(Debug)]
pub(crate) struct HeldWord {
    /// As the question has it.
    written: String,
    pub(crate) term: String,
    /// Tables and columns, sorted.
    among_many: Vec<(u32, u32)>,
}

impl HeldWord {
    /// The numbers of the tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = u32> {
        let tables = self.among_many.chunk_by(|a, b| a.0 == b.0);
        tables.map(|columns| columns[0].0)
    }
}

/// What of a question tables have as a whole.
#[derive(Debug, Default)]
pub(crate) struct Wholes {
    pub(crate) names: Vec<Named>,
    /// None is a part of another.
    pub(crate) values: Vec<HeldValue>,
    pub(crate) words: Vec<HeldWord>,
}

/// How well a table fits the names that a question has: one that has a table's or file's name comes
/// before one that has a column's, more columns before fewer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fit {
    tables: u32,
    columns: u32,
}

impl Wholes {
    pub(crate) fn find(
        corpus: &Corpus,
        asked: &Asked,
        deadline: Deadline,
    ) -> Result<Wholes, RetrievalError> {
        let names = asked.names.iter();
        let names: Vec<(Whole, &AskedName)> = names
            .flat_map(|name| name.of.iter().map(move |kind| (*kind, name)))
            .collect();
        let terms = asked.names.iter();
        let mut terms: Vec<String> = terms
            .flat_map(|name| name.of.iter().map(|kind| kind.term(&name.key)))
            .collect();
        let values = asked.values.iter();
        terms.extend(values.map(|value| Whole::Value.term(&value.key)));
        let codes = asked.values.iter().filter(|value| value.is_code);
        terms.extend(codes.map(|code| Whole::Column.term(&code.key)));
        let mut tables = tables_with(corpus, &terms, deadline)?;
        let columns = tables.split_off(names.len() + asked.values.len());
        let (mut tables, mut columns) = (tables.into_iter(), columns.into_iter());

        let mut wholes = Wholes {
            names: named(names, &mut tables),
            ..Wholes::default()
        };
        let many = asked.values.iter().filter(|value| value.is_among_many);
        let keys = many.map(|value| &value.key);
        let keys: Vec<&str> = keys
            .chain(asked.among_many.iter().map(|word| &word.key))
            .map(String::as_str)
            .collect();
        let mut among_many = holding(corpus, &keys, deadline)?.into_iter();
        for (value, mut tables) in asked.values.iter().zip(tables) {
            let mut columns_of_many = Vec::new();
            if value.is_among_many {
                columns_of_many = among_many.next().unwrap_or_default();
                tables.extend(columns_of_many.iter().map(|(table, _)| *table));
                tables.sort_unstable();
                tables.dedup();
            }
            if value.is_code {
                tables.extend(columns.next().unwrap_or_default());
                tables.sort_unstable();
                tables.dedup();
            }
            let is_part = |of: &HeldValue| {
                of.words.start <= value.words.start && value.words.end <= of.words.end
            };
            if tables.is_empty() || wholes.values.iter().any(is_part) {
                continue;
            }
            wholes.values.push(HeldValue {
                written: value.written.clone(),
                is_code: value.is_code,
                words: value.words.clone(),
                idf: idf(corpus.tables.len() as u64, tables.len() as u64),
                tables,
                is_distinct: value.is_among_many,
                among_many: columns_of_many,
            });
        }
        let words = asked.among_many.iter().zip(among_many);
        let words = words.filter(|(_, among_many)| !among_many.is_empty());
        wholes.words = words
            .map(|(word, among_many)| HeldWord {
                written: word.written.clone(),
                term: word.term.clone(),
                among_many,
            })
            .collect();
        Ok(wholes)
    }

    /// The tables that have a name of the question, with how well each fits; in no particular
    /// order.
    pub(crate) fn named(&self) -> Vec<(u32, Fit)> {
        let mut named: Vec<(u32, Fit)> = Vec::new();
        for name in &self.names {
            let is_table = u32::from(name.kind != Whole::Column);
            let fit = Fit {
                tables: is_table,
                columns: 1 - is_table,
            };
            named.extend(name.tables.iter().map(|table| (*table, fit)));
        }
        named.sort_unstable();
        named.dedup_by(|more, kept| {
            let is_same = more.0 == kept.0;
            if is_same {
                kept.1.tables = kept.1.tables.max(more.1.tables);
                kept.1.columns += more.1.columns;
            }
            is_same
        });
        named
    }

    /// Whether the question names a table: by its own name, or its file's or a column's, or by a
    /// value or code that is the whole question.
    pub(crate) fn is_named(&self, table: u32, words: usize) -> bool {
        let has = |tables: &Vec<u32>| tables.binary_search(&table).is_ok();
        let mut values = self.values.iter();
        let mut names = self.names.iter().filter(|name| !name.is_part);
        names.any(|name| has(&name.tables))
            || values.any(|value| value.words == (0..words) && has(&value.tables))
    }

    /// Whether a table has a word of the question as a value, or within one.
    pub(crate) fn has_word(&self, word: &Word, table: u32) -> bool {
        let mut values = self.values.iter();
        let mut words = self.words.iter();
        values.any(|it| it.words.contains(&word.at) && it.tables.binary_search(&table).is_ok())
            || words
                .any(|held| word.terms.contains(&held.term) && held.tables().any(|it| it == table))
    }

    /// Whether a table has all values of the question that another one has.
    pub(crate) fn has_values_of(&self, table: u32, other: u32) -> bool {
        let mut values = self.values.iter();
        let mut words = self.words.iter();
        values.all(|value| {
            let has = |table: u32| value.tables.binary_search(&table).is_ok();
            has(table) || !has(other)
        }) && words.all(|word| {
            let has = |table: u32| word.tables().any(|it| it == table);
            has(table) || !has(other)
        })
    }

    /// What a table has of the question as a whole, with its kind: `column promo_code`; of what it
    /// has among many with the column, if it is known by `column_name`.
    pub(crate) fn of_table(
        &self,
        table: u32,
        column_name: impl Fn(u32) -> Option<String>,
    ) -> Vec<String> {
        let place = |among_many: &[(u32, u32)]| {
            let first = among_many.partition_point(|(other, _)| *other < table);
            let column = among_many.get(first).filter(|(other, _)| *other == table);
            let name = column.and_then(|(_, column)| column_name(*column));
            name.map_or_else(String::new, |name| format!(" in {name}"))
        };
        let has = |tables: &Vec<u32>| tables.binary_search(&table).is_ok();
        let names = self.names.iter().filter(|name| has(&name.tables));
        let named: Vec<&str> = names.clone().map(|name| name.written.as_str()).collect();
        let names = names.map(|name| format!("{} {}", name.kind.name(), name.written));
        let values = self.values.iter().filter(|value| has(&value.tables));
        // A name in letters and digits would be a code of its own table, too.
        let values = values.filter(|value| !named.contains(&value.written.as_str()));
        let values = values.map(|value| {
            let kind = if value.is_code { "code" } else { "value" };
            format!("{kind} {}{}", value.written, place(&value.among_many))
        });
        let words = self.words.iter();
        let words = words.filter(|word| word.tables().any(|other| other == table));
        let words = words.map(|word| format!("value {}{}", word.written, place(&word.among_many)));
        let mut found = Vec::new();
        for whole in names.chain(values).chain(words) {
            // A word in quotation marks is a value and a word.
            if !found.contains(&whole) {
                found.push(whole);
            }
        }
        found
    }
}

/// Of the names that a question may have those that some table has; parts of longer names where
/// there is no other.
fn named(names: Vec<(Whole, &AskedName)>, tables: impl Iterator<Item = Vec<u32>>) -> Vec<Named> {
    let (mut whole, mut parts): (Vec<Named>, Vec<Named>) = (Vec::new(), Vec::new());
    for ((kind, name), tables) in names.into_iter().zip(tables) {
        let written = name.written.clone();
        let names = match name.is_part {
            true => &mut parts,
            false => &mut whole,
        };
        // A file that is called as its table says nothing more.
        let is_listed =
            |it: &Named| kind == Whole::File && it.written == written && it.tables == tables;
        if !tables.is_empty() && !names.iter().any(is_listed) {
            names.push(Named {
                kind,
                written,
                is_part: name.is_part,
                tables,
            });
        }
    }
    if whole.is_empty() { parts } else { whole }
}

/// The numbers of the live tables that have each of some whole terms, sorted.
pub(crate) fn tables_with(
    corpus: &Corpus,
    terms: &[String],
    deadline: Deadline,
) -> Result<Vec<Vec<u32>>, RetrievalError> {
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); terms.len()];
    let looked_for = (0..terms.len()).filter(|at| !corpus.is_absent(&terms[*at], LookUp::Whole));
    let (places, looked_for): (Vec<usize>, Vec<String>) =
        looked_for.map(|at| (at, terms[at].clone())).unzip();
    for segment in &corpus.segments {
        deadline.check()?;
        let walked: Result<(), SegmentError> =
            segment.reader.whole(&looked_for, &mut |at, blocks| {
                let tables = blocks.iter().map(|block| segment.table_of[*block as usize]);
                found[places[at]].extend(tables.filter(|table| *table != DEAD));
            });
        walked?;
    }
    for (term, tables) in terms.iter().zip(&mut found) {
        tables.sort_unstable();
        tables.dedup();
        if tables.is_empty() {
            corpus.found_absent(term, LookUp::Whole);
        }
    }
    Ok(found)
}

/// The live tables and columns that have each of some keys of values among many, sorted.
fn holding(
    corpus: &Corpus,
    keys: &[&str],
    deadline: Deadline,
) -> Result<Vec<Vec<(u32, u32)>>, RetrievalError> {
    let mut found: Vec<Vec<(u32, u32)>> = vec![Vec::new(); keys.len()];
    if corpus.values() == Values::Hidden {
        return Ok(found);
    }
    let is_wanted = |key: &&str| !corpus.is_absent(key, LookUp::Value);
    let wanted: Vec<bool> = keys.iter().map(is_wanted).collect();
    for segment in &corpus.segments {
        deadline.check()?;
        let reader = &segment.reader;
        for ((key, found), _) in keys.iter().zip(&mut found).zip(&wanted).filter(|it| *it.1) {
            reader.holding_value(value_key::hash(key), &mut |table, column| {
                let mut blocks = reader.tables().blocks(table as usize);
                let live = blocks.find_map(|block| {
                    let number = segment.table_of[block as usize];
                    (number != DEAD).then_some(number)
                });
                found.extend(live.map(|number| (number, column)));
            })?;
        }
    }
    for (key, found) in keys.iter().zip(&mut found) {
        found.sort_unstable();
        if found.is_empty() {
            corpus.found_absent(key, LookUp::Value);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_name_comes_before_columns_and_more_columns_before_fewer() {
        let named = |kind, tables: &[u32]| Named {
            kind,
            written: "x".into(),
            is_part: false,
            tables: tables.to_vec(),
        };
        let wholes = Wholes {
            names: vec![
                named(Whole::Column, &[1, 2, 3]),
                named(Whole::Column, &[2]),
                named(Whole::Table, &[5]),
                named(Whole::File, &[3, 5]),
            ],
            ..Wholes::default()
        };
        let mut named = wholes.named();
        named.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let order: Vec<u32> = named.into_iter().map(|(table, _)| table).collect();
        assert_eq!(order, [3, 5, 2, 1]);
    }
}
