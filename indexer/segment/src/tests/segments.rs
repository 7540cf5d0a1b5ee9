//! What goes in comes out, the same from memory, disk and a remote store, and from any sharding.

use std::collections::BTreeMap;

use limn_store::Store;

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn terms_of(postings: &Postings) -> Vec<(Field, String)> {
    let mut terms: Vec<_> = postings.keys().cloned().collect();
    terms.push((Field::Names, "absent".into()));
    terms
}

#[test]
fn what_copies_have_in_common_comes_back_and_is_in_no_segment_that_knows_of_none() {
    let mut tables = sample_tables(5);
    let plain = build_segment(tables.clone(), &settings()).unwrap();
    let reader = SegmentReader::from_bytes(plain.bytes, &plain.entry).unwrap();
    assert!(reader.tables().iter().all(|table| table.content.is_none()));
    let content = TableContent {
        hash: u128::MAX - 7,
        modified_ms: -1,
    };
    tables[2].content = Some(content);
    let built = build_segment(tables.clone(), &settings()).unwrap();
    let reader = SegmentReader::from_bytes(built.bytes, &built.entry).unwrap();
    for table in reader.tables().iter() {
        let expected = (table.key == tables[2].table.borrowed()).then_some(content);
        assert_eq!(table.content, expected);
    }
}

#[test]
fn everything_comes_back() {
    let tables = sample_tables(40);
    let (blocks, postings) = expected(tables.clone());
    let segment = build_segment(tables, &settings()).unwrap();
    let reader = SegmentReader::from_bytes(segment.bytes.clone(), &segment.entry).unwrap();

    assert_eq!(reader.block_count() as usize, blocks.len());
    assert_eq!(reader.tables().len(), 40);
    for (b, block) in (0u32..).zip(&blocks) {
        let meta = reader.block(b);
        assert_eq!(meta.kind, block.kind);
        assert_eq!(reader.text(b).unwrap(), block.text);
        assert_eq!(reader.text_hash(b).unwrap(), block.text_hash());
        assert_eq!(reader.vector(b).unwrap(), block.vector);
        for field in Field::ALL {
            let length: u32 = postings
                .iter()
                .filter(|((f, _), _)| *f == field)
                .filter_map(|(_, found)| found.get(&b))
                .sum();
            assert_eq!(meta.lengths[field.index()], length);
        }
    }
    for ((field, term), expected) in &postings {
        let mut found = BTreeMap::new();
        reader
            .postings(*field, term, &mut |b, n| {
                assert!(found.insert(b, n).is_none());
            })
            .unwrap();
        assert_eq!(&found, expected, "{field:?} {term}");
    }
    for (key, first, count) in &segment.tables {
        let table = reader.tables().iter().find(|t| t.key == *key).unwrap();
        assert_eq!((table.first_block, table.blocks), (*first, *count));
        for b in *first..first + count {
            assert_eq!(reader.tables().at(reader.block(b).table as usize), table);
        }
    }
    assert!(reader.text(reader.block_count()).is_err());
    assert!(reader.text_hash(u32::MAX).is_err());
    assert_eq!(reader.vector(u32::MAX).unwrap(), None);
}

#[test]
fn the_order_of_tables_does_not_matter() {
    let forward = built(30);
    let mut tables = sample_tables(30);
    tables.reverse();
    tables.swap(3, 17);
    let backward = build_segment(tables, &settings()).unwrap();
    assert_eq!(forward.entry, backward.entry);
    assert_eq!(forward.bytes, backward.bytes);
}

