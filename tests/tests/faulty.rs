//! An S3 server of which a tenth of the requests fails, in every way: commands end, with what is
//! right or with one clear line, no table is lost, and what was unclear is found out.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use crate::rounds::rounds;
use limn_tests::faulty::{Fault, FaultyServer, PATIENCE};
use limn_tests::ground::{Ground, QUESTIONS};
use limn_tests::kill::{INDEX, Killing};
use limn_tests::{Run, limn_command};

/// No command takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a command is run again after an error.
const TRIES: usize = 40;
/// Faults in a thousand requests, round by round: retries hide most of a tenth, and of a third they
/// do not.
const RATES: [u64; 2] = [100, 350];

/// Objects of the lake that are other than before.
const EDITED: [&str; 6] = [
    "/hr/employees.csv",
    "/exports/sales_2025.csv",
    "/rivers/year",
    "/mixed/planets.csv",
    "/weather/station3/log.csv",
    "/weather/station9/log.csv",
];

struct Bad<'a> {
    killing: &'a Killing,
    faulty: FaultyServer,
    /// How commands ended.
    ends: Mutex<BTreeMap<(String, i32), usize>>,
}

impl Bad<'_> {
    /// Runs a command over the faulty server, to an end that it must come to.
    fn run(&self, arguments: &[&str]) -> Run {
        let child = limn_command(arguments)
            .envs(self.killing.ground.environment().iter().cloned())
            .envs(self.faulty.environment())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id().to_string();
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || send.send(child.wait_with_output().unwrap()));
        let output = receive.recv_timeout(LIMIT).unwrap_or_else(|_| {
            let _ = Command::new("kill").args(["-9", &id]).status();
            panic!("{arguments:?} hangs");
        });
        let run = Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        let end = (arguments[0].to_owned(), run.code);
        *self.ends.lock().unwrap().entry(end).or_default() += 1;
        if run.code == 2 {
            assert_eq!(run.stderr.trim_end().lines().count(), 1, "{run:?}");
            assert!(!run.stderr.contains(limn_tests::s3::SECRET), "{run:?}");
        }
        run
    }

    /// Runs a command until it succeeds. `may_end` are exit codes that it may end with before.
    fn until_done(&self, arguments: &[&str], may_end: &[i32]) -> Run {
        let mut last = None;
        for _ in 0..TRIES {
            let run = self.run(arguments);
            if run.code == 0 {
                return run;
            }
            assert!(may_end.contains(&run.code), "{arguments:?}: {run:?}");
            last = Some(run);
        }
        panic!("{arguments:?} never succeeds: {last:?}");
    }

    fn index(&self, name: &str) {
        let arguments = self.killing.arguments(INDEX, name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // 1: a table that could not be read has its last good version, or none yet.
        self.until_done(&arguments, &[1, 2]);
    }
}

fn bad(killing: &Killing, seed: u64) -> Bad<'_> {
    let faulty = FaultyServer::before(&killing.ground.endpoint(), seed);
    Bad {
        killing,
        faulty,
        ends: Mutex::default(),
    }
}

#[test]
fn every_command_ends_and_no_table_is_lost() {
    let rounds = u64::from(rounds(2));
    let killing = Killing::prepare(Ground::s3());
    let ground = &killing.ground;
    for round in 0..rounds {
        let bad = bad(&killing, 1000 + round);
        let (anew, edited) = (format!("anew{round}"), format!("edited{round}"));
        killing.begin(INDEX, &edited);
        bad.faulty.set_rate(RATES[round as usize % RATES.len()]);
        for name in [&anew, &edited] {
            bad.index(name);
            let index = ground.at(name);
            for (question, wanted) in QUESTIONS.iter().zip(&killing.clean.answers) {
                let ask = ["search", question, "--index", &index, "-k", "20", "--json"];
                let run = bad.run(&ask);
                match run.code {
                    0 => assert_eq!(&run.json()["results"], wanted),
                    code => assert_eq!(code, 2, "{run:?}"),
                }
            }
            for command in ["verify", "gc", "snapshots", "tables"] {
                // A server's refusal is no damage: never 1.
                bad.until_done(&[command, "--index", &index, "--json"], &[2]);
            }
        }
        bad.faulty.set_rate(0);
        for name in [&anew, &edited] {
            let index = ground.at(name);
            ground.verify(&index).unwrap();
            assert_eq!(ground.contents(&index), killing.clean, "round {round}");
            assert_eq!(ground.collect_garbage(&index), Vec::<String>::new());
            ground.verify(&index).unwrap();
        }
        println!(
            "round {round}: {:?} {:?}",
            bad.faulty.counts(),
            bad.ends.lock().unwrap()
        );
    }
}

