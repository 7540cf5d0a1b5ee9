//! Tables of plain files.

use super::holders::gz;
use super::rows::{Row, avro_of, batch, csv, json_lines, parquet_of};
use super::{Damage, Kind, Objects, garbage, half};

/// A table whose parts are files of their own.
pub struct Files {
    table: &'static str,
    /// The path of a part by its number.
    path: fn(usize) -> String,
    write: fn(&[Row]) -> Vec<u8>,
    others: &'static [(&'static str, &'static str)],
    parts: usize,
    /// Whether the first half of such a file is none.
    is_whole: bool,
}

impl Files {
    const fn lone(path: fn(usize) -> String, write: fn(&[Row]) -> Vec<u8>) -> Files {
        Files {
            table: "t/orders",
            path,
            write,
            others: &[],
            parts: 1,
            is_whole: false,
        }
    }

    const fn whole(path: fn(usize) -> String, write: fn(&[Row]) -> Vec<u8>) -> Files {
        Files {
            is_whole: true,
            ..Files::lone(path, write)
        }
    }

    const fn several(path: fn(usize) -> String) -> Files {
        Files {
            parts: 3,
            ..Files::lone(path, csv)
        }
    }
}

impl Kind for Files {
    fn table(&self) -> &'static str {
        self.table
    }

    fn parts(&self) -> usize {
        self.parts
    }

    fn others(&self) -> &'static [(&'static str, &'static str)] {
        self.others
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        let parts = parts.iter().enumerate();
        let parts = parts.filter(|(_, rows)| !rows.is_empty());
        parts
            .map(|(part, rows)| ((self.path)(part), (self.write)(rows)))
            .collect()
    }

    fn damages(&self, laid: &Objects) -> Vec<Damage> {
        let path = (self.path)(0);
        let mut damages = vec![garbage(&path)];
        damages.extend(self.is_whole.then(|| half(&path, laid)));
        damages
    }
}

pub fn csv_file() -> Files {
    Files::lone(|_| "t/orders.csv".into(), csv)
}

pub fn packed_file() -> Files {
    Files::whole(|_| "t/orders.csv.gz".into(), |rows| gz(&csv(rows)))
}

pub fn json_file() -> Files {
    Files::lone(|_| "t/orders.jsonl".into(), json_lines)
}

pub fn parquet_file() -> Files {
    Files::whole(
        |_| "t/orders.parquet".into(),
        |rows| parquet_of(&batch(rows)),
    )
}

pub fn avro_file() -> Files {
    Files::whole(|_| "t/orders.avro".into(), |rows| avro_of(&batch(rows)))
}

/// One list of objects in a wrapper of other things.
pub fn wrapped_json() -> Files {
    Files::whole(
        |_| "t/orders.json".into(),
        |rows| {
            let rows: Vec<_> = rows.iter().map(Row::json).collect();
            let wrapped = serde_json::json!({"status": "ok", "data": rows, "next": null});
            wrapped.to_string().into_bytes()
        },
    )
}

pub fn family() -> Files {
    Files::several(|part| format!("t/orders/x{part}.csv"))
}

pub fn parts() -> Files {
    Files::several(|part| format!("t/orders/part-{part:05}.csv"))
}

pub fn partitions() -> Files {
    Files {
        others: &[("region", "text")],
        ..Files::several(|part| format!("t/orders/region=r{part}/data.csv"))
    }
}

pub fn dated_files() -> Files {
    Files::several(|part| format!("t/orders/orders_2024-{:02}.csv", part + 1))
}

pub fn dated_folders() -> Files {
    Files {
        table: "t/orders/*/data",
        others: &[("path_date", "text")],
        ..Files::several(|part| format!("t/orders/2024/{:02}/data.csv", part + 1))
    }
}

/// A dBase table with its shapes beside it.
pub struct Shapefile;

impl Kind for Shapefile {
    fn table(&self) -> &'static str {
        "t/orders"
    }

    fn others(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("geometry.type", "text"),
            ("geometry.min_x", "float"),
            ("geometry.min_y", "float"),
            ("geometry.max_x", "float"),
            ("geometry.max_y", "float"),
        ]
    }

    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects {
        let rows = &parts[0];
        [
            ("t/orders.dbf".to_owned(), dbf(rows)),
            ("t/orders.shp".to_owned(), points(rows.len())),
            ("t/orders.prj".to_owned(), b"GEOGCS[]".to_vec()),
        ]
        .into()
    }

    fn damages(&self, _: &Objects) -> Vec<Damage> {
        vec![garbage("t/orders.dbf")]
    }
}

fn dbf(rows: &[Row]) -> Vec<u8> {
    const FIELDS: [(&str, u8, u8); 3] = [("id", b'N', 6), ("name", b'C', 20), ("day", b'D', 8)];
    let length = 1 + FIELDS
        .iter()
        .map(|(_, _, width)| u16::from(*width))
        .sum::<u16>();
    let mut file = vec![3, 124, 1, 1];
    file.extend((rows.len() as u32).to_le_bytes());
    file.extend((32 + 32 * FIELDS.len() as u16 + 1).to_le_bytes());
    file.extend(length.to_le_bytes());
    file.resize(32, 0);
    for (name, kind, width) in FIELDS {
        let mut field = name.as_bytes().to_vec();
        field.resize(11, 0);
        field.extend([kind, 0, 0, 0, 0, width]);
        field.resize(32, 0);
        file.extend(field);
    }
    file.push(b'\r');
    for row in rows {
        let [id, name, day] = row.cells();
        let day = day.replace('-', "");
        file.extend(format!(" {id:>6}{name:<20}{day}").bytes());
    }
    file
}

/// So many points.
fn points(count: usize) -> Vec<u8> {
    let mut file = 9994u32.to_be_bytes().to_vec();
    file.resize(100, 0);
    for number in 0..count {
        file.extend((number as u32 + 1).to_be_bytes());
        file.extend(10u32.to_be_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend((number as f64).to_le_bytes());
        file.extend(2f64.to_le_bytes());
    }
    file
}