#[test]
fn nearest_is_exact_and_filtered() {
    let (blocks, _) = expected(sample_tables(60));
    let segment = built(60);
    let reader = SegmentReader::from_bytes(segment.bytes, &segment.entry).unwrap();
    let mut deletes = Deletes::none();
    let fifth = reader.tables().at(5);
    deletes.delete_table(fifth.first_block, fifth.blocks);
    for seed in 0..20 {
        let query = unit_vector(1000 + seed);
        let mut all: Vec<(u32, f32)> = (0u32..)
            .zip(&blocks)
            .filter(|(b, block)| block.vector.is_some() && !deletes.contains(*b))
            .map(|(b, _)| (b, reader.similarity(&query, b).unwrap().unwrap()))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for n in [0, 1, 10, 1000] {
            let found = reader.nearest(&query, n, &deletes).unwrap();
            assert_eq!(found, all[..n.min(all.len())], "n {n}");
            let least = all[seed as usize].1;
            let above = reader.nearest_above(&query, n, least, &deletes).unwrap();
            let wanted = found.iter().filter(|(_, score)| *score >= least);
            assert!(above.iter().eq(wanted), "n {n}");
        }
        let exact: f64 = query
            .iter()
            .zip(blocks[all[0].0 as usize].vector.as_ref().unwrap())
            .map(|(q, v)| f64::from(*q) * v.to_f64())
            .sum();
        assert!((exact - f64::from(all[0].1)).abs() < 1e-6);
    }
    let cells = (0u32..)
        .zip(&blocks)
        .find(|(_, b)| b.vector.is_none())
        .unwrap()
        .0;
    assert_eq!(reader.similarity(&unit_vector(1), cells).unwrap(), None);
    let error = reader.nearest(&[1.0], 3, &deletes).unwrap_err();
    assert!(error.to_string().contains("dimensions"), "{error}");
    // A query of no numbers finds nothing rather than anything.
    let none = reader
        .nearest(&[f32::NAN; DIMENSIONS], 3, &deletes)
        .unwrap();
    assert!(none.is_empty());
}

/// Answers keyed by table and the block's place in it: what must not depend on sharding.
fn answers_of(readers: &[std::sync::Arc<SegmentReader>]) -> BTreeMap<String, String> {
    let (_, postings) = expected(sample_tables(50));
    let mut answers: BTreeMap<String, String> = BTreeMap::new();
    let query = unit_vector(77);
    for reader in readers {
        let name = |b: u32| {
            let table = reader.tables().at(reader.block(b).table as usize);
            format!("{}#{}", table.key, b - table.first_block)
        };
        for b in 0..reader.block_count() {
            answers.insert(
                name(b),
                format!(
                    "{} {:?} {:?}",
                    reader.text(b).unwrap(),
                    reader.block(b).lengths,
                    reader.similarity(&query, b).unwrap().map(f32::to_bits)
                ),
            );
        }
        for (field, term) in postings.keys() {
            let visit = &mut |b: u32, n: u32| {
                answers.insert(format!("{field:?} {term} {}", name(b)), n.to_string());
            };
            reader.postings(*field, term, visit).unwrap();
        }
    }
    let mut nearest: Vec<(f32, String)> = readers
        .iter()
        .flat_map(|r| {
            let found = r.nearest(&query, 12, &Deletes::none()).unwrap();
            found.into_iter().map(|(b, s)| {
                let table = r.tables().at(r.block(b).table as usize);
                (s, format!("{}#{}", table.key, b - table.first_block))
            })
        })
        .collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    nearest.truncate(12);
    answers.insert("nearest".into(), format!("{nearest:?}"));
    answers
}

#[test]
fn one_shard_and_eight_give_the_same_postings_lengths_and_scores() {
    let open = |shards: u32| {
        let mut by_shard: BTreeMap<Shard, Vec<TableBlocks>> = BTreeMap::new();
        for table in sample_tables(50) {
            by_shard
                .entry(table.table.shard(shards))
                .or_default()
                .push(table);
        }
        by_shard
            .into_iter()
            .map(|(shard, tables)| {
                let built =
                    build_segment(tables, &SegmentSettings::new(DIMENSIONS, shard)).unwrap();
                SegmentReader::from_bytes(built.bytes, &built.entry).unwrap()
            })
            .collect::<Vec<_>>()
    };
    let (one, eight) = (open(1), open(8));
    assert!(eight.len() > 4);
    let (one, eight) = (answers_of(&one), answers_of(&eight));
    assert_eq!(one.len(), eight.len());
    for (of_one, of_eight) in one.iter().zip(&eight) {
        assert_eq!(of_one, of_eight);
    }
}

#[test]
fn memory_disk_and_a_remote_store_give_the_same_answers() {
    let segment = built(300);
    assert!(
        segment.bytes.len() > 150_000,
        "several chunks: {}",
        segment.bytes.len()
    );
    let (_, postings) = expected(sample_tables(300));
    let terms = terms_of(&postings);
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let memory = SegmentReader::from_bytes(segment.bytes.clone(), &segment.entry).unwrap();
        let disk = IndexStore::open(folder.path().to_str().unwrap()).unwrap();
        disk.put_segment(&segment).await.unwrap();
        let disk = SegmentReader::open(&disk.store, &segment.entry)
            .await
            .unwrap();
        let remote = IndexStore::new(Store::in_memory());
        remote.put_segment(&segment).await.unwrap();
        let remote = SegmentReader::open(&remote.store, &segment.entry)
            .await
            .unwrap();

        // On this runtime's only thread: a reader that blocked on it would never return.
        let texts = |r: &SegmentReader| -> Vec<String> {
            read_everything(r, &terms)
                .into_iter()
                .map(Result::unwrap)
                .collect()
        };
        let expected = texts(&memory);
        assert_eq!(texts(&disk), expected);
        assert_eq!(texts(&remote), expected);
    });
}

