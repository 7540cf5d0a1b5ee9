//! The lake of a script: files in a temporary folder, and what a test must know of them.
//!
//! A file that cannot be read takes part with its last good version, so a build anew that is to be
//! compared needs those bytes: [`Lake::mended`] puts them in the places of the broken files for as
//! long as it takes. The broken files are moved aside and back, so they stay the versions they
//! were.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use super::cells::{Column, Format};

/// How a table lies in the lake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `shop/orders.csv`
    Lone,
    /// `shop/orders/x-2024-01.csv`, and so on.
    Family,
    /// `shop/orders_2024-01.csv`, beside what else is in the folder.
    Beside,
    /// `shop/orders/2024/01/data.csv`
    Dated,
    /// `shop/orders/part-00000.csv`
    Parts,
    /// `shop/orders/day=2024-01-01/data.csv`
    Hive,
}

/// Files that were written as one table. Whether limn takes them for one is not known here.
#[derive(Clone, Debug)]
pub struct Table {
    /// The path of a lone file without its extension, or of a folder.
    pub base: String,
    pub shape: Shape,
    pub format: Format,
    /// The columns that the next file gets.
    pub columns: Vec<Column>,
    /// Files written so far, removed or not: the number of the next one.
    pub next: usize,
    pub files: Vec<String>,
}

impl Table {
    /// Where its file of a number lies.
    pub fn path(&self, number: usize) -> String {
        let (base, extension) = (&self.base, self.format.extension());
        match self.shape {
            Shape::Lone => format!("{base}.{extension}"),
            Shape::Family => format!(
                "{base}/x-{}-{:02}.{extension}",
                2020 + number / 12,
                1 + number % 12
            ),
            Shape::Beside => {
                format!(
                    "{base}_{}-{:02}.{extension}",
                    2020 + number / 12,
                    1 + number % 12
                )
            }
            Shape::Dated => format!(
                "{base}/{}/{:02}/data.{extension}",
                2020 + number / 12,
                1 + number % 12
            ),
            Shape::Parts => format!("{base}/part-{number:05}.{extension}"),
            Shape::Hive => format!("{base}/day=2024-01-{:02}/data.{extension}", 1 + number % 28),
        }
    }

    /// Where a text about it lies.
    pub fn sidecar(&self) -> String {
        format!("{}.md", self.base)
    }
}

/// An object of the lake.
#[derive(Clone, Debug)]
struct Object {
    /// Its bytes when it could be read last, or is to be restored to.
    intact: Vec<u8>,
    broken: bool,
    /// Whether the index has read it since it was there, so that it has a last good version.
    known: bool,
}

/// A file of a table: its path, columns and number of rows are those it was written with.
pub struct Lake {
    scratch: TempDir,
    pub tables: Vec<Table>,
    objects: BTreeMap<String, Object>,
    /// Files that were removed, and whose rows are the last good ones of a table that is all
    /// broken.
    ghosts: BTreeMap<String, Vec<u8>>,
    /// Data files written or broken since [`Lake::begin_step`], or of which something else is
    /// declared.
    pub touched: BTreeSet<String>,
    /// The objects before this step.
    before: BTreeMap<String, Object>,
}

