//! Words for what tables and their columns are, by which a caller asks for some of them.
//!
//! The words are those of the lake's readers (`Format` and `DataType` of `limn-lake`, which a node
//! does not need), and those that tables have besides: Parquet's types that are none of ours go by
//! their own names. A word that is none of them is refused: it would find nothing and not say why.

use std::collections::BTreeSet;

use crate::problem::{Problem, shortened};
use crate::table_list::TableList;

const FORMATS: &[&str] = &[
    "arrow",
    "avro",
    "csv",
    "dbf",
    "delta",
    "hudi",
    "iceberg",
    "jsonlines",
    "orc",
    "parquet",
    "sheet",
    "sqlite",
    "text",
];
const TYPES: &[&str] = &[
    "binary",
    "boolean",
    "date",
    "float",
    "integer",
    "text",
    "timestamp",
    "unknown",
];

/// That tables can have this format.
///
/// # Errors
/// A word for none.
pub(super) fn check_format(asked: &str, table_list: &TableList) -> Result<(), Problem> {
    let there = table_list.tables().map(|table| table.format);
    check("format", asked, FORMATS, there)
}

/// That columns can have this type.
///
/// # Errors
/// A word for none.
pub(super) fn check_column_type(asked: &str, table_list: &TableList) -> Result<(), Problem> {
    let there = table_list.tables().flat_map(|table| table.columns());
    let there = there.map(|column| column.data_type);
    check("column_type", asked, TYPES, there)
}

fn check<'a>(
    what: &str,
    asked: &str,
    known: &[&'a str],
    there: impl Iterator<Item = &'a str>,
) -> Result<(), Problem> {
    let is_asked = |word: &&str| word.eq_ignore_ascii_case(asked);
    if known.iter().any(is_asked) {
        return Ok(());
    }
    let mut words: BTreeSet<&str> = known.iter().copied().collect();
    words.extend(there);
    if words.iter().any(is_asked) {
        return Ok(());
    }
    let words: Vec<&str> = words.into_iter().collect();
    Err(Problem::bad(
        format!("{what} is '{}'", shortened(asked, 100)),
        format!("choose one of {}", words.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_formats::Format;
    use limn_profile::DataType;
    use utoipa::IntoParams;

    use super::*;
    use crate::answers::{ListRequest, SearchRequest};

    #[test]
    fn the_words_are_those_of_the_lakes_readers() {
        let formats = [
            Format::Arrow,
            Format::Avro,
            Format::Csv,
            Format::Dbf,
            Format::Delta,
            Format::Hudi,
            Format::Iceberg,
            Format::JsonLines,
            Format::Orc,
            Format::Parquet,
            Format::Sheet,
            Format::Sqlite,
            Format::Text,
        ];
        assert_eq!(formats.map(Format::label), FORMATS);
        let types = [
            DataType::Binary,
            DataType::Boolean,
            DataType::Date,
            DataType::Float,
            DataType::Integer,
            DataType::Text,
            DataType::Timestamp,
            DataType::Unknown,
        ];
        assert_eq!(types.each_ref().map(DataType::label), TYPES);
    }

    #[test]
    fn an_unknown_word_is_refused_with_those_that_there_are() {
        let table_list = TableList::default();
        for asked in ["csv", "CSV", "JsonLines", "parquet", "Arrow", "avro", "ORC"] {
            check_format(asked, &table_list).unwrap();
        }
        check_column_type("Integer", &table_list).unwrap();
        let refused = check_column_type("int", &table_list).unwrap_err();
        assert!(refused.remedy.contains("boolean, date, float, integer"));
        let refused = check_format("xlsx", &table_list).unwrap_err();
        assert_eq!(refused.message, "format is 'xlsx'");
        assert_eq!(
            refused.remedy,
            "choose one of arrow, avro, csv, dbf, delta, hudi, iceberg, jsonlines, orc, parquet, sheet, sqlite, text"
        );
        // What tables have besides, in whatever case.
        let there = || ["list", "csv"].into_iter();
        check("x", "LIST", &["csv"], there()).unwrap();
        let refused = check("x", "map", &["csv"], there()).unwrap_err();
        assert_eq!(refused.remedy, "choose one of csv, list");
    }

    /// The page has its own copy of the formats' names.
    #[test]
    fn the_page_has_a_name_for_every_format() {
        let names = include_str!("../../page/names.js");
        for format in FORMATS {
            assert!(names.contains(&format!("\n    {format}: \"")), "{format}");
        }
    }

    /// So is what is said of them.
    #[test]
    fn the_descriptions_name_every_word() {
        let of = |parameters: Vec<utoipa::openapi::path::Parameter>, name: &str| {
            let found = parameters.into_iter().find(|it| it.name == name);
            found.unwrap().description.unwrap()
        };
        for parameters in [SearchRequest::into_params, ListRequest::into_params] {
            let described = of(parameters(|| None), "format");
            for format in FORMATS {
                assert!(described.contains(&format!("`{format}`")), "{described}");
            }
        }
        let described = of(SearchRequest::into_params(|| None), "column_type");
        for data_type in TYPES {
            assert!(described.contains(&format!("`{data_type}`")), "{described}");
        }
    }
}
