#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::builder::ColumnBuilder;
use crate::merge::FilePart;
use crate::sample::{Priority, SampledRow};

/// A file of these columns, all of its rows sampled.
fn file(columns: &[(&str, &[&str])]) -> FileSummary {
    let rows = columns
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap_or(0);
    let cell = |values: &[&str], row: usize| values.get(row).map(|it| (*it).to_owned());
    FileSummary {
        columns: columns
            .iter()
            .map(|(name, values)| {
                let mut column = ColumnBuilder::new(*name);
                for row in 0..rows {
                    column.push(cell(values, row).as_deref());
                }
                column.finish(true)
            })
            .collect(),
        rows: rows as u64,
        rows_exact: true,
        sample: RowSample {
            limit: rows as u32,
            rows: (0..rows)
                .map(|row| SampledRow {
                    priority: Priority(row as u64),
                    row: row as u64,
                    values: columns
                        .iter()
                        .map(|(_, values)| cell(values, row))
                        .collect(),
                })
                .collect(),
        },
        approximate: false,
        notes: Vec::new(),
        description: None,
        keys: crate::DeclaredKeys::default(),
        ..FileSummary::default()
    }
}

fn marks(file: &FileSummary) -> Vec<Option<String>> {
    let columns = file.columns.iter();
    columns
        .map(|it| it.sensitive().map(|kind| kind.to_string()))
        .collect()
}

#[test]
fn names_mark_a_column_where_its_values_may_be_what_they_say() {
    for (name, kind) in [
        ("email", "e-mail"),
        ("Billing E-Mail", "e-mail"),
        ("EMailAddress", "e-mail"),
        ("PhoneNumber", "phone"),
        ("home_phone2", "phone"),
        ("credit_card", "payment card"),
        ("CardNumber", "payment card"),
        ("IBAN", "bank account"),
        ("customerSSN", "national id"),
        ("passport_no", "national id"),
        ("PasswordHash", "secret"),
        ("api-key", "secret"),
        ("pin", "secret"),
        ("card_pin", "secret"),
        ("CVV2", "secret"),
    ] {
        assert_eq!(
            named(name).map(|it| it.to_string()).as_deref(),
            Some(kind),
            "{name}"
        );
    }
    for name in [
        "EmailPromotion",
        "PhoneNumberTypeID",
        "hotel",
        "phone_type",
        "card_type",
        "emails_sent",
        "secretary",
        "spin",
        "pin_colour",
        "fail",
        "",
        "ß",
        "2",
    ] {
        assert_eq!(named(name), None, "{name}");
    }
    let all = file(&[
        ("email", &["1", "0", "2"]),
        ("has_phone", &["yes", "no", "yes"]),
        ("phone", &["555 01 99", "555 01 98", "none"]),
        ("mobile", &["0.2", "0.7", "0.1"]),
        ("password", &["hunter2", "*******", "abc"]),
    ]);
    let phone = Some("phone".to_owned());
    assert_eq!(
        marks(&all),
        [None, None, phone, None, Some("secret".to_owned())]
    );
}

#[test]
fn values_mark_a_column_whatever_it_is_called() {
    let all = file(&[
        ("a", &["ada@example.org", "-", "none", "bob@example.org"]),
        (
            "b",
            &["4111 1111 1111 1111", "5555555555554444", "378282246310005"],
        ),
        (
            "c",
            &["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32"],
        ),
        ("d", &["123-45-6789", "078-05-1120"]),
        ("e", &["+49 30 901820", "+41 44 668 18 00"]),
        ("f", &["Bern", "Lyon", "2020-01-02", "17"]),
    ]);
    let kinds = [
        "e-mail",
        "payment card",
        "bank account",
        "national id",
        "phone",
    ];
    let mut expected: Vec<Option<String>> = kinds.iter().map(|it| Some((*it).to_owned())).collect();
    expected.push(None);
    assert_eq!(marks(&all), expected);
}

