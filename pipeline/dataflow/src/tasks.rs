//! What a group's work begins with: what is published of its files, and of the texts about its
//! tables, is looked up, and the others are to be read.

use limn_lake::contexts::{About, SharedKind};
use limn_lake::{ContextSource, ContextText, Group, GroupKind};

use serde::{Deserialize, Serialize};

use crate::assemble::GroupPart;
use crate::error::PipelineError;
use crate::pending::parts_of;
use crate::plan::GroupPlan;
use crate::read::{Part, ReadResult, ReadSource, ReadTask, Reader, WantedParts};
use crate::select::{GroupOwners, Work};
use crate::wire::Wire;

/// What comes of work before anything is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LookedUp {
    /// A group whose tables are to be made, or what is known of a part of it.
    Part(Box<GroupPart>),
    /// What is to be done yet.
    Rest(Rest),
}

/// What is to be done once a group was looked up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Rest {
    /// A part that is to be read.
    Read(Box<ReadTask>),
    /// Work for which nothing is read.
    AtOnce(Box<Work>),
}

/// Parts that are looked up before other tasks have their turn.
const AT_ONCE: usize = 256;

/// Looks the parts of a group up in what is published. This process has to have the group.
///
/// # Errors
/// The temporary folder cannot be used.
pub async fn look_up(
    reader: &Reader,
    work: Work,
    owners: GroupOwners,
) -> Result<Vec<LookedUp>, PipelineError> {
    let Work::Describe(plan) = work else {
        return Ok(vec![LookedUp::Rest(Rest::AtOnce(Box::new(work)))]);
    };
    let (mut found, mut as_published) = (Vec::new(), Vec::new());
    for (at, task) in read_tasks(&plan.0, owners).enumerate() {
        if at % AT_ONCE == AT_ONCE - 1 {
            tokio::task::yield_now().await;
        }
        found.push(match reader.look_up(&task)? {
            None => LookedUp::Rest(Rest::Read(Box::new(task))),
            Some(Ok(ReadResult::AsPublished)) => {
                as_published.push(task.part);
                continue;
            }
            Some(known) => LookedUp::Part(Box::new(GroupPart::Read(reader.done(&task, known)))),
        });
    }
    let plan = GroupPart::Plan { plan, as_published };
    found.push(LookedUp::Part(Box::new(plan)));
    Ok(found)
}

/// The reads that a group needs.
fn read_tasks(plan: &GroupPlan, owners: GroupOwners) -> impl Iterator<Item = ReadTask> {
    parts_of(plan).filter_map(move |part| {
        let is_probed = matches!(part, Part::File(index) if plan.probed.contains(&index));
        Some(ReadTask {
            group: plan.id,
            part,
            source: Wire(source(&plan.group, part)?),
            owner: owners.owner(plan.id),
            is_probed,
        })
    })
}

/// Where a part of a group is read from.
fn source(group: &Group, part: Part) -> Option<ReadSource> {
    let context = match part {
        Part::File(index) => {
            return Some(ReadSource::Data(group.files.get(index as usize)?.clone()));
        }
        Part::Context(index) => group.contexts.get(index as usize)?,
    };
    match &context.source {
        ContextText::Sidecar { object } => {
            Some(ReadSource::Sidecar(object.clone(), context.fingerprint()))
        }
        ContextText::Shared {
            object,
            kind,
            about,
            ..
        } => Some(ReadSource::Shared {
            object: object.clone(),
            kind: *kind,
            wanted: wanted_parts(group, context, *kind, about),
        }),
        ContextText::Registered { .. } | ContextText::Declared { .. } => None,
    }
}

/// What a group wants of a text about several tables.
fn wanted_parts(
    group: &Group,
    context: &ContextSource,
    kind: SharedKind,
    about: &About,
) -> WantedParts {
    if group.kind != GroupKind::Family {
        return WantedParts::One {
            table: context.table.clone(),
            version: context.fingerprint(),
            about: about.clone(),
        };
    }
    let files = group.files.iter().map(|file| file.object.path.clone());
    let paths = files.chain([group.path.clone()]);
    WantedParts::Of(match kind.may_hold_rows() {
        true => paths.collect(),
        // What people write is short.
        false => Vec::new(),
    })
}
