//! The page: files that are compiled in, served with their hash as a tag.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::problem::{Code, Problem};

struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($name:literal: $kind:literal),* $(,)?) => {
        &[$(Asset { name: $name, kind: $kind, bytes: include_bytes!(concat!("../../page/", $name)) }),*]
    };
}

const HTML: &str = "index.html";

static ASSETS: &[Asset] = assets! {
    "about.js": "text/javascript; charset=utf-8",
    "answer.js": "text/javascript; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "ask.js": "text/javascript; charset=utf-8",
    "browse.js": "text/javascript; charset=utf-8",
    "changes.js": "text/javascript; charset=utf-8",
    "columns.js": "text/javascript; charset=utf-8",
    "contours.svg": "image/svg+xml",
    "dom.js": "text/javascript; charset=utf-8",
    "edit.js": "text/javascript; charset=utf-8",
    "filters.js": "text/javascript; charset=utf-8",
    "format.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "index.html": "text/html; charset=utf-8",
    "joined.js": "text/javascript; charset=utf-8",
    "key.js": "text/javascript; charset=utf-8",
    "main.js": "text/javascript; charset=utf-8",
    "markdown.js": "text/javascript; charset=utf-8",
    "names.js": "text/javascript; charset=utf-8",
    "notice.js": "text/javascript; charset=utf-8",
    "picture.js": "text/javascript; charset=utf-8",
    "plan.js": "text/javascript; charset=utf-8",
    "query.js": "text/javascript; charset=utf-8",
    "result.js": "text/javascript; charset=utf-8",
    "rows.js": "text/javascript; charset=utf-8",
    "sample.js": "text/javascript; charset=utf-8",
    "search.js": "text/javascript; charset=utf-8",
    "status.js": "text/javascript; charset=utf-8",
    "steps.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "suggest.js": "text/javascript; charset=utf-8",
    "table.js": "text/javascript; charset=utf-8",
    "views.css": "text/css; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
};

static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tag = |asset: &Asset| {
        let hash = Sha256::digest(asset.bytes);
        let digits: String = hash
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("\"{digits}\"")
    };
    ASSETS.iter().map(tag).collect()
});

/// The page itself, at each of its addresses.
pub(super) async fn index(headers: HeaderMap) -> Response {
    serve(HTML, &headers)
}

/// A file that the page needs.
pub(super) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    serve(&name, &headers)
}

fn serve(name: &str, headers: &HeaderMap) -> Response {
    let Some(at) = ASSETS.iter().position(|asset| asset.name == name) else {
        return Problem::new(
            Code::NotFound,
            "the page has no such file",
            "load the page again",
        )
        .into_response();
    };
    let (asset, tag) = (&ASSETS[at], TAGS[at].as_str());
    let fresh = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache")];
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|known| known.to_str().ok());
    if known == Some(tag) {
        return (StatusCode::NOT_MODIFIED, fresh).into_response();
    }
    (fresh, [(header::CONTENT_TYPE, asset.kind)], asset.bytes).into_response()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn every_file_of_the_page_is_served() {
        // Not env!: a target folder shared by several clones keeps the path of one of them.
        let folder = std::path::PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
        for entry in std::fs::read_dir(folder.join("page")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name == "README.md" {
                continue;
            }
            assert_eq!(serve(&name, &HeaderMap::new()).status(), 200, "{name}");
        }
        assert_eq!(serve("../Cargo.toml", &HeaderMap::new()).status(), 404);
    }
}
