//! Values that travel between workers.
//!
//! Between workers of one process timely moves values; between processes it serialises them with a
//! positional encoding that cannot skip fields. The lake's types are written for the catalog, where
//! empty fields are left out, so [`Wire`] carries them across processes as JSON instead. Inside one
//! process nothing is encoded at all.

use limn_segment::{Sketches, TableRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value in a timely channel: moved inside a process, JSON between processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire<T>(pub T);

impl<T: Serialize> Serialize for Wire<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = serde_json::to_vec(&self.0).map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Wire<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Vec::<u8>::deserialize(deserializer)?;
        serde_json::from_slice(&json)
            .map(Wire)
            .map_err(serde::de::Error::custom)
    }
}

/// A catalog row in a timely channel: as [`Wire`], and the sketches, which are binary.
#[derive(Clone, Debug, PartialEq)]
pub struct WireRow(pub TableRecord);

/// The row as JSON, and the sketches of the table, then of its files.
type RowParts = (Vec<u8>, Vec<(Vec<u8>, bool)>);

impl Serialize for WireRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = &self.0;
        let json = serde_json::to_vec(row).map_err(serde::ser::Error::custom)?;
        let files = row.files.iter().map(|file| &file.sketches);
        let sketches = std::iter::once(&row.sketches).chain(files).map(|it| {
            let (bytes, is_packed) = it.as_bytes();
            (bytes.to_vec(), is_packed)
        });
        let parts: RowParts = (json, sketches.collect());
        parts.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for WireRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (json, sketches) = RowParts::deserialize(deserializer)?;
        let row = serde_json::from_slice(&json);
        let mut row: TableRecord = row.map_err(serde::de::Error::custom)?;
        let files = row.files.iter_mut().map(|file| &mut file.sketches);
        let places = std::iter::once(&mut row.sketches).chain(files);
        for (place, (bytes, is_packed)) in places.zip(sketches) {
            *place = Sketches::of_bytes(bytes, is_packed);
        }
        Ok(WireRow(row))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_segment::FileRecord;

    use super::*;

    #[test]
    fn a_row_travels_with_its_sketches() {
        let sketches = |length: usize| {
            let mut all = vec![None, Some(vec![7; length])];
            all.push(Some(vec![1]));
            all.into_iter().collect::<Sketches>()
        };
        let file = |length| FileRecord {
            sketches: sketches(length),
            ..FileRecord::default()
        };
        let row = TableRecord {
            name: "t".to_owned(),
            sketches: sketches(3),
            files: vec![FileRecord::default(), file(5), file(1 << 20)],
            ..TableRecord::default()
        };
        // JSON arrays describe no more than what timely writes.
        let json = serde_json::to_vec(&WireRow(row.clone())).unwrap();
        assert_eq!(serde_json::from_slice::<WireRow>(&json).unwrap().0, row);
    }
}
