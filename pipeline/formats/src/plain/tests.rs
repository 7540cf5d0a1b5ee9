//! Texts that are tables, and texts that are none.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

/// How a text is read, as `id:integer name:text, 2 rows`; `-` for no table.
fn seen(text: &str) -> String {
    let fetched = Fetched::made(text.as_bytes().to_vec(), true);
    match read(
        fetched,
        (false, Doubt::Prose),
        "x.txt",
        &ReadOptions::default(),
    ) {
        Ok(summary) => {
            let columns = summary.columns.iter();
            let columns: Vec<String> = columns
                .map(|column| format!("{}:{}", column.name, column.data_type))
                .collect();
            format!("{}, {} rows", columns.join(" "), summary.rows)
        }
        Err(Failure::Content {
            kind: FileErrorKind::NoTable,
            ..
        }) => "-".to_owned(),
        Err(failure) => failure.cause(),
    }
}

#[test]
fn texts_cut_by_delimiters_are_tables() {
    for (text, expected) in [
        ("id,name\n1,ada\n2,bob\n", "id:integer name:text, 2 rows"),
        (
            "id\tname\n1\tada lovelace of london\n2\tbob\n",
            "id:integer name:text, 2 rows",
        ),
        (
            "name;city\nada;London\nbob;Bern\ncyd;Rome\n",
            "name:text city:text, 3 rows",
        ),
        (
            "1|155190|0.04|1996-03-13|\n1|67310|0.09|1996-04-12|\n2|63700|0.10|1996-01-29|\n",
            "column_1:integer column_2:integer column_3:float column_4:date, 3 rows",
        ),
        (
            "# made by us\n# id,name\n1,ada\n2,bob\n3,cyd\n",
            "id:integer name:text, 3 rows",
        ),
        (
            "# made by us\n\nid,name\n1,ada\n2,bob\n3,cyd\n",
            "id:integer name:text, 3 rows",
        ),
        (
            "\"name\",\"said\"\n\"ada\",\"hello, you\"\n\"bob\",\"well, yes\"\n",
            "name:text said:text, 2 rows",
        ),
    ] {
        assert_eq!(seen(text), expected, "{text}");
    }
}

#[test]
fn texts_cut_by_blanks_are_tables() {
    for (text, expected) in [
        (
            "\"mpg\" \"cyl\" \"gear\"\n\"Mazda RX4\" 21 6 \"a\"\n\"Datsun \\\"710\\\"\" 22.8 4 \"b\"\n\"Fiat 128\" 32.4 4 \"c\"\n",
            "column_1:text mpg:float cyl:integer gear:text, 3 rows",
        ),
        ("x y\n1 2.5\n2 3.5\n3 4.5\n", "x:integer y:float, 3 rows"),
        ("# x y\n1 2.5\n2 3.5\n3 4.5\n", "x:integer y:float, 3 rows"),
        (
            "x y\n1,5  2,25\n3,5  4,75\n1,25 8,5\n",
            "x:float y:float, 3 rows",
        ),
        (
            "the 312\nof 200\nand 150\nto 140\na 99\n",
            "column_1:text column_2:integer, 5 rows",
        ),
        (
            "name   born\n----------------\nada    1815\nbob    1901\n",
            "name:text born:integer, 2 rows",
        ),
    ] {
        assert_eq!(seen(text), expected, "{text}");
    }
}

