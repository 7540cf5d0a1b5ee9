//! SQL over the tables of a lake, read-only and within limits.
