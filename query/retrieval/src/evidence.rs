//! Evidence: the few texts of a table that show why it was found.
//!
//! Only the tables of the final answer are looked at, so their texts may be read and analyzed anew:
//! a handful a question, and the index need not keep what each block contributed.

use limn_segment::{BlockKind, SegmentError};

use crate::answer::Evidence;
use crate::corpus::{Corpus, Table};
use crate::lexical::KnownTerms;
use crate::sought::Sought;
use crate::texts::Texts;
use crate::words::matching_words;

/// How good a block must be beside the best to be shown.
const SHARE_OF_BEST: f32 = 0.4;
/// Lines and characters shown of a cells block.
const CELL_LINES: usize = 8;
const CELL_CHARACTERS: usize = 400;

/// The best texts of a table, at most so many, best first; at least one where the table has any and
/// one is wanted.
pub(crate) fn evidence(
    corpus: &Corpus,
    texts: &Texts,
    table: &Table,
    vector: &[f32],
    known: &KnownTerms,
    most: usize,
) -> Result<Vec<Evidence>, SegmentError> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let sought = Sought::new(known);
    let found = scored_texts(corpus, texts, table, vector, &sought)?;
    let enough = found.first().map_or(0.0, |best| best.score * SHARE_OF_BEST);
    let shown = found.into_iter().filter(|text| text.score >= enough);
    shown
        .take(most)
        .map(|found| {
            let (kind, score) = (found.kind, found.score);
            let text = found.text(corpus, texts, table)?;
            Ok(Evidence {
                kind,
                words: matching_words(&text, &sought),
                text,
                score,
            })
        })
        .collect()
}

/// A text of a table, and how well it matches: half by the weights of its words among the
/// question's, half by its cosine (of cells by the words alone): 0 to 1.
pub(crate) struct ScoredText {
    pub(crate) kind: BlockKind,
    pub(crate) score: f32,
    block: u32,
    /// What matches, of cells.
    cells: Option<String>,
}

impl ScoredText {
    /// What it says.
    pub(crate) fn text(
        self,
        corpus: &Corpus,
        texts: &Texts,
        table: &Table,
    ) -> Result<String, SegmentError> {
        match self.cells {
            Some(cells) => Ok(cells),
            None => texts.text(&corpus.segment_of(table).reader, self.block),
        }
    }
}

/// All texts of a table with how well they match, best first; of cells the matching ones only.
pub(crate) fn scored_texts(
    corpus: &Corpus,
    texts: &Texts,
    table: &Table,
    vector: &[f32],
    sought: &Sought,
) -> Result<Vec<ScoredText>, SegmentError> {
    let total = sought.total();
    let reader = &corpus.segment_of(table).reader;
    let mut cosines: Vec<(u32, f32)> = Vec::new();
    reader.similarities(vector, corpus.range_of(table), |block, cosine| {
        cosines.push((block, cosine));
    })?;
    let cosine_of = |block: u32| {
        let at = cosines.binary_search_by_key(&block, |of| of.0);
        at.map_or(0.0, |at| cosines[at].1.max(0.0))
    };
    let mut found: Vec<ScoredText> = Vec::new();
    texts.visit(reader, corpus.blocks_of(table), |block, text, terms| {
        let kind = reader.kind(block);
        let worth = sought.worth_of(terms);
        let words = if total > 0.0 { worth / total } else { 0.0 };
        let (score, cells) = match kind {
            BlockKind::Cells if worth <= 0.0 => return Ok(()),
            BlockKind::Cells => match matching_cells(text, sought) {
                Some(cells) => (0.5 * words, Some(cells)),
                None => return Ok(()),
            },
            _ => (0.5 * words + 0.5 * cosine_of(block), None),
        };
        found.push(ScoredText {
            kind,
            score,
            block,
            cells,
        });
        Ok(())
    })?;
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.block.cmp(&b.block)));
    Ok(found)
}

/// The lines of a cells block (`column: value | value`) cut to the values that hold a question's
/// word; `None` where no line does.
fn matching_cells(text: &str, sought: &Sought) -> Option<String> {
    let mut lines: Vec<(f32, String)> = Vec::new();
    for line in text.lines() {
        let (column, values) = line.split_once(": ").unwrap_or(("", line));
        let kept: Vec<&str> = values
            .split(" | ")
            .filter(|value| sought.worth(value) > 0.0)
            .take(CELL_LINES)
            .collect();
        if kept.is_empty() {
            continue;
        }
        let weight = sought.worth(&kept.join(" "));
        let shown = if column.is_empty() {
            kept.join(" | ")
        } else {
            format!("{column}: {}", kept.join(" | "))
        };
        lines.push((weight, shown));
    }
    // Stable: equal lines keep the columns' order.
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut shown = String::new();
    for (_, line) in lines.into_iter().take(CELL_LINES) {
        if !shown.is_empty() {
            if shown.len() + line.len() > CELL_CHARACTERS {
                break;
            }
            shown.push('\n');
        }
        let end = line.floor_char_boundary(CELL_CHARACTERS.min(line.len()));
        shown.push_str(&line[..end]);
        if end < line.len() {
            shown.push('…');
        }
    }
    (!shown.is_empty()).then_some(shown)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn cells_are_cut_to_what_matches() {
        let sought = Sought::of(vec![("leipzig", 2.0), ("red", 1.0)]);
        let text = "colour: red | green | dark red\ncity: Leipzig | Halle\nnumber: 1 | 2";
        assert_eq!(
            matching_cells(text, &sought).unwrap(),
            "city: Leipzig\ncolour: red | dark red"
        );
        assert_eq!(matching_cells("a: b", &sought), None);
    }
}
