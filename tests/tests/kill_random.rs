//! Killed at random moments of the nightly job: readers see the last published snapshot, and the
//! next run ends like one that was never disturbed. On S3 the server has bad days besides.
//!
//! `LIMN_KILL_SEED` sets the moments, `LIMN_KILL_FAULTS` how many of a
//! thousand requests to S3 fail, and `LIMN_KILL_RESULTS` a
//! folder that receives what was found.

use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::rounds::rounds;
use limn_tests::faulty::FaultyServer;
use limn_tests::ground::Ground;
use limn_tests::kill::{Findings, INDEX, Killing, each};
use limn_tests::{limn_command, random};
use serde_json::{Value, json};

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().expect(name))
}

/// What the kills hit: nothing of the new snapshots published, some, or all.
#[derive(Default)]
struct Moments {
    before: AtomicUsize,
    within: AtomicUsize,
    after: AtomicUsize,
    /// Runs that had ended by themselves.
    ended: AtomicUsize,
}

impl Moments {
    fn count(&self, killing: &Killing, newest: u64, was_killed: bool) {
        let counter = match newest {
            _ if !was_killed => &self.ended,
            newest if newest == killing.first => &self.before,
            newest if newest < killing.last => &self.within,
            _ => &self.after,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn json(&self) -> Value {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        json!({
            "killed_before_publishing": load(&self.before),
            "killed_between_snapshots": load(&self.within),
            "killed_after_the_last_snapshot": load(&self.after),
            "ended_before_the_kill": load(&self.ended),
        })
    }
}

fn start(killing: &Killing, name: &str, variables: &[(&str, String)]) -> Child {
    let arguments = killing.arguments(INDEX, name);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    limn_command(&arguments)
        .envs(killing.ground.environment().iter().cloned())
        .envs(variables.iter().cloned())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How long the job takes if it is not killed, with another beside it: the longest of six.
fn length(killing: &Killing) -> Duration {
    let longest = Mutex::new(Duration::ZERO);
    each(&[(); 6], 2, |at, ()| {
        let name = format!("timed{at}");
        killing.begin(INDEX, &name);
        let started = Instant::now();
        assert!(start(killing, &name, &[]).wait().unwrap().success());
        let mut longest = longest.lock().unwrap();
        *longest = started.elapsed().max(*longest);
        Findings::default()
    });
    longest.into_inner().unwrap()
}

fn kill_at_random(what: &str, killing: &Killing, rounds: u64, faulty: Option<&FaultyServer>) {
    let seed = setting("LIMN_KILL_SEED", 20_261_122);
    let length = length(killing);
    println!("{what}: {rounds} rounds, seed {seed}, a run takes {length:?}");
    let moments = Moments::default();
    let variables: Vec<(&str, String)> = match faulty {
        Some(faulty) => faulty.environment().into(),
        None => Vec::new(),
    };
    let started = Instant::now();
    let rounds: Vec<u64> = (0..rounds).collect();
    // The machine is busy at one time and idle at another.
    let expected = Mutex::new(length);
    let found = each(&rounds, 2, |_, round| {
        let name = format!("round{round}");
        killing.begin(INDEX, &name);
        let share = random(seed.wrapping_add(*round)) % 1000;
        let delay = expected.lock().unwrap().mul_f64(share as f64 / 1000.0);
        let mut child = start(killing, &name, &variables);
        let begun = Instant::now();
        while begun.elapsed() < delay && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let lasted = begun.elapsed();
        child.kill().unwrap();
        let was_killed = child.wait().unwrap().code().is_none();
        let change = |length: Duration| match was_killed {
            true => length.mul_f64(1.01),
            false => (length * 3 + lasted) / 4,
        };
        let mut expected = expected.lock().unwrap();
        *expected = change(*expected);
        drop(expected);
        let what = format!("round {round}, after {delay:?}");
        let (newest, found) = killing.check(INDEX, &name, &what, faulty.is_some());
        moments.count(killing, newest, was_killed);
        found
    });
    let mut result = json!({
        "where": what,
        "rounds": rounds.len(),
        "seed": seed,
        "run_seconds": length.as_secs_f64(),
        "snapshots_of_a_run": killing.last - killing.first,
        "moments": moments.json(),
        "found": found.json(),
        "seconds": started.elapsed().as_secs(),
    });
    if let Some(faulty) = faulty {
        let (requests, faults) = faulty.counts();
        result["requests"] = requests.into();
        result["faults"] = json!(faults);
    }
    println!("{result:#}");
    if let Some(folder) = std::env::var_os("LIMN_KILL_RESULTS") {
        let path = std::path::Path::new(&folder).join(format!("{what}.json"));
        std::fs::write(path, format!("{result:#}\n")).unwrap();
    }
    let Findings { texts, .. } = found;
    assert!(texts.is_empty(), "{texts:#?}");
}

#[test]
fn on_local_disk() {
    let killing = Killing::prepare(Ground::local());
    let rounds = u64::from(rounds(8));
    kill_at_random("local-disk", &killing, rounds, None);
}

#[test]
fn on_an_s3_server_with_bad_days() {
    let killing = Killing::prepare(Ground::s3());
    let faulty = FaultyServer::before(&killing.ground.endpoint(), setting("LIMN_KILL_SEED", 7));
    faulty.set_rate(setting("LIMN_KILL_FAULTS", 100));
    let rounds = u64::from(rounds(4));
    kill_at_random("s3-with-faults", &killing, rounds, Some(&faulty));
}
