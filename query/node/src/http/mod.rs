//! Answers over HTTP: the addresses, what surrounds each request, and the sockets.

mod body;
mod expected;
mod guard;
mod listen;
mod messages;
mod nearby;
mod page;
mod places;
mod reply;
mod routes;
mod steps;
mod tls;

pub use guard::Hosts;
pub use listen::{ListenError, ListenOptions, Listener};
pub use routes::{openapi, router};
pub use tls::Tls;
