//! Tables and columns by numbers of 16 bytes that sort by place: neighbours in a folder are
//! neighbours here. They are kept as bytes, which need no alignment: there are very many.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Letters of a table's own name that its number begins with, after its folder.
const LETTERS: usize = 5;

/// A table: 24 bits of the hash of its lake and folder, five letters of its name, 48 bits of the
/// hash of its lake and name. 16 bits are free, for a column's place.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct TableId([u8; 16]);

/// A column's place in its table, from 0.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Place(pub u16);

/// A column of a table; with [`ColumnId::WHOLE`] as place, the table itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct ColumnId([u8; 16]);

impl TableId {
    /// Below and above all others.
    pub(crate) const ENDS: (TableId, TableId) = (TableId([0; 16]), TableId([u8::MAX; 16]));

    /// The number of the table `name` of the lake at `lake`.
    #[must_use]
    pub fn of(lake: &str, name: &str) -> TableId {
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
        let hash = |a: &str, b: &str| u128::from(xxh3_64(format!("{a}\0{b}").as_bytes()));
        let letters = own.bytes().chain(std::iter::repeat(0)).take(LETTERS);
        let letters = letters.fold(0u128, |sum, letter| {
            sum << 8 | u128::from(letter.to_ascii_lowercase())
        });
        let folder = hash(lake, folder) & 0xFF_FFFF;
        let whole = hash(lake, name) & 0xFFFF_FFFF_FFFF;
        TableId((folder << 104 | letters << 64 | whole << 16).to_be_bytes())
    }

    /// One of its columns.
    #[must_use]
    pub fn column(self, place: Place) -> ColumnId {
        let mut bytes = self.0;
        bytes[14..].copy_from_slice(&place.0.to_be_bytes());
        ColumnId(bytes)
    }

    /// Eight bytes of it that are spread evenly: where it is exchanged to.
    #[must_use]
    pub fn spread(self) -> u64 {
        xxh3_64(&self.0)
    }
}

impl ColumnId {
    /// The place that stands for the table itself.
    pub const WHOLE: Place = Place(u16::MAX);

    /// Its table.
    #[must_use]
    pub fn table(self) -> TableId {
        let mut bytes = self.0;
        bytes[14..].fill(0);
        TableId(bytes)
    }

    /// Its place there.
    #[must_use]
    pub fn place(self) -> Place {
        Place(u16::from_be_bytes([self.0[14], self.0[15]]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_in_a_folder_are_neighbours() {
        let id = |name: &str| TableId::of("lake", name);
        let mut tables = [
            ("b/orders", id("b/orders")),
            ("a/orders", id("a/orders")),
            ("b/order_lines", id("b/order_lines")),
            ("a/users", id("a/users")),
        ];
        tables.sort_by_key(|it| it.1);
        let folders: Vec<&str> = tables.iter().map(|it| &it.0[..1]).collect();
        assert!(folders == ["a", "a", "b", "b"] || folders == ["b", "b", "a", "a"]);
        let column = id("a/users").column(Place(7));
        assert_eq!((column.table(), column.place()), (id("a/users"), Place(7)));
        assert_ne!(TableId::of("one", "t"), TableId::of("other", "t"));
    }
}
