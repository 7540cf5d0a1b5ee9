//! What every kind of table keeps, whatever it is read from: one suite, and for each kind a writer
//! of it.
//!
//! A table of three columns is written, read and read again; it changes, loses rows, is damaged and
//! mended, and goes. After each step it is there once under its name; the rows of its scan are
//! those that were written, and its profile's are as many; a run over an unchanged lake reads
//! nothing, one over a changed lake what changed; a removed row is nowhere; what is damaged keeps
//! its last good version, in one line that says what, why and what to do; and what is beside it
//! stays whole.

mod checks;
mod files;
mod holders;
mod logs;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{OpenOptions, Permissions, set_permissions, write};
use std::io::{BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use limn_formats::member;
use limn_lake::scan::{Request, ScanError, TableRows};
use limn_models::HashedWords;
use limn_pipeline::{Report, Scope};
use limn_segment::TableRecord;
use tempfile::TempDir;

use self::checks::{batches, check_profile, check_scan, scanned};
use self::rows::Row;
use crate::common::Lab;
use crate::common::narrated::{everything, records};
use crate::edit_scripts::compare::{contents, difference};

/// Objects of a lake, by path.
type Objects = BTreeMap<String, Vec<u8>>;

/// A kind of table: how one is written.
trait Kind {
    /// The table's name.
    fn table(&self) -> &'static str;

    /// How many parts it has that may change by themselves.
    fn parts(&self) -> usize {
        1
    }

    /// The columns that it has beside those of rows, with their types.
    fn others(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// A table of three rows that is in the same file.
    fn beside(&self) -> Option<&'static str> {
        None
    }

    /// All objects that the table is read from when its parts have these rows; one without rows is
    /// not there. Called once for each version, in their order.
    fn objects(&mut self, parts: &[Vec<Row>]) -> Objects;

    /// How many files are read when so many of these parts changed.
    fn read(&self, changed: usize, _parts: usize) -> u64 {
        changed as u64
    }

    /// Whether rows of a file may go without the file being written.
    fn deletes_in_place(&self) -> bool {
        false
    }

    /// What damages the table, one after the other, where it is laid so.
    fn damages(&self, laid: &Objects) -> Vec<Damage>;
}

/// An object that is damaged: its path, and what it is then.
type Damage = (String, Vec<u8>);

/// Nothing in any format.
fn garbage(path: &str) -> Damage {
    let bytes = [0u8, 159, 146, 150, 0, 1, 2, 3].repeat(200);
    (path.to_owned(), bytes)
}

/// About half of an object that is laid. A tar archive that is cut between two members is taken for
/// a whole one.
fn half(path: &str, laid: &Objects) -> Damage {
    let whole = &laid[path];
    (path.to_owned(), whole[..whole.len() / 2 - 7].to_vec())
}

/// A word that is in one row, which is removed.
const DOOMED: &str = "Zeppelin";
/// A table of another kind in the same folder.
const NEIGHBOUR: (&str, &str) = ("t/lakes", "lake,depth\nComo,425\nGarda,346\n");

struct Ground<K> {
    kind: K,
    lab: Lab,
    /// The lake as it was laid.
    laid: Objects,
    parts: Vec<Vec<Row>>,
    _folder: TempDir,
}

impl<K: Kind> Ground<K> {
    fn new(kind: K) -> Ground<K> {
        let folder = TempDir::new().unwrap();
        let mut lab = Lab::new();
        lab.options.confined_program = Some(book_reader(&folder));
        // Which rows are sampled is none of this suite's, as long as all could be.
        lab.options.sample_rows = 64;
        let parts = (0..kind.parts() as i64).map(|part| (part * 5..part * 5 + 5).map(Row::new));
        Ground {
            lab,
            laid: Objects::new(),
            parts: parts.map(Iterator::collect).collect(),
            kind,
            _folder: folder,
        }
    }

    async fn put(&mut self, path: &str, bytes: Vec<u8>) {
        self.lab.lake.put(path, bytes.clone().into()).await.unwrap();
        self.laid.insert(path.to_owned(), bytes);
    }

    /// Lays the table's next version: what differs is written, and nothing else. The objects that
    /// differ.
    async fn lay(&mut self) -> BTreeSet<String> {
        let objects = self.kind.objects(&self.parts);
        let removed = self.laid.keys().filter(|path| !objects.contains_key(*path));
        let removed: Vec<String> = removed.cloned().collect();
        let mut touched = BTreeSet::new();
        for path in removed {
            self.lab.remove(&path).await;
            self.laid.remove(&path);
        }
        for (path, bytes) in objects {
            if self.laid.get(&path) != Some(&bytes) {
                self.put(&path, bytes).await;
                touched.insert(path);
            }
        }
        touched
    }

    /// By their numbers.
    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.parts.iter().flatten().cloned().collect();
        rows.sort();
        rows
    }

    /// The table as the index has it.
    async fn record(&self) -> TableRecord {
        records(&self.lab).await.remove(self.kind.table()).unwrap()
    }

    async fn scanned(&self) -> TableRows {
        scanned(&self.lab, &self.record().await)
    }

    /// Holds what is in the index and in the lake against what was written.
    async fn check(&self) {
        let mut listed: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        listed.insert(self.kind.table(), Some(self.rows().len() as u64));
        listed.insert(NEIGHBOUR.0, Some(2));
        listed.extend(self.kind.beside().map(|beside| (beside, Some(3))));
        let records = records(&self.lab).await;
        let found = records.iter().map(|(name, it)| (name.as_str(), it.rows));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), listed);
        check_profile(
            &records[self.kind.table()],
            &self.rows(),
            self.kind.others(),
        );
        check_scan(&self.scanned().await, &self.rows(), self.kind.others()).await;
        self.check_neighbours().await;
    }

    async fn check_neighbours(&self) {
        let records = records(&self.lab).await;
        for (name, rows) in [(Some(NEIGHBOUR.0), 2), (self.kind.beside(), 3)] {
            let Some(name) = name else { continue };
            assert_eq!(records[name].rows, Some(rows), "{name}");
            let batches = batches(&scanned(&self.lab, &records[name]), Request::default()).await;
            let scanned: usize = batches.unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(scanned as u64, rows, "{name}");
        }
    }

    /// A run over the lake as it is asks for nothing of it but a listing.
    async fn check_idle(&self) {
        let before = self.lab.lake.counts();
        self.lab.run_is_idle().await;
        let since = self.lab.lake.counts().since(&before);
        assert_eq!((since.get, since.head), (0, 0), "a listing is enough");
    }

    /// An index made from scratch is the same.
    async fn check_anew(&self) {
        let mut anew = Lab::new();
        (anew.lake, anew.options) = (self.lab.lake.clone(), self.lab.options.clone());
        anew.run().await;
        let (grown, anew) = (contents(&self.lab.index).await, contents(&anew.index).await);
        difference(&grown, &anew, &BTreeSet::new()).unwrap();
    }

    /// Changes parts: no more is read than what changed.
    async fn change(&mut self, what: &str, change: impl FnOnce(&mut Vec<Vec<Row>>)) {
        let before = self.parts.clone();
        change(&mut self.parts);
        let changed = self.parts.iter().enumerate();
        let changed = changed.filter(|(at, new)| before.get(*at) != Some(*new) && !new.is_empty());
        let changed = changed.count();
        let touched = self.lay().await;
        self.lab.took();
        let report = self.lab.run().await;
        assert_eq!(report.failures, [], "{what}");
        let parts = self.parts.iter().filter(|it| !it.is_empty()).count();
        let read = (report.objects.read, self.kind.read(changed, parts));
        assert_eq!(read.0, read.1, "{what}: {report:?}");
        let took = self.lab.took();
        let untouched = self.laid.keys().filter(|it| !touched.contains(*it));
        let untouched = untouched.filter(|it| is_data(it) && took.contains(*it));
        let most = if self.kind.deletes_in_place() {
            changed
        } else {
            0
        };
        assert!(untouched.count() <= most, "{what}: {took:?}");
        self.check_all().await;
    }

    async fn check_all(&self) {
        self.check().await;
        self.check_idle().await;
        self.check_anew().await;
    }

    /// The one failure of a run, after which the table is as it was.
    async fn check_fails(&self, path: &str, before: &TableRecord) {
        let report = self.lab.run().await;
        let [failure] = &report.failures[..] else {
            panic!("{path}: {:?}", report.failures);
        };
        let line = &failure.error;
        let (cause, remedy) = line.split_once("; ").unwrap();
        let (object, cause) = cause.split_once(": ").unwrap();
        assert_eq!(object, failure.object, "{line}");
        assert!(
            line.contains(path) || path.starts_with(object),
            "{path}: {line}"
        );
        assert!(
            !cause.is_empty() && !remedy.is_empty() && !line.contains('\n'),
            "{line}"
        );
        let after = self.record().await;
        let said = |it: &TableRecord| (it.rows, it.columns.clone(), it.sample.clone());
        assert_eq!(said(&after), said(before), "{path}");
        let tables = 2 + usize::from(self.kind.beside().is_some());
        assert_eq!(records(&self.lab).await.len(), tables, "{path}");
    }

    /// Runs over some objects alone.
    async fn run_over(&mut self, objects: BTreeSet<String>) -> Report {
        self.lab.options.scope = Scope::Objects(objects);
        let report = self.lab.try_run(Arc::new(HashedWords)).await.unwrap();
        self.lab.options.scope = Scope::Lake;
        report
    }
}

