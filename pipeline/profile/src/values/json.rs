//! Distinct values in JSON: as workers exchange them, and as catalogs of format 1 stored them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Counted, EXACT_BELOW, Frequent, HyperLogLog, Withheld, counted};

/// The sketch in base64; of withheld values `{"w": …}`, which is all that the catalog has of them.
impl Serialize for Frequent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.withheld, self.to_sketch()) {
            (Some(withheld), _) => OnlyWithheld { withheld }.serialize(serializer),
            (None, sketch) => serializer.serialize_str(&BASE64.encode(sketch.unwrap_or_default())),
        }
    }
}

#[derive(Serialize)]
struct OnlyWithheld {
    #[serde(rename = "w")]
    withheld: Withheld,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Read {
    Sketch(String),
    Parts(Parts),
}

/// `{"k": limit, "l": lowest, "b": beyond, "h": registers, "w": withheld}`, empty and default parts
/// left out. Values of one count are together after it: `[[3,",c"],[1,",a,b"]]`.
#[derive(Deserialize)]
struct Parts {
    #[serde(rename = "k", default = "default_limit")]
    limit: u16,
    #[serde(rename = "l", default)]
    lowest: Vec<Group>,
    #[serde(rename = "b", default)]
    beyond: Vec<Group>,
    #[serde(rename = "h")]
    registers: Option<String>,
    #[serde(rename = "w")]
    withheld: Option<Withheld>,
}

fn default_limit() -> u16 {
    EXACT_BELOW
}

impl<'de> Deserialize<'de> for Frequent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = match Read::deserialize(deserializer)? {
            Read::Sketch(text) if text.is_empty() => return Ok(Frequent::default()),
            Read::Sketch(text) => {
                let sketch = BASE64.decode(text).map_err(D::Error::custom)?;
                return Frequent::from_sketch(&sketch).map_err(D::Error::custom);
            }
            Read::Parts(parts) => parts,
        };
        let registers = parts.registers.map(|text| {
            let packed = BASE64.decode(text).map_err(D::Error::custom)?;
            let registers = HyperLogLog::from_bytes(&packed);
            registers.ok_or_else(|| D::Error::custom("registers that no sketch has written"))
        });
        let all = |groups: Vec<Group>| groups.into_iter().flat_map(|group| group.0).collect();
        let (lowest, beyond) = (all(parts.lowest), all(parts.beyond));
        Ok(Frequent {
            withheld: parts.withheld,
            ..Frequent::of_parts(parts.limit, lowest, beyond, registers.transpose()?)
        })
    }
}

/// `[count, joined, cut, …]`: values in one text, each after a separator that none of them holds;
/// then those that were cut, as `[text, hash]`.
struct Group(Vec<Counted>);

#[derive(Deserialize)]
#[serde(untagged)]
enum ReadValue {
    Joined(String),
    Cut(String, u64),
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GroupVisitor;
        impl<'de> Visitor<'de> for GroupVisitor {
            type Value = Group;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a count followed by its values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Group, A::Error> {
                let missing = || A::Error::custom("a group of values starts with its count");
                let count: u64 = seq.next_element()?.ok_or_else(missing)?;
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    match value {
                        ReadValue::Joined(text) => {
                            let mut rest = text.chars();
                            let Some(separator) = rest.next() else {
                                continue;
                            };
                            let each = rest.as_str().split(separator);
                            values.extend(each.map(|value| counted(value, count)));
                        }
                        ReadValue::Cut(value, hash) => values.push(Counted {
                            place: (hash, hash),
                            count,
                            value,
                        }),
                    }
                }
                Ok(Group(values))
            }
        }
        deserializer.deserialize_seq(GroupVisitor)
    }
}
