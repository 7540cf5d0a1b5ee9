//! The names of tables, for suggestions while a person types: found by how they begin, by how their
//! last part begins, and by what is in them.

use limn_segment::{Numbers, Spilled, spilled};
use memchr::memmem::Finder;

/// The folded names of tables, which have the numbers from 0 on. They lie in temporary files: in
/// memory is what is looked at.
pub struct Names {
    /// All names in lower case, one after the other, each with a line feed before it.
    folded: Spilled,
    /// Where each begins in it (u64), and where one more would.
    starts: Spilled,
    /// The tables in the order of their folded names, and of their last parts.
    by_name: Numbers,
    by_last_part: Numbers,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names")
            .field("tables", &self.by_name.len())
            .finish_non_exhaustive()
    }
}

impl Names {
    /// Takes in the names of tables.
    pub fn of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Names {
        let length = names.clone().map(|name| name.len() + 1).sum();
        let mut folded = String::with_capacity(length);
        let mut starts = Vec::new();
        for name in names {
            folded.push('\n');
            starts.push(folded.len());
            folded.push_str(&name.to_lowercase());
        }
        let count = starts.len() as u32;
        starts.push(folded.len() + 1);
        let name = |number: u32| &folded[starts[number as usize]..starts[number as usize + 1] - 1];
        let sorted = |part: fn(&str) -> &str| {
            let mut numbers: Vec<u32> = (0..count).collect();
            numbers.sort_unstable_by(|a, b| part(name(*a)).cmp(part(name(*b))));
            Numbers::of(&numbers)
        };
        let (by_name, by_last_part) = (sorted(|name| name), sorted(last_part));
        let starts = starts
            .iter()
            .flat_map(|start| (*start as u64).to_le_bytes());
        Names {
            starts: spilled(starts.collect()),
            folded: spilled(folded.into_bytes()),
            by_name,
            by_last_part,
        }
    }

    fn start(&self, number: usize) -> usize {
        let start = self.starts.as_chunks::<8>().0[number];
        u64::from_le_bytes(start) as usize
    }

    fn name(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.folded[self.start(number)..self.start(number + 1) - 1]
    }

    fn last_part(&self, number: u32) -> &[u8] {
        let name = self.name(number);
        let slash = name.iter().rposition(|byte| *byte == b'/');
        &name[slash.map_or(0, |at| at + 1)..]
    }

    /// The number of the name that has this place among all.
    fn at(&self, place: usize) -> usize {
        let (mut low, mut high) = (0, self.by_name.len());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.start(middle) <= place {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The tables whose last part is this (in lower case).
    pub fn called(&self, last_part: &str) -> impl Iterator<Item = u32> {
        let (sorted, wanted) = (&self.by_last_part, last_part.as_bytes());
        let from = sorted.partition_point(|number| self.last_part(number) < wanted);
        let to = sorted.partition_point(|number| self.last_part(number) <= wanted);
        sorted.iter(from..to)
    }

    /// The first `limit` tables, in the order of their numbers, of which the name or its last part
    /// begins with `word` (in lower case); where these are fewer, then the first of which the name
    /// has it anywhere.
    pub fn find(&self, word: &str, limit: usize) -> Vec<u32> {
        let word = word.as_bytes();
        let mut found: Vec<u32> = Vec::new();
        let part: [fn(&Names, u32) -> &[u8]; 2] = [Names::name, Names::last_part];
        for (sorted, part) in [&self.by_name, &self.by_last_part].into_iter().zip(part) {
            let from = sorted.partition_point(|number| part(self, number) < word);
            // Greater than all that begin so.
            let is_before =
                |number| part(self, number) < word || part(self, number).starts_with(word);
            found.extend(sorted.iter(from..sorted.partition_point(is_before)));
        }
        // Where many begin so, only the first are put in order.
        if found.len() > 2 * limit {
            found.select_nth_unstable(2 * limit);
            found.truncate(2 * limit);
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit);
        let mut within = Vec::new();
        let mut at = 0;
        let finder = Finder::new(word);
        while found.len() + within.len() < limit
            && let Some(place) = finder.find(&self.folded[at..])
        {
            let number = self.at(at + place);
            at = self.start(number + 1) - 1;
            if found.binary_search(&(number as u32)).is_err() {
                within.push(number as u32);
            }
        }
        found.extend(within);
        found
    }
}

/// What comes after the last `/` of a path.
pub fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_found_as_by_looking_at_each() {
        let parts = ["a", "Ab", "abc", "bA", "c/a", "ca", "É", "b"];
        let mut names: Vec<String> = Vec::new();
        for first in parts {
            for second in parts {
                names.push(format!("{first}/{second}"));
                names.push(format!("{first}{second}"));
            }
        }
        let kept = Names::of(names.iter().map(String::as_str));
        for word in ["a", "ab", "b", "c/", "é", "ca", "a/a", "x", "bab", "/"] {
            for limit in [1, 2, 3, 7, 100] {
                let (mut starting, mut within) = (Vec::new(), Vec::new());
                for (number, name) in (0u32..).zip(&names) {
                    let name = name.to_lowercase();
                    if name.starts_with(word) || last_part(&name).starts_with(word) {
                        starting.push(number);
                    } else if name.contains(word) {
                        within.push(number);
                    }
                }
                starting.truncate(limit);
                starting.extend(within);
                starting.truncate(limit);
                assert_eq!(kept.find(word, limit), starting, "{word} {limit}");
            }
        }
        assert!(Names::of([].into_iter()).find("a", 3).is_empty());
    }
}
