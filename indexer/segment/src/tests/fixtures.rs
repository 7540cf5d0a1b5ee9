//! Indexes written by earlier versions stay readable: one folder a format version.
//!
//! Version 1 was written by `write_the_fixture` below. When a format changes, raise its version,
//! add a folder, and keep these tests as they are.

use limn_profile::value_key::hash;
use limn_store::Store;

use super::*;
use crate::values::tests::list;

fn folder(version: u32) -> String {
    // Asked at run time: a target folder shared by several clones keeps the path of one of them.
    let crate_root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    format!("{crate_root}/fixtures/v{version}")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn songs() -> TableKey {
    TableKey {
        lake: "s3://lake".into(),
        name: "music/songs".into(),
    }
}

fn customers() -> TableKey {
    TableKey {
        lake: "s3://lake".into(),
        name: "shop/kunden".into(),
    }
}

#[test]
fn version_1_is_readable() {
    is_readable(1);
}

#[test]
fn version_2_is_readable() {
    is_readable(2);
}

#[test]
fn version_3_is_readable() {
    is_readable(3);
}

#[test]
fn version_4_is_readable() {
    is_readable(4);
}

fn is_readable(version: u32) {
    runtime().block_on(async {
        let index = IndexStore::open(&folder(version)).unwrap();
        let snapshot = index.require_newest().await.unwrap();
        assert_eq!((snapshot.number, snapshot.shards), (2, 1));
        assert_eq!(snapshot.embedder, "made-up");
        assert_eq!(
            snapshot.segments.len(),
            2,
            "one without and one with a graph"
        );
        for entry in &snapshot.segments {
            let reader = SegmentReader::open(&index.store, entry).await.unwrap();
            let deletes = index.deletes(entry).await.unwrap();
            assert_eq!(deletes.count(), 3);
            let songs = reader.tables().iter().find(|t| t.key == songs()).unwrap();
            assert_eq!(songs.location, "s3://lake/music/songs.csv");
            let first = songs.first_block;
            assert_eq!(reader.text(first).unwrap(), "songs: Song_Name, released");
            assert_eq!(reader.block(first).kind, BlockKind::Schema);
            assert_eq!(reader.block(first).lengths, [4, 0, 0, 1]);
            let mut found = Vec::new();
            reader
                .postings(Field::Names, "song", &mut |b, n| found.push((b, n)))
                .unwrap();
            assert!(found.contains(&(first, 2)), "{found:?}");
            let mut whole = Vec::new();
            let asked = [
                "t:musicsongs",
                "t:songs",
                "f:songscsv",
                "c:songname",
                "v:imagine",
            ]
            .map(str::to_owned);
            reader
                .whole(&asked, &mut |at, blocks| {
                    whole.push((at, blocks.contains(&first)))
                })
                .unwrap();
            let expected: &[(usize, bool)] = match version {
                1 => &[],
                _ => &[(0, true), (1, true), (2, true)],
            };
            assert_eq!(whole, expected);
            let mut holding = Vec::new();
            let visit = &mut |table, column| {
                holding.push((
                    reader.tables().at(table as usize).key.name.to_owned(),
                    column,
                ))
            };
            reader
                .holding_value(hash("jealousguy00150"), visit)
                .unwrap();
            match version {
                1 | 2 => assert!(holding.is_empty()),
                _ => assert_eq!(holding, [(songs.key.name.to_owned(), 0)]),
            }
            let customers = reader.tables().iter().find(|t| t.key == customers());
            let mut marked = Vec::new();
            reader
                .postings(Field::Names, "~de~kund", &mut |b, n| marked.push((b, n)))
                .unwrap();
            let mut german = Vec::new();
            reader
                .whole(&["l:de".to_owned()], &mut |_, blocks| german.extend(blocks))
                .unwrap();
            match (version, customers) {
                (1..=3, None) => assert!(marked.is_empty() && german.is_empty()),
                (_, customers) => {
                    let first = customers.unwrap().first_block;
                    assert_eq!(reader.block(first).lengths, [6, 0, 0, 0]);
                    assert_eq!((marked, german), (vec![(first, 2)], vec![first]));
                }
            }
            let mut query = vec![0.0; DIMENSIONS];
            query[1] = 1.0;
            let nearest = reader.nearest(&query, 1, &deletes).unwrap();
            assert_eq!(nearest, [(first, 1.0)]);
        }
        let tables = index.tables(&snapshot, None).await.unwrap();
        assert_eq!(tables.len(), 1);
        assert_eq!(tables[0].key(), songs());
        assert_eq!(tables[0].columns[0].frequent[0].value, "Imagine");
        assert_eq!(tables[0].contexts[0].text, "Songs of the seventies");
    });
}

#[test]
#[ignore = "writes the fixture of the current version: cargo test write_the_fixture -- --ignored"]
fn write_the_fixture() {
    let folder = folder(SEGMENT_FORMAT);
    let _ = std::fs::remove_dir_all(&folder);
    let mut tables = sample_tables(8);
    let mut vector = vec![f16::ZERO; DIMENSIONS];
    vector[1] = f16::ONE;
    tables.push(TableBlocks {
        content: None,
        values: TableValues {
            columns: vec![ColumnValues {
                name: "Song_Name".into(),
                withheld: false,
                lists: vec![list((0..300).map(|it| format!("Jealous Guy {it:05}")))],
            }],
        },
        table: songs(),
        location: "s3://lake/music/songs.csv".into(),
        blocks: vec![Block {
            kind: BlockKind::Schema,
            text: "songs: Song_Name, released".into(),
            fields: vec![
                (Field::Names, "songs: Song_Name, released".into()),
                (Field::Cells, "Imagine".into()),
            ],
            vector: Some(vector),
        }],
    });
    let names = "kunden: Kunde_Nr, Vorname, Straße, Ort";
    tables.push(TableBlocks {
        content: None,
        values: TableValues::default(),
        table: customers(),
        location: "s3://lake/shop/kunden.csv".into(),
        blocks: vec![Block {
            kind: BlockKind::Schema,
            text: names.into(),
            fields: vec![(Field::Names, names.into())],
            vector: None,
        }],
    });
    runtime().block_on(async {
        let index = IndexStore::new(Store::open(&folder).unwrap());
        let first = Snapshot::first("made-up", DIMENSIONS, 1);
        index.publish(&first).await.unwrap();
        let mut snapshot = first.next();
        for graph_above in [1000, 5] {
            let settings = SegmentSettings {
                graph_above,
                ..settings()
            };
            let built = build_segment(tables.clone(), &settings).unwrap();
            let mut entry = index.put_segment(&built).await.unwrap();
            let mut deletes = Deletes::none();
            deletes.delete_table(5, 3);
            entry.deletes = index.put_deletes(&deletes).await.unwrap();
            snapshot.segments.push(entry);
        }
        let record = TableRecord {
            lake: songs().lake,
            name: songs().name,
            columns: vec![ColumnRecord {
                name: "Song_Name".into(),
                frequent: vec![ValueCount {
                    value: "Imagine".into(),
                    count: 1,
                }],
                ..ColumnRecord::default()
            }],
            contexts: vec![ContextRecord {
                error: None,
                source: "registered".into(),
                registered_for: None,
                text: "Songs of the seventies".into(),
                of_folder: false,
                fingerprint: "0".into(),
            }],
            ..TableRecord::default()
        };
        let removed = TableRecord {
            name: "gone".into(),
            removed: true,
            ..record.clone()
        };
        for records in [vec![record], vec![removed]] {
            snapshot
                .catalog
                .push(index.put_catalog(Shard(0), &records).await.unwrap());
        }
        index.publish(&snapshot).await.unwrap();
    });
}