#[test]
fn columns_of_fixed_width_are_tables() {
    let census = "STATE      COUNTY          POP2000   AREA\n\
                  Alabama    Autauga County    43671  594.4\n\
                  Alabama    St. Clair        140415 1589.8\n\
                  New York   Kings           2465326   70.6\n\
                  Utah       Salt Lake        898387  742.3\n";
    assert_eq!(
        seen(census),
        "STATE:text COUNTY:text POP2000:integer AREA:float, 4 rows"
    );
    // Numbers grow to the left.
    let mut long = "id    name          amount\n".to_owned();
    for n in 0..3000 {
        long += &format!(
            "{:<5} {:<10} {:>9}\n",
            n,
            ["a b", "Zürich", "x"][n % 3],
            n * n
        );
    }
    assert_eq!(
        seen(&long),
        "id:integer name:text amount:integer, 3000 rows"
    );
    let sqlplus = "city            people\n--------------- -------\nNew York        8000000\nBern             130000\n\n";
    assert_eq!(seen(sqlplus), "city:text people:integer, 2 rows");
    let rst = "=====  =====\nname   said\n=====  =====\nada    hello you\nbob    well then\n=====  =====\n";
    assert_eq!(seen(rst), "name:text said:text, 2 rows");
}

#[test]
fn drawn_tables_are_tables() {
    let expected = "id:integer name:text, 2 rows";
    for text in [
        " id | name\n----+---------\n  1 | ada of b\n  2 | bob\n(2 rows)\n\n",
        "| id | name |\n|---:|:-----|\n| 1 | ada |\n| 2 | b\\|b |\n",
        "+----+------+\n| id | name |\n+----+------+\n|  1 | ada  |\n|  2 | bob  |\n+----+------+\n2 rows in set (0.00 sec)\n",
        "┌────┬──────┐\n│ id │ name │\n╞════╪══════╡\n│ 1  ┆ ada  │\n│ 2  ┆ bob  │\n└────┴──────┘\n",
        "Staff of the house\n\n id | name\n----|------\n 1 | ada\n 2 | bob\n",
    ] {
        assert_eq!(seen(text), expected, "{text}");
    }
}

/// Texts of all kinds that nobody would call a table.
const NONE: &[&str] = &[
    "",
    "\n\n  \n",
    "hello\n",
    "one,two\n",
    "Dear all,\n\nthe report is done, and I will send it tomorrow.\nIt has four parts, and a summary.\n\nYours,\nAda\n",
    "It was the best of times, it was the worst of times,\nit was the age of wisdom, it was the age of foolishness,\nit was the epoch of belief, it was the epoch of incredulity,\nit was the season of Light, it was the season of Darkness\n",
    "Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.\n",
    "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy fearful symmetry?\n",
    "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software and associated documentation files (the \"Software\"), to deal\nin the Software without restriction, including without limitation the rights\nto use, copy, modify, merge, publish, distribute, sublicense, and/or sell\n",
    "2024-01-01 10:00:00,123 INFO starting the server on port 8080\n2024-01-01 10:00:01,456 WARN no configuration found, using defaults\n2024-01-01 10:00:02,789 ERROR cannot reach the database at all\n",
    "Jan  1 10:00:00 host kernel: usb 1-1: new device found\nJan  1 10:00:01 host sshd[12]: Accepted publickey for ada from 1.2.3.4 port 22\nJan  1 10:00:02 host cron[99]: job done\n",
    "fn main() {\n    let x = 1;\n    let y = 2;\n    println!(\"{}\", x + y);\n}\n",
    "int a;\nint b;\nint c;\nint d;\n",
    "import os\nimport sys\nimport re\nimport json\nimport csv\n",
    "def f(a, b):\n    return a, b\n\nprint(f(1, 2))\n",
    "foo(a, b);\nbar(c, d);\nbaz(e, f);\nqux(g, h);\n",
    "[server]\nhost = localhost\nport = 8080\n\n[client]\nretries = 3\n",
    "Host example\nPort 22\nUser ada\nIdentityFile x\n",
    "name: ada\nborn: 1815\ncity: London\nlikes: mathematics\n",
    "1. Buy milk\n2. Call mother\n3. Write report\n4. Sleep early\n",
    "- milk\n- bread\n- butter\n- eggs\n",
    "1) first thing to do\n2) second thing to do\n3) third thing to do\n",
    "From: ada@example.org\nTo: bob@example.org\nSubject: lunch\n\nHi Bob, shall we meet at 12? Ada\n",
    "Contents\n\nIntroduction ......... 1\nMethods .............. 5\nResults ............. 12\nDiscussion .......... 20\n",
    "   /\\_/\\\n  ( o.o )\n   > ^ <\n  /     \\\n",
    "requests==2.31.0\nnumpy>=1.26\npandas\nclick\n",
    "retries = 3\nport = 8080\nworkers = 4\ntimeout = 30\n",
    "milk\nbread\nbutter\neggs\n",
    "Smith, John\nDoe, Jane\nLovelace, Ada\nByron, George\n",
    "the quick brown fox\njumps over the lazy\ndog and runs away\nfrom the big bear\n",
    "<p>Hello, you</p>\n<p>Well, then</p>\n",
    "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n{\"a\": 5, \"b\": 6}\n",
    "[\n  {\"a\": 1, \"b\": 2.5},\n  {\"a\": 3, \"b\": 4.5},\n  {\"a\": 5, \"b\": 6.5}\n]\n",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\nRTESMBAGA1UEChMJQmFsdGltb3JlMRMwEQYDVQQLEwpDeWJlclRydXN0MSIwIAYD\n-----END CERTIFICATE-----\n",
    "Title\n=====\n\nSome words about it. And more,\nover two lines.\n\nPart\n----\n\nMore words.\n",
    "SELECT a, b\nFROM t\nWHERE a > 1, b < 2\n;\n",
    "cat x | grep y\nls | wc -l\necho done\nps aux | grep z | wc\n",
    "\tindented by tabs\n\tas code is\n\t\tand deeper\n\tdone\n",
    "CFLAGS=-O2\n\nall: main.o\n\tcc -o main main.o\n\nmain.o: main.c\n\tcc -c main.c\n",
];

