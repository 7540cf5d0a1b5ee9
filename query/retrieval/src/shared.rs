//! Texts about tables that many of them have word for word.
//!
//! A paragraph about the warehouse that every table's page begins with is about none of them in
//! particular: counted like others, its words would be everywhere, and so be worth nothing where
//! they are names, and its vectors would fill the places of the nearest. So a text that more than
//! [`FEW`] tables have counts as one about a folder does, and the less the more tables have it:
//! [`Shared::weight`]. A word that a table has only there counts only for tables that lack it
//! elsewhere, and takes no part in how rare the word is; the text is in no length, and is not looked
//! for by its meaning.
//!
//! What is the same is told by the hashes of the blocks' texts, over the live tables of a corpus:
//! it does not depend on how tables are spread over segments, nor on when they came. Only hashes of
//! blocks are read of which more than [`FEW`] tables have one of the same lengths.

use std::collections::HashMap;
use std::sync::Arc;

use limn_segment::{Deletes, Field, TextHash};

use crate::corpus::Corpus;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::scoring::{FIELDS, Formula};

/// A text that no more tables have is about each of them.
const FEW: usize = 20;

/// The shared texts of a corpus.
pub(crate) struct Shared {
    /// What a text counts, of what one about a folder does, by segment and block.
    weights: Vec<HashMap<u32, f32>>,
    /// What one occurrence of a term counts in the other texts, by table.
    norms: Vec<f32>,
    /// As [`Segment::hidden`](crate::corpus::Segment::hidden), with these.
    hidden: Vec<Arc<Deletes>>,
}

impl Shared {
    /// What a shared text counts, of what one about a folder does; none where it is no such text.
    pub(crate) fn weight(&self, segment: usize, block: u32) -> Option<f32> {
        self.weights[segment].get(&block).copied()
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

/// The texts that many of a corpus' tables have; looked up once. None where there are none.
pub(crate) fn shared(
    corpus: &Corpus,
    deadline: Deadline,
) -> Result<Option<&Shared>, RetrievalError> {
    if let Some(known) = corpus.shared.get() {
        return Ok(known.as_ref());
    }
    let found = find(corpus, deadline)?;
    Ok(corpus.shared.get_or_init(|| found).as_ref())
}

fn find(corpus: &Corpus, deadline: Deadline) -> Result<Option<Shared>, RetrievalError> {
    let mut alike: HashMap<[u32; FIELDS], Vec<Place>> = HashMap::new();
    let mut lengths = vec![0_u32; corpus.tables.len()];
    for (number, table) in (0..).zip(&corpus.tables) {
        let segment = corpus.segment_number(table);
        for block in corpus.blocks_of(table) {
            let of_block = corpus.segments[segment].reader.field_lengths(block);
            let length = of_block[Field::Contexts.index()];
            if length > 0 {
                lengths[number as usize] += length;
                let alike = alike.entry(of_block).or_default();
                alike.push((segment, block, number));
            }
        }
    }
    let all = corpus.copies.count(0..corpus.tables.len() as u32);
    let mut weights = vec![HashMap::new(); corpus.segments.len()];
    let mut any = false;
    for places in alike.into_values().filter(|it| it.len() > FEW) {
        let mut same: HashMap<TextHash, Vec<Place>> = HashMap::new();
        for place in places {
            deadline.check()?;
            let hash = corpus.segments[place.0].reader.text_hash(place.1)?;
            same.entry(hash).or_default().push(place);
        }
        for places in same.into_values() {
            let tables = tables(corpus, &places);
            if tables <= FEW {
                continue;
            }
            any = true;
            let weight = weight(all, tables);
            for (segment, block, number) in places {
                let of_block = corpus.segments[segment].reader.field_lengths(block);
                let length = &mut lengths[number as usize];
                *length -= of_block[Field::Contexts.index()];
                weights[segment].insert(block, weight);
            }
        }
    }
    Ok(any.then(|| {
        let hidden = corpus.segments.iter().zip(&weights);
        let hidden = hidden.map(|(segment, blocks)| {
            let mut hidden = Deletes::clone(&segment.hidden);
            hidden.0.extend(blocks.keys());
            Arc::new(hidden)
        });
        Shared {
            hidden: hidden.collect(),
            norms: Formula::LIMN.norms(Field::Contexts, &lengths),
            weights,
        }
    }))
}

/// How many tables places are of.
fn tables(corpus: &Corpus, places: &[Place]) -> usize {
    corpus.copies.count(places.iter().map(|place| place.2))
}

/// What a text counts that so many of all tables have: 1 where they are few, 0 where all have it.
fn weight(all: usize, tables: usize) -> f32 {
    let bits = |of: usize| (all as f64 / of as f64).log2();
    (bits(tables) / bits(FEW)) as f32
}
