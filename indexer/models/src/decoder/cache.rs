//! Keys and values of tokens that were read: segments that sequences share.
//!
//! A sequence is a chain of segments: the instructions, the part it shares with others, its own. A
//! segment has room for a fixed number of tokens from its beginning, so what is reserved is what
//! can be needed, and nothing is ever moved.

use std::collections::HashMap;

use super::shape::Shape;
use super::stages::Plane;
use crate::kernels::LANES;

/// Names a segment of one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SegmentId(pub u64);

pub(super) struct Segment<M> {
    /// Segments before this one, oldest first.
    before: Vec<SegmentId>,
    /// Tokens before this one's.
    start: usize,
    /// Tokens it was reserved for: where what comes after it begins, even before they are read.
    planned: usize,
    pub length: usize,
    pub capacity: usize,
    /// For each layer, for each head: `capacity · head` keys, then as many values.
    pub numbers: M,
}

/// The segments of one network, in memory of the kind that its device computes in.
pub(super) struct Cache<M> {
    layers: usize,
    kv_heads: usize,
    head: usize,
    next: u64,
    segments: HashMap<SegmentId, Segment<M>>,
}

impl<M> Cache<M> {
    pub fn new(shape: &Shape) -> Self {
        Self {
            layers: shape.layers,
            kv_heads: shape.kv_heads,
            head: shape.head,
            next: 0,
            segments: HashMap::new(),
        }
    }

    /// Reserves a segment after `parent` with room for `tokens`; `allocate` gives memory for so
    /// many numbers.
    ///
    /// # Errors
    /// That of `allocate`.
    pub fn reserve<E>(
        &mut self,
        parent: Option<SegmentId>,
        tokens: usize,
        allocate: impl FnOnce(usize) -> Result<M, E>,
    ) -> Result<SegmentId, E> {
        let capacity = tokens.next_multiple_of(LANES);
        let numbers = allocate(self.layers * self.kv_heads * 2 * capacity * self.head)?;
        let (before, start) = match parent.and_then(|id| Some((id, self.segments.get(&id)?))) {
            Some((id, parent)) => {
                let mut before = parent.before.clone();
                before.push(id);
                (before, parent.start + parent.planned)
            }
            None => (Vec::new(), 0),
        };
        let id = SegmentId(self.next);
        self.next += 1;
        self.segments.insert(
            id,
            Segment {
                before,
                start,
                planned: tokens,
                length: 0,
                capacity,
                numbers,
            },
        );
        Ok(id)
    }

    /// Gives a segment's memory back.
    pub fn release(&mut self, id: SegmentId) {
        self.segments.remove(&id);
    }

    /// The position of the segment's next token, and how many more it has room for.
    pub fn end(&self, id: SegmentId) -> Option<(usize, usize)> {
        let segment = self.segments.get(&id)?;
        Some((
            segment.start + segment.length,
            segment.capacity - segment.length,
        ))
    }

    /// Counts tokens as read, after all layers have stored theirs.
    pub fn grow(&mut self, id: SegmentId, tokens: usize) {
        if let Some(segment) = self.segments.get_mut(&id) {
            segment.length += tokens;
        }
    }

    /// A segment and those before it, oldest first, itself last.
    pub fn chain(&self, id: SegmentId) -> Option<Vec<&Segment<M>>> {
        let last = self.segments.get(&id)?;
        let mut chain = Vec::with_capacity(last.before.len() + 1);
        for before in &last.before {
            chain.push(self.segments.get(before)?);
        }
        chain.push(last);
        Some(chain)
    }
}

impl Cache<Vec<f32>> {
    /// What a segment's tokens look back on in one layer and head: the planes before it, its own,
    /// and where its new keys and values go.
    ///
    /// The pointers stay good until the cache is changed; a writer through them must be alone
    /// with this layer and head of this segment.
    pub fn planes(
        &mut self,
        id: SegmentId,
        layer: usize,
        kv_head: usize,
        before: &mut Vec<Plane>,
    ) -> Option<(Plane, *mut f32, *mut f32)> {
        before.clear();
        let (place, head) = (layer * self.kv_heads + kv_head, self.head);
        for segment in self.chain(id)?.split_last()?.1 {
            let size = segment.capacity * head;
            let numbers = &segment.numbers[2 * place * size..][..2 * size];
            before.push(Plane {
                keys: numbers.as_ptr(),
                values: numbers[size..].as_ptr(),
                length: segment.length,
            });
        }
        let segment = self.segments.get_mut(&id)?;
        let size = segment.capacity * head;
        let numbers = segment.numbers[2 * place * size..][..2 * size].as_mut_ptr();
        // SAFETY: within the slice just taken.
        let values = unsafe { numbers.add(size) };
        let own = Plane {
            keys: numbers,
            values,
            length: segment.length,
        };
        Some((own, numbers, values))
    }
}
