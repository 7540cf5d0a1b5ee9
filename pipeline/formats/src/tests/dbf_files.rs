//! dBase tables and shapefiles: those that other programs wrote (`tests/data/make_dbf.py`), odd
//! ones and hostile ones.

use std::sync::Arc;

use super::*;
use crate::declaration::Declaration;

fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads the first of these files with the others, which belong to it.
fn read_of(files: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<FileSummary, FileError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::in_memory();
        for (path, content) in files {
            store.put(path, content.clone().into()).await.unwrap();
        }
        let part = |(path, content): &(&str, Vec<u8>)| {
            ObjectRecord::unversioned(path, content.len() as u64)
        };
        let declared = Declaration {
            parts: files[1..].iter().map(part).collect(),
            ..Declaration::default()
        };
        let file = DataFile {
            declared: Some(Arc::new(declared)),
            ..data_file(files[0].0, files[0].1.len())
        };
        summarise_file(&store, &file, options).await
    })
}

fn written(names: &[&str]) -> FileSummary {
    let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (*name, data(name))).collect();
    read_of(&files, &ReadOptions::default()).unwrap()
}

const GEOMETRY: &str = "geometry.type:text geometry.min_x:float geometry.min_y:float geometry.max_x:float geometry.max_y:float";

#[test]
fn a_table_is_read_alone_and_with_its_shapes() {
    let own = "NAME:text PEOPLE:integer HEIGHT:float FOUNDED:date CAPITAL:boolean";
    let alone = written(&["places.dbf"]);
    assert_eq!(schema(&alone), own);
    assert_eq!(
        sample(&alone),
        [
            "Bern|134591|540.5|1191-01-01|true",
            "Nowhere|-|-|-|-",
            "Zürich|421878|408.0|1900-02-28|false"
        ]
    );
    assert_eq!(
        (
            alone.rows,
            alone.rows_exact,
            alone.approximate,
            alone.notes.len()
        ),
        (3, true, false, 0)
    );
    let places = written(&["places.dbf", "places.shp", "places.cpg"]);
    assert_eq!(schema(&places), format!("{own} {GEOMETRY}"));
    assert_eq!(
        sample(&places),
        [
            "Bern|134591|540.5|1191-01-01|true|Point|7.45|46.95|7.45|46.95",
            "Nowhere|-|-|-|-|-|-|-|-|-",
            "Zürich|421878|408.0|1900-02-28|false|Point|8.54|47.37|8.54|47.37"
        ]
    );
    let x = &column(&places, "geometry.min_x").profile;
    assert_eq!((x.values, x.nulls, x.exact), (2, 1, true));
    assert_eq!((places.rows_exact, places.notes.len()), (true, 0));
}

#[test]
fn shapes_have_kinds_and_extents() {
    let lines = written(&["lines.dbf", "lines.shp"]);
    assert_eq!(
        schema(&lines),
        format!("ROUTE:text LENGTH:float {GEOMETRY}")
    );
    assert_eq!(
        sample(&lines),
        [
            "Höhenweg|1.5|LineString|1.0|-2.5|5.0|5.0",
            "Talweg|1234567.25|MultiLineString|0.0|0.0|12.0|11.0"
        ]
    );
    let areas = written(&["areas.dbf", "areas.shp"]);
    assert_eq!(sample(&areas)[1], "1|Polygon|1.0|0.0|2.0|2.0");
}

#[test]
fn types_of_foxpro_nulls_memos_and_deleted_rows() {
    let fox = written(&["fox.dbf"]);
    assert_eq!(
        schema(&fox),
        "NAME:text QTY:integer PRICE:float RATIO:float AT:timestamp OK:boolean DAY:date N:float NOTE:text"
    );
    assert_eq!(
        sample(&fox),
        [
            "Äpfel|7|1.2345|0.5|2024-02-29T13:45:30|true|2024-02-29|12.25|-",
            "-|-3|-2.5000|-1e300|-|-|-|-|-"
        ]
    );
    assert_eq!(fox.rows, 2);
    let memo = "memos and values of kinds that limn does not know are null: NOTE";
    assert_eq!(fox.notes, [memo]);
    let old = written(&["old.dbf"]);
    assert_eq!(sample(&old), ["00712|3|-", "x|-4|-"]);
    assert_eq!(old.notes, [memo]);
}

