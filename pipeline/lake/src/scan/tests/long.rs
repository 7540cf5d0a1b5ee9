//! Texts too long to be held at once.

use super::*;

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// What is longer than the budget is read window by window, as it is when it is read at once.
#[tokio::test]
async fn long_texts_have_all_their_rows() {
    let rows = 120_000;
    let csv: String = (0..rows)
        .map(|n| format!("{n},\"a, {n}\nb\",{}.5\n", n % 7))
        .collect();
    let csv = format!("id,text,x\n{csv}\nSource: here\n");
    let json: String = (0..rows)
        .map(|n| format!("{{\"id\":{n},\"x\":{}.5}}\n", n % 7))
        .collect();
    let fixed: String = (0..rows)
        .map(|n| format!("{n:<12} {:<8} {}\n", format!("w{}", n % 9), n % 7))
        .collect();
    let fixed = format!("{:<12} {:<8} x\n{fixed}", "id", "word");
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(csv.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let options = ReadOptions {
        scan_budget: 256 << 10,
        ..ReadOptions::default()
    };
    for (path, content) in [
        ("a.csv", csv.clone().into_bytes()),
        ("a.csv.gz", gzip(csv.as_bytes())),
        ("a16.csv", utf16),
        ("a.jsonl", json.clone().into_bytes()),
        ("a.jsonl.gz", gzip(json.as_bytes())),
        ("a.txt", fixed.into_bytes()),
    ] {
        let table = table_with(&[(path, content)], &options).await;
        let found = all(&table).await;
        assert_eq!(found.len(), rows, "{path}: {:?}", found.last());
        let last = &found[rows - 1];
        assert!(
            last.starts_with(&format!("{}|", rows - 1)),
            "{path}: {last}"
        );
        let request = Request {
            columns: Some(vec![0]),
            ..Request::default()
        };
        let (ids, report) = batches(&table, request).await;
        let ids = shown(&ids);
        assert!((0..rows).all(|n| ids[n] == n.to_string()), "{path}");
        assert_eq!(report.misfits(), [], "{path}");
    }
}
