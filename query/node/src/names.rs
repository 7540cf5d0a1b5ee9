//! The names of tables, for suggestions while a person types: found by how they begin, by how their last part
//! begins, and by what is in them.

/// The folded names of tables, which have the numbers from 0 on.
#[derive(Debug)]
pub struct Names {
    /// All names in lower case, one after the other, each with a line feed before it.
    folded: String,
    /// Where each begins in it, and where one more would.
    starts: Vec<usize>,
    /// The tables in the order of their folded names, and of their last parts.
    by_name: Vec<u32>,
    by_last_part: Vec<u32>,
}

impl Names {
    /// Takes in the names of tables.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Names {
        let (mut folded, mut starts) = (String::new(), Vec::new());
        for name in names {
            folded.push('\n');
            starts.push(folded.len());
            folded.push_str(&name.to_lowercase());
        }
        let count = starts.len() as u32;
        starts.push(folded.len() + 1);
        let mut names = Names {
            folded,
            starts,
            by_name: Vec::new(),
            by_last_part: Vec::new(),
        };
        let sorted = |part: fn(&Names, u32) -> &str| {
            let mut numbers: Vec<u32> = (0..count).collect();
            numbers.sort_unstable_by(|a, b| part(&names, *a).cmp(part(&names, *b)));
            numbers
        };
        let (by_name, by_last_part) = (sorted(Names::name), sorted(Names::last_part));
        (names.by_name, names.by_last_part) = (by_name, by_last_part);
        names
    }

    fn name(&self, number: u32) -> &str {
        let (start, end) = (
            self.starts[number as usize],
            self.starts[number as usize + 1],
        );
        &self.folded[start..end - 1]
    }

    fn last_part(&self, number: u32) -> &str {
        last_part(self.name(number))
    }

    /// The first `limit` tables, in the order of their numbers, of which the name or its last part begins with `word` (in lower
    /// case); where these are fewer, then the first of which the name has it anywhere.
    pub fn find(&self, word: &str, limit: usize) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        let part: [fn(&Names, u32) -> &str; 2] = [Names::name, Names::last_part];
        for (sorted, part) in [&self.by_name, &self.by_last_part].into_iter().zip(part) {
            let from = sorted.partition_point(|number| part(self, *number) < word);
            let length =
                sorted[from..].partition_point(|number| part(self, *number).starts_with(word));
            found.extend(&sorted[from..from + length]);
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
        while found.len() + within.len() < limit
            && let Some(place) = self.folded[at..].find(word)
        {
            let number = self.starts.partition_point(|start| *start <= at + place) - 1;
            at = self.starts[number + 1] - 1;
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
