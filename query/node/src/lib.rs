//! The query node: serves an index, wherever it is stored, to people, programs and agents.
//!
//! A node opens the newest snapshot of an index and follows newer ones ([`Node::follow`]). A
//! request passes the guard, which identifies the caller. The caller's reach gives a *grant*: a
//! view of the snapshot with the allowed tables only. The answer is made from the grant alone, so a
//! caller cannot find, count, rank or infer from a score what it may not see.
//!
//! | folder | what |
//! |---|---|
//! | `access/` | callers: keys, reaches, rights, rates |
//! | `live.rs`, `table_list.rs` | the snapshot that is served, and what each reach sees of it |
//! | `answers/` | the answers, independent of how they were requested |
//! | `http/` | addresses, what surrounds each request, sockets |
//! | `mcp/` | tools for agents |
//! | `../page/` | the page for browsers |
//!
//! **Guarantees.** A caller learns nothing of tables outside its reach: its answers are those of an
//! index without them. A request sees one snapshot from beginning to end, and a switch to a newer
//! snapshot fails no request. Bodies, heads, questions and lists are bounded; a request that
//! exceeds a bound is refused with the reason.
//!
//! **Non-guarantees.** Every caller sees the number and the time of a published snapshot. A node
//! indexes nothing: it passes events to a watcher. Rows and SQL (`answers/sql/`) read the current
//! files of the lake; a file that changed since it was indexed is an error.
//!
//! **Recovery.** A node has no state but feedback: start another. While the index cannot be
//! reached, the node serves the open snapshot as far as its bytes are cached.

pub mod access;
mod answers;
mod events;
mod families;
pub mod http;
mod live;
pub mod mcp;
mod memory;
mod metrics;
mod names;
mod node;
mod problem;
mod questions;
mod table_list;
pub mod traces;
mod trouble;

pub use answers::{
    AskOptions, Change, DescribeError, Describer, Describing, FeedbackFile, SqlOptions,
};
pub use events::EventsTo;
pub use node::{Node, NodeOptions};
pub use problem::{Code, Problem};
