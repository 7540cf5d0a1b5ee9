//! The weights of its own that an index ranks tables by: what `limn tune` keeps in its snapshots.

use limn_segment::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::RetrievalError;
use crate::eval::Gain;
use crate::learned::Weights;

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// A weight is this at most: a feature then counts as much as the formula.
const MOST: f32 = 1.0;

/// Weights that were fitted to an index's own questions, and what they are worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    version: u32,
    /// The weights.
    pub weights: Weights,
    /// To how many questions they were fitted.
    pub questions: usize,
    /// What such weights found more than limn's own, of questions that they never saw.
    pub gain: Gain,
    /// When it was, milliseconds since 1970.
    pub tuned_ms: i64,
}

impl Tuned {
    /// Weights that were fitted to so many questions now.
    #[must_use]
    pub fn now(weights: Weights, questions: usize, gain: Gain, tuned_ms: i64) -> Tuned {
        Tuned {
            version: VERSION,
            weights,
            questions,
            gain,
            tuned_ms,
        }
    }

    /// Whether the same weights were fitted to as many questions.
    #[must_use]
    pub fn is_as(&self, other: &Tuned) -> bool {
        self.weights == other.weights && self.questions == other.questions
    }

    /// What a snapshot keeps of them.
    ///
    /// # Errors
    /// They hold a number that JSON has not.
    pub fn to_json(&self) -> Result<Value, RetrievalError> {
        // By way of text, in which 0.05 is 0.05; as a value it would be that of 32 bits.
        let text = serde_json::to_string(self);
        let value = text.and_then(|text| serde_json::from_str(&text));
        value.map_err(|error| RetrievalError::Tuning {
            reason: format!("the weights cannot be written ({error})"),
        })
    }

    /// Those that a snapshot has; `None` if it has none.
    ///
    /// # Errors
    /// It has some that this limn cannot use, and why.
    pub fn of(snapshot: &Snapshot) -> Result<Option<Tuned>, RetrievalError> {
        if snapshot.ranking.is_null() {
            return Ok(None);
        }
        let unusable = |reason: String| RetrievalError::Tuned {
            snapshot: snapshot.number,
            reason,
        };
        let version = snapshot.ranking.get("version").and_then(Value::as_u64);
        match version {
            Some(version) if version != u64::from(VERSION) => {
                let reason = format!("they are of version {version}, and limn reads {VERSION}");
                return Err(unusable(reason));
            }
            _ => {}
        }
        let tuned = Tuned::deserialize(&snapshot.ranking);
        let tuned = tuned.map_err(|error| unusable(error.to_string()))?;
        let weights = tuned.weights.named();
        let mut wrong = weights.iter().filter(|it| !(0.0..=MOST).contains(&it.1));
        if let Some((name, weight)) = wrong.next() {
            let reason = format!("the weight of {name} is {weight}, and not from 0 to {MOST}");
            return Err(unusable(reason));
        }
        Ok(Some(tuned))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn tuned() -> Tuned {
        let weights = Weights {
            name: 0.3,
            ..Weights::LEARNED
        };
        Tuned::now(weights, 100, Gain::default(), 5)
    }

    fn kept(ranking: Value) -> Result<Option<Tuned>, RetrievalError> {
        let mut snapshot = Snapshot::first("m", 3, 1);
        snapshot.ranking = ranking;
        let bytes = snapshot.to_bytes().unwrap();
        Tuned::of(&Snapshot::from_bytes("s", &bytes).unwrap())
    }

    #[test]
    fn what_is_kept_is_what_is_read() {
        let json = tuned().to_json().unwrap();
        assert_eq!(json["weights"]["name"].to_string(), "0.3");
        assert_eq!(kept(json).unwrap(), Some(tuned()));
        assert_eq!(kept(Value::Null).unwrap(), None);
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let good = tuned().to_json().unwrap();
        let with = |path: &str, value: Value| {
            let mut json = good.clone();
            *json.pointer_mut(path).unwrap() = value;
            kept(json).unwrap_err().to_string()
        };
        let error = with("/weights/name", json!(-0.1));
        assert!(error.contains("the weight of name is -0.1"), "{error}");
        assert!(error.contains("limn tune --reset"), "{error}");
        let error = with("/weights/meaning", json!(1e300));
        assert!(error.contains("the weight of meaning is inf"), "{error}");
        let error = with("/version", json!(2));
        assert!(error.contains("of version 2"), "{error}");
        with("/weights/covered", json!("much"));
        with("/weights", json!(null));
        for other in [json!(7), json!([]), json!({})] {
            kept(other).unwrap_err();
        }
    }
}