/// Lists as SAP writes them.
#[test]
fn bars_around_all_cells_are_a_table_with_and_without_rules() {
    let rows = "|KUNNR|ORT01|NETWR|\n|9267|Lyon|8,5|\n|6072|Bern|2,5|\n|3876|Lyon|7,5|\n";
    let expected = "KUNNR:integer ORT01:text NETWR:float, 3 rows";
    let ruled = rows.replacen('\n', "\n-------------------\n", 1);
    let titled =
        format!("01.06.2024  Listausgabe\n\n-------------------\n{ruled}-------------------\n");
    let totalled = format!("{titled}|*    |     | 18,5|\n-------------------\n");
    for text in [
        rows,
        &ruled,
        &titled,
        &totalled,
        &format!("{rows}\n(3 rows)\n"),
    ] {
        assert_eq!(seen(text), expected, "{text}");
        let read = crate::tests::read("x.csv", text.to_owned());
        assert_eq!((read.rows, read.columns.len()), (3, 3), "{text}");
        assert!(read.reading.is_some_and(|it| it.is_rewritten));
    }
    for prose in [
        "| a box |\n| of text |\n| alone |\n",
        "|x| is what is left\n|y| is not\n|z| neither|\n",
        "|a|b|\n|c|d|\n",
    ] {
        assert_eq!(seen(prose), "-", "{prose}");
    }
    // As a value in a row.
    let read = crate::tests::read("x.csv", "said,n\n|a|,1\n|b|,2\n|c|,3\n");
    assert_eq!((read.rows, read.columns.len()), (3, 2));
}

#[tokio::test]
async fn beside_a_table_a_list_of_its_columns_is_none() {
    for (text, is_table) in [
        ("id\tname\n1\tada\n2\tbob\n3\tcyd\n", true),
        ("|id|name|\n|1|ada|\n|2|bob|\n", true),
        ("id,name\n1,ada\n2,bob\n3,cyd\n", true),
        (
            "Column\tMeaning\nid\tnumber of the order\nday\tits day\nshop\tits place\n",
            false,
        ),
        ("|Field name|Length|\n|---|---|\n|id|4|\n|day|8|\n", false),
        // What grows on fields.
        (
            "Field\tCrop\tTons\nNorth\tRye\t31\nHill\tOats\t17\nBrook\tRye\t22\n",
            true,
        ),
        ("id: number of the order\nday: its day\n", false),
        ("All orders of 2024, as the shop has them.\n", false),
    ] {
        let held = text_holds_rows("x.txt", text.into(), true).await.unwrap();
        assert_eq!(held, is_table, "{text}");
        let fetched = Fetched::made(text.into(), true);
        let options = ReadOptions::default();
        let read = read(fetched, (false, Doubt::Described), "x.txt", &options);
        assert_eq!(read.is_ok(), is_table, "{text}");
    }
}

