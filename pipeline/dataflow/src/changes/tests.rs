#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::mpsc;

use differential_dataflow::input::Input;
use differential_dataflow::logging::{DifferentialEvent, DifferentialEventBuilder};
use proptest::prelude::*;
use timely::Config;

use super::*;

type Emitted = (GroupId, Change, Epoch, isize);

/// Updates of the lake and of what is published, of one epoch.
type Step = (Vec<MemberUpdate>, Vec<MemberUpdate>);

/// What is emitted at each step, in the order of groups and steps, and the updates that were kept.
fn run_on(workers: usize, steps: Vec<Step>) -> (Vec<Emitted>, usize) {
    let (send, receive) = mpsc::channel();
    let (send_kept, kept) = mpsc::channel();
    let config = match workers {
        1 => Config::thread(),
        workers => Config::process(workers),
    };
    let guards = timely::execute(config, move |worker| {
        let (send, send_kept) = (send.clone(), send_kept.clone());
        let mut log = worker.log_register().unwrap();
        log.insert::<DifferentialEventBuilder, _>("differential/arrange", move |_, events| {
            for (_, event) in events.iter_mut().flat_map(|events| events.drain(..)) {
                if let DifferentialEvent::Batch(batch) = event {
                    send_kept.send(batch.length).unwrap();
                }
            }
        });
        drop(log);
        let (mut lake, mut published, probe) = worker.dataflow::<Epoch, _, _>(|scope| {
            let (lake_input, lake) = scope.new_collection();
            let (published_input, published) = scope.new_collection();
            let (probe, _) = changed_groups(lake, published, GroupId::hash)
                .inspect(move |((group, change), time, diff)| {
                    send.send((*group, *change, *time, *diff)).unwrap();
                })
                .probe();
            (lake_input, published_input, probe)
        });
        for (epoch, (lake_updates, published_updates)) in steps.iter().enumerate() {
            if worker.index() == 0 {
                for (update, diff) in lake_updates {
                    lake.update(*update, *diff);
                }
                for (update, diff) in published_updates {
                    published.update(*update, *diff);
                }
            }
            let next = epoch as Epoch + 1;
            lake.advance_to(next);
            published.advance_to(next);
            lake.flush();
            published.flush();
            while probe.less_than(&next) {
                worker.step();
            }
        }
    });
    drop(guards.unwrap());
    let mut emitted: Vec<Emitted> = receive.iter().collect();
    emitted.sort_unstable_by_key(|(group, change, epoch, diff)| (*group, *epoch, *diff, *change));
    (emitted, kept.iter().sum())
}

fn run(steps: Vec<Step>) -> Vec<Emitted> {
    run_on(1, steps).0
}

/// The update of a member of a group.
fn update(group: u128, member: u128, diff: isize) -> MemberUpdate {
    ((GroupId(group), MemberId(member)), diff)
}

/// The updates by which all members of a group come (1) or go (-1).
fn side<const N: usize>(
    group: u128,
    members: [u128; N],
    diff: isize,
) -> impl Iterator<Item = MemberUpdate> {
    super::side(GroupId(group), members.map(MemberId), diff)
}

/// A lake of 1,000 groups of three objects.
fn lake_of_a_thousand() -> Vec<MemberUpdate> {
    (0..1000u128)
        .flat_map(|group| side(group, [group, group + 1000, group + 2000], 1))
        .collect()
}

#[test]
fn an_unchanged_lake_emits_nothing() {
    assert!(run(vec![(lake_of_a_thousand(), lake_of_a_thousand())]).is_empty());
}

#[test]
fn nothing_is_kept_but_differences() {
    let mut lake = lake_of_a_thousand();
    lake.extend([update(7, 7, -1), update(7, 9007, 1)]);
    lake.extend(side(1000, [1], 1));
    for workers in [1, 2] {
        let (emitted, kept) = run_on(workers, vec![(lake.clone(), lake_of_a_thousand())]);
        assert_eq!(emitted.len(), 2, "{emitted:?}");
        // Two members of the group that changed; one, and the mark, of the one that came; two
        // changes.
        assert_eq!(kept, 2 + 2 + 2);
    }
}