impl Lake {
    pub fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        fs::create_dir(scratch.path().join("lake")).unwrap();
        fs::create_dir(scratch.path().join("aside")).unwrap();
        Self {
            scratch,
            tables: Vec::new(),
            objects: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            touched: BTreeSet::new(),
            before: BTreeMap::new(),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    fn place(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn begin_step(&mut self) {
        self.touched.clear();
        self.before = self.objects.clone();
        self.before.extend(self.ghosts.iter().map(|(path, intact)| {
            let intact = intact.clone();
            let (broken, known) = (false, true);
            (
                path.clone(),
                Object {
                    intact,
                    broken,
                    known,
                },
            )
        }));
    }

    pub fn has(&self, path: &str) -> bool {
        self.objects.contains_key(path)
    }

    /// All objects.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    pub fn is_broken(&self, path: &str) -> bool {
        self.objects.get(path).is_some_and(|object| object.broken)
    }

    /// Objects that cannot be read.
    pub fn broken(&self) -> impl Iterator<Item = &str> {
        let broken = self.objects.iter().filter(|(_, object)| object.broken);
        broken.map(|(path, _)| path.as_str())
    }

    /// Writes an object that can be read.
    pub fn write(&mut self, path: &str, bytes: Vec<u8>) {
        write(&self.place(path), &bytes);
        self.touched.insert(path.to_owned());
        let (broken, known) = (false, false);
        let object = Object {
            intact: bytes,
            broken,
            known,
        };
        self.objects.insert(path.to_owned(), object);
    }

    /// Writes bytes over an object that cannot be read.
    pub fn corrupt(&mut self, path: &str, bytes: &[u8]) {
        write(&self.place(path), bytes);
        self.touched.insert(path.to_owned());
        if let Some(object) = self.objects.get_mut(path) {
            object.known |= !object.broken;
            object.broken = true;
        }
    }

    /// As [`corrupt`](Self::corrupt), of an object that no run has seen.
    pub fn corrupt_unseen(&mut self, path: &str, bytes: &[u8]) {
        self.corrupt(path, bytes);
        if let Some(object) = self.objects.get_mut(path) {
            object.known = false;
        }
    }

    /// As [`corrupt`](Self::corrupt), if the object is there.
    pub fn corrupt_if_there(&mut self, path: &str, bytes: &[u8]) {
        if self.has(path) {
            self.corrupt(path, bytes);
        }
    }

    /// Files in the folder of this one may be read again: what is declared of them has changed.
    pub fn touch_beside(&mut self, path: &str) {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        let is_beside = |other: &&String| {
            let of_other = other.rsplit_once('/').map(|(folder, _)| folder);
            of_other == folder
        };
        let beside = self.objects.keys().filter(is_beside).cloned();
        self.touched.extend(beside);
    }

    /// Writes an object again as it was before it was broken, or as it is.
    pub fn restore(&mut self, path: &str) {
        if let Some(object) = self.objects.get(path).cloned() {
            self.write(path, object.intact);
        }
    }

    pub fn remove(&mut self, path: &str) {
        fs::remove_file(self.place(path)).unwrap();
        self.objects.remove(path);
    }

    /// Moves an object; what was known of it is not known of the new path.
    pub fn rename(&mut self, from: &str, to: &str) {
        let place = self.place(to);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::rename(self.place(from), place).unwrap();
        self.touched.insert(to.to_owned());
        if let Some(object) = self.objects.remove(from) {
            self.objects.insert(
                to.to_owned(),
                Object {
                    known: false,
                    ..object
                },
            );
        }
    }

    /// Broken objects keep their last good version only while the index knows one, by path.
    pub fn forget_all_but(&mut self, known: &BTreeSet<String>) {
        for (path, object) in &mut self.objects {
            object.known &= known.contains(path);
        }
    }

    /// What is now removed and takes part with its last good version in a table that cannot be
    /// read.
    pub fn set_ghosts<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        let ghosts = paths.filter(|path| !self.objects.contains_key(*path));
        let ghosts = ghosts
            .filter_map(|path| Some((path.to_owned(), self.before.get(path)?.intact.clone())));
        self.ghosts = ghosts.collect();
    }

    /// Whether a table is described from removed files.
    pub fn has_ghosts(&self) -> bool {
        !self.ghosts.is_empty()
    }

    /// Objects that are not themselves in a mended lake.
    pub fn stand_ins(&self) -> BTreeSet<String> {
        let broken = self
            .objects
            .iter()
            .filter(|(_, object)| object.broken && object.known);
        let broken = broken.map(|(path, _)| path.clone());
        broken.chain(self.ghosts.keys().cloned()).collect()
    }

    /// Runs `build` over the lake in which all has its last good version.
    pub async fn mended<T>(&self, build: impl Future<Output = T>) -> T {
        let stand_ins = self.stand_ins();
        for (number, path) in stand_ins.iter().enumerate() {
            if let Some(object) = self.objects.get(path) {
                fs::rename(self.place(path), self.aside(number)).unwrap();
                write(&self.place(path), &object.intact);
                // The newest of equal tables stands for them.
                let modified = fs::metadata(self.aside(number))
                    .unwrap()
                    .modified()
                    .unwrap();
                set_modified(&self.place(path), modified);
            } else {
                write(&self.place(path), &self.ghosts[path]);
                set_modified(&self.place(path), SystemTime::UNIX_EPOCH);
            }
        }
        let built = build.await;
        for (number, path) in stand_ins.iter().enumerate() {
            if self.objects.contains_key(path) {
                fs::rename(self.aside(number), self.place(path)).unwrap();
            } else {
                fs::remove_file(self.place(path)).unwrap();
            }
        }
        built
    }

    fn aside(&self, number: usize) -> PathBuf {
        self.scratch.path().join("aside").join(number.to_string())
    }
}

fn set_modified(place: &Path, modified: SystemTime) {
    let file = fs::File::options().write(true).open(place).unwrap();
    file.set_modified(modified).unwrap();
}

fn write(place: &Path, bytes: &[u8]) {
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, bytes).unwrap();
}