#[test]
fn requests_are_counted() {
    // Large enough that the windows of remote reads do not swallow it whole.
    let segment = built(6000);
    assert!(segment.bytes.len() > 3 << 20, "{}", segment.bytes.len());
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let entry = index.put_segment(&segment).await.unwrap();
        let before = index.store.counts();
        let reader = SegmentReader::open(&index.store, &entry).await.unwrap();
        let opened = index.store.counts();
        assert_eq!(
            opened.get - before.get,
            1,
            "one ranged read opens a segment"
        );
        assert_eq!(opened.list + opened.head, before.list + before.head);
        assert!(opened.bytes_read - before.bytes_read <= entry.hot);
        assert!(
            entry.hot < entry.bytes / 4,
            "{} of {}",
            entry.hot,
            entry.bytes
        );

        // Everything that is asked of the open segment is hot.
        let _ = (reader.block(5), reader.tables());
        assert_eq!(index.store.counts().get, opened.get);

        // A question: some terms, the vectors, some texts.
        for term in ["price", "citi", "river"] {
            for field in Field::ALL {
                reader.postings(field, term, &mut |_, _| ()).unwrap();
            }
        }
        reader
            .nearest(&unit_vector(5), 5, &Deletes::none())
            .unwrap();
        for block in [1, 2000, 4000] {
            reader.text(block).unwrap();
        }
        let asked = index.store.counts();
        assert!(
            asked.get - opened.get <= 8,
            "{} requests",
            asked.get - opened.get
        );
        // The same again costs nothing.
        reader
            .nearest(&unit_vector(6), 5, &Deletes::none())
            .unwrap();
        reader.text(2000).unwrap();
        assert_eq!(index.store.counts().get, asked.get);
    });
}

#[test]
fn threads_share_a_remote_reader() {
    let segment = built(300);
    let index = IndexStore::new(Store::in_memory());
    let reader = run(async {
        let entry = index.put_segment(&segment).await.unwrap();
        SegmentReader::open(&index.store, &entry).await.unwrap()
    });
    let local = SegmentReader::from_bytes(segment.bytes, &segment.entry).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let (reader, local) = (&reader, &local);
            scope.spawn(move || {
                for i in 0..200 {
                    let block = (i * 37 + thread * 11) % reader.block_count();
                    assert_eq!(reader.text(block).unwrap(), local.text(block).unwrap());
                    let query = unit_vector(u64::from(i));
                    assert_eq!(
                        reader.nearest(&query, 3, &Deletes::none()).unwrap(),
                        local.nearest(&query, 3, &Deletes::none()).unwrap()
                    );
                }
            });
        }
    });
}

#[test]
fn a_graph_finds_what_the_scan_finds() {
    // Vectors in clusters, as embeddings are: independent ones have no neighbourhoods.
    let mut tables = sample_tables(1200);
    for (t, table) in (0u64..).zip(&mut tables) {
        for (b, block) in (0u64..).zip(&mut table.blocks) {
            if block.vector.is_some() {
                let centre = unit_vector(t % 40);
                let own = unit_vector(10_000 + t * 10 + b);
                let mixed: Vec<f32> = centre.iter().zip(&own).map(|(c, o)| c + 0.5 * o).collect();
                let norm = mixed.iter().map(|x| x * x).sum::<f32>().sqrt();
                block.vector = Some(stored(&mixed.iter().map(|x| x / norm).collect::<Vec<_>>()));
            }
        }
    }
    let flat = build_segment(tables.clone(), &settings()).unwrap();
    let graph_settings = SegmentSettings {
        graph_above: 100,
        ..settings()
    };
    let graph = build_segment(tables.clone(), &graph_settings).unwrap();
    tables.reverse();
    let again = build_segment(tables, &graph_settings).unwrap();
    assert_eq!(
        graph.id, again.id,
        "graphs are built the same way every time"
    );
    assert!(graph.bytes.len() > flat.bytes.len());
    assert_ne!(graph.id, flat.id);
    let flat = SegmentReader::from_bytes(flat.bytes, &flat.entry).unwrap();
    let graph = SegmentReader::from_bytes(graph.bytes, &graph.entry).unwrap();
    let mut deletes = Deletes::none();
    deletes.delete_table(0, 100);
    let (mut hits, mut all) = (0, 0);
    for q in 0..200u64 {
        let query = unit_vector(q % 40);
        let exact = flat.nearest(&query, 10, &deletes).unwrap();
        let found = graph.nearest(&query, 10, &deletes).unwrap();
        assert_eq!(found.len(), 10);
        for (block, score) in &found {
            assert!(!deletes.contains(*block));
            let alone = flat.similarity(&query, *block).unwrap().unwrap();
            assert_eq!(score.to_bits(), alone.to_bits());
        }
        hits += exact.iter().filter(|e| found.contains(e)).count();
        all += exact.len();
    }
    assert!(hits * 100 >= all * 97, "recall {hits} of {all}");
    // Nearly everything deleted: the exact scan steps in.
    deletes.delete_table(0, flat.block_count() - 5);
    assert_eq!(
        graph.nearest(&unit_vector(3), 3, &deletes).unwrap(),
        flat.nearest(&unit_vector(3), 3, &deletes).unwrap()
    );
}

