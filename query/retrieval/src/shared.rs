//! Texts about tables that many of them have word for word.
//!
//! A paragraph about the warehouse that every table's page begins with is about none of them in
//! particular: counted like others, its words would be everywhere, and so be worth nothing where
//! they are names, and its vectors would fill the places of the nearest. So a text that more than
//! [`FEW`] tables have counts as one about a folder does, and the less the more tables have it:
//! [`Shared::norm_of`]. A word that a table has only there counts only for tables that lack it
//! elsewhere, and takes no part in how rare the word is; the text is in no length, and is not
//! looked for by its meaning.
//!
//! Words of long texts about a table ([`long_texts`]) are kept apart in the same sums, but weigh as
//! those of other texts do.
//!
//! What is the same is known by the hashes of the blocks' texts, over the live tables of a corpus:
//! it does not depend on how tables are spread over segments, nor on when they came. Hashes are
//! read of blocks as long as more than [`FEW`] others: of a large lake, of nearly all.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use limn_segment::{Deletes, Field, TextHash};

use crate::corpus::Corpus;
use crate::error::RetrievalError;
use crate::scoring::{FIELDS, Formula};

/// A text that no more tables have is about each of them.
const FEW: usize = 20;

/// The shared texts of a corpus.
pub(crate) struct Shared {
    /// What one occurrence of a term counts in such a text, by segment and block.
    norms_of: Vec<HashMap<u32, f32>>,
    /// What one occurrence of a term counts in the other texts, by table.
    norms: Vec<f32>,
    /// Which tables have long texts without these.
    long: Vec<bool>,
    /// As [`Segment::hidden`](crate::corpus::Segment::hidden), with these.
    hidden: Vec<Arc<Deletes>>,
}

impl Shared {
    /// What one occurrence of a term counts in a block; none where that is no such text.
    pub(crate) fn norm_of(&self, segment: usize, block: u32) -> Option<f32> {
        self.norms_of[segment].get(&block).copied()
    }

    /// Whether a block is of such a text.
    pub(crate) fn has(&self, segment: usize, block: u32) -> bool {
        self.norms_of[segment].contains_key(&block)
    }

    /// Whether any block of a segment is.
    pub(crate) fn is_any_in(&self, segment: usize) -> bool {
        !self.norms_of[segment].is_empty()
    }

    /// What one occurrence of a term counts in the other texts, by table.
    pub(crate) fn norms(&self) -> &[f32] {
        &self.norms
    }

    /// The blocks of a segment that are not looked for by their meaning.
    pub(crate) fn hidden(&self, segment: usize) -> &Deletes {
        &self.hidden[segment]
    }
}

/// A text about a table: its segment, block and table.
type Place = (usize, u32, u32);

/// The texts that many of a corpus' tables have; looked up once, whatever the deadline: the next
/// question would begin anew. None where there are none.
pub(crate) fn shared(corpus: &Corpus) -> Result<Option<&Shared>, RetrievalError> {
    if let Some(known) = corpus.shared.get() {
        return Ok(known.as_ref());
    }
    // Questions that come meanwhile wait for the first one.
    let _looking = corpus
        .looking
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = corpus.shared.get() {
        return Ok(known.as_ref());
    }
    let found = find(corpus)?;
    Ok(corpus.shared.get_or_init(|| found).as_ref())
}

fn find(corpus: &Corpus) -> Result<Option<Shared>, RetrievalError> {
    let at = Field::Contexts.index();
    let length = |place: &Place| {
        let reader = &corpus.segments[place.0].reader;
        reader.field_lengths(place.1)[at]
    };
    let mut alike: HashMap<[u32; FIELDS], Vec<Place>> = HashMap::new();
    let mut lengths = vec![0_u32; corpus.tables.len()];
    for (number, table) in (0..).zip(&corpus.tables) {
        let segment = corpus.segment_number(table);
        for block in corpus.blocks_of(table) {
            let of_block = corpus.segments[segment].reader.field_lengths(block);
            if of_block[at] > 0 {
                lengths[number as usize] += of_block[at];
                let alike = alike.entry(of_block).or_default();
                alike.push((segment, block, number));
            }
        }
    }
    let filled = lengths.iter().filter(|length| **length > 0).count();
    let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let average = sum as f64 / filled.max(1) as f64;
    let many = alike.into_values().filter(|it| it.len() > FEW);
    let mut places: Vec<Place> = many.flatten().collect();
    // Hashes are read where they lie, one after the other.
    places.sort_unstable();
    let hashed = places.into_iter().map(|place| {
        let hash = corpus.segments[place.0].reader.text_hash(place.1)?;
        Ok((hash, place))
    });
    let mut same: Vec<(TextHash, Place)> = hashed.collect::<Result<_, RetrievalError>>()?;
    same.sort_unstable();
    let all = corpus.copies.count(0..corpus.tables.len() as u32);
    let mut norms_of = vec![HashMap::new(); corpus.segments.len()];
    let mut any = false;
    for places in same.chunk_by(|a, b| a.0 == b.0) {
        let places = places.iter().map(|(_, place)| *place);
        if places.len() <= FEW {
            continue;
        }
        let tables = corpus.copies.count(places.clone().map(|place| place.2));
        if tables <= FEW {
            continue;
        }
        any = true;
        let weight = weight(all, tables) * Formula::LIMN.folder;
        for place in places {
            let length = length(&place);
            lengths[place.2 as usize] -= length;
            let norm = Formula::LIMN.norm(Field::Contexts, length.into(), average);
            norms_of[place.0].insert(place.1, weight * norm);
        }
    }
    Ok(any.then(|| {
        let hidden = corpus.segments.iter().zip(&norms_of);
        let hidden = hidden.map(|(segment, blocks)| {
            let mut hidden = Deletes::clone(&segment.hidden);
            hidden.0.extend(blocks.keys());
            Arc::new(hidden)
        });
        Shared {
            hidden: hidden.collect(),
            norms: Formula::LIMN.norms(Field::Contexts, &lengths),
            long: Formula::LIMN.have_long(&lengths),
            norms_of,
        }
    }))
}

/// Which tables have long texts ([`Formula::long`]), without those that many have; empty where none
/// has.
pub(crate) fn long_texts<'a>(corpus: &'a Corpus, shared: Option<&'a Shared>) -> &'a [bool] {
    shared.map_or(&corpus.long, |it| &it.long)
}

/// What a text counts that so many of all tables have: 1 where they are few, 0 where all have it.
fn weight(all: usize, tables: usize) -> f32 {
    let bits = |of: usize| (all as f64 / of as f64).log2();
    (bits(tables) / bits(FEW)) as f32
}
