//! Layouts with all their groups, for tests.

use limn_formats::{FileError, ObjectRecord};

use super::{Contexts, Declared, Group, Ignored, LogTable};

/// A layout, and its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) groups: Vec<Group>,
    pub(crate) ignored: Ignored,
    pub(crate) orphans: Vec<String>,
    pub(crate) refused: Vec<FileError>,
}

impl From<super::Layout> for Layout {
    fn from(layout: super::Layout) -> Layout {
        Layout {
            groups: layout.groups().collect(),
            ignored: layout.ignored,
            orphans: layout.orphans,
            refused: layout.refused,
        }
    }
}

pub(crate) fn layout(objects: Vec<ObjectRecord>, registered: &Contexts, root_name: &str) -> Layout {
    super::layout(objects, registered, root_name).into()
}

pub(crate) fn layout_declared(
    objects: Vec<ObjectRecord>,
    logged: Vec<LogTable>,
    registered: &Contexts,
    declared: &Declared,
    root_name: &str,
) -> Layout {
    let declared = declared.clone();
    super::layout_declared(objects.into(), logged, registered, declared, root_name).into()
}
