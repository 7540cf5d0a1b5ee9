//! `iceberg+https://` and `iceberg+http://`: the tables of an Iceberg REST catalog
//! ([decision 46](../../../../docs/decisions/046-catalogs.md)).
//!
//! A table is a folder that is called by its namespace and name (`sales/orders`), wherever its
//! files are. What is listed of it is one object, its metadata file of now ([`METADATA`]): its
//! entity tag says which one that is. Its other files are read by their paths below the table's
//! location ([`vended`]), from stores that are opened as any other.

mod answers;
mod client;
mod error;
pub(crate) mod listing;
mod location;
mod signing;
#[cfg(test)]
mod tests;
mod vended;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::StatusCode;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::sync::OnceCell;
use url::Url;

use self::answers::{Config, Loaded, Properties, read};
use self::client::Client;
use self::error::CatalogError;
use self::signing::{Signer, Signs};
use crate::Store;
use crate::access::{Access, Variables};
use crate::counting::Counters;
use crate::error::{StoreError, StoreErrorKind};
use crate::named::{path_below, plain_location};

pub(crate) use self::location::open;

/// What a table's newest metadata file is called in its folder, whatever its name is.
const METADATA: &str = "metadata/v1.metadata.json";
/// Levels of namespaces.
const MOST_LEVELS: usize = 16;
/// Stores that are open at once. With credentials of a catalog, each table has one of its own.
const MOST_OPEN: usize = 64;

/// A catalog, with what it said of its tables.
pub(crate) struct Catalog {
    client: Client,
    /// Where its API begins.
    base: Url,
    warehouse: Option<String>,
    /// The lake's name.
    url: String,
    /// Host and port.
    host: String,
    /// Whether it runs on this machine.
    is_here: bool,
    access: Access,
    variables: Variables,
    signs: Signs,
    /// What its user says of signatures.
    signing: Properties,
    api: OnceCell<Api>,
    tables: Mutex<HashMap<String, Arc<Table>>>,
    stores: Mutex<HashMap<String, Store>>,
    /// Held by the request that asks for an unknown table.
    asking: tokio::sync::Mutex<()>,
}

/// What a catalog says of itself.
struct Api {
    /// What namespaces are asked for below.
    root: Url,
    /// Settings of all tables.
    of_all: Properties,
    /// The signer of requests, where they are signed.
    signer: Option<Signer>,
}

/// What a catalog says of a table.
struct Table {
    /// Where the files are: what a store is opened at, and the path there.
    root: String,
    prefix: String,
    /// The metadata file, and its path from `root` on.
    metadata: String,
    metadata_path: String,
    /// The table's own id: one that is made anew may have a metadata file of the same name.
    uuid: String,
    settings: Properties,
    holds_until: SystemTime,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("url", &self.url).finish()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves nothing half-done here.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    fn etag(&self) -> String {
        format!("\"{}#{}\"", self.metadata, self.uuid)
    }

    fn of(loaded: &Loaded, api: &Api, is_here: bool) -> std::result::Result<Table, CatalogError> {
        let location = plain_location(&loaded.metadata.location);
        let location = location.trim_end_matches('/');
        let (root, prefix) = vended::root_of(location, is_here)?;
        let Some(metadata) = &loaded.metadata_location else {
            let what = "it does not say where the table's metadata file is";
            return Err(CatalogError::Nonsense(what.into()));
        };
        let metadata = plain_location(metadata);
        let Some(below) = path_below(&metadata, location) else {
            return Err(CatalogError::Refused {
                cause: format!(
                    "its metadata file {metadata} is outside of its location {location}"
                ),
                remedy: "rewrite the table into one location",
            });
        };
        let settings = vended::settings(&api.of_all, loaded, location);
        Ok(Table {
            metadata_path: join(&prefix, &below),
            root,
            prefix,
            metadata,
            uuid: loaded.metadata.uuid.clone().unwrap_or_default(),
            holds_until: vended::holds_until(&settings, SystemTime::now()),
            settings,
        })
    }
}

