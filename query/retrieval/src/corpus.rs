//! The live tables of a snapshot, over all its segments, and their exact statistics.
//!
//! Tables are numbered in the order of their keys, whatever segment they lie in: a table's number
//! is its place in every tie. Lengths are sums of the exact token counts that segments store, over
//! live blocks only; averages are taken over the live tables that have the field. Nothing here
//! depends on how tables are spread over shards.
//!
//! A corpus may be *restricted* to some of its tables. The others are then as dead as deleted ones:
//! they have no number, their blocks are among the hidden ones of their segment, and a segment that
//! holds nothing else is not part of the corpus. So what is true of a corpus in general is true of
//! a restricted one: it is that of an index of the kept tables. What open segments hold is shared,
//! not copied.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use limn_segment::languages::Language;
use limn_segment::{BlockKind, Deletes, Field, KeyRef, SegmentReader, TableKey};

use crate::absent_words::{AbsentWords, LookUp};
use crate::copies::Copies;
use crate::scoring::{FIELDS, Formula};
use crate::shared::Shared;

/// Whether the texts that are made of rows' values take part: the blocks of kind
/// [`Rows`](BlockKind::Rows) and [`Cells`](BlockKind::Cells).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Values {
    /// They do.
    Searched,
    /// They are as dead as those of hidden tables: no word of them is known, counted or scored. For
    /// who may not read values: asking for one would reveal whether it is there. What remains is a
    /// trace in the vectors of schemas, whose texts name ranges and frequent values.
    Hidden,
}

impl Values {
    fn hide(self, kind: BlockKind) -> bool {
        self == Values::Hidden && matches!(kind, BlockKind::Rows | BlockKind::Cells)
    }
}

/// Marks a block that belongs to no live table.
pub(crate) const DEAD: u32 = u32::MAX;

/// An open segment and its published deletes, shared by all who search it.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) reader: Arc<SegmentReader>,
    pub(crate) deletes: Arc<Deletes>,
    /// Where they were read, if there are any.
    pub(crate) deletes_path: Option<String>,
}

/// A live table: what there is of it is its segment's ([`Corpus::key`], [`Corpus::location`],
/// [`Corpus::range_of`]).
#[derive(Clone, Copy)]
pub(crate) struct Table {
    segment: u32,
    /// Its place among its segment's tables.
    at: u32,
}

impl Table {
    /// Its place among its segment's tables.
    pub(crate) fn at(&self) -> u32 {
        self.at
    }
}

/// So many blocks are looked at by several threads: of fewer, one has made most of its way before
/// another has begun.
const LARGE: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// More blocks of a table than this, on average, are many to look through for the texts that show
/// why.
const BLOCKS_OF_A_TABLE: usize = 64;

/// A segment with what the scorer needs of it.
pub(crate) struct Segment {
    pub(crate) reader: Arc<SegmentReader>,
    /// As published.
    deletes: Arc<Deletes>,
    deletes_path: Option<String>,
    /// Every block that belongs to no live table; the same object where nothing else is hidden.
    pub(crate) hidden: Arc<Deletes>,
    /// The number of each block's table, or [`DEAD`].
    pub(crate) table_of: Vec<u32>,
    /// The number of the segment's first block among the blocks of all segments.
    pub(crate) base: usize,
}

impl Segment {
    fn new(opened: Opened, base: usize) -> Segment {
        Segment {
            table_of: vec![DEAD; opened.reader.block_count() as usize],
            reader: opened.reader,
            hidden: Arc::clone(&opened.deletes),
            deletes: opened.deletes,
            deletes_path: opened.deletes_path,
            base,
        }
    }

    pub(crate) fn opened(&self) -> Opened {
        Opened {
            reader: Arc::clone(&self.reader),
            deletes: Arc::clone(&self.deletes),
            deletes_path: self.deletes_path.clone(),
        }
    }

    /// Hides the blocks that have no number.
    fn hide_others(&mut self) {
        let mut hidden: Option<Deletes> = None;
        for (block, _) in (0..)
            .zip(&self.table_of)
            .filter(|(_, table)| **table == DEAD)
        {
            if !self.deletes.contains(block) {
                hidden
                    .get_or_insert_with(|| Deletes::clone(&self.deletes))
                    .0
                    .insert(block);
            }
        }
        if let Some(hidden) = hidden {
            self.hidden = Arc::new(hidden);
        }
    }
}