#[test]
fn addresses_in_texts_are_found() {
    for text in [
        "write to hidden3@x.example please",
        "ada@example.org, bob@example.org",
        "Ada Lovelace <ada@example.org>",
        "(see mailto:ada@example.org?subject=Hi).",
        "E-Mail:ada@example.org",
        "[Ada](mailto:ada@example.org)",
        "**ada.l+x@sub.example.co.uk**!",
        "\"ada@example.org\";",
        "ada@example.org/bob",
        "ada@example.org:hunter2",
        "7:ada@example.org:42",
        "ada@example.org#3",
        // In doubt it is one.
        "clone git@example.org:limn/limn.git first",
        "請聯絡ada@example.org謝謝",
        "https://example.org/stop?user=ada@example.org&all=1",
        "…\u{201c}ada@example.org\u{201d}…",
        "Signed-off-by: O'Brien <o'brien@example.org>\nx",
    ] {
        assert_eq!(kind_of(text), Some(Sensitive::EMail), "{text}");
    }
    for text in [
        "at 5 @ 3 euros",
        "@ada @bob: hello",
        "@ada@social.example says so",
        "ada@localhost or ada@",
        "https://cdn.example/npm/vue@3.2.js was loaded",
        "pins left-pad@1.2.3 and limn@0.1.0-beta",
        "@media print { color: red }",
        "@",
        "@@@ @. .@. :@:",
        "",
    ] {
        assert_eq!(kind_of(text), None, "{text}");
    }
    // What is all of a value counts as ever.
    assert_eq!(kind_of("+49 30 901820"), Some(Sensitive::Phone));
    assert_eq!(kind_of("call +49 30 901820"), None);
}

/// Remarks of which every `one_in`th holds an address.
fn remarks(count: usize, one_in: usize) -> Vec<String> {
    let remark = |at: usize| match at % one_in {
        0 => format!("write to hidden{at}@x.example please"),
        _ => format!("number {at} was @ the door"),
    };
    (0..count).map(remark).collect()
}

#[test]
fn remarks_with_addresses_are_withheld_and_look_like_none() {
    for (one_in, is_marked) in [(1, true), (10, true), (11, false)] {
        let remarks = remarks(one_in * 10, one_in);
        let remarks: Vec<&str> = remarks.iter().map(String::as_str).collect();
        let mut file = file(&[("note", &remarks)]);
        let patterns = file.columns[0].profile.patterns();
        assert!(
            patterns.iter().all(|it| it.form != "e-mail"),
            "{patterns:?}"
        );
        file.redact(Redact::Marked);
        let is_mail = file.columns[0].sensitive() == Some(Sensitive::EMail);
        assert_eq!(
            (is_mail, file.columns[0].is_withheld()),
            (is_marked, is_marked)
        );
        // One address is not shown among many other values either.
        let text = file.to_stored().unwrap().text();
        assert!(!text.contains("hidden") && text.contains("door") == (one_in == 11));
    }
}

#[test]
fn numbers_that_are_secrets_are_withheld_and_flags_are_none() {
    let all = file(&[
        ("password", &["1234", "98765", "1234"]),
        ("api_key", &["400100200300", "400100200301"]),
        ("pin", &["0000", "1234"]),
        ("cvv", &["123", "456"]),
        ("secret", &["2.5", "7.25"]),
        ("reset_password", &["1", "0", "1"]),
    ]);
    let secret = Some("secret".to_owned());
    let mut expected = vec![secret; 5];
    expected.push(None);
    assert_eq!(marks(&all), expected);
    let mut marked = all;
    marked.redact(Redact::Marked);
    let text = marked.to_stored().unwrap().text();
    for value in ["1234", "98765", "400100200300", "0000", "7.25"] {
        assert!(!text.contains(value), "{value}: {text}");
    }
}