#[test]
fn other_texts_are_no_tables() {
    for text in NONE {
        assert_eq!(seen(text), "-", "{text}");
    }
}

/// Thirty lines, of a number each.
fn lines(line: impl Fn(usize) -> String) -> String {
    (0..30).map(|n| line(n) + "\n").collect()
}

#[test]
fn logs_that_are_cut_alike_are_no_tables() {
    for text in [
        lines(|n| {
            format!(
                "10.0.0.{n} - - [10/Oct/2000:13:55:{n:02} -0700] \"GET /a{n}.gif HTTP/1.0\" 200 {n}"
            )
        }),
        lines(|n| {
            format!(
                "host{n}.example.org - - [01/Jul/1995:00:00:{n:02} -0400] \"GET /b HTTP/1.0\" 200 {n}"
            )
        }),
        lines(|n| format!("2020-01-01 10:00:{n:02} INFO server started worker {n} in {n} ms")),
        lines(|n| format!("2020-01-01 10:00:{n:02},123 [main] INFO com.foo.Bar - message")),
        lines(|n| format!("2020/01/01 10:00:{n:02} [error] 12#0: *{n} open() failed")),
        lines(|n| format!("[Wed Oct 11 14:32:{n:02} 2000] [error] client {n}")),
        lines(|n| format!("Jan  1 10:00:{n:02} WARN: {n} 5")),
        lines(|n| format!("10.0.0.{n} \"GET /{n} HTTP/1.0\" 200")),
    ] {
        assert_eq!(seen(&text), "-", "{text}");
    }
}

#[test]
fn measurements_with_times_and_tables_of_levels_are_tables() {
    for text in [
        lines(|n| format!("2020-01-01 10:{n:02} 3.{n} 4.5")),
        lines(|n| format!("2020-01-01,10:{n:02},INFO,{n}")),
        lines(|n| format!("10.0.0.{n} {n} 4.5 7")),
        "date time level n\n".to_owned() + &lines(|n| format!("2020-01-01 10:00:{n:02} INFO {n}")),
        "date       level  n\n".to_owned() + &lines(|n| format!("2020-01-01 WARN  {n:>2}")),
    ] {
        assert_ne!(seen(&text), "-", "{text}");
    }
}

#[test]
fn columns_with_no_blank_between_are_no_wrong_numbers() {
    let glued = lines(|n| format!("{n:05}Name{:<10}{n:>5}.24202006{:02}", n % 10, 1 + n % 28));
    let named = "no   name       amount and day\n".to_owned() + &glued;
    let one_decimal = lines(|n| format!("{n:>5} -{n}.51999{:02}31", 1 + n % 12));
    for text in [glued, named, one_decimal] {
        assert_eq!(seen(&text), "-", "{text}");
    }
    // Apart they are columns; and decimals are decimals.
    for text in [
        lines(|n| format!("{n:05} Name{} {n:>5}.24 202006{:02}", n % 10, 1 + n % 28)),
        lines(|n| format!("{n:>5} {:.10}", 1.0 / (n as f64 + 3.0))),
        lines(|n| format!("{n:>5} {n}.202006{:02}", 1 + n % 28)),
        "id,n\n".to_owned() + &lines(|n| format!("{n},{n}.2420200618")),
    ] {
        assert_ne!(seen(&text), "-", "{text}");
    }
}

