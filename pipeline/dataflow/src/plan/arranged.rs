//! Which groups of a lake are families of several tables, as far as this is certain before they are
//! read.

use futures::future::join_all;
use limn_formats::Format;
use limn_lake::evolution::{self, Shapes};
use limn_lake::{ContextSource, ContextText, Group, GroupKind, Layout, Outline, TableFile};

use super::group::members;
use super::planner::Planner;
use crate::error::PipelineError;
use crate::published::KnownFile;
use crate::scope::Part;

/// A group as it is, or one of the groups that a family turned out to be.
pub(super) struct Arranged {
    /// Where the group, or the family, is in the layout.
    pub(super) at: usize,
    /// Whether it is as it was laid out.
    pub(super) is_as_laid_out: bool,
    pub(super) group: Group,
}

/// A group of a layout that was looked at.
pub(super) enum Looked<'a> {
    /// Nothing is published, and it is as it was laid out at this place.
    New(usize, Outline<'a>),
    /// What it is, and the contexts that name no table then.
    Arranged(Vec<Arranged>, Vec<String>),
}

/// How a family is split.
enum Split {
    /// Not at all, before all of its files are read.
    Not,
    /// Into a table a file.
    Apart,
    Into(Vec<Group>),
}

impl Planner {
    /// Looks at the group at a place of a layout. While nothing is published, only the files that
    /// are probed are made: a survey of all tables needs no more of a group than its outline.
    pub(super) async fn look_at<'a>(
        &self,
        layout: &'a Layout,
        at: usize,
        part: &Part,
    ) -> Result<Looked<'a>, PipelineError> {
        let is_new = !self.published.has_any() && part.tables.is_none();
        let mut is_apart = false;
        if is_new && let Some(outline) = layout.outline(at) {
            is_apart = outline.kind == GroupKind::Family
                && outline.files > evolution::PROBES
                && Box::pin(self.is_new_apart(layout, at)).await;
            if !is_apart {
                return Ok(Looked::New(at, outline));
            }
        }
        let Some(group) = layout.group(at) else {
            return Ok(Looked::Arranged(Vec::new(), Vec::new()));
        };
        let (found, orphans) = Box::pin(self.arrange(at, group, is_apart)).await?;
        Ok(Looked::Arranged(found, orphans))
    }

    /// Whether a family of whose files nothing is known is certainly a table a file.
    async fn is_new_apart(&self, layout: &Layout, at: usize) -> bool {
        let mut probes = evolution::probes_among(layout.paths(at));
        // A group's files are by path.
        probes.sort_unstable();
        let mut family = layout.group_with(at, &probes);
        let has_sheets = |it: &Group| it.files.iter().any(|it| it.format == Format::Sheet);
        // All files show whether they are the sheets of one book.
        if family.as_ref().is_some_and(has_sheets) {
            family = layout.group(at);
        }
        let Some(family) = family else {
            return false;
        };
        let unknown: Vec<usize> = (0..family.files.len()).collect();
        self.is_apart(&family, &unknown, &mut Shapes::default())
            .await
    }

    /// A group as it is, or a family that is certainly not one table as a group a file; and the
    /// contexts that name no table then.
    async fn arrange(
        &self,
        at: usize,
        group: Group,
        is_apart: bool,
    ) -> Result<(Vec<Arranged>, Vec<String>), PipelineError> {
        let kind = group.kind;
        let (groups, orphans) = match is_apart {
            true => taken_apart(group),
            false => self.split(group).await?,
        };
        let is_split = groups.len() != 1 || groups.iter().any(|it| it.kind != kind);
        let mut arranged = Vec::with_capacity(groups.len());
        for mut group in groups {
            let is_known = self.compare_shared_texts(&mut group).await?;
            arranged.push(Arranged {
                at,
                is_as_laid_out: !is_split && !is_known,
                group,
            });
        }
        Ok((arranged, orphans))
    }

    /// A family as its tables, as far as this is certain.
    ///
    /// It looks at what the catalog knows, and reads a few files where that is not enough. While it
    /// does not know all files it leaves the family together, unless its probes decide: the
    /// dataflow arranges it by the same rules when it has seen every file. So this can change how
    /// much one change costs, never what tables there are.
    async fn split(&self, group: Group) -> Result<(Vec<Group>, Vec<String>), PipelineError> {
        if group.kind != GroupKind::Family {
            return Ok((vec![group], Vec::new()));
        }
        Ok(match self.how_split(&group).await? {
            Split::Not => (vec![group], Vec::new()),
            Split::Apart => taken_apart(group),
            Split::Into(groups) => {
                let is_family = groups.iter().any(|it| it.kind == GroupKind::Family);
                let orphans = match is_family {
                    true => Vec::new(),
                    false => unclaimed(&group),
                };
                (groups, orphans)
            }
        })
    }

    async fn how_split(&self, group: &Group) -> Result<Split, PipelineError> {
        let mut shapes = Shapes::default();
        let mut unknown: Vec<usize> = Vec::new();
        for (at, file) in group.files.iter().enumerate() {
            let path = file.object.path.as_str();
            match self.published.file(file.content_fingerprint())? {
                Some(KnownFile::Summary(mut summary)) => {
                    summary.redact(self.redact);
                    shapes.add(path, &summary);
                }
                Some(KnownFile::NoTable) => {}
                // It cannot be read: its last good version says what it is like.
                Some(KnownFile::Unread(_)) => {
                    if let Some(mut last) = self.published.last_good(path)? {
                        last.redact(self.redact);
                        shapes.add(path, &last);
                    }
                }
                None => unknown.push(at),
            }
        }
        if unknown.is_empty() {
            return Ok(Split::Into(evolution::arrange(group.clone(), &shapes)));
        }
        // A small family may as well wait until all of it is read.
        let is_large = unknown.len() > evolution::PROBES;
        let is_apart = is_large && self.is_apart(group, &unknown, &mut shapes).await;
        Ok(match is_apart {
            true => Split::Apart,
            false => Split::Not,
        })
    }

    /// Whether a family is certainly a table a file. The files that show it first are read, where
    /// nothing is known of them.
    async fn is_apart<'a>(
        &self,
        group: &'a Group,
        unknown: &[usize],
        shapes: &mut Shapes<'a>,
    ) -> bool {
        let probes = evolution::probes(group).into_iter();
        let probes = probes.filter(|at| unknown.binary_search(at).is_ok());
        let probes: Vec<&'a TableFile> = probes.map(|at| &group.files[at]).collect();
        let probed = probes.iter().copied().map(|file| self.reader.probe(file));
        let mut are_read = true;
        for (file, probed) in probes.iter().copied().zip(join_all(probed).await) {
            match probed {
                Some(mut summary) => {
                    summary.redact(self.redact);
                    shapes.add(&file.object.path, &summary);
                }
                // The dataflow finds out why.
                None => are_read = false,
            }
        }
        are_read && evolution::is_apart(group, shapes)
    }

    /// Of texts about several tables that the index has in another version: whether they say the
    /// same of the group's table as they did. One that changed is read here, once for all tables,
    /// so that only those are described again whose part changed. Whether there is any.
    async fn compare_shared_texts(&self, group: &mut Group) -> Result<bool, PipelineError> {
        if !group.contexts.iter().any(ContextSource::is_shared) {
            return Ok(false);
        }
        let mut is_any = false;
        let current = members(group, self.settings);
        let current = current.into_iter().skip(group.files.len());
        for (context, member) in group.contexts.iter_mut().zip(current) {
            let ContextText::Shared {
                object,
                kind,
                about,
                known,
            } = &mut context.source
            else {
                continue;
            };
            let table = context.table.as_str();
            let before = self
                .published
                .part_of_another_version(table, &object.path, member)?;
            let Some((version, before)) = before else {
                continue;
            };
            // The dataflow reports one that cannot be read.
            if let Some(shared) = self.reader.look_at(object, *kind).await
                && shared.part(about) == before
            {
                *known = Some(version);
                is_any = true;
            }
        }
        Ok(is_any)
    }
}

/// A family as a table a file, and the contexts that name none of them.
fn taken_apart(group: Group) -> (Vec<Group>, Vec<String>) {
    let orphans = unclaimed(&group);
    (group.part(|_| false), orphans)
}

/// The tables of contexts that name none of a family's files.
fn unclaimed(group: &Group) -> Vec<String> {
    let unclaimed = group.unclaimed_contexts();
    let mut orphans: Vec<String> = unclaimed.map(|it| it.table.to_string()).collect();
    orphans.dedup();
    orphans
}

#[cfg(test)]
mod tests;
