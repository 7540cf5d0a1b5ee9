//! `limn index --processes N`: starts N processes here and watches them.
//!
//! The children are the same command with their places in the environment. Process 0 has standard
//! output; what the others say on standard error is printed with their number. Their standard input
//! ends when they are to stop, also where this process is killed. A lost process ends them all, and
//! all are started again: the index is at its last snapshot, and they go on from there.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::ops::Range;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use limn_pipeline::CancellationToken;

use crate::Outcome;
use crate::args::RunArgs;
use crate::interrupt::{INTERRUPTED, Interrupts, STOPPING};
use crate::progress::say;

/// How a child that is watched ends when another one is lost; nobody else sees it.
pub const LOST: u8 = 75;
/// The variable that says to a child that it is watched.
const WATCHED: &str = "LIMN_WATCHED";
/// How often lost processes are started again.
const RESTARTS: u32 = 3;
/// How long the others may take to end after one has.
const GRACE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// Where the processes listen.
const PORTS: Range<u16> = 10_000..32_000;
/// How many ports are tried.
const PORT_TRIES: usize = 10_000;

/// Whether this process is a child that is watched.
pub fn is_watched() -> bool {
    std::env::var_os(WATCHED).is_some()
}

/// A child that is watched stops in good order when its standard input ends: where this was
/// interrupted, and where nobody reads its output any more.
pub fn stop_when_unwatched(stop: CancellationToken) {
    if is_watched() {
        std::thread::spawn(move || {
            // Nothing is ever written.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            stop.cancel();
        });
    }
}

/// Runs this command as `processes` processes, to the end of the run.
pub async fn run(processes: usize, args: &RunArgs) -> anyhow::Result<Outcome> {
    let mut interrupts = Interrupts::new().context("signals cannot be waited for")?;
    let mut restarts = 0;
    loop {
        let mut children = Children::start(processes, args)?;
        let code = children.end(&mut interrupts).await?;
        match code {
            Some(code) => return Ok(Outcome::Reported(code)),
            None if restarts == RESTARTS => {
                anyhow::bail!(
                    "processes were lost {} times; what was published stays, and the same command goes on",
                    restarts + 1
                )
            }
            None => {
                restarts += 1;
                say(&format!(
                    "limn: a process was lost; starting all again ({restarts} of {RESTARTS})"
                ));
            }
        }
    }
}

/// The processes; those that are left are killed when it is dropped.
struct Children {
    children: Vec<Child>,
    ended: Vec<Option<ExitStatus>>,
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that has ended needs no end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Children {
    fn start(processes: usize, args: &RunArgs) -> anyhow::Result<Self> {
        let hosts = free_addresses(processes)?.join(",");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = (cores / processes).max(1);
        let mut all = Self {
            children: Vec::new(),
            ended: vec![None; processes],
        };
        for process in 0..processes {
            let limn = std::env::current_exe().context("the limn that runs is not to be found")?;
            let mut command = Command::new(limn);
            command
                .args(std::env::args_os().skip(1))
                .env("LIMN_HOSTS", &hosts)
                .env("LIMN_PROCESS", process.to_string())
                .env(WATCHED, "1")
                .stdin(Stdio::piped());
            if args.workers.is_none() {
                command.env("LIMN_WORKERS", share.min(4).to_string());
            }
            if args.embed_threads.is_none() {
                command.env("LIMN_EMBED_THREADS", share.to_string());
            }
            if process > 0 {
                command.stdout(Stdio::null()).stderr(Stdio::piped());
            }
            // An interrupt of the terminal is passed on once, by this process.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            let mut child = command.spawn().context("a process cannot be started")?;
            if let Some(stderr) = child.stderr.take() {
                std::thread::spawn(move || {
                    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                        say(&format!("process {process}: {line}"));
                    }
                });
            }
            all.children.push(child);
        }
        Ok(all)
    }

    /// Waits for the end of all. The exit code is the leader's; none where a process was lost.
    async fn end(&mut self, interrupts: &mut Interrupts) -> anyhow::Result<Option<u8>> {
        let mut is_stopping = false;
        let mut first_end = None;
        loop {
            for (child, ended) in self.children.iter_mut().zip(&mut self.ended) {
                if ended.is_none() {
                    *ended = child.try_wait()?;
                }
            }
            if self.ended.iter().all(Option::is_some) {
                break;
            }
            if self.ended.iter().any(Option::is_some) {
                let since = first_end.get_or_insert_with(Instant::now);
                let leader_works = self.ended[0].is_none() && !self.is_any_lost();
                if since.elapsed() >= GRACE && !leader_works {
                    break;
                }
            }
            tokio::select! {
                () = interrupts.next() => {
                    if is_stopping {
                        return Ok(Some(INTERRUPTED));
                    }
                    is_stopping = true;
                    say(STOPPING);
                    // The run ends in good order.
                    for child in &mut self.children {
                        drop(child.stdin.take());
                    }
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        let leader = self.ended[0].and_then(|ended| ended.code());
        Ok(match leader.and_then(|code| u8::try_from(code).ok()) {
            Some(LOST) | None if is_stopping => Some(INTERRUPTED),
            Some(LOST) | None => None,
            Some(code) => Some(code),
        })
    }

    /// Whether a process has ended because one was lost, or was lost itself.
    fn is_any_lost(&self) -> bool {
        let ended = self.ended.iter().flatten();
        let mut codes = ended.map(ExitStatus::code);
        codes.any(|code| code.is_none_or(|code| code == i32::from(LOST)))
    }
}

/// Addresses of this machine at which nobody listens. No system gives their ports to connections
/// that are made meanwhile: those are above.
fn free_addresses(processes: usize) -> anyhow::Result<Vec<String>> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for _ in 0..PORT_TRIES {
        if listeners.len() == processes {
            break;
        }
        let random = RandomState::new().build_hasher().finish();
        let span = u64::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(random % span)?;
        listeners.extend(TcpListener::bind(("127.0.0.1", port)));
    }
    if listeners.len() < processes {
        anyhow::bail!("too few free ports from {} on", PORTS.start);
    }
    let addresses = listeners.iter().map(TcpListener::local_addr);
    let addresses = addresses.map(|address| address.map(|address| address.to_string()));
    addresses
        .collect::<Result<_, _>>()
        .context("no free port on this machine")
}
