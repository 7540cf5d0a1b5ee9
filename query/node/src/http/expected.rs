//! What is wrong with a parameter, in a caller's words: its name, what it was, and what is expected
//! as the description of the addresses has it.

use std::error::Error;

use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema, SchemaType, Type};
use utoipa::{IntoParams, Number, ToSchema};

use crate::problem::shortened;

/// Characters of a value that an error quotes.
const QUOTED: usize = 100;

/// Why parameters of an address are not those of a `T`. `pairs` are their names and values.
pub(super) fn in_address<T: IntoParams>(
    error: &(dyn Error + 'static),
    pairs: &[(String, String)],
) -> String {
    let Some(at) = cause::<At<serde::de::value::Error>>(error) else {
        return error.to_string();
    };
    let name = at.path().to_string();
    let Some((_, given)) = pairs.iter().find(|(known, _)| *known == name) else {
        return at.inner().to_string();
    };
    let mut described = T::into_params(|| None).into_iter();
    let Some(described) = described.find(|described| described.name == name) else {
        return at.inner().to_string();
    };
    let given = format!("'{}'", shortened(given, QUOTED));
    let expected = described.schema.as_ref().and_then(expected);
    said(&name, &given, expected, at.inner())
}

/// Why a body is no `T`.
pub(super) fn in_body<T: DeserializeOwned + ToSchema>(
    bytes: &[u8],
    error: &serde_json::Error,
) -> String {
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else {
        return format!("it is no JSON: {error}");
    };
    let Err(at) = serde_path_to_error::deserialize::<_, T>(&body) else {
        return error.to_string();
    };
    let name = at.path().to_string();
    let RefOr::T(Schema::Object(Object { properties, .. })) = T::schema() else {
        return at.to_string();
    };
    let (Some(given), Some(described)) = (body.get(&name), properties.get(&name)) else {
        return at.inner().to_string();
    };
    let given = shortened(&given.to_string(), QUOTED);
    said(&name, &given, expected(described), at.inner())
}

/// An error, and where it is.
type At<E> = serde_path_to_error::Error<E>;

/// The one of an error's causes that is of this type.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    error.downcast_ref().or_else(|| cause(error.source()?))
}

fn said(name: &str, given: &str, expected: Option<String>, error: &dyn Error) -> String {
    let expected = expected.unwrap_or_else(|| error.to_string());
    format!("{name} is {given}: {expected}")
}

/// What a number, or a word for yes or no, is to be; `None` for what is neither.
fn expected(described: &RefOr<Schema>) -> Option<String> {
    let RefOr::T(Schema::Object(object)) = described else {
        return None;
    };
    let is = |wanted: Type| match &object.schema_type {
        SchemaType::Type(one) => *one == wanted,
        SchemaType::Array(several) => several.contains(&wanted),
        SchemaType::AnyValue => false,
    };
    let what = if is(Type::Integer) {
        "a whole number"
    } else if is(Type::Number) {
        "a number"
    } else if is(Type::Boolean) {
        return Some("true or false is expected".to_owned());
    } else {
        return None;
    };
    let range = match (&object.minimum, &object.maximum) {
        (Some(least), Some(most)) => format!(" from {} to {}", written(least), written(most)),
        (Some(least), None) => format!(" of at least {}", written(least)),
        (None, Some(most)) => format!(" of at most {}", written(most)),
        (None, None) => String::new(),
    };
    Some(format!("{what}{range} is expected"))
}

fn written(number: &Number) -> String {
    match number {
        Number::Int(number) => number.to_string(),
        Number::UInt(number) => number.to_string(),
        Number::Float(number) => number.to_string(),
    }
}
