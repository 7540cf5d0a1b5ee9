//! `limn mcp`: tools for an agent, on standard input and output.

use std::sync::Arc;

use limn_node::access::{Access, Caller, Reach};
use limn_node::mcp::serve_stdio;
use limn_node::{Node, NodeOptions};
use limn_pipeline::CancellationToken;
use limn_segment::IndexStore;

use crate::Outcome;
use crate::args::McpArgs;
use crate::commands::serve::{ask, cache, sql};
use crate::commands::{embedder_of, judge, newest};
use crate::progress::say;

pub async fn run(args: McpArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let embedder = embedder_of(&snapshot, &args.encoder).await?;
    let judge = judge::open(&args.judge, &args.model).await?.judge;
    let options = NodeOptions {
        ask: ask(&args.ask, &args.sql, &args.model, judge.as_deref()).await?,
        previews: !args.no_previews,
        sql: sql(&args.sql),
        judge,
        grading: judge::grading(&args.judge)?,
        cache: match index.store.local_root() {
            Some(_) => None,
            None => cache(&args.cache),
        },
        ..NodeOptions::new(Access::Open)
    };
    let node = Arc::new(Node::open(index, snapshot, embedder, options).await?);
    let mut caller = Caller::anyone();
    if !args.prefix.is_empty() {
        caller.reach = Reach::under(args.prefix);
    }
    let stop = CancellationToken::new();
    let serving = tokio::spawn({
        let (node, stop) = (Arc::clone(&node), stop.clone());
        async move {
            let served = serve_stdio(node, caller).await;
            stop.cancel();
            served
        }
    });
    node.follow(stop).await;
    let has_begun = serving
        .await?
        .map_err(|error| anyhow::anyhow!("the agent's connection broke: {error}"))?;
    if !has_begun {
        say(
            "standard input ended before a session began; an agent is expected to speak MCP there (or over HTTP: limn serve, /mcp)",
        );
    }
    Ok(Outcome::Done)
}
