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

/// A random script found it: the hashes of its values were lost.
#[test]
fn a_table_described_from_removed_files_keeps_the_hashes_of_their_values() {
    let create = Edit::Create {
        place: 1,
        name: 6,
        shape: Shape::Parts,
        format: Format::Parquet,
        seed: 15,
        files: 1,
    };
    let (table, file) = (0, 0);
    let script = [
        create,
        Edit::AppendBroken { table },
        Edit::DropFile { table, file },
        Edit::Nothing,
    ];
    let seen = carry_out(&script.map(plain), None).unwrap();
    assert_eq!(seen.with_removed_last_good, 2);
}

/// A random script found it: `staff.json` takes the name of `staff.txt` an epoch before that gives
/// it up.
#[test]
fn a_file_that_is_no_table_is_read_once_though_its_name_was_that_of_another() {
    let leave = |kind, seed| Edit::Leave {
        place: 0,
        name: 2,
        kind,
        seed,
    };
    let script = [leave(1, 138), leave(0, 150)].map(|edit| Step {
        epoch_objects: 1,
        ..plain(edit)
    });
    carry_out(&script, None).unwrap();
}

/// A random script found it: the size of the broken version took part in what copies are known by.
#[test]
fn a_broken_file_has_the_content_of_its_last_good_version() {
    let create = |name, format, seed, files| Edit::Create {
        place: 0,
        name,
        shape: Shape::Lone,
        format,
        seed,
        files,
    };
    let script = [
        Edit::Declare {
            place: 0,
            name: 0,
            seed: 156,
        },
        create(3, Format::Jsonl, 80, 1),
        create(6, Format::Parquet, 33, 3),
        Edit::DropFile { table: 0, file: 2 },
        Edit::Corrupt {
            table: 8,
            file: 1,
            how: 2,
        },
    ];
    carry_out(&script.map(plain), None).unwrap();
}

/// A random script found it: the newest of copies stands for them.
#[test]
fn two_tables_of_the_same_rows_of_which_one_is_broken() {
    let create = |name, shape, files| Edit::Create {
        place: 3,
        name,
        shape,
        format: Format::Parquet,
        seed: 187,
        files,
    };
    let script = [
        create(3, Shape::Lone, 3),
        Edit::Corrupt {
            table: 7,
            file: 0,
            how: 0,
        },
        create(4, Shape::Parts, 1),
    ];
    carry_out(&script.map(plain), None).unwrap();
}

/// Rare in random scripts: the only file that can be read is removed, and two that cannot stay.
#[test]
fn a_table_described_from_removed_files_has_their_dates() {
    let table = 0;
    let create = Edit::Create {
        place: 6,
        name: 6,
        shape: Shape::Dated,
        format: Format::Csv,
        seed: 11,
        files: 2,
    };
    let script = [
        create,
        Edit::AppendBroken { table },
        Edit::DropFile { table, file: 0 },
        Edit::AppendBroken { table },
        Edit::DropFile { table, file: 0 },
    ];
    carry_out(&script.map(plain), None).unwrap();
}
