//! Objects in few bytes: what a listing holds of a large lake.
//!
//! Paths lie one after the other in text of 1 MiB, and beside each what is known of its object:
//! the size and the time as numbers of as many bytes as they need, and an entity tag that is an MD5
//! sum, as most stores have it, as 16 bytes. Nothing is lost: an object comes out as it went in. An
//! object takes about 40 bytes besides its path.

use std::cmp::Ordering;
use std::ops::Range;

use crate::object::{ObjectRecord, ObjectVersion};

mod order;

/// Bytes of a chunk's paths; what begins in a chunk lies in it whole, however long it is.
const CHUNK_BITS: u32 = 20;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Which of the tags that are known by their form it is.
const NO_TAG: u8 = 0;
const MD5: u8 = 1;
const MD5_OF_PARTS: u8 = 2;
const OTHER_TAG: u8 = 3;
/// Set beside one of these.
const HAS_VERSION: u8 = 4;

/// A list of objects, in whatever order they came.
#[derive(Clone, Default)]
pub struct Objects {
    chunks: Vec<Chunk>,
    places: Vec<Place>,
}

#[derive(Clone, Default)]
struct Chunk {
    paths: String,
    rest: Vec<u8>,
}

/// Where an object is: its chunk, and where its path and the rest begin there.
#[derive(Clone, Copy)]
struct Place(u64);

/// An object of a list.
#[derive(Clone, Copy)]
pub struct ObjectRef<'a> {
    /// Path below the lake's root, decoded, `/`-separated.
    pub path: &'a str,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, milliseconds since 1970.
    pub modified_ms: i64,
    /// Its tag and version.
    rest: &'a [u8],
}

impl Place {
    fn new(chunk: usize, path: usize, rest: usize) -> Place {
        Place((chunk as u64) << (2 * CHUNK_BITS) | (path as u64) << CHUNK_BITS | rest as u64)
    }

    fn chunk(self) -> usize {
        (self.0 >> (2 * CHUNK_BITS)) as usize
    }

    fn path(self) -> usize {
        (self.0 >> CHUNK_BITS) as usize & (CHUNK - 1)
    }

    fn rest(self) -> usize {
        self.0 as usize & (CHUNK - 1)
    }
}

impl Chunk {
    fn is_full(&self, path: &str) -> bool {
        self.paths.len() + path.len() >= CHUNK || self.rest.len() >= CHUNK
    }

    fn close(&mut self) {
        self.paths.shrink_to_fit();
        self.rest.shrink_to_fit();
    }
}

impl Objects {
    /// How many they are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an object at the end.
    pub fn push(&mut self, object: &ObjectRecord) {
        if self.chunks.last().is_none_or(|it| it.is_full(&object.path)) {
            if let Some(last) = self.chunks.last_mut() {
                last.close();
            }
            self.chunks.push(Chunk::default());
        }
        let at = self.chunks.len() - 1;
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        let place = Place::new(at, chunk.paths.len(), chunk.rest.len());
        self.places.push(place);
        chunk.paths.push_str(&object.path);
        let rest = &mut chunk.rest;
        put(rest, object.path.len() as u64);
        put(rest, object.size);
        put_signed(rest, object.modified_ms);
        put_tags(rest, object);
    }

