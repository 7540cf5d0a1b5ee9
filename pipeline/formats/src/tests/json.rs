//! JSON lines and their relatives.

use super::*;

#[test]
fn columns_come_in_order_of_appearance() {
    let summary = read(
        "x.jsonl",
        concat!(
            r#"{"id": 1, "name": "Ann", "on": "2024-01-31"}"#,
            "\n",
            "\n",
            r#"{"name": "Ben", "id": 2.5, "tags": ["a", {"b": 1}], "at": {"x": 1, "y": null}}"#,
            "\r\n",
            r#"{"id": null, "zip": "01234", "ok": true, "name": ""}"#,
        ),
    );
    assert_eq!(
        schema(&summary),
        "id:float name:text on:date tags[]:text tags[].b:integer at.x:integer at.y:unknown zip:text ok:boolean"
    );
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (3, true, false)
    );
    assert_eq!(
        sample(&summary),
        [
            "1|Ann|2024-01-31|-|-|-|-|-|-",
            r#"2.5|Ben|-|["a"]|[1]|1|-|-|-"#,
            "-|-|-|-|-|-|-|01234|true"
        ]
    );
    let zip = &column(&summary, "zip").profile;
    assert_eq!(
        (zip.values, zip.nulls),
        (1, 2),
        "rows before a column's first are null"
    );
}

#[test]
fn objects_within_objects_are_columns_by_their_path() {
    let summary = read(
        "x.jsonl",
        concat!(
            r#"{"id": 1, "at": {"city": "Bern", "geo": {"lat": 46.9}}}"#,
            "\n",
            r#"{"id": 2, "at": null}"#,
            "\n",
            r#"{"id": 3, "at": {"geo": {}, "zip": "3000"}}"#,
            "\n",
            r#"{"id": 4, "at": {"city": "Lyon", "geo": "unknown"}}"#,
        ),
    );
    assert_eq!(
        schema(&summary),
        "id:integer at.city:text at.geo:text at.geo.lat:float at.zip:text"
    );
    assert_eq!(
        sample(&summary),
        [
            "1|Bern|-|46.9|-",
            "2|-|-|-|-",
            "3|-|-|-|3000",
            "4|Lyon|unknown|-|-"
        ]
    );
    let city = &column(&summary, "at.city").profile;
    assert_eq!((city.values, city.nulls, city.distinct()), (2, 2, 2));
}

#[test]
fn what_is_within_a_key_stands_in_its_place() {
    let late = read(
        "x.jsonl",
        "{\"id\":1,\"at\":null,\"tags\":null,\"x\":2}\n{\"id\":2,\"tags\":[3],\"at\":{\"y\":4}}\n",
    );
    assert_eq!(
        schema(&late),
        "id:integer at.y:integer tags[]:integer x:integer"
    );
    assert_eq!(sample(&late), ["1|-|-|2", "2|4|[3]|-"]);
    // A key with a point in it is another one, whatever its column is called.
    let summary = read(
        "x.jsonl",
        r#"{"a.b": 1, "a": {"b": 2, "c[]": 3, "c": [4]}}"#,
    );
    assert_eq!((summary.columns.len(), summary.rows), (4, 1));
    assert_eq!(sample(&summary), ["1|2|3|[4]"]);
}

