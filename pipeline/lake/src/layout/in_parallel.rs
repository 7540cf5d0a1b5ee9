//! Work on many things by all cores, a part after the other, so that little of it is in memory at
//! once.

use std::ops::Range;

use rayon::prelude::*;

/// Folders that are looked at before what came of them is taken.
pub(super) const FOLDERS: usize = 1024;
/// Objects, or groups, that one core looks at in a row.
const IN_A_ROW: usize = 1024;
/// Such rows that are looked at before what came of them is taken.
const ROWS: usize = 16;

/// Makes something of each of these, `at_once` at a time, and takes what was made in their order.
pub(super) fn in_parallel<T: Send, R: Send>(
    all: impl IntoIterator<Item = T>,
    at_once: usize,
    make: impl Fn(T) -> R + Send + Sync,
    mut take: impl FnMut(R),
) {
    let mut all = all.into_iter();
    loop {
        let some: Vec<T> = all.by_ref().take(at_once).collect();
        if some.is_empty() {
            return;
        }
        if some.len() == 1 {
            some.into_iter().map(&make).for_each(&mut take);
            continue;
        }
        let made: Vec<R> = some.into_par_iter().map(&make).collect();
        made.into_iter().for_each(&mut take);
    }
}

/// The same of the places of a list of so many, in ranges of them.
pub(super) fn in_ranges<R: Send>(
    length: usize,
    make: impl Fn(Range<usize>) -> R + Send + Sync,
    take: impl FnMut(R),
) {
    let starts = (0..length).step_by(IN_A_ROW);
    let ranges = starts.map(|start| start..length.min(start + IN_A_ROW));
    in_parallel(ranges, ROWS, make, take);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_taken_once_in_its_order() {
        for length in [0, 1, IN_A_ROW, 3 * IN_A_ROW + 1, (2 * ROWS + 3) * IN_A_ROW] {
            let mut taken = Vec::new();
            in_ranges(
                length,
                |range| range.collect::<Vec<_>>(),
                |it| taken.extend(it),
            );
            assert!(taken.into_iter().eq(0..length), "{length}");
        }
    }
}
