//! Failpoints: the process dies at a chosen request, as by `kill -9` at the worst moment.
//!
//! All that limn keeps is written by requests to a [`Store`](crate::Store), so every step of the
//! commit protocol is one, and tests kill a run at each. `LIMN_FAILPOINT` says where:
//!
//! ```text
//! LIMN_FAILPOINT="OPERATION PREFIX N MOMENT"    put segments/ 2 before
//! LIMN_FAILPOINT="record FILE"                  appends each request to FILE: put segments/0001/ab.seg
//! ```
//!
//! The process aborts (no destructor runs) at the N-th request of that kind whose path below the
//! store's root begins with the prefix; `/` is any path. A process counts apart in each store that
//! it opens. The moment is `before`: the request is not sent; `after`: it has taken effect and its
//! answer is never seen; or `during`, for writes that have a middle: a local one leaves half its
//! content in the file `name#1`, as the client library's own writes do, and one in parts leaves
//! some parts behind. A whole remote write has no middle, and `during` never comes.
//!
//! Without the variable no request passes through here.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::FutureExt;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

use crate::error::{StoreError, StoreErrorKind};

/// The environment variable.
pub(crate) const VARIABLE: &str = "LIMN_FAILPOINT";

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    List,
    Get,
    Head,
    Put,
    PutIfAbsent,
    Delete,
}

const OPERATIONS: [(&str, Operation); 6] = [
    ("list", Operation::List),
    ("get", Operation::Get),
    ("head", Operation::Head),
    ("put", Operation::Put),
    ("put-if-absent", Operation::PutIfAbsent),
    ("delete", Operation::Delete),
];

/// When, as seen from the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    During,
    After,
}

/// Where the process dies, or that it keeps a record.
#[derive(Debug)]
pub(crate) struct Failpoint {
    rule: Rule,
    /// Where the store's root lies in its client.
    root: Path,
    /// The root's folder, where it is one.
    folder: Option<PathBuf>,
    seen: AtomicU64,
}

#[derive(Debug)]
enum Rule {
    Record(File),
    Die {
        operation: Operation,
        prefix: String,
        number: u64,
        moment: Moment,
    },
}

impl Failpoint {
    /// What the variable says.
    ///
    /// # Errors
    /// It cannot be understood, or the record cannot be written.
    pub(crate) fn parse(
        text: &str,
        root: Path,
        folder: Option<PathBuf>,
    ) -> Result<Failpoint, StoreError> {
        let wrong = |cause: String| {
            StoreError::new(
                StoreErrorKind::Configuration,
                format!("{VARIABLE}={text}"),
                cause,
                "unset it, or write OPERATION PREFIX N MOMENT, such as: put segments/ 2 before",
            )
        };
        let rule = match text.strip_prefix("record ") {
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Rule::Record(file.map_err(|error| wrong(error.to_string()))?)
            }
            None => parse_rule(text).map_err(|cause| wrong(cause.to_owned()))?,
        };
        tracing::warn!("a failpoint is set: {text}");
        Ok(Failpoint {
            rule,
            root,
            folder,
            seen: AtomicU64::new(0),
        })
    }

    /// A request has come to a moment: the process may end here.
    fn at(&self, moment: Moment, operation: Operation, key: &str) {
        if self.is_hit(moment, operation, key) {
            std::process::abort();
        }
    }

    fn is_hit(&self, moment: Moment, operation: Operation, key: &str) -> bool {
        let below = key.strip_prefix(self.root.as_ref()).unwrap_or(key);
        let path = below.trim_start_matches('/');
        match &self.rule {
            Rule::Record(file) => {
                let name = OPERATIONS.iter().find(|it| it.1 == operation);
                if let (Moment::Before, Some((name, _))) = (moment, name) {
                    // One write: lines of several processes do not mix. A lost line fails the test.
                    let line = format!("{name} {path}\n");
                    let _ = (&mut &*file).write_all(line.as_bytes());
                }
                false
            }
            Rule::Die {
                operation: wanted,
                prefix,
                number,
                moment: at,
            } => {
                (moment, operation) == (*at, *wanted)
                    && path.starts_with(prefix)
                    && self.seen.fetch_add(1, Ordering::Relaxed) + 1 == *number
            }
        }
    }

    /// Watches the listing of a folder, given by its full key.
    pub(crate) fn listing<T: 'static>(
        self: &Arc<Self>,
        key: &str,
        listing: BoxStream<'static, T>,
    ) -> BoxStream<'static, T> {
        let key = format!("{key}/");
        self.at(Moment::Before, Operation::List, &key);
        let this = Arc::clone(self);
        let mut answered = false;
        let mut answer = move || {
            if !std::mem::replace(&mut answered, true) {
                this.at(Moment::After, Operation::List, &key);
            }
        };
        let mut listing = listing;
        futures::stream::poll_fn(move |context| {
            let polled = listing.poll_next_unpin(context);
            if polled.is_ready() {
                answer();
            }
            polled
        })
        .boxed()
    }

    /// The middle of a local write: half of it lies in a file of another name.
    fn during_local(&self, operation: Operation, key: &Path, payload: &PutPayload) {
        if self.folder.is_none() || !self.is_hit(Moment::During, operation, key.as_ref()) {
            return;
        }
        let path = PathBuf::from(format!("/{key}#1"));
        let mut content: Vec<u8> = payload.iter().flatten().copied().collect();
        content.truncate(content.len() / 2);
        // What cannot be written is not left behind; the process ends all the same.
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = std::fs::write(&path, content);
        std::process::abort();
    }
}

