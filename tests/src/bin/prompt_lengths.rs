//! Prints how long the narration prompts of a folder of CSV files are: a line a table, the tokens
//! of its schema, then those of each column's own part, as SmolLM2 counts them.
//! `decoder/lengths.txt` of `limn-models`, what the batch scheduler is simulated with, was made of
//! the spider corpus by it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};

use limn_models::{Decoder, DecoderOptions, LanguageModel, ModelStore, SMOLLM2};
use limn_summary::narration::{PromptBudget, schema_prompts};

/// Tokens that the format puts after a column's own part.
const ENDING: usize = 5;

fn main() {
    let folder = std::env::args()
        .nth(1)
        .expect("usage: prompt_lengths FOLDER");
    let files = ModelStore::from_env()
        .language_model_files(SMOLLM2, &|_| {})
        .unwrap();
    let model = Decoder::load(&files, &DecoderOptions::default()).unwrap();
    let count = |text: &str| model.count_tokens(text);
    let budget = PromptBudget {
        count: &count,
        tokens: 1024,
    };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let mut header = String::new();
        BufReader::new(std::fs::File::open(path).unwrap())
            .read_line(&mut header)
            .unwrap();
        let names: Vec<String> = header
            .trim()
            .split(',')
            .map(|name| name.trim_matches('"').to_owned())
            .collect();
        let wanted: Vec<usize> = (0..names.len()).collect();
        let prompts = schema_prompts(&names, &wanted, &budget);
        let own = prompts.iter().map(|prompt| count(&prompt.own) + ENDING);
        let line: Vec<String> = std::iter::once(count(&prompts[0].shared))
            .chain(own)
            .map(|n| n.to_string())
            .collect();
        println!("{}", line.join(" "));
    }
}