#[test]
fn an_address_among_other_values_is_kept_by_no_file() {
    // In one file addresses are many, in the other one is the least of the values and one the
    // greatest.
    let people: Vec<String> = (10..40).map(|at| format!("desk {at}")).collect();
    let mut rest: Vec<&str> = people.iter().map(String::as_str).collect();
    rest.extend(["aaa@example.org", "zzz@example.org"]);
    let many: Vec<String> = (0..300).map(|at| format!("place {at:03}")).collect();
    let mut more: Vec<&str> = many.iter().map(String::as_str).collect();
    more.extend(["aaa@example.org", "aaa@example.org", "zzz@example.org"]);
    for values in [&rest, &more] {
        let mut marked = file(&[("contact", values)]);
        marked.redact(Redact::Marked);
        let column = &marked.columns[0];
        assert!(!column.is_withheld());
        let stored = marked.to_stored().unwrap();
        let text = stored.text();
        assert!(!text.contains("example"), "{text}");
        assert!(text.contains(values[7]) && column.profile.min.is_none());
        assert!(!column.profile.distinct_exact());
        assert_eq!(stored.read().unwrap(), marked);
        let mut twice = marked.clone();
        twice.redact(Redact::Marked);
        assert_eq!(twice, marked);
        // It merges with others as any other column does.
        let part = FilePart {
            path: "a",
            summary: &marked,
            partition: &[],
        };
        let table = TableSummary::merge(&[part, FilePart { path: "b", ..part }]);
        let profile = &table.columns[0].profile;
        let distinct = values.len() as u64 - 2;
        assert!(profile.distinct().abs_diff(distinct) * 10 <= distinct);
        assert_eq!(profile.values, values.len() as u64 * 2);
    }
}

#[test]
fn names_that_may_be_values_are_not_kept() {
    let whole = file(&[
        ("ada@example.org", &["30", "31"]),
        ("users.bob@example.org.age", &["45", "46"]),
        ("Lovelace", &["Hopper", "Noether"]),
        ("first_name", &["Grace", "Emmy"]),
    ]);
    let names = |file: &FileSummary| -> Vec<String> {
        let names = file.columns.iter().map(|it| it.name.clone());
        names.collect()
    };
    for presumed_names in [false, true] {
        let mut file = FileSummary {
            presumed_names,
            ..whole.clone()
        };
        file.keys.primary = vec!["ada@example.org".to_owned()];
        file.redact(Redact::Off);
        assert_eq!(names(&file), names(&whole));
        file.redact(Redact::Marked);
        let marked = ["column_1", "column_2", "Lovelace", "first_name"];
        assert_eq!(names(&file), marked);
        assert_eq!(file.keys.primary, ["column_1"]);
        let note = "names withheld of 2 columns, which may be values";
        assert_eq!(file.notes, [note]);
        file.redact(Redact::AllValues);
        let lovelace = if presumed_names {
            "column_3"
        } else {
            "Lovelace"
        };
        assert_eq!(names(&file)[2..], [lovelace, "first_name"]);
        let mut twice = file.clone();
        twice.redact(Redact::AllValues);
        assert_eq!(twice, file);
    }
}

#[test]
fn what_of_long_cells_was_not_looked_at_is_not_kept() {
    let long = format!("{}, hidden@x.example", "word ".repeat(50));
    let mut marked = file(&[("note", &[&long])]);
    let (mut off, whole) = (marked.clone(), marked.clone());
    off.redact(Redact::Off);
    assert_eq!(off, whole);
    marked.redact(Redact::Marked);
    let text = marked.to_stored().unwrap().text();
    assert!(
        text.contains("word word") && !text.contains("hidden"),
        "{text}"
    );
}

