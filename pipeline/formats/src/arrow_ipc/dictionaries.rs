//! Dictionaries of a file or stream: read in the order in which they stand, as far as they fit.

use std::collections::{HashMap, HashSet};

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, SchemaRef};

use super::arrays::{Batch, concat};
use super::buffers::Source;
use super::messages::{Block, Content, parse};
use super::{corrupt, rows_of, schema};
use crate::Failure;
use crate::typed::{Stopped, Work};

/// Dictionaries that grow are copied: no more than this many times the bytes that may be held.
const COPIES: u64 = 16;
/// Messages of dictionaries of a file that is not at hand that are taken, each two requests.
const MOST_MESSAGES: usize = 1024;
/// What a message costs to take besides its bytes, in bytes.
const MESSAGE: u64 = 512;

/// The dictionaries as they are at one place of a stream.
pub(super) struct Dictionaries {
    /// What their values are, by their ids.
    types: HashMap<i64, Field>,
    values: HashMap<i64, ArrayRef>,
    sizes: HashMap<i64, u64>,
    /// Those that are too large.
    left_out: HashSet<i64>,
    /// Messages taken.
    taken: usize,
    /// Bytes that more of them may take in memory and of the file, and that may be copied.
    memory: u64,
    fetch: u64,
    copies: u64,
}

impl Dictionaries {
    /// Dictionaries that take at most these bytes in memory and of the file.
    pub(super) fn new(schema: &SchemaRef, memory: u64, fetch: u64) -> Self {
        Dictionaries {
            types: schema::dictionaries(schema.fields().iter().map(AsRef::as_ref)),
            values: HashMap::new(),
            sizes: HashMap::new(),
            left_out: HashSet::new(),
            taken: 0,
            memory,
            fetch,
            copies: memory.saturating_mul(COPIES),
        }
    }

    /// Their values, by id.
    pub(super) fn values(&self) -> &HashMap<i64, ArrayRef> {
        &self.values
    }

    /// Whether a column has a dictionary that was too large.
    pub(super) fn lack(&self, field: &Field) -> bool {
        !self.left_out.is_empty()
            && schema::lacks_dictionary(field, |id| !self.left_out.contains(&id))
    }

    /// Whether some of a column's values in its dictionary are null, which no batch counts.
    pub(super) fn have_nulls(&self, field: &Field) -> bool {
        schema::id(field)
            .and_then(|id| self.values.get(&id))
            .is_some_and(|values| values.logical_null_count() > 0)
    }

    /// Takes the messages that begin before `end`, and charges their work, while there is any left.
    pub(super) fn take_until(
        &mut self,
        end: u64,
        blocks: &[Block],
        content: &Content,
        work: &mut impl Work,
    ) -> Result<(), Failure> {
        while let Some(block) = blocks.get(self.taken).filter(|block| block.offset < end) {
            if work.has_no_work() {
                break;
            }
            self.taken += 1;
            let at_hand = content.fetched.get(&(block.offset..block.end())).is_some();
            if self.taken > MOST_MESSAGES && !at_hand {
                // From here on no dictionary is known to be complete.
                let all: Vec<i64> = self.types.keys().copied().collect();
                all.into_iter().for_each(|id| self.leave_out(id));
                self.taken = blocks.len();
                break;
            }
            let spent = self.take(block, content)?;
            work.charge(spent + block.metadata + MESSAGE);
        }
        Ok(())
    }

    /// Takes a message; returns the bytes that were unpacked and copied for it.
    fn take(&mut self, block: &Block, content: &Content) -> Result<u64, Failure> {
        let metadata = content.get(block.metadata_range())?;
        let message = parse(&metadata)?;
        let dictionary = message
            .header_as_dictionary_batch()
            .ok_or_else(|| corrupt("a dictionary is broken"))?;
        let data = dictionary
            .data()
            .ok_or_else(|| corrupt("a dictionary is broken"))?;
        let id = dictionary.id();
        let Some(field) = self.types.get(&id).cloned() else {
            return Err(corrupt("a dictionary belongs to no column"));
        };
        if self.left_out.contains(&id) {
            return Ok(0);
        }
        if self.lack(&field) {
            self.leave_out(id);
            return Ok(0);
        }
        let body = match content.fetched.get(&block.body_range()) {
            Some(body) => body,
            None if block.body > self.fetch => {
                self.leave_out(id);
                return Ok(0);
            }
            None => {
                self.fetch -= block.body;
                content.get(block.body_range())?
            }
        };
        let source = Source::Memory(body);
        let rows = rows_of(data)?;
        let mut batch = Batch::new(data, message.version(), &source, &self.values)?;
        let array = match batch.column(&field, rows, self.memory, &mut 0) {
            Ok(array) => array,
            Err(Stopped::Failed(failure)) => return Err(failure),
            Err(Stopped::TooMuch) => {
                let spent = batch.spent();
                self.leave_out(id);
                return Ok(spent);
            }
        };
        let size = batch.spent();
        let mut spent = size;
        let before = self.sizes.get(&id).copied().unwrap_or(0);
        if dictionary.isDelta() {
            let Some(first) = self.values.get(&id) else {
                return Err(corrupt("a dictionary is continued that did not begin"));
            };
            let Some(copies) = self.copies.checked_sub(before + size) else {
                self.leave_out(id);
                return Ok(size);
            };
            self.copies = copies;
            spent += before + size;
            let both = concat(first, &array)?;
            self.values.insert(id, both);
            self.sizes.insert(id, before + size);
        } else {
            self.memory += before;
            self.values.insert(id, array);
            self.sizes.insert(id, size);
        }
        self.memory = self.memory.saturating_sub(size);
        Ok(spent)
    }

    fn leave_out(&mut self, id: i64) {
        self.left_out.insert(id);
        self.values.remove(&id);
        self.memory += self.sizes.remove(&id).unwrap_or(0);
    }
}
