//! A real OpenAI-compatible server on loopback: llama.cpp's, from `tests/requirements.txt`, with
//! the smallest model that limn knows.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use limn_models::{LanguageModelFiles, ModelStore, SMOLLM2};

use crate::repository;

/// The key that the server wants.
pub const KEY: &str = "limn-test-s3cret-key";
/// The tokens of a prompt and its answer that it has room for.
pub const WINDOW: usize = 1024;

/// A running server; it ends when dropped.
pub struct LlamaServer {
    process: Child,
    /// Its address, `http://127.0.0.1:port/v1`.
    pub endpoint: String,
}

impl LlamaServer {
    /// Starts a server that writes and chooses.
    pub fn start() -> Self {
        Self::start_for("chat")
    }

    /// Starts a server that embeds.
    pub fn start_embedder() -> Self {
        Self::start_for("embeddings")
    }

    /// Starts a server, the model fetched if it is not here, and waits until it can be asked.
    fn start_for(what: &str) -> Self {
        let tools = PathBuf::from(std::env::var("HOME").unwrap_or_default());
        let tools = tools.join(".cache/limn/python");
        assert!(
            tools.join("xllamacpp").is_dir(),
            "the language model server for tests is missing; run infra/python-tools (infra/test does)"
        );
        let files = ModelStore::from_env().language_model_files(SMOLLM2, &|_| {});
        let files = files.expect("the test model is fetched");
        let LanguageModelFiles::Gguf { path, .. } = &files else {
            panic!("{} is no GGUF file", files.path().display());
        };
        let mut process = Command::new("python3")
            .arg(repository().join("tests/llama_server.py"))
            .arg(path)
            .args([KEY, what])
            .env("PYTHONPATH", &tools)
            // It ends with the test, however that ends.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the language model server starts");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("it was asked for");
        let read = BufReader::new(stdout).read_line(&mut address);
        let address = address.trim();
        assert!(
            read.is_ok() && address.starts_with("http://127.0.0.1:"),
            "the language model server gave no address; run it by hand: python3 tests/llama_server.py"
        );
        Self {
            endpoint: format!("{address}/v1"),
            process,
        }
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        // A process that has ended is as good as killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
