//! Containers: every archive that a listing names is replaced by its members.
//!
//! A container whose members are all in the index, in its present version, is not opened: they say so themselves
//! ([`limn_lake::member`]). One that cannot be opened counts as not listed, so its tables stay as they are in the
//! index. One of which a member was refused is opened every run, so that the run can say so; and so is one that
//! holds no table.

use std::collections::HashMap;

use futures::stream::{self, StreamExt};
use limn_lake::layout::is_container;
use limn_lake::member::are_all_members;
use limn_lake::{FileError, ObjectRecord, Opened, ReadOptions, open_container};
use limn_store::Store;

use crate::listing::Listing;
use crate::published::Published;
use crate::report::Failure;

/// Containers opened at once. Each holds about a scan budget and what its decoder needs.
const OPENED_AT_ONCE: usize = 4;

fn failure(error: &FileError) -> Failure {
    Failure {
        table: String::new(),
        object: error.object.clone(),
        error: error.to_string(),
    }
}

impl Listing {
    /// Puts the members of containers in their places.
    pub(crate) async fn open_containers(
        &mut self,
        lake: &Store,
        published: &Published,
        options: &ReadOptions,
    ) {
        let containers: Vec<ObjectRecord> = self
            .objects
            .extract_if(.., |object| is_container(&object.path))
            .collect();
        if containers.is_empty() {
            return;
        }
        let mut known: HashMap<String, Vec<ObjectRecord>> = published.members_of_containers();
        let opened = containers.into_iter().map(|container| {
            let known = known.remove(&container.path).unwrap_or_default();
            async move {
                if are_all_members(&container, &known) {
                    let members = known;
                    let refused = Vec::new();
                    return (container, Ok(Opened { members, refused }));
                }
                let opened = open_container(lake, &container, options).await;
                (container, opened)
            }
        });
        let mut opened = stream::iter(opened).buffered(OPENED_AT_ONCE);
        while let Some((container, opened)) = opened.next().await {
            match opened {
                Ok(Opened { members, refused }) => {
                    self.objects.extend(members);
                    self.failures.extend(refused.iter().map(failure));
                }
                Err(error) => {
                    self.failures.push(failure(&error));
                    self.unlisted.push(container.path);
                }
            }
        }
    }
}