/// How many corpora were made: each has an own number.
static MADE: AtomicU64 = AtomicU64::new(0);

/// All live tables.
pub(crate) struct Corpus {
    /// No other corpus of this process has it.
    pub(crate) id: u64,
    pub(crate) tables: Vec<Table>,
    /// Tables of equal content.
    pub(crate) copies: Copies,
    /// What one occurrence of a term counts, by field and table.
    pub(crate) norms: [Vec<f32>; FIELDS],
    /// [`Formula::have_long`].
    pub(crate) long: Vec<bool>,
    pub(crate) segments: Vec<Segment>,
    /// Whether its bytes are on this machine, so that no thread waits for them; of all that are
    /// restricted from one.
    is_here: Arc<AtomicBool>,
    /// Whether they were looked at, too, likewise: then they are in memory where there is room.
    is_warm: Arc<AtomicBool>,
    /// Blocks of all segments, dead ones included.
    pub(crate) blocks: usize,
    values: Values,
    /// Made at the first question of plain mode.
    plain: OnceLock<Plain>,
    /// Of which live tables have marked terms: looked up at the first question.
    pub(crate) languages: OnceLock<Vec<Language>>,
    /// Texts that many live tables have, likewise.
    pub(crate) shared: OnceLock<Option<Shared>>,
    /// Held while they are looked up.
    pub(crate) looking: Mutex<()>,
    /// Of a corpus that leaves something out.
    absent: Option<AbsentWords>,
    /// Words in other languages and words without a short form, of every corpus: most words have
    /// no form in most of an index's languages.
    absent_forms: AbsentWords,
}

/// What plain mode needs: every live block with a word outside the cells is a document of one
/// field.
pub(crate) struct Plain {
    /// What one occurrence counts, by segment and block; 0 for blocks that do not take part.
    pub(crate) norms: Vec<Vec<f32>>,
    /// Blocks that take part.
    pub(crate) blocks: u64,
}

impl Corpus {
    /// The corpus of all live tables.
    pub(crate) fn new(opened: Vec<Opened>) -> Corpus {
        let tables = live_tables(&opened);
        let copies = copies(&opened, &tables);
        let is_here = opened.iter().all(|it| it.reader.remote_bytes() == 0);
        let (is_here, is_warm) = (AtomicBool::new(is_here).into(), Arc::default());
        Self::of(opened, tables, copies, Values::Searched, is_here, is_warm)
    }

    /// The corpus of an index that holds only the tables that are kept, perhaps without values.
    pub(crate) fn restricted(&self, keep: impl Fn(&TableKey) -> bool, values: Values) -> Corpus {
        let mut key = TableKey {
            lake: String::new(),
            name: String::new(),
        };
        let is_kept = |(_, table): &(u32, &Table)| {
            self.key(table).write_to(&mut key);
            keep(&key)
        };
        let (kept, mut tables): (Vec<u32>, Vec<Table>) = (0..)
            .zip(&self.tables)
            .filter(is_kept)
            .map(|(number, table)| (number, *table))
            .unzip();
        let mut opened = Vec::new();
        let mut number = vec![None; self.segments.len()];
        for table in &mut tables {
            let segment = &self.segments[table.segment as usize];
            table.segment = *number[table.segment as usize].get_or_insert_with(|| {
                opened.push(segment.opened());
                opened.len() as u32 - 1
            });
        }
        let values = match self.values {
            Values::Hidden => Values::Hidden,
            Values::Searched => values,
        };
        let (is_here, is_warm) = (Arc::clone(&self.is_here), Arc::clone(&self.is_warm));
        let copies = self.copies.restricted(&kept);
        Corpus {
            absent: Some(AbsentWords::of_a_view()),
            absent_forms: AbsentWords::of_a_view(),
            ..Self::of(opened, tables, copies, values, is_here, is_warm)
        }
    }

