//! Which rows of an ORC file a summary is made of.

use super::SLACK;
use super::proto::StripeInfo;
use super::tail::Tail;
use crate::{ReadOptions, input};

/// Slices that a profile is spread over, if it can be.
const SLICES: u64 = 8;
/// Slices at most, each some requests.
const MOST_SLICES: u64 = 64;

/// The first rows of a stripe.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub(super) stripe: usize,
    pub(super) rows: u64,
}

/// Which rows are read.
pub(super) struct Plan {
    pub(super) slices: Vec<Slice>,
    /// Whether they are all rows.
    pub(super) complete: bool,
}

impl Plan {
    pub(super) fn new(tail: &Tail, whole: bool, sample_path: &str, options: &ReadOptions) -> Plan {
        let columns = tail.footer.types[0].parts.len() as u64;
        // A cell takes two bytes at least in a text file: the budget means the same amount of work
        // here.
        let cells = options.scan_budget / 2;
        let stripes: Vec<(usize, &StripeInfo)> = tail
            .footer
            .stripes
            .iter()
            .enumerate()
            .filter(|(_, stripe)| stripe.rows > 0)
            .collect();
        let bytes = stripes
            .iter()
            .fold(0, |all: u64, (_, it)| all.saturating_add(it.data));
        let all = |(stripe, info): (usize, &StripeInfo)| Slice {
            stripe,
            rows: info.rows,
        };
        if whole && tail.rows.saturating_mul(columns) <= cells {
            return Plan {
                slices: stripes.into_iter().map(all).collect(),
                complete: true,
            };
        }
        let by_bytes = if whole {
            tail.rows
        } else {
            let share = u128::from(options.scan_budget) * u128::from(tail.rows);
            (share / u128::from(bytes.max(1))) as u64
        };
        let wanted = by_bytes.min(cells / columns).max(1);
        // However few its rows, a slice costs a block of each column.
        let affordable = (options.scan_budget / (columns * SLACK)).max(1);
        // Small stripes are taken whole, and more of them.
        let in_stripe = (tail.rows / (stripes.len() as u64).max(1)).max(1);
        let count = (wanted / in_stripe).clamp(SLICES, MOST_SLICES);
        let count = count.min(stripes.len() as u64).min(wanted).min(affordable);
        let chosen = input::spread(stripes.len(), count as usize, options.seed, sample_path);
        let slices = chosen.into_iter().map(|i| Slice {
            stripe: stripes[i].0,
            rows: stripes[i].1.rows.min(wanted / count.max(1)),
        });
        Plan {
            slices: slices.collect(),
            complete: false,
        }
    }
}
