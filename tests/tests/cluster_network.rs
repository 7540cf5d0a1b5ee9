//! `limn index` on several hosts whose network is slow, loses packets, falls silent or parts them:
//! the same index, or one line in time that names the lost process, and a next run that is whole.
//!
//! The hosts are network namespaces; they share the disk, as hosts with a network file system do.
//! Where namespaces cannot be made, each test prints a line and ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use limn_tests::answers::everything;
use limn_tests::network::Network;
use limn_tests::{Run, index_hashed, limn, text};
use serde_json::Value;

use crate::cluster::{Ground, snapshots, wait_for_snapshots};
use crate::cluster_key::{ONE, line};

const HOSTS: usize = 3;
const TABLES: usize = 40;
/// The port of all processes: a run that follows another listens where that one did.
const PORT: u16 = 7101;
/// How long processes bear silence where they bear it in vain.
const SILENCE: Duration = Duration::from_secs(3);
/// How much later than that a process may end: a busy machine is slow.
const LATER: Duration = Duration::from_secs(5);
/// How long a packet is under way, in milliseconds.
const DELAY: u32 = 50;

/// Three hosts, and a lake and an index on the disk that they share.
struct Hosts {
    // Dropped first: processes end before their network does.
    ground: Ground,
    network: Network,
    key: PathBuf,
}

impl Hosts {
    /// None, and a line, where they cannot be made.
    fn new() -> Option<Self> {
        let network = Network::of(HOSTS)?;
        let ground = Ground::new().with_tables(TABLES);
        let key = ground.key("cluster.key", ONE);
        Some(Self {
            ground,
            network,
            key,
        })
    }

    fn index(&self) -> PathBuf {
        self.ground.index("lake.limn")
    }

    /// Starts a process on each host; gives their numbers on the ground.
    fn start(&mut self, index: &Path, silence: Duration) -> [usize; HOSTS] {
        let addresses = self.network.addresses(PORT);
        let silence = format!("{}s", silence.as_secs());
        [0, 1, 2].map(|host| {
            let process = host.to_string();
            let mut options = vec!["--hosts", &addresses, "--process", &process];
            options.extend(["--cluster-key", text(&self.key), "--silence", &silence]);
            options.extend(["--workers", "1", "--epoch-objects", "2"]);
            let command = self.ground.command(index, &options);
            self.ground.spawn(self.network.on(host, &command))
        })
    }

    /// The leader's report of a run that ended well in all processes.
    fn end_well(&mut self, processes: [usize; HOSTS]) -> Value {
        let [leader, one, other] = processes;
        for follower in [one, other] {
            let run = self.ground.end(follower);
            assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
        }
        self.ground.end(leader).ok()
    }

    /// Ends these processes, which they must soon after `began`, each with one line; gives the
    /// lines.
    fn end_in_time(&mut self, processes: &[usize], began: Instant) -> Vec<String> {
        let ended = processes.iter().map(|process| {
            let run: Run = self.ground.end(*process);
            let took = began.elapsed();
            println!("after {took:?}: {}", run.stderr.trim_end());
            assert!(took < SILENCE + LATER, "{took:?}: {run:?}");
            line(&run).to_owned()
        });
        ended.collect()
    }

    /// The index is whole after the next run, which goes on from what was published.
    fn next_run_is_whole(&mut self) {
        let at = self.index();
        limn(&["verify", "--index", text(&at)]).code_is(0);
        let processes = self.start(&at, SILENCE);
        let report = self.end_well(processes);
        let unchanged = report["tables"]["unchanged"].as_u64().unwrap();
        assert!((1..TABLES as u64).contains(&unchanged), "{report}");
        self.is_whole(&at);
    }

    /// An index is that of one process.
    fn is_whole(&self, at: &Path) {
        limn(&["verify", "--index", text(at)]).code_is(0);
        let alone = self.ground.index("alone.limn");
        index_hashed(&self.ground.lake(), &alone, &[]).ok();
        assert_eq!(everything(at), everything(&alone));
    }
}

/// What a host and all others send each other.
fn parted(host: usize) -> Vec<(usize, usize)> {
    let others = (0..HOSTS).filter(|other| *other != host);
    let pairs = others.flat_map(|other| [(host, other), (other, host)]);
    pairs.collect()
}

/// A process as lines name it.
fn process_at(process: usize) -> String {
    format!("process {process} at 10.0.0.{}:{PORT}", process + 1)
}

/// Whether a line is that of a lost process.
fn names(line: &str, process: usize) -> bool {
    let begin = format!("limn: {} was lost (", process_at(process));
    let end = "); what was published stays; start all processes again";
    line.starts_with(&begin) && line.ends_with(end)
}

#[test]
fn a_slow_network_that_loses_packets_makes_the_same_index() {
    let Some(mut hosts) = Hosts::new() else {
        return;
    };
    for (name, delay, loss) in [("quick.limn", 0, 0), ("slow.limn", DELAY, 2)] {
        hosts.network.disturb(delay, loss);
        let at = hosts.ground.index(name);
        let began = Instant::now();
        let processes = hosts.start(&at, Duration::from_secs(20));
        let report = hosts.end_well(processes);
        println!("{delay} ms, {loss} %: {:?}", began.elapsed());
        assert_eq!(report["tables"]["added"], TABLES, "{report}");
        hosts.is_whole(&at);
    }
}

