//! What synthetic lakes are made of: names of folders, and numbers that look drawn by chance.

/// Folders of a lake.
pub const AREAS: [&str; 8] = [
    "sales",
    "finance",
    "logistics",
    "support",
    "energy",
    "clinic",
    "fleet",
    "web",
];

/// What its tables hold.
pub const THINGS: [&str; 8] = [
    "orders",
    "invoices",
    "visits",
    "sessions",
    "shipments",
    "payments",
    "readings",
    "events",
];

/// A number that looks drawn by chance, of two others.
pub fn drawn(a: u64, b: u64) -> u64 {
    // SplitMix64.
    let mut x = (a << 32 ^ b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
