//! Values have the forms that people would say they have, and few others.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::builder::ColumnBuilder;

fn name(value: &str) -> Option<&'static str> {
    detect(value).map(|detector| detector.name)
}

fn patterns_of<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let found = patterns(values.into_iter());
    found.into_iter().map(|pattern| pattern.form).collect()
}

#[test]
fn every_detector_compiles_and_knows_a_value() {
    let known: &[(&str, &[&str])] = &[
        ("YYYY-MM-DD", &["2024-02-29", "1999-1-5"]),
        ("YYYY/MM/DD", &["2024/02/29"]),
        ("DD.MM.YYYY", &["29.02.2024", "1.2.2020"]),
        ("DD-MM-YYYY", &["29-02-2024"]),
        ("DD/MM/YYYY or MM/DD/YYYY", &["12/31/2024", "31/12/2024"]),
        ("YYYYMMDD", &["20240229", "19991231"]),
        ("YYYY-MM", &["2024-02"]),
        (
            "DD Month YYYY",
            &["12 Mar 2020", "1st January 1999", "3-Sep-98", "5. Dec 2001"],
        ),
        ("Month DD, YYYY", &["March 12, 2020", "Sep. 3rd 1998"]),
        (
            "YYYY-MM-DD hh:mm",
            &["2024-02-29 12:30", "2024-02-29T12:30:59.123Z"],
        ),
        ("day and time", &["12/31/2024 23:59:59", "31.12.2024 10:00"]),
        ("hh:mm", &["9:05", "23:59:59", "11:30 pm", "12:30:59.5"]),
        (
            "e-mail",
            &[
                "ada@example.org",
                "a.b+c@mail.example.co.uk",
                "mailto:x@y.de",
            ],
        ),
        (
            "URL",
            &[
                "https://example.org/a?b=c#d",
                "s3://bucket/key",
                "www.example.org/ü",
                "HTTP://X.Y",
            ],
        ),
        (
            "UUID",
            &[
                "123e4567-e89b-12d3-a456-426614174000",
                "{123E4567-E89B-12D3-A456-426614174000}",
            ],
        ),
        ("IPv4", &["192.168.0.1", "10.0.0.0/8", "127.0.0.1:8080"]),
        ("MAC address", &["00:1A:2b:3c:4d:5e", "00-1a-2b-3c-4d-5e"]),
        ("IPv6", &["::1", "2001:db8::8a2e:370:7334", "fe80::/10"]),
        ("IBAN", &["DE89 3704 0044 0532 0130 00", "NO9386011117947"]),
        (
            "payment card",
            &[
                "4111111111111111",
                "3782 822463 10005",
                "5555-5555-5555-4444",
            ],
        ),
        (
            "national id",
            &["123-45-6789", "12345678Z", "529.982.247-25"],
        ),
        (
            "phone",
            &[
                "+49 30 901820",
                "+14155552671",
                "(415) 555-2671",
                "415-555-2671",
                "1-415-555-2671 x12",
                "030 901820",
                "0171/1234567",
            ],
        ),
        (
            "hexadecimal",
            &["0x00ff12ab", "d41d8cd98f00b204e9800998ecf8427e", "DEADBEE1"],
        ),
    ];
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let all: Vec<&str> = DETECTORS.iter().map(|detector| detector.name).collect();
    assert_eq!(names, all);
    for (form, values) in known {
        for value in *values {
            assert_eq!(name(value), Some(*form), "{value}");
        }
    }
}

#[test]
fn ordinary_values_have_no_named_form() {
    for value in [
        "",
        " ",
        "Berlin",
        "a@b",
        "@home",
        "not an e-mail: a@b.c",
        "2024-02-30",
        "20241301",
        "99999999",
        "1.2.3",
        "256.1.1.1",
        "12:75",
        "1234567",
        "3.14",
        "-5",
        "12345678",
        "deadbeef",
        "decade",
        "2020-2021",
        "666-45-6789",
        "AB-1234",
        "http://",
        "3/4",
        "1:2:3",
        "Mr. X",
        "12 Monkeys",
        "May the force",
        "10.5%",
        "0.5",
        "007",
        "+5",
        "2024",
        "1e5",
        "12345-6789",
        "978-3-16-148410-0",
        "maybe 3, 2020",
        "::",
        "12-34-56",
    ] {
        let found = name(value);
        assert!(
            found.is_none() || (value, found) == ("::", Some("IPv6")),
            "{value:?} {found:?}"
        );
    }
}

