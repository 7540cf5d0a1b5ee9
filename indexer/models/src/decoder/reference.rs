//! The same network in candle's 32-bit floats, one sequence at a time, written from the papers: the
//! standard that the packed one is tested against.

use candle_core::{D, Device as CandleDevice, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};

use super::load::{Name, Source};
use super::shape::{Pairs, Shape};

/// Log-probabilities of every token after some tokens.
pub(super) fn log_probabilities(
    source: &dyn Source,
    shape: &Shape,
    tokens: &[u32],
) -> Result<Vec<f32>> {
    let device = &CandleDevice::Cpu;
    let find = |name| {
        let Some(dims) = source.dims(name) else {
            return Ok(None);
        };
        let rows = if dims.len() > 1 { dims[0] } else { 1 };
        let numbers = source
            .rows(name, 0..rows)
            .map_err(candle_core::Error::msg)?;
        Tensor::from_vec(numbers, dims, device).map(Some)
    };
    let need = |name| find(name)?.ok_or_else(|| candle_core::Error::msg(format!("no {name:?}")));
    let linear = |x: &Tensor, weight, bias: Option<Name>| {
        let product = x.matmul(&need(weight)?.t()?)?;
        match bias.map(find).transpose()?.flatten() {
            Some(bias) => product.broadcast_add(&bias),
            None => Ok(product),
        }
    };
    let (count, head) = (tokens.len(), shape.head);
    let words = need(Name::Words)?;
    let mut x = words.index_select(&Tensor::new(tokens, device)?, 0)?;
    let mask = causal_mask(count, device)?;
    let (cosines, sines) = turns(shape, count)?;
    let epsilon = shape.norm_epsilon;
    for layer in 0..shape.layers {
        let normal = rms_norm(&x, &need(Name::AttentionNorm(layer))?, epsilon)?;
        let heads = |numbers: Tensor, heads: usize| {
            numbers
                .reshape((count, heads, head))?
                .transpose(0, 1)?
                .contiguous()
        };
        let query = heads(
            linear(&normal, Name::Query(layer), Some(Name::QueryBias(layer)))?,
            shape.heads,
        )?;
        let key = heads(
            linear(&normal, Name::Key(layer), Some(Name::KeyBias(layer)))?,
            shape.kv_heads,
        )?;
        let value = heads(
            linear(&normal, Name::Value(layer), Some(Name::ValueBias(layer)))?,
            shape.kv_heads,
        )?;
        let turned = |numbers: Tensor| turn(&numbers, &cosines, &sines, shape.pairs);
        let repeat = |numbers: Tensor| {
            let group = shape.group();
            let wide = numbers
                .unsqueeze(1)?
                .expand((shape.kv_heads, group, count, head))?;
            wide.contiguous()?.reshape((shape.heads, count, head))
        };
        let (query, key, value) = (turned(query)?, repeat(turned(key)?)?, repeat(value)?);
        let scores = (query.matmul(&key.transpose(1, 2)?.contiguous()?)? / (head as f64).sqrt())?;
        let weights = softmax_last_dim(&scores.broadcast_add(&mask)?)?;
        let mixed = weights
            .matmul(&value)?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((count, shape.heads * head))?;
        x = (x + linear(&mixed, Name::Merge(layer), None)?)?;
        let normal = rms_norm(&x, &need(Name::InnerNorm(layer))?, epsilon)?;
        let gate = silu(&linear(&normal, Name::Gate(layer), None)?)?;
        let up = linear(&normal, Name::Up(layer), None)?;
        x = (x + linear(&(gate * up)?, Name::Down(layer), None)?)?;
    }
    let last = x.narrow(0, count - 1, 1)?.contiguous()?;
    let last = rms_norm(&last, &need(Name::Norm)?, epsilon)?;
    let output = find(Name::Output)?.unwrap_or(words);
    let logits = last.matmul(&output.t()?)?;
    candle_nn::ops::log_softmax(&logits, D::Minus1)?
        .squeeze(0)?
        .to_vec1()
}

/// What hides from each token those after it.
fn causal_mask(count: usize, device: &CandleDevice) -> Result<Tensor> {
    let mask: Vec<f32> = (0..count)
        .flat_map(|row| {
            (0..count).map(move |column| if column > row { f32::NEG_INFINITY } else { 0.0 })
        })
        .collect();
    Tensor::from_vec(mask, (count, count), device)
}

/// Cosines and sines: a row a position, a column a pair.
fn turns(shape: &Shape, count: usize) -> Result<(Tensor, Tensor)> {
    let pairs = shape.head / 2;
    let angles: Vec<f32> = (0..count)
        .flat_map(|position| {
            (0..pairs).map(move |pair| {
                let factor = shape
                    .rope_factors
                    .get(pair)
                    .map_or(1.0, |factor| f64::from(*factor));
                let frequency =
                    shape.rope_base.powf(-2.0 * pair as f64 / shape.head as f64) / factor;
                (position as f64 * frequency) as f32
            })
        })
        .collect();
    let angles = Tensor::from_vec(angles, (count, pairs), &CandleDevice::Cpu)?;
    Ok((angles.cos()?, angles.sin()?))
}

fn turn(numbers: &Tensor, cosines: &Tensor, sines: &Tensor, pairs: Pairs) -> Result<Tensor> {
    let numbers = numbers.unsqueeze(0)?;
    let turned = match pairs {
        Pairs::Halves => candle_nn::rotary_emb::rope(&numbers, cosines, sines)?,
        Pairs::Neighbours => candle_nn::rotary_emb::rope_i(&numbers, cosines, sines)?,
    };
    turned.squeeze(0)
}
