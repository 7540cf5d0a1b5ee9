//! Remote segments in a bounded cache on disk: the answers stay, the bytes are bounded.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use limn_store::Store;

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Segments in a remote store, and readers of the same bytes in memory.
struct RemoteSegments {
    store: Store,
    entries: Vec<SegmentEntry>,
    truth: Vec<Arc<SegmentReader>>,
    folder: tempfile::TempDir,
}

impl RemoteSegments {
    fn new(segments: usize, tables: u64) -> RemoteSegments {
        let store = Store::in_memory();
        let all = sample_tables(segments as u64 * tables);
        let built: Vec<BuiltSegment> = all
            .chunks(tables as usize)
            .map(|tables| build_segment(tables.to_vec(), &settings()).unwrap())
            .collect();
        for segment in &built {
            run(store.put(&segment.entry.path, segment.bytes.clone())).unwrap();
        }
        RemoteSegments {
            store,
            entries: built.iter().map(|it| it.entry.clone()).collect(),
            truth: built
                .iter()
                .map(|it| SegmentReader::from_bytes(it.bytes.clone(), &it.entry).unwrap())
                .collect(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn cache(&self, limit: u64) -> SegmentCache {
        SegmentCache::open(&self.folder.path().join("cache"), limit).unwrap()
    }

    fn open(&self, cache: &SegmentCache) -> Vec<Arc<SegmentReader>> {
        let open = |entry| SegmentReader::open_with(&self.store, entry, Some(cache));
        self.entries
            .iter()
            .map(|it| run(open(it)).unwrap())
            .collect()
    }

    fn bytes(&self) -> u64 {
        self.entries.iter().map(|it| it.bytes).sum()
    }

    fn hot(&self) -> u64 {
        self.entries.iter().map(|it| it.hot).sum()
    }

    fn slot(&self, number: usize) -> PathBuf {
        self.folder
            .path()
            .join(format!("cache/limn-segments-{number}"))
    }

    /// Compares everything that is read with the truth.
    fn compare(&self, readers: &[Arc<SegmentReader>]) {
        let terms: Vec<(Field, String)> = ["price", "citi", "river", "table77"]
            .iter()
            .flat_map(|term| Field::ALL.map(|field| (field, (*term).to_owned())))
            .collect();
        for reader in readers {
            let of = |truth: &&Arc<SegmentReader>| truth.path() == reader.path();
            let truth = self.truth.iter().find(of).unwrap();
            let texts = |reader: &SegmentReader| -> Vec<String> {
                let answers = read_everything(reader, &terms).into_iter();
                answers.map(Result::unwrap).collect()
            };
            for (at, (text, truth)) in texts(reader).iter().zip(texts(truth)).enumerate() {
                assert!(
                    *text == truth,
                    "answer {at}: {text:.300} is not {truth:.300}"
                );
            }
        }
    }
}

fn files(slot: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(slot).unwrap().map(|it| it.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|it| it.extension().is_some()).collect();
    files.sort();
    files
}

fn on_disk(slot: &Path) -> u64 {
    let blocks = |path: &PathBuf| fs::metadata(path).unwrap().blocks();
    files(slot).iter().map(blocks).sum::<u64>() * 512
}

/// One read, of a kind and at a place that `pick` chooses.
fn read_something(reader: &SegmentReader, truth: &SegmentReader, pick: u64) {
    let block = (pick >> 8) as u32 % truth.block_count();
    match pick % 6 {
        0 | 1 => assert_eq!(reader.text(block).unwrap(), truth.text(block).unwrap()),
        2 => assert_eq!(
            reader.text_hash(block).unwrap(),
            truth.text_hash(block).unwrap()
        ),
        3 => assert_eq!(reader.vector(block).unwrap(), truth.vector(block).unwrap()),
        4 => {
            let term = analyzer::analyze(WORDS[(pick >> 8) as usize % WORDS.len()]).remove(0);
            let postings = |reader: &SegmentReader| {
                let mut found = Vec::new();
                reader
                    .postings(Field::Rows, &term, &mut |b, n| found.push((b, n)))
                    .unwrap();
                found
            };
            assert_eq!(postings(reader), postings(truth));
        }
        _ => {
            let query = unit_vector(pick);
            let nearest = |reader: &SegmentReader| reader.nearest(&query, 3, &Deletes::none());
            assert_eq!(nearest(reader).unwrap(), nearest(truth).unwrap());
        }
    }
}

/// Random reads of many threads; the most bytes that the cache had.
fn read_at_random(remote: &RemoteSegments, cache: &SegmentCache, threads: u64, reads: u64) -> u64 {
    let readers = remote.open(cache);
    std::thread::scope(|scope| {
        let threads = (0..threads).map(|thread| {
            let readers = &readers;
            scope.spawn(move || {
                let mut most = 0;
                for i in 0..reads {
                    let pick = noise(thread + 1, i);
                    let at = (pick >> 40) as usize % readers.len();
                    read_something(&readers[at], &remote.truth[at], pick);
                    most = most.max(cache.bytes());
                }
                most
            })
        });
        let threads: Vec<_> = threads.collect();
        let most = threads.into_iter().map(|it| it.join().unwrap());
        most.max().unwrap_or_default()
    })
}

#[test]
fn the_limit_is_kept_and_the_answers_are_right() {
    let remote = RemoteSegments::new(6, 1500);
    let largest = remote.entries.iter().map(|it| it.bytes).max().unwrap();
    let limit = remote.hot() + largest + (64 << 10);
    assert!(
        limit < remote.bytes() * 3 / 4,
        "{limit} of {}",
        remote.bytes()
    );
    let cache = remote.cache(limit);
    let before = remote.store.counts();
    let most = read_at_random(&remote, &cache, 6, 400);
    let read = remote.store.counts().since(&before).bytes_read;
    assert!(most <= limit && most > limit / 2, "{most} of {limit}");
    assert!(
        read > remote.bytes(),
        "some bytes went and came again: {read}"
    );
    let disk = on_disk(&remote.slot(0));
    assert!(
        disk <= limit + (256 << 10),
        "{disk} bytes on disk of {limit}"
    );
    // Nobody holds an old file any more, nor the descriptor of one.
    let fds = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let links = fds.filter_map(|it| fs::read_link(it.ok()?.path()).ok());
    let ours = links.filter(|it| it.starts_with(remote.folder.path()));
    let deleted = ours.filter(|it| it.to_string_lossy().ends_with(" (deleted)"));
    assert_eq!(deleted.count(), 0);
}

#[test]
fn a_limit_that_is_too_small_costs_requests_only() {
    let remote = RemoteSegments::new(3, 700);
    for limit in [0, 1 << 20] {
        let cache = remote.cache(limit);
        let most = read_at_random(&remote, &cache, 1, 200);
        // The hot parts, and what one read needs.
        let largest = remote.entries.iter().map(|it| it.bytes).max().unwrap();
        assert!(most <= limit.max(remote.hot() + largest), "{most}");
        read_at_random(&remote, &cache, 6, 100);
        remote.compare(&remote.open(&cache));
    }
}

#[test]
fn what_was_read_survives_the_process() {
    let remote = RemoteSegments::new(3, 500);
    let cache = remote.cache(u64::MAX);
    remote.compare(&remote.open(&cache));
    drop(cache);
    let before = remote.store.counts();
    let cache = remote.cache(u64::MAX);
    assert!(cache.bytes() >= remote.hot());
    let readers = remote.open(&cache);
    remote.compare(&readers);
    // Open twice, one file.
    remote.compare(&remote.open(&cache));
    let again = remote.store.counts().since(&before);
    assert_eq!((again.get, again.head, again.list), (0, 0, 0));
    drop((cache, readers));
    // A lower limit holds at once.
    let cache = remote.cache(remote.entries[0].bytes);
    assert!(cache.bytes() <= remote.entries[0].bytes);
    assert!(files(&remote.slot(0)).len() < 3);
    remote.compare(&remote.open(&cache));
}

#[test]
fn a_damaged_or_unfinished_file_is_read_again() {
    let remote = RemoteSegments::new(1, 1500);
    let path = || files(&remote.slot(0)).remove(0);
    remote.compare(&remote.open(&remote.cache(u64::MAX)));
    let size = fs::metadata(path()).unwrap().len();
    let damages: [&dyn Fn(); 6] = [
        &|| {
            let file = fs::OpenOptions::new().write(true).open(path()).unwrap();
            for at in (0..size).step_by(50_000) {
                file.write_all_at(&[0x5a; 7], at).unwrap();
            }
        },
        &|| {
            let file = fs::OpenOptions::new().write(true).open(path()).unwrap();
            file.write_all_at(&[0; 100_000], size / 3).unwrap();
        },
        // The footer.
        &|| {
            let file = fs::OpenOptions::new().write(true).open(path()).unwrap();
            file.write_all_at(b"x", size - 100).unwrap();
        },
        &|| {
            let file = fs::OpenOptions::new().write(true).open(path()).unwrap();
            file.set_len(size - 1).unwrap();
        },
        &|| {
            let file = fs::OpenOptions::new().write(true).open(path()).unwrap();
            file.set_len(0).unwrap();
            file.set_len(size).unwrap();
        },
        &|| fs::write(remote.slot(0).join("7.new"), "half").unwrap(),
    ];
    for (which, damage) in damages.iter().enumerate() {
        damage();
        let before = remote.store.counts();
        let cache = remote.cache(u64::MAX);
        remote.compare(&remote.open(&cache));
        let read = remote.store.counts().since(&before).get;
        assert_eq!(read > 0, which < 5, "damage {which}");
        assert_eq!(files(&remote.slot(0)).len(), 1);
        // It is whole again.
        drop(cache);
        let before = remote.store.counts();
        remote.compare(&remote.open(&remote.cache(u64::MAX)));
        assert_eq!(
            remote.store.counts().since(&before).get,
            0,
            "damage {which}"
        );
    }
}

#[test]
fn processes_beside_each_other_have_files_of_their_own() {
    let remote = RemoteSegments::new(2, 100);
    let (one, two) = (remote.cache(u64::MAX), remote.cache(u64::MAX));
    remote.compare(&remote.open(&one));
    remote.compare(&remote.open(&two));
    for slot in [remote.slot(0), remote.slot(1)] {
        assert_eq!(files(&slot).len(), 2);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&slot), mode(&files(&slot)[0])), (0o700, 0o600));
        assert_eq!(mode(slot.parent().unwrap()), 0o700);
    }
    // Somebody else's files stay, and those that a process has.
    fs::write(remote.slot(1).join("notes.txt"), "mine").unwrap();
    drop(one);
    let one = remote.cache(u64::MAX);
    assert_eq!(files(&remote.slot(1)).len(), 3);
    drop((one, two));
    let before = remote.store.counts();
    let one = remote.cache(u64::MAX);
    remote.compare(&remote.open(&one));
    assert_eq!(remote.store.counts().since(&before).get, 0);
    assert_eq!(files(&remote.slot(1)), [remote.slot(1).join("notes.txt")]);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_or_does_without() {
    let remote = RemoteSegments::new(2, 100);
    let file = remote.folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = SegmentCache::open(&file, 1).unwrap_err();
    assert!(
        error.to_string().contains("the cache of segments at"),
        "{error}"
    );
    let cache = remote.cache(0);
    fs::remove_dir_all(remote.slot(0)).unwrap();
    let readers = remote.open(&cache);
    remote.compare(&readers);
    assert_eq!(cache.bytes(), 0);
    // It cannot be renewed either, if it goes later.
    let cache = remote.cache(0);
    let readers = remote.open(&cache);
    remote.compare(&readers[..1]);
    fs::remove_dir_all(remote.folder.path().join("cache")).unwrap();
    remote.compare(&readers);
}

#[test]
fn a_full_disk_is_read_past_until_it_has_room() {
    let remote = RemoteSegments::new(3, 300);
    let cache = remote.cache(u64::MAX);
    // The first is open and has some of its bytes, and the second is open.
    let mut readers = remote.open(&cache)[..2].to_vec();
    remote.compare(&readers[..1]);
    let before = cache.bytes();
    cache.fill_the_disk(true);
    remote.compare(&readers);
    assert!(!cache.is_written() && cache.bytes() <= before);
    // The third is opened while there is no room at all.
    let third = SegmentReader::open_with(&remote.store, &remote.entries[2], Some(&cache));
    readers.push(run(third).unwrap());
    remote.compare(&readers);
    readers[2].verify_bytes().unwrap();
    assert!(!cache.is_written());
    // While it is known to be full nothing is evicted for it, again and again.
    let kept = cache.bytes();
    cache.let_time_pass();
    remote.compare(&readers);
    assert_eq!(cache.bytes(), kept);
    assert!(!cache.is_written());

    cache.fill_the_disk(false);
    cache.let_time_pass();
    remote.compare(&readers);
    assert!(cache.is_written());
    // All are kept again, that of the third, too.
    let before = remote.store.counts();
    remote.compare(&readers);
    assert_eq!(remote.store.counts().since(&before).get, 0);
    assert_eq!(files(&remote.slot(0)).len(), 3);
    drop(readers);
    remote.compare(&remote.open(&cache));
    assert_eq!(remote.store.counts().since(&before).get, 0);
}

#[test]
fn what_is_held_for_long_goes_with_its_file() {
    let mut remote = RemoteSegments::new(2, 400);
    // One with a graph.
    let graph = SegmentSettings {
        graph_above: 100,
        ..settings()
    };
    let graph = build_segment(sample_tables(600), &graph).unwrap();
    run(remote.store.put(&graph.entry.path, graph.bytes.clone())).unwrap();
    remote.entries[0] = graph.entry.clone();
    remote.truth[0] = SegmentReader::from_bytes(graph.bytes, &graph.entry).unwrap();
    let cache = remote.cache(0);
    let readers = remote.open(&cache);
    remote.compare(&readers);
    let file = cache
        .place(&remote.entries[0].path)
        .unwrap()
        .opened()
        .unwrap();
    read_something(&readers[0], &remote.truth[0], 4);
    let old = Arc::downgrade(&file.current());
    assert!(
        old.upgrade()
            .is_some_and(|it| it.opened.lexical.get().is_some())
    );
    let slice = file.slice(0..1000).unwrap();
    let copy = slice.to_vec();
    // The other one needs the room.
    remote.compare(&readers[1..]);
    assert!(old.upgrade().is_none());
    assert_eq!(slice.as_slice(), copy);
    remote.compare(&readers);
}
