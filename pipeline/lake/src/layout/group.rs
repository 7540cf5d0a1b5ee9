//! Groups: files that are read together because they are, or may be, one table.

use std::collections::{BTreeSet, HashMap};

use limn_formats::{Fingerprint, Hasher};
use serde::{Deserialize, Serialize};

use super::{ContextSource, ContextText, TableFile, shared};
use crate::table_name::TableName;

/// Identity of a group: a stable hash of its kind and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKey(pub u128);

/// What a group's files make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// One file, one table.
    File,
    /// Files of one directory, at least two, named alike but for numbers, dates and ids; or such
    /// files in folders of dates, or in books, databases and archives called by dates. Those whose
    /// columns are much the same are one table ([`crate::evolution`]), the others a table each.
    /// Plain texts, which may be no data at all, do not count beside others. Of a spreadsheet file
    /// its sheets.
    Family,
    /// One table whatever the schemas (their union): Hive partitions or a distributed write's
    /// parts.
    Directory,
    /// One table whatever the schemas: people say so ([`crate::Declared`]).
    Declared,
    /// One table: its log says which files it has ([`LogTable`]).
    Logged,
}

/// Files that are read together because they are, or may be, one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// Identity across runs.
    pub key: GroupKey,
    /// The file's path, or the directory's (`""` for the lake's root); of a family in a directory
    /// of other things what its files' paths share, with stars (`exports/orders_*`,
    /// `landing/*/orders`); of a declared table its name in its directory.
    pub path: String,
    /// What the files make.
    pub kind: GroupKind,
    /// The table's name if the files are one table.
    pub name: TableName,
    /// The files, by path; at least one. One that is a remark of a container
    /// ([`limn_formats::member::is_remark`]) is alone.
    pub files: Vec<TableFile>,
    /// Contexts for the group's table or tables, by table; registered ones before sidecars.
    pub contexts: Vec<ContextSource>,
}

impl GroupKey {
    /// That of the table in a folder which has a log.
    pub fn of_log(folder: &str) -> Self {
        GroupKey::new(GroupKind::Logged, folder)
    }

    pub(crate) fn new(kind: GroupKind, path: &str) -> Self {
        let mut hasher = Hasher::new(match kind {
            GroupKind::File => "file",
            GroupKind::Family => "family",
            GroupKind::Directory => "directory",
            GroupKind::Declared => "declared",
            GroupKind::Logged => "logged",
        });
        hasher.text(path);
        GroupKey(hasher.finish().0)
    }
}

impl Group {
    /// One fingerprint per member: files first, then contexts, in their order. A file's covers its
    /// path, its version, its role (what the table, or the file alone, would be called) and what is
    /// declared of it; a context's its table and its text or version. Two groups of one key are
    /// equal exactly if these are.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        let files = self.files.iter().map(|file| {
            let mut hasher = Hasher::new("member");
            hasher.bytes(&self.key.0.to_le_bytes());
            hasher.text(self.name.as_str());
            hasher.text(file.table_name.as_str());
            file.object.feed(&mut hasher);
            if file.is_beside {
                hasher.text("beside");
            }
            if let Some(declared) = &file.declared {
                declared.feed(&mut hasher);
            }
            hasher.finish()
        });
        files
            .chain(self.contexts.iter().map(ContextSource::fingerprint))
            .collect()
    }

    /// Contexts that name no table once a family is a table a file: those that name the table of
    /// all.
    pub fn unclaimed_contexts(&self) -> impl Iterator<Item = &ContextSource> {
        let own = self.contexts.iter();
        let own = own.filter(|context| {
            let source = &context.source;
            !matches!(
                source,
                ContextText::Shared { .. } | ContextText::Declared { .. }
            )
        });
        own.filter(|context| {
            self.files
                .iter()
                .all(|file| file.table_name != context.table)
        })
    }

    /// A family as the table of those files (by path) that belong to it, and a [`GroupKind::File`]
    /// group for each of the others. Contexts go to the table they name, shared texts to all; if no
    /// file belongs to the family's table, the [`Group::unclaimed_contexts`] are dropped. Other
    /// groups stay whole.
    #[must_use]
    pub fn part(self, belongs: impl Fn(&str) -> bool) -> Vec<Group> {
        let (own, others): (Vec<_>, Vec<_>) = self
            .files
            .iter()
            .cloned()
            .partition(|file| belongs(&file.object.path));
        if self.kind != GroupKind::Family || others.is_empty() {
            return vec![self];
        }
        let mut tables: Vec<Group> = others.into_iter().map(Group::of_file).collect();
        if !own.is_empty() {
            tables.push(Group {
                files: own,
                contexts: Vec::new(),
                ..self
            });
        }
        let are_few = tables.len() <= shared::MOST_TABLES;
        let paths: Vec<String> = tables.iter().map(|it| it.path.clone()).collect();
        let (common, named): (Vec<_>, Vec<_>) = self
            .contexts
            .into_iter()
            // Each table has those of its own files.
            .filter(|context| !matches!(context.source, ContextText::Declared { .. }))
            .partition(|context| matches!(context.source, ContextText::Shared { .. }));
        let mut by_name: HashMap<TableName, Vec<ContextSource>> = HashMap::new();
        for context in named {
            let name = context.table.clone();
            by_name.entry(name).or_default().push(context);
        }
        for group in &mut tables {
            // Of the family's table: whatever names one of its files, too.
            let names = std::iter::once(&group.name);
            let names = names.chain(group.files.iter().map(|file| &file.table_name));
            let names: BTreeSet<&TableName> = names.collect();
            let named = names.into_iter().filter_map(|name| by_name.remove(name));
            let mut contexts: Vec<ContextSource> = named.flatten().collect();
            contexts.sort_by(|a, b| a.table.cmp(&b.table));
            let common = common.iter();
            contexts.extend(common.map(|it| shared::handed_on(it, group, &paths, are_few)));
            group.contexts = contexts;
            group.add_declared_texts();
        }
        tables.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
        tables
    }

    /// Puts what people declare of its files in words among its contexts, after those that are
    /// registered.
    pub(super) fn add_declared_texts(&mut self) {
        let declared = self
            .files
            .iter()
            .filter_map(|file| file.declared.as_deref());
        let said: BTreeSet<(&str, &str)> = declared
            .filter_map(|it| Some((it.by.as_str(), it.text.as_deref()?)))
            .collect();
        let said: Vec<ContextSource> = said
            .into_iter()
            .map(|(by, text)| ContextSource {
                table: self.name.clone(),
                source: ContextText::Declared {
                    by: by.to_owned(),
                    text: text.to_owned(),
                },
            })
            .collect();
        let contexts = self.contexts.iter();
        let registered =
            contexts.take_while(|it| matches!(it.source, ContextText::Registered { .. }));
        let at = registered.count();
        self.contexts.splice(at..at, said);
    }

    /// The identities that its files would have as tables of their own.
    pub fn keys_alone(&self) -> impl Iterator<Item = GroupKey> {
        let paths = self.files.iter().map(|file| &file.object.path);
        paths.map(|path| GroupKey::new(GroupKind::File, path))
    }

    pub(super) fn of_file(file: TableFile) -> Group {
        let path = file.object.path.clone();
        Group {
            key: GroupKey::new(GroupKind::File, &path),
            kind: GroupKind::File,
            name: file.table_name.clone(),
            files: vec![file],
            contexts: Vec::new(),
            path,
        }
    }
}