/// A lost process ends all in time: those who still see each other name it, and the next run is
/// whole.
fn a_host_is_lost(lost: usize, drop: &[(usize, usize)]) {
    let Some(mut hosts) = Hosts::new() else {
        return;
    };
    hosts.network.disturb(DELAY, 0);
    let at = hosts.index();
    let processes = hosts.start(&at, SILENCE);
    wait_for_snapshots(&at, 2);
    hosts.network.drop(drop);
    let began = Instant::now();
    let others: Vec<usize> = (0..HOSTS).filter(|host| *host != lost).collect();
    let talking: Vec<usize> = others.iter().map(|host| processes[*host]).collect();
    for said in hosts.end_in_time(&talking, began) {
        assert!(names(&said, lost), "{said}");
    }
    // It hears of nobody, and names one of those.
    for said in hosts.end_in_time(&[processes[lost]], began) {
        assert!(others.iter().any(|other| names(&said, *other)), "{said}");
    }
    hosts.network.drop(&[]);
    hosts.network.disturb(0, 0);
    hosts.next_run_is_whole();
}

#[test]
fn a_silent_host_is_named_by_all_others() {
    a_host_is_lost(2, &parted(2));
}

#[test]
fn a_silent_leader_is_named_by_all_others() {
    a_host_is_lost(0, &parted(0));
}

#[test]
fn a_host_that_hears_and_is_not_heard_is_named_by_all_others() {
    // Nobody learns what it has heard, so TCP soon sends it nothing new.
    a_host_is_lost(1, &[(1, 0), (1, 2)]);
}

#[test]
fn who_does_not_come_is_named_by_all_others() {
    let Some(mut hosts) = Hosts::new() else {
        return;
    };
    hosts.network.disturb(DELAY, 0);
    let at = hosts.index();
    for missing in [0, 1] {
        hosts.network.drop(&parted(missing));
        let began = Instant::now();
        let processes = hosts.start(&at, SILENCE);
        let lines = hosts.end_in_time(&processes, began);
        for (_, said) in (0..HOSTS)
            .zip(lines)
            .filter(|(process, _)| *process != missing)
        {
            let begin = format!("limn: {} did not come within 3s: ", process_at(missing));
            assert!(said.starts_with(&begin), "{said}");
        }
    }
    // The leader meets both, who do not meet each other: it says what they say.
    hosts.network.drop(&[(1, 2), (2, 1)]);
    let began = Instant::now();
    let processes = hosts.start(&at, SILENCE);
    let lines = hosts.end_in_time(&processes, began);
    let of = |one: usize, other: usize| {
        let missing = format!("{} did not come within 3s: ", process_at(other));
        let told = format!("limn: {} ended the run: {missing}", process_at(one));
        (format!("limn: {missing}"), told)
    };
    let ((own_one, told_one), (own_two, told_two)) = (of(1, 2), of(2, 1));
    assert!(lines[1].starts_with(&own_one), "{lines:?}");
    assert!(lines[2].starts_with(&own_two), "{lines:?}");
    let leader = &lines[0];
    assert!(
        leader.starts_with(&told_one) || leader.starts_with(&told_two),
        "{lines:?}"
    );
    assert_eq!(snapshots(&at), 0);
}

#[test]
fn a_short_partition_is_waited_out() {
    let Some(mut hosts) = Hosts::new() else {
        return;
    };
    let at = hosts.index();
    hosts.network.disturb(DELAY, 0);
    let processes = hosts.start(&at, Duration::from_secs(20));
    wait_for_snapshots(&at, 2);
    hosts.network.drop(&parted(0));
    std::thread::sleep(Duration::from_secs(3));
    let before = snapshots(&at);
    hosts.network.drop(&[]);
    let began = Instant::now();
    let report = hosts.end_well(processes);
    println!(
        "went on and ended {:?} after the network healed",
        began.elapsed()
    );
    assert!(before < snapshots(&at), "the run was over before");
    assert_eq!(report["tables"]["added"], TABLES, "{report}");
    hosts.is_whole(&at);
}

#[test]
fn a_long_partition_ends_all_processes_even_when_it_heals() {
    // The leader alone, and two hosts that do not see each other while the third sees both.
    for pairs in [parted(0), vec![(0, 1), (1, 0)]] {
        let Some(mut hosts) = Hosts::new() else {
            return;
        };
        let at = hosts.index();
        hosts.network.disturb(DELAY, 0);
        let processes = hosts.start(&at, SILENCE);
        wait_for_snapshots(&at, 2);
        hosts.network.drop(&pairs);
        let began = Instant::now();
        // They take each other for lost, and the network is back when some have not yet ended.
        std::thread::sleep(SILENCE + Duration::from_millis(100));
        hosts.network.drop(&[]);
        for said in hosts.end_in_time(&processes, began) {
            let parted = pairs.iter().map(|(from, _)| *from);
            assert!({ parted }.any(|process| names(&said, process)), "{said}");
        }
        hosts.network.disturb(0, 0);
        hosts.next_run_is_whole();
    }
}
