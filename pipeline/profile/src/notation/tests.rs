//! Which columns are read in which notation, and which are left alone.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::data_type::DataType;

/// The notation of a column alone in a file that is cut at `delimiter`.
fn of(delimiter: u8, values: &[&str]) -> Option<Notation> {
    readings(delimiter, values).own
}

/// Its notation and what else it may be.
fn readings(delimiter: u8, values: &[&str]) -> Readings {
    let mut evidence = Evidence::default();
    let left = values.iter().all(|value| evidence.take(value));
    let column = (&DataType::Text, left.then_some(&evidence));
    decide(&[column], delimiter).pop().unwrap()
}

fn is(delimiter: u8, values: &[&str], described: &str, plain: &[&str]) {
    let notation = of(delimiter, values).unwrap_or_else(|| panic!("{values:?}"));
    assert_eq!(notation.to_string(), described, "{values:?}");
    let mut text = String::new();
    for (value, plain) in values.iter().zip(plain) {
        assert!(notation.plain(value, &mut text), "{value}");
        assert_eq!(text, *plain, "{value}");
    }
    let json = serde_json::to_string(&notation).unwrap();
    assert_eq!(serde_json::from_str::<Notation>(&json).unwrap(), notation);
}

fn is_text(values: &[&str]) {
    for delimiter in *b",;" {
        assert_eq!(of(delimiter, values), None, "{values:?}");
    }
}

#[test]
fn marks_and_groups() {
    is(
        b';',
        &["1,5", "-12", "0,25"],
        "decimal comma",
        &["1.5", "-12", "0.25"],
    );
    is(b';', &["1,234", "0,5"], "decimal comma", &["1.234", "0.5"]);
    is(
        b';',
        &["1.234,56", "7", "1.000.000"],
        "decimal comma, thousands by points",
        &["1234.56", "7", "1000000"],
    );
    is(
        b';',
        &["1,234,567", "1,234", "-5.25"],
        "thousands by commas",
        &["1234567", "1234", "-5.25"],
    );
    is(
        b',',
        &["1 234", "12\u{a0}345", "7\u{202f}000\u{202f}000", "1234"],
        "thousands by spaces",
        &["1234", "12345", "7000000", "1234"],
    );
    is(
        b',',
        &["1'234.50", "7"],
        "thousands by apostrophes",
        &["1234.50", "7"],
    );
    is(
        b',',
        &["12,34,567", "1,00,000"],
        "Indian groups by commas",
        &["1234567", "100000"],
    );
}

#[test]
fn what_is_around_a_number() {
    is(
        b',',
        &["$1,234.50", "-$5", "$-6", "0"],
        "thousands by commas, in $",
        &["1234.50", "-5", "-6", "0"],
    );
    is(
        b';',
        &["1.234,50 €", "5 €", "-3,00 €"],
        "decimal comma, thousands by points, in €",
        &["1234.50", "5", "-3.00"],
    );
    is(b',', &["USD 5", "USD 7.25"], "in USD", &["5", "7.25"]);
    is(
        b',',
        &["12%", "7.5 %", "-3%"],
        "in percent",
        &["12", "7.5", "-3"],
    );
    is(
        b',',
        &["(1,200.00)", "35.00"],
        "thousands by commas, negative in parentheses",
        &["-1200.00", "35.00"],
    );
    is(
        b';',
        &["12,5-", "3,5"],
        "decimal comma, minus behind the number",
        &["-12.5", "3.5"],
    );
}

#[test]
fn decimals_or_thousands() {
    let values = ["1,234", "56,789"];
    is(
        b',',
        &values,
        "thousands by commas (as the rest of the file suggests)",
        &["1234", "56789"],
    );
    assert_eq!(of(b';', &values), None);
    let [mut open, mut german] = [Evidence::default(), Evidence::default()];
    assert!(values.iter().all(|value| open.take(value)));
    assert!(["0,5", "2,75"].iter().all(|value| german.take(value)));
    let text = DataType::Text;
    let both = decide(&[(&text, Some(&open)), (&text, Some(&german))], b';');
    assert_eq!(
        both[0].own.as_ref().unwrap().to_string(),
        "decimal comma (as the rest of the file suggests)"
    );
}

#[test]
fn what_else_fits_is_left_to_the_table() {
    let others = |delimiter, values: &[&str]| -> Vec<String> {
        let others = readings(delimiter, values).others;
        others.iter().map(ToString::to_string).collect()
    };
    let suggested = " (as the rest of the file suggests)";
    let commas = [format!("decimal comma{suggested}")];
    assert_eq!(others(b',', &["1,234", "56,789"]), commas);
    assert_eq!(others(b';', &["1,234", "56,789"]).len(), 2);
    let presumed = " (presumed: no value decides)";
    assert_eq!(
        others(b',', &["1/2/2020"]),
        [format!("DD/MM/YYYY{presumed}")]
    );
    assert_eq!(others(b',', &["1/2/20", "3/4/20"]).len(), 2);
    assert_eq!(others(b',', &["1/2/2020", "13/1/2020"]), [""; 0]);
    assert_eq!(others(b';', &["1,234", "0,5"]), [""; 0]);
    // Plain fractions that may be thousands.
    for (values, may_be) in [
        (&["1.234", "-56.789"][..], true),
        (&["1.234", "0.789"], false),
        (&["1.234", "1.5"], false),
        (&["1.234e5"], false),
    ] {
        let mut evidence = Evidence::default();
        values.iter().for_each(|it| evidence.take_fraction(it));
        let readings = decide(&[(&DataType::Float, Some(&evidence))], b',');
        assert_eq!(readings[0].own, None);
        assert_eq!(readings[0].others.len() == 1, may_be, "{values:?}");
    }
    assert!(of_value("25/12/2020").others.is_empty());
    assert_eq!(of_value("ada"), Readings::default());
}

