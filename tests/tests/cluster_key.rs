//! Processes of a cluster and their key: whoever has it takes part, whoever has not costs the
//! others nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use limn_tests::answers::everything;
use limn_tests::{Run, index_hashed, lake, limn, text};

use crate::cluster::{Ground, hosts};

/// How long processes wait for others where they wait in vain.
const SILENCE: &str = "4s";

impl Ground {
    /// A file with a key that nobody else can read.
    pub fn key(&self, name: &str, content: &str) -> PathBuf {
        let path = self.index(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    /// Starts the two processes of a cluster, each with options of its own.
    fn start_two(&mut self, hosts: &str, options: [&[&str]; 2]) {
        let at = self.index("lake.limn");
        for (process, own) in options.into_iter().enumerate() {
            let number = process.to_string();
            let mut arguments = vec!["--hosts", hosts, "--process", &number];
            arguments.extend(["--workers", "1"]);
            arguments.extend(own);
            self.start(&at, &arguments);
        }
    }
}

pub const ONE: &str = "a key of thirty-two bytes or more: 1\n";
const OTHER: &str = "a key of thirty-two bytes or more: 2\n";

/// The only line that a process said, which ended with an error.
pub fn line(run: &Run) -> &str {
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{run:?}");
    run.stderr.trim_end()
}

#[test]
fn processes_with_one_key_make_the_index_of_one() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    let key = ground.key("cluster.key", ONE);
    // A line end more is no other key.
    let same = ground.key("same.key", ONE.trim_end());
    ground.start_two(
        &hosts(2),
        [
            &["--cluster-key", text(&key)],
            &["--cluster-key", text(&same)],
        ],
    );
    let follower = ground.end(1);
    assert_eq!((follower.code, follower.stderr.as_str()), (0, ""));
    let report = ground.end(0).ok();
    assert_eq!(report["tables"]["added"], 7, "{report}");
    let alone = ground.index("alone.limn");
    index_hashed(&ground.lake(), &alone, &[]).ok();
    assert_eq!(everything(&ground.index("lake.limn")), everything(&alone));
}

#[test]
fn processes_that_are_watched_share_a_key() {
    let mut ground = Ground::new().with_many_tables();
    let key = ground.key("cluster.key", ONE);
    let at = ground.index("lake.limn");
    let watching = ground.start(&at, &["--processes", "3", "--cluster-key", text(&key)]);
    let report = ground.end(watching).ok();
    assert_eq!(report["tables"]["added"], 120, "{report}");
    limn(&["verify", "--index", text(&at)]).code_is(0);
}

#[test]
fn a_process_with_another_key_or_none_ends_with_one_line() {
    let (with, without) = (
        "has a cluster key, and this process has none",
        "has no cluster key, and this process has one",
    );
    let other = "has another cluster key";
    // What process 0 has, what process 1 has, and what each says of the other.
    let cases = [
        (Some(ONE), Some(OTHER), other, other),
        (Some(ONE), None, without, with),
        (None, Some(ONE), with, without),
    ];
    for (first, second, of_second, of_first) in cases {
        let mut ground = Ground::new();
        lake::varied(&ground.lake());
        let hosts = hosts(2);
        let keys = [first, second].map(|key| key.map(|key| ground.key(key.trim_end(), key)));
        let options = keys.each_ref().map(|key| {
            let mut options = vec!["--silence", SILENCE];
            options.extend(key.iter().flat_map(|key| ["--cluster-key", text(key)]));
            options
        });
        ground.start_two(&hosts, [&options[0], &options[1]]);
        let (caller, answerer) = (ground.end(1), ground.end(0));
        let leader = hosts.split(',').next().unwrap();
        assert_eq!(
            line(&caller),
            format!(
                "limn: process 0 at {leader} {of_first}: start all processes with the same --cluster-key"
            )
        );
        let said = line(&answerer);
        assert!(said.starts_with("limn: process 1 at 127.0.0.1:"), "{said}");
        assert!(said.contains("did not come within 4s"), "{said}");
        let end = format!(
            "; a caller from 127.0.0.1 {of_second}: give all processes the same --cluster-key"
        );
        assert!(said.ends_with(&end), "{said}");
        assert!(!ground.index("lake.limn").join("snapshots").exists());
    }
}

#[test]
fn who_talks_nonsense_or_nothing_costs_a_line_of_the_log_and_no_run() {
    let mut ground = Ground::new().with_many_tables();
    let key = ground.key("cluster.key", ONE);
    let hosts = hosts(2);
    let leader = hosts.split(',').next().unwrap().to_owned();
    let at = ground.index("lake.limn");
    let mut arguments = vec!["-v", "--workers", "1", "--epoch-objects", "8"];
    arguments.extend(["--hosts", &hosts, "--cluster-key", text(&key), "--process"]);
    let zero: Vec<&str> = arguments.iter().copied().chain(["0"]).collect();
    ground.start(&at, &zero);
    let call = || {
        let began = Instant::now();
        loop {
            match TcpStream::connect(&leader) {
                Ok(stranger) => return stranger,
                Err(error) => assert!(began.elapsed() < Duration::from_secs(60), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let silent = call();
    let said: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\xff\xff\x01",
        b"\0\0\0\x02{}",
        &[0xff; 100_000],
    ];
    for garbage in said {
        let mut stranger = call();
        // It may hang up before it has heard all.
        let _ = stranger.write_all(garbage);
        let _ = stranger.shutdown(std::net::Shutdown::Write);
        stranger
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        assert!(
            answer.len() < 100,
            "little is said to strangers: {answer:?}"
        );
    }
    let one: Vec<&str> = arguments.iter().copied().chain(["1"]).collect();
    ground.start(&at, &one);
    let follower = ground.end(1);
    assert_eq!(follower.code, 0, "{follower:?}");
    let leader = ground.end(0);
    let refused = leader.stderr.lines();
    let refused = refused.filter(|line| line.contains("refused a call to the cluster's port"));
    assert_eq!(refused.count(), 1, "{leader:?}");
    assert_eq!(leader.ok()["tables"]["added"], 120);
    drop(silent);
}

#[test]
fn other_machines_want_a_key() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    // Addresses of documentation (RFC 5737): nobody is there.
    let far = "192.0.2.1:7101,192.0.2.2:7101";
    ground.start_two(far, [&[], &["--cluster-plaintext", "--silence", "1s"]]);
    let said = ground.end(0);
    assert_eq!(
        line(&said),
        "limn: 192.0.2.1:7101 in --hosts is not of this machine, and whoever reaches it could join: \
         give all processes the same --cluster-key FILE, or --cluster-plaintext where nobody else \
         reaches their ports"
    );
    // A process that trusts the network gets as far as listening.
    let output = ground.end(1);
    assert!(!line(&output).contains("--cluster-key"), "{output:?}");
}

#[test]
fn a_file_that_is_no_key_is_reported_before_anything_starts() {
    let mut ground = Ground::new();
    lake::varied(&ground.lake());
    let (at, short) = (
        ground.index("lake.limn"),
        ground.key("short.key", "secret\n"),
    );
    let open = ground.key("open.key", ONE);
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).unwrap();
    let missing = ground.index("missing.key");
    let expected = [
        (&short, "has 6 bytes, and needs at least 32"),
        (&open, "other users may read or change the cluster key"),
        (&missing, "cannot read the cluster key"),
    ];
    for (key, why) in expected {
        let started = ground.start(&at, &["--processes", "2", "--cluster-key", text(key)]);
        let run = ground.end(started);
        assert!(line(&run).contains(why), "{run:?}");
        assert!(line(&run).contains(text(key)), "{run:?}");
    }
    assert!(!at.exists());
}
