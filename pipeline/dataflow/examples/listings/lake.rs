//! A synthetic lake: of its objects 5 % are tables of their own, and the others lie in folders of 1
//! to 50 like files or partitions.

#[path = "../synthetic/mod.rs"]
mod synthetic;

use limn_formats::ObjectRecord;

use synthetic::{AREAS, THINGS, drawn};

/// A number in letters: a name that is like no other by its digits.
fn letters(mut number: u64) -> String {
    let mut text = String::new();
    for at in 0..6 {
        // No name of a month: consonants and vowels take turns.
        let of: &[u8] = if at % 2 == 0 {
            b"bdfgklprtvz"
        } else {
            b"aeiou"
        };
        text.push(char::from(of[(number % of.len() as u64) as usize]));
        number /= of.len() as u64;
    }
    text
}

/// How a table's files lie.
#[derive(Clone, Copy)]
enum Kind {
    Own,
    Alike,
    Partitioned,
}

/// A path of a table's file.
fn path(table: u64, kind: Kind, file: u64, chance: u64) -> String {
    let area = AREAS[(table % 8) as usize];
    let thing = THINGS[(drawn(table, 1) % 8) as usize];
    let name = letters(table);
    let (month, day) = (1 + file / 28 % 12, 1 + file % 28);
    match kind {
        Kind::Own => format!(
            "warehouse/{area}/reference_data_{}/{thing}_of_{name}_by_region.parquet",
            letters(table / 400)
        ),
        Kind::Alike => format!(
            "warehouse/{area}/{thing}_{name}/{thing}-2026-{month:02}-{day:02}-{chance:016x}.csv"
        ),
        Kind::Partitioned => format!(
            "warehouse/{area}/{thing}_{name}/dt=2026-{month:02}-{day:02}/part-{file:05}-{:08x}.parquet",
            chance >> 32
        ),
    }
}

/// The objects of a lake, as S3 lists them.
pub fn objects(count: u64) -> impl Iterator<Item = ObjectRecord> {
    let mut left = count;
    let tables = (0..).map_while(move |table| {
        let kind = match drawn(table, 2) % 100 {
            0..58 => Kind::Own,
            58..79 => Kind::Alike,
            _ => Kind::Partitioned,
        };
        let files = match kind {
            Kind::Own => 1,
            _ => 1 + drawn(table, 3) % 50,
        };
        let files = files.min(left);
        left -= files;
        (files > 0).then_some((table, kind, files))
    });
    tables.flat_map(|(table, kind, files)| {
        (0..files).map(move |file| {
            let chance = drawn(table, 10_000 + file);
            ObjectRecord {
                path: path(table, kind, file, chance),
                etag: Some(format!(
                    "\"{:032x}\"",
                    u128::from(chance) * 0x9e37_79b9_7f4a_7c15
                )),
                version: None,
                size: 1000 + chance % (1 << 27),
                modified_ms: 1_790_000_000_000 + (chance >> 20) as i64 % 10_000_000_000,
            }
        })
    })
}
