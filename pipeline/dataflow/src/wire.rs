//! Values that travel between workers.
//!
//! Between workers of one process timely moves values; between processes it serialises them with a
//! positional encoding that cannot skip fields. The lake's types are written for the catalog, where
//! empty fields are left out, so [`Wire`] carries them across processes as JSON instead. Inside one
//! process nothing is encoded at all.

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
