//! Which tables a shared text reaches.
//!
//! A manifest reaches the tables of its directory and of all below; a README or a dictionary those of its directory: its files, the
//! directory as a table, and, by name only, tables that are folders there. So a part of a lake can still be laid out from
//! its own objects, the files beside it and the manifests above it.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{ContextSource, ContextText, Group, GroupKind, Layout};
use crate::contexts::SharedKind;
use crate::object::ObjectRecord;
use crate::place::split_path;
use crate::reach::is_within;

/// Tables of a directory up to which a README is told whole of each; of more it is told in parts.
pub(super) const MOST_TABLES: usize = 20;
/// Files of a table by whose paths a text may name it.
const MOST_PATHS: usize = 64;

/// Gives each table in reach the texts, after its other contexts: nearest first, manifests before prose.
pub(super) fn deliver(mut shared: Vec<(SharedKind, ObjectRecord)>, layout: &mut Layout) {
    let depth = |object: &ObjectRecord| object.path.matches('/').count();
    shared
        .sort_by_cached_key(|(kind, object)| (Reverse(depth(object)), *kind, object.path.clone()));
    // Groups are in the order of their paths: those below a directory are neighbours.
    let paths: Vec<String> = layout.groups.iter().map(|it| it.path.clone()).collect();
    let mut near: HashMap<String, Vec<(usize, bool)>> = HashMap::new();
    if !shared.is_empty() {
        for (at, group) in layout.groups.iter().enumerate() {
            let parent = split_path(&group.path).0;
            if group.kind == GroupKind::File {
                near.entry(parent.to_owned()).or_default().push((at, true));
                continue;
            }
            near.entry(group.path.clone()).or_default().push((at, true));
            if !group.path.is_empty() {
                near.entry(parent.to_owned()).or_default().push((at, false));
            }
        }
    }
    for (kind, object) in shared {
        let directory = split_path(&object.path).0;
        let reached: Vec<(usize, bool)> = if kind.reaches_below() {
            let first = match directory {
                "" => 0,
                _ => paths.partition_point(|path| path.as_str() < directory),
            };
            let from = (first..).zip(&paths[first..]);
            // Between a directory and what is below it come names that go on with other letters.
            let candidates = from.take_while(|(_, path)| path.starts_with(directory));
            let within = candidates.filter(|(_, path)| is_within(path, directory));
            within.map(|(at, _)| (at, false)).collect()
        } else {
            near.get(directory).cloned().unwrap_or_default()
        };
        if reached.is_empty() {
            layout.ignored.add_other(&object.path);
        }
        let own = reached.iter().filter(|(_, is_own)| *is_own).count();
        let most = match kind {
            SharedKind::Readme => MOST_TABLES,
            // It is about columns: of one table, if no other is there.
            SharedKind::Dictionary => 1,
            _ => 0,
        };
        for (at, is_own) in reached {
            let group = &mut layout.groups[at];
            let source = ContextText::Shared {
                object: object.clone(),
                kind,
                whole: is_own && own <= most,
                about: about(group),
                known: None,
            };
            group.contexts.push(ContextSource {
                table: group.name.clone(),
                source,
            });
        }
    }
}

fn about(group: &Group) -> Vec<String> {
    let files = group.files.iter().map(|file| file.object.path.clone());
    match group.kind {
        GroupKind::File => files.collect(),
        GroupKind::Directory => vec![group.path.clone()],
        GroupKind::Family => {
            let all = std::iter::once(group.path.clone()).chain(files.take(MOST_PATHS));
            all.collect()
        }
    }
}

/// A family's shared text as that of one of its files, which turned out a table of its own.
pub(super) fn handed_on(context: &ContextSource, file: &Group, is_small: bool) -> ContextSource {
    let mut source = context.source.clone();
    if let ContextText::Shared {
        whole,
        about: paths,
        known,
        ..
    } = &mut source
    {
        *whole &= is_small;
        *paths = about(file);
        *known = None;
    }
    ContextSource {
        table: file.name.clone(),
        source,
    }
}
