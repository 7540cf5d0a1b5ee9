//! Pending: a group whose parts are coming in. All summaries of a group are in memory until it is
//! complete, so that files of very many columns are bounded in number.

use std::collections::BTreeMap;

use crate::parts::Parts;
use crate::plan::GroupPlan;
use crate::read::{Part, ReadResult, Unread, WIDE};

/// Columns that the wide files of one group may have together: those of 64 of the widest.
const MOST_COLUMNS: usize = 1 << 20;

/// The parts of a group that have to be read.
pub fn parts_of(plan: &GroupPlan) -> impl Iterator<Item = Part> + '_ {
    let files = (0..plan.group.files.len()).map(|index| Part::File(index as u32));
    let sidecars = plan
        .group
        .contexts
        .iter()
        .enumerate()
        .filter_map(|(index, context)| {
            let is_read = context.source.object().is_some();
            is_read.then_some(Part::Context(index as u32))
        });
    files.chain(sidecars)
}

/// A group whose parts are coming in.
#[derive(Default)]
pub struct Pending {
    plan: Option<GroupPlan>,
    as_published: Vec<Part>,
    parts: Parts,
    wide: WideFiles,
    /// Those that are left out, and how many columns they have.
    too_wide: Vec<(Part, usize)>,
}

impl Pending {
    /// The group whose parts are to come, but for the files whose summaries are the published ones.
    pub fn expect(&mut self, plan: GroupPlan, as_published: Vec<Part>) {
        self.plan = Some(plan);
        self.as_published = as_published;
    }

    /// Takes in what came of reading a part.
    pub fn insert(&mut self, part: Part, result: Result<ReadResult, Unread>) {
        let columns = match &result {
            Ok(ReadResult::Summary(summary)) => summary.columns.len(),
            _ => 0,
        };
        self.parts.insert(part, result);
        for (part, columns) in self.wide.add(part, columns) {
            self.parts.insert(part, Ok(ReadResult::NoTable));
            self.too_wide.push((part, columns));
        }
    }

    /// The group and its parts, with why some of them are left out.
    pub fn complete(mut self) -> Option<(GroupPlan, Parts)> {
        let plan = self.plan?;
        let as_published = self.as_published.into_iter();
        self.parts
            .extend(as_published.map(|part| (part, Ok(ReadResult::AsPublished))));
        for (part, columns) in self.too_wide {
            if let Part::File(index) = part
                && let Some(file) = plan.group.files.get(index as usize)
            {
                let unread = too_wide(&file.object.path, columns);
                self.parts.insert(part, Err(unread));
            }
        }
        Some((plan, self.parts))
    }

    /// Whether all has come.
    pub fn has_all(&self) -> bool {
        let has = self.parts.len() + self.as_published.len();
        self.plan
            .as_ref()
            .is_some_and(|plan| has == parts_of(plan).count())
    }
}

/// The wide files of a group that take part: in the order of their paths the first ones, whichever
/// is read first.
#[derive(Default)]
struct WideFiles {
    columns: BTreeMap<Part, usize>,
    all: usize,
    /// This one and those after it are left out.
    end: Option<Part>,
}

impl WideFiles {
    /// Adds a file of so many columns. Gives the files that are left out now, and how many columns
    /// each has.
    fn add(&mut self, part: Part, columns: usize) -> Vec<(Part, usize)> {
        let mut left_out = Vec::new();
        if columns < WIDE {
            return left_out;
        }
        self.columns.insert(part, columns);
        self.all += columns;
        while let Some((last, columns)) = self.columns.pop_last() {
            let is_beyond = self.end.is_some_and(|end| last >= end);
            if !is_beyond && self.all <= MOST_COLUMNS {
                self.columns.insert(last, columns);
                break;
            }
            self.all -= columns;
            self.end = Some(self.end.map_or(last, |end| end.min(last)));
            left_out.push((last, columns));
        }
        left_out
    }
}

/// Why a file of so many columns is left out.
fn too_wide(path: &str, columns: usize) -> Unread {
    Unread {
        error: format!(
            "{path}: it has {columns} columns, and the files of its table that have more than {WIDE} may have {MOST_COLUMNS} together; store it with a row per value"
        ),
        settled: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_files_take_part_in_whatever_order_they_are_read() {
        let columns = |i: u32| match i % 3 {
            0 => 16_384,
            1 => 9_000,
            _ => 100,
        };
        let kept = |order: &mut dyn Iterator<Item = u32>| {
            let (mut files, mut out) = (WideFiles::default(), Vec::new());
            for i in order {
                out.extend(files.add(Part::File(i), columns(i)));
            }
            out.sort_unstable();
            (files.columns.keys().copied().collect::<Vec<_>>(), out)
        };
        let expected = kept(&mut (0..300));
        assert!(expected.0.len() > 64 && expected.0.len() + expected.1.len() == 200);
        assert!(expected.0.last() < expected.1.first().map(|(part, _)| part));
        assert_eq!(kept(&mut (0..300).rev()), expected);
        assert_eq!(kept(&mut (0..300).map(|i| i * 7 % 300)), expected);
    }
}
