//! GeoJSON, dBase tables and shapefiles.

use std::fs;
use std::io::{Cursor, Write};

use super::{Odd, ignores, noted, reads, refuses};

const GEOMETRY: &str = "geometry.type:text geometry.min_x:float geometry.min_y:float geometry.max_x:float geometry.max_y:float";
const PLACES: &str = "NAME:text PEOPLE:integer HEIGHT:float FOUNDED:date CAPITAL:boolean";

/// A file of pyshp and dbf (pipeline/formats/tests/data/make_dbf.py).
fn load(name: &str) -> Vec<u8> {
    let data = limn_tests::repository().join("pipeline/formats/tests/data");
    fs::read(data.join(name)).unwrap()
}

fn zip(names: &[&str]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in names {
        let options = zip::write::SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(&load(name)).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn feature(properties: &str, geometry: &str) -> String {
    format!("{{\"type\": \"Feature\", \"properties\": {properties}, \"geometry\": {geometry}}}")
}

pub fn files() -> Vec<Odd> {
    let point = "{\"type\": \"Point\", \"coordinates\": [7.5, 47]}";
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let collection = |features: &[String]| {
        format!(
            "{{\"type\": \"FeatureCollection\",\n\"features\": [\n{}\n]}}\n",
            features.join(",\n")
        )
    };
    let mixed = [
        feature("{\"n\": 1}", point),
        feature("{\"n\": 2}", "null"),
        feature(
            "null",
            "{\"type\": \"LineString\", \"coordinates\": [[0, 0], [1, 1]]}",
        ),
    ];
    let odd = [
        feature("{\"n\": 1}", point),
        feature(
            "{\"n\": 2}",
            &format!("{{\"type\": \"Polygon\", \"coordinates\": {deep}}}"),
        ),
        "7".to_owned(),
        feature("{\"n\": 3}", point),
        feature("{\"n\": 4}", point),
    ];
    let columns = format!("n:integer {GEOMETRY}");
    let places = load("places.dbf");
    let mut many = places.clone();
    many[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut no_length = places.clone();
    no_length[10..12].copy_from_slice(&[0, 0]);
    vec![
        reads("mixed.geojson", collection(&mixed), &columns, 3),
        reads("mixed.json", collection(&mixed), &columns, 3),
        reads("mixed.geojsonl", mixed.join("\n"), &columns, 3),
        noted(
            "odd.geojson",
            collection(&odd),
            &columns,
            3,
            "2 lines left out without a JSON object",
        ),
        ignores("none.geojson", collection(&[])),
        refuses(
            "cut.geojson",
            "{\"type\": \"FeatureCollection\", \"features\": [{\"type\": \"Feat",
            "no JSON object",
        ),
        reads("places.dbf", places.clone(), PLACES, 3),
        reads("PLACES.DBF", places.clone(), PLACES, 3),
        noted(
            "many.dbf",
            many,
            PLACES,
            3,
            "3 of 4294967295 records are there",
        ),
        noted(
            "cut.dbf",
            places[..places.len() - 30].to_vec(),
            PLACES,
            2,
            "it is cut off",
        ),
        refuses("no_length.dbf", no_length, "a record, which has 0"),
        refuses("text.dbf", "id,name\n1,ada\n", "is text"),
        refuses("short.dbf", places[..100].to_vec(), "dBase"),
        noted(
            "fox.dbf",
            load("fox.dbf"),
            "NAME:text QTY:integer PRICE:float RATIO:float AT:timestamp OK:boolean DAY:date N:float NOTE:text",
            2,
            "are null: NOTE",
        ),
        reads(
            "areas.zip",
            zip(&["areas.dbf", "areas.shp", "areas.shx"]),
            &format!("ID:integer {GEOMETRY}"),
            3,
        )
        .within("//areas.dbf"),
        reads("alone.zip", zip(&["areas.dbf"]), "ID:integer", 3).within("//areas.dbf"),
        ignores("lone.shp", load("areas.shp")),
        ignores(
            "shop.duckdb",
            b"\x01\x01\x01\x01\x01\x01\x01\x01DUCK".to_vec(),
        ),
        ignores("shop.db", b"\x01\x01\x01\x01\x01\x01\x01\x01DUCK".to_vec()),
    ]
}
