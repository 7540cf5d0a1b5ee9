//! The query node: an index, wherever it lies, served to people, programs and agents.
//!
//! A node opens the newest snapshot of an index and follows those that come ([`Node::follow`]). A
//! request passes the guard, which finds out who asks; from the caller's reach comes a *grant*, a
//! view of the snapshot that has the allowed tables only; and from the grant alone the answer is
//! made. So what a caller may not see cannot be found, counted, ranked or guessed from a score.
//!
//! | folder | what |
//! |---|---|
//! | `access/` | callers: keys, reaches, rights, rates |
//! | `live.rs`, `table_list.rs` | the snapshot that is served, and what each reach sees of it |
//! | `answers/` | what is answered, whatever the way it was asked |
//! | `http/` | addresses, what surrounds each request, sockets |
//! | `mcp/` | tools for agents |
//! | `../page/` | the page for browsers |
//!
//! **Guarantees.** A caller learns nothing of tables outside its reach: its answers are those of an
//! index that has the others not. A request sees one snapshot from begin to end, and a switch to a
//! newer one fails none. Bodies, heads, questions and lists have bounds, and what exceeds one is
//! refused with the reason.
//!
//! **Non-guarantees.** That a snapshot was published is known to every caller: its number and time.
//! A node indexes nothing: events are handed to a watcher. Rows and SQL (`answers/sql/`) are read
//! from the lake as its files are now; one that has changed since it was indexed is an error.
//!
//! **Recovery.** A node has no state but feedback: start another. While the index cannot be
//! reached, the snapshot that is open is served, as far as its bytes are at hand.

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
