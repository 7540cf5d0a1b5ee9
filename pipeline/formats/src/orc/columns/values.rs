//! Values of one kind as arrays: text, timestamps, decimals, and what holds other values.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Decimal128Array, ListArray, MapArray, NullArray, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampNanosecondArray, UnionArray,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Decimal128Type, DecimalType, Field, Fields, UnionFields};
use arrow::error::ArrowError;

use super::Column;
use crate::Failure;
use crate::orc::corrupt;
use crate::orc::rle::{Bytes, Numbers};
use crate::orc::stream::{File, Stream};
use crate::typed::Stopped;

/// 2015-01-01, from which timestamps are counted, in seconds since 1970.
const EPOCH: i64 = 1_420_070_400;

/// A union has no nulls of its own: the last of its kinds is of nulls.
pub(super) fn spread_union(values: &ArrayRef, there: &[bool]) -> Result<ArrayRef, Stopped> {
    let unexpected = || corrupt("a union is none");
    let union = values.as_any().downcast_ref::<UnionArray>();
    let union = union.ok_or_else(unexpected)?;
    let DataType::Union(fields, _) = union.data_type() else {
        return Err(unexpected().into());
    };
    let nulls = i8::try_from(fields.len() - 1).map_err(|_| unexpected())?;
    let (mut ids, mut offsets) = (Vec::new(), Vec::new());
    let (mut place, mut missing) = (0, 0);
    for there in there {
        if *there {
            ids.push(union.type_id(place));
            offsets.push(i32::try_from(union.value_offset(place)).map_err(|_| unexpected())?);
            place += 1;
        } else {
            ids.push(nulls);
            offsets.push(missing);
            missing += 1;
        }
    }
    let children = fields.iter().map(|(id, _)| {
        if id == nulls {
            Arc::new(NullArray::new(missing as usize)) as ArrayRef
        } else {
            union.child(id).clone()
        }
    });
    let spread = UnionArray::try_new(
        fields.clone(),
        ids.into(),
        Some(offsets.into()),
        children.collect(),
    );
    Ok(Arc::new(spread.map_err(decoding)?))
}

/// Fields with the types that their arrays have: text of a dictionary, or timestamps beyond
/// nanoseconds.
fn typed(fields: &Fields, arrays: &[ArrayRef]) -> Fields {
    let typed = fields.iter().zip(arrays).map(|(field, array)| {
        let field = field.as_ref().clone();
        field.with_data_type(array.data_type().clone())
    });
    typed.collect()
}

/// Offsets of `count` lists, and how many items they have together.
fn offsets(
    count: u64,
    lengths: &mut Numbers,
    file: &File,
) -> Result<(OffsetBuffer<i32>, usize), Stopped> {
    let (mut offsets, mut total) = (vec![0], 0u64);
    for _ in 0..count {
        total = total.saturating_add(lengths.length()?);
        // An item takes some bytes at least, wherever it is.
        if total.saturating_mul(8) > file.memory() {
            return Err(Stopped::TooMuch);
        }
        offsets.push(i32::try_from(total).map_err(|_| Stopped::TooMuch)?);
    }
    let total = usize::try_from(total).map_err(|_| Stopped::TooMuch)?;
    Ok((OffsetBuffer::new(ScalarBuffer::from(offsets)), total))
}

/// `count` values of any length.
pub(super) fn lengthy(
    count: u64,
    lengths: &mut Numbers,
    bytes: &mut Stream,
    file: &File,
) -> Result<(OffsetBuffer<i32>, Buffer), Stopped> {
    let (mut offsets, mut total) = (vec![0], 0u64);
    for _ in 0..count {
        let length = lengths.length()?;
        file.hold(length.saturating_add(4))?;
        total = total.saturating_add(length);
        offsets.push(i32::try_from(total).map_err(|_| Stopped::TooMuch)?);
    }
    let bytes = bytes.take(total)?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok((offsets, Buffer::from(bytes)))
}

pub(super) fn texts(
    count: u64,
    lengths: &mut Numbers,
    bytes: &mut Stream,
    file: &File,
) -> Result<ArrayRef, Stopped> {
    let (offsets, bytes) = lengthy(count, lengths, bytes, file)?;
    let texts = StringArray::try_new(offsets, bytes, None);
    Ok(Arc::new(texts.map_err(decoding)?))
}

/// Timestamps of nanoseconds; of microseconds where one lies beyond those.
pub(super) fn times(
    count: usize,
    seconds: &mut Numbers,
    nanoseconds: &mut Numbers,
    is_instant: bool,
) -> Result<ArrayRef, Stopped> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let mut second = seconds.next()?.saturating_add(EPOCH);
        // Some writers count back from a later second.
        let encoded = nanoseconds.next()?;
        // The lowest bits count the zeros at the end that were left out.
        let zeros = match encoded & 7 {
            0 => 0,
            zeros => zeros as u32 + 1,
        };
        let nanosecond = (encoded >> 3).saturating_mul(10i64.pow(zeros));
        if nanosecond.unsigned_abs() >= 1_000_000_000 {
            return Err(corrupt("a second has too many nanoseconds").into());
        }
        // Writers round seconds before 1970 towards it.
        if second < 0 && nanosecond > 999_999 {
            second -= 1;
        }
        times.push((second, nanosecond));
    }
    let zone = is_instant.then_some("+00:00");
    let exact = times
        .iter()
        .map(|(second, nanosecond)| second.checked_mul(1_000_000_000)?.checked_add(*nanosecond));
    if let Some(exact) = exact.collect::<Option<Vec<i64>>>() {
        let times = TimestampNanosecondArray::from(exact).with_timezone_opt(zone);
        return Ok(Arc::new(times));
    }
    let about = times.iter().map(|(second, nanosecond)| {
        second
            .saturating_mul(1_000_000)
            .saturating_add(nanosecond / 1000)
    });
    let times = TimestampMicrosecondArray::from_iter_values(about);
    Ok(Arc::new(times.with_timezone_opt(zone)))
}

