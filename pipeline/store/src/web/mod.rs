//! `http://` and `https://`: a folder that a web server lists as a page of links, or one file.
//!
//! A URL names one file if its last part has an extension; otherwise, and with a slash at the end,
//! it names a folder. Reading is all that is possible. Sizes, entity tags and times come from HEAD
//! requests ([`listing`]); a server that knows no ranges sends files whole, which are kept for a
//! moment ([`whole`]).

mod client;
mod error;
pub(crate) mod listing;
mod page;
mod whole;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::StatusCode;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use url::Url;

use crate::access::{Access, Variables};
use crate::error::place::{Place, Provider};
use crate::error::{StoreError, StoreErrorKind};
use crate::location::Opened;

use client::{Answer, Asked, Client, Facts};
pub(crate) use error::{WebError, is_busy};
use whole::WholeFiles;

/// A file that a server sends only whole has at most so many bytes: it is held in memory.
const MOST_WHOLE: u64 = 64 << 20;

/// A folder of a web server, or one file.
#[derive(Debug)]
pub(crate) struct Web {
    client: Client,
    /// The folder, with a slash at the end.
    folder: Url,
    /// The file's name, where it is one.
    file: Option<String>,
    whole: WholeFiles,
}

/// Opens a URL; nothing is requested.
pub(crate) fn open(
    location: &str,
    access: &Access,
    variables: &Variables,
) -> std::result::Result<Opened, StoreError> {
    let wrong = |shown: &str, cause: &str, remedy: &str| {
        StoreError::new(StoreErrorKind::Configuration, shown, cause, remedy)
    };
    let scheme = location.split_once("://").map_or("http", |(it, _)| it);
    let hidden = format!("{scheme}://…");
    let url = Url::parse(location).ok();
    let url = url.filter(|url| url.host().is_some() && !url.cannot_be_a_base());
    let Some(mut url) = url else {
        return Err(wrong(
            &hidden,
            "is no address",
            "write https://HOST/FOLDER/",
        ));
    };
    if !url.username().is_empty() || url.password().is_some() {
        let remedy = "limn reads what everybody may read: leave them away";
        return Err(wrong(
            &hidden,
            "credentials do not belong in a location",
            remedy,
        ));
    }
    url.set_fragment(None);
    if url.query().is_some() {
        // It may be a signature, and an index names its lake.
        url.set_query(None);
        return Err(wrong(
            url.as_str(),
            "an address with a query ('?…') names no folder and no file for good",
            "leave the query away, or save what is there as a file and index that",
        ));
    }
    if access.requester_pays {
        return Err(wrong(
            url.as_str(),
            "nobody pays for requests to a web server",
            "leave --requester-pays away",
        ));
    }
    let file = split(&mut url).map_err(|cause| wrong(location, cause, "check the address"))?;
    let client = Client::new(variables.patience()?, variables.at_once(access, true)?);
    let client = client.map_err(|error| {
        let cause = format!("no client can be made: {error}");
        wrong(url.as_str(), &cause, "check the system's certificates")
    })?;
    let endpoint = url.origin().ascii_serialization();
    let web = Arc::new(Web {
        client,
        folder: url,
        file,
        whole: WholeFiles::default(),
    });
    let shown = web.root();
    Ok(Opened {
        client: Arc::new(WebStore(Arc::clone(&web))),
        prefix: Path::default(),
        url: shown.clone(),
        local: None,
        web: Some(web),
        catalog: None,
        place: Place {
            provider: Provider::Web,
            bucket: None,
            root: shown,
            endpoint: Some(endpoint),
        },
    })
}

