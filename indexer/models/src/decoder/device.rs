//! What computes: a device holds the weights and the keys and values, and takes steps.
//!
//! The engine decides what goes into a step; the device computes it. A device may run out of
//! memory, which is an answer and not a failure: the engine shrinks its budget and tries again.

use super::cache::SegmentId;

/// Some tokens of one sequence, read in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The segment they are added to; no other piece of the step has it, or one before it.
    pub segment: SegmentId,
    /// At least one token.
    pub tokens: Vec<u32>,
    /// What is to be known after the last of them.
    pub wanted: Wanted,
}

/// What is to be known of the token that would come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing: more of the prompt is to come.
    Nothing,
    /// The likeliest token.
    Next,
    /// The log-probabilities of these tokens.
    LogProbabilities(Vec<u32>),
}

/// The answer to [`Wanted`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scores {
    Nothing,
    Next(u32),
    LogProbabilities(Vec<f32>),
}

/// Why a step gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepError {
    /// A smaller batch may fit.
    OutOfMemory { detail: String },
    /// The device cannot go on with this batch.
    Failed(String),
}

impl StepError {
    /// So many bytes of keys and values could not be had.
    pub fn no_room_for_keys(bytes: usize, tokens: usize) -> Self {
        Self::OutOfMemory {
            detail: format!(
                "{} MiB for the keys and values of {tokens} tokens",
                bytes >> 20
            ),
        }
    }
}

/// Computes steps.
pub(crate) trait Device: Send {
    /// Reserves room for a segment's tokens, after those its parent was reserved for. The parent's
    /// are read before any of its own.
    fn reserve(&mut self, parent: Option<SegmentId>, tokens: usize)
    -> Result<SegmentId, StepError>;

    /// Gives a segment's room back; no segment in use has it before itself. A step under way may
    /// still read it.
    fn release(&mut self, segment: SegmentId);

    /// Begins to read the pieces' tokens. The device may still compute when this returns: what the
    /// caller does until [`finish`](Self::finish) costs no time of the device.
    fn start(&mut self, pieces: &[Piece]) -> Result<(), StepError>;

    /// One answer a piece of the step that was started last, in order. After an error nothing was
    /// read.
    fn finish(&mut self) -> Result<Vec<Scores>, StepError>;

    /// A whole step.
    #[cfg(test)]
    fn step(&mut self, pieces: &[Piece]) -> Result<Vec<Scores>, StepError> {
        self.start(pieces)?;
        self.finish()
    }

    /// Tokens of a step with which the device does its best, unless more answers than that are
    /// written.
    fn step_tokens(&self) -> usize;

    /// What it is called in messages.
    fn name(&self) -> String;

    /// Bytes that a token's keys and values take.
    fn bytes_per_token(&self) -> usize;
}