#[test]
fn dates() {
    is(
        b',',
        &["31.12.2020", "1.2.2020", "2020-03-04"],
        "DD.MM.YYYY",
        &["2020-12-31", "2020-02-01", "2020-03-04"],
    );
    is(
        b',',
        &["1/2/2020", "13/02/2020 07:05"],
        "DD/MM/YYYY",
        &["2020-02-01", "2020-02-13 07:05:00"],
    );
    is(
        b',',
        &["1/2/2020 3:45 PM", "12/31/2020 12:00:01 am"],
        "MM/DD/YYYY",
        &["2020-01-02 15:45:00", "2020-12-31 00:00:01"],
    );
    is(b',', &["2020/1/31"], "YYYY/MM/DD", &["2020-01-31"]);
    is(
        b',',
        &["1/31/68", "2/3/69"],
        "MM/DD/YY",
        &["2068-01-31", "1969-02-03"],
    );
    is(
        b',',
        &["3 Jan 2020", "12 sept 1999"],
        "DD month YYYY, the month in English",
        &["2020-01-03", "1999-09-12"],
    );
    is(
        b',',
        &["Jan 3, 2020", "February 29, 2020 10:20:30,5"],
        "month DD YYYY, the month in English",
        &["2020-01-03", "2020-02-29 10:20:30.5"],
    );
    is(
        b',',
        &["3-Jan-20", "03-DEC-99"],
        "DD-month-YY, the month in English",
        &["2020-01-03", "1999-12-03"],
    );
}

#[test]
fn orders_that_no_value_decides() {
    is(
        b',',
        &["1/2/2020"],
        "MM/DD/YYYY (presumed: no value decides)",
        &["2020-01-02"],
    );
    is(
        b',',
        &["1.2.2020"],
        "DD.MM.YYYY (presumed: no value decides)",
        &["2020-02-01"],
    );
    is_text(&["1/2/20", "3/4/20"]);
}

#[test]
fn what_stays_text() {
    is_text(&["007", "1,5"]);
    is_text(&["030 123 456", "030 123 457"]);
    is_text(&["555 123 456", "612 345 678"]);
    is_text(&["+49 30 123456", "+49 30 99"]);
    is_text(&["192.168.100.200", "192.168.100.201"]);
    is_text(&["10.0.0.1", "10.0.0.2"]);
    is_text(&["1.2.3", "1.10.0"]);
    is_text(&["10.11.12", "9.1.1"]);
    is_text(&["978-3-16-148410-0"]);
    is_text(&["$5", "5 €"]);
    is_text(&["$5", "6"]);
    is_text(&["12%", "13"]);
    is_text(&["(1)", "(2)"]);
    is_text(&["1,5", "1.25"]);
    is_text(&["1,2,3", "4,5"]);
    is_text(&["13/1/2020", "1/13/2020"]);
    is_text(&["1/2/2020", "1.2.2020"]);
    is_text(&["Jan 2020", "3 Foo 2020"]);
    is_text(&["12:30", "13:00 1,5"]);
    is_text(&["1,234,5678"]);
    assert_eq!(of(b',', &["4,6", "1", "7,8"]), None);
    is_text(&["%", "€"]);
    is_text(&["5 % €"]);
    is_text(&["1,", "2,"]);
    is_text(&["--5", "5,0"]);
}

proptest! {
    #[test]
    fn any_text_is_survived(values in proptest::collection::vec("\\PC{0,12}|[-+($€%]?[0-9., ']{1,12}[-)%€]?|[0-9]{1,4}[./ -][0-9a-zA-Z]{1,9}[./ -][0-9]{1,4}.{0,9}", 1..6)) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if let Some(notation) = of(b',', &values) {
            let mut plain = String::new();
            for value in values {
                // A value that the notation reads has become a plain number or an ISO date.
                prop_assert!(notation.plain(value, &mut plain), "{} {}", notation, value);
                let class = crate::infer::classify(&plain);
                let expected = match notation {
                    Notation::Number(_) => matches!(class, DataType::Integer | DataType::Float),
                    Notation::Date(_) => matches!(class, DataType::Date | DataType::Timestamp),
                };
                prop_assert!(expected, "{} {} {}", notation, value, plain);
            }
        }
    }

    #[test]
    fn numbers_come_back(n in 1i64..999_999_999, negative: bool, cents in 0u8..100) {
        let whole = n.to_string();
        let mut grouped = String::new();
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i) % 3 == 0 {
                grouped.push('.');
            }
            grouped.push(digit);
        }
        let sign = if negative { "-" } else { "" };
        let notation = of(b';', &["1.234.567,89"]).unwrap();
        let mut plain = String::new();
        let written = format!("{sign}{grouped},{cents:02}");
        prop_assert!(notation.plain(&written, &mut plain));
        prop_assert_eq!(plain, format!("{sign}{whole}.{cents:02}"));
    }
}
