//! Files by what their names have in common.

use std::collections::BTreeMap;

use super::Entry;

/// A file, and its place among others.
pub(super) struct Like<'a> {
    pub(super) at: usize,
    pub(super) file: Entry<'a>,
}

/// Files of one folder whose names have one mask, whatever the case of its letters.
pub(super) struct Masked<'a> {
    pub(super) folder: &'a str,
    /// The mask of the first.
    pub(super) mask: String,
    pub(super) files: Vec<Like<'a>>,
}

/// Files by their folders and the masks of their names.
#[derive(Default)]
pub(super) struct ByMask<'a> {
    /// Where those of a folder and a mask in lower case are.
    places: BTreeMap<(&'a str, String), usize>,
    sets: Vec<Masked<'a>>,
    /// Where the last file went: the next one mostly goes there, too.
    last: usize,
}

impl<'a> ByMask<'a> {
    pub(super) fn add(&mut self, folder: &'a str, mask: &str, file: Like<'a>) {
        let last = self.sets.get(self.last);
        if last.is_none_or(|it| it.folder != folder || it.mask != mask) {
            let next = self.sets.len();
            let key = (folder, mask.to_lowercase());
            self.last = *self.places.entry(key).or_insert(next);
            if self.last == next {
                self.sets.push(Masked {
                    folder,
                    mask: mask.to_owned(),
                    files: Vec::new(),
                });
            }
        }
        if let Some(set) = self.sets.get_mut(self.last) {
            set.files.push(file);
        }
    }

    /// The files of each folder and mask, in the order of these.
    pub(super) fn into_sets(self) -> impl Iterator<Item = Masked<'a>> {
        let mut sets: Vec<Option<Masked<'a>>> = self.sets.into_iter().map(Some).collect();
        let places = self.places.into_values();
        places.filter_map(move |at| sets.get_mut(at)?.take())
    }
}
