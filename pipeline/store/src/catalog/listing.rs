//! Listing a catalog: its namespaces, the tables in them, and of each table its metadata file of
//! now.
//!
//! What a catalog may answer without end is bounded: pages, namespaces, their levels, tables. A
//! table that cannot be asked for costs itself only, a namespace that nobody may look into itself
//! and what is in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use http::StatusCode;
use object_store::path::Path;
use serde::de::DeserializeOwned;

use super::answers::{Identifier, Namespaces, Tables, read};
use super::error::CatalogError;
use super::{Catalog, METADATA, MOST_LEVELS, SEPARATOR, at};
use crate::ObjectInfo;
use crate::error::{StoreError, StoreErrorKind};
use crate::web::listing::Wanted;

/// Pages of one list.
const MOST_PAGES: usize = 1_000;
const MOST_NAMESPACES: usize = 10_000;
const MOST_TABLES: usize = 100_000;
/// Namespaces and tables asked for at a time; requests have a limit of their own.
const AT_ONCE: usize = 32;

type Item = Result<ObjectInfo, StoreError>;
type Namespace = Vec<String>;

/// What was found in a catalog.
#[derive(Default)]
struct Found {
    /// By the folders that the tables are.
    tables: BTreeMap<String, (Namespace, String)>,
    /// What cannot be a table, or not be looked into.
    odd: Vec<StoreError>,
}

/// What was found in a namespace.
#[derive(Default)]
struct Inside {
    namespaces: Vec<Namespace>,
    found: Found,
}

/// A page of a list.
trait Page: DeserializeOwned {
    type Entry;
    fn entries(self) -> (Vec<Self::Entry>, Option<String>);
}

impl Page for Namespaces {
    type Entry = Namespace;
    fn entries(self) -> (Vec<Namespace>, Option<String>) {
        (self.namespaces, self.next)
    }
}

impl Page for Tables {
    type Entry = Identifier;
    fn entries(self) -> (Vec<Identifier>, Option<String>) {
        (self.identifiers, self.next)
    }
}

/// The metadata files of all tables in a folder: of the catalog, of a namespace, of a table. Of
/// those that are not `wanted` only the path is given.
pub(crate) fn list(
    catalog: Arc<Catalog>,
    folder: String,
    wanted: Wanted,
) -> BoxStream<'static, Item> {
    let names = {
        let catalog = Arc::clone(&catalog);
        async move {
            let found = catalog.found(&folder).await;
            let found = found.map_err(|error| catalog.explain("", &error));
            match found {
                Ok(found) => {
                    let odd = found.odd.into_iter().map(Err);
                    odd.chain(found.tables.into_values().map(Ok)).collect()
                }
                Err(error) => vec![Err(error)],
            }
        }
    };
    let names = stream::once(names).flat_map(stream::iter);
    let objects = names.map(move |name| {
        let (catalog, wanted) = (Arc::clone(&catalog), Arc::clone(&wanted));
        async move {
            match name {
                Ok((namespace, name)) => catalog.object(&namespace, &name, &wanted).await,
                Err(error) => Some(Err(error)),
            }
        }
    });
    let objects = objects.buffered(AT_ONCE);
    objects.filter_map(futures::future::ready).boxed()
}

impl Catalog {
    /// All tables in a folder.
    async fn found(&self, folder: &str) -> Result<Found, CatalogError> {
        let api = self.api().await?;
        tracing::debug!(api = %api.root, "listing the catalog");
        let mut found = Found::default();
        let mut met: BTreeSet<Namespace> = BTreeSet::new();
        let mut level = vec![Namespace::new()];
        while !level.is_empty() {
            let looked_into = level.into_iter().map(|it| self.look_into(it, folder));
            let mut looked_into = stream::iter(looked_into.collect::<Vec<_>>()).buffered(AT_ONCE);
            level = Vec::new();
            while let Some(inside) = looked_into.next().await {
                let Inside {
                    namespaces,
                    found: own,
                } = inside?;
                found.tables.extend(own.tables);
                found.odd.extend(own.odd);
                level.extend(namespaces.into_iter().filter(|it| met.insert(it.clone())));
                let is_too_many = |found: usize, most: usize, what: &str| match found > most {
                    true => Err(CatalogError::TooMany(format!("{most} {what}"))),
                    false => Ok(()),
                };
                let named = found.tables.len() + found.odd.len();
                is_too_many(named, MOST_TABLES, "tables")?;
                is_too_many(met.len(), MOST_NAMESPACES, "namespaces")?;
            }
        }
        found.apart(self);
        Ok(found)
    }

    /// The namespaces in a namespace, its tables, and what is wrong.
    async fn look_into(&self, namespace: Namespace, folder: &str) -> Result<Inside, CatalogError> {
        let mut inside = Inside::default();
        match self.look_into_all(&namespace, folder, &mut inside).await {
            // It was removed meanwhile.
            Err(error) if !namespace.is_empty() && error.is_status(&[StatusCode::NOT_FOUND]) => {}
            // What is in it stays as it is.
            Err(error) if !namespace.is_empty() && error.is_status(&[StatusCode::FORBIDDEN]) => {
                let own = namespace.join("/");
                let error = self.explain(&own, &error).of_an_entry();
                inside.found.odd.push(error.at(own));
            }
            outcome => outcome?,
        }
        Ok(inside)
    }

