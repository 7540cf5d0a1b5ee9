//! Descriptions that people write of tables, where the node takes them.
//!
//! A node writes no index itself. It hands a description to its [`Describer`], which does what
//! `limn context` does, in a process of its own; then the node goes on to the snapshot that this
//! published.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use limn_segment::{REGISTERED, TableKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Grant, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// Bytes of a description.
const TEXT: usize = 16_000;

/// Writes descriptions into the index.
pub trait Describer: std::fmt::Debug + Send + Sync {
    /// Registers `change.text` for a table and takes `change.replaces` back, in one snapshot.
    ///
    /// # Errors
    /// Why nothing was written.
    fn describe(&self, change: Change) -> Describing;
}

/// A description on its way.
pub type Describing = Pin<Box<dyn Future<Output = Result<(), DescribeError>> + Send>>;

/// What becomes of a table's description.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Change {
    /// The table.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// The new text; empty where one is taken back.
    pub text: String,
    /// The registered text that it takes the place of.
    pub replaces: Option<String>,
}

/// Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// Another run published first.
    #[error("another run wrote the index at the same time")]
    Overtaken,
    /// The lake cannot be read or the index cannot be written.
    #[error("the description cannot be written: {0}")]
    Failed(String),
}

/// A description of a table.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The table's name.
    pub table: String,
    /// Its lake, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// The text; empty to take back the one that it replaces.
    pub text: String,
    /// The text that it takes the place of, as `/v1/table` has it with the source `registered`.
    /// Without it the text is added.
    #[serde(default)]
    pub replaces: Option<String>,
}

/// A description was written.
#[derive(Debug, Serialize, ToSchema)]
pub struct Described {
    /// The snapshot that is served now, which has it.
    pub snapshot: u64,
}

/// Whether this caller may write descriptions, here.
pub fn may_describe(node: &Node, grant: &Grant) -> bool {
    node.describer.is_some() && grant.caller.may(Right::Describe)
}

/// Writes, changes or takes back a description.
///
/// # Errors
/// No such table among those that the caller may see; a caller without the right; a node that takes
/// none; a text that is not, or no longer, the table's.
pub async fn set_description(
    node: &Arc<Node>,
    grant: &Grant,
    asked: &Description,
) -> Result<Described, Problem> {
    grant.require(Right::Search)?;
    grant.require(Right::Describe)?;
    let Some(describer) = &node.describer else {
        return Err(Problem::new(
            Code::NotFound,
            "this node takes no descriptions",
            "its operator can start it with --descriptions; limn context add writes them, too",
        ));
    };
    let text = short_enough("the description", asked.text.trim(), TEXT)?;
    if text.is_empty() && asked.replaces.is_none() {
        return Err(Problem::bad(
            "the description is empty",
            "say what the table is for, or name the text that is taken back",
        ));
    }
    let key: TableKey = grant
        .table(&asked.table, asked.lake.as_deref())?
        .key
        .to_key();
    if let Some(old) = &asked.replaces {
        let row = grant.row(node, &key).await?;
        let mut registered = row.contexts.iter().filter(|it| it.source == REGISTERED);
        if !registered.any(|context| context.text == *old) {
            return Err(Problem::bad(
                "the table has no such description any more",
                "somebody else may have changed it: load the table again",
            ));
        }
    }
    let change = Change {
        table: key.name,
        lake: key.lake,
        text: text.to_owned(),
        replaces: asked.replaces.clone(),
    };
    tracing::info!(caller = %grant.caller.id, "a description is written");
    describer.describe(change).await.map_err(unwritten)?;
    node.advance().await?;
    Ok(Described {
        snapshot: node.live.number(),
    })
}

fn unwritten(error: DescribeError) -> Problem {
    match error {
        DescribeError::Overtaken => Problem::new(
            Code::Unavailable,
            error.to_string(),
            "send the description again",
        ),
        DescribeError::Failed(_) => {
            tracing::error!(%error, "a description cannot be written");
            Problem::new(
                Code::Unavailable,
                "the description cannot be written now",
                "tell the operator; the log says why",
            )
        }
    }
}
