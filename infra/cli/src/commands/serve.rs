//! `limn serve`: the query node.

use std::sync::Arc;

use anyhow::{Context, bail};
use limn_models::ModelStore;
use limn_node::access::{Access, Issuer, IssuerError, IssuerOptions, KeyFile};
use limn_node::http::{Hosts, ListenOptions, Listener, Tls, router};
use limn_node::{AskOptions, Describer, EventsTo, FeedbackFile, Node, NodeOptions, SqlOptions};
use limn_pipeline::CancellationToken;
use limn_retrieval::judge::Judge;
use limn_segment::{IndexStore, SegmentCache};
use limn_triggers::Token;

use crate::Outcome;
use crate::args::{AskArg, AskLimits, CacheArgs, ModelOptions, OidcArgs, ServeArgs, SqlLimits};
use crate::commands::describer::ContextProcess;
use crate::commands::{embedder_of, judge, language_model, newest};
use crate::interrupt::stop_when_interrupted;
use crate::progress::say;
use crate::text::{one_line, plural};

/// The variable with the token that a watcher asks for.
const TOKEN: &str = "LIMN_EVENTS_TOKEN";

pub async fn run(args: ServeArgs) -> anyhow::Result<Outcome> {
    let is_local = args.listen.ip().is_loopback();
    let issuer = issuer(&args.oidc)?;
    let access = match (&args.keys, &issuer) {
        (None, None) if is_local || args.open_to_all => Access::Open,
        (None, None) => bail!(
            "--listen {} can be reached from other machines: ask for keys (--keys FILE, see limn keys add) or tokens (--oidc-issuer URL), or say that everybody may see everything (--open-to-all)",
            args.listen
        ),
        (keys, issuer) => Access::Shown {
            keys: keys.as_ref().map(KeyFile::open).transpose()?,
            issuer: issuer.clone(),
        },
    };
    if let Access::Shown {
        keys: Some(keys),
        issuer: None,
    } = &access
        && keys.is_empty()
    {
        say("the file of keys holds none, so that nobody can ask yet: limn keys add makes one");
    }
    if !access.is_open() && !is_local && args.tls_cert.is_none() {
        say(
            "keys and tokens come in the clear: give --tls-cert and --tls-key, or put a proxy with TLS before the node",
        );
    }
    let hosts = match (&access, args.open_to_all) {
        (Access::Open, false) => Hosts::Loopback(args.allow_host.clone()),
        _ => Hosts::Any,
    };
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::read(certificate, key)?),
        _ => None,
    };
    // Whether there is a socket to be had is known before anything is loaded.
    let listener = Listener::bind(&ListenOptions {
        address: args.listen,
        tls,
    })
    .await?;
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let embedder = embedder_of(&snapshot, &args.encoder).await?;
    let mut options = options(&args, access).await?;
    if index.store.local_root().is_none() {
        options.cache = cache(&args.cache);
    }
    let node = Arc::new(Node::open(index, snapshot, embedder, options).await?);
    if let Some(issuer) = &issuer
        && let Err(trouble) = issuer.start().await
    {
        say(&format!(
            "the issuer of tokens cannot be asked for its keys: {}; it is asked again, and until it answers tokens are refused (status 503)",
            one_line(&trouble.to_string())
        ));
    }
    let stop = CancellationToken::new();
    stop_when_interrupted(stop.clone(), |_| {
        say("stopping: requests under way are answered; interrupt again to end at once");
    });
    let scheme = if listener.is_encrypted() {
        "https"
    } else {
        "http"
    };
    say(&format!(
        "serving {} of snapshot {} at {scheme}://{}",
        plural(node.table_count() as u64, "table"),
        node.snapshot(),
        listener.address
    ));
    let router = router(Arc::clone(&node), hosts);
    let serving = tokio::spawn(listener.serve(router, stop.clone()));
    node.follow(stop).await;
    serving.await.context("serving failed")?;
    Ok(Outcome::Done)
}