    async fn look_into_all(
        &self,
        namespace: &Namespace,
        folder: &str,
        inside: &mut Inside,
    ) -> Result<(), CatalogError> {
        if !namespace.is_empty() {
            for table in self.tables(namespace).await? {
                let path = format!("{}/{}", namespace.join("/"), table.name);
                if !is_plain(&table.name) {
                    inside.found.odd.push(self.odd(path, "table"));
                } else if may_hold(&path, folder) {
                    let name = (namespace.clone(), table.name);
                    inside.found.tables.insert(path, name);
                }
            }
        }
        if namespace.len() == MOST_LEVELS {
            return Ok(());
        }
        let children = self.namespaces(namespace).await?.into_iter();
        // Catalogs without levels answer with all namespaces again.
        let is_below =
            |child: &Namespace| child.len() == namespace.len() + 1 && child.starts_with(namespace);
        for child in children.filter(is_below) {
            let path = child.join("/");
            if !child.iter().all(|level| is_plain(level)) {
                inside.found.odd.push(self.odd(path, "namespace"));
            } else if may_hold(&path, folder) {
                inside.namespaces.push(child);
            }
        }
        Ok(())
    }

    async fn namespaces(&self, parent: &[String]) -> Result<Vec<Namespace>, CatalogError> {
        let mut url = at(&self.api().await?.root, &["namespaces"]);
        if !parent.is_empty() {
            let parent = parent.join(SEPARATOR);
            url.query_pairs_mut().append_pair("parent", &parent);
        }
        // So answer catalogs whose namespaces have no levels.
        let has_none = [
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::NOT_ACCEPTABLE,
            StatusCode::NOT_IMPLEMENTED,
        ];
        match self.pages::<Namespaces>(&url).await {
            Err(error) if !parent.is_empty() && error.is_status(&has_none) => Ok(Vec::new()),
            found => found,
        }
    }

    async fn tables(&self, namespace: &[String]) -> Result<Vec<Identifier>, CatalogError> {
        let root = &self.api().await?.root;
        let url = at(root, &["namespaces", &namespace.join(SEPARATOR), "tables"]);
        self.pages::<Tables>(&url).await
    }

    /// All pages of a list.
    async fn pages<P: Page>(&self, url: &url::Url) -> Result<Vec<P::Entry>, CatalogError> {
        let mut all = Vec::new();
        let mut page = url.clone();
        for _ in 0..MOST_PAGES {
            let (entries, next) = read::<P>(&self.ask(&page, false).await?)?.entries();
            all.extend(entries);
            if all.len() > MOST_TABLES {
                return Err(CatalogError::TooMany(format!(
                    "{MOST_TABLES} names in one list"
                )));
            }
            let Some(next) = next.filter(|it| !it.is_empty()) else {
                return Ok(all);
            };
            page = url.clone();
            page.query_pairs_mut().append_pair("pageToken", &next);
        }
        Err(CatalogError::TooMany(format!(
            "{MOST_PAGES} pages in one list"
        )))
    }

    /// A table's current metadata file; none of a table that was removed.
    async fn object(&self, namespace: &[String], name: &str, wanted: &Wanted) -> Option<Item> {
        let folder = format!("{}/{name}", namespace.join("/"));
        let mut object = ObjectInfo {
            path: format!("{folder}/{METADATA}"),
            etag: None,
            version: None,
            size: 0,
            modified_ms: 0,
        };
        if !wanted(&object.path) {
            return Some(Ok(object));
        }
        match self.load(namespace, name).await {
            Ok(table) => {
                object.etag = Some(table.etag());
                Some(Ok(object))
            }
            Err(error) if error.is_status(&[StatusCode::NOT_FOUND]) => None,
            Err(error) => {
                let explained = self.explain(&folder, &error);
                Some(Err(match error.is_of_one() {
                    true => explained.of_an_entry().at(folder),
                    false => explained,
                }))
            }
        }
    }

    fn odd(&self, path: String, what: &str) -> StoreError {
        let error = StoreError::new(
            StoreErrorKind::Entry,
            self.object_url(&path),
            format!("the {what}'s name is empty, '.' or '..', or has a '/' or control characters"),
            "rename it in the catalog",
        );
        error.at(path)
    }
}

impl Found {
    /// Takes out tables that lie in another table's folder: whose a file is has to be seen from its
    /// path.
    fn apart(&mut self, catalog: &Catalog) {
        let above = |path: &str| {
            let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
            ends.into_iter()
                .find(|it| self.tables.contains_key(*it))
                .map(str::to_owned)
        };
        let inner = self
            .tables
            .keys()
            .filter_map(|path| Some((path.clone(), above(path)?)));
        for (path, outer) in inner.collect::<Vec<_>>() {
            self.tables.remove(&path);
            let error = StoreError::new(
                StoreErrorKind::Entry,
                catalog.object_url(&path),
                format!("there is a table {outer}, too, with the name of this one's namespace"),
                "rename one of them in the catalog",
            );
            self.odd.push(error.at(path));
        }
    }
}

/// Whether a name is one that a part of a path can have.
fn is_plain(name: &str) -> bool {
    !name.contains('/') && !name.is_empty() && Path::parse(name).is_ok()
}

/// Whether a folder is within another, or the other in it.
fn may_hold(path: &str, folder: &str) -> bool {
    let is_within = |path: &str, folder: &str| {
        let rest = path.strip_prefix(folder);
        folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_within(path, folder) || is_within(folder, path)
}
