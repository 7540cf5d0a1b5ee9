//! The formula: every constant and every equation of a score, in one small file.
//!
//! **Lexical, table level** ([`Formula::LIMN`]). BM25F (Robertson, Zaragoza and Taylor, CIKM 2004):
//! a term's frequencies in the fields of a table are weighted and normalised by length field by
//! field, summed to `T`, and saturated once: `Σ_t idf(t) · T·(k1+1)/(k1+T)`. Names, contexts,
//! sampled rows and distinct cells are fields, so cells help where they distinguish tables and
//! cannot drown the names. A field's average length is over the tables that have the field, so that
//! a lake with few contexts does not make them all look long.
//!
//! **Wholes.** A value of the question that a table has as a whole (`wholes.rs`) is a term with a
//! frequency of [`Formula::whole`] there; of [`Formula::distinct`], where the question sets it
//! apart from its words: a code, a number, a name, what is quoted. It is all the same whether the
//! index has it in words or as a hash. The parts of a code count as one word together, each one of
//! n by 1/n; where no table has the code as a whole, as two at most.
//!
//! **Asking words** (`asking_words.txt`: find, every, highest, above; and table, field and the
//! like) say how a question is asked. They count [`Formula::asking`] of a word, unless they are
//! quoted or the question has no others: where a table has them, it is most often by chance.
//!
//! **Semantic.** The best cosine over a table's blocks of one kind is the kind's score; a table's
//! is its best kind's plus [`Formula::second_kind`] times its second best: agreement of two kinds
//! counts. A text about a folder of tables says as much of its neighbours: its cosine counts
//! [`Formula::folder`] of one, as its words do (rows' weight to contexts'), also in the share of
//! the question that a table has. So do cosines of texts about a table of more than
//! [`Formula::long`] words in all. Texts that many tables have word for word are apart
//! (`shared.rs`).
//!
//! **Fusion.** PNEUMA §5.1: min-max over the candidates of both sides, `s = α·lexical +
//! (1−α)·semantic`; where max = min, 1. Vectors say nothing of codes and numbers, and little of
//! names: where the whole question is codes and numbers, or a value that a table has, 1−α is a
//! fifth of what it is elsewhere; where a share of it is values that are set apart, by what its
//! words are worth, 1−α loses that share of the other four fifths.
//!
//! **Names.** Tables that the question names (`wholes.rs`) come first and have the score 1,
//! whatever the formula says of them; it decides their order where they fit the names equally well.
//!
//! **Plain** ([`Formula::PLAIN`]) is PNEUMA's hybrid as published, for comparison: BM25 over blocks
//! as one field, no cells, no stop words taken out.
//!
//! All sums run in a fixed order (terms sorted, then fields, then blocks), so that a score is the
//! same bit by bit however tables are spread over shards and segments.

use limn_segment::Field;

/// The number of lexical fields.
pub(crate) const FIELDS: usize = Field::ALL.len();

/// The constants of a score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formula {
    /// Saturation of term frequencies.
    pub(crate) k1: f32,
    /// Weight of each field's frequencies, by [`Field::index`].
    pub(crate) weights: [f32; FIELDS],
    /// How much each field's length normalises its frequencies, 0 to 1.
    pub(crate) b: [f32; FIELDS],
    /// The frequency of a value that a table has as a whole.
    pub(crate) whole: f32,
    /// The same where the question sets the value apart from words.
    pub(crate) distinct: f32,
    /// What an asking word counts, beside words about what is asked.
    pub(crate) asking: f32,
    /// Weight of the second best kind's cosine.
    pub(crate) second_kind: f32,
    /// What the cosine of a text about a folder counts, and a word of the question that only such a
    /// text has.
    pub(crate) folder: f32,
    /// Where texts about a table have more words in all, their cosines count as little, since the
    /// best of many passages is near to any question. Their words, and those of what is said of its
    /// columns, count only if the table lacks them elsewhere, and make no word less rare for other
    /// tables: long lists of columns have nearly every word.
    pub(crate) long: u32,
    /// Candidates of each side per table wanted, where the question does not say.
    pub(crate) candidates: usize,
    /// Then also the fewest in all: min-max over a handful would make a table's score depend on
    /// chance, and on k.
    pub(crate) floor: usize,
    /// Blocks drawn from the vectors per candidate table wanted.
    pub(crate) blocks_per_table: usize,
}

