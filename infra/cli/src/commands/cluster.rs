//! Which process of which cluster this is, from flags and environment.

use std::path::Path;

use anyhow::{Context, bail};
use limn_pipeline::{ClusterKey, ClusterOptions, Trust};

use crate::args::ClusterArgs;

/// What stands for a process's number in a pattern of addresses.
const NUMBER: &str = "{}";
/// Where an indexed job of Kubernetes gives a process its number.
const JOB_INDEX: &str = "JOB_COMPLETION_INDEX";

/// A process's part in a run.
#[derive(Debug)]
pub enum Part {
    /// All of it.
    Alone,
    /// To start so many processes and watch them.
    Watch(usize),
    /// That of one of several processes.
    Member(ClusterOptions),
}

/// Processes that are started on one machine, at most.
const MOST_HERE: usize = 64;

impl Part {
    /// The part that the arguments give.
    pub fn of(args: &ClusterArgs) -> anyhow::Result<Self> {
        // Wrong keys are reported before anything starts.
        let key = args.cluster_key.as_deref().map(ClusterKey::read);
        let trust = match key.transpose()? {
            Some(key) => Trust::Key(key),
            None if args.cluster_plaintext => Trust::Network,
            None => Trust::Machine,
        };
        let Some(hosts) = &args.hosts else {
            return match (args.process, args.processes) {
                (Some(_), _) => {
                    bail!("--process is the number of one of several processes: give --hosts too")
                }
                (None, Some(processes)) if processes > MOST_HERE => bail!(
                    "--processes {processes} without --hosts starts them all on this machine, where {MOST_HERE} may run at most: one for each core is enough"
                ),
                (None, Some(processes)) if processes > 1 => Ok(Self::Watch(processes)),
                (None, _) => Ok(Self::Alone),
            };
        };
        let hosts = addresses(hosts, args.processes)?;
        if hosts.len() == 1 {
            return Ok(Self::Alone);
        }
        let process = match args.process {
            Some(process) => process,
            None => own_number()?,
        };
        if process >= hosts.len() {
            bail!(
                "--process {process} is none of the {} processes, which count from 0",
                hosts.len()
            );
        }
        Ok(Self::Member(ClusterOptions {
            hosts,
            process,
            silence: args.silence,
            trust,
        }))
    }
}

fn own_number() -> anyhow::Result<usize> {
    let number = std::env::var(JOB_INDEX).ok();
    let number = number.context("--hosts wants the number of this process: give --process too")?;
    let parsed = number.trim().parse();
    parsed.with_context(|| format!("{JOB_INDEX} is no number: '{number}'"))
}

/// The addresses of all processes: of a pattern, a list with commas, or a file.
fn addresses(hosts: &str, processes: Option<usize>) -> anyhow::Result<Vec<String>> {
    if hosts.contains(NUMBER) {
        let processes = processes.context("--hosts with {} wants --processes N")?;
        return (0..processes)
            .map(|process| address(&hosts.replace(NUMBER, &process.to_string())))
            .collect();
    }
    let text = if hosts.contains(',') || hosts.contains(':') && !Path::new(hosts).exists() {
        hosts.replace(',', "\n")
    } else {
        std::fs::read_to_string(hosts).with_context(|| format!("cannot read --hosts {hosts}"))?
    };
    let lines = text.lines().map(str::trim);
    let found: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(address)
        .collect::<anyhow::Result<_>>()?;
    match processes {
        _ if found.is_empty() => bail!("--hosts {hosts} names no process"),
        Some(processes) if processes != found.len() => bail!(
            "--hosts names {} processes, --processes {processes}",
            found.len()
        ),
        _ => Ok(found),
    }
}

fn address(text: &str) -> anyhow::Result<String> {
    let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(1..)) => Ok(text.to_owned()),
        _ => bail!("'{text}' in --hosts is no HOST:PORT"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn addresses_come_of_patterns_lists_and_files() {
        let pattern = addresses("limn-{}.limn:7101", Some(3)).unwrap();
        assert_eq!(pattern[2], "limn-2.limn:7101");
        assert!(addresses("limn-{}.limn:7101", None).is_err());
        assert_eq!(addresses("a:1,b:2", None).unwrap(), ["a:1", "b:2"]);
        assert!(addresses("a:1,b:2", Some(3)).is_err());
        assert!(addresses("a:1,b", None).is_err());
        let file = std::env::temp_dir().join(format!("limn-hosts-{}", std::process::id()));
        std::fs::write(&file, "# ours\na:1\n\nb:2\n").unwrap();
        let found = addresses(file.to_str().unwrap(), Some(2));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(found.unwrap(), ["a:1", "b:2"]);
        assert!(addresses("no-such-file", None).is_err());
    }
}
