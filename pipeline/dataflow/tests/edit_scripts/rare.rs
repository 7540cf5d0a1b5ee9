//! Scripts that random ones seldom have.

use super::cells::Format;
use super::lake::Shape;
use super::*;

/// A step as plain as can be.
fn plain(edit: Edit) -> Step {
    Step {
        edit,
        workers: 2,
        epoch_objects: 10_000,
        in_session: false,
    }
}

/// Rare in random scripts.
#[test]
fn a_table_of_which_nothing_can_be_read_is_described_from_removed_files() {
    let (table, file) = (0, 0);
    let create = Edit::Create {
        place: 1,
        name: 0,
        shape: Shape::Parts,
        format: Format::Csv,
        seed: 3,
        files: 1,
    };
    let script = [
        create,
        Edit::AppendBroken { table },
        Edit::DropFile { table, file },
        Edit::Nothing,
        Edit::Append { table, rows: 2 },
    ];
    let seen = carry_out(&script.map(plain), None).unwrap();
    assert_eq!(seen.with_removed_last_good, 2);
}

/// Rare in random scripts.
#[test]
fn files_are_read_again_once_something_else_is_declared_of_them() {
    let create = Edit::Create {
        place: 0,
        name: 4,
        shape: Shape::Beside,
        format: Format::Csv,
        seed: 42,
        files: 2,
    };
    let declare = Edit::Declare {
        place: 0,
        name: 5,
        seed: 145,
    };
    let script = [declare, create, Edit::Undeclare { place: 0 }];
    carry_out(&script.map(plain), None).unwrap();
}

/// Rare in random scripts.
#[test]
fn a_broken_text_keeps_its_last_version_where_its_table_becomes_another_group() {
    let table = 0;
    let create = Edit::Create {
        place: 1,
        name: 0,
        shape: Shape::Lone,
        format: Format::Csv,
        seed: 3,
        files: 1,
    };
    let script = [
        create,
        Edit::PutText { table, seed: 5 },
        Edit::CorruptText { table },
        Edit::Reshape { table },
        Edit::Nothing,
    ];
    let seen = carry_out(&script.map(plain), None).unwrap();
    assert_eq!(seen.with_last_good, 3);
}

/// Rare in random scripts.
#[test]
fn a_table_is_broken_though_a_file_that_is_no_table_is_declared_one_of_its() {
    let (place, name, table) = (1, 6, 0);
    let create = Edit::Create {
        place,
        name,
        shape: Shape::Lone,
        format: Format::Csv,
        seed: 42,
        files: 1,
    };
    let script = [
        Edit::Declare {
            place,
            name,
            seed: 88,
        },
        create,
        Edit::Leave {
            place,
            name: 1,
            kind: 2,
            seed: 81,
        },
        Edit::Corrupt {
            table,
            file: 0,
            how: 0,
        },
    ];
    carry_out(&script.map(plain), None).unwrap();
}