impl Formula {
    /// The default, one configuration for every corpus. Chosen on the development questions of four
    /// corpora (docs/decisions); none of it depends on the corpus.
    pub(crate) const LIMN: Formula = Formula {
        k1: 1.0,
        weights: per_field(3.0, 1.0, 3.0, 1.0),
        b: per_field(0.3, 0.75, 0.75, 0.75),
        whole: 2.0,
        distinct: 6.0,
        asking: 0.5,
        second_kind: 0.3,
        folder: 1.0 / 3.0,
        long: 1000,
        candidates: 5,
        floor: 50,
        blocks_per_table: 2,
    };

    /// PNEUMA's plain hybrid: BM25 with the usual constants (k1 1.2, b 0.75), blocks as the unit.
    pub(crate) const PLAIN: Formula = Formula {
        k1: 1.2,
        weights: per_field(1.0, 1.0, 1.0, 0.0),
        b: per_field(0.75, 0.75, 0.75, 0.75),
        whole: 0.0,
        distinct: 0.0,
        asking: 1.0,
        second_kind: 0.0,
        folder: 1.0,
        long: u32::MAX,
        candidates: 5,
        floor: 0,
        blocks_per_table: 1,
    };

    /// A field's weight over its length normalisation: what one occurrence counts.
    pub(crate) fn norm(&self, field: Field, length: u64, average: f64) -> f32 {
        let field = field.index();
        if length == 0 || average <= 0.0 {
            return 0.0;
        }
        let b = f64::from(self.b[field]);
        let normalised = 1.0 - b + b * length as f64 / average;
        (f64::from(self.weights[field]) / normalised) as f32
    }

    /// What one occurrence counts, by table, of lengths of a field.
    pub(crate) fn norms(&self, field: Field, lengths: &[u32]) -> Vec<f32> {
        let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        let filled = lengths.iter().filter(|length| **length > 0).count();
        let average = sum as f64 / filled.max(1) as f64;
        let norm = |length: &u32| self.norm(field, u64::from(*length), average);
        lengths.iter().map(norm).collect()
    }

    /// Which tables have longer texts than [`Formula::long`], by table and their words; nothing
    /// where none has.
    pub(crate) fn have_long(&self, lengths: &[u32]) -> Vec<bool> {
        let is_long = |length: &u32| *length > self.long;
        match lengths.iter().any(is_long) {
            true => lengths.iter().map(is_long).collect(),
            false => Vec::new(),
        }
    }

    /// How many candidates each side gives for `k` tables, `wanted` a table if the question says.
    pub(crate) fn depth(&self, k: usize, wanted: Option<usize>) -> usize {
        match wanted {
            Some(wanted) => wanted.saturating_mul(k),
            None => self.candidates.saturating_mul(k).max(self.floor),
        }
        .max(1)
    }

    /// A term's share of a score, from its weighted frequency.
    pub(crate) fn saturate(&self, frequency: f32) -> f32 {
        frequency * (self.k1 + 1.0) / (self.k1 + frequency)
    }
}

/// One value a field, by name: adding a field to the index is an error here until it has a value.
const fn per_field(names: f32, rows: f32, contexts: f32, cells: f32) -> [f32; FIELDS] {
    let mut values = [0.0; FIELDS];
    let mut at = 0;
    while at < FIELDS {
        values[at] = match Field::ALL[at] {
            Field::Names => names,
            Field::Rows => rows,
            Field::Contexts => contexts,
            Field::Cells => cells,
        };
        at += 1;
    }
    values
}

