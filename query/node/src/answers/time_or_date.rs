//! A parameter that is a time or a day.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AnyOfBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// A time in RFC 3339, or a date, which means its midnight in UTC.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct TimeOrDate(pub DateTime<Utc>);

impl TryFrom<String> for TimeOrDate {
    type Error = &'static str;

    fn try_from(text: String) -> Result<TimeOrDate, &'static str> {
        let midnight = |day: NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
        let time = text.parse().or_else(|_| text.parse().map(midnight));
        time.map(TimeOrDate).map_err(
            |_: chrono::ParseError| "write a time as 2026-01-31T12:00:00Z or a date as 2026-01-31",
        )
    }
}

impl PartialSchema for TimeOrDate {
    fn schema() -> RefOr<Schema> {
        let text = |format| {
            let text = ObjectBuilder::new().schema_type(Type::String);
            text.format(Some(SchemaFormat::KnownFormat(format)))
        };
        let either = AnyOfBuilder::new().item(text(KnownFormat::DateTime));
        either.item(text(KnownFormat::Date)).into()
    }
}

impl ToSchema for TimeOrDate {}
