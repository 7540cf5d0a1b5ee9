//! The inputs of a round's dataflow, and how what is fed into them is seen by other processes.

use std::cell::Cell;
use std::rc::Rc;

use differential_dataflow::input::InputSession;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::{InputHandle, ProbeHandle};

use crate::changes::{Epoch, GroupId, MemberId};
use crate::plan::{EpochPlan, GroupPlan};
use crate::select::Work;
use crate::wire::Wire;

/// An input of records.
pub type Input<D> = InputHandle<Epoch, CapacityContainerBuilder<Vec<D>>>;

/// The inputs of the dataflow on one worker, and how far it has come.
pub struct Inputs {
    /// The lake as it is: `(group, member)`.
    pub lake: InputSession<Epoch, (GroupId, MemberId), isize>,
    /// The lake as it was published.
    pub published: InputSession<Epoch, (GroupId, MemberId), isize>,
    /// The plans of groups that may have changed.
    pub plans: Input<Wire<GroupPlan>>,
    /// Work that comes late, at the epoch that it is then: tables whose narrations have come, with
    /// the rows that they are published with, and groups whose files cannot be listed. They are
    /// described again from their published rows, without a look at the lake. None once there is no
    /// more.
    pub late: Option<Input<Work>>,
    /// How much of it all processes have fed since this was set to 0; for the driver.
    pub late_fed: Rc<Cell<usize>>,
    /// Done when no process feeds any more of it.
    pub late_done: ProbeHandle<Epoch>,
    /// Says which epoch begins next, and once that the lake is published: models may be asked. The
    /// driver's alone.
    pub clock: Option<Input<()>>,
    /// Epochs before its frontier have begun.
    pub begun: ProbeHandle<Epoch>,
    /// Whether models may be asked.
    pub may_narrate: Rc<Cell<bool>>,
    /// Epochs before its frontier are published, and their vectors forgotten by all processes.
    pub done: ProbeHandle<Epoch>,
}

impl Inputs {
    /// Feeds an epoch, or what this process has of it, and ends it.
    pub fn feed(&mut self, number: Epoch, epoch: EpochPlan) {
        for (update, diff) in epoch.published {
            self.published.update(update, diff);
        }
        for (update, diff) in epoch.lake {
            self.lake.update(update, diff);
        }
        for plan in epoch.groups {
            self.plans.send(Wire(plan));
        }
        for group in epoch.restated {
            self.feed_late(Work::Restate(group));
        }
        self.advance_to(number + 1);
    }

    /// Feeds work that comes late, at this epoch.
    pub fn feed_late(&mut self, work: Work) {
        debug_assert!(self.late.is_some(), "work after the last");
        if let Some(late) = &mut self.late {
            late.send(work);
        }
    }

    /// Lets the driver know of what was fed late.
    pub fn flush_late(&mut self) {
        if let Some(late) = &mut self.late {
            late.flush();
        }
    }

    /// Tells all processes that the lake is published.
    pub fn begin_narrating(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.send(());
            clock.flush();
        }
    }

    /// Moves all inputs to the next epoch.
    pub fn advance_to(&mut self, epoch: Epoch) {
        if let Some(clock) = &mut self.clock {
            clock.advance_to(epoch);
            clock.flush();
        }
        self.lake.advance_to(epoch);
        self.published.advance_to(epoch);
        self.plans.advance_to(epoch);
        if let Some(late) = &mut self.late {
            late.advance_to(epoch);
            late.flush();
        }
        self.lake.flush();
        self.published.flush();
        self.plans.flush();
    }
}
