//! Delimited text: each oddity of real files once.

mod headers;

use super::*;

#[test]
fn types_ranges_and_nulls() {
    let summary = read(
        "x.csv",
        "id,name,price,on,seen,ok\n1,Ann,1.5,2024-01-31,2024-01-31 10:00:00,true\n\
         10,Ben,,2024-02-01,2024-02-01 10:00:00,false\n2,NULL,0.5,2023-12-31,NA,true\n",
    );
    assert_eq!(
        schema(&summary),
        "id:integer name:text price:float on:date seen:timestamp ok:boolean"
    );
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (3, true, false)
    );
    assert_eq!(range(&summary, "id"), (Some("1".into()), Some("10".into())));
    assert_eq!(
        range(&summary, "on"),
        (Some("2023-12-31".into()), Some("2024-02-01".into()))
    );
    let price = &column(&summary, "price").profile;
    assert_eq!((price.values, price.nulls, price.exact), (2, 1, true));
    assert_eq!(
        sample(&summary),
        [
            "1|Ann|1.5|2024-01-31|2024-01-31 10:00:00|true",
            "10|Ben|-|2024-02-01|2024-02-01 10:00:00|false",
            "2|-|0.5|2023-12-31|-|true"
        ]
    );
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn delimiters_quotes_and_line_ends() {
    for text in [
        "a;b\n1;x\n2;y\n",
        "a\tb\n1\tx\n2\ty\n",
        "a|b\r\n1|x\r\n2|y\r\n",
        "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y\"\n",
        "\u{feff}a,b\n1,x\n2,y",
        "a, b\n1, x\n2, y\n",
        "a,b\r1,x\r2,y\r",
        "sep=;\r\na;b\r\n1;x\r\n2;y\r\n",
        "a,b,\n1,x,\n2,y,\n",
        "\na,b\n\n1,x\n\n2,y\n\n",
    ] {
        let summary = read("x.csv", text);
        assert_eq!(schema(&summary), "a:integer b:text", "{text:?}");
        assert_eq!(sample(&summary), ["1|x", "2|y"], "{text:?}");
    }
}

#[test]
fn quoted_cells_hold_delimiters_quotes_and_line_breaks() {
    let summary = read("x.csv", "a,b\n1,\"x, \"\"y\"\"\nz\"\n2,w\n");
    assert_eq!(sample(&summary), ["1|x, \"y\"\nz", "2|w"]);
}

#[test]
fn ragged_rows_are_padded_or_cut_and_counted() {
    let mut text = String::from("a,b,c\n");
    for i in 0..20 {
        text.push_str(&format!("{i},x,y\n"));
    }
    text.push_str("20,x\n21,x,y,z,w\n   \n");
    let summary = read("x.csv", text);
    assert_eq!((summary.rows, summary.columns.len()), (22, 3));
    assert_eq!(column(&summary, "c").profile.nulls, 1);
    assert_eq!(
        summary.notes,
        ["2 rows of another width than the header: padded or cut"]
    );
}

#[test]
fn hopelessly_ragged_files_are_refused() {
    let text: String = (0..50)
        .map(|i| format!("{}\n", vec!["x"; 1 + (i * 7) % 13].join(",")))
        .collect();
    let error = failure("notes.csv", format!("a,b,c\n{text}"));
    assert_eq!(error.kind, FileErrorKind::Ragged);
    assert!(
        error
            .to_string()
            .contains("of 50 rows do not have the header's 3 columns"),
        "{error}"
    );
}

#[test]
fn rows_that_leave_out_empty_cells_at_their_end_are_no_mess() {
    let text: String = (0..50)
        .map(|i| format!("{}\n", vec!["x"; 1 + i % 6].join(",")))
        .collect();
    let summary = read("x.csv", format!("a,b,c,d,e,f\n{text}"));
    assert_eq!((summary.rows, summary.columns.len()), (50, 6));
}

#[test]
fn other_content_is_named() {
    assert_eq!(failure("x.csv", "").kind, FileErrorKind::Empty);
    assert_eq!(failure("x.csv", "\n\r\n").kind, FileErrorKind::Empty);
    assert_eq!(
        failure("x.tsv", b"\x89PNG\r\n\x1a\n\0\0\0".to_vec()).kind,
        FileErrorKind::NotItsFormat
    );
    let error = failure("x.csv", b"PK\x03\x04\x14\0\x08\0".to_vec());
    assert!(
        error.to_string().contains("zip archive") && error.to_string().contains("export"),
        "{error}"
    );
    assert!(
        failure("x.csv", (0..=255u8).cycle().take(5000).collect::<Vec<u8>>())
            .to_string()
            .contains("binary")
    );
}

