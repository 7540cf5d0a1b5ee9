//! What a process of limn's own may take that does the work of another
//! ([`limn_formats::Confined`]).
//!
//! Before it looks at the first byte it limits its memory and processor time, and gives up opening
//! files. What goes wrong then, however it does, ends this process and nothing else. Limits hold on
//! Linux; where they cannot be set nothing is done.

use std::process::ExitCode;

use limn_formats::NO_LIMITS;
use rlimit::{Resource, getrlimit, setrlimit};

/// Memory that the process may take, in bytes.
const MEMORY: u64 = 1 << 30;

/// Limits this process from here on, to so many seconds of processor time.
///
/// # Errors
/// The exit code with which to end: it cannot be limited.
pub fn limit(seconds: u64) -> Result<(), ExitCode> {
    let unlimited = |_| ExitCode::from(NO_LIMITS);
    for (resource, most) in [
        (Resource::AS, MEMORY),
        (Resource::CPU, seconds),
        (Resource::CORE, 0),
        (Resource::NOFILE, 3),
    ] {
        // A lower limit that holds already stays.
        let (_, hard) = getrlimit(resource).map_err(unlimited)?;
        let most = most.min(hard);
        // Beyond the first limit of its time the process ends by a signal that says so, beyond the
        // second by any.
        let second = match resource {
            Resource::CPU => most.saturating_add(seconds).min(hard),
            _ => most,
        };
        setrlimit(resource, most, second).map_err(unlimited)?;
    }
    Ok(())
}
