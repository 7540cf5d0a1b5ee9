//! `limn index` on several processes: the same index as one makes, and a clear end when one is
//! lost.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use limn_tests::answers::everything;
use limn_tests::{Run, index_hashed, lake, limn, limn_command, text};
use serde_json::Value;
use tempfile::TempDir;

/// However busy the machine, nothing here takes so long unless it hangs.
const LIMIT: Duration = Duration::from_secs(90);

/// Addresses of this machine at which nobody listens.
pub fn hosts(processes: usize) -> String {
    let free: Vec<TcpListener> = (0..processes)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let addresses = free.iter().map(|it| it.local_addr().unwrap().to_string());
    addresses.collect::<Vec<_>>().join(",")
}

/// A lake and an index, and processes that are killed at the end whatever happens.
pub struct Ground {
    scratch: TempDir,
    processes: Vec<Option<Child>>,
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in self.processes.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Ground {
    pub fn new() -> Self {
        Self {
            scratch: TempDir::new().unwrap(),
            processes: Vec::new(),
        }
    }

    pub fn lake(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    pub fn index(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Many small tables: with an epoch for every few of them a run takes seconds.
    pub fn with_many_tables(self) -> Self {
        self.with_tables(120)
    }

    /// So many small tables, each in a folder of its own.
    pub fn with_tables(self, count: usize) -> Self {
        for table in 0..count {
            let rows: String = (0..20)
                .map(|row| format!("{row},place {},{}\n", row * table, row * 7 + table))
                .collect();
            let content = format!("id,place_{table},amount_{}\n{rows}", table % 7);
            lake::write(&self.lake(), &format!("d{table}/t{table}.csv"), &content);
        }
        self
    }

    pub fn start(&mut self, index: &Path, more: &[&str]) -> usize {
        let command = self.command(index, more);
        self.spawn(command)
    }

    /// The command that makes an index of the lake.
    pub fn command(&self, index: &Path, more: &[&str]) -> Command {
        let lake = self.lake();
        let mut arguments = vec!["index", text(&lake), "--index", text(index), "--json"];
        arguments.extend(["--embedder", "hashed-words"]);
        arguments.extend(more);
        limn_command(&arguments)
    }

    pub fn spawn(&mut self, mut command: Command) -> usize {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        self.processes.push(Some(child));
        self.processes.len() - 1
    }

    /// Starts all processes of a cluster.
    fn start_cluster(&mut self, index: &Path, processes: usize, more: &[&str]) {
        let hosts = hosts(processes);
        for process in 0..processes {
            let number = process.to_string();
            let mut arguments = vec!["--hosts", &hosts, "--process", &number];
            arguments.extend(more);
            self.start(index, &arguments);
        }
    }

    fn pid(&self, process: usize) -> u32 {
        self.processes[process].as_ref().unwrap().id()
    }

    /// How a process ended, which it must in time.
    pub fn end(&mut self, process: usize) -> Run {
        let mut child = self.processes[process].take().unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > LIMIT {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("process {process} hangs");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let (mut stdout, mut stderr) = (String::new(), String::new());
        child.stdout.unwrap().read_to_string(&mut stdout).unwrap();
        child.stderr.unwrap().read_to_string(&mut stderr).unwrap();
        Run {
            code: status.code().unwrap_or(-1),
            stdout,
            stderr,
        }
    }
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success(), "{name} {pid}");
}

pub fn snapshots(index: &Path) -> usize {
    std::fs::read_dir(index.join("snapshots")).map_or(0, Iterator::count)
}

/// Waits until a run has published a few epochs.
pub fn wait_for_snapshots(index: &Path, count: usize) {
    let started = Instant::now();
    while snapshots(index) < count {
        assert!(started.elapsed() < LIMIT, "nothing is published");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let listed = Command::new("ps")
        .args(["-o", "pid=", "--ppid", &parent.to_string()])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn is_lost(run: &Run, process: usize) -> bool {
    let line = format!("limn: process {process} at 127.0.0.1:");
    let lines: Vec<&str> = run.stderr.lines().collect();
    run.code == 2
        && lines.len() == 1
        && lines[0].starts_with(&line)
        && lines[0].contains("was lost")
        && lines[0].ends_with("what was published stays; start all processes again")
}

/// What a run cost that does not depend on who did it.
fn costs(report: &Value) -> (&Value, &Value, &Value, &Value) {
    (
        &report["tables"],
        &report["objects"],
        &report["model"]["embedded_blocks"],
        &report["failures"],
    )
}

/// One way to run a command: how many processes, with how many workers each.
const KINDS: [(usize, &str); 4] = [(1, "1"), (1, "4"), (2, "2"), (3, "1")];

/// Indexes the ground's lake with so many processes. Two are started by the command itself, three
/// one by one.
fn index(
    ground: &mut Ground,
    at: &Path,
    (processes, workers): (usize, &str),
    more: &[&str],
) -> Run {
    let mut arguments = vec!["--workers", workers];
    arguments.extend(more);
    if processes == 3 {
        let first = ground.processes.len();
        ground.start_cluster(at, processes, &arguments);
        for follower in first + 1..first + processes {
            let run = ground.end(follower);
            assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:?}");
        }
        return ground.end(first);
    }
    let count = processes.to_string();
    if processes > 1 {
        arguments.extend(["--processes", &count]);
    }
    let process = ground.start(at, &arguments);
    ground.end(process)
}

/// Indexes the ground's lake in every way, which must come to the same, and returns a report.
fn index_in_all_ways(ground: &mut Ground, code: i32, more: &[&str]) -> Value {
    let mut first: Option<(Value, Vec<Value>)> = None;
    for kind in KINDS {
        let at = ground.index(&format!("{}x{}.limn", kind.0, kind.1));
        let run = index(ground, &at, kind, more);
        run.code_is(code);
        let (report, found) = (run.json(), everything(&at));
        let (expected, answers) = first.get_or_insert_with(|| (report.clone(), found.clone()));
        assert_eq!(costs(expected), costs(&report), "{kind:?}");
        assert_eq!(*answers, found, "{kind:?}");
    }
    first.unwrap().0
}

#[test]
fn any_number_of_processes_makes_the_same_index() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    let contexts = ground.index("contexts.jsonl");
    let context =
        "{\"table\": \"music/songs\", \"context\": \"Jazz standards and who wrote them.\"}\n";
    std::fs::write(&contexts, context).unwrap();
    let report = index_in_all_ways(&mut ground, 0, &["--contexts", text(&contexts)]);
    assert_eq!(report["tables"]["added"], 7, "{report}");
    let lake = ground.lake();
    lake::write(
        &lake,
        "hr/employees.csv",
        "EmployeeID,FullName,VacationDays\n1,Ada Byron,20\n4,Barbara Liskov,25\n",
    );
    std::fs::remove_file(lake.join("shop/orders.jsonl")).unwrap();
    lake::write_parquet(&lake, "rivers/year=2024/month=04/data.parquet", 12);
    lake::write(&lake, "broken.parquet", "this is no Parquet");
    let report = index_in_all_ways(&mut ground, 1, &["--epoch-objects", "2"]);
    assert_eq!(report["tables"]["changed"], 2, "{report}");
    assert_eq!(report["tables"]["removed"], 1, "{report}");
    assert_eq!(report["tables"]["failed"], 1, "{report}");
}

#[test]
fn a_lost_process_ends_all_and_what_was_published_stays() {
    for lost in [0, 1] {
        let mut ground = Ground::new().with_many_tables();
        let at = ground.index("lake.limn");
        ground.start_cluster(&at, 3, &["--workers", "1", "--epoch-objects", "2"]);
        wait_for_snapshots(&at, 3);
        signal("-KILL", ground.pid(lost));
        for process in (0..3).filter(|process| *process != lost) {
            let run = ground.end(process);
            assert!(is_lost(&run, lost), "process {process}: {run:?}");
        }
        limn(&["verify", "--index", text(&at)]).code_is(0);
        let report = index(&mut ground, &at, (3, "1"), &[]).ok();
        assert!(
            report["tables"]["unchanged"].as_u64().unwrap() > 0,
            "{report}"
        );
        let anew = ground.index("anew.limn");
        index_hashed(&ground.lake(), &anew, &[]).ok();
        assert_eq!(everything(&at), everything(&anew));
    }
}

#[test]
fn processes_that_are_watched_are_started_again() {
    for lost in [0, 1] {
        let mut ground = Ground::new().with_many_tables();
        let at = ground.index("lake.limn");
        let more = ["--processes", "2", "--workers", "1", "--epoch-objects", "2"];
        let watching = ground.start(&at, &more);
        wait_for_snapshots(&at, 3);
        signal("-KILL", children(ground.pid(watching))[lost]);
        let run = ground.end(watching);
        assert!(
            run.stderr.contains("starting all again (1 of 3)"),
            "{run:?}"
        );
        run.ok();
        let anew = ground.index("anew.limn");
        index_hashed(&ground.lake(), &anew, &[]).ok();
        assert_eq!(everything(&at), everything(&anew));
    }
}

#[test]
fn a_silent_process_is_lost() {
    let mut ground = Ground::new().with_many_tables();
    let at = ground.index("lake.limn");
    let more = ["--workers", "1", "--epoch-objects", "2", "--silence", "3s"];
    ground.start_cluster(&at, 3, &more);
    wait_for_snapshots(&at, 3);
    let silent = ground.pid(2);
    signal("-STOP", silent);
    for process in [0, 1] {
        let run = ground.end(process);
        assert!(is_lost(&run, 2), "process {process}: {run:?}");
        assert!(
            run.stderr.contains("nothing was heard of it for 3s"),
            "{run:?}"
        );
    }
    // When it goes on, it hears what has happened.
    signal("-CONT", silent);
    let run = ground.end(2);
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{run:?}");
    assert!(run.stderr.contains("was lost"), "{run:?}");
    limn(&["verify", "--index", text(&at)]).code_is(0);
}

#[test]
fn other_options_in_one_process_are_reported_by_all() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    let at = ground.index("lake.limn");
    let hosts = hosts(2);
    ground.start(&at, &["--hosts", &hosts, "--process", "0"]);
    ground.start(
        &at,
        &["--hosts", &hosts, "--process", "1", "--sample-rows", "7"],
    );
    let said =
        "--sample-rows is 7 here and 5 in process 0; start all processes with the same options";
    let follower = ground.end(1);
    assert_eq!(
        (follower.code, follower.stderr),
        (2, format!("limn: {said}\n"))
    );
    let leader = ground.end(0);
    assert_eq!(leader.code, 2, "{leader:?}");
    assert!(
        leader.stderr.starts_with("limn: process 1 at 127.0.0.1:"),
        "{leader:?}"
    );
    assert!(leader.stderr.contains(said), "{leader:?}");
    assert_eq!(snapshots(&at), 0);
}

#[test]
fn a_process_of_another_cluster_is_refused() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    let at = ground.index("lake.limn");
    let hosts = hosts(3);
    let two = hosts.rsplit_once(',').unwrap().0.to_owned();
    ground.start(&at, &["--hosts", &two, "--process", "0"]);
    ground.start(
        &at,
        &["--hosts", &hosts, "--process", "1", "--silence", "5s"],
    );
    for process in [0, 1] {
        let run = ground.end(process);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr
                .contains("start all processes with the same limn, --hosts and --processes"),
            "{run:?}"
        );
    }
}

