//! What a table has of a geometry: its kind and its extent, and what their columns are called.
//!
//! The coordinates themselves are no columns: nobody asks a table for them, and one outline may be
//! longer than all other cells.

/// The object that a geometry is, before the point of its columns' names.
pub(crate) const GEOMETRY: &str = "geometry";
/// The column of its kind, in GeoJSON's words (`Point`, `MultiPolygon`).
pub(crate) const KIND: &str = "type";
/// The columns of its extent, in the units of the coordinates.
pub(crate) const BOUNDS: [&str; 4] = ["min_x", "min_y", "max_x", "max_y"];

/// The names of all these columns.
pub(crate) fn column_names() -> impl Iterator<Item = String> {
    let names = std::iter::once(KIND).chain(BOUNDS);
    names.map(|name| format!("{GEOMETRY}.{name}"))
}

/// The least and greatest coordinates of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Extent(Option<[f64; 4]>);

impl Extent {
    /// Takes a position, if it is one.
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        if !x.is_finite() || !y.is_finite() {
            return;
        }
        let [min_x, min_y, max_x, max_y] = self.0.unwrap_or([x, y, x, y]);
        self.0 = Some([min_x.min(x), min_y.min(y), max_x.max(x), max_y.max(y)]);
    }

    /// Takes all positions of another.
    pub(crate) fn add_all(&mut self, other: &Extent) {
        if let Some([min_x, min_y, max_x, max_y]) = other.0 {
            self.add(min_x, min_y);
            self.add(max_x, max_y);
        }
    }

    /// The values of the columns [`BOUNDS`]; none where there is no position.
    pub(crate) fn bounds(&self) -> Option<[f64; 4]> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_span_all_positions_that_are_some() {
        let mut extent = Extent::default();
        assert_eq!(extent.bounds(), None);
        extent.add(f64::NAN, 1.0);
        extent.add(f64::INFINITY, 1.0);
        assert_eq!(extent.bounds(), None);
        extent.add(2.0, -1.0);
        let mut other = Extent::default();
        other.add(-3.0, 0.5);
        extent.add_all(&other);
        extent.add_all(&Extent::default());
        assert_eq!(extent.bounds(), Some([-3.0, -1.0, 2.0, 0.5]));
    }
}
