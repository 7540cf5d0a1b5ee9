//! The periodic listing: the one source that announces everything, whatever the others missed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::collector::Collector;

/// Announces everything, now and each time `every` has passed.
pub(crate) async fn run(collector: Arc<Collector>, every: Duration) {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        collector.add(Vec::new(), true, Vec::new());
    }
}
