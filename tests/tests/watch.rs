//! `limn watch` on the real binary: what changes in the lake is searchable soon, after a
//! notification by the file system or over HTTP, and a watch that is asked to end does so in good
//! order.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use limn_tests::s3::S3Server;
use limn_tests::{lake, limn_command, text};
use tempfile::TempDir;

/// A running `limn watch`; killed when dropped.
struct Watch {
    process: Child,
}

impl Watch {
    fn start(lake: &str, index: &str, more: &[&str], environment: &[(&str, String)]) -> Self {
        let mut arguments = vec![
            "watch",
            lake,
            "--index",
            index,
            "--embedder",
            "hashed-words",
        ];
        arguments.extend(["--quiet", "200ms", "--json"]);
        arguments.extend(more);
        let mut command = limn_command(&arguments);
        let process = command
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { process }
    }

    /// The address that it says it takes events at.
    fn address(&mut self) -> String {
        let mut lines = BufReader::new(self.process.stderr.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let (_, after) = line.split_once("http://").expect(&line);
        // What else it says must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        after.split('/').next().unwrap().to_owned()
    }

    /// Asks it to end; its exit code and the runs that it reported.
    fn end(mut self) -> (Option<i32>, Vec<serde_json::Value>) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.process.id().to_string()])
            .status();
        assert!(asked.unwrap().success());
        let mut said = String::new();
        let mut stdout = self.process.stdout.take().unwrap();
        stdout.read_to_string(&mut said).unwrap();
        let code = self.process.wait().unwrap().code();
        let runs = said.lines().map(|line| serde_json::from_str(line).unwrap());
        (code, runs.collect())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

