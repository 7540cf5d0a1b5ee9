//! How answers are graded: those of questions that tables answer, and those of questions that none
//! does; and the limits that would fit them.

use serde::Serialize;

use super::EvalQuestion;
use super::bootstrap::percentile;
use crate::answer::RankedTable;
use crate::grade::{Grade, Grading};
use crate::searcher::best_grade;

/// Of fewer questions of either kind no limits are fitted.
const FEWEST: usize = 20;
/// The share of questions that limits may get wrong on either side.
const WRONG: f64 = 0.05;

/// The grade of one answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct GradedAnswer {
    grade: Option<Grade>,
    /// What its best table is worth.
    worth: f32,
    is_answerable: bool,
    is_found: bool,
}

impl GradedAnswer {
    /// Of an answer's tables, of so many that there are.
    pub(super) fn of(found: &[RankedTable], tables: usize) -> GradedAnswer {
        let worth = |table: &RankedTable| Grading::worth(table.covered, table.cosine, tables);
        GradedAnswer {
            grade: best_grade(found),
            worth: found.iter().map(worth).fold(f32::NEG_INFINITY, f32::max),
            is_answerable: false,
            is_found: false,
        }
    }

    /// As the answer to a question, which found these tables.
    pub(super) fn asked(self, question: &EvalQuestion, found: &[String]) -> GradedAnswer {
        GradedAnswer {
            is_answerable: question.is_answerable(),
            is_found: question.tables.iter().any(|table| found.contains(table)),
            ..self
        }
    }
}

/// Answers by their grade, at the timed k.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Graded {
    /// The number of questions.
    pub questions: usize,
    /// The share of answers whose best table is strong, as a fraction of 1.
    pub strong: f64,
    /// Whose best is weak.
    pub weak: f64,
    /// Whose best is unlikely, or that have no table.
    pub unlikely: f64,
}

/// The grades of both kinds of questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Grades {
    /// Of questions that name tables.
    pub answerable: Graded,
    /// Of questions whose `tables` are `[]`.
    pub unanswerable: Graded,
    /// The limits under which five in a hundred of the answerable whose table was found are
    /// unlikely, and five in a hundred of the unanswerable strong. `None` with fewer than twenty of
    /// either kind.
    pub fitted: Option<Grading>,
}

impl Grades {
    pub(super) fn of(answers: &[GradedAnswer]) -> Grades {
        let graded = |is_answerable: bool| {
            let these = answers
                .iter()
                .filter(|it| it.is_answerable == is_answerable);
            Graded::of(these.map(|it| it.grade.unwrap_or(Grade::Unlikely)))
        };
        Grades {
            answerable: graded(true),
            unanswerable: graded(false),
            fitted: fitted(answers),
        }
    }
}

fn fitted(answers: &[GradedAnswer]) -> Option<Grading> {
    let worths = |is_answerable: bool| -> Vec<f64> {
        let these = answers
            .iter()
            .filter(|it| it.is_answerable == is_answerable);
        let these = these.filter(|it| it.is_found || !is_answerable);
        let mut worths: Vec<f64> = these.map(|it| f64::from(it.worth)).collect();
        worths.sort_unstable_by(f64::total_cmp);
        worths
    };
    let (answerable, unanswerable) = (worths(true), worths(false));
    if answerable.len().min(unanswerable.len()) < FEWEST {
        return None;
    }
    let weak = percentile(&answerable, WRONG) as f32;
    // The limit itself is strong.
    let strong = (percentile(&unanswerable, 1.0 - WRONG) as f32).next_up();
    Some(Grading {
        weak,
        strong: strong.max(weak),
    })
}

impl Graded {
    fn of(grades: impl Iterator<Item = Grade>) -> Graded {
        let mut all = Graded::default();
        for grade in grades {
            all.questions += 1;
            match grade {
                Grade::Strong => all.strong += 1.0,
                Grade::Weak => all.weak += 1.0,
                Grade::Unlikely => all.unlikely += 1.0,
            }
        }
        let count = all.questions.max(1) as f64;
        for share in [&mut all.strong, &mut all.weak, &mut all.unlikely] {
            *share /= count;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn both_kinds_are_counted_and_limits_fitted_between_them() {
        let answer = |is_answerable, worth: f32| GradedAnswer {
            grade: Some(Grading::DEFAULT.of(worth, false)),
            worth,
            is_answerable,
            is_found: is_answerable,
        };
        let mut answers: Vec<GradedAnswer> = (0..40)
            .map(|at| answer(true, 0.5 + at as f32 / 40.0))
            .collect();
        answers.extend((0..40).map(|at| answer(false, at as f32 / 40.0)));
        let grades = Grades::of(&answers);
        assert_eq!(grades.answerable.unlikely, 0.0);
        assert_eq!(grades.answerable.strong, 32.0 / 40.0);
        assert_eq!(grades.unanswerable.unlikely, 13.0 / 40.0);
        let fitted = grades.fitted.unwrap();
        assert!((0.5..0.6).contains(&fitted.weak), "{fitted:?}");
        assert!((0.9..1.0).contains(&fitted.strong), "{fitted:?}");
        assert_eq!(Grades::of(&answers[..59]).fitted, None);
    }
}
