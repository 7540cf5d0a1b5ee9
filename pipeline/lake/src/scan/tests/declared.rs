//! Files of which people say how they are read: the profile and the scan agree, and nothing is
//! guessed.

use super::*;

/// The table of a file of which this is declared: what is known of it, its columns' types and its
/// rows.
async fn read(
    path: &str,
    content: impl Into<Vec<u8>>,
    said: &str,
    options: &ReadOptions,
) -> (FileSummary, Vec<String>, Vec<String>) {
    let mut declared = Declared::default();
    declared
        .add("", &format!("tables: [{{files: '*', {said}}}]"))
        .unwrap();
    let (table, known) = table_of(&[(path, content.into())], &declared, options).await;
    let (types, rows) = (types(&table), all(&table).await);
    (known[0].1.clone(), types, rows)
}

#[tokio::test]
async fn declared_types_are_those_of_the_profile_and_of_the_scan() {
    let text = "code,qty,price,day\n007,1,\"1.234,5\",31.01.2024\n008,x,\"2,5\",1.2.2024\n009,003,3.50,soon\n";
    let said = "columns: {code: text, qty: integer, price: float, day: {type: date}, nothing: text}, decimal: ',', date-order: day-first";
    let (known, types, rows) = read("t.csv", text, said, &ReadOptions::default()).await;
    assert_eq!(
        types,
        ["code Utf8View", "qty Int64", "price Float64", "day Date32"]
    );
    assert_eq!(
        rows,
        [
            "007|1|1234.5|2024-01-31",
            "008|-|2.5|2024-02-01",
            "009|3|-|-"
        ]
    );
    let found: Vec<(u64, u64, Option<&str>)> = known
        .columns
        .iter()
        .map(|it| {
            (
                it.profile.values,
                it.profile.nulls,
                it.profile.max.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (3, 0, Some("009")),
            (2, 1, Some("3")),
            (2, 1, Some("1234.5")),
            (2, 1, Some("2024-02-01"))
        ]
    );
    assert_eq!(
        known.notes,
        ["3 cells not of the declared type read as null: qty, price, day"]
    );
    let sample = known.sample.rows.iter().flat_map(|row| &row.values);
    assert_eq!(sample.filter(|cell| cell.is_none()).count(), 3);
}

#[tokio::test]
async fn a_declared_notation_is_not_guessed() {
    let read =
        async |text: &str, said: &str| read("t.csv", text, said, &ReadOptions::default()).await;
    // Months come first unless people say otherwise.
    let days = "id,day\n1,1/2/2024\n2,3/4/2024\n";
    let (known, types, rows) = read(days, "date-order: day-first").await;
    assert_eq!(types, ["id Int64", "day Date32"]);
    assert_eq!(rows, ["1|2024-02-01", "2|2024-04-03"]);
    let notation = known.columns[1].notation.as_ref().unwrap().to_string();
    assert_eq!(notation, "DD/MM/YYYY (as declared)");
    let (_, types, _) = read(days, "date-order: year-first").await;
    assert_eq!(types, ["id Int64", "day Utf8View"]);
    let (_, types, _) = read(
        "id,day\n1,31/1/2024\n2,30/4/2024\n",
        "date-order: month-first",
    )
    .await;
    assert_eq!(types, ["id Int64", "day Utf8View"]);
    // A point is no decimal mark where a comma is.
    let numbers = "id;n;m\n1;1.234;1.5\n2;2.345;2.5\n";
    let (_, types, rows) = read(numbers, "decimal: ','").await;
    assert_eq!(types, ["id Int64", "n Int64", "m Utf8View"]);
    assert_eq!(rows, ["1|1234|1.5", "2|2345|2.5"]);
    let (_, types, rows) = read("id;n\n1;1,234\n2;2,345\n", "decimal: '.'").await;
    assert_eq!(
        (types, rows),
        (
            vec!["id Int64".to_owned(), "n Int64".to_owned()],
            vec!["1|1234".to_owned(), "2|2345".to_owned()]
        )
    );
}

#[tokio::test]
async fn declared_signs_take_the_place_of_limns_own() {
    let text = "n,word\n-99,NA\n1,-\n,x\n";
    let said = "nulls: [-99, x]";
    let (known, types, rows) = read("t.csv", text, said, &ReadOptions::default()).await;
    assert_eq!(types, ["n Int64", "word Utf8View"]);
    assert_eq!(rows, ["-|NA", "1|-", "-|-"]);
    let nulls: Vec<u64> = known.columns.iter().map(|it| it.profile.nulls).collect();
    assert_eq!(nulls, [2, 1]);
    let lines = "{\"n\": -99, \"word\": \"NA\"}\n{\"n\": 1, \"word\": \"x\", \"d\": \"2024\"}\n{\"n\": \"7\", \"word\": \"\"}\n";
    let said = "nulls: [-99, x], columns: {n: integer, d: date}";
    let (known, types, rows) = read("t.jsonl", lines, said, &ReadOptions::default()).await;
    assert_eq!(types, ["n Int64", "word Utf8View", "d Date32"]);
    assert_eq!(rows, ["-|NA|-", "1|-|-", "7|-|-"]);
    assert_eq!(
        known.notes,
        ["1 value not of the declared type read as null: d"]
    );
}

#[tokio::test]
async fn a_declared_header_delimiter_and_encoding_hold_beyond_the_budget_too() {
    let text = |rows: usize| {
        let rows = (0..rows).map(|row| format!("{row}~M\u{fc}ller {row}~1,5\n"));
        let text = format!(
            "Umsatz~2024~x\n\nid~Name~Wert\n{}",
            rows.collect::<String>()
        );
        encoding_rs::WINDOWS_1252.encode(&text).0.into_owned()
    };
    let said = "header: 3, delimiter: '~', encoding: latin1, decimal: ','";
    for (path, rows, budget) in [
        ("t.csv", 5, 1 << 20),
        ("t.csv", 4000, 4096),
        ("t.txt", 5, 1 << 20),
        ("t.txt", 4000, 4096),
    ] {
        let options = ReadOptions {
            scan_budget: budget,
            ..ReadOptions::default()
        };
        let (known, types, found) = read(path, text(rows), said, &options).await;
        assert_eq!(
            types,
            ["id Int64", "Name Utf8View", "Wert Float64"],
            "{path}"
        );
        assert_eq!(
            (found.len(), &found[2][..]),
            (rows, "2|M\u{fc}ller 2|1.5"),
            "{path}"
        );
        let reading = known.reading.unwrap();
        assert_eq!(
            (reading.skip, reading.encoding.as_deref()),
            (2, Some("windows-1252"))
        );
    }
    let (known, types, rows) = read(
        "t.csv",
        "id,name\n1,Ada\n",
        "header: none",
        &ReadOptions::default(),
    )
    .await;
    assert_eq!(types, ["column_1 Utf8View", "column_2 Utf8View"]);
    assert_eq!((known.rows, rows[0].as_str()), (2, "id|name"));
}

#[tokio::test]
async fn typed_files_are_cast_and_no_row_group_is_passed_over_for_what_they_were() {
    let batch = RecordBatch::try_from_iter(vec![
        (
            "n",
            Arc::new(StringArray::from(vec!["1", "x", "3"])) as ArrayRef,
        ),
        ("m", Arc::new(Int32Array::from(vec![1, 2, 3]))),
    ])
    .unwrap();
    let mut declared = Declared::default();
    let said = "tables: [{files: '*', columns: {n: integer, m: text}}]";
    declared.add("", said).unwrap();
    let files = [("t.parquet", parquet_of(&batch, 1))];
    let (table, known) = table_of(&files, &declared, &ReadOptions::default()).await;
    assert_eq!(types(&table), ["n Int64", "m Utf8View"]);
    assert_eq!(all(&table).await, ["1|1", "-|2", "3|3"]);
    assert_eq!(known[0].1.columns[0].data_type.label(), "integer");
    let request = Request {
        filters: vec![Filter {
            column: 0,
            test: Test::IsNull,
        }],
        ..Request::default()
    };
    let (found, report) = batches(&table, request).await;
    assert_eq!(shown(&found), ["-|2"]);
    assert_eq!(report.misfits(), [("n".to_owned(), 1)]);
}