/// Whether rows are in an object: what is in a log may be read again.
fn is_data(path: &str) -> bool {
    !path.contains("/_delta_log/") && !path.contains("/metadata/") && !path.contains("/.hoodie/")
}

/// What reads books: this very program, as `limn read-book` does.
fn book_reader(folder: &TempDir) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nexport LIMN_READS_BOOK=1\nexec {} --exact sources::a_book_is_read_in_a_process_of_its_own 3>&1 > /dev/null\n",
        own.display()
    );
    let path = folder.path().join("read-book");
    write(&path, script).unwrap();
    set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// What [`book_reader`] starts; by itself it has nothing to do.
#[test]
fn a_book_is_read_in_a_process_of_its_own() {
    if std::env::var_os("LIMN_READS_BOOK").is_some() {
        let answer = limn_formats::answer_book(BufReader::new(std::io::stdin())).unwrap();
        let mut to = OpenOptions::new()
            .write(true)
            .open("/proc/self/fd/3")
            .unwrap();
        to.write_all(&answer).unwrap();
    }
}

/// The suite.
async fn conforms(kind: impl Kind) {
    let mut ground = Ground::new(kind);
    let neighbour = format!("{}.csv", NEIGHBOUR.0);
    ground.lab.put(&neighbour, NEIGHBOUR.1).await;
    ground.lay().await;
    let report = ground.lab.run().await;
    assert_eq!(report.failures, []);
    ground.check().await;
    ground.check_idle().await;

    let doomed = Row::called(100, &format!("{DOOMED} 100"));
    ground
        .change("a row more", |parts| parts[0].push(doomed.clone()))
        .await;
    assert!(everything(&ground.lab).await.concat().contains(DOOMED));
    ground
        .change("a row fewer", |parts| parts[0].retain(|it| *it != doomed))
        .await;
    assert_is_nowhere(&ground, &doomed).await;
    if ground.kind.parts() > 1 {
        ground
            .change("a part more", |parts| {
                parts.push((200..205).map(Row::new).collect())
            })
            .await;
        let removed = Row::called(101, &format!("{DOOMED} 101"));
        ground
            .change("another row", |parts| {
                parts[1] = vec![removed.clone(), Row::new(99)]
            })
            .await;
        ground
            .change("a part fewer", |parts| parts[1].clear())
            .await;
        assert_is_nowhere(&ground, &removed).await;
    }
    damaged(&mut ground).await;
    refused(&mut ground).await;
    looked_for(&mut ground).await;
    pinned(&mut ground).await;

    for path in ground.laid.keys() {
        ground.lab.remove(path).await;
    }
    ground.lab.run().await;
    let left: Vec<String> = records(&ground.lab).await.into_keys().collect();
    assert_eq!(left, [NEIGHBOUR.0]);
}

