//! Shapefiles: the first two bytes say how many of the others are the dBase table; the rest are its
//! shapes.
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    if let [a, b, content @ ..] = content {
        let length = usize::from(u16::from_le_bytes([*a, *b])).min(content.len());
        let (table, shapes) = content.split_at(length);
        limn_fuzz::read_with("t.dbf", table, "t.shp", shapes);
    }
});
