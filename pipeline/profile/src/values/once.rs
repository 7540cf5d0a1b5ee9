//! Values that were seen once: most of those of a long column, and soon forgotten again.

/// A set of hashes that grows up to a known size, and is emptied as a whole.
#[derive(Debug)]
pub(super) struct Once {
    // Open addressing; 0 is a free place. Never more than half full.
    slots: Vec<u64>,
}

impl Once {
    /// For at most `most` hashes.
    pub(super) fn for_most(most: usize) -> Once {
        Once {
            slots: vec![0; (2 * most).next_power_of_two()],
        }
    }

    /// Adds a hash. False if it has been there.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) -> bool {
        // As free places are 0, so is 1: two hashes of all.
        let hash = hash.max(1);
        // Neither the bits that sketches look at, nor those that the lowest hashes have in common.
        let mut at = (hash >> 32) as usize;
        loop {
            at &= self.slots.len() - 1;
            match self.slots.get_mut(at) {
                Some(slot) if *slot == hash => return false,
                Some(slot) if *slot == 0 => {
                    *slot = hash;
                    return true;
                }
                _ => at += 1,
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(0);
    }
}
