#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

fn all(expected: DataType, cells: &[&str]) {
    for cell in cells {
        assert_eq!(classify(cell), expected, "{cell:?}");
    }
}

#[test]
fn integers() {
    all(
        DataType::Integer,
        &[
            "0",
            "7",
            "-12",
            "+3",
            " 42 ",
            "9223372036854775807",
            "18446744073709551615",
        ],
    );
}

#[test]
fn floats() {
    all(
        DataType::Float,
        &[
            "1.5",
            ".5",
            "5.",
            "-0.25",
            "1e5",
            "2.5E-3",
            "+1.e+2",
            "inf",
            "-Infinity",
        ],
    );
}

#[test]
fn booleans() {
    all(DataType::Boolean, &["true", "FALSE", "True"]);
}

#[test]
fn dates() {
    all(
        DataType::Date,
        &[
            "2024-02-29",
            "2024/2/9",
            "29.02.2024",
            "2/29/2024",
            "31/12/1999",
            "0001-01-01",
        ],
    );
}

#[test]
fn timestamps() {
    all(
        DataType::Timestamp,
        &[
            "2024-02-29T12:30",
            "2024-02-29 12:30:59",
            "2024-02-29 12:30:59.123456789",
            "2024-02-29T12:30:59Z",
            "2024-02-29T12:30:59+02:00",
            "2024-02-29 12:30:59 UTC",
            "2024-02-29 12:30:59+0200",
            "2024-02-29 12:30:59-02",
            "12/31/1999 23:59:59",
        ],
    );
}

#[test]
fn text() {
    all(
        DataType::Text,
        &[
            "",
            " ",
            "-",
            ".",
            "+",
            "e5",
            "-e5",
            "007",
            "00.5",
            "1,234",
            "12%",
            "1.2.3",
            "1e",
            "1e+",
            "99999999999999999999",
            "2023-02-29",
            "2024-13-01",
            "2024-00-10",
            "32.12.2024",
            "2024-1",
            "2024-02-29T25:00",
            "2024-02-29T12",
            "2024-02-29 12:30:59x",
            "12:30",
            "truely",
            "infer",
            "20240229T",
            "1-800-555",
            "192.168.0.1",
            "é",
            "１２",
            "0x1F",
            "NaNa",
        ],
    );
}

#[test]
fn ambiguous_days() {
    assert_eq!(instant("1/2/2024"), instant("2024-01-02"));
    assert_eq!(instant("1.2.2024"), instant("2024-02-01"));
    assert_eq!(instant("31/12/1999"), instant("1999-12-31"));
    assert_eq!(instant("1970-01-02 00:00:01.5"), Some(86_401_500_000));
}

#[test]
fn nulls() {
    for cell in [
        "", "NA", "NULL", "null", "nan", "NaN", "\\N", "n/a", "N/A", "<NA>", "#N/A",
    ] {
        assert!(is_null(cell), "{cell}");
    }
    for cell in ["None", "-", "?", "0", "Na", "nullable"] {
        assert!(!is_null(cell), "{cell}");
    }
}

proptest! {
    #[test]
    fn every_i64_is_an_integer(value: i64) {
        prop_assert_eq!(classify(&value.to_string()), DataType::Integer);
    }

    #[test]
    fn numbers_parse(cell in "[-+]?[0-9]{0,20}[.]?[0-9]{0,5}([eE][-+]?[0-9]{0,3})?") {
        if matches!(classify(&cell), DataType::Integer | DataType::Float) {
            prop_assert_eq!(number(&cell), cell.parse::<f64>().ok(), "{}", cell);
        }
    }

    #[test]
    fn iso_days_are_dates_iff_chrono_says_so(year in 1u32..9999, month in 0u32..14, day in 0u32..33) {
        let cell = format!("{year:04}-{month:02}-{day:02}");
        let real = chrono::NaiveDate::parse_from_str(&cell, "%Y-%m-%d").is_ok();
        prop_assert_eq!(classify(&cell) == DataType::Date, real, "{}", cell);
    }

    #[test]
    fn instants_are_those_of_chrono(seconds in -62_135_596_800i64..253_402_300_799, micros in 0u32..1_000_000, offset in -14i32..15) {
        let instant_of = chrono::DateTime::from_timestamp(seconds, micros * 1000).unwrap();
        let zone = chrono::FixedOffset::east_opt(offset * 3600).unwrap();
        let local = instant_of.with_timezone(&zone);
        if (1..=9999).contains(&chrono::Datelike::year(&local)) {
            let cell = local.format("%Y-%m-%dT%H:%M:%S%.6f%:z").to_string();
            prop_assert_eq!(instant(&cell), Some(seconds * 1_000_000 + i64::from(micros)), "{}", cell);
        }
    }

    #[test]
    fn classes_have_order_keys(cell in "[-+]?[0-9./:TZ eE-]{0,25}|[+-]?inf(inity)?") {
        let class = classify(&cell);
        prop_assert_eq!(number(&cell).is_some(), matches!(class, DataType::Integer | DataType::Float), "{}", cell);
        prop_assert_eq!(instant(&cell).is_some(), matches!(class, DataType::Date | DataType::Timestamp), "{}", cell);
    }

    #[test]
    fn all_at_one_go_is_each_for_itself(cell in "[-+]?0?[0-9]{0,17}[.]?[0-9]{0,17}([eE][-+]?[0-9]{1,3})?|[+-]?inf|true|[0-9./:TZ -]{0,25}|2024-[01][0-9]-[0-3][0-9](T10:00)?|\\PC*") {
        let (class, key) = read(&cell);
        prop_assert_eq!(&class, &classify(&cell), "{}", cell);
        let known = number(&cell).or_else(|| instant(&cell).map(|it| it as f64));
        prop_assert_eq!(key.map(f64::to_bits), known.map(f64::to_bits), "{}", cell);
        if matches!(class, DataType::Integer | DataType::Float) {
            let parsed = cell.trim_ascii().parse::<f64>().ok();
            prop_assert_eq!(key.map(f64::to_bits), parsed.map(f64::to_bits), "{}", cell);
        }
    }

    #[test]
    fn anything_goes(cell in "\\PC*") {
        classify(&cell);
        number(&cell);
        instant(&cell);
        is_null(&cell);
    }
}
