//! Texts of a listing that are about no table of it.

use std::collections::BTreeSet;

use limn_formats::ObjectRef;
use limn_lake::filter::Selection;
use limn_lake::layout::{may_be_beside, texts_beside};

use super::state::Listing;

impl Listing {
    /// Leaves out texts that are about no table, and not chosen as data; others that are not chosen
    /// make no tables.
    pub(super) fn leave_out_texts(&mut self, selection: &Selection) {
        let is_unchosen = |it: &ObjectRef<'_>| {
            may_be_beside(it.path) && !selection.has_rows(it.path, it.size, it.modified_ms)
        };
        let listed = self.objects.iter().chain(self.boundary.iter());
        if !listed.clone().any(|it| is_unchosen(&it)) {
            return;
        }
        let about_others = texts_beside(listed.clone().map(|object| object.path));
        let kept = listed.filter(|it| is_unchosen(it) && about_others.contains(it.path));
        let kept: BTreeSet<String> = kept.map(|it| it.path.to_owned()).collect();
        let is_kept = |it: &ObjectRef<'_>| !is_unchosen(it) || kept.contains(it.path);
        self.boundary.retain(|object| is_kept(&object));
        self.objects.retain(|object| {
            let is_kept = is_kept(&object);
            if !is_kept {
                let path = object.path.to_owned();
                match selection.is_too_new(object.path, object.size, object.modified_ms) {
                    true => self.unlisted.push(path),
                    false => self.left_out.push(path),
                }
            }
            is_kept
        });
        self.only_about_others = kept;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_formats::ObjectRecord;

    use super::*;

    #[test]
    fn texts_about_no_table_are_left_out_unless_they_are_chosen() {
        let listing = |include: &[&str]| {
            let filters = limn_lake::filter::Filters {
                include: include.iter().map(|it| (*it).to_owned()).collect(),
                ..Default::default()
            };
            let selection = filters.at(0).unwrap();
            let record = |path: &str| ObjectRecord {
                path: path.to_owned(),
                etag: None,
                version: None,
                size: 1,
                modified_ms: 0,
            };
            let paths = ["a.csv", "a.txt", "b.txt", "d.txt", "d/x.csv", "e.md"];
            let mut listing = Listing {
                objects: paths.map(record).into_iter().collect(),
                ..Listing::default()
            };
            listing.leave_out_texts(&selection);
            let kept = listing.objects.iter().map(|it| it.path.to_owned());
            (kept.collect::<Vec<_>>(), listing.left_out)
        };
        let all = ["a.csv", "a.txt", "b.txt", "d.txt", "d/x.csv", "e.md"];
        assert_eq!(listing(&[]).0, all);
        assert_eq!(listing(&["*.csv", "b*"]).0, all);
        let (kept, left_out) = listing(&["*.csv"]);
        assert_eq!(kept, ["a.csv", "a.txt", "d.txt", "d/x.csv", "e.md"]);
        assert_eq!(left_out, ["b.txt"]);
    }
}
