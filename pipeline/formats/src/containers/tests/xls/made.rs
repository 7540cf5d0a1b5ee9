//! Makes `.xls` files: compound files, and the records in their streams.

/// A compound file of streams, none of them short, in sectors of 512 bytes. Its table of chains is in sector 0.
pub(super) fn compound(streams: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let padded = |bytes: &[u8]| bytes.len().max(4096).div_ceil(512) * 512;
    let count: usize = streams.iter().map(|(_, it)| padded(it) / 512).sum();
    let tables = (1..)
        .find(|tables| tables * 128 > tables + 1 + count)
        .unwrap();
    let mut next: Vec<u32> = vec![0xffff_fffd; tables];
    next.push(0xffff_fffe);
    let entry = |name: &str, kind: u8, right: u32, child: u32, start: u32, size: u64| {
        let mut letters: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = letters.len() as u16 + 2;
        letters.resize(64, 0);
        let mut entry = [&letters[..], &length.to_le_bytes(), &[kind, 1]].concat();
        for number in [u32::MAX, right, child] {
            entry.extend(number.to_le_bytes());
        }
        entry.resize(116, 0);
        entry.extend(start.to_le_bytes());
        entry.extend(size.to_le_bytes());
        entry
    };
    let mut directory = entry("Root Entry", 5, u32::MAX, 1, 0xffff_fffe, 0);
    let mut sectors = Vec::new();
    for (i, (name, bytes)) in streams.iter().enumerate() {
        let right = if i + 1 == streams.len() {
            u32::MAX
        } else {
            i as u32 + 2
        };
        let (start, length) = (next.len() as u32, padded(bytes));
        directory.extend(entry(name, 2, right, u32::MAX, start, length as u64));
        next.extend(start + 1..start + (length / 512) as u32);
        next.push(0xffff_fffe);
        sectors.extend(bytes);
        sectors.resize(sectors.len() + length - bytes.len(), 0);
    }
    directory.resize(512, 0);
    next.resize(tables * 128, u32::MAX);
    let mut header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    header.resize(24, 0);
    header.extend(b"\x3e\0\x03\0\xfe\xff\x09\0\x06\0");
    header.resize(44, 0);
    let fields = [
        tables as u32,
        tables as u32,
        0,
        4096,
        0xffff_fffe,
        0,
        0xffff_fffe,
        0,
    ];
    header.extend(fields.iter().flat_map(|it| it.to_le_bytes()));
    header.extend((0..tables as u32).flat_map(u32::to_le_bytes));
    header.resize(512, 0xff);
    let next: Vec<u8> = next.into_iter().flat_map(u32::to_le_bytes).collect();
    [header, next, directory, sectors].concat()
}

pub(super) fn record(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, content].concat()
}

/// Numbers of two bytes.
pub(super) fn shorts(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// A cell, with the style of its number.
pub(super) fn cell(kind: u16, row: u16, column: u16, style: u16, value: &[u8]) -> Vec<u8> {
    record(kind, &[&shorts(&[row, column, style])[..], value].concat())
}

/// Letters of one byte behind their mark, and behind how many they are.
pub(super) fn narrow(text: &str) -> Vec<u8> {
    [&shorts(&[text.len() as u16])[..], &[0], text.as_bytes()].concat()
}

/// A sheet: name, state, kind, and the records of its cells.
pub(super) type Made<'a> = (&'a str, u8, u8, Vec<u8>);

/// A workbook's stream of this version, with more records before those of the sheets.
pub(super) fn workbook(version: u16, more: &[u8], sheets: &[Made<'_>]) -> Vec<u8> {
    let begin = |kind: u16| record(0x0809, &shorts(&[version, kind, 0, 0]));
    let is_wide = version == 0x0600;
    let listed = |places: &[usize]| {
        let mut globals = [&begin(5)[..], more].concat();
        for ((name, state, kind, _), place) in sheets.iter().zip(places) {
            let mut content = (*place as u32).to_le_bytes().to_vec();
            content.extend([*state, *kind, name.len() as u8]);
            content.extend(is_wide.then_some(0));
            content.extend(name.bytes());
            globals.extend(record(0x85, &content));
        }
        globals.extend(record(0x0a, &[]));
        globals
    };
    let mut places = vec![0; sheets.len()];
    let mut at = listed(&places).len();
    let mut contents = Vec::new();
    for ((_, _, kind, cells), place) in sheets.iter().zip(&mut places) {
        *place = at;
        let begin = begin(if *kind == 2 { 0x20 } else { 0x10 });
        let content = [begin, cells.clone(), record(0x0a, &[])].concat();
        at += content.len();
        contents.extend(content);
    }
    [listed(&places), contents].concat()
}