    /// The object at a place of the list.
    pub fn get(&self, at: usize) -> Option<ObjectRef<'_>> {
        self.at(*self.places.get(at)?)
    }

    /// The path of the object at a place of the list; `""` where there is none.
    pub fn path(&self, at: usize) -> &str {
        self.places.get(at).map_or("", |it| self.path_of(*it))
    }

    /// The paths of the objects, in their order.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.places.iter().map(|place| self.path_of(*place))
    }

    /// The path alone, which costs less than the whole object.
    fn path_of(&self, place: Place) -> &str {
        let Some(chunk) = self.chunks.get(place.chunk()) else {
            return "";
        };
        let mut rest = chunk.rest.get(place.rest()..).unwrap_or_default();
        let from = place.path();
        let path = chunk.paths.get(from..from + take(&mut rest) as usize);
        path.unwrap_or_default()
    }

    fn at(&self, place: Place) -> Option<ObjectRef<'_>> {
        let chunk = self.chunks.get(place.chunk())?;
        let mut rest = chunk.rest.get(place.rest()..)?;
        let length = take(&mut rest) as usize;
        let from = place.path();
        Some(ObjectRef {
            path: chunk.paths.get(from..from + length)?,
            size: take(&mut rest),
            modified_ms: take_signed(&mut rest),
            rest,
        })
    }

    /// The objects, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ObjectRef<'_>> + Clone {
        const NONE: ObjectRef<'static> = ObjectRef {
            path: "",
            size: 0,
            modified_ms: 0,
            rest: &[],
        };
        let places = self.places.iter();
        places.map(|place| self.at(*place).unwrap_or(NONE))
    }

    /// Keeps those of which it is true.
    pub fn retain(&mut self, mut is_kept: impl FnMut(ObjectRef<'_>) -> bool) {
        let mut places = std::mem::take(&mut self.places);
        places.retain(|place| self.at(*place).is_some_and(&mut is_kept));
        if places.is_empty() {
            self.chunks = Vec::new();
        }
        self.places = places;
    }

    /// Sorts them by path. Of several at one path the first in the order of records stays.
    pub fn sort(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        // Most stores list by path.
        if !places.is_sorted_by(|a, b| self.path_of(*a) < self.path_of(*b)) {
            places = self.in_order(places);
            places.dedup_by_key(|place| self.path_of(*place));
        }
        places.shrink_to_fit();
        self.places = places;
    }

    /// By path; records are made of those with the same path only.
    fn compare(&self, a: Place, b: Place) -> Ordering {
        let record = |place: Place| self.at(place).map(|it| it.record());
        let paths = self.path_of(a).cmp(self.path_of(b));
        paths.then_with(|| record(a).cmp(&record(b)))
    }

    /// Of a list sorted by path: where those in a folder are, at whatever depth.
    pub fn below(&self, folder: &str) -> Range<usize> {
        if folder.is_empty() {
            return 0..self.len();
        }
        let from = format!("{folder}/");
        let start = self
            .places
            .partition_point(|it| self.path_of(*it) < from.as_str());
        let (_, rest) = self.places.split_at(start);
        start..start + rest.partition_point(|it| self.path_of(*it).starts_with(&from))
    }

    /// Of a list sorted by path: where the object at a path is.
    pub fn find(&self, path: &str) -> Option<usize> {
        let compared = |place: &Place| self.path_of(*place).cmp(path);
        self.places.binary_search_by(compared).ok()
    }

    /// Those at places of the list, as records.
    pub fn records(&self, places: Range<usize>) -> Vec<ObjectRecord> {
        let objects = places.filter_map(|at| self.get(at));
        objects.map(|object| object.record()).collect()
    }
}

impl std::fmt::Debug for ObjectRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.record().fmt(f)
    }
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Extend<ObjectRecord> for Objects {
    fn extend<T: IntoIterator<Item = ObjectRecord>>(&mut self, objects: T) {
        objects.into_iter().for_each(|object| self.push(&object));
    }
}

impl FromIterator<ObjectRecord> for Objects {
    fn from_iter<T: IntoIterator<Item = ObjectRecord>>(objects: T) -> Self {
        let mut all = Objects::default();
        all.extend(objects);
        all
    }
}

impl From<Vec<ObjectRecord>> for Objects {
    fn from(objects: Vec<ObjectRecord>) -> Self {
        objects.into_iter().collect()
    }
}