/// Inverse document frequency with Lucene's non-negative form: `ln(1 + (N − df + ½)/(df + ½))`.
pub(crate) fn idf(documents: u64, containing: u64) -> f32 {
    let (n, df) = (documents as f64, containing as f64);
    (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln() as f32
}

/// The share of meaning, of what it is elsewhere, where the question is a value.
const MEANING_OF_VALUES: f32 = 0.2;

/// α where a share of the question is values, of 0 to 1.
pub(crate) fn alpha_of_values(alpha: f32, share: f32) -> f32 {
    // A caller who asks for meaning alone gets it.
    if alpha > 0.0 {
        1.0 - (1.0 - alpha) * (1.0 - share * (1.0 - MEANING_OF_VALUES))
    } else {
        alpha
    }
}

/// A table's semantic score from its kinds' best cosines (any order).
pub(crate) fn combine_kinds(kinds: &[Option<f32>], second_weight: f32) -> Option<f32> {
    let mut best: Option<f32> = None;
    let mut second: Option<f32> = None;
    for &cosine in kinds.iter().flatten() {
        if best.is_none_or(|b| cosine > b) {
            second = best;
            best = Some(cosine);
        } else if second.is_none_or(|s| cosine > s) {
            second = Some(cosine);
        }
    }
    // With one kind only its cosine counts twice: a table is not worse for having no rows.
    best.map(|best| best + second_weight * second.unwrap_or(best))
}

/// Min-max to 0..1 in place; all 1 where there is no difference (design, section 5).
pub(crate) fn min_max(values: &mut [f32]) {
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let range = high - low;
    for value in values {
        *value = if range > 0.0 {
            (*value - low) / range
        } else {
            1.0
        };
    }
}

/// The combined score.
pub(crate) fn fuse(alpha: f32, lexical: f32, semantic: f32) -> f32 {
    alpha * lexical + (1.0 - alpha) * semantic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_normalise_to_one() {
        let mut equal = [0.3, 0.3];
        min_max(&mut equal);
        assert_eq!(equal, [1.0, 1.0]);
        let mut values = [2.0, 4.0, 3.0];
        min_max(&mut values);
        assert_eq!(values, [0.0, 1.0, 0.5]);
        min_max(&mut []);
    }

    #[test]
    fn values_take_their_share_of_meaning() {
        assert_eq!(alpha_of_values(0.5, 0.0), 0.5);
        assert!((alpha_of_values(0.5, 0.5) - 0.7).abs() < 1e-6);
        assert!((alpha_of_values(0.5, 1.0) - 0.9).abs() < 1e-6);
        assert_eq!(alpha_of_values(0.0, 1.0), 0.0);
    }

    #[test]
    fn the_floor_is_part_of_the_default_only() {
        assert_eq!(Formula::LIMN.depth(1, None), 50);
        assert_eq!(Formula::LIMN.depth(20, None), 100);
        assert_eq!(Formula::LIMN.depth(5, Some(5)), 25);
        assert_eq!(Formula::PLAIN.depth(5, None), 25);
        assert_eq!(Formula::PLAIN.depth(5, Some(usize::MAX)), usize::MAX);
    }

    #[test]
    fn two_kinds_that_agree_beat_one() {
        let combine = |kinds: &[Option<f32>]| combine_kinds(kinds, 0.3);
        assert_eq!(combine(&[None, None]), None);
        assert_eq!(combine(&[Some(0.5), None]), Some(0.65));
        assert_eq!(combine(&[None, Some(0.5), Some(0.1)]), Some(0.53));
        assert_eq!(
            combine(&[Some(0.1), Some(0.5)]),
            combine(&[Some(0.5), Some(0.1)])
        );
    }

    #[test]
    fn a_term_in_every_table_still_counts_a_little() {
        assert!(idf(10, 10) > 0.0);
        assert!(idf(10, 1) > idf(10, 2));
        assert!((idf(10, 1) - (1.0f32 + 9.5 / 1.5).ln()).abs() < 1e-6);
    }

    #[test]
    fn a_long_field_counts_less_and_an_empty_one_nothing() {
        let formula = Formula::LIMN;
        assert_eq!(formula.norm(Field::Names, 0, 10.0), 0.0);
        assert!((formula.norm(Field::Names, 10, 10.0) - 3.0).abs() < 1e-6);
        assert!(formula.norm(Field::Names, 20, 10.0) < 3.0);
        assert!(formula.saturate(1e9) < formula.k1 + 1.0 + 1e-3);
    }
}
