//! PDFs about tables, read by the real binary in a process apart: their descriptions of columns go
//! to the columns, and whatever a PDF is like, it costs itself, a while, and memory within bounds.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use limn_tests::{index_hashed, index_hashed_command, limn, limn_command, measured, text};
use tempfile::TempDir;

/// What the process may take by its own limit, and what is not its own memory.
const MOST_MEMORY: u64 = (1 << 30) + (256 << 20);

/// A PDF of these objects, numbered from 1, of which the first is its catalog; `trailer` says more
/// of it.
fn pdf(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (object, number) in objects.iter().zip(1..) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").into_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (table, size) = (file.len(), objects.len() + 1);
    file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").into_bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    file.extend(
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n")
            .into_bytes(),
    );
    file
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dictionary} /Length {} >>\nstream\n", content.len()).into_bytes();
    object.extend(content);
    object.extend(b"\nendstream");
    object
}

/// One page with this content.
fn page(content: Vec<u8>, trailer: &str) -> Vec<u8> {
    let of = |text: &str| text.as_bytes().to_vec();
    pdf(
        &[
            of("<< /Type /Catalog /Pages 2 0 R >>"),
            of("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
            of(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
                /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >> >>",
            ),
            content,
            of("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
            stream(
                "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X1 6 0 R >> >>",
                b"/X1 Do",
            ),
            // Of a password that nobody knows.
            of(&format!(
                "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{0}> /U <{0}> >>",
                "5a".repeat(32)
            )),
        ],
        trailer,
    )
}

/// Rows of a name and a description, as a table on the page.
fn dictionary(rows: &[(&str, &str)]) -> Vec<u8> {
    let mut content =
        String::from("BT /F1 11 Tf 72 720 Td (Orders of the shop, told each night) Tj ");
    for (name, description) in rows {
        content += &format!(
            "0 -18 Td ({name}) Tj 80 0 Td (text) Tj 60 0 Td ({description}) Tj -140 0 Td "
        );
    }
    content += "ET";
    page(stream("", content.as_bytes()), "")
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(1));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Zeros, packed: `size` bytes of them.
fn packed_zeros(size: usize) -> Vec<u8> {
    let (mut encoder, block) = (
        ZlibEncoder::new(Vec::new(), Compression::new(1)),
        [b' '; 1 << 16],
    );
    for _ in 0..size / block.len() {
        encoder.write_all(&block).unwrap();
    }
    encoder.finish().unwrap()
}

const ROWS: [(&str, &str); 2] = [
    ("order_id", "The number of the order"),
    ("placed", "When it came, in UTC"),
];

#[test]
fn what_a_pdf_says_of_columns_goes_to_them() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    for place in ["a", "b"] {
        fs::create_dir_all(lake.join(place)).unwrap();
        fs::write(
            lake.join(place).join("orders.csv"),
            "order_id,placed\n1,2020-01-02\n2,2020-01-03\n",
        )
        .unwrap();
    }
    fs::write(lake.join("a/orders.pdf"), dictionary(&ROWS)).unwrap();
    fs::write(lake.join("b/shop_codebook.pdf"), dictionary(&ROWS)).unwrap();
    index_hashed(&lake, &index, &[]).code_is(0);
    for table in ["a/orders", "b/orders"] {
        let shown = limn(&["show", table, "--index", text(&index), "--json"]).ok()[0].clone();
        for (at, (_, description)) in ROWS.iter().enumerate() {
            assert_eq!(shown["columns"][at]["description"], *description, "{shown}");
        }
        let got = shown["contexts"][0]["text"].as_str().unwrap();
        assert!(
            got.starts_with("Orders of the shop, told each night\n"),
            "{got}"
        );
    }
    // It is described again when it changes, and not before.
    let again = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(again["tables"]["unchanged"], 2, "{again}");
    fs::write(
        lake.join("a/orders.pdf"),
        dictionary(&[("placed", "The day of the order")]),
    )
    .unwrap();
    let changed = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(changed["tables"]["changed"], 1, "{changed}");
}

#[test]
fn hostile_pdfs_cost_themselves() {
    let loops = |kids: &str| {
        let of = |text: &str| text.as_bytes().to_vec();
        pdf(
            &[
                of("<< /Type /Catalog /Pages 2 0 R >>"),
                of(&format!(
                    "<< /Type /Pages /Parent 2 0 R /Kids [{kids}] /Count 1000000000 >>"
                )),
                of("<< /Type /Page /Parent 2 0 R /Contents 3 0 R >>"),
            ],
            "",
        )
    };
    let bomb = packed(&packed_zeros(3 << 30));
    let bomb = |dictionary: &str| {
        stream(
            &format!("{dictionary} /Filter [/FlateDecode /FlateDecode]"),
            &bomb,
        )
    };
    let objects = |count: usize| {
        let mut all = vec![
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Kids [] >>".to_vec(),
        ];
        all.extend((0..count).map(|_| bomb("/Type /ObjStm /N 1000000 /First 10")));
        pdf(&all, "")
    };
    let plain = dictionary(&ROWS);
    let locked = "/ID [<00> <00>] /Encrypt 7 0 R";
    let cases: BTreeMap<&str, (Vec<u8>, &str)> = BTreeMap::from([
        ("bomb", (page(bomb(""), ""), "")),
        ("object_streams", (objects(4), "")),
        ("loop_of_pages", (loops("2 0 R"), "")),
        ("loop_of_parents", (loops("3 0 R"), "")),
        ("loop_of_forms", (page(stream("", b"/X1 Do"), ""), "")),
        ("cut_off", (plain[..plain.len() / 2].to_vec(), "")),
        (
            "scanned",
            (
                page(stream("", b"0 0 9 9 re f"), ""),
                "perhaps its pages are pictures",
            ),
        ),
        (
            "locked",
            (page(stream("", b"BT ET"), locked), "asks for a password"),
        ),
        ("a_page", (b"<html>not found</html>".to_vec(), "is none")),
        ("nothing", (b"%PDF-1.7\n".to_vec(), "damaged")),
    ]);
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    for (name, (content, _)) in &cases {
        let place = lake.join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("t.csv"), "a,b\n1,2\n").unwrap();
        fs::write(place.join("t.pdf"), content).unwrap();
    }
    let begun = Instant::now();
    let (run, memory) = measured(&index_hashed_command(&lake, &index, &[]));
    let took = begun.elapsed();
    let report = run.json();
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_eq!(report["tables"]["added"], cases.len(), "{report}");
    let failures = report["failures"].as_array().unwrap();
    let got: BTreeMap<&str, &str> = failures
        .iter()
        .map(|it| {
            (
                it["object"].as_str().unwrap(),
                it["error"].as_str().unwrap(),
            )
        })
        .collect();
    println!("{got:#?}\n{took:?}, {} MiB", memory >> 20);
    for (name, (_, words)) in &cases {
        let line = got.get(format!("{name}/t.pdf").as_str());
        let line = line.unwrap_or_else(|| panic!("{name} is not reported: {got:#?}"));
        assert!(
            line.contains(words) && !line.contains('\n'),
            "{name}: {line}"
        );
        assert!(
            line.contains("save its text") || name == &"a_page",
            "{name}: {line}"
        );
    }
    assert!(took < Duration::from_secs(120), "took {took:?}");
    assert!(memory < MOST_MEMORY, "{} MiB", memory >> 20);
    // None is read again while it is unchanged.
    let begun = Instant::now();
    let again = index_hashed(&lake, &index, &[]);
    again.code_is(0);
    assert_eq!(again.json()["failures"], report["failures"]);
    assert!(
        begun.elapsed() < took / 4,
        "{:?} of {took:?}",
        begun.elapsed()
    );
}

#[test]
fn the_process_apart_opens_nothing_and_says_by_its_code_why_not() {
    let mut process = limn_command(&["pdf-text"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(b"no PDF").unwrap();
    let ended = process.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(43), 0));
    let help = limn(&["--help"]).stdout;
    assert!(!help.contains("pdf"), "{help}");
}