#[test]
fn a_commit_with_an_unclear_answer_is_known_again() {
    let killing = Killing::prepare(Ground::s3());
    let bad = bad(&killing, 1);
    for fault in [
        Fault::Refused,
        Fault::RefusedAfter,
        Fault::Closed,
        Fault::ClosedAfter,
        Fault::Cut,
        Fault::Late,
        Fault::Slow,
    ] {
        let name = format!("{fault:?}");
        killing.begin(INDEX, &name);
        for _ in 0..2 {
            bad.faulty.plan("PUT", "/snapshots/", fault);
        }
        let arguments = killing.arguments(INDEX, &name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = bad.run(&arguments);
        assert_eq!(run.code, 0, "{fault:?}: {run:?}");
        assert_eq!(run.json()["snapshot"], killing.last, "{fault:?}: {run:?}");
        assert_eq!(
            killing.ground.contents(&killing.ground.at(&name)),
            killing.clean
        );
    }
    assert_eq!(bad.faulty.counts().1.values().sum::<u64>(), 14);
}

/// What a run makes of a lake of which an object cannot be read for now: its table stays as it was,
/// in every snapshot of the run, until a run can read it.
#[test]
fn a_table_that_cannot_be_read_stays_as_it_was_until_it_can() {
    let killing = Killing::prepare(Ground::s3());
    let bad = bad(&killing, 1);
    let mut left_behind = 0;
    for (at, object) in EDITED.iter().enumerate() {
        let name = format!("without{at}");
        let index = killing.ground.at(&name);
        killing.begin(INDEX, &name);
        bad.faulty.refuse("GET", object);
        let arguments = killing.arguments(INDEX, &name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let run = bad.run(&arguments);
        assert!(run.code == 1, "{object}: {run:?}");
        let newest = killing.ground.newest(&index);
        for number in killing.first + 1..=newest {
            let then = format!("{name}at{number}");
            killing
                .ground
                .copy(&index, &killing.ground.at(&then), number);
            let contents = killing.ground.contents(&killing.ground.at(&then));
            let amiss = killing.amiss(&contents, number, true);
            assert!(amiss.is_empty(), "{object}, snapshot {number}: {amiss:#?}");
            let differing = killing.amiss(&contents, number, false);
            println!("{object}, snapshot {number}: {}", differing.len());
            left_behind += usize::from(number < newest && !differing.is_empty());
        }
        let (_, found) = killing.check(INDEX, &name, object, true);
        assert!(found.texts.is_empty(), "{:#?}", found.texts);
    }
    assert!(left_behind > 0, "a snapshot between shows it");
}

#[test]
fn a_server_that_lets_two_creators_win_is_refused_at_the_first_run() {
    let killing = Killing::prepare(Ground::s3());
    let bad = bad(&killing, 1);
    bad.faulty.be_careless();
    let arguments = killing.arguments(INDEX, "careless");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for latency in [Duration::ZERO, Duration::from_millis(50)] {
        bad.faulty.set_latency(latency);
        let run = bad.run(&arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(
            run.stderr.contains("let several writers create one object"),
            "{run:?}"
        );
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_soon() {
    let killing = Killing::prepare(Ground::s3());
    let bad = bad(&killing, 1);
    for _ in 0..50 {
        bad.faulty.plan("GET", "/", Fault::Late);
    }
    let started = std::time::Instant::now();
    let index = killing.ground.at(Killing::WHOLE);
    let run = bad.run(&["tables", "--index", &index]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("timed out"), "{run:?}");
    assert!(started.elapsed() < PATIENCE * 10, "{:?}", started.elapsed());
}
