//! The shapes of a shapefile, one after another: of each its kind and its extent, which stand at
//! its beginning (ESRI Shapefile Technical Description, 1998). Coordinates are passed, and no count
//! of them is believed.

use std::io::{self, Read};

use crate::Failure;
use crate::error::FileErrorKind;
use crate::extent::Extent;
use crate::ranged::Ranged;
use crate::windows::Sequential;

/// Bytes of the file's head, and its first number.
const HEAD: usize = 100;
const CODE: [u8; 4] = 9994u32.to_be_bytes();
/// Bytes before a shape: its number and its length in words of two bytes.
const BEFORE: usize = 8;
/// Bytes of a shape that are looked at: its kind, its box and the number of its parts.
const LOOK: usize = 40;
/// What stands for no value: less than this.
const NO_DATA: f64 = -1e38;

/// A shape: nothing of one that is null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) kind: Option<&'static str>,
    pub(super) extent: Extent,
}

/// The shapes that are still to come.
pub(super) struct Shapes {
    object: Ranged,
    source: Sequential,
    /// Bytes passed.
    at: u64,
    shapes: u64,
    /// Why there are no more, where that is not the end.
    broken: Option<String>,
}

impl Shapes {
    /// Opens a `.shp` file. One that is none has no shapes, and says so.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn open(object: Ranged) -> Result<Shapes, Failure> {
        let mut shapes = Shapes {
            source: Sequential::new(object.clone()),
            object,
            at: 0,
            shapes: 0,
            broken: None,
        };
        let mut head = [0; HEAD];
        let is_whole = shapes.fill(&mut head)?;
        if !is_whole || !head.starts_with(&CODE) {
            shapes.broken = Some("it is no shapefile".to_owned());
        }
        Ok(shapes)
    }

    /// None at all, for this reason.
    pub(super) fn none(object: Ranged, why: String) -> Shapes {
        Shapes {
            source: Sequential::new(object.clone()),
            object,
            at: 0,
            shapes: 0,
            broken: Some(why),
        }
    }

    /// Bytes of the file that were passed.
    pub(super) fn passed(&self) -> u64 {
        self.at
    }

    /// What is wrong with the file, as far as it was read.
    pub(super) fn note(&self) -> Option<String> {
        let why = self.broken.as_ref()?;
        let shapes = self.shapes;
        Some(format!(
            "its geometry is null after {shapes} shapes of its .shp file: {why}"
        ))
    }

    /// The next shape; `None` at the end, or where the file is broken.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn next(&mut self) -> Result<Option<Shape>, Failure> {
        if self.broken.is_some() || self.at >= self.object.size() {
            return Ok(None);
        }
        let mut before = [0; BEFORE];
        let is_whole = self.fill(&mut before)?;
        let [_, _, _, _, a, b, c, d] = before;
        let length = u64::from(u32::from_be_bytes([a, b, c, d])) * 2;
        let left = self.object.size().saturating_sub(self.at);
        if !is_whole || length < 4 || length > left {
            self.broken = Some(format!("it breaks off, or is damaged, at byte {}", self.at));
            return Ok(None);
        }
        let mut content = [0; LOOK];
        let looked = content.len().min(usize::try_from(length).unwrap_or(LOOK));
        self.fill(content.get_mut(..looked).unwrap_or_default())?;
        self.skip(length - looked as u64)?;
        self.shapes += 1;
        Ok(Some(shape(content.get(..looked).unwrap_or_default())))
    }

    /// Reads bytes; whether there were as many.
    fn fill(&mut self, to: &mut [u8]) -> Result<bool, Failure> {
        let read = self.source.read_exact(to);
        self.at += to.len() as u64;
        match read {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Failure> {
        self.at += bytes;
        let skipped = self.source.skip(bytes);
        skipped.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Failure {
        self.object.take_failure().unwrap_or_else(|| {
            let cause = format!("its .shp file cannot be read: {error}");
            Failure::new(FileErrorKind::Unreachable, cause)
        })
    }
}

fn shape(content: &[u8]) -> Shape {
    let int = |at: usize| {
        let bytes = content.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(bytes))
    };
    let float = |at: usize| {
        let bytes = content.get(at..at + 8)?.try_into().ok()?;
        Some(f64::from_le_bytes(bytes)).filter(|it: &f64| *it > NO_DATA)
    };
    let parts = || int(36).unwrap_or(1);
    // Kinds with heights and with measures have numbers of their own.
    let kind = match int(0) {
        Some(1 | 11 | 21) => "Point",
        Some(3 | 13 | 23) if parts() > 1 => "MultiLineString",
        Some(3 | 13 | 23) => "LineString",
        Some(5 | 15 | 25) => "Polygon",
        Some(8 | 18 | 28) => "MultiPoint",
        Some(31) => "MultiPatch",
        _ => return Shape::default(),
    };
    let mut extent = Extent::default();
    let mut add = |x: usize, y: usize| {
        if let (Some(x), Some(y)) = (float(x), float(y)) {
            extent.add(x, y);
        }
    };
    add(4, 12);
    if kind != "Point" {
        add(20, 28);
    }
    Shape {
        kind: Some(kind),
        extent,
    }
}