/// Waits until the index has these tables.
fn wait_for(index: &str, expected: &[&str], environment: &[(&str, String)]) {
    let started = Instant::now();
    loop {
        let mut command = limn_command(&["tables", "--index", index, "--json"]);
        let found = limn_tests::run(command.envs(environment.iter().map(|(n, v)| (n, v))));
        let names: Vec<String> = match found.code {
            0 => found.json().as_array().unwrap().iter().map(name).collect(),
            _ => Vec::new(),
        };
        if names == expected {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{names:?} instead of {expected:?}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn name(table: &serde_json::Value) -> String {
    table["table"].as_str().unwrap().to_owned()
}

fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /v1/events HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn files_that_come_change_and_go_are_in_the_index_soon() {
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    lake::write(&root, "lakes.csv", "lake,depth\nBlue,3\n");
    // The index lies in the lake: its own files are no change of the lake.
    let index = root.join("index.limn");
    let index = text(&index);
    let watch = Watch::start(text(&root), index, &["--every", "1h"], &[]);
    wait_for(index, &["lakes"], &[]);
    lake::write(&root, "north/rivers.csv", "river,length\nRed,9\n");
    wait_for(index, &["lakes", "north/rivers"], &[]);
    fs::remove_file(root.join("lakes.csv")).unwrap();
    wait_for(index, &["north/rivers"], &[]);
    fs::rename(root.join("north"), root.join("south")).unwrap();
    wait_for(index, &["south/rivers"], &[]);
    let (code, runs) = watch.end();
    assert_eq!(code, Some(0));
    assert!(runs.len() >= 4, "{runs:?}");
    verified(index, &[]);
}

#[test]
fn a_lake_that_is_away_for_a_while_is_waited_for() {
    let scratch = TempDir::new().unwrap();
    let (root, away) = (scratch.path().join("lake"), scratch.path().join("away"));
    lake::write(&root, "lakes.csv", "lake,depth\nBlue,3\n");
    let index = scratch.path().join("index.limn");
    let index = text(&index);
    let mut watch = Watch::start(text(&root), index, &["--every", "500ms"], &[]);
    wait_for(index, &["lakes"], &[]);
    fs::rename(&root, &away).unwrap();
    let mut said = BufReader::new(watch.process.stderr.take().unwrap()).lines();
    let is_reported = |line: std::io::Result<String>| line.unwrap().contains("tried again");
    assert!(said.any(is_reported), "it says that the lake is away");
    std::thread::spawn(move || said.for_each(drop));
    lake::write(&away, "north/rivers.csv", "river,length\nRed,9\n");
    fs::rename(&away, &root).unwrap();
    wait_for(index, &["lakes", "north/rivers"], &[]);
    assert_eq!(watch.end().0, Some(0));
}

/// Processor time that a process has had, in ticks of 10 ms, and how often each of its threads was
/// woken.
#[cfg(target_os = "linux")]
fn work_of(process: u32) -> (u64, BTreeMap<String, u64>) {
    let of = format!("/proc/{process}");
    let stat = fs::read_to_string(format!("{of}/stat")).unwrap();
    let (_, after) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = [fields[11], fields[12]].map(|ticks| ticks.parse::<u64>().unwrap());
    let threads = fs::read_dir(format!("{of}/task")).unwrap();
    let woken = threads.filter_map(|thread| {
        // A thread may have ended meanwhile.
        let thread = thread.ok()?.path();
        let status = fs::read_to_string(thread.join("status")).ok()?;
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        Some((thread.to_str()?.to_owned(), line.trim().parse().ok()?))
    });
    (ticks.iter().sum(), woken.collect())
}

#[cfg(target_os = "linux")]
#[test]
fn a_watch_with_nothing_to_do_takes_no_processor_time() {
    for workers in ["1", "2"] {
        let scratch = TempDir::new().unwrap();
        let root = scratch.path().join("lake");
        lake::write(&root, "lakes.csv", "lake,depth\nBlue,3\n");
        let index = scratch.path().join("index.limn");
        let index = text(&index);
        let watch = Watch::start(text(&root), index, &["--workers", workers], &[]);
        wait_for(index, &["lakes"], &[]);
        let started = Instant::now();
        loop {
            let before = work_of(watch.process.id());
            std::thread::sleep(Duration::from_secs(5));
            let after = work_of(watch.process.id());
            let woken = after.1.iter().filter_map(|(thread, count)| {
                let before = before.1.get(thread)?;
                Some(count - before)
            });
            // A tick may end in these seconds.
            let work = (after.0 - before.0, woken.sum::<u64>());
            if work.0 <= 1 && work.1 <= 10 {
                break;
            }
            let waited = started.elapsed();
            assert!(waited < Duration::from_secs(60), "{work:?} in 5 s");
        }
        // It wakes at once when there is something to do again, and when it is asked to end.
        let written = Instant::now();
        lake::write(&root, "north/rivers.csv", "river,length\nRed,9\n");
        wait_for(index, &["lakes", "north/rivers"], &[]);
        // Sleepers that nobody wakes look after half a minute.
        assert!(written.elapsed() < Duration::from_secs(15));
        std::thread::sleep(Duration::from_secs(1));
        let asked = Instant::now();
        assert_eq!(watch.end().0, Some(0));
        assert!(asked.elapsed() < Duration::from_secs(10));
    }
}

/// Whenever it is asked to end, it says what it has published and ends in good order.
#[test]
fn a_first_run_that_is_interrupted_is_reported() {
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    for number in 0..1500 {
        let path = format!("t{number}/data.csv");
        lake::write(&root, &path, &format!("lake,depth\nBlue {number},3\n"));
    }
    for wait in [0, 250, 400, 600, 900] {
        let index = scratch.path().join(format!("index{wait}.limn"));
        let watch = Watch::start(text(&root), text(&index), &["--every", "1h"], &[]);
        // Signals are taken once it runs.
        std::thread::sleep(Duration::from_millis(150 + wait));
        let (code, runs) = watch.end();
        assert_eq!(code, Some(0), "after {wait} ms");
        let published = index.join("snapshots").is_dir();
        assert_eq!(!runs.is_empty(), published, "after {wait} ms: {runs:?}");
    }
}

fn verified(index: &str, environment: &[(&str, String)]) {
    let mut command = limn_command(&["verify", "--index", index]);
    let run = limn_tests::run(command.envs(environment.iter().map(|(n, v)| (n, v))));
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn events_over_http_are_looked_into_where_they_point_and_nowhere_else() {
    let server = S3Server::start();
    let environment = server.environment();
    let scratch = TempDir::new().unwrap();
    let put = |path: &str, content: &str| {
        let folder = TempDir::new_in(scratch.path()).unwrap();
        lake::write(folder.path(), path, content);
        let top = path.split('/').next().unwrap();
        server.copy_in(&folder.path().join(top), "data");
    };
    put("north/lakes.csv", "lake,depth\nBlue,3\n");
    let index = &server.url("index");
    let listen = ["--every", "1h", "--listen", "127.0.0.1:0"];
    let mut watch = Watch::start(&server.url("data"), index, &listen, &environment);
    let address = watch.address();
    wait_for(index, &["north/lakes"], &environment);

    put("south/rivers.csv", "river,length\nRed,9\n");
    put("west/wells.csv", "well,depth\nOld,9\n");
    let event = serde_json::json!({"Records": [{
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": server.bucket}, "object": {"key": "data/south/rivers.csv"}},
    }]});
    let answer = post(&address, &event.to_string());
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    wait_for(index, &["north/lakes", "south/rivers"], &environment);
    let answer = post(&address, "{\"no\": \"event\"");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let (code, runs) = watch.end();
    assert_eq!(code, Some(0));
    // Nobody announced the wells, and the listing of all is an hour away.
    let last = runs.last().unwrap();
    assert_eq!(last["objects"]["listed"], 1, "{last}");
    assert_eq!(last["tables"]["added"], 1);
    verified(index, &environment);
}

#[test]
fn what_cannot_be_watched_says_so_at_once() {
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    let missing: &Path = &scratch.path().join("missing");
    let lake = scratch.path().join("lake");
    lake::write(&lake, "lakes.csv", "lake,depth\nBlue,3\n");
    for (lake, more, why) in [
        (missing, &[][..], "missing"),
        (&lake, &["--listen", "0.0.0.0:0"][..], "LIMN_EVENTS_TOKEN"),
    ] {
        let mut arguments = vec!["watch", text(lake), "--index", text(&index)];
        arguments.extend(["--embedder", "hashed-words"]);
        arguments.extend(more);
        let run = limn_tests::limn(&arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    }
}