#[test]
fn a_process_that_never_comes_is_named() {
    for missing in [0, 1, 2] {
        let mut ground = Ground::new();
        lake::varied(&ground.lake());
        let at = ground.index("lake.limn");
        let hosts = hosts(3);
        let address = hosts.split(',').nth(missing).unwrap();
        let coming = (0..3).filter(|process| *process != missing);
        let coming = coming.map(|process| {
            let process = process.to_string();
            let options = ["--hosts", &hosts, "--process", &process, "--silence", "2s"];
            ground.start(&at, &options)
        });
        // Nobody names a process that only waits itself.
        let expected = format!("limn: process {missing} at {address} did not come within 2s: ");
        for process in coming.collect::<Vec<_>>() {
            let run = ground.end(process);
            assert_eq!(run.code, 2, "{run:?}");
            assert!(run.stderr.starts_with(&expected), "{run:?}");
        }
    }
}

#[test]
fn an_error_of_one_process_ends_all_with_its_text() {
    let mut ground = Ground::new();
    let at = ground.index("lake.limn");
    std::fs::create_dir_all(ground.lake()).unwrap();
    lake::write(&ground.lake(), "planets.csv", "planet,moons\nMars,2\n");
    index_hashed(&ground.lake(), &at, &[]).ok();
    std::fs::remove_file(ground.lake().join("planets.csv")).unwrap();
    ground.start_cluster(&at, 2, &[]);
    let (leader, follower) = (ground.end(0), ground.end(1));
    assert!(
        leader.stderr.contains("lists no object at all"),
        "{leader:?}"
    );
    assert_eq!((leader.code, follower.code), (2, 2));
    assert!(follower.stderr.contains("ended the run: "), "{follower:?}");
    assert!(
        follower.stderr.contains("lists no object at all"),
        "{follower:?}"
    );
}

#[test]
fn an_interrupt_of_any_process_stops_all_in_good_order() {
    for watched in [false, true] {
        let mut ground = Ground::new().with_many_tables();
        let at = ground.index("lake.limn");
        let more = ["--workers", "1", "--epoch-objects", "2"];
        if watched {
            let mut arguments = vec!["--processes", "2"];
            arguments.extend(more);
            ground.start(&at, &arguments);
        } else {
            ground.start_cluster(&at, 2, &more);
        }
        wait_for_snapshots(&at, 3);
        let last = ground.processes.len() - 1;
        signal("-INT", ground.pid(last));
        for process in 0..=last {
            let run = ground.end(process);
            assert_eq!(run.code, 130, "{run:?}");
            if process == 0 {
                assert_eq!(run.json()["stopped"], true, "{run:?}");
            }
        }
        limn(&["verify", "--index", text(&at)]).code_is(0);
    }
}
