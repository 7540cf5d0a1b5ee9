//! Which kernels this processor can run, and each stage compiled once for each of them.
//!
//! A stage is one generic function; here it is instantiated inside functions that carry the
//! processor features, so that the compiler may use those instructions throughout it.

/// The kinds of processors, for [`stage`].
pub(crate) mod kinds {
    pub(crate) use crate::kernels::portable::Portable;
    #[cfg(target_arch = "x86_64")]
    pub(crate) use crate::kernels::{amx::Amx, avx2::Avx2, avx512::Avx512, avxvnni::AvxVnni};
}

/// Proof that this processor has the features of a kernel: values come from [`Cpu::all`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cpu(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Amx,
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
            if avx2 && avx512 && super::amx::is_usable() {
                all.push(Self(Level::Amx));
            }
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

    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// The kernels' name, for people.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Amx => "amx-int8",
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

/// Makes a generic function `stages::name::<K: Kernel>` a method of [`Cpu`] that runs it with the
/// kernels of this processor.
macro_rules! stage {
    ($stages:ident: $(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        impl $crate::kernels::Cpu {
            $(#[$doc])*
            pub(super) fn $name(self, $($argument: $type),*) {
                use $crate::kernels::cpu::{Level, kinds};
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
                fn amx($($argument: $type),*) {
                    $stages::$name::<kinds::Amx>($($argument),*);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
                fn avx512($($argument: $type),*) {
                    $stages::$name::<kinds::Avx512>($($argument),*);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avxvnni,avx2,fma")]
                fn avxvnni($($argument: $type),*) {
                    $stages::$name::<kinds::AvxVnni>($($argument),*);
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) {
                    $stages::$name::<kinds::Avx2>($($argument),*);
                }
                match self.level() {
                    // SAFETY (all four): `Cpu::all` made this value after it had detected every
                    // feature that the function enables.
                    #[cfg(target_arch = "x86_64")]
                    Level::Amx => unsafe { amx($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::AvxVnni => unsafe { avxvnni($($argument),*) },
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2($($argument),*) },
                    Level::Portable => $stages::$name::<kinds::Portable>($($argument),*),
                }
            }
        }
    };
}

pub(crate) use stage;
