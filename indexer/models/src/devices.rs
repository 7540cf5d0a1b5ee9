//! What computes the models: this machine's processor, or its GPUs where limn was built to use
//! them.

use std::str::FromStr;
#[cfg(any(feature = "cuda", test))]
use std::sync::Arc;

use crate::ModelError;
#[cfg(any(feature = "cuda", test))]
use crate::cuda::gpu::{Gpu, GpuError};

/// Which device is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// All GPUs that can be used; the processor where there is none.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// All GPUs that can be used, and an error where there is none.
    Cuda,
}

/// A text that names no [`DeviceChoice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a device is auto, cpu or cuda")]
pub struct UnknownDevice;

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            _ => Err(UnknownDevice),
        }
    }
}

/// Why there is no GPU to compute on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoGpu {
    #[cfg(not(feature = "cuda"))]
    #[error("this limn was built without CUDA; docs/gpu.md says how to build it")]
    NotBuilt,
    #[cfg(feature = "cuda")]
    #[error("this machine has no NVIDIA driver")]
    NoDriver,
    #[cfg(feature = "cuda")]
    #[error("the NVIDIA driver shows no GPU")]
    NoneShown,
    /// What the driver says, with the name of its error.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    Driver(String),
    #[cfg(feature = "cuda")]
    #[error("{gpu} has compute capability {}.{}, and limn's kernels need {}.{}", has.0, has.1, needs.0, needs.1)]
    TooOld {
        gpu: String,
        has: (i32, i32),
        needs: (i32, i32),
    },
    #[cfg(feature = "cuda")]
    #[error(
        "{gpu} does not take the kernels: {why}; they need a driver for CUDA 13 (580 or newer)"
    )]
    Kernels { gpu: String, why: String },
    /// Why each GPU that the driver shows cannot be used.
    #[cfg(feature = "cuda")]
    #[error("{0}")]
    AllRefused(String),
}

/// The devices that models are loaded onto. [`default`](Default::default) is the processor.
#[derive(Clone, Default)]
pub struct Devices {
    #[cfg(any(feature = "cuda", test))]
    gpus: Vec<Arc<dyn Gpu>>,
    /// Whether a GPU that cannot be used is an error.
    #[cfg(any(feature = "cuda", test))]
    required: bool,
    notice: Option<String>,
}

impl Devices {
    /// Looks for what was asked for.
    ///
    /// # Errors
    /// [`ModelError::NoGpu`] where a GPU was asked for and none can be used.
    pub fn find(choice: DeviceChoice) -> Result<Self, ModelError> {
        if choice == DeviceChoice::Cpu {
            return Ok(Self::default());
        }
        let reason = match Self::gpus(choice) {
            Ok(devices) => return Ok(devices),
            Err(reason) => reason,
        };
        if choice == DeviceChoice::Cuda {
            return Err(ModelError::NoGpu {
                reason: reason.to_string(),
            });
        }
        let mut devices = Self::default();
        // A limn that knows nothing of GPUs has nothing to say of them.
        if cfg!(feature = "cuda") {
            devices.notice = Some(format!("no GPU ({reason}); computing on the processor"));
        }
        Ok(devices)
    }

    #[cfg(feature = "cuda")]
    fn gpus(choice: DeviceChoice) -> Result<Self, NoGpu> {
        Ok(Self {
            gpus: crate::cuda::gpus()?,
            required: choice == DeviceChoice::Cuda,
            notice: None,
        })
    }

    #[cfg(not(feature = "cuda"))]
    fn gpus(_: DeviceChoice) -> Result<Self, NoGpu> {
        Err(NoGpu::NotBuilt)
    }

    /// Why there is no GPU, in one line for a person; `None` where there is one or none was looked
    /// for.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// The names of the GPUs; empty for the processor.
    pub fn gpu_names(&self) -> Vec<String> {
        #[cfg(any(feature = "cuda", test))]
        return self.gpus.iter().map(|gpu| gpu.name().to_owned()).collect();
        #[cfg(not(any(feature = "cuda", test)))]
        Vec::new()
    }

    /// Loads a model onto each GPU; empty where the processor is to compute it. A GPU that does not
    /// take the model is left out with a line in the log, unless GPUs were asked for.
    ///
    /// # Errors
    /// Where a GPU that was asked for does not take it.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn load<T>(
        &self,
        model: &crate::ModelId,
        load: impl Fn(&Arc<dyn Gpu>) -> Result<T, GpuError>,
    ) -> Result<Vec<T>, ModelError> {
        let mut loaded = Vec::with_capacity(self.gpus.len());
        for gpu in &self.gpus {
            match load(gpu) {
                Ok(model) => loaded.push(model),
                Err(error) if self.required => return Err(failed(model, gpu.name(), error)),
                Err(error) => {
                    let error = failed(model, gpu.name(), error);
                    tracing::error!("{error}; {} is left out", gpu.name());
                }
            }
        }
        Ok(loaded)
    }

    /// These GPUs.
    #[cfg(test)]
    pub(crate) fn of(gpus: Vec<Arc<dyn Gpu>>, required: bool) -> Self {
        Self {
            gpus,
            required,
            notice: None,
        }
    }
}

/// What a GPU says, as a model's error.
#[cfg(any(feature = "cuda", test))]
pub(crate) fn failed(model: &crate::ModelId, gpu: &str, error: GpuError) -> ModelError {
    match error {
        GpuError::OutOfMemory(bytes) => ModelError::OutOfMemory {
            model: model.to_string(),
            device: gpu.to_owned(),
            detail: format!("{} MiB could not be had", bytes >> 20),
        },
        GpuError::Failed(detail) => ModelError::Compute {
            model: model.to_string(),
            detail: format!("{gpu}: {detail}"),
        },
    }
}

impl std::fmt::Debug for Devices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.gpu_names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_an_error_only_where_it_was_asked_for() {
        assert!(Devices::find(DeviceChoice::Cpu).is_ok_and(|it| it.notice().is_none()));
        let found = Devices::find(DeviceChoice::Auto);
        if found.is_ok_and(|devices| devices.gpu_names().is_empty()) {
            let error = Devices::find(DeviceChoice::Cuda).map(|_| ());
            assert!(error.is_err_and(|error| error.to_string().contains("no GPU")));
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda));
        assert!("gpu7".parse::<DeviceChoice>().is_err());
    }
}
