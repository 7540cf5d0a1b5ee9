//! The reads that a group's work needs: its files, and the texts about its tables.

use limn_lake::contexts::{About, SharedKind};
use limn_lake::{ContextSource, ContextText, Group, GroupKind};

use crate::pending::parts_of;
use crate::read::{Part, ReadSource, ReadTask, WantedParts};
use crate::select::{GroupOwners, Work};
use crate::wire::Wire;

/// The reads that a group's work needs.
pub fn read_tasks(work: Work, owners: GroupOwners) -> Vec<ReadTask> {
    let Work::Describe(Wire(plan)) = work else {
        return Vec::new();
    };
    parts_of(&plan)
        .filter_map(|part| {
            let is_probed = matches!(part, Part::File(index) if plan.probed.contains(&index));
            let source = match part {
                Part::File(index) => {
                    ReadSource::Data(plan.group.files.get(index as usize)?.clone())
                }
                Part::Context(index) => match plan.group.contexts.get(index as usize)? {
                    context @ ContextSource {
                        source: ContextText::Sidecar { object },
                        ..
                    } => ReadSource::Sidecar(object.clone(), context.fingerprint()),
                    context @ ContextSource {
                        source:
                            ContextText::Shared {
                                object,
                                kind,
                                about,
                                ..
                            },
                        ..
                    } => ReadSource::Shared {
                        object: object.clone(),
                        kind: *kind,
                        wanted: wanted_parts(&plan.group, context, *kind, about),
                    },
                    ContextSource { .. } => return None,
                },
            };
            Some(ReadTask {
                group: plan.id,
                part,
                source: Wire(source),
                owner: owners.owner(plan.id),
                is_probed,
            })
        })
        .collect()
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
