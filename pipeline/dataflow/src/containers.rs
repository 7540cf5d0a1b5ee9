//! Containers: every archive that a listing names is replaced by its members.
//!
//! A container whose members are all in the index, in its present version, is not opened: they say
//! so themselves ([`limn_formats::member`]), and so does what stands for members that cannot be
//! read, that filters leave out, or that there are not. One that cannot be opened is listed as the
//! reason; its tables stay as they are in the index, as if it had not been listed.

use std::collections::HashMap;

use futures::stream::{self, StreamExt};
use limn_formats::member::{all_members, is_remark, unopened};
use limn_formats::{Listed, ObjectRecord, ReadOptions};
use limn_lake::filter::{IgnoreFiles, Selection};
use limn_lake::layout::is_container;
use limn_lake::open_container;
use limn_store::Store;

use crate::error::PipelineError;
use crate::listing::Listing;
use crate::published::Published;
use crate::report::Failure;

/// Containers opened at once. Each holds about a scan budget and what its decoder needs.
const OPENED_AT_ONCE: usize = 4;

/// What filters leave out of containers.
struct Chosen<'a> {
    selection: &'a Selection,
    ignored: &'a IgnoreFiles,
}

impl Chosen<'_> {
    /// What distinguishes the filters that hold for a container's members from others.
    fn fingerprint(&self, container: &str) -> u64 {
        self.selection.fingerprint() ^ self.ignored.fingerprint(container)
    }

    fn has(&self, path: &str, size: u64) -> bool {
        // By their time containers are chosen as wholes.
        self.selection.has(path, size, 0) && !self.ignored.ignores(path)
    }

    /// Whether anybody waits for a container: its own path was asked for, or the index has a table
    /// of it that counts. Any other may have members that were asked for, too; where it cannot be
    /// opened, it is as if it had none.
    fn wants(&self, container: &str, known: &[ObjectRecord]) -> bool {
        let mut members = known.iter().filter(|member| !is_remark(&member.path));
        self.selection.includes(container) || members.any(|it| self.has(&it.path, it.size))
    }
}

impl Listing {
    /// Puts the members of containers in their places.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(crate) async fn open_containers(
        &mut self,
        lake: &Store,
        published: &Published,
        selection: &Selection,
        options: &ReadOptions,
    ) -> Result<(), PipelineError> {
        let mut containers: Vec<ObjectRecord> = Vec::new();
        self.objects.retain(|object| {
            let is_container = is_container(object.path);
            if is_container {
                containers.push(object.record());
            }
            !is_container
        });
        if containers.is_empty() {
            return Ok(());
        }
        let ignored = std::mem::take(&mut self.ignore_files);
        let chosen = Chosen {
            selection,
            ignored: &ignored,
        };
        let mut known: HashMap<String, Vec<ObjectRecord>> = published.members_of_containers()?;
        let opened = containers.into_iter().map(|container| {
            let known = known.remove(&container.path).unwrap_or_default();
            let filters = chosen.fingerprint(&container.path);
            let is_wanted = chosen.wants(&container.path, &known);
            async move {
                let opened = match all_members(&container, &known, filters) {
                    Some(listed) => Ok(listed),
                    None => open_container(lake, &container, options).await,
                };
                (container, opened, is_wanted)
            }
        });
        let mut opened = stream::iter(opened).buffered(OPENED_AT_ONCE);
        while let Some((container, opened, is_wanted)) = opened.next().await {
            let listed = match opened {
                Ok(listed) if !is_wanted && listed.unopened().any(|it| it == container.path) => {
                    self.members_left_out += 1;
                    continue;
                }
                Ok(mut listed) => {
                    let filters = chosen.fingerprint(&container.path);
                    let wanted = |path: &str, size| chosen.has(path, size);
                    self.members_left_out += listed.filter(&container, filters, wanted) as usize;
                    listed
                }
                // The next run tries again.
                Err(error) if error.is_retryable() => {
                    self.failures.push(Failure::from(&error));
                    self.unlisted.push(container.path);
                    continue;
                }
                Err(_) if !is_wanted => {
                    self.members_left_out += 1;
                    continue;
                }
                Err(error) => unopened(&container, error),
            };
            self.take_in(listed);
        }
        Ok(())
    }

    fn take_in(&mut self, listed: Listed) {
        self.unlisted.extend(listed.unopened().map(str::to_owned));
        self.objects.extend(listed.members);
    }
}
