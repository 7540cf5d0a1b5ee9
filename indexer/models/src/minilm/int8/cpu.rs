//! Which kernels this processor can run, and each stage compiled once for each of them.
//!
//! A stage is one generic function; here it is instantiated inside functions that carry the
//! processor features, so that the compiler may use those instructions throughout it.

use super::kernels::Portable;
#[cfg(target_arch = "x86_64")]
use super::kernels::{avx2::Avx2, avx512::Avx512, avxvnni::AvxVnni};
use super::stages::{self, AttentionScratch, Quantized};
use super::weights::{Matrix, Norm};

/// Proof that this processor has the features of a kernel: values come from [`Cpu::all`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cpu(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Cpu {
    /// The fastest kernels this processor can run.
    pub fn detect() -> Self {
        Self::all()[0]
    }

    /// Every kernel this processor can run, the fastest first.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni");
            if avx2 && avx512 {
                all.push(Self(Level::Avx512));
            }
            if avx2 && is_x86_feature_detected!("avxvnni") {
                all.push(Self(Level::AvxVnni));
            }
            if avx2 {
                all.push(Self(Level::Avx2));
            }
        }
        all.push(Self(Level::Portable));
        all
    }

    #[cfg(test)]
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512-vnni",
            #[cfg(target_arch = "x86_64")]
            Level::AvxVnni => "avx-vnni",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            Level::Portable => "portable",
        }
    }
}

/// Makes a stage a method of [`Cpu`] that runs it with the kernels of this processor.
macro_rules! stage {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        impl Cpu {
            $(#[$doc])*
            pub fn $name(self, $($argument: $type),*) {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
                fn avx512($($argument: $type),*) {
                    stages::$name::<Avx512>($($argument),*);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avxvnni,avx2,fma")]
                fn avxvnni($($argument: $type),*) {
                    stages::$name::<AvxVnni>($($argument),*);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) {
                    stages::$name::<Avx2>($($argument),*);
                }
                match self.0 {
                    // SAFETY (all three): `Cpu::all` made this value after it had detected every
                    // feature that the function enables.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::AvxVnni => unsafe { avxvnni($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2($($argument),*) },
                    Level::Portable => stages::$name::<Portable>($($argument),*),
                }
            }
        }
    };
}

stage!(
    /// Rounds each row of `width` numbers to bytes with a scale and zero point of its own.
    quantize(rows: &[f32], width: usize, out: &mut Quantized)
);
stage!(
    /// `out = rows · matrix + bias`, one row of `matrix.outputs` numbers a quantized row.
    multiply(rows: &Quantized, matrix: &Matrix, out: &mut [f32])
);
stage!(
    /// Self-attention within each sequence, from queries, keys and values side by side.
    attend(projected: &[f32], lengths: &[usize], scratch: &mut AttentionScratch, out: &mut [f32])
);
stage!(
    /// Adds `more` to the states, then normalises each row to mean 0 and variance 1, scaled and shifted.
    normalize(states: &mut [f32], more: Option<&mut [f32]>, norm: &Norm)
);
stage!(
    /// The activation function x·Φ(x), in place.
    gelu(numbers: &mut [f32])
);
