//! What the models ask of a GPU.

use std::ffi::c_void;
use std::sync::Arc;

/// Why a GPU did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GpuError {
    /// So many bytes could not be had.
    OutOfMemory(usize),
    /// Anything else, in the driver's words.
    Failed(String),
}

/// Values that are nothing but bits.
///
/// # Safety
/// For implementers: no padding, no pointers into this machine's memory, any bits are valid.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: numbers.
unsafe impl Plain for i8 {}
// SAFETY: numbers.
unsafe impl Plain for u8 {}
// SAFETY: numbers.
unsafe impl Plain for i32 {}
// SAFETY: numbers.
unsafe impl Plain for u32 {}
// SAFETY: numbers.
unsafe impl Plain for f32 {}
// SAFETY: an array of signed bytes.
unsafe impl Plain for crate::kernels::Line {}
// SAFETY: an array of numbers.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding; the lengths are the same memory's.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bytes_of_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above, and any bits are valid.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// The one argument of a kernel: a struct that is laid out as the one in `kernels/`.
///
/// # Safety
/// For implementers: `repr(C)`, the same fields in the same order as the struct of that name there,
/// GPU pointers as [`Address`].
pub(crate) unsafe trait Arguments: Copy {
    /// The kernel's name.
    const KERNEL: &'static str;
    /// The threads of a block that it is written for.
    const THREADS: u32;
}

/// A kernel's arguments, as `kernels/` declares them, its name, and the threads of a block.
macro_rules! arguments {
    ($(#[$doc:meta])* $vis:vis $name:ident as $kernel:literal in $threads:literal { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $vis struct $name { $($vis $field: $type),* }

        // SAFETY: the struct of that name, field by field, in `cuda/kernels/`.
        unsafe impl $crate::cuda::gpu::Arguments for $name {
            const KERNEL: &'static str = $kernel;
            const THREADS: u32 = $threads;
        }
    };
}
pub(crate) use arguments;

/// A place in a GPU's memory, or null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Address(pub u64);

impl Address {
    pub const NULL: Self = Self(0);
}

// SAFETY: a number, which no code of this machine follows.
unsafe impl Plain for Address {}

/// One GPU. Copies and launches happen in the order of the calls.
pub(crate) trait Gpu: Send + Sync {
    /// The card's name.
    fn name(&self) -> &str;

    /// Bytes that could be allocated now.
    fn free_bytes(&self) -> Result<usize, GpuError>;

    /// Reserves memory; its contents are nothing to rely on.
    fn allocate(&self, bytes: usize) -> Result<Address, GpuError>;

    /// Gives memory back once everything launched so far has run.
    fn release(&self, address: Address, bytes: usize);

    /// Copies bytes to the GPU; returns when they may be changed.
    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), GpuError>;

    /// Waits for everything launched so far, then copies bytes from the GPU.
    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), GpuError>;

    /// Runs a kernel on a grid of blocks, with so many bytes of dynamic shared memory.
    ///
    /// # Safety
    /// `arguments` points to the kernel's [`Arguments`]; the memory they name is there and as large
    /// as the kernel expects.
    unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        arguments: *const c_void,
    ) -> Result<(), GpuError>;
}

/// Launches a kernel on its arguments; nothing where the grid is empty.
///
/// # Safety
/// The memory that the arguments name is there and as large as the kernel expects.
pub(crate) unsafe fn launch<A: Arguments>(
    gpu: &dyn Gpu,
    grid: [usize; 3],
    shared: usize,
    arguments: &A,
) -> Result<(), GpuError> {
    if grid.contains(&0) {
        return Ok(());
    }
    let sized = |size: usize| {
        u32::try_from(size)
            .map_err(|_| GpuError::Failed(format!("a grid of {size} blocks for {}", A::KERNEL)))
    };
    let grid = [sized(grid[0])?, sized(grid[1])?, sized(grid[2])?];
    // SAFETY: the arguments are the kernel's; the rest as the caller vouches.
    unsafe {
        gpu.launch(
            A::KERNEL,
            grid,
            A::THREADS,
            sized(shared)?,
            std::ptr::from_ref(arguments).cast(),
        )
    }
}

/// Memory of a GPU, given back on drop.
pub(crate) struct Buffer {
    gpu: Arc<dyn Gpu>,
    address: Address,
    bytes: usize,
}

impl Buffer {
    /// Memory for `count` values.
    pub fn new<T: Plain>(gpu: &Arc<dyn Gpu>, count: usize) -> Result<Self, GpuError> {
        let bytes = count
            .checked_mul(size_of::<T>())
            .ok_or(GpuError::OutOfMemory(usize::MAX))?
            .max(1);
        Ok(Self {
            address: gpu.allocate(bytes)?,
            gpu: Arc::clone(gpu),
            bytes,
        })
    }

    /// Memory that holds these values.
    pub fn of<T: Plain>(gpu: &Arc<dyn Gpu>, values: &[T]) -> Result<Self, GpuError> {
        let buffer = Self::new::<T>(gpu, values.len())?;
        gpu.write(buffer.address, bytes_of(values))?;
        Ok(buffer)
    }

    pub fn address(&self) -> Address {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies values to the beginning.
    pub fn write<T: Plain>(&mut self, values: &[T]) -> Result<(), GpuError> {
        let bytes = bytes_of(values);
        assert!(bytes.len() <= self.bytes);
        self.gpu.write(self.address, bytes)
    }

    /// Waits for all launches, then copies the first values.
    pub fn read<T: Plain>(&self, values: &mut [T]) -> Result<(), GpuError> {
        let bytes = bytes_of_mut(values);
        assert!(bytes.len() <= self.bytes);
        self.gpu.read(self.address, bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.gpu.release(self.address, self.bytes);
    }
}

/// Memory that is used again for every batch, and grows to the largest one's need.
#[derive(Default)]
pub(crate) struct Reused(Option<Buffer>);

impl Reused {
    /// The buffer, with room for `count` values.
    pub fn room<T: Plain>(
        &mut self,
        gpu: &Arc<dyn Gpu>,
        count: usize,
    ) -> Result<&mut Buffer, GpuError> {
        let wanted = count.saturating_mul(size_of::<T>());
        if self.0.as_ref().is_none_or(|buffer| buffer.bytes < wanted) {
            // The old one goes first: both might not fit.
            self.0 = None;
            let buffer = Buffer::new::<T>(gpu, count.next_power_of_two())
                .or_else(|_| Buffer::new::<T>(gpu, count))?;
            self.0 = Some(buffer);
        }
        self.0.as_mut().ok_or(GpuError::OutOfMemory(wanted))
    }

    /// The buffer with these values at its beginning.
    pub fn hold<T: Plain>(
        &mut self,
        gpu: &Arc<dyn Gpu>,
        values: &[T],
    ) -> Result<Address, GpuError> {
        let buffer = self.room::<T>(gpu, values.len())?;
        buffer.write(values)?;
        Ok(buffer.address())
    }

    /// The place of room for `count` values.
    pub fn place<T: Plain>(
        &mut self,
        gpu: &Arc<dyn Gpu>,
        count: usize,
    ) -> Result<Address, GpuError> {
        Ok(self.room::<T>(gpu, count)?.address())
    }
}
