//! Tables by name: the tree of folders, and suggestions while a person types.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Grant, TableLine, bounded, short_enough, time};
use crate::access::Right;
use crate::names::last_part;
use crate::problem::Problem;

/// Paths of one step of the tree.
const OF_A_FOLDER: usize = 1_000;
/// Suggestions.
const SUGGESTIONS: usize = 50;
/// Bytes of a path.
const PATH: usize = 4_000;

/// Which folder is looked into.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TreeRequest {
    /// The folder's path; the top if nothing is said.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Where to go on: the `next` of the answer before.
    #[serde(default)]
    pub after: Option<String>,
    /// How many paths are given at once: 1 to 1000, 1000 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// What lies in a folder.
#[derive(Debug, Serialize, ToSchema)]
pub struct Tree {
    /// The folder's path.
    pub prefix: String,
    /// Tables below it, at whatever depth.
    pub count: u64,
    /// The folders in it.
    pub folders: Vec<Folder>,
    /// The tables in it.
    pub tables: Vec<TableLine>,
    /// Where the next answer begins, if there is more in the folder than is given at once; null at
    /// the end.
    pub next: Option<String>,
}

/// A folder.
#[derive(Debug, Serialize, ToSchema)]
pub struct Folder {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Tables below it, at whatever depth.
    pub tables: u64,
    /// What its README says first; null where it has none.
    pub description: Option<String>,
    /// The names of the first tables below it, at most four.
    pub first: Vec<String>,
    /// When the newest file below it was written.
    pub modified: Option<String>,
}

/// Looks into a folder.
///
/// # Errors
/// A request that makes no sense.
pub fn tree(grant: &Grant, request: &TreeRequest) -> Result<Tree, Problem> {
    grant.require(Right::Search)?;
    let prefix = request.prefix.as_deref().unwrap_or_default();
    let prefix = short_enough("prefix", prefix, PATH)?.trim_matches('/');
    let after = request.after.as_deref().unwrap_or_default();
    let after = short_enough("after", after, PATH)?;
    let limit = bounded("limit", request.limit, OF_A_FOLDER, OF_A_FOLDER)?;
    let (mut folders, mut tables) = grant.view.table_list.folder(prefix);
    let below: u64 = folders.iter().map(|folder| folder.tables).sum();
    let count = below + tables.len() as u64;
    folders.retain(|folder| folder.path.as_str() > after);
    tables.retain(|table| table.key.name > after);
    // Those of one path are listed together: a folder and tables of its name, tables of several
    // lakes.
    let folder_paths = folders.iter().map(|folder| folder.path.as_str());
    let table_paths = tables.iter().map(|table| table.key.name);
    let mut paths: Vec<&str> = folder_paths.chain(table_paths).collect();
    paths.sort_unstable();
    paths.dedup();
    let next = (paths.len() > limit).then(|| paths[limit - 1].to_owned());
    let is_listed = |path: &str| next.as_deref().is_none_or(|last| path <= last);
    Ok(Tree {
        prefix: prefix.to_owned(),
        count,
        folders: folders
            .iter()
            .filter(|folder| is_listed(&folder.path))
            .map(|folder| Folder {
                name: last_part(&folder.path).to_owned(),
                path: folder.path.clone(),
                tables: folder.tables,
                description: folder.brief.clone(),
                first: folder.first.clone(),
                modified: folder.modified_ms.and_then(time),
            })
            .collect(),
        tables: tables
            .iter()
            .filter(|table| is_listed(table.key.name))
            .map(|table| grant.line(table))
            .collect(),
        next,
    })
}

/// What a person has typed so far.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Suggest {
    /// The text; its last word is looked for.
    pub q: String,
    /// How many: 1 to 50, 8 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 50)]
    pub limit: Option<usize>,
}

/// Names that go on as the text does.
#[derive(Debug, Serialize, ToSchema)]
pub struct Suggestions {
    /// Tables first, then columns.
    pub suggestions: Vec<Suggestion>,
}

/// A name.
#[derive(Debug, Serialize, ToSchema)]
pub struct Suggestion {
    /// The name.
    pub text: String,
    /// What is called so.
    pub kind: SuggestionKind,
    /// The table, where it is one.
    pub table: Option<String>,
    /// Its lake.
    pub lake: Option<String>,
    /// How many tables have the column; 1 for a table.
    pub tables: u64,
}

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionKind {
    /// A table.
    Table,
    /// A column.
    Column,
}

/// Suggests names.
///
/// # Errors
/// A request that makes no sense.
pub fn suggest(grant: &Grant, request: &Suggest) -> Result<Suggestions, Problem> {
    grant.require(Right::Search)?;
    let limit = bounded("limit", request.limit, 8, SUGGESTIONS)?;
    let text = short_enough("q", &request.q, PATH)?.trim().to_lowercase();
    let mut suggestions = Vec::new();
    let Some(word) = text.split_whitespace().next_back() else {
        return Ok(Suggestions { suggestions });
    };
    let columns: Vec<(&str, u32)> = {
        let mut columns: Vec<(&str, u32)> = grant.view.table_list.column_names(word).collect();
        columns.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        columns.truncate(limit.div_ceil(3));
        columns
    };
    let tables = grant.view.table_list.suggested(word, limit - columns.len());
    suggestions.extend(tables.map(|table| Suggestion {
        text: table.key.name.to_owned(),
        kind: SuggestionKind::Table,
        table: Some(table.key.name.to_owned()),
        lake: Some(table.key.lake.to_owned()),
        tables: 1,
    }));
    suggestions.extend(columns.into_iter().map(|(name, tables)| Suggestion {
        text: name.to_owned(),
        kind: SuggestionKind::Column,
        table: None,
        lake: None,
        tables: u64::from(tables),
    }));
    Ok(Suggestions { suggestions })
}
