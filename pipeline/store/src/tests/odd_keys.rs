//! Listings of S3 with odd keys.

use super::*;

/// Answers every request with this listing.
fn s3_that_lists(listing: String) -> Store {
    use std::io::{Read, Write};
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", server.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in server.incoming() {
            let mut connection = connection.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if connection.read(&mut byte).unwrap() == 0 {
                    break;
                }
                request.push(byte[0]);
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                listing.len()
            );
            connection.write_all((head + &listing).as_bytes()).unwrap();
        }
    });
    let variables = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_SKIP_SIGNATURE", "true"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Store::open_with("s3://lake/raw", variables).unwrap()
}

#[test]
fn an_odd_key_on_s3_costs_itself_only() {
    runtime().block_on(async {
        let keys = [
            ("raw/", 0),
            ("raw//2024.csv", 3),
            ("raw/a/../b.csv", 3),
            ("raw/a&#x1;.csv", 3),
            ("raw/a.csv", 3),
            ("raw/a.csv/", 0),
            ("raw/full.csv/", 3),
            ("/raw/a.csv", 3),
            ("raw/ü &amp; &lt;.csv", 3),
        ];
        let objects = keys.map(|(key, size)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
                 <ETag>\"x\"</ETag><Size>{size}</Size></Contents>"
            )
        });
        let store = s3_that_lists(format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>lake</Name>{}\
             <IsTruncated>false</IsTruncated></ListBucketResult>",
            objects.concat()
        ));
        let items: Vec<_> = store.list("").collect().await;
        let found: Vec<_> = items.iter().flatten().map(|i| i.path.as_str()).collect();
        assert_eq!(found, ["a.csv", "ü & <.csv"]);
        let wrong: Vec<_> = items.iter().filter_map(|i| i.as_ref().err()).collect();
        assert!(wrong.iter().all(|e| e.kind() == StoreErrorKind::Entry));
        let objects: Vec<_> = wrong.iter().map(|e| e.object()).collect();
        assert_eq!(
            objects,
            [
                "s3://lake/raw//2024.csv",
                "s3://lake/raw/a/../b.csv",
                "s3://lake/raw/a .csv",
                "s3://lake/raw/full.csv/",
                "s3://lake//raw/a.csv"
            ]
        );
    });
}

#[test]
fn folders_with_odd_names_on_s3_are_not_listed_on_their_own() {
    runtime().block_on(async {
        let answer = |folder: &str| {
            format!(
                "<?xml version=\"1.0\"?><ListBucketResult><Name>lake</Name>\
                 <Contents><Key>raw/a&#x1;.csv</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
                 <ETag>\"x\"</ETag><Size>3</Size></Contents>\
                 <CommonPrefixes><Prefix>raw/a.csv/</Prefix></CommonPrefixes>\
                 <CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>\
                 <IsTruncated>false</IsTruncated></ListBucketResult>"
            )
        };
        for odd in ["raw//", "/", "raw/../", "raw/a&#x1;/"] {
            let store = s3_that_lists(answer(odd));
            assert!(store.entries("").await.is_none(), "{odd}");
        }
        let store = s3_that_lists(answer("raw/ü b/"));
        let (objects, folders) = store.entries("").await.unwrap();
        assert_eq!(folders, ["a.csv", "ü b"]);
        let kinds: Vec<_> = objects.iter().flat_map(|it| it.as_ref().err()).map(StoreError::kind).collect();
        assert_eq!(kinds, [StoreErrorKind::Entry]);
    });
}