impl ObjectRef<'_> {
    /// Whether the store has an entity tag of it.
    pub fn has_etag(&self) -> bool {
        self.rest.first().is_some_and(|tags| tags & 3 != NO_TAG)
    }

    /// The object on its own.
    pub fn record(&self) -> ObjectRecord {
        let (etag, version) = tags(self.rest);
        ObjectRecord {
            path: self.path.to_owned(),
            etag,
            version,
            size: self.size,
            modified_ms: self.modified_ms,
        }
    }
}

/// Writes a number in groups of seven bits, the lowest first; the highest bit says that more come.
fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = from.split_first() {
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 || shift > 63 {
            break;
        }
    }
    number
}

/// The sign is the lowest bit.
fn put_signed(to: &mut Vec<u8>, number: i64) {
    put(to, (number << 1 ^ number >> 63) as u64);
}

fn take_signed(from: &mut &[u8]) -> i64 {
    let number = take(from);
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

fn take_text(from: &mut &[u8]) -> String {
    let length = (take(from) as usize).min(from.len());
    let (text, rest) = from.split_at(length);
    *from = rest;
    String::from_utf8_lossy(text).into_owned()
}

fn put_tags(to: &mut Vec<u8>, object: &ObjectRecord) {
    let md5 = object.etag.as_deref().and_then(md5_of);
    let tag = match (&object.etag, md5) {
        (None, _) => NO_TAG,
        (Some(_), Some((_, None))) => MD5,
        (Some(_), Some((_, Some(_)))) => MD5_OF_PARTS,
        (Some(_), None) => OTHER_TAG,
    };
    let version = object.version.as_ref().map_or(0, |_| HAS_VERSION);
    to.push(tag | version);
    match (&object.etag, md5) {
        (_, Some((sum, parts))) => {
            to.extend_from_slice(&sum.to_be_bytes());
            if let Some(parts) = parts {
                put(to, parts);
            }
        }
        (Some(etag), None) => put_text(to, etag),
        (None, None) => {}
    }
    if let Some(version) = &object.version {
        put_text(to, &version.to_string());
    }
}

fn tags(mut from: &[u8]) -> (Option<String>, Option<ObjectVersion>) {
    let Some((tags, rest)) = from.split_first() else {
        return (None, None);
    };
    from = rest;
    let etag = match tags & 3 {
        NO_TAG => None,
        OTHER_TAG => Some(take_text(&mut from)),
        md5 => {
            let sum = from.split_first_chunk();
            let sum = sum.map_or([0; 16], |(sum, rest)| {
                from = rest;
                *sum
            });
            let parts = (md5 != MD5).then(|| take(&mut from));
            Some(tag_of(sum, parts))
        }
    };
    let has_version = tags & HAS_VERSION != 0;
    let version = has_version.then(|| ObjectVersion::from(take_text(&mut from)));
    (etag, version)
}

/// The tag that is an MD5 sum, and of so many parts of the sums.
fn tag_of(sum: [u8; 16], parts: Option<u64>) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut tag = String::with_capacity(2 * sum.len() + 2);
    tag.push('"');
    for digit in sum.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        tag.push(char::from(DIGITS[usize::from(digit)]));
    }
    if let Some(parts) = parts {
        tag.push('-');
        tag.push_str(&parts.to_string());
    }
    tag.push('"');
    tag
}

