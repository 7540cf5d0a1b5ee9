#![allow(clippy::unwrap_used, clippy::expect_used)]

mod trouble;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use object_store::ObjectStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{Access, ObjectInfo, Store, StoreError, StoreErrorKind};

/// An answer to any request for a path: all that comes after the status line's version.
type Answers = HashMap<&'static str, String>;

/// A server of fixed answers, which keeps what it was asked. `{origin}` in an answer is its own.
struct Server {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: Answers) -> Server {
        Self::start_with(move |request, _| {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let answer = answers.get(path).cloned();
            answer.unwrap_or_else(|| answer_of("404 Not Found", "text/html", "no"))
        })
        .await
    }

    /// `answer` is given the request and how many came before it.
    async fn start_with(answer: impl Fn(&str, usize) -> String + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = Server {
            origin: origin.clone(),
            asked: Arc::clone(&asked),
        };
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if client.read(&mut byte).await.unwrap_or(0) == 0 {
                        break;
                    }
                    request.push(byte[0]);
                }
                let request = String::from_utf8(request).unwrap();
                let before = {
                    let mut asked = asked.lock().unwrap();
                    asked.push(request.lines().next().unwrap_or_default().to_owned());
                    asked.len() - 1
                };
                let mut text = answer(&request, before).replace("{origin}", &origin);
                if request.starts_with("HEAD ") {
                    let end = text.find("\r\n\r\n").unwrap() + 4;
                    text.truncate(end);
                }
                client.write_all(text.as_bytes()).await.unwrap();
            }
        });
        server
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn store(&self, path: &str) -> Store {
        open(&format!("{}{path}", self.origin)).unwrap()
    }
}

fn open(location: &str) -> Result<Store, StoreError> {
    let patience = ("LIMN_STALL_TIMEOUT".to_owned(), "400ms".to_owned());
    Store::open_with(location, [patience])
}

fn answer_of(status: &str, kind: &str, content: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         ETag: \"e{}\"\r\nLast-Modified: Sun, 22 Nov 2026 00:00:00 GMT\r\n\r\n{content}",
        content.len(),
        content.len()
    )
}

fn page(links: &[&str]) -> String {
    let links: String = links
        .iter()
        .map(|link| format!("<a href=\"{link}\">x</a>\n"))
        .collect();
    answer_of(
        "200 OK",
        "text/html; charset=utf-8",
        &format!("<html><body>{links}"),
    )
}

fn file(content: &str) -> String {
    answer_of("200 OK", "text/csv", content)
}

