//! What has to be unpacked to be read is unpacked once for all that is in it, if it can be kept.

use super::*;

/// Text that packs badly, so that bytes of the store show how often it was unpacked.
fn noise(seed: u64) -> String {
    let lines = (0..400).map(|line: u64| {
        let hash = xxhash_rust::xxh3::xxh3_64(&(seed * 1000 + line).to_le_bytes());
        format!("{line},{hash:016x}\n")
    });
    "id,word\n".to_owned() + &lines.collect::<String>()
}

fn database() -> Vec<u8> {
    let mut base = rusqlite::Connection::open_in_memory().unwrap();
    for table in 0..10 {
        let create = format!("CREATE TABLE t{table} (word TEXT)");
        base.execute_batch(&create).unwrap();
        let insert = format!("INSERT INTO t{table} VALUES (?)");
        base.execute(&insert, [noise(table)]).unwrap();
    }
    base.serialize("main").unwrap().to_vec()
}

#[tokio::test]
async fn archives_are_unpacked_once_for_all_that_is_in_them() {
    let names: Vec<String> = (0..10).map(|number| format!("{number}.csv")).collect();
    let texts: Vec<String> = (0..10).map(noise).collect();
    let members = names.iter().zip(&texts);
    let members = members.map(|(name, text)| (name.as_str(), text.as_bytes()));
    let members: Vec<(&str, &[u8])> = members.collect();
    let database = database();
    let of_database = [("in/x.sqlite", &database[..])];
    for (path, bytes) in [
        ("x.tgz", gz(&tar(&members))),
        ("y.tgz", gz(&tar(&of_database))),
        (
            "x.zip",
            zip(&of_database, ::zip::CompressionMethod::Deflated),
        ),
    ] {
        let size = bytes.len() as u64;
        let store = Store::in_memory();
        store.put(path, bytes.into()).await.unwrap();
        let container = ObjectRecord::from(store.head(path).await.unwrap());
        let mut expected = None;
        // Room for all, for too little, and for nothing.
        for (kept, most_times) in [(1 << 20, 3), (1 << 10, 14), (0, 14)] {
            let options = ReadOptions {
                containers: OpenContainers::keeping(kept),
                ..ReadOptions::default()
            };
            let before = store.counts();
            let opened = open_container(&store, &container, NAMES, &options).await;
            let opened = opened.unwrap();
            let mut read = Vec::new();
            for member in &opened.members {
                read.push(read_with(&store, member, &options).await.unwrap());
            }
            assert_eq!(read.len(), 10, "{path}");
            let fetched = store.counts().since(&before).bytes_read;
            let is_once = fetched <= size * 3;
            assert_eq!(is_once, most_times == 3, "{path}: {fetched} of {size}");
            assert!(fetched <= size * most_times, "{path}: {fetched} of {size}");
            assert_eq!(expected.get_or_insert(read.clone()), &read, "{path}");
        }
    }
}
