//! Objects in the order of their paths.
//!
//! Beside each place stand eight bytes of its path, first those that it begins with. Places are
//! sorted by these numbers, and those with the same number by the eight bytes that come next, so
//! that few comparisons look a path up.

use rayon::prelude::*;

use super::{Objects, Place};

/// A place, and the bytes of its path that it is sorted by.
type Keyed = (u64, Place);

/// Bytes of a path that are looked at together.
const STEP: usize = size_of::<u64>();
/// So few places are sorted by their whole paths.
const FEW: usize = 32;
/// Fewer places are sorted by one thread.
const MANY: usize = 4096;
/// Paths that are the same so far are compared as wholes: no path makes the recursion deep.
const DEEPEST: usize = 512;

impl Objects {
    /// These places in the order of their paths, and where paths are the same, of records.
    pub(super) fn in_order(&self, places: Vec<Place>) -> Vec<Place> {
        let mut keyed: Vec<Keyed> = places.into_iter().map(|place| (0, place)).collect();
        self.order(&mut keyed, 0);
        keyed.into_iter().map(|(_, place)| place).collect()
    }

    /// Sorts places whose paths are the same up to a depth.
    fn order(&self, keyed: &mut [Keyed], depth: usize) {
        let compare = |a: &Keyed, b: &Keyed| self.compare(a.1, b.1);
        let look_up = |it: &mut Keyed| it.0 = self.key(it.1, depth);
        let are_same = |a: &Keyed, b: &Keyed| a.0 == b.0;
        if keyed.len() <= FEW {
            keyed.sort_unstable_by(compare);
        } else if depth > DEEPEST {
            keyed.par_sort_unstable_by(compare);
        } else if keyed.len() < MANY {
            keyed.iter_mut().for_each(look_up);
            keyed.sort_unstable_by_key(|it| it.0);
            let same = keyed.chunk_by_mut(are_same);
            same.for_each(|it| self.order(it, depth + STEP));
        } else {
            keyed.par_iter_mut().for_each(look_up);
            keyed.par_sort_unstable_by_key(|it| it.0);
            let same = keyed.par_chunk_by_mut(are_same);
            same.for_each(|it| self.order(it, depth + STEP));
        }
    }

    /// What a path has from a depth on, as a number. A path that ends there comes before, or is
    /// distinguished later.
    fn key(&self, place: Place, depth: usize) -> u64 {
        let path = self.path_of(place).as_bytes();
        let rest = path.get(depth..).unwrap_or_default();
        let mut bytes = [0; STEP];
        let length = rest.len().min(STEP);
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectRecord;

    /// Objects in no order, with paths that begin alike, many of them several times.
    fn some_objects() -> Vec<ObjectRecord> {
        let mut last = 1_u64;
        let mut drawn = |below: u64| {
            last = last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (last >> 33) % below
        };
        let objects = (0..3 * MANY).map(|_| {
            let mut path = "a/".repeat([0, 5, DEEPEST][drawn(3) as usize]);
            for _ in 0..drawn(12) {
                path.push(['a', 'b', '/', '\0', 'é'][drawn(5) as usize]);
            }
            ObjectRecord::unversioned(&path, drawn(3))
        });
        objects.collect()
    }

    #[test]
    fn places_are_in_the_order_of_records() {
        let mut records = some_objects();
        let mut packed: Objects = records.iter().cloned().collect();
        records.sort_unstable();
        records.dedup_by(|later, first| later.path == first.path);
        // Sorted already, but for objects of one path: of these the first stays, too.
        for _ in 0..2 {
            packed.sort();
            assert!(packed.records(0..packed.len()) == records);
            assert!(packed.paths().eq(records.iter().map(|it| it.path.as_str())));
            let again = packed.records(0..packed.len()).into_iter();
            packed = again.flat_map(|it| [it.clone(), it]).collect();
        }
    }
}
