//! Sets of tables that join.

pub mod optimise;