/// Makes a URL that of a folder, with a slash at the end. Where it named a file, that is its name.
fn split(url: &mut Url) -> std::result::Result<Option<String>, &'static str> {
    let last = url.path_segments().and_then(|mut parts| parts.next_back());
    let last = last.unwrap_or_default().to_owned();
    let name = percent_encoding::percent_decode_str(&last).decode_utf8();
    let name = name.map_err(|_| "its last part is not UTF-8")?;
    let is_file = name.trim_start_matches('.').contains('.') && !name.ends_with('.');
    if is_file && (name.contains('/') || Path::parse(&*name).is_err()) {
        return Err("its last part is no file's name");
    }
    if let Ok(mut parts) = url.path_segments_mut() {
        if is_file {
            parts.pop();
        }
        parts.pop_if_empty().push("");
    }
    Ok(is_file.then(|| name.into_owned()))
}

impl Web {
    /// The lake's address, without a slash at the end.
    fn root(&self) -> String {
        match &self.file {
            Some(file) => self.address(file),
            None => self.folder.as_str().trim_end_matches('/').to_owned(),
        }
    }

    /// The URL of a path below the folder.
    fn at(&self, path: &str, is_folder: bool) -> Url {
        let mut url = self.folder.clone();
        // A URL with a host can have any path.
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty();
            parts.extend(path.split('/').filter(|part| !part.is_empty()));
            if is_folder {
                parts.push("");
            }
        }
        url
    }

    /// The address of a file, as a browser takes it.
    pub(crate) fn address(&self, path: &str) -> String {
        self.at(path, false).into()
    }

    /// Whether a path is one that is served here.
    fn has(&self, path: &str) -> bool {
        self.file.as_ref().is_none_or(|file| file == path)
    }

    /// The server's facts about a file.
    async fn facts(&self, path: &str) -> std::result::Result<Facts, WebError> {
        let url = self.at(path, false);
        match self.client.ask(&url, Asked::Facts).await {
            Ok(answer) if answer.facts.size.is_some() => return Ok(answer.facts),
            // It does not say how long the file is, or may know no such requests.
            Ok(_) => {}
            Err(WebError::Status(status)) if knows_no_head(status) => {}
            Err(error) => return Err(error),
        }
        match self.client.ask(&url, Asked::Part(0, 0, MOST_WHOLE)).await {
            // Of an empty file there is no part.
            Err(WebError::Status(StatusCode::RANGE_NOT_SATISFIABLE)) => {
                let answer = self.client.ask(&url, Asked::Whole(MOST_WHOLE)).await?;
                Ok(answer.facts)
            }
            // The reader gets the error.
            Err(WebError::NoParts(size)) => Ok(Facts {
                size: Some(size),
                etag: None,
                modified_ms: 0,
            }),
            answer => Ok(answer?.facts),
        }
    }

    /// A part of a file, and what is said of all of it.
    async fn part(
        &self,
        path: &str,
        asked: Asked,
    ) -> std::result::Result<(Facts, u64, Bytes), WebError> {
        let url = self.at(path, false);
        if self.whole.has(path)
            && let Some(kept) = self.whole.get(path, &self.client, &url).await?
        {
            return cut(&kept.facts, &kept.content, asked);
        }
        let answer = self.client.ask(&url, asked).await?;
        if answer.status != StatusCode::PARTIAL_CONTENT {
            let Answer { facts, content, .. } = answer;
            self.whole.keep(path, facts.clone(), content.clone());
            return cut(&facts, &content, asked);
        }
        Ok((answer.facts, answer.begins, answer.content))
    }
}

/// Whether a HEAD request may be refused so where a GET request is not.
fn knows_no_head(status: StatusCode) -> bool {
    let refusals = [
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::NOT_IMPLEMENTED,
        StatusCode::BAD_REQUEST,
        StatusCode::FORBIDDEN,
    ];
    refusals.contains(&status)
}

