//! Random histories of an index, compacted now and then: the tables, texts and postings stay, and a
//! merged segment is the one that building it anew gives.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn change() -> impl Strategy<Value = Change> {
    let what = prop_oneof![
        6 => Just(What::Describe),
        1 => Just(What::Unreadable),
        1 => Just(What::Remove),
        1 => Just(What::RemoveRegistered),
    ];
    // Few versions, so that the same segment comes again.
    (0..8usize, 1..3u64, 0..3u64, what).prop_map(|(name, version, group, what)| Change {
        name,
        version,
        group,
        what,
    })
}

#[derive(Clone, Debug)]
enum Step {
    Epoch(Vec<Change>),
    Compact,
    Full,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => prop::collection::vec(change(), 1..6).prop_map(Step::Epoch),
        2 => Just(Step::Compact),
        1 => Just(Step::Full),
    ]
}

/// Every live block by its table: text, terms, vector.
async fn contents(index: &IndexStore, snapshot: &Snapshot) -> BTreeMap<TableKey, Vec<String>> {
    let mut tables = BTreeMap::new();
    for entry in &snapshot.segments {
        let reader = SegmentReader::open(&index.store, entry).await.unwrap();
        let deletes = index.deletes(entry).await.unwrap();
        let mut terms: HashMap<u32, Vec<String>> = HashMap::new();
        for field in Field::ALL {
            reader
                .all_postings(field, &mut |term, block, times| {
                    let terms = terms.entry(block).or_default();
                    terms.push(format!("{field:?} {term} {times}"));
                })
                .unwrap();
        }
        reader
            .all_whole(&mut |term, block| terms.entry(block).or_default().push(term.to_owned()))
            .unwrap();
        for (number, table) in (0..).zip(reader.tables().iter()) {
            if deletes.contains(table.first_block) {
                continue;
            }
            let values = reader.table_values(number).unwrap();
            let values = values
                .columns
                .into_iter()
                .map(|column| format!("{column:?}"));
            let blocks = table.first_block..table.first_block + table.blocks;
            let blocks: Vec<String> = blocks
                .map(|block| {
                    let vector = reader.vector(block).unwrap();
                    let mut terms = terms.remove(&block).unwrap_or_default();
                    terms.sort();
                    let lengths = reader.block(block).lengths;
                    let text = reader.text(block).unwrap();
                    format!("{text} {lengths:?} {terms:?} {vector:?}")
                })
                .chain(values)
                .collect();
            assert!(tables.insert(table.key.to_key(), blocks).is_none());
        }
    }
    tables
}

/// Whether the segments that a compaction made are those of a fresh build, with the same salt.
async fn assert_as_built(index: &IndexStore, before: &Snapshot, after: &Snapshot) {
    let tables = index.tables(after, None).await.unwrap();
    for entry in &after.segments {
        if before.segments.iter().any(|it| it.path == entry.path) {
            continue;
        }
        let here = tables.iter().filter(|row| row.segment == entry.path);
        let tables: Vec<TableBlocks> = here
            .map(|row| {
                let name: usize = row.name[1..].parse().unwrap();
                TableBlocks {
                    content: content(name),
                    values: values_of(name, row.rows.unwrap()),
                    table: row.key(),
                    location: format!("s3://lake/{name}.csv"),
                    blocks: blocks(name, row.rows.unwrap()),
                }
            })
            .collect();
        let bytes = index.store.get(&entry.path).await.unwrap();
        let footer = crate::layout::open(&entry.path, &bytes, entry.bytes).unwrap();
        let settings = SegmentSettings {
            salt: u64::from_str_radix(&footer.contents.salt, 16).unwrap(),
            ..SegmentSettings::new(DIMENSIONS, entry.shard)
        };
        let built = build_segment(tables, &settings).unwrap();
        assert_eq!(&built.entry, entry);
        assert_eq!(built.bytes, bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(6)))]

    #[test]
    fn histories_stay_what_they_are(
        steps in prop::collection::vec(step(), 2..16),
        records in any::<bool>(),
    ) {
        run(async {
            let index = memory();
            let mut newest = Snapshot::first("m", DIMENSIONS, 2);
            index.publish(&newest).await.unwrap();
            for step in steps {
                let policy = match step {
                    Step::Epoch(mut changes) => {
                        changes.sort_by_key(|change| change.name);
                        changes.dedup_by_key(|change| change.name);
                        newest = epoch(&index, &newest, &changes).await;
                        if !records {
                            // As before it was recorded.
                            for entry in &mut newest.catalog {
                                entry.segment = None;
                            }
                        }
                        index.publish(&newest).await.unwrap();
                        continue;
                    }
                    Step::Compact => eager(),
                    Step::Full => Policy::full(),
                };
                let expected = (resolved(&index, &newest).await, contents(&index, &newest).await);
                let (_, planned) = index.plan_compaction(&policy).await.unwrap();
                let compacted = index.compact(&policy, &quiet).await.unwrap();
                let before = newest;
                newest = index.require_newest().await.unwrap();
                let Some(compacted) = compacted else {
                    assert!(planned.is_empty() && newest == before);
                    continue;
                };
                assert_eq!(compacted.merges, planned);
                assert_eq!(compacted.snapshot, before.number + 1);
                assert_eq!(compacted.after, IndexSize::of(&newest));
                assert_whole(&index, &newest).await;
                let found = (resolved(&index, &newest).await, contents(&index, &newest).await);
                assert_eq!(found, expected);
                assert_as_built(&index, &before, &newest).await;
                let older = index.tables(&before, None).await.unwrap();
                let newer = index.tables(&newest, None).await.unwrap();
                assert!(diff::TableChanges::between(older, newer).is_empty());
                if policy.full {
                    assert_eq!(compacted.after.deleted_blocks, 0);
                    assert!(newest.segments.len() <= 2 && newest.catalog.len() <= 2);
                    // In shards of several files nothing is left that says no more than that a
                    // table was removed.
                    for entry in &newest.catalog {
                        if before.catalog.iter().any(|it| it.path == entry.path) {
                            continue;
                        }
                        let here = found.0.iter().filter(|row| row.key().shard(2) == entry.shard);
                        assert_eq!(entry.rows, here.count() as u64);
                    }
                    assert_eq!(index.compact(&policy, &quiet).await.unwrap(), None);
                }
            }
        });
    }
}

