//! Where a column is within the objects and lists of a row.

use std::collections::HashMap;

/// Where a column is: what leads to it, and what is within it.
pub(super) struct Node {
    /// The column of the object or list around it, if that is not the row.
    pub(super) outer: Option<usize>,
    /// Its key in the object; none of elements of a list.
    pub(super) key: Option<Box<str>>,
    /// All keys that lead to it: `address.city`, `tags[]`.
    pub(super) path: Box<str>,
    /// The columns of its own keys, where it is an object.
    pub(super) keys: HashMap<Box<str>, usize>,
    /// The column of its elements, where it is a list.
    pub(super) elements: Option<usize>,
}

impl Node {
    /// How many columns are within it.
    pub(super) fn holds(&self) -> usize {
        self.keys.len() + usize::from(self.elements.is_some())
    }
}
