#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn plan(text: &str) -> Plan {
    detect(text.as_bytes(), true, "x.csv", &DeclaredReading::default()).unwrap()
}

fn is(text: &str, delimiter: char, quoting: Quoting, columns: &[&str]) {
    let plan = plan(text);
    assert_eq!(plan.dialect.delimiter as char, delimiter, "{text}");
    assert_eq!(plan.dialect.quoting, quoting, "{text}");
    assert_eq!(plan.columns, columns, "{text}");
}

#[test]
fn delimiters() {
    is(
        "id,name\n1,a\n2,b\n",
        ',',
        Quoting::Doubled,
        &["id", "name"],
    );
    is(
        "id\tname\n1\ta, b\n2\tc\n",
        '\t',
        Quoting::Doubled,
        &["id", "name"],
    );
    is(
        "id|name\n1|a\n2|b\n",
        '|',
        Quoting::Doubled,
        &["id", "name"],
    );
    // Decimal commas are even too, but not in the header.
    is(
        "id;price;tax\n1;2,5;0,5\n2;3,5;0,7\n",
        ';',
        Quoting::Doubled,
        &["id", "price", "tax"],
    );
    is("sep=;\na;b\n1,5;2\n", ';', Quoting::Doubled, &["a", "b"]);
    is(
        "name\nAnna\nBen; the other\n",
        ',',
        Quoting::Doubled,
        &["name"],
    );
    is(
        "remark\nyes, and no\nno\nwell, well, well\nmaybe\n",
        ',',
        Quoting::Doubled,
        &["remark"],
    );
    is("a\tb\n", '\t', Quoting::Doubled, &["a", "b"]);
}

/// Above rows of two columns.
fn titled(title: &str, header: &str, row: impl Fn(usize) -> String) -> [String; 4] {
    [3, 10, 40, 400].map(|rows| {
        let rows: String = (0..rows).map(|i| row(i) + "\n").collect();
        format!("{title}{header}\n{rows}")
    })
}

#[test]
fn a_title_above_two_columns_hides_no_delimiter() {
    for title in [
        "Report 2024\n\n",
        "Report 2024\r\n\r\n",
        "\"Report 2024\"\n\n",
        "# by us\n\n",
    ] {
        for text in titled(title, "name;n", |i| format!("n{i};{i},5{}", i % 10)) {
            is(&text, ';', Quoting::Doubled, &["name", "n"]);
        }
        for text in titled(title, "name\tat", |i| format!("n{i}\tRoad {i}, Bern")) {
            is(&text, '\t', Quoting::Doubled, &["name", "at"]);
        }
        for text in titled(title, "name,n", |i| format!("n{i},{i}\n")) {
            let text = text + "\nSource: the register\n";
            is(&text, ',', Quoting::Doubled, &["name", "n"]);
        }
    }
    // The header shows what is above.
    for text in titled("Report 2024\n", "a,b", |i| format!("{i},{i}")) {
        is(&text, ',', Quoting::Doubled, &["a", "b"]);
    }
}

#[test]
fn values_with_a_delimiter_in_them_are_one_column() {
    for text in titled("", "n", |i| format!("{i},5")) {
        assert_eq!(plan(&text).columns, ["n"], "{text}");
    }
    for text in titled("", "said", |i| format!("{i} times yes, and no")) {
        assert_eq!(plan(&text).columns, ["said"], "{text}");
    }
    // R's names of rows have no name.
    for text in &titled("", "cyl", |i| format!("Mazda {i}a,{i}"))[2..] {
        is(text, ',', Quoting::Doubled, &["column_1", "cyl"]);
    }
}

#[test]
fn a_blank_line_below_a_header_makes_it_no_title() {
    let columns = ["name, first", "n"];
    is("name\n\nada\nbob\n", ',', Quoting::Doubled, &["name"]);
    is("id,n\n\n1,2\n3,4\n", ',', Quoting::Doubled, &["id", "n"]);
    let text = "\"name, first\",n\n\n\"a, b\",2\n\"c, d\",4\n";
    is(text, ',', Quoting::Doubled, &columns);
    // Blank lines everywhere say nothing.
    let text = "n\n\n0,5\n\n1,5\n\n2,5\n";
    assert_eq!(plan(text).columns, ["n"]);
}

