//! Edits drawn at random.

use proptest::prelude::*;

use super::cells;
use super::edits::{Edit, Which};
use super::lake::Shape;
use super::texts::NAMES;

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![3 => Just(Which::All), 1 => (0..4usize).prop_map(Which::One)]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        2 => Just(Shape::Lone),
        2 => Just(Shape::Family),
        2 => Just(Shape::Beside),
        2 => Just(Shape::Dated),
        1 => Just(Shape::Parts),
        1 => Just(Shape::Hive),
    ]
}

/// Any edit, those that add a little more often than those that take away.
pub fn edit() -> impl Strategy<Value = Edit> {
    let (table, file, seed, rows) = (0..12usize, 0..4usize, 0..200usize, 0..7usize);
    let (place, name) = (0..8usize, 0..NAMES.len());
    prop_oneof![
        9 => (place.clone(), name.clone(), shape(), cells::format(), seed.clone(), 1..4usize)
            .prop_map(|(place, name, shape, format, seed, files)| Edit::Create { place, name, shape, format, seed, files }),
        4 => (table.clone(), rows.clone()).prop_map(|(table, rows)| Edit::Append { table, rows }),
        3 => (table.clone(), file.clone(), seed.clone(), rows)
            .prop_map(|(table, file, seed, rows)| Edit::Rewrite { table, file, seed, rows }),
        1 => (table.clone(), file.clone()).prop_map(|(table, file)| Edit::Touch { table, file }),
        2 => (table.clone(), which(), 0..5usize, 0..14usize)
            .prop_map(|(table, files, column, name)| Edit::Rename { table, files, column, name }),
        2 => (table.clone(), which(), 0..3usize)
            .prop_map(|(table, files, how)| Edit::Spell { table, files, how }),
        2 => (table.clone(), which()).prop_map(|(table, files)| Edit::Reorder { table, files }),
        2 => (table.clone(), which(), 0..5usize, 0..4usize)
            .prop_map(|(table, files, column, kind)| Edit::Retype { table, files, column, kind }),
        3 => (table.clone(), which(), 0..14usize).prop_map(|(table, files, name)| Edit::Widen { table, files, name }),
        2 => (table.clone(), which()).prop_map(|(table, files)| Edit::Narrow { table, files }),
        2 => (table.clone(), file.clone()).prop_map(|(table, file)| Edit::DropFile { table, file }),
        2 => table.clone().prop_map(|table| Edit::Drop { table }),
        2 => (table.clone(), place, name).prop_map(|(table, place, name)| Edit::Move { table, place, name }),
        1 => table.clone().prop_map(|table| Edit::Reshape { table }),
        4 => (table.clone(), file.clone(), 0..3usize)
            .prop_map(|(table, file, how)| Edit::Corrupt { table, file, how }),
        2 => table.clone().prop_map(|table| Edit::AppendBroken { table }),
        2 => (table.clone(), file).prop_map(|(table, file)| Edit::Restore { table, file }),
        3 => (table.clone(), seed.clone()).prop_map(|(table, seed)| Edit::PutText { table, seed }),
        1 => table.clone().prop_map(|table| Edit::CorruptText { table }),
        1 => table.clone().prop_map(|table| Edit::RemoveText { table }),
        3 => (0..3usize, 0..2usize, seed.clone()).prop_map(|(place, kind, seed)| Edit::Document { place, kind, seed }),
        1 => (0..3usize, 0..2usize).prop_map(|(place, kind)| Edit::Undocument { place, kind }),
        4 => (0..6usize, 0..3usize, 0..3usize, seed.clone())
            .prop_map(|(place, name, kind, seed)| Edit::Leave { place, name, kind, seed }),
        1 => (0..6usize, 0..3usize, 0..3usize).prop_map(|(place, name, kind)| Edit::Fetch { place, name, kind }),
        4 => (0..4usize, 0..NAMES.len(), seed.clone())
            .prop_map(|(place, name, seed)| Edit::Declare { place, name, seed }),
        1 => (0..4usize).prop_map(|place| Edit::Undeclare { place }),
        3 => (table, seed).prop_map(|(table, seed)| Edit::Register { table, seed }),
        1 => Just(Edit::Nothing),
        1 => Just(Edit::CollectGarbage),
    ]
}
