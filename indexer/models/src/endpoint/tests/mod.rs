//! The endpoint engine against servers on this machine that keep the protocol, and break it.

#![allow(clippy::unwrap_used)]

mod chat;
mod embeddings;
mod failures;
mod server;

use std::sync::Arc;
use std::time::Duration;

use super::{EndpointKey, EndpointModel, EndpointOptions};
use crate::{Limits, Prompt};
use server::Server;

const KEY: &str = "sk-s3cret-of-the-tests";

fn options(server: &Server) -> EndpointOptions {
    let mut options = EndpointOptions::new(format!("{}/v1", server.url), "toy");
    options.key = Some(EndpointKey::new(KEY));
    options.timeout = Duration::from_secs(10);
    options
}

fn model(server: &Server) -> EndpointModel {
    EndpointModel::new(&options(server)).unwrap()
}

fn prompt(own: &str) -> Prompt {
    Prompt {
        system: Arc::from("You answer."),
        shared: Arc::from("About this: "),
        own: own.to_owned(),
    }
}

fn limits(max_tokens: usize, stop: &[&str]) -> Limits {
    Limits {
        max_tokens,
        stop: stop.iter().map(|&stop| stop.to_owned()).collect(),
    }
}
