//! A GPU played by this machine's processor: the kernels' own source, compiled by the machine's C++
//! compiler with `kernels/emulator.h`.
//!
//! Memory has a guard on both sides, checked when it is given back, and is filled with bits that
//! are no number. Copies and launches happen at once.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use libloading::Library;

use super::gpu::{Address, Gpu, GpuError};

const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0x5a;
/// Four of them are no number.
const FILL: u8 = 0xff;

type Kernel = unsafe extern "C" fn(*const c_void, *const u32, u32, u32);

/// One launch at a time: the emulator has one set of threads.
static KERNELS: LazyLock<Mutex<Library>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("kernels.so");
    // Asked of cargo at run time: a target folder shared by several clones keeps the path of one of
    // them.
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    let source = Path::new(&crate_folder).join("src/cuda/kernels/kernels.cu");
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let done = Command::new(compiler)
        .args(["-x", "c++", "-std=c++17", "-O3", "-march=native"])
        .args(["-ffp-contract=off"])
        .args([
            "-fPIC",
            "-shared",
            "-U_FORTIFY_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .arg("-o")
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    // SAFETY: our own code, which runs nothing when it is loaded.
    Mutex::new(unsafe { Library::new(library) }.unwrap())
});

/// An emulated GPU with so many bytes.
pub(crate) struct Emulated {
    capacity: usize,
    memory: Mutex<HashMap<u64, Box<[u8]>>>,
}

impl Emulated {
    pub fn with_bytes(capacity: usize) -> Arc<dyn Gpu> {
        Arc::new(Self {
            capacity,
            memory: Mutex::default(),
        })
    }

    fn used(&self) -> usize {
        let memory = self.memory.lock().unwrap();
        memory.values().map(|bytes| bytes.len() - 2 * GUARD).sum()
    }

    /// Checks that an access lies within one allocation.
    fn check(&self, address: Address, length: usize) {
        let memory = self.memory.lock().unwrap();
        let inside = memory.iter().any(|(start, bytes)| {
            let end = start + (bytes.len() - 2 * GUARD) as u64;
            (*start..=end).contains(&address.0) && address.0 + length as u64 <= end
        });
        assert!(inside, "{length} bytes at {address:?} are no memory");
    }
}

impl Gpu for Emulated {
    fn name(&self) -> &str {
        "emulated"
    }

    fn free_bytes(&self) -> Result<usize, GpuError> {
        Ok(self.capacity - self.used())
    }

    fn allocate(&self, bytes: usize) -> Result<Address, GpuError> {
        if self.used() + bytes > self.capacity {
            return Err(GpuError::OutOfMemory(bytes));
        }
        let mut memory = vec![GUARD_BYTE; bytes + 2 * GUARD].into_boxed_slice();
        memory[GUARD..][..bytes].fill(FILL);
        // Vector loads want places that are multiples of 16.
        let address = memory.as_mut_ptr() as u64 + GUARD as u64;
        assert!(address.is_multiple_of(16));
        self.memory.lock().unwrap().insert(address, memory);
        Ok(Address(address))
    }

    fn release(&self, address: Address, bytes: usize) {
        let memory = self.memory.lock().unwrap().remove(&address.0).unwrap();
        let intact = |guard: &[u8]| guard.iter().all(|byte| *byte == GUARD_BYTE);
        assert!(
            intact(&memory[..GUARD]) && intact(&memory[GUARD + bytes..]),
            "a kernel wrote beside its memory of {bytes} bytes"
        );
    }

    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), GpuError> {
        self.check(to, bytes.len());
        // SAFETY: just checked; nobody else writes there while the test does.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.0 as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), GpuError> {
        self.check(from, bytes.len());
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(from.0 as *const u8, bytes.as_mut_ptr(), bytes.len());
        }
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: &'static str,
        grid: [u32; 3],
        threads: u32,
        shared: u32,
        arguments: *const c_void,
    ) -> Result<(), GpuError> {
        assert!(
            shared <= 48 << 10,
            "{kernel}: {shared} bytes of shared memory"
        );
        let library = KERNELS.lock().unwrap();
        // SAFETY: every kernel has a function of this name and type; the rest as the caller
        // vouches.
        unsafe {
            let function: libloading::Symbol<Kernel> =
                library.get(format!("emulate_{kernel}").as_bytes()).unwrap();
            function(arguments, grid.as_ptr(), threads, shared);
        }
        Ok(())
    }
}
