//! Encoders of any size, in the files in which training libraries save them, with weights that look
//! random.

use std::fs;
use std::path::Path;

use half::f16;
use serde_json::{Map, Value, json};

use crate::{random, repository};

/// Numbers of a head.
const HEAD: usize = 64;
/// Numbers of the inner layer: few, so that the file is small.
const INNER: usize = 256;

/// Writes the folder of a BERT of one layer whose vectors have so many numbers, a multiple of 64.
/// All else is as in the small one that `limn-models` is tested with.
pub fn write_bert(folder: &Path, dimensions: usize) {
    let small = repository().join("indexer/models/tests/encoders/bert");
    fs::create_dir_all(folder).unwrap();
    fs::copy(small.join("tokenizer.json"), folder.join("tokenizer.json")).unwrap();
    let config = fs::read(small.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&config).unwrap();
    config["hidden_size"] = json!(dimensions);
    config["intermediate_size"] = json!(INNER);
    config["num_attention_heads"] = json!(dimensions / HEAD);
    config["num_hidden_layers"] = json!(1);
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let rows = |name: &str| config[name].as_u64().unwrap() as usize;
    let mut weights = Weights::default();
    for (name, of) in [
        ("word", "vocab_size"),
        ("position", "max_position_embeddings"),
        ("token_type", "type_vocab_size"),
    ] {
        let name = format!("embeddings.{name}_embeddings.weight");
        weights.add(&name, &[rows(of), dimensions], 0.0, 0.85);
    }
    weights.norm("embeddings.LayerNorm", dimensions);
    let layer = |part: &str| format!("encoder.layer.0.{part}");
    for part in ["query", "key", "value"] {
        let name = layer(&format!("attention.self.{part}"));
        weights.linear(&name, dimensions, dimensions);
    }
    weights.linear(&layer("attention.output.dense"), dimensions, dimensions);
    weights.norm(&layer("attention.output.LayerNorm"), dimensions);
    weights.linear(&layer("intermediate.dense"), dimensions, INNER);
    weights.linear(&layer("output.dense"), INNER, dimensions);
    weights.norm(&layer("output.LayerNorm"), dimensions);
    fs::write(folder.join("model.safetensors"), weights.file()).unwrap();
}

/// The tensors of a file in safetensors format.
#[derive(Default)]
struct Weights {
    header: Map<String, Value>,
    numbers: Vec<u8>,
    /// How many numbers were drawn.
    drawn: u64,
}

impl Weights {
    /// Numbers of 16 bits around a mean, at most so far from it.
    fn add(&mut self, name: &str, shape: &[usize], mean: f32, away: f32) {
        let begin = self.numbers.len();
        for _ in 0..shape.iter().product::<usize>() {
            let number = (random(self.drawn) >> 40) as f32 / (1 << 23) as f32 - 1.0;
            let number = f16::from_f32(mean + away * number);
            self.numbers.extend(number.to_le_bytes());
            self.drawn += 1;
        }
        let place =
            json!({"dtype": "F16", "shape": shape, "data_offsets": [begin, self.numbers.len()]});
        self.header.insert(name.to_owned(), place);
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) {
        let away = 1.4 / (inputs as f32).sqrt();
        self.add(&format!("{name}.weight"), &[outputs, inputs], 0.0, away);
        self.add(&format!("{name}.bias"), &[outputs], 0.0, 0.17);
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.add(&format!("{name}.weight"), &[width], 1.0, 0.3);
        self.add(&format!("{name}.bias"), &[width], 0.0, 0.17);
    }

    /// The bytes of the file.
    fn file(self) -> Vec<u8> {
        let header = Value::Object(self.header).to_string();
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header.as_bytes(), &self.numbers].concat()
    }
}