    /// The corpus of these tables, sorted by key, each once; others of the segments are hidden.
    fn of(
        opened: Vec<Opened>,
        tables: Vec<Table>,
        copies: Copies,
        values: Values,
        is_here: Arc<AtomicBool>,
        is_warm: Arc<AtomicBool>,
    ) -> Corpus {
        let mut segments: Vec<Segment> = Vec::with_capacity(opened.len());
        let mut base = 0;
        for opened in opened {
            let segment = Segment::new(opened, base);
            base += segment.table_of.len();
            segments.push(segment);
        }
        let mut lengths: [Vec<u32>; FIELDS] = Default::default();
        for lengths in &mut lengths {
            lengths.resize(tables.len(), 0);
        }
        for (number, table) in tables.iter().enumerate() {
            let segment = &mut segments[table.segment as usize];
            for block in segment.reader.tables().blocks(table.at as usize) {
                if segment.deletes.contains(block) || values.hide(segment.reader.kind(block)) {
                    continue;
                }
                segment.table_of[block as usize] = number as u32;
                let of_block = segment.reader.field_lengths(block);
                for (lengths, length) in lengths.iter_mut().zip(of_block) {
                    lengths[number] = lengths[number].saturating_add(length);
                }
            }
        }
        for segment in &mut segments {
            segment.hide_others();
        }
        let norms = Field::ALL.map(|field| Formula::LIMN.norms(field, &lengths[field.index()]));
        Corpus {
            id: MADE.fetch_add(1, Ordering::Relaxed),
            tables,
            copies,
            norms,
            long: Formula::LIMN.have_long(&lengths[Field::Contexts.index()]),
            segments,
            is_here,
            is_warm,
            blocks: base,
            values,
            plain: OnceLock::new(),
            languages: OnceLock::new(),
            shared: OnceLock::new(),
            looking: Mutex::default(),
            absent: None,
            absent_forms: AbsentWords::of_all(),
        }
    }

    fn absent(&self, look_up: LookUp) -> Option<&AbsentWords> {
        match look_up {
            LookUp::Form | LookUp::Short => Some(&self.absent_forms),
            _ => self.absent.as_ref(),
        }
    }

    /// Whether a word is known to be in no table, and is not looked for.
    pub(crate) fn is_absent(&self, term: &str, look_up: LookUp) -> bool {
        self.absent(look_up).is_some_and(|it| it.has(term, look_up))
    }

    /// A word was looked for, and is in no table.
    pub(crate) fn found_absent(&self, term: &str, look_up: LookUp) {
        if let Some(absent) = self.absent(look_up) {
            absent.add(term, look_up);
        }
    }

    /// The segment that a table lies in.
    pub(crate) fn segment_of(&self, table: &Table) -> &Segment {
        &self.segments[table.segment as usize]
    }

    /// The number of that segment.
    pub(crate) fn segment_number(&self, table: &Table) -> usize {
        table.segment as usize
    }

    /// Whose rows a table holds.
    pub(crate) fn key(&self, table: &Table) -> KeyRef<'_> {
        let tables = self.segment_of(table).reader.tables();
        tables.at(table.at as usize).key
    }

    /// How a table is called in its lake.
    pub(crate) fn name(&self, table: &Table) -> &str {
        let tables = self.segment_of(table).reader.tables();
        tables.name(table.at as usize).unwrap_or_default()
    }

    /// The URL of a table's file or folder.
    pub(crate) fn location(&self, table: &Table) -> &str {
        let tables = self.segment_of(table).reader.tables();
        tables.at(table.at as usize).location
    }

    /// The blocks of a table in its segment, deleted ones included.
    pub(crate) fn range_of(&self, table: &Table) -> Range<u32> {
        let tables = self.segment_of(table).reader.tables();
        tables.blocks(table.at as usize)
    }

    /// A table's number.
    pub(crate) fn number_of(&self, key: &TableKey) -> Option<u32> {
        let found = self
            .tables
            .binary_search_by(|table| self.key(table).cmp(&key.borrowed()));
        found.ok().map(|number| number as u32)
    }

    /// The live blocks of a table, with their numbers in its segment.
    pub(crate) fn blocks_of(&self, table: &Table) -> impl Iterator<Item = u32> + use<'_> {
        let segment = self.segment_of(table);
        self.range_of(table)
            .filter(move |&block| segment.table_of[block as usize] != DEAD)
    }

    /// Whether so many of its blocks are looked at by several threads: not where these might have
    /// to wait for a store.
    pub(crate) fn is_shared(&self, blocks: usize) -> bool {
        blocks >= LARGE && self.is_here.load(Ordering::Relaxed)
    }

    /// Whether it is so small that one thread looks at all of it at once, its tables are, too, and
    /// it was looked at before.
    pub(crate) fn is_quick(&self) -> bool {
        let is_small = self.blocks < LARGE.min(self.tables.len().saturating_mul(BLOCKS_OF_A_TABLE));
        is_small && self.is_warm.load(Ordering::Relaxed)
    }

    /// All bytes that questions read are on this machine from now on, but for texts.
    pub(crate) fn is_here(&self) {
        self.is_here.store(true, Ordering::Relaxed);
        self.is_warm.store(true, Ordering::Relaxed);
    }

    /// Whether texts made of values take part.
    pub(crate) fn values(&self) -> Values {
        self.values
    }

    /// What it takes beside what open segments hold.
    pub(crate) fn own_bytes(&self) -> usize {
        // What shared texts leave of a table's length is a number more, and whether that is long.
        let of_a_table =
            size_of::<Table>() + (FIELDS + 1) * size_of::<f32>() + 2 * size_of::<bool>();
        let absent = self.absent.iter().chain([&self.absent_forms]);
        let absent: usize = absent.map(AbsentWords::bytes).sum();
        let of_blocks = self.blocks * size_of::<u32>();
        self.tables.len() * of_a_table + of_blocks + self.copies.bytes() + absent
    }

    /// Does one thing and at the same time another, where the corpus is so large that this is worth
    /// another thread's while; else only the one.
    pub(crate) fn with<A: Send, B: Send>(
        &self,
        one: impl FnOnce() -> A + Send,
        other: impl FnOnce() -> B + Send,
    ) -> (A, Option<B>) {
        if !self.is_shared(self.blocks) {
            return (one(), None);
        }
        let span = tracing::Span::current();
        let other = || span.in_scope(other);
        let (one, other) = rayon::join(|| span.in_scope(one), other);
        (one, Some(other))
    }

    /// Plain mode's statistics.
    pub(crate) fn plain(&self) -> &Plain {
        self.plain.get_or_init(|| plain(&self.segments))
    }
}