fn parse_rule(text: &str) -> Result<Rule, &'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [operation, prefix, number, moment] = words.as_slice() else {
        return Err("is no failpoint");
    };
    let operation = OPERATIONS.iter().find(|it| it.0 == *operation);
    let (_, operation) =
        operation.ok_or("its operation is none of list, get, head, put, put-if-absent, delete")?;
    let number = number.parse().ok().filter(|number| *number > 0);
    let moment = match *moment {
        "before" => Moment::Before,
        "during" => Moment::During,
        "after" => Moment::After,
        _ => return Err("its moment is none of before, during, after"),
    };
    Ok(Rule::Die {
        operation: *operation,
        prefix: prefix.trim_start_matches('/').to_owned(),
        number: number.ok_or("its number is none from 1 on")?,
        moment,
    })
}

/// A client whose every request comes by a failpoint.
#[derive(Debug)]
pub(crate) struct FailingStore {
    pub(crate) inner: Arc<dyn ObjectStore>,
    pub(crate) point: Arc<Failpoint>,
}

impl FailingStore {
    async fn around<T>(
        &self,
        operation: Operation,
        key: &Path,
        request: impl Future<Output = T>,
    ) -> T {
        self.point.at(Moment::Before, operation, key.as_ref());
        let answer = request.await;
        self.point.at(Moment::After, operation, key.as_ref());
        answer
    }
}

impl fmt::Display for FailingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for FailingStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        let operation = match opts.mode {
            PutMode::Create => Operation::PutIfAbsent,
            _ => Operation::Put,
        };
        self.point.during_local(operation, location, &payload);
        let put = self.inner.put_opts(location, payload, opts);
        self.around(operation, location, put).await
    }

    /// One write, from here to its completion.
    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let key = location.to_string();
        self.point.at(Moment::Before, Operation::Put, &key);
        Ok(Box::new(FailingUpload {
            inner: self.inner.put_multipart_opts(location, opts).await?,
            point: Arc::clone(&self.point),
            key,
            first: true,
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let operation = if options.head {
            Operation::Head
        } else {
            Operation::Get
        };
        let get = self.inner.get_opts(location, options);
        self.around(operation, location, get).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (before, after) = (Arc::clone(&self.point), Arc::clone(&self.point));
        let at = |point: &Failpoint, moment, location: &Result<Path>| {
            if let Ok(location) = location {
                point.at(moment, Operation::Delete, location.as_ref());
            }
        };
        let locations = locations.inspect(move |it| at(&before, Moment::Before, it));
        let deleted = self.inner.delete_stream(locations.boxed());
        deleted
            .inspect(move |it| at(&after, Moment::After, it))
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let key = prefix.map(AsRef::as_ref).unwrap_or_default();
        self.point.listing(key, self.inner.list(prefix))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let root = Path::default();
        let list = self.inner.list_with_delimiter(prefix);
        self.around(Operation::List, prefix.unwrap_or(&root), list)
            .await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let copy = self.inner.copy_opts(from, to, options);
        self.around(Operation::Put, to, copy).await
    }
}

/// A write in parts: its middle is when the first part is there.
#[derive(Debug)]
struct FailingUpload {
    inner: Box<dyn MultipartUpload>,
    point: Arc<Failpoint>,
    key: String,
    first: bool,
}

#[async_trait]
impl MultipartUpload for FailingUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part = self.inner.put_part(data);
        if !std::mem::replace(&mut self.first, false) {
            return part;
        }
        let (point, key) = (Arc::clone(&self.point), self.key.clone());
        part.inspect(move |_| point.at(Moment::During, Operation::Put, &key))
            .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let result = self.inner.complete().await;
        self.point.at(Moment::After, Operation::Put, &self.key);
        result
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

#[cfg(test)]
mod tests;
