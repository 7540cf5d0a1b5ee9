//! The web page in a real browser (tests/browser), over a real node and a real lake with hostile
//! tables.
//!
//! Ignored unless asked for: it needs Node.js and Chromium, which `infra/browser-tools` installs
//! where it can; `infra/test` runs it then. `LIMN_PAGE_PICTURES` is the folder where pictures of
//! every page are kept.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use limn_tests::node::Node;
use limn_tests::oracle::{Asked, Oracle};
use limn_tests::{lake, limn, repository, text};
use tempfile::TempDir;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// An archive with two tables, as a book has sheets.
fn write_archive(root: &Path, path: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (member, rows) in [
        (
            "Sheet1.csv",
            "batch,paint,litres\n1,ultramarine,12\n2,ochre,7\n",
        ),
        ("notes.csv", "batch,note\n1,too thin\n2,as ordered\n"),
    ] {
        let plain = zip::write::SimpleFileOptions::default();
        archive.start_file(member, plain).unwrap();
        archive.write_all(rows.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
}

/// The model of the answers that the page asks for: it writes one statement, knows where Trieste
/// lies, and takes its time over what is slow to judge.
fn model(asked: &Asked) -> Option<String> {
    if asked.user.contains("slow to judge") {
        std::thread::sleep(Duration::from_secs(20));
    }
    let answer = match asked.user.as_str() {
        it if it.contains("CREATE TABLE") => {
            "SELECT department, count(*) AS employees, avg(salary_eur) AS salary FROM employees \
             GROUP BY department ORDER BY salary DESC"
        }
        it if it.contains("Trieste") => "yes",
        _ => "no",
    };
    Some(answer.to_owned())
}

#[test]
#[ignore = "needs a browser: infra/test asks for it where there is one"]
fn the_page_works_in_a_browser() {
    let folder = TempDir::new().unwrap();
    let (at, index) = (folder.path().join("lake"), folder.path().join("index"));
    copy(&repository().join("examples/lake"), &at);
    let script = "<script>window.pwned=1</script>";
    let image = "\"<img src=x onerror=window.pwned=1>\"";
    lake::write(
        &at,
        "nasty/script.csv",
        &format!("{script},{image}\n\"{script}\",{image}\n2,3\n"),
    );
    let long = "long ".repeat(2_500);
    let odd = "שלום\u{200f} \u{202e}abc";
    lake::write(
        &at,
        "nasty/text.csv",
        &format!("title,שלום עולם,emoji\n\"{long}\",{odd},🦀👩‍👩‍👧\u{200b}\n"),
    );
    write_archive(&at, "lab/paint_batches.zip");
    lake::write(
        &at,
        "lab/README.md",
        "# The paint laboratory\n\nWhat the laboratory mixes and measures. Ask Ines.\n",
    );
    for (run, place) in ["north", "south", "east", "west"].iter().enumerate() {
        let rows = format!("sample,viscosity\n{place}-1,{run}.5\n{place}-2,{run}.7\n");
        // Names that end in numbers would be files of one table.
        lake::write(&at, &format!("lab/runs/run_{place}.csv"), &rows);
    }
    limn(&["index", text(&at), "--index", text(&index)]).code_is(0);
    // What comes later is a change; what cannot be read counts all the same.
    lake::write(
        &at,
        "lab/pigments.csv",
        "pigment,lightfast\nochre,yes\nlake red,no\n",
    );
    lake::write(&at, "lab/damaged.parquet", "PAR1 these are no columns");
    limn(&["index", text(&at), "--index", text(&index)]).code_is(1);
    let feedback = folder.path().join("feedback.jsonl");
    let oracle = Oracle::start(model);
    let options = ["--descriptions", "--feedback", text(&feedback)];
    let asks = [&options[..], &["--ask", "llm"], &oracle.options()].concat();
    let node = Node::start(text(&index), &asks);
    let pictures = std::env::var("LIMN_PAGE_PICTURES");
    let pictures = pictures.unwrap_or_else(|_| text(&folder.path().join("pictures")).to_owned());
    let run = Command::new(repository().join("tests/browser/run"))
        .args([&node.url, &pictures])
        .status();
    assert!(run.unwrap().success());
}
