//! Ground for tests that kill limn or break its connections: a lake that was edited, an index of
//! the lake as it was before, and what an undisturbed run makes of it; on local disk or on a real
//! S3 server.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use futures::{StreamExt, TryStreamExt};
use limn_segment::{IndexStore, Retention, Snapshot};
use limn_store::Store;
use serde_json::Value;
use tempfile::TempDir;

use crate::s3::S3Server;
use crate::{Run, lake, limn_command, run};

/// What is asked of every index.
pub const QUESTIONS: [&str; 4] = [
    "sick leave of employees",
    "river water level",
    "moons of planets and cheese",
    "amount by customer and day",
];
const YEAR_MS: i64 = 365 * 86_400_000;

/// A lake, and a place for indexes of it.
pub struct Ground {
    environment: Vec<(String, String)>,
    root: String,
    _scratch: TempDir,
    server: Option<S3Server>,
    runtime: tokio::runtime::Runtime,
}

/// What an index says: tables, and answers with their scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Contents {
    /// Rows of the catalog but for times and places.
    pub tables: Vec<Value>,
    /// Results of [`QUESTIONS`].
    pub answers: Vec<Value>,
}

impl Ground {
    /// On local disk.
    pub fn local() -> Ground {
        let scratch = TempDir::new().expect("a scratch folder");
        let root = scratch.path().to_str().expect("UTF-8").to_owned();
        Self::new(root, Vec::new(), scratch, None)
    }

    /// On a real S3 server.
    pub fn s3() -> Ground {
        let server = S3Server::start();
        let environment = server.environment().into_iter();
        let environment = environment.map(|(name, value)| (name.to_owned(), value));
        let scratch = TempDir::new().expect("a scratch folder");
        Self::new(
            format!("s3://{}", server.bucket),
            environment.collect(),
            scratch,
            Some(server),
        )
    }

    fn new(
        root: String,
        environment: Vec<(String, String)>,
        scratch: TempDir,
        server: Option<S3Server>,
    ) -> Ground {
        Ground {
            environment,
            root,
            _scratch: scratch,
            server,
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
        }
    }

    /// A place of this ground.
    pub fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    /// The lake.
    pub fn lake(&self) -> String {
        self.at("data")
    }

    /// Whether it is a folder of this machine.
    pub fn is_local(&self) -> bool {
        self.server.is_none()
    }

    /// The environment that limn needs here.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// The S3 server's address.
    pub fn endpoint(&self) -> String {
        let server = self.server.as_ref().expect("a ground on S3");
        server.endpoint.clone()
    }

    /// A store of this ground, by its location.
    pub fn store(&self, location: &str) -> Store {
        Store::open_with(location, self.environment.iter().cloned()).expect("a location")
    }

    /// Makes the lake what a local folder holds; objects that stay the same are not written again.
    pub fn fill_lake(&self, folder: &Path) {
        let (from, to) = (
            Store::open(folder.to_str().expect("UTF-8")).expect("a folder"),
            self.store(&self.lake()),
        );
        self.runtime.block_on(async {
            let wanted = all(&from, "").await;
            for path in all(&to, "").await {
                if !wanted.contains(&path) {
                    to.delete(&path).await.expect("objects go");
                }
            }
            for path in wanted {
                let content = from.get(&path).await.expect("objects are read");
                if to.get(&path).await.ok().as_ref() != Some(&content) {
                    to.put(&path, content).await.expect("objects are written");
                }
            }
        });
    }

    /// Copies an index, its snapshots up to a number.
    pub fn copy(&self, from: &str, to: &str, up_to: u64) {
        let (from, to) = (self.store(from), self.store(to));
        self.runtime.block_on(async {
            for path in all(&from, "").await {
                if Snapshot::number_of(&path).is_none_or(|number| number <= up_to) {
                    let content = from.get(&path).await.expect("objects are read");
                    to.put(&path, content).await.expect("objects are written");
                }
            }
        });
    }

    /// Makes every file of a local index a year old.
    pub fn age(&self, index: &str) {
        let then = SystemTime::now() - Duration::from_millis(YEAR_MS.unsigned_abs());
        let root = Path::new(index);
        for path in files(root, root) {
            let file = File::options().write(true).open(root.join(path));
            let aged = file.and_then(|file| file.set_modified(then));
            aged.expect("times can be set");
        }
    }

    /// Removes an index. A folder's unlisted files go with it.
    pub fn remove(&self, index: &str) {
        if self.is_local() {
            let _ = std::fs::remove_dir_all(index);
            return;
        }
        let store = self.store(index);
        self.runtime.block_on(async {
            for path in all(&store, "").await {
                store.delete(&path).await.expect("objects go");
            }
        });
    }

    /// Runs limn here.
    pub fn limn(&self, arguments: &[&str]) -> Run {
        self.limn_with(arguments, &[])
    }

