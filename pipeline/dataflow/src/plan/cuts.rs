//! Where a plan is cut into epochs.

use limn_lake::Group;

/// Objects of the first epoch at most: a run can be searched, and stopped without loss, within a
/// minute. Each next one may have twice as many, so that a large lake is not cut into very many.
/// What differs from an index is one epoch where it has room in one.
const FIRST_OBJECTS: usize = 1024;
/// Objects of the groups of an epoch at most: their paths are in memory until their
/// tables are written. A run with so many took 0.7 GB more than one with nothing to do.
const MOST_WHOLE: usize = 1 << 20;

/// What of a group differs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Changed {
    /// Objects that are new or have another version; one where only texts or settings differ.
    pub(super) objects: usize,
    /// Their bytes.
    pub(super) bytes: u64,
    /// All objects of the group, which is planned as a whole.
    pub(super) whole: usize,
}

impl Changed {
    /// All of a group.
    pub(super) fn all_of(group: &Group) -> Changed {
        let sizes = group.files.iter().map(|file| file.object.size);
        Changed {
            objects: group.files.len(),
            bytes: sizes.fold(0, u64::saturating_add),
            whole: group.files.len(),
        }
    }

    /// It, of a group of which something else than files differs, too.
    pub(super) fn at_least_one(self) -> Changed {
        Changed {
            objects: self.objects.max(1),
            ..self
        }
    }

    /// That of both.
    pub(super) fn and(self, other: Changed) -> Changed {
        Changed {
            objects: self.objects + other.objects,
            bytes: self.bytes.saturating_add(other.bytes),
            whole: self.whole + other.whole,
        }
    }
}

/// What an epoch has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) most_objects: usize,
    pub(super) most_bytes: u64,
    /// Whether the index has nothing of the lake.
    pub(super) is_first_run: bool,
}

/// Where epochs are cut: after so many objects that differ, or bytes of them. What stays as it is
/// costs no epoch anything but the paths of groups of which something differs.
pub(super) struct Cuts {
    open: Changed,
    /// Objects of this epoch, and of any.
    room: usize,
    most_objects: usize,
    most_bytes: u64,
}

impl Cuts {
    /// Cuts of what each of all groups has that differs.
    pub(super) fn new(room: Room, changed: &[Changed]) -> Self {
        let Room {
            most_objects,
            most_bytes,
            is_first_run,
        } = room;
        let all = changed.iter().map(|it| it.objects);
        Cuts {
            open: Changed::default(),
            room: match is_first_run || all.sum::<usize>() > most_objects {
                true => FIRST_OBJECTS.min(most_objects),
                false => most_objects,
            },
            most_objects,
            most_bytes,
        }
    }

    /// Whether an epoch begins with the next group, of which this differs.
    pub(super) fn begins(&mut self, changed: Changed) -> bool {
        let with = self.open.and(changed);
        let is_full =
            with.objects > self.room || with.bytes > self.most_bytes || with.whole > MOST_WHOLE;
        let begins = self.open.whole > 0 && is_full;
        if begins {
            self.room = self.room.saturating_mul(2).min(self.most_objects);
        }
        self.open = if begins { changed } else { with };
        begins
    }
}
