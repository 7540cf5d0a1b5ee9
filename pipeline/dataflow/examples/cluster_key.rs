//! What the cluster key costs: bytes exchanged between two processes by timely, with and without.
//!
//! ```text
//! cargo run --release --example cluster_key -- MEGABYTES ROUNDS
//! ```
//! Prints a JSON object for each run of two processes with one worker each, in both of which every
//! batch goes to the other one, and then the ratio of the medians.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use limn_pipeline::{CancellationToken, Cluster, ClusterKey, ClusterOptions, Trust};
use timely::WorkerConfig;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::{Exchange, Input, Inspect, Probe};
use timely::execute::execute_from;

/// The bytes of a record: about what a text or the summary of a file takes.
const RECORD: usize = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [megabytes, rounds] => measure(megabytes, rounds.parse().unwrap()),
        [process, hosts, megabytes, key] => {
            let place = ClusterOptions {
                hosts: hosts.split(',').map(str::to_owned).collect(),
                process: process.parse().unwrap(),
                silence: Duration::from_secs(60),
                trust: match key {
                    "" => Trust::Machine,
                    file => Trust::Key(ClusterKey::read(Path::new(file)).unwrap()),
                },
            };
            let seconds = exchange(&place, megabytes.parse().unwrap());
            if place.process == 0 {
                println!("{seconds}");
            }
        }
        _ => panic!("MEGABYTES ROUNDS"),
    }
}

fn measure(megabytes: &str, rounds: usize) {
    let key = std::env::temp_dir().join(format!("limn-cluster-key-{}", std::process::id()));
    let secret = format!("{:?} {:?}", Instant::now(), std::time::SystemTime::now());
    std::fs::write(&key, secret).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (mut plain, mut sealed) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        for with_key in [false, true] {
            let seconds = run(megabytes, if with_key { key.to_str().unwrap() } else { "" });
            let rate = 2.0 * megabytes.parse::<f64>().unwrap() / seconds;
            // The first round warms up.
            if round > 0 {
                println!(
                    "{{\"key\": {with_key}, \"seconds\": {seconds:.3}, \"megabytes_per_second\": {rate:.0}}}"
                );
                if with_key { &mut sealed } else { &mut plain }.push(rate);
            }
        }
    }
    std::fs::remove_file(&key).unwrap();
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    println!(
        "{{\"ratio\": {:.2}}}",
        median(&mut sealed) / median(&mut plain)
    );
}

/// Seconds that two processes take.
fn run(megabytes: &str, key: &str) -> f64 {
    let free: Vec<TcpListener> = (0..2)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let hosts: Vec<String> = free
        .iter()
        .map(|it| it.local_addr().unwrap().to_string())
        .collect();
    let hosts = hosts.join(",");
    drop(free);
    let start = |process: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args([process, &hosts, megabytes, key])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (first, second) = (start("0"), start("1"));
    assert!(second.wait_with_output().unwrap().status.success());
    let output = first.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// Sends so much to the other process and takes as much from it; the seconds that it took.
fn exchange(place: &ClusterOptions, megabytes: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stop = CancellationToken::new();
    let cluster = runtime.block_on(Cluster::join(place, &stop)).unwrap();
    let (builders, others) = cluster.allocators(1).unwrap();
    let records = (megabytes << 20) / RECORD;
    let workers = execute_from(builders, others, WorkerConfig::default(), move |worker| {
        let began = Instant::now();
        let mut input = InputHandle::<u64, CapacityContainerBuilder<Vec<(u64, String)>>>::new();
        let to = 1 - worker.index() as u64;
        let probe = worker.dataflow(|scope| {
            scope
                .input_from(&mut input)
                .exchange(|(to, _): &(u64, String)| *to)
                .inspect(|(_, bytes): &(u64, String)| assert_eq!(bytes.len(), RECORD))
                .probe()
                .0
        });
        let text = "x".repeat(RECORD);
        for record in 0..records {
            input.send((to, text.clone()));
            if record % 64 == 0 {
                input.advance_to(record as u64 + 1);
                // A bounded number of bytes is under way.
                worker.step_while(|| probe.less_than(&(record as u64).saturating_sub(1024)));
            }
        }
        input.close();
        worker.step_while(|| !probe.done());
        began.elapsed().as_secs_f64()
    });
    let seconds = workers.unwrap().join().remove(0).unwrap();
    let ended = runtime.block_on(cluster.run(async { Ok(()) }, |()| false));
    // The other process may have left first.
    drop(ended);
    seconds
}