/// The issuer of tokens, if there is one.
fn issuer(args: &OidcArgs) -> Result<Option<Arc<Issuer>>, IssuerError> {
    let Some(issuer) = &args.oidc_issuer else {
        return Ok(None);
    };
    let issuer = Issuer::new(IssuerOptions {
        issuer: issuer.clone(),
        audiences: args.oidc_audience.clone(),
        prefix_claim: args.prefix_claim.clone(),
        rights_claim: args.rights_claim.clone(),
        roots: args.ca.clone(),
    });
    Ok(Some(Arc::new(issuer?)))
}

/// The cache of remote segments; without one the node serves all the same, and reads more.
pub fn cache(args: &CacheArgs) -> Option<SegmentCache> {
    let opened = match &args.cache {
        Some(folder) => SegmentCache::open(folder, args.cache_size),
        None => {
            let folder = ModelStore::from_env()
                .root()
                .ok()?
                .parent()?
                .join("segments");
            SegmentCache::open(&folder, args.cache_size)
        }
    };
    match opened {
        Ok(cache) => Some(cache),
        Err(error) => {
            say(&format!(
                "{}; serving without a cache",
                one_line(&error.to_string())
            ));
            None
        }
    }
}

/// What statements may take, if they are answered.
pub fn sql(args: &SqlLimits) -> Option<SqlOptions> {
    (!args.no_sql).then_some(SqlOptions {
        timeout: args.sql_timeout,
        memory_bytes: args.sql_memory,
        disk_bytes: args.sql_disk,
        max_rows: args.sql_rows,
        at_once: args.sql_at_once,
        confined_program: std::env::current_exe().ok(),
    })
}

/// How questions are answered, if they are. A model that judges is not loaded twice.
pub async fn ask(
    args: &AskLimits,
    sql: &SqlLimits,
    model: &ModelOptions,
    judge: Option<&Judge>,
) -> anyhow::Result<Option<AskOptions>> {
    let model = match (args.ask, judge) {
        _ if sql.no_sql => return Ok(None),
        (AskArg::Off, _) => return Ok(None),
        (AskArg::Rules, _) => None,
        (AskArg::Llm, Some(judge)) => Some(Arc::clone(judge.model())),
        (AskArg::Llm, None) => Some(language_model::open(model).await?),
    };
    Ok(Some(AskOptions {
        model,
        timeout: args.ask_timeout,
        budget_tokens: args.ask_tokens,
    }))
}

async fn options(args: &ServeArgs, access: Access) -> anyhow::Result<NodeOptions> {
    let judging = judge::open(&args.judge, &args.model).await?;
    for note in &judging.notes {
        say(&one_line(note));
    }
    let feedback = args.feedback.as_deref().map(|path| {
        let opened = FeedbackFile::open(path, args.feedback_size);
        opened.map_err(|error| {
            let file = path.display();
            anyhow::anyhow!("{file} cannot be written: {error}; choose another --feedback")
        })
    });
    let events = args.events_to.as_deref().map(|watcher| {
        let token = std::env::var(TOKEN).ok();
        // No watcher takes one that a watcher would not have.
        token.clone().map(Token::new).transpose()?;
        EventsTo::new(watcher, token).map_err(|error| anyhow::anyhow!("--events-to: {error}"))
    });
    let judge = judging.judge.as_deref();
    let ask = ask(&args.ask, &args.sql, &args.model, judge).await?;
    let defaults = NodeOptions::new(access);
    Ok(NodeOptions {
        per_minute: args.per_minute,
        previews: !args.no_previews,
        follow: args.follow,
        judge: judging.judge,
        grading: judge::grading(&args.judge)?,
        feedback: feedback.transpose()?,
        events: events.transpose()?,
        describer: args.descriptions.then(|| {
            let describer = ContextProcess::new(&args.index.index, &args.encoder);
            Arc::new(describer) as Arc<dyn Describer>
        }),
        ask,
        sql: sql(&args.sql),
        patience: args.patience,
        concurrency: args.concurrency,
        threads: args.threads.unwrap_or(defaults.threads),
        remembers: !args.no_question_cache,
        origins: args.allow_origin.clone(),
        ..defaults
    })
}
