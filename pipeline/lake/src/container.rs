//! Containers as a lake has them: which of their members may be tables.

use limn_formats::{FileError, Listed, MemberNames, ObjectRecord, ReadOptions};
use limn_store::Store;

use crate::contexts::SharedKind;
use crate::hidden::is_hidden;
use crate::layout::is_data;

/// A lake's decisions about members by their names.
const NAMES: MemberNames = MemberNames {
    is_data,
    is_hidden,
    is_shared_text: |path| SharedKind::of_path(path).is_some_and(|kind| !kind.may_hold_rows()),
};

/// Lists the members of a container that may hold rows ([`limn_formats::open_container`]).
///
/// # Errors
/// A [`FileError`] that names the container: the store failed, or it is damaged, or a trap.
pub async fn open_container(
    store: &Store,
    container: &ObjectRecord,
    options: &ReadOptions,
) -> Result<Listed, FileError> {
    limn_formats::open_container(store, container, NAMES, options).await
}
