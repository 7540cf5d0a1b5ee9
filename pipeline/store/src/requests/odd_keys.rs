//! Keys of a listing that the client library cannot take: `a//b.csv`, `a/../b`, control characters.
//!
//! The library gives up a whole page of a listing for one such key, and takes `/a.csv` and `a.csv/`
//! for `a.csv`. So a listing's answer is looked at before the library parses it: such a key is
//! replaced by one that the library takes and that [`original`] knows again, and the empty objects
//! by which some tools mark folders are left out. The listings of S3 and of Google's storage are
//! alike; Azure's has other names for the same things.

use async_trait::async_trait;
use bytes::Bytes;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::path::Path;

/// What a replaced key begins with, before its bytes in hexadecimal: a character that no standard
/// gives a meaning to.
const MARK: char = '\u{f8ff}';

/// The key that stood in the listing, where the library shows a replaced one.
pub(crate) fn original(shown: &str) -> Option<String> {
    let hex = shown.strip_prefix(MARK)?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = hex.chunks(2).map(byte).collect::<Option<_>>()?;
    String::from_utf8(bytes).ok()
}

/// What is wrong with a replaced key.
pub(crate) fn fault(key: &str) -> &'static str {
    if key.starts_with('/') {
        "its key begins with '/'"
    } else if key.ends_with('/') {
        "its key ends with '/' like a folder's, but it has content"
    } else {
        "its key has empty, '.' or '..' parts or control characters"
    }
}

fn is_odd(key: &str) -> bool {
    key.starts_with(['/', MARK]) || key.ends_with('/') || Path::parse(key).is_err()
}

/// A client that looks at listings.
pub(crate) fn looked_at(inner: HttpClient) -> HttpClient {
    HttpClient::new(Listings(inner))
}

/// What a kind of listing calls its parts.
#[derive(Clone, Copy, Debug)]
struct Names {
    object: &'static str,
    key: &'static str,
    size: &'static str,
}

/// Listings of S3 and Google's storage, as a request asks for them…
const S3: (&str, Names) = (
    "list-type=2",
    Names {
        object: "Contents",
        key: "Key",
        size: "Size",
    },
);
/// …and of Azure's.
const AZURE: (&str, Names) = (
    "comp=list",
    Names {
        object: "Blob",
        key: "Name",
        size: "Content-Length",
    },
);

#[derive(Debug)]
struct Listings(HttpClient);

#[async_trait]
impl HttpService for Listings {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default();
        let asks = |pair: &str| query.split('&').any(|part| part == pair);
        let listing = [S3, AZURE].into_iter().find(|(pair, _)| asks(pair));
        let response = self.0.execute(request).await?;
        let Some((_, names)) = listing.filter(|_| response.status().is_success()) else {
            return Ok(response);
        };
        let (parts, body) = response.into_parts();
        let body = body.bytes().await?;
        let body = replaced(&body, names).map_or(body, Bytes::from);
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

/// A listing's XML with odd keys replaced; none if it has none.
fn replaced(body: &[u8], names: Names) -> Option<String> {
    let xml = std::str::from_utf8(body).ok()?;
    let mut result = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(object) = element(&xml[at..], names.object) {
        let (start, end) = (at + object.start, at + object.end);
        at = end;
        let content = &xml[start..end];
        let Some(name) = element(content, names.key) else {
            continue;
        };
        let key = unescaped(&content[name.clone()]);
        if !is_odd(&key) {
            continue;
        }
        let is_empty = element(content, names.size).is_some_and(|size| content[size].trim() == "0");
        if key.ends_with('/') && is_empty {
            // Without the element around it, too.
            result.push_str(&xml[copied..start - names.object.len() - "<>".len()]);
            copied = end + names.object.len() + "</>".len();
        } else {
            result.push_str(&xml[copied..start + name.start]);
            result.push(MARK);
            result.extend(key.bytes().map(|byte| format!("{byte:02x}")));
            copied = start + name.end;
        }
    }
    if copied == 0 {
        return None;
    }
    result.push_str(&xml[copied..]);
    Some(result)
}

/// Where the content of the first element of this name is.
fn element(xml: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let open = format!("<{name}>");
    let start = xml.find(&open)? + open.len();
    let end = start + xml[start..].find(&format!("</{name}>"))?;
    Some(start..end)
}

/// Text of an XML element, its references resolved.
fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let reference = rest.find(';').map(|end| &rest[1..end]);
        let resolved = reference.and_then(|reference| match reference {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            number => {
                let number = number.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)
            }
        });
        match (resolved, reference) {
            (Some(c), Some(reference)) => {
                result.push(c);
                rest = &rest[reference.len() + 2..];
            }
            _ => {
                result.push('&');
                rest = &rest[1..];
            }
        }
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    fn listing(objects: &[(&str, u64)]) -> String {
        let objects = objects
            .iter()
            .map(|(key, size)| format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>"));
        format!(
            "<ListBucketResult>{}</ListBucketResult>",
            objects.collect::<String>()
        )
    }

    #[test]
    fn plain_listings_stay() {
        let plain = listing(&[("a/b.csv", 3), ("a/ü &amp; c.csv", 0), ("a/b/c", 1)]);
        assert_eq!(replaced(plain.as_bytes(), S3.1), None);
        assert_eq!(replaced(b"\xff<Contents>", S3.1), None);
        assert_eq!(replaced(b"<Contents><Key>a//b", S3.1), None);
    }

    #[test]
    fn markers_of_folders_are_left_out() {
        let marked = listing(&[("a/", 0), ("a/b.csv", 3), ("a/c/", 0)]);
        assert_eq!(
            replaced(marked.as_bytes(), S3.1),
            Some(listing(&[("a/b.csv", 3)]))
        );
    }

    #[test]
    fn azures_listings_are_read_alike() {
        let blob = |name: &str, size: u64| {
            format!(
                "<Blob><Name>{name}</Name><Properties><Content-Length>{size}</Content-Length></Properties></Blob>"
            )
        };
        let listing = |blobs: &[String]| format!("<Blobs>{}</Blobs>", blobs.concat());
        let shown = listing(&[blob("a/", 0), blob("a//b.csv", 3), blob("a/b.csv", 3)]);
        let odd = format!("{MARK}612f2f622e637376");
        assert_eq!(
            replaced(shown.as_bytes(), AZURE.1),
            Some(listing(&[blob(&odd, 3), blob("a/b.csv", 3)]))
        );
        assert_eq!(original(&odd).as_deref(), Some("a//b.csv"));
    }

    #[test]
    fn references_are_resolved() {
        assert_eq!(
            unescaped("a&amp;b&#x1;&#10;&lt;&bad;&"),
            "a&b\u{1}\n<&bad;&"
        );
    }

    proptest! {
        #[test]
        fn odd_keys_come_back(key in "[a/.\u{1}\u{f8ff}ü]{1,8}") {
            let xml = listing(&[("x", 1), (&key, 1), ("y", 1)]);
            let shown = replaced(xml.as_bytes(), S3.1).unwrap_or(xml);
            let mut keys = shown.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
            let shown = keys.nth(1).unwrap();
            let taken = Path::parse(shown).unwrap();
            prop_assert_eq!(taken.as_ref(), shown);
            prop_assert_eq!(original(shown).unwrap_or(shown.to_owned()), key);
        }

        #[test]
        fn any_answer_is_survived(body in "(<Contents>|</Contents>|<Key>|</Key>|<Size>0</Size>|a|/|&#x[0-9]{0,9};?){0,20}") {
            replaced(body.as_bytes(), S3.1);
        }
    }
}
