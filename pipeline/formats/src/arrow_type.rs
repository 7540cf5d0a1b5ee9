//! Arrow types and limn's own.

use std::str::FromStr;

use arrow::datatypes::{DataType as Arrow, TimeUnit};
use limn_profile::DataType;

use crate::render::data_type;

/// The Arrow type that follows from limn's own, of values within 64 bits.
pub fn arrow_type(data_type: &DataType) -> Arrow {
    match data_type {
        DataType::Boolean => Arrow::Boolean,
        DataType::Integer => Arrow::Int64,
        DataType::Float => Arrow::Float64,
        DataType::Date => Arrow::Date32,
        DataType::Timestamp => Arrow::Timestamp(TimeUnit::Microsecond, None),
        DataType::Binary => Arrow::Binary,
        DataType::Unknown | DataType::Text | DataType::Other(_) => Arrow::Utf8View,
    }
}

/// The type that a column of this Arrow type has, and its Arrow type as text where that does not
/// follow from it.
pub fn column_type(arrow: &Arrow) -> (DataType, Option<String>) {
    let data_type = data_type(arrow);
    let kept = kept_type(arrow, &data_type);
    (data_type, kept)
}

/// What is kept of the type that a file gives a column: none if it follows from limn's own name for
/// it.
pub(crate) fn kept_type(arrow: &Arrow, data_type: &DataType) -> Option<String> {
    let plain = plain_type(arrow)?;
    if plain == arrow_type(data_type) {
        return None;
    }
    let kept = plain.to_string();
    // What cannot be read back would be another type.
    (Arrow::from_str(&kept).ok()? == plain).then_some(kept)
}

/// A type without how its values are stored: dictionaries and runs are their values. None of what
/// is read as text.
fn plain_type(arrow: &Arrow) -> Option<Arrow> {
    Some(match arrow {
        Arrow::Dictionary(_, values) => plain_type(values)?,
        Arrow::RunEndEncoded(_, values) => plain_type(values.data_type())?,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => Arrow::Utf8View,
        Arrow::LargeBinary | Arrow::FixedSizeBinary(_) | Arrow::BinaryView => Arrow::Binary,
        Arrow::Date64 => Arrow::Date32,
        Arrow::Float16 => Arrow::Float32,
        Arrow::Null | Arrow::Union(..) => return None,
        other => other.clone(),
    })
}

/// Whether values keep their order where those of one type become another's as a scan makes them:
/// what is less in the one is never greater in the other.
pub(crate) fn keeps_order(from: &Arrow, to: &Arrow) -> bool {
    let Some(from) = plain_type(from) else {
        return false;
    };
    match to {
        _ if from == *to => {
            to.is_numeric()
                || matches!(to, Arrow::Boolean | Arrow::Date32 | Arrow::Timestamp(..))
                || matches!(to, Arrow::Time32(_) | Arrow::Time64(_))
                || matches!(to, Arrow::Utf8View | Arrow::Binary)
        }
        Arrow::Int64 | Arrow::Float64 | Arrow::Decimal128(38, 0) => from.is_integer(),
        Arrow::Timestamp(TimeUnit::Microsecond, None) => from == Arrow::Date32,
        _ => false,
    }
}
