//! Network namespaces as hosts, and a switch between them that delays, loses and drops packets:
//! `tests/network.py`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::repository;

/// Hosts that see each other and nobody else. They are removed when dropped, and when the test is
/// killed.
pub struct Network {
    name: String,
    hosts: usize,
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Network {
    /// Makes a network of so many hosts. Where that is not permitted, or not possible, it prints a
    /// line that says why the test is skipped.
    pub fn of(hosts: usize) -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("limn-{}-{number}", std::process::id());
        let mut process = Command::new("python3")
            .arg(repository().join("tests/network.py"))
            .args([&name, &hosts.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        let mut network = Self {
            name,
            hosts,
            process,
            commands,
            answers,
        };
        match network.answer().as_str() {
            "ready" => Some(network),
            answer => {
                let why = answer.strip_prefix("none: ");
                let why = why.expect("the network starts; run it by hand: tests/network.py x 3");
                // Not print: the tests of a crate that pass say nothing of what they print.
                let mut shown = std::io::stderr();
                let _ = writeln!(shown, "skipped: no network of namespaces here: {why}");
                None
            }
        }
    }

    /// The addresses of all hosts, at this port.
    pub fn addresses(&self, port: u16) -> String {
        let addresses = (1..=self.hosts).map(|host| format!("10.0.0.{host}:{port}"));
        addresses.collect::<Vec<_>>().join(",")
    }

    /// The same command on a host.
    pub fn on(&self, host: usize, command: &Command) -> Command {
        let mut there = Command::new("ip");
        there
            .args(["netns", "exec", &format!("{}-{host}", self.name)])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => there.env(name, value),
                None => there.env_remove(name),
            };
        }
        there
    }

    /// Holds back every packet for so many milliseconds, and loses so many of a hundred.
    pub fn disturb(&mut self, milliseconds: u32, percent: u32) {
        self.command(&format!("delay {milliseconds}"));
        self.command(&format!("loss {percent}"));
    }

    /// Drops what each first host sends to the second, and nothing else.
    pub fn drop(&mut self, pairs: &[(usize, usize)]) {
        let pairs = pairs.iter().map(|(from, to)| format!(" {from}>{to}"));
        self.command(&format!("drop{}", pairs.collect::<String>()));
    }

    fn command(&mut self, command: &str) {
        let commands = self.commands.as_mut().expect("until it is dropped");
        writeln!(commands, "{command}").expect("the network listens");
        assert_eq!(self.answer(), "done", "{command}");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .expect("the network answers");
        line.trim_end().to_owned()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.process.wait();
    }
}