/// A row that was removed is in no sample, value, sketch or text: nothing differs from an index
/// that never had it.
async fn assert_is_nowhere<K: Kind>(ground: &Ground<K>, row: &Row) {
    let record = format!("{:?}", ground.record().await);
    assert!(!record.contains(DOOMED), "{record}");
    let texts = everything(&ground.lab).await.concat();
    assert!(!texts.contains(DOOMED), "{texts}");
    assert!(!ground.rows().contains(row));
}

/// What is damaged keeps its last good version, and is reported in every run until it is mended.
async fn damaged<K: Kind>(ground: &mut Ground<K>) {
    for (path, bytes) in ground.kind.damages(&ground.laid) {
        let before = ground.record().await;
        let intact = ground.laid.get(&path).cloned();
        ground.lab.lake.put(&path, bytes.into()).await.unwrap();
        for _ in 0..2 {
            ground.check_fails(&path, &before).await;
        }
        match intact {
            Some(intact) => ground.put(&path, intact).await,
            None => ground.lab.remove(&path).await,
        }
        let report = ground.lab.run().await;
        assert_eq!(report.failures, [], "{path}");
        ground.check_all().await;
    }
}

/// What the store refuses to give is asked for again.
async fn refused<K: Kind>(ground: &mut Ground<K>) {
    let before = ground.record().await;
    ground.parts[0].push(Row::new(300));
    let touched = ground.lay().await;
    let mut given = touched.iter().filter(|it| is_data(it));
    let path = given.next().or(touched.first()).unwrap().clone();
    ground.lab.refuse(&path, true);
    ground.check_fails(&path, &before).await;
    ground.lab.refuse(&path, false);
    assert_eq!(ground.lab.run().await.failures, []);
    ground.check_all().await;
}