#[test]
fn a_missing_object_is_the_stores_error() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let file = data_file("removed.csv", 10);
    let result = runtime.block_on(summarise_file(
        &Store::in_memory(),
        &file,
        &ReadOptions::default(),
    ));
    assert_eq!(result.unwrap_err().kind, FileErrorKind::Missing);
}

#[test]
fn a_quote_that_is_never_closed_swallows_no_rows() {
    let mut text = String::from("id,remark\n");
    for i in 0..40_000 {
        // Beyond the head from which the dialect is inferred.
        text.push_str(&if i == 35_000 {
            format!("{i},\"tis it\n")
        } else {
            format!("{i},remark {i}\n")
        });
    }
    let summary = read("x.csv", text);
    assert_eq!((summary.rows, summary.columns.len()), (40_000, 2));
    assert!(
        summary.notes[0].contains("never closed"),
        "{:?}",
        summary.notes
    );
}

#[test]
fn a_line_whose_quote_is_never_closed_is_read_as_it_stands() {
    for (before, after) in [(200, 199), (20, 19), (20, 1)] {
        for quote in ["", "\""] {
            let row = |i| format!("{i},\"ok {i}\",{i}\n");
            let mut text = "sep=,\na,b,c\n".to_owned();
            text.extend((0..before).map(row));
            text += &format!("{before},\"oops,{before}\n");
            text.extend((0..after).map(|i| format!("{i},{quote}ok {i}{quote},{i}\n")));
            let summary = read("x.csv", text);
            assert_eq!(schema(&summary), "a:integer b:text c:integer");
            assert_eq!(summary.rows, before + after + 1);
            assert_eq!(
                summary.notes,
                [format!(
                    "1 line with a quote that is never closed (line {}): read as it stands",
                    before + 3
                )]
            );
            assert_eq!(range(&summary, "b").0, Some("\"oops".into()));
        }
    }
}

#[test]
fn the_sign_that_ends_a_text_of_dos_is_no_row() {
    for end in ["\u{1a}", "\u{1a}\n", "\u{1a}\u{1a}\r\n"] {
        for text in ["id,name\n1,a\n2,b\n", "id,name\r\n1,a\r\n2,b\r\n"] {
            let summary = read("x.csv", format!("{text}{end}"));
            assert_eq!(schema(&summary), "id:integer name:text", "{end:?}");
            assert_eq!(sample(&summary), ["1|a", "2|b"]);
            assert!(summary.notes.is_empty(), "{:?}", summary.notes);
        }
    }
    assert_eq!(failure("x.csv", "\u{1a}").kind, FileErrorKind::Empty);
}

/// A file above the budget: 20,000 rows of four columns, every third with a line break in a cell.
fn large() -> String {
    let mut text = String::from("id,name,remark,day\n");
    for i in 0..20_000 {
        let remark = if i % 3 == 0 {
            "\"two\nlines, one cell\""
        } else {
            "one"
        };
        text.push_str(&format!(
            "{i},name {},{remark},2024-01-{:02}\n",
            i % 10,
            1 + i % 28
        ));
    }
    text
}

#[test]
fn large_files_are_read_in_ranges() {
    let text = large();
    let size = text.len() as u64;
    let options = budget(64 << 10);
    let (summary, counts) = read_with("x.csv", text, &options);
    let summary = summary.unwrap();
    assert!(counts.bytes_read <= 64 << 10, "{counts:?}");
    assert_eq!(
        schema(&summary),
        "id:integer name:text remark:text day:date"
    );
    assert!(summary.approximate && !summary.rows_exact);
    assert!(
        summary.rows.abs_diff(20_000) < 400,
        "estimate: {}",
        summary.rows
    );
    assert!(summary.columns.iter().all(|column| !column.profile.exact));
    assert_eq!(
        summary.notes,
        [format!("65536 of {size} bytes read")],
        "no ragged rows"
    );
    assert_eq!(column(&summary, "name").profile.distinct(), 10);
    assert_eq!(sample(&summary).len(), 5);
    let max: f64 = range(&summary, "id").1.unwrap().parse().unwrap();
    assert!(max > 15_000.0, "ranges reach the file's end: {max}");
}

#[test]
fn large_files_are_read_the_same_way_each_time() {
    let summary = |seed| {
        let options = ReadOptions {
            seed,
            ..budget(64 << 10)
        };
        read_with("x.csv", large(), &options).0.unwrap()
    };
    assert_eq!(summary(1), summary(1));
    assert_ne!(sample(&summary(1)), sample(&summary(2)));
}

