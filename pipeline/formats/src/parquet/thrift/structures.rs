//! What the decoder reads by number, of a footer and of a page's header: apache/parquet-format,
//! parquet.thrift.

/// What a field holds.
pub(super) enum Of {
    Bool,
    Byte,
    /// An integer of 16, 32 or 64 bits: they are written alike.
    Integer,
    Double,
    Binary,
    Struct(&'static [Field]),
    List(&'static Of),
    RowGroups,
    Schema,
}

/// A field's number and what it holds. Those that the decoder skips are left out.
pub(super) type Field = (i16, Of);

use Of::{Binary, Bool, Byte, Double, Integer, List, RowGroups, Schema, Struct};

pub(super) const FILE_META_DATA: &[Field] = &[
    (1, Integer),
    (2, Schema),
    (3, Integer),
    (4, RowGroups),
    (5, List(&Struct(&[(1, Binary), (2, Binary)]))),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
];
const EMPTY: Of = Struct(&[]);
pub(super) const SCHEMA_ELEMENT: &[Field] = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Binary),
    (CHILDREN, Integer),
    (6, Integer),
    (7, Integer),
    (8, Integer),
    (9, Integer),
    (10, Struct(LOGICAL_TYPE)),
];
/// The number of an element's children, which follow it.
pub(super) const CHILDREN: i16 = 5;
const LOGICAL_TYPE: &[Field] = &[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Integer), (2, Integer)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Integer)])),
];
const TIME: Of = Struct(&[
    (1, Bool),
    (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)])),
]);
pub(super) const ROW_GROUP: &[Field] = &[
    (1, List(&Struct(COLUMN_CHUNK))),
    (2, Integer),
    (3, Integer),
    (4, List(&Struct(&[(1, Integer), (2, Bool), (3, Bool)]))),
    (5, Integer),
    (7, Integer),
];
const COLUMN_CHUNK: &[Field] = &[
    (1, Binary),
    (2, Integer),
    (3, Struct(COLUMN_META_DATA)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
];
const COLUMN_META_DATA: &[Field] = &[
    (1, Integer),
    (2, List(&Integer)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (9, Integer),
    (10, Integer),
    (11, Integer),
    (12, Struct(STATISTICS)),
    (
        13,
        List(&Struct(&[(1, Integer), (2, Integer), (3, Integer)])),
    ),
    (14, Integer),
    (15, Integer),
    (
        16,
        Struct(&[(1, Integer), (2, List(&Integer)), (3, List(&Integer))]),
    ),
    (
        17,
        Struct(&[(1, Struct(BOUNDING_BOX)), (2, List(&Integer))]),
    ),
];
const STATISTICS: &[Field] = &[
    (1, Binary),
    (2, Binary),
    (3, Integer),
    (4, Integer),
    (5, Binary),
    (6, Binary),
    (7, Bool),
    (8, Bool),
];
const BOUNDING_BOX: &[Field] = &[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
];
pub(super) const PAGE_HEADER: &[Field] = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Integer),
    (
        5,
        Struct(&[(1, Integer), (2, Integer), (3, Integer), (4, Integer)]),
    ),
    (6, EMPTY),
    (7, Struct(&[(1, Integer), (2, Integer), (3, Bool)])),
    (
        8,
        Struct(&[
            (1, Integer),
            (2, Integer),
            (3, Integer),
            (4, Integer),
            (5, Integer),
            (6, Integer),
            (7, Bool),
        ]),
    ),
];