async fn listed(store: &Store) -> (Vec<ObjectInfo>, Vec<StoreError>) {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for item in store.list("").collect::<Vec<_>>().await {
        match item {
            Ok(info) => found.push(info),
            Err(error) => errors.push(error),
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    (found, errors)
}

fn paths(found: &[ObjectInfo]) -> Vec<&str> {
    found.iter().map(|info| info.path.as_str()).collect()
}

#[tokio::test]
async fn a_folder_is_its_page_and_those_below() {
    let server = Server::start(HashMap::from([
        (
            "/lake%20of%20us/",
            page(&[
                "?C=N",
                "../",
                "b%20%C3%BC.csv",
                "sub/",
                "gone.csv",
                "sub/deep/c.csv",
                "a%2Fb.csv",
            ]),
        ),
        ("/lake%20of%20us/b%20%C3%BC.csv", file("x,y\n")),
        (
            "/lake%20of%20us/sub/",
            page(&["/lake%20of%20us/", "deep/", "none/", "r.csv"]),
        ),
        ("/lake%20of%20us/sub/r.csv", file("r\n1\n")),
        ("/lake%20of%20us/sub/deep/", page(&["c.csv"])),
        ("/lake%20of%20us/sub/deep/c.csv", file("c\n")),
    ]))
    .await;
    let store = server.store("/lake of us/");
    assert_eq!(store.url(), format!("{}/lake%20of%20us", server.origin));
    let (found, errors) = listed(&store).await;
    assert_eq!(paths(&found), ["b ü.csv", "sub/deep/c.csv", "sub/r.csv"]);
    let first = &found[0];
    assert_eq!((first.size, first.etag.as_deref()), (4, Some("\"e4\"")));
    assert_eq!(first.modified_ms, 1_795_305_600_000);
    let mut wrong: Vec<_> = errors.iter().map(|it| (it.kind(), it.path())).collect();
    wrong.sort_by_key(|it| it.1);
    let entry = StoreErrorKind::Entry;
    assert_eq!(
        wrong,
        [(entry, Some("a%2Fb.csv")), (entry, Some("sub/none"))],
        "a removed folder that is linked to may be back tomorrow"
    );
    assert_eq!(
        store.object_url("b ü.csv"),
        format!("{}/lake%20of%20us/b%20%C3%BC.csv", server.origin)
    );
    let asked = server.asked();
    let deep = asked.iter().filter(|it| it.contains("deep/c.csv")).count();
    assert_eq!(deep, 1, "a file that two pages link to is one: {asked:?}");
    let counts = store.counts();
    assert_eq!((counts.list, counts.head, counts.get), (4, 4, 0));

    let folder = store.list_folder("sub").await.unwrap();
    assert_eq!(paths(&folder), ["sub/r.csv"]);
    assert!(store.list_folder("sub/none").await.unwrap().is_empty());
    assert_eq!(store.get("b ü.csv").await.unwrap(), "x,y\n");
}

#[tokio::test]
async fn nobody_is_asked_about_files_that_are_not_wanted() {
    let server = Server::start(HashMap::from([
        ("/", page(&["a.pdf", "b.csv", "c.pdf"])),
        ("/b.csv", file("b\n")),
    ]))
    .await;
    let store = server.store("");
    let items = store.list_wanted("", |path| path.ends_with(".csv"));
    let found: Vec<ObjectInfo> = items.map(Result::unwrap).collect().await;
    let sizes: Vec<(&str, u64)> = found.iter().map(|it| (&*it.path, it.size)).collect();
    assert_eq!(sizes, [("a.pdf", 0), ("b.csv", 2), ("c.pdf", 0)]);
    assert_eq!(server.asked(), ["GET / HTTP/1.1", "HEAD /b.csv HTTP/1.1"]);
}

#[tokio::test]
async fn a_url_with_an_extension_is_one_file() {
    let server = Server::start(HashMap::from([("/data/a%20b.csv", file("a,b\n1,2\n"))])).await;
    let store = server.store("/data/a b.csv");
    assert_eq!(store.url(), format!("{}/data/a%20b.csv", server.origin));
    let (found, errors) = listed(&store).await;
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(paths(&found), ["a b.csv"]);
    assert_eq!(store.object_url("a b.csv"), store.url());
    assert_eq!(store.get_range("a b.csv", 0..3).await.unwrap(), "a,b");
    assert_eq!(paths(&store.list_folder("").await.unwrap()), ["a b.csv"]);
    let error = store.get("other.csv").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn a_server_without_ranges_is_asked_once_for_each_file() {
    let server = Server::start(HashMap::from([("/a.csv", file("0123456789"))])).await;
    let store = server.store("");
    assert_eq!(store.get_range("a.csv", 2..5).await.unwrap(), "234");
    assert_eq!(store.get_range("a.csv", 5..7).await.unwrap(), "56");
    assert_eq!(store.get_range("a.csv", 8..20).await.unwrap(), "89");
    assert_eq!(
        store.get_tail("a.csv", 4).await.unwrap(),
        ("6789".into(), 10)
    );
    let asked = server.asked();
    let gets = asked.iter().filter(|it| it.starts_with("GET")).count();
    assert_eq!(gets, 1, "{asked:?}");
}

#[tokio::test]
async fn a_file_that_changes_is_not_served_as_it_was() {
    let server = Server::start_with(|_, before| match before {
        0 => file("0123456789"),
        _ => file("abcdefghijkl"),
    })
    .await;
    let store = server.store("");
    assert_eq!(store.get_range("a.csv", 2..5).await.unwrap(), "234");
    assert_eq!(store.get_range("a.csv", 2..5).await.unwrap(), "cde");
}

#[tokio::test]
async fn a_server_with_ranges_is_asked_for_parts() {
    let server = Server::start_with(|request, _| {
        let range = request.lines().find(|line| line.starts_with("range: "));
        match range {
            Some("range: bytes=2-4") => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n\
                 Content-Range: bytes 2-4/1000000000000\r\nContent-Length: 3\r\n\r\n234"
                .to_owned(),
            Some("range: bytes=-2") => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n\
                 Content-Range: bytes 8-9/10\r\nContent-Length: 2\r\n\r\n89"
                .to_owned(),
            // Another part than was asked for, and more of one.
            Some("range: bytes=3-4") => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n\
                 Content-Range: bytes 0-1/10\r\nContent-Length: 2\r\n\r\n01"
                .to_owned(),
            Some("range: bytes=4-4") => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n\
                 Content-Range: bytes 4-4/10\r\n\r\n456789"
                .to_owned(),
            _ => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx"
                .to_owned(),
        }
    })
    .await;
    let store = server.store("");
    assert_eq!(store.get_range("a.csv", 2..5).await.unwrap(), "234");
    assert_eq!(store.get_tail("a.csv", 2).await.unwrap(), ("89".into(), 10));
    for range in [3..5, 4..5, 0..1] {
        let error = store.get_range("a.csv", range).await.unwrap_err();
        assert!(error.to_string().contains("makes no sense"), "{error}");
    }
}

#[tokio::test]
async fn a_large_file_of_a_server_without_ranges_is_an_error_that_says_so() {
    let server = Server::start(HashMap::from([(
        "/large.csv",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\nabc".to_owned(),
    )]))
    .await;
    let store = server.store("");
    let error = store.get_range("large.csv", 0..3).await.unwrap_err();
    let wrong = error.to_string();
    assert!(
        wrong.contains("whole only") && wrong.contains("range requests"),
        "{wrong}"
    );
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn redirects_stay_with_the_server() {
    let to = |target: &str| {
        format!(
            "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let server = Server::start(HashMap::from([
        ("/here/", to("{origin}/there/")),
        ("/there/", page(&["a.csv", "/here/b.csv"])),
        ("/here/a.csv", to("/there/a.csv")),
        ("/there/a.csv", file("a\n")),
        ("/away/", to("http://metadata.internal/secret?token=x")),
        ("/round/", to("/round/")),
    ]))
    .await;
    let (found, errors) = listed(&server.store("/here/")).await;
    assert_eq!((paths(&found), errors.len()), (vec!["a.csv"], 0));
    let (_, errors) = listed(&server.store("/away/")).await;
    let wrong = errors[0].to_string();
    assert!(
        wrong.contains("redirects to http://metadata.internal;"),
        "{wrong}"
    );
    assert!(!wrong.contains("secret"), "{wrong}");
    let (_, errors) = listed(&server.store("/round/")).await;
    assert!(
        errors[0].to_string().contains("without end"),
        "{}",
        errors[0]
    );
}

#[tokio::test]
async fn a_server_that_knows_no_head_is_asked_for_the_first_byte() {
    let server = Server::start_with(|request, _| match request.split(' ').next() {
        Some("HEAD") => answer_of("405 Method Not Allowed", "text/html", "no"),
        _ if request.starts_with("GET / ") => page(&["a.csv"]),
        _ => "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: 1\r\n\
              ETag: \"v\"\r\nContent-Range: bytes 0-0/12345\r\n\r\nx"
            .to_owned(),
    })
    .await;
    let (found, errors) = listed(&server.store("")).await;
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(
        (found[0].size, found[0].etag.as_deref()),
        (12_345, Some("\"v\""))
    );
}

#[tokio::test]
async fn nothing_can_be_written() {
    let server = Server::start(HashMap::new()).await;
    let store = server.store("");
    assert!(store.is_read_only() && !Store::in_memory().is_read_only());
    for error in [
        store.put("a", "x".into()).await.unwrap_err(),
        store
            .put_if_absent("a", "x".into())
            .await
            .map(|_| ())
            .unwrap_err(),
        store.delete("a").await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("can only be read"), "{error}");
    }
    let client = store.object_store();
    assert!(client.list_with_delimiter(None).await.is_err());
    assert!(server.asked().is_empty());
}

#[test]
fn addresses_that_make_no_lake_are_refused_without_their_secrets() {
    for (location, part) in [
        ("https://", "is no address"),
        ("https://me:SeCrEt@host/x/", "credentials do not belong"),
        ("https://host/x.csv?sig=SeCrEt", "a query"),
        ("https://host/a%2Fb.csv", "no file's name"),
    ] {
        let error = open(location).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Configuration, "{location}");
        let wrong = format!("{error} {error:?}");
        assert!(wrong.contains(part) && !wrong.contains("SeCrEt"), "{wrong}");
    }
    let pays = Access {
        requester_pays: true,
        ..Access::default()
    };
    assert!(Store::open_for("https://host/", &pays, []).is_err());
    for (location, url) in [
        ("HTTPS://Host:443/a/../b//", "https://host/b"),
        ("http://host", "http://host"),
        ("http://host/v1.2/", "http://host/v1.2"),
        ("http://host/a#x", "http://host/a"),
    ] {
        assert_eq!(open(location).unwrap().url(), url, "{location}");
    }
}
