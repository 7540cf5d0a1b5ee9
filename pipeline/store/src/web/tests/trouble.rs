//! Servers that are busy, odd or broken.

use super::*;

#[tokio::test]
async fn a_busy_server_is_asked_again_and_then_reported() {
    let server = Server::start_with(|_, before| match before {
        0 => "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n".to_owned(),
        1 => "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => file("a\n"),
    })
    .await;
    let started = Instant::now();
    assert_eq!(server.store("").get("a.csv").await.unwrap(), "a\n");
    assert!(
        started.elapsed() > Duration::from_millis(1400),
        "the wait that it asked for"
    );

    let server =
        Server::start_with(|_, _| answer_of("503 Service Unavailable", "text/html", "busy")).await;
    let error = server.store("").get("a.csv").await.unwrap_err();
    assert!(error.is_retryable());
    assert!(
        error
            .to_string()
            .ends_with("a.csv: the server answered 503 Service Unavailable; try again later"),
        "{error}"
    );
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_costs_itself_only() {
    let server = Server::start(HashMap::from([
        (
            "/",
            page(&["closed/", "broken/", "data/", "a.csv", "shut.csv"]),
        ),
        ("/closed/", answer_of("403 Forbidden", "text/html", "no")),
        ("/broken/", answer_of("200 OK", "application/pdf", "%PDF")),
        ("/data/", page(&["b.csv"])),
        ("/a.csv", file("a\n")),
        (
            "/shut.csv",
            answer_of("401 Unauthorized", "text/html", "no"),
        ),
        ("/data/b.csv", file("b\n")),
    ]))
    .await;
    let (found, mut errors) = listed(&server.store("")).await;
    assert_eq!(paths(&found), ["a.csv", "data/b.csv"]);
    errors.sort_by(|a, b| a.path().cmp(&b.path()));
    let wrong: Vec<_> = errors
        .iter()
        .map(|it| (it.path().unwrap(), it.kind()))
        .collect();
    let entry = StoreErrorKind::Entry;
    assert_eq!(
        wrong,
        [("broken", entry), ("closed", entry), ("shut.csv", entry)]
    );
    assert!(
        errors[1].to_string().contains("access denied (403)"),
        "{}",
        errors[1]
    );
}

#[tokio::test]
async fn a_server_that_is_busy_all_the_time_ends_the_listing() {
    let server = Server::start_with(|request, _| {
        if request.starts_with("GET / ") {
            let names: Vec<String> = (0..12).map(|n| format!("{n}.csv")).collect();
            page(&names.iter().map(String::as_str).collect::<Vec<_>>())
        } else {
            answer_of("503 Service Unavailable", "text/html", "busy")
        }
    })
    .await;
    let (_, errors) = listed(&server.store("")).await;
    let ends = |it: &&StoreError| it.kind() != StoreErrorKind::Entry;
    assert_eq!(errors.len(), 12);
    assert_eq!(
        errors.iter().filter(ends).count(),
        4,
        "after eight that cost themselves only"
    );
}

#[tokio::test]
async fn a_place_that_makes_no_sense_is_survived() {
    let server = Server::start_with(|_, _| {
        "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nContent-Length: 2\r\n\
         Content-Range: bytes 18446744073709551615-18446744073709551615/10\r\n\r\n89"
            .to_owned()
    })
    .await;
    let _ = server.store("").get_tail("a.csv", 2).await;
}

#[tokio::test]
async fn a_folder_that_contains_itself_ends() {
    // Every page has a file and a folder, whatever its path.
    let server = Server::start_with(|request, _| {
        if request.contains(".csv ") {
            file("a\n")
        } else {
            page(&["a.csv", "again/"])
        }
    })
    .await;
    let (found, errors) = listed(&server.store("")).await;
    assert_eq!(found.len(), 65);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].to_string().contains("64 folders deep"),
        "{}",
        errors[0]
    );
}

#[tokio::test]
async fn what_is_no_listing_is_reported_in_one_line() {
    let server = Server::start(HashMap::from([
        ("/file/", file("a\n")),
        ("/garbage/", "\u{1}\u{2}garbage\r\n\r\n".to_owned()),
        (
            "/cut/",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<a hr".to_owned(),
        ),
    ]))
    .await;
    for (path, part) in [
        ("/file/", "is no page of links"),
        ("/none/", "does not exist"),
        ("/garbage/", "cannot reach"),
        ("/cut/", "cannot reach"),
    ] {
        let (found, errors) = listed(&server.store(path)).await;
        assert_eq!((found.len(), errors.len()), (0, 1), "{path}");
        let wrong = errors[0].to_string();
        assert!(wrong.contains(part) && !wrong.contains('\n'), "{wrong}");
    }
    let (_, errors) = listed(&open("http://127.0.0.1:9/").unwrap()).await;
    assert_eq!(errors[0].kind(), StoreErrorKind::Unreachable);
    assert!(
        errors[0].to_string().contains("connection refused"),
        "{}",
        errors[0]
    );
}

#[tokio::test]
async fn an_answer_that_stops_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 4096];
            assert!(client.read(&mut request).await.unwrap() > 0);
            let half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<a hr";
            client.write_all(half.as_bytes()).await.unwrap();
            held.push(client);
        }
    });
    let started = Instant::now();
    let (_, errors) = listed(&open(&url).unwrap()).await;
    assert_eq!(errors[0].kind(), StoreErrorKind::Unreachable);
    assert!(errors[0].to_string().contains("timed out"), "{}", errors[0]);
    assert!(started.elapsed() < Duration::from_secs(5));
}
