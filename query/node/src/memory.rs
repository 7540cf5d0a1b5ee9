//! Memory that was needed for a while, given back to the system.
//!
//! Opening a snapshot reads its catalog through many short-lived objects. The C library keeps their
//! room for later ones: half of what a node over 100,000 tables held was such room.

#![allow(unsafe_code)]

/// Gives back what is free. Takes some milliseconds, during which other threads allocate as ever.
pub fn give_back() {
    // SAFETY: it has no conditions, and may be called by any thread at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
