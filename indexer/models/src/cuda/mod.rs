//! GPUs: the kernels of both models, and what launches them.
//!
//! - [`gpu`] is what the models ask of a GPU: memory, copies, launches.
//! - `kernels/` is one source in CUDA C++ for both models. With `--features cuda` the build script
//!   compiles it to PTX, which `driver` hands to the driver that it finds at run time (cudarc): a
//!   binary with the feature starts and works without one.
//! - For the tests `emulated` compiles the same source with the machine's C++ compiler and plays a
//!   GPU, so that everything but the driver itself is tested where there is none.
//!
//! A GPU's numbers are the processor's to the bit (`kernels/common.h` says how), so an index does
//! not show what computed it.

pub(crate) mod gpu;

#[cfg(feature = "cuda")]
mod driver;
#[cfg(all(test, target_os = "linux"))]
pub(crate) mod emulated;

#[cfg(all(test, target_os = "linux"))]
mod tests;

#[cfg(feature = "cuda")]
pub(crate) use driver::gpus;
