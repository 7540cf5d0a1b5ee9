//! Files that other programs wrote (`tests/data/make.py`): one table in each format gives one
//! summary.

use super::*;

fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Each column of `summary` as `reference` has it: type, profile and sampled values.
fn agrees(summary: &FileSummary, reference: &FileSummary, of: &str) {
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (reference.rows, true, false),
        "{of}"
    );
    assert_eq!(summary.notes, reference.notes, "{of}");
    for (i, column) in summary.columns.iter().enumerate() {
        let mut place = reference.columns.iter();
        let place = place.position(|it| it.name == column.name).unwrap();
        let expected = &reference.columns[place];
        assert_eq!(
            column.data_type, expected.data_type,
            "{of}, {}",
            column.name
        );
        let cells = summary.sample.rows.iter().zip(&reference.sample.rows);
        for (row, expected) in cells {
            assert_eq!(row.row, expected.row, "{of}");
            assert_eq!(
                row.values[i], expected.values[place],
                "{of}, {}",
                column.name
            );
        }
        assert_eq!(column.profile, expected.profile, "{of}, {}", column.name);
    }
}

#[test]
fn arrow_agrees_with_parquet() {
    let reference = read("x.parquet", data("table.parquet"));
    for name in ["table_lz4.feather", "table_zstd.feather", "table.arrows"] {
        let summary = read("x.arrow", data(name));
        assert_eq!(summary.columns.len(), reference.columns.len());
        agrees(&summary, &reference, name);
    }
}

#[test]
fn orc_agrees_with_parquet() {
    let reference = read("x.parquet", data("table.parquet"));
    for codec in ["uncompressed", "snappy", "zlib", "lz4", "zstd", "first"] {
        let name = format!("table_{codec}.orc");
        let summary = read("x.orc", data(&name));
        assert_eq!(summary.columns.len(), reference.columns.len());
        agrees(&summary, &reference, &name);
    }
}

#[test]
fn orc_metadata_is_kept() {
    let summary = read("x.orc", data("described.orc"));
    assert_eq!(summary.description.as_deref(), Some("What was sold"));
    let columns = summary.columns.iter();
    let said: Vec<Option<&str>> = columns.map(|it| it.description.as_deref()).collect();
    assert_eq!(said, [Some("The number"), Some("Who it is"), None]);
    assert_eq!(sample(&summary), ["1|ada|x", "2|bob|y"]);
    // Others say nothing.
    let plain = read("x.orc", data("kinds.orc"));
    assert!(plain.description.is_none() && plain.columns.iter().all(|it| it.description.is_none()));
}

#[test]
fn avro_agrees_with_parquet() {
    let reference = read("x.parquet", data("table.parquet"));
    for codec in ["null", "deflate", "snappy", "zstandard"] {
        let name = format!("table_{codec}.avro");
        let summary = read("x.avro", data(&name));
        assert_eq!(summary.columns.len(), 14);
        agrees(&summary, &reference, &name);
    }
}

#[test]
fn kinds_that_only_orc_has() {
    let summary = read("x.orc", data("kinds.orc"));
    assert_eq!(
        schema(&summary),
        "t:integer c:text v:text u:union l:list n:timestamp"
    );
    assert_eq!(
        sample(&summary),
        [
            r#"1|abc  |varchar|7|[1,"x",null]|2024-02-29T12:34:56.500"#,
            "-|-|-|seven|[]|-",
            "-128|     ||-|-|1960-01-01T00:00:00.250",
        ]
    );
}

#[test]
fn kinds_that_only_avro_has() {
    let summary = read("x.avro", data("kinds.avro"));
    assert_eq!(
        schema(&summary),
        "e:text again:text u:union f:binary id:text t:time nothing:unknown"
    );
    assert_eq!(
        sample(&summary),
        [
            "red|-|7|-|0000-no-identifier|01:02:03|-",
            "green|red|seven|-|6ba7b810-9dad-11d1-80b4-00c04fd430c8|00:00:00|-",
            "red|green|-|-||23:59:59.999|-",
        ]
    );
}

#[test]
fn the_first_version_of_feather_is_refused() {
    let error = failure("x.feather", data("first.feather"));
    assert_eq!(error.kind, FileErrorKind::Unsupported);
    assert!(
        error.to_string().contains("Feather file of version 1"),
        "{error}"
    );
}

/// With budgets of which the files are many times as large.
#[test]
fn parts_of_files_are_read() {
    let reference = read("x.parquet", data("table.parquet"));
    for (path, name, exact) in [
        ("x.orc", "table_zlib.orc", true),
        ("x.orc", "table_uncompressed.orc", true),
        ("x.avro", "table_null.avro", false),
        ("x.avro", "table_snappy.avro", false),
        ("x.arrow", "table_lz4.feather", true),
        ("x.arrow", "table.arrows", true),
    ] {
        for kib in [0, 1, 4, 12] {
            let (summary, _) = read_with(path, data(name), &budget(kib << 10));
            let summary = summary.unwrap();
            assert!(summary.approximate && !summary.notes.is_empty(), "{name}");
            assert_eq!(summary.rows_exact, exact, "{name}");
            let rows = summary.rows.abs_diff(reference.rows);
            assert!(
                rows <= if exact { 0 } else { reference.rows / 2 },
                "{name}: {}",
                summary.rows
            );
            for (column, expected) in summary.columns.iter().filter_map(|column| {
                let names = |it: &&ColumnSummary| it.name == column.name;
                Some((column, reference.columns.iter().find(names)?))
            }) {
                assert_eq!(
                    column.data_type, expected.data_type,
                    "{name}, {}",
                    column.name
                );
                assert!(!column.profile.exact);
            }
        }
    }
}