#[test]
fn quotings() {
    is(
        "a,b\n1,\"x, \"\"y\"\"\"\n2,z\n",
        ',',
        Quoting::Doubled,
        &["a", "b"],
    );
    is(
        "a,b\n1,\"x, \\\"y\\\", z\"\n2,\"q\"\n",
        ',',
        Quoting::Backslash,
        &["a", "b"],
    );
    is(
        "path,b\n\"C:\\dir\\\",1\n\"D:\\\",2\n",
        ',',
        Quoting::Doubled,
        &["path", "b"],
    );
    let stray: String = (0..50).map(|i| format!("{i}\t\"tis {i}\tz\n")).collect();
    is(
        &format!("id\ttext\tc\n{stray}"),
        '\t',
        Quoting::Off,
        &["id", "text", "c"],
    );
    // Commas in every quoted cell must not count as more columns.
    let names: String = (0..9).map(|i| format!("\"Doe, J{i}\",{i}\n")).collect();
    is(
        &format!("\"name, first\",n\n{names}"),
        ',',
        Quoting::Doubled,
        &["name, first", "n"],
    );
}

#[test]
fn a_head_cut_within_a_row_is_no_evidence() {
    let text = "a,b\n1,2\n3,4\n5";
    let plan = detect(text.as_bytes(), false, "x.csv", &DeclaredReading::default()).unwrap();
    assert_eq!((plan.dialect.delimiter, plan.columns.len()), (b',', 2));
}

#[test]
fn a_declared_header_and_delimiter_are_taken_as_they_are() {
    let declared = |header, delimiter| DeclaredReading {
        header,
        delimiter,
        ..DeclaredReading::default()
    };
    let plan = |text: &str, declared: &DeclaredReading| {
        let plan = detect(text.as_bytes(), true, "x.csv", declared);
        plan.map(|it| (it.skip, it.columns.join("|")))
    };
    let text = "Sales, 2024\r\n\r\nid,n\r\n1,2\r\n3,4\r\n";
    for (header, skip, columns) in [
        (HeaderLine::At(1), 1, "Sales|2024"),
        (HeaderLine::At(3), 2, "id|n"),
        (HeaderLine::At(4), 3, "1|2"),
        (HeaderLine::None, 0, "column_1|column_2"),
    ] {
        let found = plan(text, &declared(Some(header), None)).unwrap();
        assert_eq!(found, (skip, columns.to_owned()), "{header:?}");
    }
    for line in [2, 6, 99] {
        let error = plan(text, &declared(Some(HeaderLine::At(line)), None)).unwrap_err();
        assert!(
            error.cause().contains(&format!("line {line},")),
            "{error:?}"
        );
    }
    // Cells over several lines, and Excel's line, count as lines do.
    let text = "sep=;\n\"a\nb\";c\nid;n\n1;2\n";
    let found = plan(text, &declared(Some(HeaderLine::At(4)), None)).unwrap();
    assert_eq!(found, (2, "id|n".to_owned()));
    let text = "a,b~c,d\n1,2~3,4\n";
    let found = plan(text, &declared(None, Some(b'~'))).unwrap();
    assert_eq!(found, (1, "a,b|c,d".to_owned()));
    // Rows are wider, as R writes them; or have an end that nobody named.
    let found = plan(
        "x,y\nr1,1,2\nr2,3,4\n",
        &declared(Some(HeaderLine::At(1)), None),
    );
    assert_eq!(found.unwrap(), (1, "column_1|x|y".to_owned()));
    let found = plan(
        "x,y\n1,2,\n3,4,\n",
        &declared(Some(HeaderLine::At(1)), None),
    );
    assert_eq!(found.unwrap(), (1, "x|y".to_owned()));
}

#[test]
fn blank_files_are_empty() {
    for text in ["\n\n", "\r\n", "  \n", ",,\n,,\n"] {
        let result = detect(text.as_bytes(), true, "x.csv", &DeclaredReading::default());
        assert!(
            matches!(
                result,
                Err(Failure::Content {
                    kind: FileErrorKind::Empty,
                    ..
                })
            ),
            "{text:?}"
        );
    }
}

#[test]
fn too_many_columns_are_refused() {
    let text = "a,".repeat(MAX_COLUMNS - 1) + "a\n";
    assert_eq!(plan(&text).columns.len(), MAX_COLUMNS);
    let text = "a,".repeat(MAX_COLUMNS) + "a\n";
    let result = detect(text.as_bytes(), true, "x.csv", &DeclaredReading::default());
    assert!(matches!(
        result,
        Err(Failure::Content {
            kind: FileErrorKind::Unsupported,
            ..
        })
    ));
}