#[test]
fn objects_that_are_not_made_of_columns_stay_texts() {
    // Keys that are data: later ones stay together.
    let by_user: String = (0..400)
        .map(|n| format!("{{\"by_user\":{{\"u{n}\":{n}}}}}\n"))
        .collect();
    let summary = read("x.jsonl", by_user);
    assert_eq!((summary.rows, summary.columns.len()), (400, 257));
    let rest = column(&summary, "by_user");
    assert_eq!(
        (rest.data_type.to_string().as_str(), rest.profile.values),
        ("struct", 144)
    );
    // Many levels of them.
    let level = |n: usize| format!("{{\"a{}\":{{\"b{n}\":{{\"c\":{n}}}}}}}\n", n % 300);
    let summary = read("x.jsonl", (0..3000).map(level).collect::<String>());
    assert!(
        summary.rows == 3000 && summary.columns.len() < 2000,
        "{}",
        summary.columns.len()
    );
    // Depth.
    let deep = format!("{}1{}", "{\"a\":".repeat(12), "}".repeat(12));
    let summary = read("x.jsonl", deep);
    assert_eq!(schema(&summary), "a.a.a.a.a.a.a.a:struct");
    assert_eq!(sample(&summary), [r#"{"a":{"a":{"a":{"a":1}}}}"#]);
}

#[test]
fn elements_of_lists_are_profiled_one_by_one() {
    let long: Vec<String> = (0..120).map(|n| n.to_string()).collect();
    let summary = read(
        "x.jsonl",
        [
            r#"{"id": 1, "tags": ["b", "a"], "items": [{"sku": "x", "n": 10}, {"sku": "y", "n": 9}], "m": [[1, 2], [3]]}"#,
            r#"{"id": 2, "tags": [], "items": [], "m": null}"#,
            r#"{"id": 3, "tags": ["a", null], "items": [{"sku": "x", "parts": [{"id": 7}]}]}"#,
            &format!(r#"{{"id": 4, "tags": "none", "n": [{}]}}"#, long.join(",")),
        ]
        .join("\n"),
    );
    assert_eq!(
        schema(&summary),
        "id:integer tags:text tags[]:text items[].sku:text items[].n:integer items[].parts[].id:integer m[][]:integer n[]:integer"
    );
    assert_eq!(
        sample(&summary),
        [
            r#"1|-|["b","a"]|["x","y"]|[10,9]|-|[1,2,3]|-"#,
            "2|-|-|-|-|-|-|-",
            r#"3|-|["a"]|["x"]|-|[7]|-|-"#,
            "4|none|-|-|-|-|-|[0,1,2,3,4,5,6,7,… (120 in all)]",
        ]
    );
    // Nulls are of rows, everything else is of elements.
    let tags = &column(&summary, "tags[]").profile;
    assert_eq!((tags.values, tags.nulls, tags.elements), (2, 2, 3));
    assert_eq!(tags.frequent.top(2), [("a", 2), ("b", 1)]);
    assert_eq!((tags.distinct(), tags.is_unique()), (2, false));
    let many = column(&summary, "n[]");
    assert_eq!((many.profile.values, many.profile.distinct()), (1, 120));
    assert!(many.profile.exact && !many.is_likely_key() && !many.profile.is_unique());
    assert_eq!(
        range(&summary, "n[]"),
        (Some("0".into()), Some("119".into()))
    );
    assert_eq!(
        range(&summary, "items[].n"),
        (Some("9".into()), Some("10".into()))
    );
    // A list's elements are found where a column of another table has them.
    let others = read("y.jsonl", "{\"t\":\"a\"}\n{\"t\":\"b\"}\n");
    let shared = column(&others, "t").profile.value_set();
    assert!((tags.value_set().contained_in(&shared).value - 1.0).abs() < 1e-9);
}

#[test]
fn lists_of_hostile_rows_are_bounded() {
    // A row of a great many elements: some are looked at, all are counted.
    let row = format!(
        "{{\"a\":[{}5],\"b\":[{{\"c\":1}}]}}\n",
        "5,".repeat(100_000)
    );
    let summary = read("x.jsonl", row.repeat(2));
    assert_eq!(
        (summary.rows, schema(&summary)),
        (2, "a[]:integer b[].c:unknown".into())
    );
    let a = &column(&summary, "a[]").profile;
    assert_eq!((a.values, a.nulls, a.exact), (2, 0, false));
    assert_eq!(
        sample(&summary)[0],
        "[5,5,5,5,5,5,5,5,… (100001 in all)]|[… (1 in all)]"
    );
    // Lists within lists, far down.
    let deep = format!("{{\"a\":{}1{}}}\n", "[".repeat(20), "]".repeat(20));
    assert_eq!(
        schema(&read("x.jsonl", deep)),
        format!("a{}:list", "[]".repeat(7))
    );
    // A value that takes a list's place, and a list that takes a value's.
    let again = read(
        "x.jsonl",
        "{\"a\":[1],\"a\":5}\n{\"a\":6,\"a\":[7]}\n{\"a[]\":[9],\"a[]\":8}\n",
    );
    assert_eq!(again.rows, 3);
    // A long key, and a great many within it: their paths would each be as long.
    let key = "k".repeat(1 << 20);
    let many = format!(
        "{{\"{key}\":{{{}\"z\":1}},\"b\":2}}\n",
        "\"a\":1,".repeat(300_000)
    );
    let began = std::time::Instant::now();
    assert_eq!(read("x.jsonl", many).columns.len(), 2);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    // A line that breaks off within a list.
    let broken = read(
        "x.jsonl",
        "{\"a\":[1]}\n{\"a\":[2],\"b\":[{\"c\":3},\n{\"a\":[4]}\n",
    );
    assert_eq!(
        (schema(&broken), sample(&broken)),
        ("a[]:integer".into(), vec!["[1]".into(), "[4]".into()])
    );
}

#[test]
fn a_broken_line_leaves_no_trace_of_what_was_in_it() {
    let summary = read(
        "x.jsonl",
        "{\"a\":{\"b\":1}}\n{\"a\":{\"c\":2,\"d\":{\"e\":3\n{\"a\":{\"b\":4,\"f\":5}}\n",
    );
    assert_eq!(schema(&summary), "a.b:integer a.f:integer");
    assert_eq!(sample(&summary), ["1|-", "4|5"]);
}

#[test]
fn numbers_in_quotes_are_text() {
    assert_eq!(
        schema(&read("x.jsonl", "{\"a\":\"12\"}\n{\"a\":\"13\"}\n")),
        "a:text"
    );
}

#[test]
fn an_array_of_objects_and_objects_over_several_lines_are_read() {
    for text in [
        "[{\"a\": 1, \"b\": \"x\"}, {\"a\": 2, \"b\": \"y\"}]",
        "\u{feff} [\n {\"a\": 1,\n \"b\": \"x\"},\n {\"a\": 2, \"b\": \"y\"}\n]\n",
        "{\n  \"a\": 1,\n  \"b\": \"x\"\n}\n{\n  \"a\": 2,\n  \"b\": \"y\"\n}\n",
        "{\"a\": 1, \"b\": \"x\"} {\"a\": 2, \"b\": \"y\"}",
    ] {
        let summary = read("x.json", text);
        assert_eq!(schema(&summary), "a:integer b:text", "{text}");
        assert_eq!(sample(&summary), ["1|x", "2|y"], "{text}");
    }
}

#[test]
fn a_repeated_key_counts_once() {
    let summary = read("x.jsonl", "{\"a\":1,\"a\":2}\n{\"a\":3}\n");
    assert_eq!(sample(&summary), ["2", "3"]);
    assert_eq!(column(&summary, "a").profile.values, 2);
}

#[test]
fn words_for_no_number_are_nulls() {
    let rows = [
        r#"{"id": 1, "x": NaN, "said": "NaN, Infinity"}"#,
        r#"{"id": 2, "x": 2.5, "said": "y: -Infinity,"}"#,
        r#"{"id": 3, "x": -Infinity, "said": null}"#,
        r#"{"id": 4, "x": Infinity, "said": "z"}"#,
    ];
    let pretty = rows.map(|row| row.replace(", \"", ",\n  \""));
    for text in [
        rows.join("\n"),
        format!("[{}]", rows.join(",\n")),
        pretty.join("\n"),
    ] {
        let summary = read("x.json", text.clone());
        assert_eq!(schema(&summary), "id:integer x:float said:text", "{text}");
        assert_eq!(
            sample(&summary),
            ["1|-|NaN, Infinity", "2|2.5|y: -Infinity,", "3|-|-", "4|-|z"],
            "{text}"
        );
        assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    }
    let summary = read(
        "x.jsonl",
        "{\"a\": [1, NaN]}\n{\"a\": [NaN}\n{\"a\": [2]}\n",
    );
    assert_eq!((summary.rows, summary.notes.len()), (2, 1));
    let broken = failure("x.json", "[{\"a\": NaN}, {\"a\"");
    assert_eq!(broken.kind, FileErrorKind::Corrupt);
}

#[test]
fn broken_lines_are_counted_and_leave_no_trace() {
    let summary = read(
        "x.jsonl",
        "{\"a\":1}\n{\"a\":2,\"b\":3\n[1]\n{\"a\":4}\n{\"a\":5}\n",
    );
    assert_eq!(schema(&summary), "a:integer");
    assert_eq!(sample(&summary), ["1", "4", "5"]);
    assert_eq!(summary.notes.len(), 1);
    assert!(
        summary.notes[0].starts_with("2 lines left out without a JSON object: line 2: "),
        "{:?}",
        summary.notes
    );
}

#[test]
fn what_is_no_object_is_quoted_nowhere() {
    let text = "\"{\\\"email\\\": \\\"ada@example.org\\\"}\"\n4012888888881881\n";
    let error = failure("x.jsonl", text).to_string();
    assert!(error.contains("(line 1: it is no object)"), "{error}");
    let notes = read("x.jsonl", format!("{text}{}", "{\"a\":1}\n".repeat(3))).notes;
    assert_eq!(
        notes,
        ["2 lines left out without a JSON object: line 1: it is no object"]
    );
}

#[test]
fn lines_that_are_arrays_are_reported() {
    for text in [
        "[1,2]\n[3,4]\n".to_owned(),
        "[1, NaN]\n[3, 4]\n".to_owned(),
        "[{\"a\": 1}]\n\n[{\"a\": 2}]".to_owned(),
        "[1,2]\n".repeat(10_000),
    ] {
        let error = read_with("x.jsonl", text, &budget(4 << 10)).0.unwrap_err();
        assert_eq!(error.kind, FileErrorKind::NotItsFormat);
        assert!(error.cause.contains("its lines are arrays"), "{error}");
        assert!(error.remedy.contains("one JSON object a line"), "{error}");
    }
}

#[test]
fn mostly_broken_files_are_refused() {
    let error = failure("x.jsonl", "{\"a\":1}\nhello\nworld\n");
    assert_eq!(error.kind, FileErrorKind::NotItsFormat);
    assert!(
        error
            .to_string()
            .contains("no JSON object in 2 of 3 lines (line 2: expected value"),
        "{error}"
    );
    let one = failure("x.jsonl", "hello\n").cause;
    assert!(one.starts_with("no JSON object in 1 of 1 line ("), "{one}");
    assert_eq!(failure("x.json", "[1, 2, 3]").kind, FileErrorKind::NoTable);
    assert_eq!(
        failure("x.json", "[{\"a\": 1}, {\"a\"").kind,
        FileErrorKind::Corrupt
    );
    assert_eq!(failure("x.json", "[]").kind, FileErrorKind::NoTable);
    assert_eq!(failure("x.json", " \n").kind, FileErrorKind::Empty);
    assert_eq!(failure("x.json", "").kind, FileErrorKind::Empty);
    assert_eq!(
        failure("x.jsonl", b"\0\x01\x02\x03".to_vec()).kind,
        FileErrorKind::NotItsFormat
    );
}

#[test]
fn keys_that_are_data_are_refused() {
    let text: String = (0..20_000)
        .map(|i| format!("{{\"key {i}\": 1}}\n"))
        .collect();
    let error = failure("x.jsonl", text);
    assert!(error.to_string().contains("different keys"), "{error}");
    let wide: Vec<String> = (0..20_000).map(|i| format!("\"key {i}\": 1")).collect();
    assert!(
        failure("x.json", format!("[{{{}}}]", wide.join(",")))
            .to_string()
            .contains("different keys")
    );
}

#[test]
fn deep_nesting_is_a_bad_line() {
    let deep = format!("{{\"a\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    let summary = read("x.jsonl", format!("{{\"a\":1}}\n{{\"a\":2}}\n{deep}"));
    assert_eq!(summary.rows, 2);
}

#[test]
fn large_files_are_read_in_ranges() {
    let text: String = (0..20_000)
        .map(|i| format!("{{\"id\":{i},\"name\":\"name {}\"}}\n", i % 10))
        .collect();
    let (summary, counts) = read_with("x.jsonl", text, &budget(64 << 10));
    let summary = summary.unwrap();
    assert!(counts.bytes_read <= 64 << 10);
    assert!(summary.approximate && !summary.rows_exact);
    assert!(summary.rows.abs_diff(20_000) < 400, "{}", summary.rows);
    assert_eq!(schema(&summary), "id:integer name:text");
    assert_eq!(summary.sample.rows.len(), 5);
}

#[test]
fn numbers_keep_their_value() {
    let numbers = [
        "0",
        "-1",
        "18446744073709551615",
        "-9223372036854775808",
        "1e300",
        "-0.5",
        "18446744073709551616",
    ];
    let text: String = numbers
        .iter()
        .map(|number| format!("{{\"a\":{number}}}\n"))
        .collect();
    let (result, _) = read_with(
        "x.jsonl",
        text,
        &ReadOptions {
            sample_rows: 10,
            ..ReadOptions::default()
        },
    );
    assert_eq!(
        sample(&result.unwrap()),
        [
            "0",
            "-1",
            "18446744073709551615",
            "-9223372036854775808",
            "1e300",
            "-0.5",
            "1.8446744073709552e19"
        ]
    );
}

#[test]
fn beside_a_table_one_thing_is_no_table() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let read = |content: &str, is_beside| {
        runtime.block_on(async {
            let store = Store::in_memory();
            store
                .put("t.json", content.to_owned().into())
                .await
                .unwrap();
            let file = DataFile {
                is_beside,
                ..data_file("t.json", content.len())
            };
            let read = summarise_file(&store, &file, &ReadOptions::default()).await;
            read.map(|summary| summary.rows).map_err(|error| error.kind)
        })
    };
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
    for (content, alone, beside) in [
        ("{\"a\": 1}", Ok(1), Err(FileErrorKind::NoTable)),
        ("[{\"a\": 1}]", Ok(1), Err(FileErrorKind::NoTable)),
        (
            "[1, 2]",
            Err(FileErrorKind::NoTable),
            Err(FileErrorKind::NoTable),
        ),
        ("[{\"a\": 1}, {\"a\": 2}]", Ok(2), Ok(2)),
        ("{\"a\": 1}\n{\"a\": 2}\n", Ok(2), Ok(2)),
        (
            "{\"n\": 2, \"data\": [{\"a\": 1}, {\"a\": 2}]}",
            Ok(2),
            Ok(2),
        ),
        (
            "{\"data\": [{\"a\": 1}]}",
            Ok(1),
            Err(FileErrorKind::NoTable),
        ),
        // A schema of the table beside it.
        (
            "{\"fields\": [{\"name\": \"a\"}, {\"name\": \"b\"}]}",
            Ok(2),
            Err(FileErrorKind::NoTable),
        ),
        // Broken is broken, wherever it lies.
        (
            "{\"a\": 1",
            Err(FileErrorKind::NotItsFormat),
            Err(FileErrorKind::NotItsFormat),
        ),
        ("", Err(FileErrorKind::Empty), Err(FileErrorKind::Empty)),
        // Nobody writes so much about a table.
        (&long, Ok(1), Ok(1)),
    ] {
        let shown = &content[..content.len().min(40)];
        assert_eq!(read(content, false), alone, "{shown}");
        assert_eq!(read(content, true), beside, "{shown}");
    }
}
