//! Weights on a GPU.

use std::sync::Arc;

use crate::cuda::gpu::{Buffer, Gpu, GpuError};
use crate::decoder::matrix::Matrix;
use crate::decoder::network::Weights;

/// The weights of a network on one GPU, as they were packed for the processor.
pub(super) struct OnGpu {
    pub words: GpuMatrix,
    pub layers: Vec<GpuLayer>,
    pub norm: Buffer,
    pub output: Option<GpuMatrix>,
}

pub(super) struct GpuLayer {
    pub attention_norm: Buffer,
    pub query_key_value: GpuMatrix,
    pub merge: GpuMatrix,
    pub inner_norm: Buffer,
    pub widen: GpuMatrix,
    pub narrow: GpuMatrix,
}

pub(super) struct GpuMatrix {
    pub lines: Buffer,
    pub scales: Buffer,
    pub bias: Option<Buffer>,
    pub groups: usize,
    pub outputs: usize,
}

impl OnGpu {
    /// Uploads what was packed for the processor.
    pub fn of(gpu: &Arc<dyn Gpu>, weights: &Weights) -> Result<Self, GpuError> {
        let layers = weights.layers.iter().map(|layer| {
            Ok(GpuLayer {
                attention_norm: Buffer::of(gpu, &layer.attention_norm)?,
                query_key_value: GpuMatrix::of(gpu, &layer.query_key_value)?,
                merge: GpuMatrix::of(gpu, &layer.merge)?,
                inner_norm: Buffer::of(gpu, &layer.inner_norm)?,
                widen: GpuMatrix::of(gpu, &layer.widen)?,
                narrow: GpuMatrix::of(gpu, &layer.narrow)?,
            })
        });
        let output = weights.output.as_ref();
        Ok(Self {
            layers: layers.collect::<Result<_, GpuError>>()?,
            words: GpuMatrix::of(gpu, &weights.words)?,
            norm: Buffer::of(gpu, &weights.norm)?,
            output: output
                .map(|output| GpuMatrix::of(gpu, output))
                .transpose()?,
        })
    }
}

impl GpuMatrix {
    pub fn of(gpu: &Arc<dyn Gpu>, matrix: &Matrix) -> Result<Self, GpuError> {
        let all = matrix.part(0..matrix.blocks());
        let bias = matrix.bias.as_deref();
        Ok(Self {
            lines: Buffer::of(gpu, all.lines)?,
            scales: Buffer::of(gpu, all.scales)?,
            bias: bias.map(|bias| Buffer::of(gpu, bias)).transpose()?,
            groups: matrix.groups(),
            outputs: matrix.outputs,
        })
    }
}
