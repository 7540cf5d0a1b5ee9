//! Synthetic tables as real ones are: real blocks, perturbed.
//!
//! A synthetic table is made of a real one of a *base* index. The vectors of its blocks are the
//! real blocks' with Gaussian noise, brought back to unit length; of the words of their texts some
//! stay and others become words of a vocabulary in which, as in every language, the r-th word is
//! about as frequent as 1/r. So questions about the base find something, neighbours are as near as
//! real ones, and what grows with the number of tables (postings of frequent words, near
//! neighbours) grows as it would. (Independent random vectors have no near neighbours: no graph can
//! be walked among them, and no scan can be cut short.)
//!
//! Everything of table number `n` is a function of the base, the settings and `n`: the same index
//! comes of any number of threads, and the tables of a small index are the first ones of a larger
//! one.

use half::f16;
use limn_segment::{
    Block, BlockKind, ColumnRecord, Deletes, Field, FileRecord, IndexStore, SegmentReader,
    Snapshot, TableBlocks, TableKey, TableRecord, TableValues, analyzer,
};

use crate::random;

/// Differences of real vectors that one vector's noise is made of.
const DIRECTIONS: usize = 16;
/// Folders at each of the two levels above the tables.
const FOLDERS: u64 = 100;
/// Columns of a table at most.
const COLUMNS: usize = 6;
/// Words of a block at most.
const WORDS: usize = 80;

/// Random numbers from a seed: the sequence of [`random`].
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Random {
        Random(random(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        random(self.0)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// From 0 to 1, 0 excluded.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Normally distributed (Box and Muller).
    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * self.share().ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.share()).cos()) as f32
    }
}

/// Brings a vector to unit length.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
}

/// The inner product, summed in sixteen lanes so that the compiler can use the vector unit.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for j in 0..16 {
            lanes[j] += a[j] * b[j];
        }
    }
    let rest = a.len() / 16 * 16;
    let tail: f32 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + tail
}

/// How synthetic tables are made.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The length of the noise beside the real vector's 1.
    pub noise: f32,
    /// Whether the noise is the same in all directions. Otherwise it has the covariance of the real
    /// vectors, which vary more in some directions than in others.
    pub isotropic: bool,
    /// Words of the vocabulary.
    pub vocabulary: usize,
    /// The share of a block's words that stay the real block's.
    pub kept: f64,
    /// Other seeds make other tables.
    pub seed: u64,
}

/// A real block.
struct Piece {
    words: Vec<String>,
    vector: Vec<f32>,
}

/// A real table: its schema and (most have some) rows.
struct Real {
    schema: Piece,
    rows: Option<Piece>,
    record: TableRecord,
}

/// The real tables that synthetic ones are made of.
pub struct Base {
    tables: Vec<Real>,
    /// The mean of the squared distances between real vectors.
    spread: f32,
    /// The embedder's id.
    pub embedder: String,
    /// The length of its vectors.
    pub dimensions: usize,
}

/// All open segments of an index's newest snapshot.
pub async fn open(index: &IndexStore) -> (Snapshot, Vec<(std::sync::Arc<SegmentReader>, Deletes)>) {
    let snapshot = index.require_newest().await.expect("an index");
    let mut segments = Vec::new();
    for entry in &snapshot.segments {
        let reader = SegmentReader::open(&index.store, entry).await;
        let deletes = index.deletes(entry).await.expect("its deletes");
        segments.push((reader.expect("a segment"), deletes));
    }
    (snapshot, segments)
}

impl Base {
    /// The first schema block and the first block of rows of each table of an index.
    pub async fn read(index: &IndexStore) -> Base {
        let (snapshot, segments) = open(index).await;
        let records = index.tables(&snapshot, None).await.expect("the catalog");
        let mut tables = Vec::new();
        for record in records {
            let of = |segment: &&(std::sync::Arc<SegmentReader>, Deletes)| {
                segment.0.path() == record.segment
            };
            let Some((reader, _)) = segments.iter().find(of) else {
                continue;
            };
            let piece = |kind: BlockKind| {
                let mut blocks = record.first_block..record.first_block + record.blocks;
                let block = blocks.find(|block| reader.kind(*block) == kind)?;
                let vector = reader.vector(block).expect("a vector")?;
                let text = reader.text(block).expect("a text");
                Some(Piece {
                    words: text.split_whitespace().map(str::to_owned).collect(),
                    vector: vector.iter().map(|x| x.to_f32()).collect(),
                })
            };
            if let Some(schema) = piece(BlockKind::Schema) {
                let rows = piece(BlockKind::Rows);
                tables.push(Real {
                    schema,
                    rows,
                    record,
                });
            }
        }
        assert!(tables.len() > 1, "a base needs tables");
        let mut base = Base {
            tables,
            spread: 0.0,
            embedder: snapshot.embedder,
            dimensions: snapshot.dimensions,
        };
        let mut random = Random::new(0);
        let pairs = 10_000;
        for _ in 0..pairs {
            let (a, b) = (base.any(&mut random), base.any(&mut random));
            base.spread += (2.0 - 2.0 * dot(a, b)) / pairs as f32;
        }
        base
    }

    /// The number of real tables.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// A real vector.
    fn any(&self, random: &mut Random) -> &[f32] {
        let table = &self.tables[random.below(self.tables.len())];
        match (&table.rows, random.below(2)) {
            (Some(rows), 1) => &rows.vector,
            _ => &table.schema.vector,
        }
    }

