//! What Prometheus reads.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::live::Live;

/// Upper ends of the histogram of times, in seconds.
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    route: String,
}

/// Counters and gauges of a node.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Route, Histogram>,
    in_flight: Gauge,
    switches: Counter,
    missed: Counter,
    snapshot: Gauge,
    tables: Gauge,
    unseen: Gauge,
}

impl Metrics {
    /// Nothing counted yet.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("limn");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", requests.clone());
        let seconds: Family<Route, Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let what = "Time from a request's head to the head of its answer";
        registry.register_with_unit("http_request", what, Unit::Seconds, seconds.clone());
        let in_flight = Gauge::default();
        registry.register(
            "http_requests_in_flight",
            "Requests being answered",
            in_flight.clone(),
        );
        let switches = Counter::default();
        registry.register(
            "snapshot_switches",
            "Newer snapshots served",
            switches.clone(),
        );
        let missed = Counter::default();
        let what = "Looks for a newer snapshot that failed";
        registry.register("snapshot_errors", what, missed.clone());
        let snapshot = Gauge::default();
        registry.register(
            "snapshot",
            "Number of the snapshot served",
            snapshot.clone(),
        );
        let tables = Gauge::default();
        registry.register("tables", "Tables of the snapshot served", tables.clone());
        let unseen = Gauge::default();
        let what = "Time since the index was last looked at";
        registry.register_with_unit("snapshot_unseen", what, Unit::Seconds, unseen.clone());
        Metrics {
            registry,
            requests,
            seconds,
            in_flight,
            switches,
            missed,
            snapshot,
            tables,
            unseen,
        }
    }

    /// A request has come; it counts as being answered until the value is dropped.
    pub fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// A request was answered.
    pub fn answered(&self, route: &str, status: u16, time: Duration) {
        let answered = Answered {
            route: route.to_owned(),
            status,
        };
        self.requests.get_or_create(&answered).inc();
        let route = Route {
            route: route.to_owned(),
        };
        self.seconds
            .get_or_create(&route)
            .observe(time.as_secs_f64());
    }

    /// A newer snapshot is served.
    pub fn switched(&self) {
        self.switches.inc();
    }

    /// The index could not be looked at.
    pub fn missed(&self) {
        self.missed.inc();
    }

    /// All, as text.
    ///
    /// # Errors
    /// None that is known.
    pub fn text(&self, live: &Live) -> Result<String, std::fmt::Error> {
        let view = live.whole();
        self.snapshot
            .set(i64::try_from(view.snapshot.number).unwrap_or(i64::MAX));
        self.tables
            .set(i64::try_from(view.table_list.tables().len()).unwrap_or(i64::MAX));
        self.unseen
            .set(i64::try_from(live.unseen().as_secs()).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