#[test]
fn binary_files_are_no_tables_and_damaged_ones_are_errors_where_the_name_says_what_they_are() {
    let is = |bytes: &[u8], is_packed| {
        let fetched = Fetched::made(bytes.to_vec(), true);
        match read(
            fetched,
            (is_packed, Doubt::Prose),
            "",
            &ReadOptions::default(),
        )
        .unwrap_err()
        {
            Failure::Content { kind, .. } => kind,
            Failure::Store(error) => panic!("{error}"),
        }
    };
    assert_eq!(is(&[0, 1, 2, 3, 0, 0], false), FileErrorKind::NoTable);
    assert_eq!(is(b"PAR1\x15\x04\x15\x10", false), FileErrorKind::NoTable);
    assert_eq!(is(b"\x1f\x8b\x08\0broken", false), FileErrorKind::NoTable);
    assert_eq!(is(b"\x1f\x8b\x08\0broken", true), FileErrorKind::Corrupt);
}

#[test]
fn few_letters_in_many_columns_take_no_memory_without_end() {
    let rule = "- ".repeat(500);
    let text = format!(
        "{rule}\n{}\n{rule}\n{}",
        "a ".repeat(500),
        "x\n".repeat(400_000)
    );
    assert_eq!(seen(&text), "-");
}

/// Columns, types and sampled rows.
fn header_and_rows(text: &str) -> (String, Vec<Vec<Option<String>>>) {
    let fetched = Fetched::made(text.as_bytes().to_vec(), true);
    let options = ReadOptions {
        sample_rows: 1000,
        ..ReadOptions::default()
    };
    let summary = read(fetched, (false, Doubt::Prose), "", &options)
        .unwrap_or_else(|error| panic!("{text}{error:?}"));
    let columns = summary.columns.iter();
    let columns: Vec<String> = columns
        .map(|column| format!("{}:{}", column.name, column.data_type))
        .collect();
    let mut rows = summary.sample.rows;
    rows.sort_by_key(|row| row.row);
    let rows = rows.into_iter().map(|row| row.values).collect();
    (columns.join(" "), rows)
}

proptest! {
    #[test]
    fn a_table_is_the_same_in_every_writing(
        rows in prop::collection::vec((0..100_000u32, "[A-Z][a-z]{2,8}( [a-z]{2,5})?", 0..1_000_000i32, 1..29u8), 4..40),
    ) {
        let header = ["id", "name", "price", "day"].map(str::to_owned).to_vec();
        let cells = rows.iter().map(|(id, name, price, day)| {
            vec![id.to_string(), name.clone(), format!("{}.{:02}", price / 100, price % 100), format!("2024-02-{day:02}")]
        });
        let table: Vec<Vec<String>> = std::iter::once(header).chain(cells).collect();
        let width = |at: usize| table.iter().map(|row| row[at].len()).max().unwrap_or(0);
        let joined = |row: &Vec<String>, by: &str| row.join(by) + "\n";
        let aligned = |row: &Vec<String>, by: &str| {
            let cells = row.iter().enumerate().map(|(at, cell)| match at {
                0 | 2 => format!("{cell:>0$}", width(at)),
                _ => format!("{cell:<0$}", width(at)),
            });
            cells.collect::<Vec<_>>().join(by) + "\n"
        };
        let quoted = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| format!("\"{cell}\"")).collect();
            joined(&cells, " ")
        };
        let rule: Vec<String> = (0..4).map(|at| "-".repeat(width(at))).collect();
        let commas: String = table.iter().map(|row| joined(row, ",")).collect();
        let expected = header_and_rows(&commas);
        prop_assert_eq!(&expected.0, "id:integer name:text price:float day:date");
        prop_assert_eq!(expected.1.len(), rows.len());
        for text in [
            table.iter().map(|row| joined(row, "\t")).collect::<String>(),
            table.iter().map(|row| joined(row, "|")).collect(),
            table.iter().map(|row| aligned(row, "  ")).collect(),
            table.iter().map(&quoted).collect(),
            aligned(&table[0], " | ") + &joined(&rule, "-+-") + &table[1..].iter().map(|row| aligned(row, " | ")).collect::<String>(),
            aligned(&table[0], " ") + &joined(&rule, " ") + &table[1..].iter().map(|row| aligned(row, " ")).collect::<String>(),
        ] {
            prop_assert_eq!(&header_and_rows(&text), &expected, "{}", text);
        }
    }

    #[test]
    fn any_text_is_looked_at(text in "[a-c1-9 .,;|\"#=+\t\n\r-]{0,300}") {
        let fetched = Fetched::made(text.into_bytes(), true);
        let options = ReadOptions::default();
        if let Ok(summary) = read(fetched, (false, Doubt::Prose), "", &options) {
            prop_assert!(summary.columns.len() > 1 && summary.rows > 0);
            prop_assert_eq!(summary.sample.rows.len() as u64, summary.rows.min(5));
        }
    }
}