    fn perturbed(&self, vector: &[f32], recipe: &Recipe, random: &mut Random) -> Vec<f16> {
        let mut moved = vector.to_vec();
        if recipe.isotropic {
            let size = recipe.noise / (vector.len() as f32).sqrt();
            moved.iter_mut().for_each(|x| *x += size * random.normal());
        } else {
            let size = recipe.noise / (DIRECTIONS as f32 * self.spread).sqrt();
            for _ in 0..DIRECTIONS {
                let by = size * random.normal();
                let (to, from) = (self.any(random), self.any(random));
                for (x, (to, from)) in moved.iter_mut().zip(to.iter().zip(from)) {
                    *x += by * (to - from);
                }
            }
        }
        normalise(&mut moved);
        moved.into_iter().map(f16::from_f32).collect()
    }

    fn block(
        &self,
        kind: BlockKind,
        field: Field,
        real: &Piece,
        recipe: &Recipe,
        random: &mut Random,
    ) -> Block {
        let words = real.words.iter().take(WORDS).map(|word| {
            if random.share() <= recipe.kept {
                word.clone()
            } else {
                frequent_word(recipe, random)
            }
        });
        let text = words.collect::<Vec<_>>().join(" ");
        Block {
            kind,
            fields: vec![(field, text.clone())],
            text,
            vector: Some(self.perturbed(&real.vector, recipe, random)),
        }
    }

    /// The key of a synthetic table.
    pub fn key(&self, number: u64) -> TableKey {
        let folder = random(number ^ 0x5eed) % (FOLDERS * FOLDERS);
        TableKey {
            lake: "s3://synthetic-lake".to_owned(),
            name: format!(
                "area{:02}/{}/{}_{number}",
                folder / FOLDERS,
                word(folder % FOLDERS + 1000),
                word(number % 977 + 200)
            ),
        }
    }

    /// A synthetic table, and its row in the catalog but for the place of its blocks.
    pub fn table(&self, number: u64, recipe: &Recipe) -> (TableBlocks, TableRecord) {
        let mut random = Random::new(recipe.seed.wrapping_mul(0x9e37).wrapping_add(number));
        let real = &self.tables[random.below(self.tables.len())];
        let schema = self.block(
            BlockKind::Schema,
            Field::Names,
            &real.schema,
            recipe,
            &mut random,
        );
        let rows = real.rows.as_ref().unwrap_or(&real.schema);
        let rows = self.block(BlockKind::Rows, Field::Rows, rows, recipe, &mut random);
        let table = self.key(number);
        let location = format!("{}/{}.csv", table.lake, table.name);
        let mut columns: Vec<ColumnRecord> = real
            .record
            .columns
            .iter()
            .take(COLUMNS)
            .map(|column| ColumnRecord {
                name: column.name.clone(),
                data_type: column.data_type.clone(),
                distinct: column.distinct,
                ..ColumnRecord::default()
            })
            .collect();
        // Few tables of a large lake have just the columns of another.
        if let Some(last) = columns.last_mut() {
            last.name = frequent_word(recipe, &mut random);
        }
        let record = TableRecord {
            lake: table.lake.clone(),
            name: table.name.clone(),
            location: location.clone(),
            format: "csv".to_owned(),
            rows: real.record.rows,
            rows_exact: real.record.rows_exact,
            columns,
            files: vec![FileRecord {
                path: format!("{}.csv", table.name),
                size: 1 + random.below(1 << 20) as u64,
                modified_ms: 1_795_000_000_000 + number as i64,
                fingerprint: format!("{:016x}", random.next()),
                ..FileRecord::default()
            }],
            group: table.name.clone(),
            ..TableRecord::default()
        };
        let blocks = TableBlocks {
            content: None,
            values: TableValues::default(),
            table,
            location,
            blocks: vec![schema, rows],
        };
        (blocks, record)
    }
}

/// A word of the vocabulary: the r-th with a probability of about 1/r.
fn frequent_word(recipe: &Recipe, random: &mut Random) -> String {
    let rank = ((recipe.vocabulary as f64).ln() * random.share()).exp();
    word(rank as u64)
}

/// The word of a rank: syllables, so that it is one term, and no English word with its stem.
pub fn word(rank: u64) -> String {
    const FIRST: [&str; 16] = [
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "t", "v", "z", "br", "kr", "tr",
    ];
    const THEN: [&str; 4] = ["a", "o", "u", "i"];
    let mut word = String::from("x");
    let mut rest = rank;
    loop {
        word.push_str(FIRST[(rest % 16) as usize]);
        word.push_str(THEN[(rest / 16 % 4) as usize]);
        rest /= 64;
        if rest == 0 {
            return word;
        }
    }
}

/// The terms of a text, as the index has them.
pub fn terms(text: &str) -> Vec<String> {
    analyzer::analyze(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_single_terms_and_nearly_all_distinct() {
        let mut found = std::collections::HashSet::new();
        for rank in 0..20_000 {
            let terms = terms(&word(rank));
            assert_eq!(terms.len(), 1, "{}", word(rank));
            found.extend(terms);
        }
        // The stemmer takes some endings for English ones.
        assert!(found.len() > 19_000, "{}", found.len());
    }

    #[test]
    fn the_first_word_is_as_frequent_as_its_rank_says() {
        let recipe = Recipe {
            noise: 0.5,
            isotropic: false,
            vocabulary: 100_000,
            kept: 0.5,
            seed: 1,
        };
        let mut random = Random::new(7);
        let drawn = 100_000;
        let first = (0..drawn).filter(|_| frequent_word(&recipe, &mut random) == word(1));
        let share = first.count() as f64 / f64::from(drawn);
        let expected = 2f64.ln() / 100_000f64.ln();
        assert!((share - expected).abs() < 0.01, "{share} {expected}");
    }
}