#[test]
fn one_changed_object_emits_one_changed_group_and_nothing_else() {
    let emitted = run(vec![
        (lake_of_a_thousand(), lake_of_a_thousand()),
        (vec![update(7, 7, -1), update(7, 9007, 1)], vec![]),
    ]);
    assert_eq!(emitted.len(), 1, "{emitted:?}");
    let (group, change, epoch, diff) = emitted[0];
    assert_eq!((group, epoch, diff), (GroupId(7), 1, 1));
    assert!(matches!(change, Change::Changed { .. }));
}

#[test]
fn a_second_change_before_publishing_is_not_lost() {
    let emitted = run(vec![
        (lake_of_a_thousand(), lake_of_a_thousand()),
        (vec![update(7, 7, -1), update(7, 9007, 1)], vec![]),
        (vec![update(7, 9007, -1), update(7, 9107, 1)], vec![]),
        // Publishing the newest state retracts the change.
        (vec![], vec![update(7, 7, -1), update(7, 9107, 1)]),
    ]);
    let at = |epoch: Epoch, diff: isize| {
        emitted
            .iter()
            .filter(|e| e.2 == epoch && e.3 == diff)
            .count()
    };
    assert_eq!(
        (at(1, 1), at(2, 1), at(2, -1), at(3, -1)),
        (1, 1, 1, 1),
        "{emitted:?}"
    );
    assert_eq!(emitted.len(), 4);
}

#[test]
fn what_awaits_a_narration_is_distinguished_from_what_changed() {
    let mut published = lake_of_a_thousand();
    published.extend([
        ((GroupId(7), AWAITS_NARRATION), 1),
        ((GroupId(9), AWAITS_NARRATION), 1),
    ]);
    let mut lake = lake_of_a_thousand();
    lake.push(update(9, 9009, 1));
    let emitted = run(vec![
        (lake, published),
        (vec![], vec![((GroupId(7), AWAITS_NARRATION), -1)]),
    ]);
    let found: Vec<_> = emitted.iter().map(|e| (e.0, e.2, e.3)).collect();
    let (seven, nine) = (GroupId(7), GroupId(9));
    assert_eq!(found, [(seven, 0, 1), (seven, 1, -1), (nine, 0, 1)]);
    for (group, change, ..) in emitted {
        assert_eq!(change == Change::Awaiting, group == seven);
    }
}

#[test]
fn additions_and_removals_are_distinguished() {
    let emitted = run(vec![(
        side(1, [10], 1).collect(),
        side(2, [20], 1).collect(),
    )]);
    let changes: Vec<_> = emitted.iter().map(|e| (e.0, e.1)).collect();
    assert!(matches!(changes[0], (GroupId(1), Change::Added { .. })));
    assert_eq!(changes[1], (GroupId(2), Change::Removed));
    assert_eq!(changes.len(), 2);
}

/// Tables of which no part could be read in its newest version.
#[test]
fn a_group_that_is_published_without_members_is_known_to_be_there() {
    let published = || vec![memberless(GroupId(1)), memberless(GroupId(2))];
    let emitted = run(vec![(side(1, [10], 1).collect(), published())]);
    let changes: Vec<_> = emitted.iter().map(|e| (e.0, e.1)).collect();
    assert!(matches!(changes[0], (GroupId(1), Change::Changed { .. })));
    assert_eq!(changes[1], (GroupId(2), Change::Removed));
    assert_eq!(changes.len(), 2);
}

/// What happens to a group in an epoch.
#[derive(Clone, Debug)]
enum Edit {
    /// The lake has these members.
    Lake(BTreeSet<MemberId>),
    /// What the lake had before this epoch is published.
    Publish,
    /// The lake has these members, and what it had before this epoch is published.
    PublishAndLake(BTreeSet<MemberId>),
    /// Something else is published; another writer may have.
    Published(BTreeSet<MemberId>),
    /// Its tables await a narration from now on, or do no more.
    Awaits(bool),
}

fn edits() -> impl Strategy<Value = Vec<BTreeMap<GroupId, Edit>>> {
    let members = || prop::collection::btree_set((0..4u128).prop_map(MemberId), 0..4);
    let edit = prop_oneof![
        3 => members().prop_map(Edit::Lake),
        2 => Just(Edit::Publish),
        2 => members().prop_map(Edit::PublishAndLake),
        1 => members().prop_map(Edit::Published),
        1 => any::<bool>().prop_map(Edit::Awaits),
    ];
    prop::collection::vec(
        prop::collection::btree_map((0..5u128).prop_map(GroupId), edit, 0..5),
        1..10,
    )
}

