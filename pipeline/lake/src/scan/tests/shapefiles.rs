//! Shapefiles as a layout finds them, in a folder and in an archive: their rows are those that were
//! described.

use super::*;
use crate::contexts::Contexts;
use crate::layout::whole::layout;

fn data(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/../formats/tests/data/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The tables of a lake of these objects, by name.
async fn tables(
    objects: &[(&str, Vec<u8>)],
    options: &ReadOptions,
) -> Vec<(String, TableRows, FileSummary)> {
    let store = Store::in_memory();
    let mut listed = Vec::new();
    for (path, content) in objects {
        store.put(path, content.clone().into()).await.unwrap();
        let object = ObjectRecord::from(store.head(path).await.unwrap());
        match limn_formats::Container::of_path(path) {
            Some(_) => listed.extend(
                open_container(&store, &object, options)
                    .await
                    .unwrap()
                    .members,
            ),
            None => listed.push(object),
        }
    }
    let mut tables = Vec::new();
    for group in layout(listed, &Contexts::new(), "lake").groups {
        for file in group.files {
            let summary = summarise_file(&store, &file.data_file(), options)
                .await
                .unwrap();
            let rows = TableRows::new(
                store.clone(),
                vec![(file.clone(), summary.clone())],
                options.clone(),
            );
            tables.push((file.table_name.to_string(), rows, summary));
        }
    }
    tables
}

fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, ::zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const PLACES: [&str; 2] = [
    "Bern|134591|540.5|1191-01-01|true|Point|7.45|46.95|7.45|46.95",
    "Zürich|421878|408.0|1900-02-28|false|Point|8.54|47.37|8.54|47.37",
];

#[tokio::test]
async fn a_shapefile_is_one_table_in_a_folder_and_in_an_archive() {
    let names = [
        "places.dbf",
        "places.shp",
        "places.shx",
        "places.prj",
        "places.cpg",
    ];
    let upper = |name: &str| name.to_uppercase();
    let loose: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| (format!("d/{}", upper(name)), data(name)))
        .collect();
    let loose: Vec<(&str, Vec<u8>)> = loose
        .iter()
        .map(|(name, content)| (name.as_str(), content.clone()))
        .collect();
    let mut members: Vec<(&str, Vec<u8>)> = names
        .iter()
        .take(2)
        .chain(&names[3..])
        .map(|name| (*name, data(name)))
        .collect();
    // Nothing is read of these.
    members.push(("other.shp", data("lines.shp")));
    members.push(("places.sbn", b"x".to_vec()));
    for (objects, name) in [
        (loose, "d/PLACES"),
        (vec![("data.zip", zip(&members))], "data.zip//places"),
    ] {
        let found = tables(&objects, &ReadOptions::default()).await;
        let [(found, rows, summary)] = found.as_slice() else {
            panic!("{:?}", found.iter().map(|it| &it.0).collect::<Vec<_>>());
        };
        assert_eq!(
            (found.as_str(), summary.rows, summary.notes.len()),
            (name, 3, 0)
        );
        let all = all(rows).await;
        assert_eq!([all[0].as_str(), all[2].as_str()], PLACES);
        assert_eq!(all[1], "Nowhere|-|-|-|-|-|-|-|-|-");
        // Columns by themselves, and those of the geometry alone.
        let request = Request {
            columns: Some(vec![6, 0]),
            ..Request::default()
        };
        assert_eq!(
            shown(&batches(rows, request).await.0),
            ["7.45|Bern", "-|Nowhere", "8.54|Zürich"]
        );
    }
}

#[tokio::test]
async fn deleted_rows_are_nowhere_and_types_are_those_of_the_table() {
    let found = tables(&[("fox.dbf", data("fox.dbf"))], &ReadOptions::default()).await;
    let rows = &found[0].1;
    assert_eq!(
        types(rows),
        [
            "NAME Utf8View",
            "QTY Int64",
            "PRICE Decimal128(19, 4)",
            "RATIO Float64",
            "AT Timestamp(µs)",
            "OK Boolean",
            "DAY Date32",
            "N Float64",
            "NOTE Utf8View"
        ]
    );
    assert_eq!(
        all(rows).await,
        [
            "Äpfel|7|1.2345|0.5|2024-02-29T13:45:30|true|2024-02-29|12.25|-",
            "-|-3|-2.5000|-1e300|-|-|-|-|-"
        ]
    );
}

/// Of long tables parts are described, and all rows are read.
#[tokio::test]
async fn rows_of_long_shapefiles_are_all_read() {
    let (rows, record) = (30_000usize, 11usize);
    let mut dbf = vec![3, 124, 1, 1];
    dbf.extend((rows as u32).to_le_bytes());
    dbf.extend([65, 0, record as u8, 0]);
    dbf.resize(32, 0);
    dbf.extend(b"ID\0\0\0\0\0\0\0\0\0N\0\0\0\0\x0a\0");
    dbf.resize(64, 0);
    dbf.push(13);
    let mut shp = 9994u32.to_be_bytes().to_vec();
    shp.resize(100, 0);
    for number in 0..rows {
        let mark = if number % 3 == 1 { '*' } else { ' ' };
        dbf.extend(format!("{mark}{number:10}").bytes());
        // Each with a tail of another length, which is passed.
        let words = 22 + number % 5;
        shp.extend((number as u32 + 1).to_be_bytes());
        shp.extend((words as u32).to_be_bytes());
        shp.extend(5u32.to_le_bytes());
        for bound in [number as f64, 0.0, number as f64 + 1.0, 2.0] {
            shp.extend(bound.to_le_bytes());
        }
        shp.resize(shp.len() + 2 * words - 36, 7);
    }
    let options = ReadOptions {
        scan_budget: 16 << 10,
        ..ReadOptions::default()
    };
    for objects in [
        vec![("a.dbf", dbf.clone())],
        vec![("a.dbf", dbf), ("a.shp", shp)],
    ] {
        let has_shapes = objects.len() > 1;
        let found = tables(&objects, &options).await;
        assert!(found[0].2.approximate);
        let all = all(&found[0].1).await;
        let kept = (0..rows).filter(|number| number % 3 != 1);
        let expected: Vec<String> = kept
            .map(|n| match has_shapes {
                true => format!("{n}|Polygon|{n}.0|0.0|{}.0|2.0", n + 1),
                false => n.to_string(),
            })
            .collect();
        assert_eq!(all, expected);
    }
}
