//! Grades: how likely a table answers its question, whatever else was found.
//!
//! Scores order the tables of one answer and say nothing across answers: the best of nothing scores
//! as high as the best of much. A grade weighs what does not depend on other candidates: the share
//! of the question's words that the table has, and how close it is to the question in meaning; of a
//! larger lake more is wanted, since by chance alone its best table has more. The limits were
//! fitted on the questions of four corpora, asked of their own lake and of the others'
//! (docs/decisions/034). Another [`Grading`] may be given.

use serde::{Deserialize, Serialize};

use crate::scoring::idf;

/// How likely a table answers its question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It is among the nearest, no more.
    Unlikely,
    /// It has a part of what was asked for.
    Weak,
    /// It has what was asked for, in words or in meaning.
    Strong,
}

impl Grade {
    /// Its name, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Grade::Unlikely => "unlikely",
            Grade::Weak => "weak",
            Grade::Strong => "strong",
        }
    }
}

/// The limits of grades.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grading {
    /// A table whose [`worth`](Grading::worth) is below it is unlikely.
    pub weak: f32,
    /// One whose worth is at or above it is strong.
    pub strong: f32,
}

impl Default for Grading {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a cosine counts beside the share of words.
const MEANING: f32 = 2.0;
/// What is wanted more for each unit of the inverse document frequency of a word that one table
/// has.
const SIZE: f32 = 0.1;

impl Grading {
    /// What was fitted.
    pub const DEFAULT: Grading = Grading {
        weak: 0.31,
        strong: 0.70,
    };

    /// What a table that has a share `covered` (0 to 1) of the question's words, and this cosine,
    /// is worth among `tables`.
    #[must_use]
    pub fn worth(covered: f32, cosine: Option<f32>, tables: usize) -> f32 {
        covered + MEANING * cosine.unwrap_or(0.0).max(0.0) - SIZE * idf(tables as u64, 0)
    }

    /// The grade of a table that is worth so much. One that the question names is strong.
    pub(crate) fn of(&self, worth: f32, is_named: bool) -> Grade {
        if is_named || worth >= self.strong {
            Grade::Strong
        } else if worth >= self.weak {
            Grade::Weak
        } else {
            Grade::Unlikely
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_meaning_make_a_grade_and_a_larger_lake_wants_more() {
        let grade = |covered, cosine, tables| {
            Grading::DEFAULT.of(Grading::worth(covered, cosine, tables), false)
        };
        assert_eq!(grade(1.0, Some(0.5), 100), Grade::Strong);
        assert_eq!(grade(0.5, Some(0.3), 100), Grade::Weak);
        assert_eq!(grade(0.5, Some(0.3), 100_000), Grade::Unlikely);
        assert_eq!(grade(0.1, None, 100), Grade::Unlikely);
        assert_eq!(Grading::DEFAULT.of(-1.0, true), Grade::Strong);
    }
}
