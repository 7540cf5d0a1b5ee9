//! The embedded language model: Llama and Qwen2 weights on this machine.

mod cache;
mod device;
mod engine;
mod gguf;
mod load;
mod matrix;
mod model;
mod network;
mod on_cpu;
mod safetensors;
mod schedule;
mod shape;
mod stages;
mod tokens;

pub use model::{Decoder, DecoderOptions};

#[cfg(test)]
mod reference;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial {
    use super::*;
    use device::{Device, Piece, Scores, Wanted};
    use std::sync::Arc;

    #[test]
    #[ignore]
    fn trial() {
        let path = std::env::var("GGUF").unwrap();
        let threads: usize = std::env::var("THREADS").map_or(2, |t| t.parse().unwrap());
        let start = std::time::Instant::now();
        let file = gguf::Gguf::open(path.as_ref()).unwrap();
        let shape = file.shape().unwrap();
        println!("{shape:?}");
        let tokens = tokens::Tokens::of_pieces(file.pieces().unwrap(), "trial").unwrap();
        let weights = load::weights(&file, &shape, crate::kernels::Cpu::detect()).unwrap();
        println!("loaded in {:?}", start.elapsed());
        for cpu in crate::kernels::Cpu::all() {
            if std::env::var("CPU").is_ok_and(|name| name != cpu.name()) {
                continue;
            }
            println!("{} ", cpu.name());
        }
        let cpu = crate::kernels::Cpu::all()
            .into_iter()
            .find(|cpu| std::env::var("CPU").map_or(true, |name| name == cpu.name()))
            .unwrap();
        let mut network = network::Network::new(shape, weights, threads, cpu).unwrap();
        let prompt = tokens.prompt(&crate::Prompt { system: Arc::from("You describe columns of tables briefly."), shared: Arc::from("A table has the columns: `AddressID` | `City` | `StateProvinceID` | `PostalCode` | `ModifiedDate`. "), own: "Describe briefly what the column `StateProvinceID` holds. If you are not certain, write exactly: No description.".into() }).unwrap();
        println!("{:?}", prompt);
        let all: Vec<u32> = prompt
            .shared
            .iter()
            .flatten()
            .chain(&prompt.own)
            .copied()
            .collect();
        let id = network.reserve(None, all.len() + 40).unwrap();
        let start = std::time::Instant::now();
        let mut next = match network
            .step(&[Piece {
                segment: id,
                tokens: all.clone(),
                wanted: Wanted::Next,
            }])
            .unwrap()[0]
        {
            Scores::Next(t) => t,
            _ => panic!(),
        };
        println!("prompt {} tokens in {:?}", all.len(), start.elapsed());
        let mut out = vec![];
        let start = std::time::Instant::now();
        while out.len() < 40 && !tokens.is_end(next) {
            out.push(next);
            next = match network
                .step(&[Piece {
                    segment: id,
                    tokens: vec![next],
                    wanted: Wanted::Next,
                }])
                .unwrap()[0]
            {
                Scores::Next(t) => t,
                _ => panic!(),
            };
        }
        println!(
            "{:?}  {:.1} tokens/s",
            tokens.decode(&out),
            out.len() as f64 / start.elapsed().as_secs_f64()
        );
        for count in [64, 128, 256, 512] {
            let many: Vec<u32> = all.iter().cycle().take(count).copied().collect();
            let id = network.reserve(None, count).unwrap();
            let start = std::time::Instant::now();
            network
                .step(&[Piece {
                    segment: id,
                    tokens: many,
                    wanted: Wanted::Next,
                }])
                .unwrap();
            println!(
                "prompt {count}: {:.1} tokens/s",
                count as f64 / start.elapsed().as_secs_f64()
            );
        }
        for count in [4, 8, 16, 32, 64, 128] {
            let pieces: Vec<Piece> = (0..count)
                .map(|_| Piece {
                    segment: network.reserve(Some(id), 64).unwrap(),
                    tokens: vec![all[0]],
                    wanted: Wanted::Next,
                })
                .collect();
            let start = std::time::Instant::now();
            for _ in 0..4 {
                network.step(&pieces).unwrap();
            }
            println!(
                "generate {count}: {:.1} tokens/s",
                4.0 * count as f64 / start.elapsed().as_secs_f64()
            );
        }
    }

    fn cpu_ns() -> f64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    #[ignore]
    fn kernel_speed() {
        use crate::kernels::Cpu;
        for (inputs, outputs) in [(1536, 17920), (8960, 1536), (576, 3072)] {
            let weights: Vec<f32> = (0..inputs * outputs)
                .map(|i| ((i * 7919) % 255) as f32 - 127.0)
                .collect();
            let matrix = matrix::Matrix::pack(Cpu::detect(), &weights, inputs, None);
            for count in [1, 16, 64, 256] {
                let rows: Vec<f32> = (0..count * inputs)
                    .map(|i| ((i * 31) % 101) as f32 - 50.0)
                    .collect();
                let mut bytes = matrix::ByteRows::default();
                let start = cpu_ns();
                let (lines, scales, groups) = bytes.resize(count, inputs);
                for ((numbers, lines), scales) in rows
                    .chunks(16 * inputs)
                    .zip(lines.chunks_mut(32 * groups))
                    .zip(scales.chunks_mut(16 * groups))
                {
                    Cpu::detect().to_bytes(stages::TileRows {
                        numbers,
                        from: inputs,
                        lines,
                        scales,
                        space: &mut vec![],
                    });
                }
                let rounding = (cpu_ns() - start) / (count * inputs) as f64;
                let mut out = vec![0.0; count * outputs];
                for cpu in Cpu::all() {
                    if cpu.name() == "portable" {
                        continue;
                    }
                    let target = stages::SharedNumbers::of(&mut out);
                    cpu.multiply_groups(
                        bytes.part(0..count),
                        matrix.part(0..matrix.blocks()),
                        target,
                        outputs,
                    );
                    let n = (4000 / count).max(20);
                    let start = cpu_ns();
                    for _ in 0..n {
                        cpu.multiply_groups(
                            bytes.part(0..count),
                            matrix.part(0..matrix.blocks()),
                            target,
                            outputs,
                        );
                    }
                    let ns = (cpu_ns() - start) / n as f64;
                    println!(
                        "{inputs}x{outputs} rows {count} {}: {:.0} GMAC/s, {:.1} GB/s, rounding {:.2} ns",
                        cpu.name(),
                        (inputs * outputs * count) as f64 / ns,
                        (inputs * outputs) as f64 / ns,
                        rounding
                    );
                }
            }
        }
    }
}
