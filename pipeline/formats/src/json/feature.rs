//! GeoJSON features to rows (RFC 7946): `{"type": "Feature", "id": …, "properties": {…},
//! "geometry": {…}}`.
//!
//! The columns are the properties by their own names, `id`, which is the feature's own where its
//! properties have none, and of the geometry its kind and extent ([`crate::extent`]). These names
//! are those of values in an object called `geometry`, so that a property collides with them only
//! if it is such an object, and then the geometry's values hold. Coordinates are looked at and not
//! kept. Where there is no geometry, they are null.

use limn_profile::DataType;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::columns::Columns;
use super::outline::Cursor;
use super::row::{CellSeed, RowSeed, checked};
use crate::extent::{BOUNDS, Extent, GEOMETRY, KIND};

/// The kinds of geometries.
const KINDS: [&str; 7] = [
    "Point",
    "MultiPoint",
    "LineString",
    "MultiLineString",
    "Polygon",
    "MultiPolygon",
    "GeometryCollection",
];

/// Whether a text is a feature, by the keys of its object.
pub(super) fn is_one(text: &[u8]) -> bool {
    let mut cursor = Cursor::new(text, 0);
    let (mut is_named, mut has_properties, mut has_geometry) = (false, false, false);
    let mut next = cursor.skip(b'{');
    while next.is_some() {
        let Some((key, value)) = member(&mut cursor) else {
            return false;
        };
        match key {
            b"type" => is_named = value == b"\"Feature\"",
            b"properties" => has_properties = true,
            b"geometry" => has_geometry = true,
            _ => {}
        }
        next = cursor.skip(b',');
    }
    is_named && has_properties && has_geometry
}

fn member<'a>(cursor: &mut Cursor<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let key = cursor.string()?;
    cursor.skip(b':')?;
    let value = cursor.value()?;
    Some((key, cursor.text().get(value)?))
}

/// Reads one feature as a row, which the caller commits.
pub(super) struct FeatureSeed<'a>(pub(super) &'a mut Columns);

impl FeatureSeed<'_> {
    pub(super) fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.begin();
        deserializer.deserialize_map(self)
    }

    /// Puts the feature's own id where its properties have none.
    fn put_id<E: Error>(&mut self, id: Value) -> Result<(), E> {
        let Some(column) = self.0.column("id", None) else {
            return Ok(());
        };
        let column = checked(column)?;
        if self.0.has_cell(column) {
            return Ok(());
        }
        let cell = CellSeed::of_row(self.0, column);
        cell.deserialize(id).map_err(E::custom)
    }

    fn put_geometry<E: Error>(&mut self, geometry: &Geometry) -> Result<(), E> {
        let Some(kind) = geometry.kind else {
            return Ok(());
        };
        let Some(outer) = self.0.column(GEOMETRY, None) else {
            return Ok(());
        };
        let outer = checked(outer)?;
        self.put(outer, KIND, DataType::Text, kind)?;
        let bounds = geometry.extent.bounds();
        for (name, bound) in BOUNDS.into_iter().zip(bounds.into_iter().flatten()) {
            self.put(outer, name, DataType::Float, &format!("{bound:?}"))?;
        }
        Ok(())
    }

    fn put<E: Error>(
        &mut self,
        outer: usize,
        name: &str,
        data_type: DataType,
        value: &str,
    ) -> Result<(), E> {
        // An object that has too many keys has no more columns.
        let Some(column) = self.0.column(name, Some(outer)) else {
            return Ok(());
        };
        let column = checked(column)?;
        let from = self.0.text.len();
        self.0.text.push_str(value);
        let text = from..self.0.text.len();
        self.0.cell(column, data_type, Some(text));
        Ok(())
    }
}

impl<'de> Visitor<'de> for FeatureSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a feature")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let (mut id, mut geometry) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "type" | "bbox" => drop(map.next_value::<IgnoredAny>()?),
                "id" => id = Some(map.next_value::<Value>()?),
                "geometry" => geometry = Some(map.next_value::<Geometry>()?),
                "properties" => map.next_value_seed(PropertiesSeed(&mut *self.0))?,
                other => {
                    let Some(column) = self.0.column(other, None) else {
                        continue;
                    };
                    let column = checked(column)?;
                    map.next_value_seed(CellSeed::of_row(&mut *self.0, column))?;
                }
            }
        }
        if let Some(id) = id {
            self.put_id(id)?;
        }
        match geometry {
            Some(geometry) => self.put_geometry(&geometry),
            None => Ok(()),
        }
    }
}

struct PropertiesSeed<'a>(&'a mut Columns);

impl<'de> DeserializeSeed<'de> for PropertiesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PropertiesSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("properties")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        RowSeed(self.0).visit_map(map)
    }
}

/// What is kept of a geometry; nothing where there is none, or something else in its place.
#[derive(Default)]
struct Geometry {
    kind: Option<&'static str>,
    extent: Extent,
}

impl<'de> Deserialize<'de> for Geometry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GeometryVisitor)
    }
}

struct GeometryVisitor;

impl<'de> Visitor<'de> for GeometryVisitor {
    type Value = Geometry;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a geometry")
    }

    fn visit_unit<E>(self) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Geometry, E> {
        Ok(Geometry::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Geometry, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Geometry::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Geometry, A::Error> {
        let mut geometry = Geometry::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "type" => {
                    let kind = map.next_value::<Value>()?;
                    let kind = KINDS.into_iter().find(|it| kind.as_str() == Some(it));
                    geometry.kind = kind;
                }
                "coordinates" => {
                    map.next_value_seed(Coordinates(&mut geometry.extent))?;
                }
                "geometries" => {
                    for part in map.next_value::<Vec<Geometry>>()? {
                        geometry.extent.add_all(&part.extent);
                    }
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(geometry)
    }
}

/// Takes the positions in coordinates, however deep; the result is the number, where they are one.
struct Coordinates<'a>(&'a mut Extent);

impl<'de> DeserializeSeed<'de> for Coordinates<'_> {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Coordinates<'_> {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("coordinates")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(value))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        // A position is a list of numbers, of which two count.
        let mut position = [None; 2];
        let mut at = 0;
        while let Some(element) = seq.next_element_seed(Coordinates(&mut *self.0))? {
            if let Some(place) = position.get_mut(at) {
                *place = element;
            }
            at += 1;
        }
        if let [Some(x), Some(y)] = position {
            self.0.add(x, y);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_known_by_their_keys() {
        for (text, expected) in [
            (
                r#"{"type": "Feature", "properties": null, "geometry": null}"#,
                true,
            ),
            (
                r#"{"geometry": {"type": "Feature"}, "properties": {}, "type": "Feature" }"#,
                true,
            ),
            (r#"{"type": "Feature", "properties": {}}"#, false),
            (
                r#"{"type": "Features", "properties": {}, "geometry": null}"#,
                false,
            ),
            (
                r#"{"type": "Feature", "properties": {}, "geometry": nu"#,
                false,
            ),
            ("{}", false),
            ("[1]", false),
            ("", false),
        ] {
            assert_eq!(is_one(text.as_bytes()), expected, "{text}");
        }
    }
}
