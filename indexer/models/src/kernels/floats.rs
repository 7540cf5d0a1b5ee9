//! Functions of 32-bit floats that give the same bits on every processor, inlined into the stages.

use super::LANES;

/// 1.5 · 2²³: added to a number below 2²², it leaves the nearest integer (ties to even) in the low
/// bits of the sum's mantissa.
pub(crate) const ROUND: f32 = 12_582_912.0;
/// 2ˣ for x ≤ 0, and 2⁻¹²⁵ for all below −125: the whole part goes into the exponent, the rest
/// through a polynomial fitted to 2ᶠ on |f| ≤ ½ (relative error 7.5e-8 before rounding).
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let x = if x < -125.0 { -125.0 } else { x };
    let shifted = x + ROUND;
    let f = x - (shifted - ROUND);
    let power = 0.001_327_647_1_f32
        .mul_add(f, 0.009_675_542)
        .mul_add(f, 0.055_507_13)
        .mul_add(f, 0.240_221_2)
        .mul_add(f, 0.693_146_94)
        .mul_add(f, 1.000_000_1);
    f32::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// The sum of the lanes, halves upon halves.
#[inline(always)]
pub(crate) fn fold(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