/// Decimals, all with the scale of their column.
pub(super) fn decimals(
    count: usize,
    unscaled: &mut Stream,
    scales: &mut Numbers,
    (precision, scale): (u8, i8),
) -> Result<ArrayRef, Stopped> {
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let value = wide_varint(unscaled)?;
        let own = scales.next()?;
        let more = i64::from(scale).checked_sub(own);
        let value = match more.map(|more| (more >= 0, more.unsigned_abs())) {
            Some((true, more @ 0..=38)) => value.checked_mul(10i128.pow(more as u32)),
            Some((false, less @ 0..=38)) => value.checked_div(10i128.pow(less as u32)),
            _ => None,
        };
        let value = value.filter(|value| {
            Decimal128Type::validate_decimal_precision(*value, precision, scale).is_ok()
        });
        values.push(value.ok_or_else(|| corrupt("a decimal has more digits than its type"))?);
    }
    let values = Decimal128Array::from(values).with_precision_and_scale(precision, scale);
    Ok(Arc::new(values.map_err(decoding)?))
}

fn wide_varint(stream: &mut Stream) -> Result<i128, Stopped> {
    let mut number = 0u128;
    for shift in (0..133).step_by(7) {
        let byte = stream.byte()?;
        number |= u128::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Ok((number >> 1) as i128 ^ -((number & 1) as i128));
        }
    }
    Err(corrupt("a number is too long").into())
}

pub(super) fn lists(
    count: usize,
    lengths: &mut Numbers,
    items: &mut Column,
    file: &File,
) -> Result<ArrayRef, Stopped> {
    let (offsets, total) = offsets(count as u64, lengths, file)?;
    let items = items.next(total)?;
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let lists = ListArray::try_new(field, offsets, items, None);
    Ok(Arc::new(lists.map_err(decoding)?))
}

pub(super) fn maps(
    count: usize,
    lengths: &mut Numbers,
    (keys, values): (&mut Column, &mut Column),
    entries: &Field,
    file: &File,
) -> Result<ArrayRef, Stopped> {
    let (offsets, total) = offsets(count as u64, lengths, file)?;
    let (keys, values) = (keys.next(total)?, values.next(total)?);
    let names = match entries.data_type() {
        DataType::Struct(fields) => fields.clone(),
        _ => Fields::empty(),
    };
    let pair = typed(&names, &[keys.clone(), values.clone()]);
    let pairs = StructArray::try_new(pair.clone(), vec![keys, values], None);
    let field = Field::new("entries", DataType::Struct(pair), false);
    let pairs = pairs.map_err(decoding)?;
    let maps = MapArray::try_new(Arc::new(field), offsets, pairs, None, false);
    Ok(Arc::new(maps.map_err(decoding)?))
}

pub(super) fn structs(
    count: usize,
    fields: &Fields,
    parts: &mut [Column],
) -> Result<ArrayRef, Stopped> {
    let parts = parts.iter_mut().map(|part| part.next(count));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(count, None)));
    }
    let structs = StructArray::try_new(typed(fields, &parts), parts, None);
    Ok(Arc::new(structs.map_err(decoding)?))
}

pub(super) fn unions(
    count: usize,
    tags: &mut Bytes,
    fields: &UnionFields,
    parts: &mut [Column],
) -> Result<ArrayRef, Stopped> {
    let (mut ids, mut offsets) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut counts = vec![0i32; parts.len()];
    for _ in 0..count {
        let tag = tags.next()?;
        let Some(count) = counts.get_mut(usize::from(tag)) else {
            return Err(corrupt("a union has a value of none of its kinds").into());
        };
        ids.push(i8::try_from(tag).unwrap_or(i8::MAX));
        offsets.push(*count);
        *count += 1;
    }
    let children = parts.iter_mut().zip(&counts);
    let children = children.map(|(part, count)| part.next(usize::try_from(*count).unwrap_or(0)));
    let mut children = children.collect::<Result<Vec<_>, _>>()?;
    children.push(Arc::new(NullArray::new(0)));
    let kinds = fields.iter().zip(&children).map(|((id, field), child)| {
        let field = field.as_ref().clone();
        (
            id,
            Arc::new(field.with_data_type(child.data_type().clone())),
        )
    });
    let kinds = UnionFields::from_iter(kinds);
    let union = UnionArray::try_new(kinds, ids.into(), Some(offsets.into()), children);
    Ok(Arc::new(union.map_err(decoding)?))
}

pub(super) fn decoding(error: ArrowError) -> Failure {
    crate::typed::decoding(&error.to_string())
}