/// A table of dBase III with these columns (letter, length, decimals) and records, which begin with
/// their mark.
fn table(columns: &[(char, u8, u8)], records: &[&str]) -> Vec<u8> {
    let start = 32 + 32 * columns.len() + 1;
    let record: usize = columns.iter().map(|it| usize::from(it.1)).sum::<usize>() + 1;
    let mut file = vec![3, 124, 2, 29];
    file.extend((records.len() as u32).to_le_bytes());
    file.extend((start as u16).to_le_bytes());
    file.extend((record as u16).to_le_bytes());
    file.resize(32, 0);
    for (at, (letter, length, decimals)) in columns.iter().enumerate() {
        let mut field = format!("C{at}").into_bytes();
        field.resize(11, 0);
        field.push(*letter as u8);
        field.resize(16, 0);
        field.extend([*length, *decimals]);
        field.resize(32, 0);
        file.extend(field);
    }
    file.push(13);
    records.iter().for_each(|it| file.extend(it.as_bytes()));
    file.push(26);
    file
}

#[test]
fn what_is_no_value_of_its_type_is_null_and_counted() {
    let columns = [
        ('N', 4, 0),
        ('N', 5, 1),
        ('D', 8, 0),
        ('L', 1, 0),
        ('N', 20, 0),
        ('F', 3, 0),
    ];
    let rows = [
        ["1", "2.5", "20240229", "T", "99999999999999999999", "5"],
        ["1.0", "1e+1", "20240230", "F", "", "1.5"],
        ["1.5", "*****", "00000000", "?", "1", ""],
        ["+  -", ".", "", "X", "x", "nan"],
    ];
    let rows = rows.map(|[a, b, c, d, e, f]| format!(" {a:>4}{b:>5}{c:8}{d}{e:>20}{f:>3}"));
    let file = table(&columns, &rows.each_ref().map(String::as_str));
    let summary = read("x.dbf", file);
    assert_eq!(
        schema(&summary),
        "C0:integer C1:float C2:date C3:boolean C4:integer C5:float"
    );
    assert_eq!(
        sample(&summary),
        [
            "1|2.5|2024-02-29|true|99999999999999999999|5.0",
            "1|10.0|-|false|-|1.5",
            "-|-|-|-|1|-",
            "-|-|-|-|-|-"
        ]
    );
    assert_eq!(
        summary.notes,
        ["7 cells not of the column's type read as null: C0, C1, C2, C3, C4, C5"]
    );
}

#[test]
fn heads_that_claim_what_is_not_there_are_no_harm() {
    let good = table(&[('C', 3, 0)], &[" abc", "*gon", " def"]);
    // Four billion records.
    let mut many = good.clone();
    many[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let summary = read("x.dbf", many);
    assert_eq!((summary.rows, summary.columns.len()), (2, 1));
    assert_eq!(
        summary.notes,
        ["it is cut off: 3 of 4294967295 records are there"]
    );
    let cut = read("x.dbf", good[..good.len() - 3].to_vec());
    assert_eq!((cut.rows, cut.notes.len()), (1, 1));
    assert_eq!(read("x.dbf", table(&[('C', 3, 0)], &[])).rows, 0);
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let mut seven = vec![0; 300];
    (seven[0], seven[8], seven[10]) = (4, 117, 5);
    for (file, kind, cause) in [
        (with(10, &[0, 0]), FileErrorKind::Corrupt, "record"),
        (with(10, &[1, 0]), FileErrorKind::Corrupt, "record"),
        (with(10, &[3, 0]), FileErrorKind::Corrupt, "record"),
        (with(8, &[255, 255]), FileErrorKind::NotItsFormat, "dBase"),
        (with(8, &[5, 0]), FileErrorKind::NotItsFormat, "dBase"),
        (with(0, &[0xff]), FileErrorKind::NotItsFormat, "dBase"),
        (seven, FileErrorKind::Unsupported, "dBase 7"),
        (with(15, &[1]), FileErrorKind::Unsupported, "encrypted"),
        (good[..20].to_vec(), FileErrorKind::NotItsFormat, "dBase"),
        (Vec::new(), FileErrorKind::Empty, "no bytes"),
        (
            b"id,name\n1,a\n".to_vec(),
            FileErrorKind::NotItsFormat,
            "text",
        ),
        (
            b"PK\x03\x04\x14\0\x06\0".to_vec(),
            FileErrorKind::NotItsFormat,
            "zip",
        ),
    ] {
        let error = failure("x.dbf", file);
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.cause.contains(cause), "{error}");
    }
}

