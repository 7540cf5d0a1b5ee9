//! The clock of a round: how long it has taken, and how much of that the process was busy.

use std::time::{Duration, Instant};

/// What the clocks showed when a round began.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    begun: Instant,
    busy: Option<Duration>,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self {
            begun: Instant::now(),
            busy: processor_time(),
        }
    }

    /// Seconds since.
    pub fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Seconds of all processors that this process has had since; 0 where the system does not say.
    pub fn busy(&self) -> f64 {
        let busy = processor_time().zip(self.busy);
        busy.map_or(0.0, |(now, before)| (now - before).as_secs_f64())
    }
}

/// The processor time of this process so far, in steps of 10 ms, as Linux says it.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, a name in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(|ticks| ticks.parse::<u64>().ok());
    Some(Duration::from_millis(10 * ticks.sum::<Option<u64>>()?))
}