#[test]
fn codes_have_a_shape() {
    assert_eq!(patterns_of(["AB-1234", "XY-0001", "QQ-7777"]), ["AA-9999"]);
    assert_eq!(patterns_of(["INV-1", "INV-22", "INV-333"]), ["AAA-9+"]);
    assert_eq!(
        patterns_of(["D-10115 Berlin", "D-80331 München"]),
        ["A-99999 Aa+"]
    );
    assert_eq!(patterns_of(["10115", "80331"]), ["99999"]);
    assert_eq!(patterns_of(["USD", "EUR"]), ["AAA"]);
    assert_eq!(patterns_of(["US-CA", "DE-BE"]), ["AA-AA"]);
    assert_eq!(patterns_of(["12%", "5%"]), ["9+%"]);
    assert_eq!(patterns_of(["SW1A 1AA", "EC1A 1BB"]), ["AA9A 9AA"]);
}

#[test]
fn words_and_numbers_have_none() {
    for values in [
        &["Berlin", "Paris"][..],
        &["1", "22", "333"],
        &["10", "99"],
        &["-1.5", "2.25"],
        &["-12", "+7"],
        &["NATO", "UN"],
        &[
            "a longer text of 4 or 5 words",
            "another text that has 12 parts",
        ],
        &["AB-1234"],
        &["→", "←"],
        &[],
    ] {
        assert!(patterns_of(values.iter().copied()).is_empty(), "{values:?}");
    }
}

#[test]
fn shares_are_of_the_distinct_values_and_the_most_common_forms_are_kept() {
    let mut builder = ColumnBuilder::new("contact");
    for i in 0..90 {
        let value = match i % 9 {
            0..5 => format!("user{i}@example.org"),
            5..8 => format!("+49 30 90{i:03}"),
            _ => format!("room {i}"),
        };
        // Repeats change no share.
        (0..=i % 3).for_each(|_| builder.push(Some(&value)));
    }
    let summary = builder.finish(true);
    let patterns = summary.profile.patterns();
    let found: Vec<(&str, f64)> = patterns
        .iter()
        .map(|p| (p.form.as_str(), p.share))
        .collect();
    assert_eq!(
        found,
        [
            ("e-mail", short(50.0 / 90.0)),
            ("phone", short(30.0 / 90.0)),
            ("aaaa 9+", short(10.0 / 90.0))
        ]
    );
}

#[test]
fn long_columns_are_described_by_a_uniform_sample_that_merges() {
    let part = |range: std::ops::Range<u32>| {
        let mut builder = ColumnBuilder::new("c");
        for i in range {
            let value = if i % 4 == 0 {
                format!("AB-{i:06}")
            } else {
                format!("u{i}@example.org")
            };
            builder.push(Some(&value));
        }
        builder.finish(true)
    };
    let whole = part(0..20_000);
    let parts = [part(12_000..20_000), part(0..5000), part(5000..12_000)];
    let parts: Vec<_> = parts
        .iter()
        .map(|part| (&part.data_type, &part.profile))
        .collect();
    let (_, merged) = ColumnProfile::merge(&parts);
    let patterns = whole.profile.patterns();
    assert_eq!(merged.patterns(), patterns);
    assert_eq!(
        (patterns[0].form.as_str(), patterns[1].form.as_str()),
        ("e-mail", "AA-999999")
    );
    // Four standard errors.
    assert!(
        (patterns[0].share - 0.75).abs() < 4.0 * 0.0383,
        "{patterns:?}"
    );
}

#[test]
fn hostile_values_cost_little() {
    let long = "9".repeat(200_000);
    let odd = "a-".repeat(10_000);
    let started = std::time::Instant::now();
    for value in [
        &long,
        &odd,
        &format!("+1{}", " ".repeat(200)),
        &format!("{}@", "a.".repeat(100_000)),
    ] {
        assert!(Shape::of(value).is_none());
        detect(value);
    }
    assert!(started.elapsed().as_secs() < 5);
}

proptest::proptest! {
    #[test]
    fn any_text_is_looked_at(value in "\\PC*|[-+0-9./: @a-fA-F()]{0,30}") {
        detect(&value);
        if let Some(shape) = Shape::of(&value) {
            proptest::prop_assert!(shape.to_string().chars().count() == value.trim_ascii().chars().count());
        }
    }

    #[test]
    fn forms_depend_on_the_set_of_values(values in proptest::collection::btree_set("[A-C]{1,2}-[0-9]{1,3}|[a-z]@x\\.de|[0-9]{4}", 0..60)) {
        let order = |values: &mut dyn Iterator<Item = &String>| patterns(values.map(String::as_str));
        let found = order(&mut values.iter());
        proptest::prop_assert_eq!(&found, &order(&mut values.iter().rev()));
        proptest::prop_assert!(found.len() <= MOST && found.iter().map(|p| p.share).sum::<f64>() < 1.0 + 1e-8);
    }
}