#[test]
fn large_texts_are_read_in_ranges_while_they_are_one_table() {
    let row = |n: usize| {
        format!(
            "{:<8} {:<12} {:>9}\n",
            n,
            ["New York", "Bern"][n % 2],
            n * 7
        )
    };
    let head = "id       city            amount\n".to_owned();
    let all = head + &(0..20_000).map(row).collect::<String>();
    let options = ReadOptions {
        scan_budget: 64 << 10,
        ..ReadOptions::default()
    };
    let cut = |text: &str| {
        let ranges = input::ranges(text.len() as u64, &options, "");
        let piece = |range: std::ops::Range<u64>| {
            text.as_bytes()[range.start as usize..range.end as usize].to_vec()
        };
        let fetched = Fetched::cut(
            ranges.into_iter().map(|it| (it.clone(), piece(it))),
            text.len() as u64,
        );
        read(fetched, (false, Doubt::Prose), "", &options).unwrap()
    };
    let summary = cut(&all);
    assert!(
        summary.approximate && summary.rows.abs_diff(20_000) < 500,
        "{}",
        summary.rows
    );
    assert_eq!(summary.columns[1].profile.frequent.len(), 2);
    // Prose further on: only the beginning is read.
    let prose = "and so they went on, and on, until nobody knew any more where it had begun\n";
    let mixed =
        all[..16_000].rsplit_once('\n').unwrap().0.to_owned() + "\n" + &prose.repeat(10_000);
    let summary = cut(&mixed);
    let note = summary.notes.join("; ");
    assert!(note.contains("at the beginning"), "{note}");
}

#[test]
fn lines_far_down_that_would_take_long_do_not() {
    let rows = "| 1 | 2 |\n".repeat(40_000);
    let bars = format!(
        "| a | b |\n|---|---|\n{rows}{}\n{rows}",
        "\\|".repeat(4 << 20)
    );
    let words = format!("a b\n{}{}\n", "1 2\n".repeat(100_000), "a ".repeat(4 << 20));
    let rule = format!("a b\n{}\n1 2\n{}", "- ".repeat(2048), "\n".repeat(8 << 20));
    for text in [bars, words, rule] {
        let began = std::time::Instant::now();
        let _ = seen(&text);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
}

#[test]
fn letters_at_the_edge_of_what_is_looked_at_and_blank_lines_change_nothing() {
    for shift in 0..4 {
        let head = format!("# {}\n# id,name\n", "c".repeat(20 + shift));
        let text = head + &"é,1\n".repeat(100_000);
        assert_eq!(seen(&text), "id:text name:integer, 100000 rows", "{shift}");
    }
    let table = "\"a\" \"b\"\n\"1\" 1 2\n\"2\" 3 4\n\"3\" 5 6\n";
    assert_eq!(seen(table), seen(&format!("\n{table}")));
    let quoted = r#""" "\"\"" "a""b""#;
    let cells = cut::by_blanks(quoted, 9);
    assert_eq!(cells, ["", "\"\"", "a\"b"]);
}