#[test]
fn one_endless_line_is_an_error_and_not_memory() {
    for (path, text) in [
        ("x.csv", "word ".repeat(100_000)),
        ("x.csv", format!("a,b\n1,\"{}", "x".repeat(500_000))),
        ("x.jsonl", format!("{{\"a\":\"{}\"}}", "x".repeat(500_000))),
    ] {
        let error = read_with(path, text, &budget(64 << 10)).0.unwrap_err();
        assert_eq!(error.kind, FileErrorKind::Unsupported);
        assert!(
            error
                .to_string()
                .contains("longer than the 4096 bytes read at a time"),
            "{error}"
        );
    }
}

#[test]
fn samples_are_those_of_the_row_numbers() {
    let text: String = (0..1000).map(|i| format!("{i},v{i}\n")).collect();
    let summary = read("x.csv", format!("id,v\n{text}"));
    let drawn = limn_profile::sample::draw(0, "", 1000, 5);
    let expected: Vec<String> = drawn.iter().map(|i| format!("{i}|v{i}")).collect();
    assert_eq!(sample(&summary), expected);
}

#[test]
fn numbers_and_dates_are_profiled_as_plain_ones() {
    let summary = read(
        "x.csv",
        "price;on;code;mixed\n1.234,50 €;31.12.2020;007;1.2.2020\n2,00 €;1.2.2020;1,5;1/2/2020\n\
         2,00 €;NULL;2;3.4.2020\n",
    );
    assert_eq!(schema(&summary), "price:float on:date code:text mixed:text");
    assert_eq!(summary.rows, 3);
    assert_eq!(
        range(&summary, "price"),
        (Some("2.00".into()), Some("1234.50".into()))
    );
    let price = column(&summary, "price");
    assert_eq!(price.profile.frequent.top(1), [("2.00", 2)]);
    assert_eq!(
        price.notation.as_ref().unwrap().to_string(),
        "decimal comma, thousands by points, in €"
    );
    assert_eq!(
        range(&summary, "on"),
        (Some("2020-02-01".into()), Some("2020-12-31".into()))
    );
    assert_eq!(column(&summary, "on").profile.nulls, 1);
    assert!(column(&summary, "code").notation.is_none());
    // The sample is as it is written.
    assert_eq!(sample(&summary)[0], "1.234,50 €|31.12.2020|007|1.2.2020");
}

#[test]
fn signs_for_missing_values_among_numbers_are_nulls() {
    let summary = read(
        "x.csv",
        "id,n,price,on,strand,code\n1,-,..,2024-01-31,-,?\n2,-5,\"1,234.5\",n.d.,+,007\n3,10,7,2024-02-01,-,12\n",
    );
    assert_eq!(
        schema(&summary),
        "id:integer n:integer price:float on:date strand:text code:text"
    );
    assert_eq!(range(&summary, "n"), (Some("-5".into()), Some("10".into())));
    let n = &column(&summary, "n").profile;
    assert_eq!((n.values, n.nulls, n.distinct()), (2, 1, 2));
    assert!(column(&summary, "n").notation.is_none());
    assert_eq!(column(&summary, "on").profile.nulls, 1);
    let price = column(&summary, "price");
    assert_eq!((price.profile.values, price.profile.nulls), (2, 1));
    assert!(price.notation.is_some());
    let strand = &column(&summary, "strand").profile;
    assert_eq!((strand.values, strand.frequent.top(1)), (3, vec![("-", 2)]));
    assert_eq!(range(&summary, "code").1, Some("?".into()));
    // The sign for null is also how the tests show one.
    assert_eq!(sample(&summary)[0], "1|-|-|2024-01-31|-|?");
    assert_eq!(
        summary.notes,
        ["3 cells with a sign for a missing value (`-`) read as null: n, price, on"]
    );
}

#[test]
fn signs_alone_are_values() {
    let summary = read("x.csv", "id,mark\n1,-\n2,*\n3,-\n");
    assert_eq!(schema(&summary), "id:integer mark:text");
    assert_eq!(column(&summary, "mark").profile.values, 3);
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn json_with_the_name_of_csv_is_reported() {
    for (path, text, extension) in [
        (
            "x.csv",
            "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n",
            ".jsonl",
        ),
        (
            "x.tsv",
            "[{\"a\": 1, \"b\": 2}, {\"a\": 3, \"b\": 4}]",
            ".json",
        ),
        (
            "x.csv",
            "[\n {\n  \"a\": 1\n },\n {\n  \"a\": 3\n }\n]\n",
            ".json",
        ),
    ] {
        let error = failure(path, text);
        assert_eq!(error.kind, FileErrorKind::NotItsFormat, "{text}");
        assert_eq!(error.cause, "it is named as CSV but is JSON");
        assert_eq!(error.remedy, format!("rename the file to {extension}"));
    }
    let summary = read("x.tsv", "{\"a\": 1}\t5\n{\"a\": 2}\t6\n{\"a\": 3}\t7\n");
    assert_eq!(summary.columns.len(), 2);
}