#[test]
fn bad_input_names_the_table() {
    let wrong = |change: fn(&mut Vec<TableBlocks>)| {
        let mut tables = sample_tables(3);
        change(&mut tables);
        build_segment(tables, &settings()).unwrap_err().to_string()
    };
    let error = wrong(|t| t[1] = t[0].clone());
    assert!(
        error.contains("folder/table0") && error.contains("twice"),
        "{error}"
    );
    let error = wrong(|t| t[2].blocks[0].vector = Some(vec![f16::ONE]));
    assert!(
        error.contains("folder/table2") && error.contains("dimensions"),
        "{error}"
    );
    let error = wrong(|t| t[2].blocks[0].vector = Some(vec![f16::NAN; DIMENSIONS]));
    assert!(error.contains("finite"), "{error}");
    let error = wrong(|t| t[1].blocks[0].text = "x".repeat((16 << 20) + 1));
    assert!(
        error.contains("folder/table1") && error.contains("bytes"),
        "{error}"
    );
    let error = wrong(|t| t[1].table.name = "x".repeat(20_000));
    assert!(error.contains("too long") && error.len() < 200, "{error}");
    let error = wrong(Vec::clear);
    assert!(error.contains("no blocks"), "{error}");
}

#[test]
fn tables_without_blocks_and_segments_without_vectors() {
    let mut tables = sample_tables(3);
    tables[1].blocks.clear();
    for table in &mut tables {
        table.blocks.iter_mut().for_each(|b| b.vector = None);
    }
    let segment = build_segment(tables, &settings()).unwrap();
    assert_eq!(segment.tables.iter().filter(|t| t.2 == 0).count(), 1);
    let reader = SegmentReader::from_bytes(segment.bytes, &segment.entry).unwrap();
    assert_eq!((reader.tables().len(), reader.vector_count()), (2, 0));
    assert!(
        reader
            .nearest(&unit_vector(1), 3, &Deletes::none())
            .unwrap()
            .is_empty()
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]
    #[test]
    fn any_texts_come_back(
        texts in proptest::collection::vec(("\\PC{0,40}", "\\PC{0,40}", 0usize..4), 1..30),
        long in 0usize..40_000,
    ) {
        let blocks: Vec<Block> = texts
            .iter()
            .map(|(text, words, field)| Block {
                kind: BlockKind::ALL[*field],
                text: text.clone(),
                fields: vec![(Field::ALL[*field], words.clone())],
                vector: None,
            })
            .chain([Block {
                kind: BlockKind::Rows,
                text: "é".repeat(long),
                fields: vec![],
                vector: None,
            }])
            .collect();
        let tables = vec![TableBlocks {
            content: None,
            values: TableValues::default(),
            table: TableKey { lake: "l".into(), name: "n".into() },
            location: String::new(),
            blocks: blocks.clone(),
        }];
        let (_, postings) = expected(tables.clone());
        let segment = build_segment(tables, &settings()).unwrap();
        let reader = SegmentReader::from_bytes(segment.bytes, &segment.entry).unwrap();
        for (b, block) in (0u32..).zip(&blocks) {
            proptest::prop_assert_eq!(&reader.text(b).unwrap(), &block.text);
        }
        for ((field, term), expected) in &postings {
            let mut found = BTreeMap::new();
            reader.postings(*field, term, &mut |b, n| { found.insert(b, n); }).unwrap();
            proptest::prop_assert_eq!(&found, expected);
        }
    }
}
