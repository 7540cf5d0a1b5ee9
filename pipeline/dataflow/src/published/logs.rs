//! Of what is published, the tables that have logs.

use std::collections::BTreeSet;
use std::sync::Arc;

use limn_formats::Declaration;
use limn_lake::reach::parent;
use limn_lake::{GroupKey, LogTable};
use limn_segment::TableRecord;

use super::{Published, object_of};

impl Published {
    /// The folders of tables that have logs.
    pub fn log_folders(&self) -> BTreeSet<String> {
        let groups = self.groups().into_iter();
        let tables = groups.flat_map(|group| self.tables(group));
        let folder = |table: Arc<TableRecord>| {
            let mut files = table.files_now();
            let log = files.find(|file| table.is_log(&file.path))?;
            Some(parent(&log.path).to_owned())
        };
        tables.filter_map(folder).collect()
    }

    /// The table in a folder as it is published, if its log is of this version; none where files are to be read anew.
    pub fn log_table(&self, folder: &str, version: &str) -> Option<LogTable> {
        self.state().reuse?;
        let tables = self.tables(GroupKey::of_log(folder).0);
        let [row] = tables.as_slice() else {
            return None;
        };
        let mut is_of_version = false;
        let files = row.files_now().map(|file| {
            let is_log = row.is_log(&file.path);
            is_of_version |= is_log && file.version.as_deref() == Some(version);
            let declared = Declaration::from_json(file.declared.as_deref()?).ok()?;
            let object = object_of(file);
            // One that is to be read anew is known by no version.
            (is_log || object.place().is_some()).then_some((object, declared, is_log))
        });
        let files = files.collect::<Option<Vec<_>>>()?;
        is_of_version.then(|| LogTable::known(folder, files))
    }
}