/// A run that looks where something changed, and nowhere else, finds it.
async fn looked_for<K: Kind>(ground: &mut Ground<K>) {
    ground.parts[0].push(Row::new(301));
    let touched = ground.lay().await;
    let report = ground.run_over(touched).await;
    assert_eq!(report.failures, []);
    ground.check_all().await;
}

/// A scan is of the files that were indexed, or ends and says so.
async fn pinned<K: Kind>(ground: &mut Ground<K>) {
    let record = ground.record().await;
    let mut files = record.files_now().filter(|it| !record.is_log(&it.path));
    let path = member::outside(&files.next().unwrap().path).to_owned();
    let ended = |error: &ScanError| {
        let line = error.to_string();
        assert!(
            line.contains(&path) && line.contains("limn index"),
            "{line}"
        );
    };
    ground.lab.put(&path, "something else").await;
    let error = batches(&ground.scanned().await, Request::default())
        .await
        .unwrap_err();
    assert!(matches!(error, ScanError::Changed { .. }), "{error:?}");
    ended(&error);
    ground.lab.remove(&path).await;
    let error = batches(&ground.scanned().await, Request::default())
        .await
        .unwrap_err();
    assert!(matches!(error, ScanError::Missing { .. }), "{error:?}");
    ended(&error);
    ground.lab.put(&path, "something else").await;
}

macro_rules! suite {
    ($($name:ident: $kind:expr,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            conforms($kind).await;
        }
    )*};
}

suite! {
    a_csv_file: files::csv_file(),
    a_packed_csv_file: files::packed_file(),
    a_file_of_json_lines: files::json_file(),
    a_parquet_file: files::parquet_file(),
    an_avro_file: files::avro_file(),
    wrapped_json: files::wrapped_json(),
    a_shapefile: files::Shapefile,
    a_family_of_files: files::family(),
    parts: files::parts(),
    hive_partitions: files::partitions(),
    dated_files: files::dated_files(),
    dated_folders: files::dated_folders(),
    a_member_of_a_tar_archive: holders::tar(),
    parts_in_an_archive: holders::parts(),
    a_member_of_a_packed_tar_archive: holders::packed_tar(),
    a_member_of_a_zip_archive: holders::zip(),
    a_table_of_a_database: holders::sqlite(),
    a_table_of_a_database_in_an_archive: holders::sqlite_in_zip(),
    a_sheet_of_a_book: holders::sheet(),
    a_sheet_a_year: holders::sheets(),
    a_delta_table: logs::Delta::default(),
    an_iceberg_table: logs::Iceberg::default(),
    a_hudi_table: logs::Hudi::default(),
}
