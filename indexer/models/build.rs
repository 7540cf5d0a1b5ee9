//! With `--features cuda`: compiles the GPU kernels to PTX, which every driver since CUDA 13 turns
//! into code for its card (compute capability 8.0 and newer). Without the feature there is nothing
//! to do.

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const KERNELS: &str = "src/cuda/kernels";

fn main() -> ExitCode {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return ExitCode::SUCCESS;
    }
    println!("cargo:rerun-if-changed={KERNELS}");
    println!("cargo:rerun-if-env-changed=CUDA_HOME");
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("cargo:error={why}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<(), String> {
    let nvcc = nvcc().ok_or(
        "--features cuda needs the CUDA compiler: run infra/cuda, which fetches it, or set CUDA_HOME to a CUDA 13 toolkit",
    )?;
    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .ok_or("cargo names no OUT_DIR")?;
    let run = Command::new(&nvcc)
        .args(["-ptx", "-arch=compute_80", "-std=c++17", "-O3"])
        // The same bits as the processor's: nothing is fused that is not written so.
        .args(["-fmad=false", "-o"])
        .arg(out.join("kernels.ptx"))
        .arg(PathBuf::from(KERNELS).join("kernels.cu"))
        .output()
        .map_err(|error| format!("{} does not run: {error}", nvcc.display()))?;
    if run.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&run.stderr).replace('\n', " | ");
    Err(format!("{} fails: {said}", nvcc.display()))
}

/// That of CUDA_HOME, that of `infra/cuda`, or that of the PATH.
fn nvcc() -> Option<PathBuf> {
    let fetched = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/limn/cuda"));
    let homes = env::var_os("CUDA_HOME")
        .map(PathBuf::from)
        .into_iter()
        .chain(fetched);
    let paths = env::var_os("PATH").unwrap_or_default();
    let bins = homes
        .map(|home| home.join("bin"))
        .chain(env::split_paths(&paths));
    bins.map(|bin| bin.join("nvcc")).find(|nvcc| nvcc.is_file())
}