#[test]
fn an_index_of_the_first_version_is_left_as_it_is() {
    run(async {
        let crate_root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        let index = IndexStore::open(&format!("{crate_root}/fixtures/v1")).unwrap();
        let (snapshot, merges) = index.plan_compaction(&Policy::default()).await.unwrap();
        assert_eq!((snapshot.number, merges.len()), (2, 0));
    });
}

#[test]
fn rows_that_do_not_fit_their_segment_are_damage_and_nothing_is_published() {
    run(async {
        let index = memory();
        let first = Snapshot::first("m", DIMENSIONS, 1);
        let change = |name: usize| Change {
            name,
            version: 1,
            group: 0,
            what: What::Describe,
        };
        let first = epoch(&index, &first, &[change(1), change(2)]).await;
        let mut second = epoch(&index, &first, &[change(3)]).await;
        // A table of the catalog is deleted.
        let mut deletes = Deletes::none();
        deletes.delete_table(0, 1);
        second.segments[0].deletes = index.put_deletes(&deletes).await.unwrap();
        index.publish(&second).await.unwrap();
        let error = index.compact(&Policy::full(), &quiet).await.unwrap_err();
        let PublishError::Segment(error) = error else {
            panic!("{error}");
        };
        assert!(error.is_damage(), "{error}");
        assert_eq!(index.require_newest().await.unwrap(), second);
    });
}

/// The same tables in the same words again are the same segment, under the same name.
#[test]
fn a_segment_that_comes_again_belongs_to_the_later_file() {
    run(async {
        let index = memory();
        let change = |version: u64| Change {
            name: 1,
            version,
            group: 0,
            what: What::Describe,
        };
        let mut newest = Snapshot::first("m", DIMENSIONS, 1);
        for version in [1, 2, 1] {
            newest = epoch(&index, &newest, &[change(version)]).await;
        }
        let [first, _, last] = &newest.catalog[..] else {
            panic!("{newest:?}");
        };
        assert_eq!(first.segment, last.segment);
        index.publish(&newest).await.unwrap();
        let expected = resolved(&index, &newest).await;
        let compacted = index.compact(&eager(), &quiet).await.unwrap().unwrap();
        assert_eq!(
            (compacted.after.catalog_files, compacted.after.segments),
            (1, 1)
        );
        let newest = index.require_newest().await.unwrap();
        assert_whole(&index, &newest).await;
        assert_eq!(resolved(&index, &newest).await, expected);

        // It comes again while it is merged: that merge does not fit any more.
        let other = Change {
            name: 2,
            ..change(1)
        };
        let base = Snapshot::first("m", DIMENSIONS, 1);
        let base = epoch(&index, &base, &[change(1)]).await;
        let base = epoch(&index, &base, &[other]).await;
        let merges = plan(&base, &Policy::full());
        let shards = index.carry_out(&base, &merges, &quiet).await.unwrap();
        assert!(index.apply(&shards, &base).await.unwrap().is_some());
        let mut later = epoch(&index, &base, &[change(2)]).await;
        assert!(index.apply(&shards, &later).await.unwrap().is_some());
        later = epoch(&index, &later, &[change(1)]).await;
        assert!(index.apply(&shards, &later).await.unwrap().is_none());
        for entry in &mut later.catalog {
            entry.segment = None;
        }
        assert!(index.apply(&shards, &later).await.unwrap().is_none());
    });
}
