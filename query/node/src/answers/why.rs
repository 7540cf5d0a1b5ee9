//! Why a table is what it is, and why its files are read as they are.

use limn_segment::TableRecord;
use limn_sql::why_of;
use serde::Serialize;
use utoipa::ToSchema;

use super::Grant;
use crate::node::Node;
use crate::problem::Problem;

/// Tables beside a table that are compared with it.
const MOST_BESIDE: usize = 20;

/// Why a table is what it is, and how its files are read.
#[derive(Debug, Serialize, ToSchema)]
pub struct Why {
    /// What makes its files a table: `file`, `alike`, `declared`, `partitions` or `parts`.
    pub rule: String,
    /// The same in a sentence.
    pub explanation: String,
    /// The entries of `.limn.yaml` files that speak of its files, and what they say, a line each.
    pub declared: Vec<String>,
    /// Files that are named like its own and are of other tables, at most 20.
    pub apart: Vec<Apart>,
    /// How its files are read, those that are read alike together; at most 20.
    pub readings: Vec<Reading>,
    /// Where the types of its columns come from, in order.
    pub columns: Vec<ColumnType>,
}

/// A file that is named like a table's own and is of another.
#[derive(Debug, Serialize, ToSchema)]
pub struct Apart {
    /// The table that it is of.
    pub table: String,
    /// Why it is not of this one.
    pub explanation: String,
}

/// Files that are read alike.
#[derive(Debug, Serialize, ToSchema)]
pub struct Reading {
    /// How many there are.
    pub files: u64,
    /// The path of the first one; null where values are not shown.
    pub first: Option<String>,
    /// How they are read.
    pub explanation: String,
}

/// A column's type and where it comes from.
#[derive(Debug, Serialize, ToSchema)]
pub struct ColumnType {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// What it follows from, and how the values are written.
    pub explanation: String,
}

/// Explains why a table is what it is, beside those tables that the caller may see; nothing of a
/// table of which no file could be read, whose error says why.
///
/// # Errors
/// An index that cannot be read.
pub(super) async fn explain(
    node: &Node,
    grant: &Grant,
    row: &TableRecord,
) -> Result<Option<Why>, Problem> {
    let folder = row.files_now().next().map_or("", |file| above(&file.path));
    let is_beside = |name: &str| {
        let name = name.strip_prefix("./").unwrap_or(name);
        name == folder || above(name) == folder
    };
    let tables = grant.view.table_list.tables();
    let beside = tables
        .filter(|it| it.key.lake == row.lake && it.key.name != row.name && is_beside(it.key.name));
    let keys: Vec<_> = beside.take(MOST_BESIDE).map(|it| it.key.to_key()).collect();
    let mut others = Vec::with_capacity(keys.len());
    for key in keys {
        others.push(grant.row(node, &key).await?);
    }
    let (row, shows) = (row.clone(), grant.shows_values);
    let why = node.compute(move || why_of(&row, &others, shows)).await?;
    let Ok(why) = why else {
        return Ok(None);
    };
    let apart = why.apart.into_iter().map(|it| Apart {
        table: it.table,
        explanation: it.explanation,
    });
    let readings = why.readings.into_iter().map(|it| Reading {
        files: it.files,
        first: it.first,
        explanation: it.explanation,
    });
    let columns = why.columns.into_iter().map(|it| ColumnType {
        name: it.name,
        data_type: it.data_type,
        explanation: it.explanation,
    });
    Ok(Some(Why {
        rule: why.rule.to_owned(),
        explanation: why.explanation,
        declared: why.declared,
        apart: apart.collect(),
        readings: readings.collect(),
        columns: columns.collect(),
    }))
}

/// The folder of a path.
fn above(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