#[test]
fn what_is_withheld_is_nowhere_and_what_may_be_known_stays() {
    let whole = file(&[
        ("id", &["1", "2", "3", "4"]),
        (
            "contact",
            &["ada@example.org", "bob@example.org", "ada@example.org"],
        ),
    ]);
    let mut marked = whole.clone();
    marked.notes = vec!["1 line below the table left out: ask ada@example.org".to_owned()];
    marked.redact(Redact::Marked);
    assert_eq!(marked.notes, ["1 line below the table left out"]);
    let stored = marked.to_stored().unwrap();
    let text = stored.text();
    assert!(!text.contains("example") && !text.contains("ada"), "{text}");
    let contact = &marked.columns[1];
    assert_eq!(contact.sensitive(), Some(Sensitive::EMail));
    assert!(contact.is_withheld() && !marked.columns[0].is_withheld());
    let profile = &contact.profile;
    assert_eq!(
        (profile.values, profile.nulls, profile.distinct()),
        (3, 1, 2)
    );
    assert!(profile.distinct_exact() && !profile.is_unique() && profile.patterns().is_empty());
    assert!(
        marked
            .sample
            .rows
            .iter()
            .all(|row| row.values[1].is_none() && row.values[0].is_some())
    );
    // Nothing is said of how it overlaps.
    let overlap = profile
        .value_set()
        .overlap(&whole.columns[1].profile.value_set());
    assert_eq!(
        (overlap.jaccard.low, overlap.jaccard.high, overlap.exact),
        (0.0, 1.0, false)
    );
    // As it is stored, and redacted again.
    assert_eq!(stored.read().unwrap(), marked);
    let mut twice = marked.clone();
    twice.redact(Redact::Marked);
    assert_eq!(twice, marked);
    let mut off = whole.clone();
    off.redact(Redact::Off);
    assert_eq!(off, whole);

    let mut all = whole;
    all.redact(Redact::AllValues);
    assert!(all.columns.iter().all(ColumnSummary::is_withheld));
    assert!(
        all.sample
            .rows
            .iter()
            .all(|row| row.values.iter().all(Option::is_none))
    );
    assert_eq!(all.columns[0].profile.distinct(), 4);
    assert!(all.columns[0].profile.is_unique() && all.columns[0].is_likely_key());
}

#[test]
fn a_column_that_one_file_marks_is_the_tables() {
    let mut a = file(&[("contact", &["ada@example.org", "bob@example.org"])]);
    let mut b = file(&[("contact", &["at the door", "by the gate", "upstairs"])]);
    a.redact(Redact::Marked);
    b.redact(Redact::Marked);
    assert!(a.columns[0].is_withheld() && !b.columns[0].is_withheld());
    let part = |path, summary| FilePart {
        path,
        summary,
        partition: &[],
    };
    let mut table = TableSummary::merge(&[part("a", &a), part("b", &b)]);
    table.redact(Redact::Marked);
    let text = serde_json::to_string(&table).unwrap();
    assert!(
        !text.contains("example") && !text.contains("gate"),
        "{text}"
    );
    let column = &table.columns[0];
    assert_eq!(column.profile.frequent.to_sketch(), None);
    assert_eq!(
        (column.sensitive(), column.profile.values),
        (Some(Sensitive::EMail), 5)
    );
    // At least as many as in the file that has most; whether they repeat across files is not known.
    assert_eq!(
        (column.profile.distinct(), column.profile.distinct_exact()),
        (3, false)
    );
    assert!(!column.is_likely_key());
}

proptest! {
    #[test]
    fn no_value_is_left_and_counts_are(values in proptest::collection::vec("[a-z]{6,12}@[a-z]{4,8}\\.org|[a-z]{6,12}", 1..300)) {
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let whole = file(&[("e_mail", &values)]);
        let mut redacted = whole.clone();
        redacted.redact(Redact::Marked);
        let text = redacted.to_stored().unwrap().text();
        prop_assert!(!values.iter().any(|value| text.contains(value)));
        let (before, after) = (&whole.columns[0].profile, &redacted.columns[0].profile);
        prop_assert_eq!(before.distinct(), after.distinct());
        prop_assert_eq!(before.distinct_exact(), after.distinct_exact());
        prop_assert_eq!(before.is_unique(), after.is_unique());
        prop_assert_eq!((before.values, before.nulls), (after.values, after.nulls));
    }

    #[test]
    fn any_name_and_value_is_looked_at(name in "\\PC*", value in "\\PC*") {
        let _ = named(&name);
        let _ = file(&[(&name, &[&value])]).columns[0].sensitive();
    }
}
