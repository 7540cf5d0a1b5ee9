//! Narration: a language model describes columns, and tables are described in its words (PNEUMA,
//! SIGMOD 2025, section 5.2).
//!
//! Searchable first, narrated later: a model takes tenths of a second to seconds a column, so a run
//! first publishes its lake with the narrations that it has ([`store`]), columns of a changed
//! schema keeping theirs ([`aliases`]). Tables that lack some are published with the words of
//! names, types and values, and marked in the catalog. Then the model is asked ([`asking`]), and
//! tables that are completely narrated re-enter the dataflow as later epochs, put together from
//! their published rows ([`awaiting`]): no file of the lake is read for it. A run that is killed
//! leaves the marks behind, and the next one goes on where it was.

pub mod aliases;
pub mod asking;
pub mod awaiting;
pub mod outcome;
pub mod store;
pub mod successor;
pub mod wanted;

use limn_segment::narration_context;
use serde::{Deserialize, Serialize};

/// The ordered names of a table's columns, by hash: all that a narration depends on beside the
/// narrator.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ContextId(pub u128);

/// The context that these columns make.
pub fn context_of(names: &[String]) -> ContextId {
    ContextId(narration_context(names.iter().map(String::as_str)))
}