    /// Runs limn here, with variables of its own.
    pub fn limn_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut command = limn_command(arguments);
        command.envs(self.environment.iter().cloned());
        command.envs(variables.iter().copied());
        run(&mut command)
    }

    /// The newest snapshot's number, 0 if there is none.
    pub fn newest(&self, index: &str) -> u64 {
        let index = IndexStore::new(self.store(index));
        let newest = self.runtime.block_on(index.newest());
        newest
            .expect("snapshots are read")
            .map_or(0, |it| it.number)
    }

    /// The answers of an index, by the binary.
    pub fn answers(&self, index: &str) -> Vec<Value> {
        let ask = |question: &&str| {
            let arguments = ["search", question, "--index", index, "-k", "20", "--json"];
            self.limn(&arguments).ok()["results"].take()
        };
        QUESTIONS.iter().map(ask).collect()
    }

    /// All that an index says.
    pub fn contents(&self, index: &str) -> Contents {
        let store = IndexStore::new(self.store(index));
        let tables = self.runtime.block_on(async {
            let newest = store.require_newest().await.expect("a snapshot");
            store.tables(&newest, None).await.expect("the catalog")
        });
        let tables = tables.into_iter().map(|mut table| {
            (table.segment, table.first_block, table.indexed_ms) = (String::new(), 0, 0);
            serde_json::to_value(table).expect("JSON")
        });
        Contents {
            tables: tables.collect(),
            answers: self.answers(index),
        }
    }

    /// Whether `limn verify` finds nothing wrong; else what it printed.
    pub fn verify(&self, index: &str) -> Result<(), String> {
        let run = self.limn(&["verify", "--index", index, "--json"]);
        match run.code {
            0 => Ok(()),
            _ => Err(format!("{run:?}")),
        }
    }

    /// Collects the garbage as if a year had gone by. What is left that the newest snapshot does
    /// not name and that is no narration is returned.
    pub fn collect_garbage(&self, index: &str) -> Vec<String> {
        let store = self.store(index);
        let index = IndexStore::new(store.clone());
        self.runtime.block_on(async {
            let now = chrono::Utc::now().timestamp_millis() + YEAR_MS;
            let retention = Retention {
                older_than: Duration::from_secs(86_400),
                keep: 1,
            };
            let garbage = index.garbage(retention, now).await.expect("garbage");
            let removed = index.remove_garbage(&garbage, &|| {}).await;
            removed.expect("garbage is removed");
            let newest = index.require_newest().await.expect("a snapshot");
            let mut named = vec![Snapshot::path(newest.number)];
            named.extend(newest.catalog.into_iter().map(|entry| entry.path));
            for segment in newest.segments {
                named.push(segment.path);
                named.extend(segment.deletes.map(|deletes| deletes.path));
            }
            let mut left = match store.local_root() {
                // What a listing does not show is there all the same.
                Some(root) => files(&root, &root),
                None => all(&store, "").await,
            };
            left.retain(|path| !named.contains(path) && !path.starts_with("cache/"));
            left
        })
    }
}

async fn all(store: &Store, prefix: &str) -> Vec<String> {
    let listing = store.list(prefix).map(|item| match item {
        Err(error) if error.is_not_found() => Ok(None),
        item => item.map(|info| Some(info.path)),
    });
    let paths: Vec<Option<String>> = listing.try_collect().await.expect("a listing");
    paths.into_iter().flatten().collect()
}

fn files(root: &Path, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path: PathBuf = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(root, &path));
        } else {
            let below = path.strip_prefix(root).expect("below the root");
            found.push(below.to_str().expect("UTF-8").to_owned());
        }
    }
    found
}

/// The lake before its edits.
pub fn before(folder: &Path) {
    lake::varied(folder);
    for station in 0..6 {
        lake::write(
            folder,
            &format!("weather/station{station}/log.csv"),
            &format!("day,rain_{station},customer\n2024-01-01,{station},Ann\n2024-01-02,7,Bob\n"),
        );
    }
}

/// The edits: tables changed, removed, new, moved, and described in a sidecar.
pub fn edit(folder: &Path) {
    lake::write(
        folder,
        "hr/employees.csv",
        "EmployeeID,FullName,SickLeaveHours\n1,Ada Byron,4\n4,Barbara Liskov,2\n",
    );
    lake::write(
        folder,
        "shop/customers.csv",
        "customer,city\nOkafor,Lagos\n",
    );
    lake::write(folder, "music/songs.md", "Records of the quintet.");
    lake::write(
        folder,
        "exports/sales_2025.csv",
        "day,amount\n2025-01-01,9\n",
    );
    lake::write_parquet(folder, "rivers/year=2024/month=02/data.parquet", 45);
    lake::write_parquet(folder, "rivers/year=2024/month=04/data.parquet", 20);
    for (old, new) in [
        ("mixed/table_1.csv", "mixed/planets.csv"),
        ("weather/station1", "weather/station9"),
    ] {
        std::fs::rename(folder.join(old), folder.join(new)).expect("it moves");
    }
    std::fs::remove_dir_all(folder.join("weather/station2")).expect("it goes");
    lake::write(
        folder,
        "weather/station3/log.csv",
        "day,rain_3,customer,wind\n2024-01-01,3,Ann,4\n",
    );
}
