//! Statements over tables of a lake in memory.
