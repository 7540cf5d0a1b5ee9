//! What of attention differs from layer to layer: how far a token looks, and how places are marked.

use super::shape::{Reach, Shape};

/// Cosines and sines by which a token's queries and keys are rotated, by its place (RoFormer,
/// equation 34, in halves: number `d` of a head goes with number `d + half`).
pub(super) struct Rotation {
    /// Pairs of numbers of a head.
    pub half: usize,
    /// A row of `half` a place.
    pub cosines: Vec<f32>,
    pub sines: Vec<f32>,
}

impl Rotation {
    /// For as many places as the window has.
    pub fn new(base: f64, head: usize, window: usize) -> Self {
        let half = head / 2;
        let angles = (0..window).flat_map(|place| {
            (0..half).map(move |pair| {
                let frequency = base.powf(-2.0 * pair as f64 / head as f64);
                place as f64 * frequency
            })
        });
        let (cosines, sines) = angles
            .map(|angle| (angle.cos() as f32, angle.sin() as f32))
            .unzip();
        Self {
            half,
            cosines,
            sines,
        }
    }
}

/// The rotations of a network: of its layers that look at everything, and of those that look
/// around.
pub(super) struct Rotations {
    global: Option<Rotation>,
    local: Option<Rotation>,
}

impl Rotations {
    pub fn new(shape: &Shape, window: usize) -> Self {
        let bases = shape.rotation.as_ref();
        let of = |base: f64| Rotation::new(base, shape.head(), window);
        Self {
            global: bases.map(|bases| of(bases.global)),
            local: bases.map(|bases| of(bases.local)),
        }
    }

    /// That of a layer's reach.
    pub fn of(&self, reach: Reach) -> Option<&Rotation> {
        match reach {
            Reach::All => self.global.as_ref(),
            Reach::Around(_) => self.local.as_ref(),
        }
    }
}