/// An MD5 sum in quotes and lower case, and of how many parts it is of the sums; `None` for any
/// other tag.
fn md5_of(etag: &str) -> Option<(u128, Option<u64>)> {
    let inner = etag.strip_prefix('"')?.strip_suffix('"')?;
    let (sum, parts) = match inner.split_once('-') {
        Some((sum, parts)) => (sum, Some(parts)),
        None => (inner, None),
    };
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if sum.len() != 32 || !sum.bytes().all(is_digit) {
        return None;
    }
    let parts = match parts {
        None => None,
        Some(text) => {
            let parts: u64 = text.parse().ok()?;
            // Written in another way it would come out otherwise.
            Some((parts.to_string() == text).then_some(parts)?)
        }
    };
    Some((u128::from_str_radix(sum, 16).ok()?, parts))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn object(path: &str, etag: Option<&str>, version: Option<&str>) -> ObjectRecord {
        ObjectRecord {
            path: path.to_owned(),
            etag: etag.map(str::to_owned),
            version: version.map(|it| ObjectVersion::from(it.to_owned())),
            size: u64::MAX - path.len() as u64,
            modified_ms: -(path.len() as i64),
        }
    }

    #[test]
    fn an_object_comes_out_as_it_went_in() {
        let sum = "\"00112233445566778899aabbccddeeff\"";
        let tags = [
            None,
            Some(""),
            Some(sum),
            Some("\"00112233445566778899aabbccddeeff-17\""),
            Some("\"00112233445566778899aabbccddeeff-017\""),
            Some("\"00112233445566778899AABBCCDDEEFF\""),
            Some("00112233445566778899aabbccddeeff"),
            Some("\"00112233445566778899aabbccddeeff-\""),
            Some("\"0x8DC0FFEE\""),
        ];
        let versions = [None, Some("v1"), Some("s3://b/é"), Some("")];
        let all = tags.iter().flat_map(|tag| {
            let of = versions.iter();
            of.map(|version| object("a/é/x.csv", *tag, *version))
        });
        let mut all: Vec<ObjectRecord> = all.collect();
        all.push(object("", None, None));
        all.push(object(&"long/".repeat(CHUNK / 4), Some(sum), None));
        let times = [i64::MIN, i64::MAX, 0, 1_790_000_000_000];
        all.extend(times.map(|modified_ms| ObjectRecord {
            modified_ms,
            ..object("b", None, None)
        }));
        let packed: Objects = all.iter().cloned().collect();
        let unpacked: Vec<ObjectRecord> = packed.iter().map(|it| it.record()).collect();
        assert_eq!(unpacked, all);
        let has_etag: Vec<bool> = packed.iter().map(|it| it.has_etag()).collect();
        let had: Vec<bool> = all.iter().map(|it| it.etag.is_some()).collect();
        assert_eq!(has_etag, had);
    }

    #[test]
    fn they_are_found_by_their_paths() {
        let paths = ["b/x", "a/c/1", "a-b", "a/2", "a", "b/x", "a/c/0"];
        let mut packed: Objects = paths.iter().map(|it| object(it, None, None)).collect();
        packed.push(&object("a", Some("tag"), None));
        packed.sort();
        let of = |range: Range<usize>| range.map(|at| packed.path(at)).collect::<Vec<_>>();
        let all = ["a", "a-b", "a/2", "a/c/0", "a/c/1", "b/x"];
        assert_eq!(of(0..packed.len()), all);
        assert!(!packed.get(0).unwrap().has_etag());
        assert_eq!(of(packed.below("a")), all[2..5]);
        assert_eq!(of(packed.below("")), all);
        assert!(packed.below("c").is_empty());
        assert_eq!(packed.find("a/c/0"), Some(3));
        assert_eq!(packed.find("a/c"), None);
        let mut few = packed.clone();
        few.retain(|it| !it.path.starts_with("a/"));
        assert_eq!(
            few.iter().map(|it| it.path).collect::<Vec<_>>(),
            ["a", "a-b", "b/x"]
        );
    }

    #[test]
    fn many_chunks_are_one_list() {
        let path = |at: usize| format!("{:0>50}/{at}", at % 7);
        let objects = (0..100_000).map(|at| object(&path(at), Some("\"e\""), Some("v")));
        let packed: Objects = objects.collect();
        assert!(packed.chunks.len() > 4);
        for at in [0, 1, 50_000, 99_999] {
            assert_eq!(packed.path(at), path(at));
        }
        let bytes = packed.chunks.iter();
        let bytes: usize = bytes.map(|it| it.paths.len() + it.rest.len()).sum();
        assert!(bytes / packed.len() < 56 + 24, "{bytes}");
    }
}
