//! Which processes make a cluster, and whom they trust.

use std::net::IpAddr;
use std::time::Duration;

use super::key::ClusterKey;
use crate::error::PipelineError;

/// Which process of which cluster this is.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The addresses of all processes, `host:port`, in their order.
    pub hosts: Vec<String>,
    /// The number of this one; 0 leads.
    pub process: usize,
    /// How long a process may take to come, or be silent, before it is taken for lost.
    pub silence: Duration,
    /// Whom it takes for a process of the cluster.
    pub trust: Trust,
}

/// Whom the processes of a cluster trust.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Whoever is on this machine, at whose loopback all of them are.
    #[default]
    Machine,
    /// Who has this key.
    Key(ClusterKey),
    /// Whoever reaches their ports.
    Network,
}

impl ClusterOptions {
    /// Checks that nobody is trusted by accident.
    ///
    /// # Errors
    /// An address is not of this machine, and nothing protects it.
    pub fn check(&self) -> Result<(), PipelineError> {
        match self.hosts.iter().find(|address| !is_loopback(address)) {
            Some(address) if matches!(self.trust, Trust::Machine) => {
                let address = address.clone();
                Err(PipelineError::Unprotected { address })
            }
            _ => Ok(()),
        }
    }

    /// A process as messages name it.
    pub fn name(&self, process: usize) -> String {
        match self.hosts.get(process) {
            Some(address) => format!("process {process} at {address}"),
            None => format!("process {process}"),
        }
    }
}

/// Whether an address is of this machine whoever resolves it.
fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let number = host.parse::<IpAddr>();
    number.map_or(host.eq_ignore_ascii_case("localhost"), |it| {
        it.is_loopback()
    })
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        for address in [
            "127.0.0.1:1",
            "127.8.9.1:1",
            "[::1]:7101",
            "localhost:80",
            "LocalHost:80",
        ] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "10.0.0.1:1",
            "0.0.0.0:1",
            "[::]:1",
            "[::2]:1",
            "limn-0.limn:1",
            "localhost.example:1",
            "127.0.0.1.example:1",
            "128.0.0.1:1",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