fn join(folder: &str, path: &str) -> String {
    match folder {
        "" => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

impl Catalog {
    /// The full name of what lies at a path.
    pub(crate) fn object_url(&self, path: &str) -> String {
        format!("{}#{path}", self.url)
    }

    /// Where requests are counted from here on.
    pub(crate) fn count_in(&self, counters: &Arc<Counters>) {
        self.client.count_in(counters);
    }

    fn explain(&self, path: &str, error: &CatalogError) -> StoreError {
        let object = match path {
            "" => self.url.clone(),
            path => self.object_url(path),
        };
        let is_signed = match self.api.get() {
            Some(api) => api.signer.is_some(),
            None => signing::are_wanted(&self.signing),
        };
        error.to_store_error(object, &self.host, is_signed)
    }

    /// Asks for what lies at an address of its API.
    async fn ask(
        &self,
        url: &Url,
        with_credentials: bool,
    ) -> std::result::Result<Bytes, CatalogError> {
        let signer = self.api().await?.signer.as_ref();
        self.client.get(url, with_credentials, signer).await
    }

    /// What the catalog says of itself, asked once.
    async fn api(&self) -> std::result::Result<&Api, CatalogError> {
        self.api.get_or_try_init(|| self.ask_config()).await
    }

    async fn ask_config(&self) -> std::result::Result<Api, CatalogError> {
        let mut url = at(&self.base, &["v1", "config"]);
        if let Some(warehouse) = &self.warehouse {
            url.query_pairs_mut().append_pair("warehouse", warehouse);
        }
        let signer = self.signer(&self.signing)?;
        let config = self.client.get(&url, false, signer.as_ref()).await?;
        let config: Config = read(&config)?;
        // What a catalog insists on comes before what its user says, and that before its defaults.
        let mut of_all = config.defaults;
        of_all.extend(self.signing.clone());
        of_all.extend(config.overrides);
        Ok(Api {
            root: self.root(&of_all)?,
            signer: self.signer(&of_all)?,
            of_all,
        })
    }

    /// The signer of requests to a catalog with these settings.
    fn signer(&self, settings: &Properties) -> std::result::Result<Option<Signer>, CatalogError> {
        Signer::of(settings, self.signs, &self.access, &self.variables)
    }

    /// What namespaces are asked for below.
    fn root(&self, of_all: &Properties) -> std::result::Result<Url, CatalogError> {
        let base = match of_all.get("uri") {
            Some(uri) => self.same_server(uri)?,
            None => self.base.clone(),
        };
        let prefix = match of_all.get("prefix").map(|it| it.trim_matches('/')) {
            None | Some("") => return Ok(at(&base, &["v1"])),
            Some(prefix) => prefix,
        };
        let nonsense = || CatalogError::Nonsense("its prefix is no part of an address".into());
        // It is a part of an address as it is, with what is encoded in it.
        let is_odd = |part: &str| matches!(part, "" | "." | "..");
        if prefix.contains(['?', '#', '\\']) || prefix.split('/').any(is_odd) {
            return Err(nonsense());
        }
        // A prefix with a colon is no scheme.
        let root = at(&base, &["v1", ""]).join(&format!("./{prefix}"));
        let root = root.ok().filter(|it| it.origin() == base.origin());
        root.ok_or_else(nonsense)
    }

    /// Another address of the catalog, if it is on the server that its user has named.
    fn same_server(&self, uri: &str) -> std::result::Result<Url, CatalogError> {
        let url = Url::parse(uri).ok();
        match url {
            Some(url) if url.origin() == self.base.origin() => Ok(url),
            other => {
                let to = other.map_or("nowhere".into(), |it| it.origin().ascii_serialization());
                Err(CatalogError::Redirected(to))
            }
        }
    }

    /// Asks for a table, and keeps the answer.
    async fn load(
        &self,
        namespace: &[String],
        name: &str,
    ) -> std::result::Result<Arc<Table>, CatalogError> {
        let api = self.api().await?;
        let mut url = at(
            &api.root,
            &["namespaces", &namespace.join(SEPARATOR), "tables", name],
        );
        // Snapshots that no branch has are of no use here.
        url.query_pairs_mut().append_pair("snapshots", "refs");
        let with_credentials = !vended::has_own(&self.access, &self.variables);
        let answer = self.ask(&url, with_credentials).await?;
        let table = Table::of(&read(&answer)?, api, self.is_here)?;
        let table = Arc::new(table);
        let folder = format!("{}/{name}", namespace.join("/"));
        locked(&self.tables).insert(folder, Arc::clone(&table));
        Ok(table)
    }

    /// The table that a path is of, and the path in it.
    async fn find<'a>(
        &self,
        path: &'a str,
    ) -> std::result::Result<(Arc<Table>, &'a str), CatalogError> {
        if let Some(found) = self.known(path) {
            return Ok(found);
        }
        let _asking = self.asking.lock().await;
        if let Some(found) = self.known(path) {
            return Ok(found);
        }
        // No table lies in another one's folder: the first is it.
        for (folder, rest) in folders(path) {
            let levels: Vec<String> = folder.split('/').map(str::to_owned).collect();
            if let Some((name, namespace)) = levels.split_last() {
                match self.load(namespace, name).await {
                    Ok(table) => return Ok((table, rest)),
                    Err(error) if error.is_status(&[StatusCode::NOT_FOUND]) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let said = error::Said(String::new());
        Err(CatalogError::Status(StatusCode::NOT_FOUND, said))
    }

    /// The same of tables that were asked for not long ago.
    fn known<'a>(&self, path: &'a str) -> Option<(Arc<Table>, &'a str)> {
        let tables = locked(&self.tables);
        let now = SystemTime::now();
        folders(path).find_map(|(folder, rest)| {
            let table = tables.get(folder)?;
            (now < table.holds_until).then(|| (Arc::clone(table), rest))
        })
    }

    /// The store that a table's files are in.
    fn store(&self, table: &Table) -> std::result::Result<Store, CatalogError> {
        let is_own = vended::has_own(&self.access, &self.variables);
        let is_encrypted = self.base.scheme() == "https";
        let variables = vended::variables(&table.settings, is_own, is_encrypted)?;
        let mut key = table.root.clone();
        for (name, value) in &variables {
            key.push_str(&format!("\n{name}={value}"));
        }
        let mut stores = locked(&self.stores);
        if let Some(store) = stores.get(&key) {
            return Ok(store.clone());
        }
        let access = match table.root.starts_with('/') {
            true => Access::default(),
            false => self.access,
        };
        let variables = self.variables.and(variables);
        let store = Store::wrap(crate::location::open(&table.root, &access, &variables)?);
        if stores.len() >= MOST_OPEN {
            stores.clear();
        }
        stores.insert(key, store.clone());
        Ok(store)
    }

    /// Reads of a table's files.
    async fn get(
        &self,
        path: &str,
        mut options: GetOptions,
    ) -> std::result::Result<GetResult, CatalogError> {
        let (table, rest) = self.find(path).await?;
        let key = match rest == METADATA {
            true => {
                if options.if_match.take().is_some_and(|it| it != table.etag()) {
                    return Err(CatalogError::Store(self.changed(path)));
                }
                table.metadata_path.clone()
            }
            false => join(&table.prefix, rest),
        };
        let store = self.store(&table)?;
        let got = store.client.get_opts(&store.key(&key), options).await;
        let mut got = got.map_err(|error| CatalogError::Store(store.explain(&key, &error)))?;
        // It is called by its path here.
        got.meta.location = Path::parse(path).unwrap_or_else(|_| Path::from(path));
        Ok(got)
    }

    fn changed(&self, path: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Precondition,
            self.object_url(path),
            "changed while it was read",
            "run again",
        )
    }
}

/// What stands between the levels of a namespace in an address.
const SEPARATOR: &str = "\u{1f}";

/// The folders above a path that may be a table's: a namespace and a name, or more levels; each
/// with the path below it.
fn folders(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let ends = path.match_indices('/').skip(1).take(MOST_LEVELS);
    ends.map(|(at, _)| (&path[..at], &path[at + 1..]))
}

/// An address below another.
fn at(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    // An address with a host can have any path.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

/// The client library's view of a catalog. Listings go past it (`listing.rs`).
#[derive(Debug)]
struct CatalogStore(Arc<Catalog>);

impl fmt::Display for CatalogStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an Iceberg catalog")
    }
}

impl CatalogStore {
    fn as_client_error(&self, path: &str, error: &CatalogError) -> object_store::Error {
        let error = self.0.explain(path, error);
        let (path, kind) = (path.to_owned(), error.kind());
        let source = Box::new(error);
        match kind {
            StoreErrorKind::NotFound => object_store::Error::NotFound { path, source },
            StoreErrorKind::Precondition => object_store::Error::Precondition { path, source },
            _ => object_store::Error::Generic {
                store: "Iceberg catalog",
                source,
            },
        }
    }

    fn read_only<T>(&self, location: &Path) -> Result<T> {
        Err(self.as_client_error(location.as_ref(), &CatalogError::ReadOnly))
    }
}

#[async_trait]
impl ObjectStore for CatalogStore {
    async fn put_opts(&self, location: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        self.read_only(location)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.read_only(location)
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let got = self.0.get(location.as_ref(), options).await;
        got.map_err(|error| self.as_client_error(location.as_ref(), &error))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let own = CatalogStore(Arc::clone(&self.0));
        locations
            .map(move |location| own.read_only(&location?))
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let refused = self.read_only(&prefix.cloned().unwrap_or_default());
        stream::iter([refused]).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read_only(&prefix.cloned().unwrap_or_default())
    }

    async fn copy_opts(&self, _: &Path, to: &Path, _: CopyOptions) -> Result<()> {
        self.read_only(to)
    }
}