/// The requested part of a file that the server sent whole.
fn cut(
    facts: &Facts,
    content: &Bytes,
    asked: Asked,
) -> std::result::Result<(Facts, u64, Bytes), WebError> {
    let size = content.len() as u64;
    let (first, end) = match asked {
        Asked::Part(first, last, _) => (first, last.saturating_add(1).min(size)),
        Asked::Tail(bytes, _) => (size.saturating_sub(bytes), size),
        Asked::Facts | Asked::Whole(_) => (0, size),
    };
    if first > end {
        return Err(WebError::Status(StatusCode::RANGE_NOT_SATISFIABLE));
    }
    // Within the content's length, which fits.
    let part = content.slice(first as usize..end as usize);
    Ok((facts.clone(), first, part))
}

/// The client library's view of a web server. Listings go past it (`listing.rs`).
#[derive(Debug)]
struct WebStore(Arc<Web>);

impl fmt::Display for WebStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a web server")
    }
}

impl WebStore {
    async fn get(&self, path: &str, options: &GetOptions) -> std::result::Result<Got, WebError> {
        if !self.0.has(path) {
            return Err(WebError::Status(StatusCode::NOT_FOUND));
        }
        if options.head {
            let facts = self.0.facts(path).await?;
            return Ok((facts, 0, Bytes::new()));
        }
        let asked = match &options.range {
            None => Asked::Whole(MOST_WHOLE),
            Some(GetRange::Bounded(range)) if range.is_empty() => {
                return Err(WebError::Status(StatusCode::RANGE_NOT_SATISFIABLE));
            }
            Some(GetRange::Bounded(range)) => Asked::Part(range.start, range.end - 1, MOST_WHOLE),
            Some(GetRange::Offset(first)) => {
                let size = self.0.facts(path).await?.size.unwrap_or(0);
                Asked::Part(*first, size.saturating_sub(1).max(*first), MOST_WHOLE)
            }
            Some(GetRange::Suffix(bytes)) => Asked::Tail(*bytes, MOST_WHOLE),
        };
        match asked {
            Asked::Part(..) | Asked::Tail(..) => self.0.part(path, asked).await,
            _ => {
                let answer = self.0.client.ask(&self.0.at(path, false), asked).await?;
                Ok((answer.facts, 0, answer.content))
            }
        }
    }
}

/// What is said of a file, where the bytes begin in it, and they.
type Got = (Facts, u64, Bytes);

fn read_only<T>(location: &Path) -> Result<T> {
    Err(WebError::ReadOnly.into_client(location.as_ref()))
}

#[async_trait]
impl ObjectStore for WebStore {
    async fn put_opts(&self, location: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        read_only(location)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        read_only(location)
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let got = self.get(location.as_ref(), &options).await;
        let (facts, begins, content) = got.map_err(|error| error.into_client(location.as_ref()))?;
        // Not all servers look at a condition; all that have tags send them.
        if let (Some(wanted), Some(etag)) = (&options.if_match, &facts.etag)
            && wanted != etag
        {
            return Err(object_store::Error::Precondition {
                path: location.to_string(),
                source: format!("it has the tag {etag} and no longer {wanted}").into(),
            });
        }
        // Where a part begins is the server's word.
        let end = begins.saturating_add(content.len() as u64);
        let meta = meta(location.clone(), &facts, end);
        let range = if options.head {
            0..meta.size
        } else {
            begins..end
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(content)]).boxed()),
            meta,
            range,
            attributes: Attributes::default(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations.map(|location| read_only(&location?)).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let refused = read_only(&prefix.cloned().unwrap_or_default());
        stream::iter([refused]).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        read_only(&prefix.cloned().unwrap_or_default())
    }

    async fn copy_opts(&self, _: &Path, to: &Path, _: CopyOptions) -> Result<()> {
        read_only(to)
    }
}

fn meta(location: Path, facts: &Facts, least: u64) -> ObjectMeta {
    ObjectMeta {
        location,
        last_modified: chrono::DateTime::from_timestamp_millis(facts.modified_ms)
            .unwrap_or_default(),
        size: facts.size.unwrap_or(least),
        e_tag: facts.etag.clone(),
        version: None,
    }
}

#[cfg(test)]
mod tests;
