//! How distinct values are stored: compact JSON, values of one count together.

use std::borrow::Cow;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Counted, EXACT_BELOW, Frequent, HyperLogLog, Withheld, by_count, counted};

/// Serialised as `{"k": limit, "l": lowest, "b": beyond, "h": registers, "w": withheld}`, empty and default parts left out. Values
/// of one count are written together after it: `[[3,",c"],[1,",a,b"]]`.
#[derive(Serialize, Deserialize)]
struct Written<'a> {
    #[serde(
        rename = "k",
        default = "default_limit",
        skip_serializing_if = "is_default_limit"
    )]
    limit: u16,
    #[serde(rename = "l", default, skip_serializing_if = "Grouped::is_empty")]
    lowest: Grouped<'a>,
    #[serde(rename = "b", default, skip_serializing_if = "Grouped::is_empty")]
    beyond: Grouped<'a>,
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    registers: Option<Cow<'a, HyperLogLog>>,
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    withheld: Option<Withheld>,
}

fn default_limit() -> u16 {
    EXACT_BELOW
}

fn is_default_limit(limit: &u16) -> bool {
    *limit == EXACT_BELOW
}

impl Serialize for Frequent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lowest = Grouped(Cow::Borrowed(&self.lowest));
        let beyond = Grouped(Cow::Borrowed(&self.beyond));
        Written {
            limit: self.limit,
            lowest,
            beyond,
            registers: self.registers.as_ref().map(Cow::Borrowed),
            withheld: self.withheld,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Frequent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let mut lowest = written.lowest.0.into_owned();
        let mut beyond = written.beyond.0.into_owned();
        if written.registers.is_none() && lowest.len() >= usize::from(written.limit) {
            // From before there were join keys: these are the lowest of the values' own hashes.
            for value in &mut lowest {
                value.place.0 = value.hash();
            }
        }
        lowest.sort_unstable_by_key(|c| c.place);
        beyond.sort_unstable_by_key(by_count);
        Ok(Frequent {
            limit: written.limit,
            lowest,
            beyond,
            registers: written.registers.map(Cow::into_owned),
            withheld: written.withheld,
        })
    }
}

/// Values grouped by count.
#[derive(Default)]
struct Grouped<'a>(Cow<'a, [Counted]>);

impl Grouped<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Grouped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sorted: Vec<&Counted> = self.0.iter().collect();
        sorted.sort_by_key(|c| by_count(c));
        serializer.collect_seq(sorted.chunk_by(|a, b| a.count == b.count).map(Group))
    }
}

/// `[count, joined, cut, …]`: values in one text, each after a separator that none of them holds
/// (`",a,b"`, half the size of `"a","b"`); then those that were cut, as `[text, hash]`.
struct Group<'a>(&'a [&'a Counted]);

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (cut, whole): (Vec<&Counted>, Vec<&Counted>) = self.0.iter().partition(|c| c.is_cut());
        let mut seq = serializer.serialize_seq(None)?;
        seq.serialize_element(&self.0.first().map_or(0, |c| c.count))?;
        if !whole.is_empty() {
            seq.serialize_element(&joined(&whole))?;
        }
        for c in cut {
            seq.serialize_element(&(&c.value, c.hash()))?;
        }
        seq.end()
    }
}

fn joined(values: &[&Counted]) -> String {
    // At most 160 values of 200 characters: one of 65,534 private characters is free.
    let unused = |separator: &char| !values.iter().any(|c| c.value.contains(*separator));
    let mut separators = [',', ';', '|', '/', '~']
        .into_iter()
        .chain('\u{f0000}'..='\u{ffffd}');
    let separator = separators.find(unused).unwrap_or(',');
    let mut text = String::new();
    for c in values {
        text.push(separator);
        text.push_str(&c.value);
    }
    text
}

impl<'de> Deserialize<'de> for Grouped<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let groups = Vec::<ReadGroup>::deserialize(deserializer)?;
        Ok(Grouped(
            groups.into_iter().flat_map(|group| group.0).collect(),
        ))
    }
}

struct ReadGroup(Vec<Counted>);

#[derive(Deserialize)]
#[serde(untagged)]
enum ReadValue {
    Joined(String),
    Cut(String, u64),
}

impl<'de> Deserialize<'de> for ReadGroup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GroupVisitor;
        impl<'de> Visitor<'de> for GroupVisitor {
            type Value = ReadGroup;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a count followed by its values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ReadGroup, A::Error> {
                let missing =
                    || serde::de::Error::custom("a group of values starts with its count");
                let count: u64 = seq.next_element()?.ok_or_else(missing)?;
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    match value {
                        ReadValue::Joined(text) => {
                            let mut rest = text.chars();
                            let Some(separator) = rest.next() else {
                                continue;
                            };
                            values.extend(
                                rest.as_str()
                                    .split(separator)
                                    .map(|value| counted(value, count)),
                            );
                        }
                        ReadValue::Cut(value, hash) => values.push(Counted {
                            place: (hash, hash),
                            count,
                            value,
                        }),
                    }
                }
                Ok(ReadGroup(values))
            }
        }
        deserializer.deserialize_seq(GroupVisitor)
    }
}