/// Every table with a live block, sorted by key. Where a key is live in several segments (a
/// writer's mistake), the last segment's stands, as with catalog rows.
fn live_tables(opened: &[Opened]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for (
        segment,
        Opened {
            reader, deletes, ..
        },
    ) in opened.iter().enumerate()
    {
        for at in 0..reader.tables().len() {
            let mut blocks = reader.tables().blocks(at);
            if blocks.all(|block| deletes.contains(block)) {
                continue;
            }
            tables.push(Table {
                segment: segment as u32,
                at: at as u32,
            });
        }
    }
    let key = |table: &Table| {
        let tables = opened[table.segment as usize].reader.tables();
        tables.at(table.at as usize).key
    };
    // Stable: of equal keys the last segment's comes last.
    tables.sort_by(|a, b| key(a).cmp(&key(b)));
    tables.dedup_by(|later, kept| {
        let is_same = key(later) == key(kept);
        if is_same {
            tracing::warn!(table = %key(kept), "live in two segments: the later one is used");
            std::mem::swap(later, kept);
        }
        is_same
    });
    tables
}

/// Which of these tables are copies.
fn copies(opened: &[Opened], tables: &[Table]) -> Copies {
    let of = |table: &Table| opened[table.segment as usize].reader.tables();
    let contents = tables
        .iter()
        .map(|table| of(table).content(table.at as usize));
    let key = |number: u32| {
        let table = &tables[number as usize];
        of(table).at(table.at as usize).key
    };
    Copies::of((0..).zip(contents), key)
}

fn plain(segments: &[Segment]) -> Plain {
    let counted = |field: Field| Formula::PLAIN.weights[field.index()] > 0.0;
    let length_of = |segment: &Segment, block: usize| -> u64 {
        if segment.table_of[block] == DEAD {
            return 0;
        }
        let lengths = segment.reader.field_lengths(block as u32);
        let fields = Field::ALL.into_iter().filter(|&field| counted(field));
        fields.map(|field| u64::from(lengths[field.index()])).sum()
    };
    let (mut count, mut sum) = (0u64, 0u64);
    for segment in segments {
        for block in 0..segment.table_of.len() {
            let length = length_of(segment, block);
            count += u64::from(length > 0);
            sum += length;
        }
    }
    let average = sum as f64 / count.max(1) as f64;
    let norms = segments.iter().map(|segment| {
        let blocks = 0..segment.table_of.len();
        // Any counted field gives the same norm: their constants are equal.
        let norm = |block| Formula::PLAIN.norm(Field::Names, length_of(segment, block), average);
        blocks.map(norm).collect()
    });
    Plain {
        norms: norms.collect(),
        blocks: count,
    }
}