/// A `.shp` file of points.
fn points(count: usize) -> Vec<u8> {
    let mut file = 9994u32.to_be_bytes().to_vec();
    file.resize(100, 0);
    for number in 0..count {
        file.extend((number as u32 + 1).to_be_bytes());
        file.extend(10u32.to_be_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend((number as f64).to_le_bytes());
        file.extend(0.5f64.to_le_bytes());
    }
    file
}

#[test]
fn shapes_that_are_broken_or_missing_are_nulls() {
    let records = table(&[('C', 1, 0)], &[" a", "*b", " c", " d"]);
    let whole = points(4);
    let long = |at: usize, bytes: [u8; 4]| {
        let mut file = whole.clone();
        file[at..at + 4].copy_from_slice(&bytes);
        file
    };
    let read = |shapes: Vec<u8>| {
        let files = [("x.dbf", records.clone()), ("x.shp", shapes)];
        let summary = read_of(&files, &ReadOptions::default()).unwrap();
        let kinds: Vec<String> = sample(&summary)
            .iter()
            .map(|row| row.split('|').take(3).collect::<Vec<_>>().join("|"))
            .collect();
        (kinds, summary.notes)
    };
    assert_eq!(
        read(whole.clone()),
        (
            vec![
                "a|Point|0.0".into(),
                "c|Point|2.0".into(),
                "d|Point|3.0".into()
            ],
            vec![]
        )
    );
    // Fewer, and more, than there are records.
    assert_eq!(read(points(3)).0[2], "d|-|-");
    assert_eq!(read(points(9)).0[2], "d|Point|3.0");
    for (shapes, last, note) in [
        (whole[..whole.len() - 5].to_vec(), "d|-|-", "after 3 shapes"),
        (
            whole[..whole.len() - 24].to_vec(),
            "d|-|-",
            "after 3 shapes",
        ),
        (
            long(100 + 3 * 28 + 4, u32::MAX.to_be_bytes()),
            "d|-|-",
            "after 3 shapes",
        ),
        (long(100 + 3 * 28 + 4, [0; 4]), "d|-|-", "after 3 shapes"),
        (
            b"no shapes".to_vec(),
            "d|-|-",
            "after 0 shapes of its .shp file: it is no shapefile",
        ),
        (Vec::new(), "d|-|-", "it is no shapefile"),
    ] {
        let (rows, notes) = read(shapes);
        assert_eq!(rows[2], last);
        assert!(notes[0].contains(note), "{notes:?}");
    }
    // A kind that there is not, coordinates that are none.
    assert_eq!(read(long(100 + 8, 77u32.to_le_bytes())).0[0], "a|-|-");
    let mut odd = whole.clone();
    odd[112..120].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(read(odd).0[0], "a|Point|-");
}

#[test]
fn large_tables_are_read_in_ranges_and_shapefiles_from_their_beginning() {
    let rows: Vec<String> = (0..20_000)
        .map(|n| format!("{}{n:9}", if n % 4 == 3 { '*' } else { ' ' }))
        .collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let file = table(&[('N', 9, 0)], &rows);
    let (summary, counts) = read_with("x.dbf", file.clone(), &budget(32 << 10));
    let summary = summary.unwrap();
    assert!(
        counts.bytes_read <= (64 << 10) + (33 << 10),
        "{}",
        counts.bytes_read
    );
    assert!(summary.approximate && !summary.rows_exact);
    assert!(summary.rows.abs_diff(15_000) < 100, "{}", summary.rows);
    assert_eq!(
        (schema(&summary).as_str(), summary.sample.rows.len()),
        ("C0:integer", 5)
    );
    assert!(
        column(&summary, "C0")
            .profile
            .max
            .as_ref()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 15_000
    );
    let files = [("x.dbf", file), ("x.shp", points(20_000))];
    let summary = read_of(&files, &budget(32 << 10)).unwrap();
    assert!(
        summary.approximate && summary.rows.abs_diff(15_000) < 100,
        "{}",
        summary.rows
    );
    let profile = &column(&summary, "geometry.max_x").profile;
    assert!(
        profile.values > 1000 && profile.max.as_ref().unwrap().parse::<f64>().unwrap() < 3000.0,
        "{profile:?}"
    );
}

mod any_bytes {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a byte of a table or of its shapes becomes, there is a summary or one line.
        #[test]
        fn changed_bytes_end_in_a_summary_or_a_line(changes in proptest::collection::vec((0usize..700, any::<u8>()), 1..6), name in 0usize..3) {
            let names = ["fox.dbf", "places.dbf", "lines.dbf"];
            let mut file = data(names[name]);
            let mut shapes = data("lines.shp");
            for (at, byte) in changes {
                let length = file.len();
                file[at % length] = byte;
                let length = shapes.len();
                shapes[at % length] = byte;
            }
            for scan_budget in [1 << 20, 64] {
                match read_of(&[("x.dbf", file.clone()), ("x.shp", shapes.clone())], &budget(scan_budget)) {
                    Ok(summary) => {
                        for row in &summary.sample.rows {
                            prop_assert_eq!(row.values.len(), summary.columns.len());
                        }
                    }
                    Err(error) => prop_assert!(error.kind != FileErrorKind::Panicked, "{}", error),
                }
            }
        }
    }
}
