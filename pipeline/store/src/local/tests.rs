#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;

use object_store::ObjectStoreExt;

use super::*;

/// A disk that remembers what was forced to it, and forgets all else when the power is cut.
#[derive(Clone, Debug, Default)]
struct Watched {
    kept: Arc<Mutex<Kept>>,
    /// Whether it has no room.
    is_full: bool,
}

#[derive(Debug, Default)]
struct Kept {
    /// Length of files, by inode.
    files: HashMap<u64, u64>,
    /// Names in folders, by inode.
    folders: HashMap<u64, BTreeSet<Vec<u8>>>,
}

impl Disk for Watched {
    fn keep_file(&self, file: &File) -> io::Result<()> {
        if self.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let metadata = file.metadata()?;
        let mut kept = self.kept.lock().unwrap();
        kept.files.insert(metadata.ino(), metadata.len());
        Ok(())
    }

    fn keep_folder(&self, folder: &File) -> io::Result<()> {
        let names = rustix::fs::Dir::read_from(folder)?;
        let names = names.map(|it| it.unwrap().file_name().to_bytes().to_vec());
        let inode = folder.metadata()?.ino();
        let mut kept = self.kept.lock().unwrap();
        kept.folders.insert(inode, names.collect());
        Ok(())
    }
}

impl Watched {
    /// The power is cut: names that were not kept are lost, and so is content.
    fn cut(&self, folder: &FsPath) {
        let kept = self.kept.lock().unwrap();
        let inode = std::fs::metadata(folder).unwrap().ino();
        let names = kept.folders.get(&inode).cloned().unwrap_or_default();
        drop(kept);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_kept = names.contains(path.file_name().unwrap().as_bytes());
            let metadata = std::fs::metadata(&path).unwrap();
            match (is_kept, metadata.is_dir()) {
                (true, true) => self.cut(&path),
                (false, true) => std::fs::remove_dir_all(&path).unwrap(),
                (false, false) => std::fs::remove_file(&path).unwrap(),
                (true, false) => {
                    let length = self
                        .kept
                        .lock()
                        .unwrap()
                        .files
                        .get(&metadata.ino())
                        .copied();
                    let file = File::options().write(true).open(&path).unwrap();
                    file.set_len(length.unwrap_or(0)).unwrap();
                }
            }
        }
    }
}

fn key(path: &str) -> Path {
    Path::from(path)
}

async fn create(store: &LocalFolder, path: &str, content: &'static str) -> Result<PutResult> {
    let options = PutOptions {
        mode: PutMode::Create,
        ..PutOptions::default()
    };
    store.put_opts(&key(path), content.into(), options).await
}

async fn content(store: &LocalFolder, path: &str) -> Option<String> {
    let bytes = store.get(&key(path)).await.ok()?.bytes().await.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn what_was_written_survives_a_power_cut() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    // Neither the root nor the folder that it is in are there.
    let root = folder.path().join("deep/index");
    let store = LocalFolder::on(root.clone(), Path::default(), Box::new(disk.clone()));
    store.put(&key("a/b/one"), "1".into()).await.unwrap();
    store.put(&key("a/two"), "old".into()).await.unwrap();
    store.put(&key("a/two"), "newer".into()).await.unwrap();
    create(&store, "snapshots/3", "three").await.unwrap();
    let lost = create(&store, "snapshots/3", "other").await.unwrap_err();
    assert!(matches!(lost, Error::AlreadyExists { .. }), "{lost}");
    // Another process has made this folder and is not done yet.
    std::fs::create_dir(root.join("c")).unwrap();
    store.put(&key("c/three"), "3".into()).await.unwrap();
    // What nobody has forced to disk is lost, or this test shows nothing.
    std::fs::write(root.join("a/forgotten"), "x").unwrap();

    disk.cut(folder.path());

    for (path, wanted) in [
        ("a/b/one", Some("1")),
        ("a/two", Some("newer")),
        ("snapshots/3", Some("three")),
        ("c/three", Some("3")),
        ("a/forgotten", None),
    ] {
        assert_eq!(content(&store, path).await.as_deref(), wanted, "{path}");
    }
    let left = std::fs::read_dir(root.join("snapshots")).unwrap().count();
    assert_eq!(left, 1, "no write in progress stays");
}

#[tokio::test]
async fn a_write_that_cannot_be_kept_fails_and_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |disk| LocalFolder::on(folder.path().to_owned(), Path::default(), Box::new(disk));
    let store = at(Watched::default());
    store.put(&key("a/x"), "good".into()).await.unwrap();
    let full = at(Watched {
        is_full: true,
        ..Watched::default()
    });
    for path in ["a/x", "a/y"] {
        let error = full.put(&key(path), "worse".into()).await.unwrap_err();
        assert!(error.to_string().contains("no storage space"), "{error}");
    }
    assert!(create(&full, "a/z", "worse").await.is_err());
    assert_eq!(content(&store, "a/x").await.as_deref(), Some("good"));
    let left = std::fs::read_dir(folder.path().join("a")).unwrap().count();
    assert_eq!(left, 1);
}