/// A group as a naive model keeps it.
#[derive(Clone, Default)]
struct Modelled {
    lake: BTreeSet<MemberId>,
    published: BTreeSet<MemberId>,
    awaits: bool,
}

impl Modelled {
    fn edit(&mut self, edit: &Edit) {
        if let Edit::Publish | Edit::PublishAndLake(_) = edit {
            self.published.clone_from(&self.lake);
        }
        match edit {
            Edit::Lake(members) | Edit::PublishAndLake(members) => self.lake.clone_from(members),
            Edit::Published(members) => self.published.clone_from(members),
            Edit::Awaits(awaits) => self.awaits = *awaits,
            Edit::Publish => {}
        }
        self.awaits &= !self.published.is_empty();
    }

    /// What a change of it must look like; its kind only, as for the state.
    fn kind(&self) -> Option<&'static str> {
        match (self.lake.is_empty(), self.published.is_empty()) {
            _ if self.lake == self.published => self.awaits.then_some("awaiting"),
            (true, _) => Some("removed"),
            (_, true) => Some("added"),
            _ => Some("changed"),
        }
    }

    fn sides(&self, group: GroupId, diff: isize) -> Step {
        let of = |members: &BTreeSet<MemberId>| -> Vec<MemberUpdate> {
            super::side(group, members.iter().copied(), diff).collect()
        };
        let mut sides = (of(&self.lake), of(&self.published));
        if self.awaits {
            sides.1.push(((group, AWAITS_NARRATION), diff));
        }
        sides
    }
}

fn kind(change: Change) -> &'static str {
    match change {
        Change::Added { .. } => "added",
        Change::Changed { .. } => "changed",
        Change::Removed => "removed",
        Change::Awaiting => "awaiting",
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After every epoch a group has just the change that a naive model of both sides gives, and it
    /// is a new one whenever the lake has moved.
    #[test]
    fn changes_are_those_of_a_naive_model(edits in edits(), workers in 1..=4usize) {
        let mut groups: BTreeMap<GroupId, Modelled> = BTreeMap::new();
        let mut steps = Vec::new();
        let mut expected = Vec::new();
        for edits in &edits {
            let mut step = Step::default();
            let mut moved = BTreeSet::new();
            for (group, edit) in edits {
                let modelled = groups.entry(*group).or_default();
                let before = modelled.clone();
                modelled.edit(edit);
                if before.lake != modelled.lake {
                    moved.insert(*group);
                }
                for (lake, published) in [before.sides(*group, -1), modelled.sides(*group, 1)] {
                    step.0.extend(lake);
                    step.1.extend(published);
                }
            }
            steps.push(step);
            let kinds: BTreeMap<GroupId, _> = groups
                .iter()
                .filter_map(|(group, modelled)| Some((*group, modelled.kind()?)))
                .collect();
            expected.push((kinds, moved));
        }
        let (emitted, _) = run_on(workers, steps);
        let mut standing: HashMap<(GroupId, Change), isize> = HashMap::new();
        for (epoch, (kinds, moved)) in expected.into_iter().enumerate() {
            let here = emitted.iter().filter(|emitted| emitted.2 == epoch as Epoch);
            let mut new = BTreeSet::new();
            for (group, change, _, diff) in here {
                *standing.entry((*group, *change)).or_default() += diff;
                if *diff > 0 {
                    new.insert(*group);
                }
            }
            standing.retain(|_, count| *count != 0);
            prop_assert!(standing.values().all(|count| *count == 1));
            let found: BTreeMap<GroupId, _> =
                standing.keys().map(|(group, change)| (*group, kind(*change))).collect();
            prop_assert_eq!(found.len(), standing.len());
            prop_assert_eq!(&found, &kinds);
            for group in moved.iter().filter(|group| kinds.get(group).is_some_and(|kind| *kind != "awaiting")) {
                prop_assert!(new.contains(group), "the change of {:?} in epoch {} is lost", group, epoch);
            }
        }
    }
}
