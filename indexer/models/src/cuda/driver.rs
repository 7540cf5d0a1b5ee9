//! The GPUs of this machine, through cudarc and whatever driver is found at run time.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result};
use cudarc::nvrtc::Ptx;

use super::gpu::{Address, Gpu, GpuError};
use crate::devices::NoGpu;

/// The kernels, compiled by the build script.
const KERNELS: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
const NAMES: [&str; 16] = [
    "look_up",
    "normalize_rows",
    "round_rows",
    "gate_rows",
    "product_of_many",
    "product_of_few",
    "product_of_tile",
    "turn_and_store",
    "attend",
    "likeliest",
    "embed_tokens",
    "quantize_rows",
    "linear",
    "normalize_states",
    "attend_sequences",
    "pool_sequences",
];
/// Bytes that the pool keeps: the segments of a few hundred sequences.
const KEPT_BYTES: u64 = 2 << 30;
/// The kernels multiply bytes on tensor cores, which earlier cards than these lack.
const LEAST_CAPABILITY: (i32, i32) = (8, 0);

/// All GPUs that can be used; otherwise why there is none.
pub(crate) fn gpus() -> Result<Vec<Arc<dyn Gpu>>, NoGpu> {
    // SAFETY: looks for the driver's library by its well-known names.
    if !unsafe { sys::is_culib_present() } {
        return Err(NoGpu::NoDriver);
    }
    let said = |error: DriverError| NoGpu::Driver(described(&error));
    result::init().map_err(said)?;
    let count = CudaContext::device_count().map_err(said)?;
    let mut gpus: Vec<Arc<dyn Gpu>> = Vec::new();
    let mut refused = Vec::new();
    for ordinal in 0..usize::try_from(count).unwrap_or(0) {
        match CudaGpu::open(ordinal) {
            Ok(gpu) => gpus.push(Arc::new(gpu)),
            Err(why) => refused.push(format!("GPU {ordinal}: {why}")),
        }
    }
    for refused in &refused {
        tracing::debug!("{refused}");
    }
    match (gpus.is_empty(), refused.is_empty()) {
        (false, _) => Ok(gpus),
        (true, true) => Err(NoGpu::NoneShown),
        (true, false) => Err(NoGpu::AllRefused(refused.join("; "))),
    }
}

struct CudaGpu {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    functions: HashMap<&'static str, CudaFunction>,
    /// Whether memory comes from the stream's pool, in the order of launches.
    pooled: bool,
}

impl CudaGpu {
    fn open(ordinal: usize) -> Result<Self, NoGpu> {
        let said = |error: DriverError| NoGpu::Driver(described(&error));
        let context = CudaContext::new(ordinal).map_err(said)?;
        let name = context.name().map_err(said)?;
        let capability = context.compute_capability().map_err(said)?;
        if capability < LEAST_CAPABILITY {
            return Err(NoGpu::TooOld {
                gpu: name,
                has: capability,
                needs: LEAST_CAPABILITY,
            });
        }
        let module = context.load_module(Ptx::from_src(KERNELS));
        let module = module.map_err(|error| NoGpu::Kernels {
            gpu: name.clone(),
            why: described(&error),
        })?;
        let functions = NAMES
            .iter()
            .map(|name| Ok((*name, module.load_function(name)?)))
            .collect::<Result<_, DriverError>>()
            .map_err(said)?;
        let stream = context.new_stream().map_err(said)?;
        let pooled = context.has_async_alloc();
        if pooled {
            keep_pool(&context).map_err(said)?;
        }
        Ok(Self {
            name,
            context,
            stream,
            functions,
            pooled,
        })
    }

    fn bind(&self) -> Result<(), GpuError> {
        self.context.bind_to_thread().map_err(failed)
    }
}

/// Lets the pool keep some of what is given back, instead of returning it to the driver at every
/// wait. Not all of it: others use the card too, and what the search for a budget reserves is no
/// need.
fn keep_pool(context: &CudaContext) -> Result<(), DriverError> {
    let mut most = KEPT_BYTES;
    // SAFETY: the device is the context's; the attribute is one 64-bit number.
    unsafe {
        let pool = result::device::get_default_mem_pool(context.cu_device())?;
        result::mem_pool::set_attribute(
            pool,
            sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            std::ptr::from_mut(&mut most).cast(),
        )
    }
}

impl Gpu for CudaGpu {
    fn name(&self) -> &str {
        &self.name
    }

    fn free_bytes(&self) -> Result<usize, GpuError> {
        let (free, _) = self.context.mem_get_info().map_err(failed)?;
        Ok(free)
    }

    fn allocate(&self, bytes: usize) -> Result<Address, GpuError> {
        self.bind()?;
        // SAFETY: the stream is this context's, which is current.
        let allocated = unsafe {
            if self.pooled {
                result::malloc_async(self.stream.cu_stream(), bytes)
            } else {
                result::malloc_sync(bytes)
            }
        };
        match allocated {
            Ok(address) => Ok(Address(address)),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(GpuError::OutOfMemory(bytes))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn release(&self, address: Address, _: usize) {
        // SAFETY: allocated by this GPU and released once; after all launches so far, in the
        // stream's order or because freeing waits for them.
        let released = self.context.bind_to_thread().and_then(|()| unsafe {
            if self.pooled {
                result::free_async(address.0, self.stream.cu_stream())
            } else {
                result::free_sync(address.0)
            }
        });
        if let Err(error) = released {
            tracing::warn!(
                gpu = self.name,
                "memory could not be given back: {}",
                described(&error)
            );
        }
    }

    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), GpuError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: `Buffer` has made sure of the lengths; the wait below ends before the borrow
        // does.
        unsafe { result::memcpy_htod_async(to.0, bytes, self.stream.cu_stream()) }
            .map_err(failed)?;
        // Whether pageable memory was copied when the call above returns is up to the driver.
        self.stream.synchronize().map_err(failed)
    }

    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.bind()?;
        if !bytes.is_empty() {
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(bytes, from.0, self.stream.cu_stream()) }
                .map_err(failed)?;
        }
        self.stream.synchronize().map_err(failed)
    }

    unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        arguments: *const c_void,
    ) -> Result<(), GpuError> {
        self.bind()?;
        let function = self
            .functions
            .get(kernel)
            .ok_or_else(|| GpuError::Failed(format!("there is no kernel {kernel}")))?;
        let mut pointers = [arguments.cast_mut()];
        // SAFETY: one argument, of the kernel's type, as the caller vouches; the driver copies it.
        unsafe {
            result::launch_kernel(
                function.cu_function(),
                (grid[0], grid[1], grid[2]),
                (threads, 1, 1),
                shared,
                self.stream.cu_stream(),
                &mut pointers,
            )
        }
        .map_err(failed)
    }
}

fn failed(error: DriverError) -> GpuError {
    GpuError::Failed(described(&error))
}

fn described(error: &DriverError) -> String {
    let name = error
        .error_name()
        .map(|name| name.to_string_lossy().into_owned());
    let text = error
        .error_string()
        .map(|text| text.to_string_lossy().into_owned());
    match (name, text) {
        (Ok(name), Ok(text)) => format!("{name}: {text}"),
        _ => format!("{:?}", error.0),
    }
}
