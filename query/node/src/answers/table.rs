//! One table: all that is known of it, and those that are like it.

use limn_segment::{ColumnRecord, ReferenceRecord, TableKey, TableRecord};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::search::ColumnLine;
use super::why::{self, Why};
use super::{Grant, TableLine, bounded, time};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

/// Files of one answer.
const FILES: usize = 100;

/// Which table.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TableRequest {
    /// Its name: its path in its lake.
    pub table: String,
    /// The lake's URL, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Whether to explain why it is a table, and why its files are read as they are.
    #[serde(default)]
    pub why: Option<bool>,
}

/// What is known of a table.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableDetail {
    /// Which table.
    #[serde(flatten)]
    pub line: TableLine,
    /// The snapshot that this is from.
    pub snapshot: u64,
    /// When it was described.
    pub indexed: Option<String>,
    /// Its columns, in order.
    pub columns: Vec<ColumnDetail>,
    /// The names of the columns that are likely keys, the likeliest first: a row each value, in
    /// every row one.
    pub likely_keys: Vec<String>,
    /// The keys that its file declares.
    pub declared_keys: DeclaredKeys,
    /// What a reader should know of how it was read: what was left out, guessed, or seen in part.
    pub notes: Vec<String>,
    /// Sampled rows: a cell a column, null where it is empty.
    pub sample: Vec<Vec<Option<String>>>,
    /// Texts about it.
    pub contexts: Vec<ContextText>,
    /// Its files, at most 100; none where values are not shown, as the paths of partitions hold
    /// some.
    pub files: Vec<FileDetail>,
    /// How many files it has.
    pub file_count: usize,
    /// Whether a language model has yet to describe columns.
    pub awaits_narration: bool,
    /// Whether values of rows are shown; without them, notes, sample, ranges, frequent values and
    /// patterns are empty.
    pub previews: bool,
    /// Why it is a table, where that is asked and any of its files could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
}

/// Keys as a file declares them.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeclaredKeys {
    /// The columns of the primary key; empty where there is none.
    pub primary: Vec<String>,
    /// The columns of each other unique key.
    pub unique: Vec<Vec<String>>,
    /// Foreign keys, to tables that the caller may see.
    pub references: Vec<Reference>,
}

/// A foreign key.
#[derive(Debug, Serialize, ToSchema)]
pub struct Reference {
    /// The columns here.
    pub columns: Vec<String>,
    /// The other table, of the same lake.
    pub table: String,
    /// Its columns, in the same order; empty where they are its primary key.
    pub to: Vec<String>,
}

/// A column with its profile.
#[derive(Debug, Serialize, ToSchema)]
pub struct ColumnDetail {
    /// Name, type and narration.
    #[serde(flatten)]
    pub column: ColumnLine,
    /// The share of empty cells, 0 to 1.
    pub null_share: f64,
    /// Distinct values.
    pub distinct: u64,
    /// Whether they were counted.
    pub distinct_exact: bool,
    /// Distinct values as a share of the values that were looked at, 0 to 1; null where none was
    /// looked at, and where an older limn described the table.
    pub uniqueness: Option<f64>,
    /// Whether the column may be what a row is known by.
    pub likely_key: bool,
    /// The forms that the values have, the most common first.
    pub patterns: Vec<Pattern>,
    /// The least value.
    pub min: Option<String>,
    /// The greatest value.
    pub max: Option<String>,
    /// The most frequent values.
    pub frequent: Vec<Frequent>,
    /// Whether all rows were looked at.
    pub profile_exact: bool,
    /// What contexts say of it.
    pub description: Option<String>,
    /// How its values are written in the files, in words, where that is not the plain way: `min`,
    /// `max` and `frequent` are plain numbers and ISO dates; null where they are plain in the
    /// files, too.
    pub notation: Option<String>,
    /// Which of the table's files have it, in words, where not all do:
    /// `in 10 of 100 files, since orders_2024-03-22.csv`. In the others' rows it is null.
    pub in_files: Option<String>,
    /// What it holds that is somebody's own: `secret`, `payment card`, `bank account`,
    /// `national id`, `e-mail` or `phone`; null where nothing was found.
    pub sensitive: Option<String>,
    /// Whether its values are kept out of the index: then cells of the sample are null, and there
    /// is no range and no frequent value.
    pub withheld: bool,
}

/// A frequent value.
#[derive(Debug, Serialize, ToSchema)]
pub struct Frequent {
    /// The value.
    pub value: String,
    /// How often it occurs in the rows that were looked at.
    pub count: u64,
}

/// A form that values have.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pattern {
    /// Its name (`e-mail`, `DD.MM.YYYY`), or a shape (`AA-9999`): `A` and `a` stand for letters,
    /// `9` for a digit, `+` for more of them.
    pub pattern: String,
    /// The share of the distinct values that have it, 0 to 1.
    pub share: f64,
}

/// A text about a table.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContextText {
    /// Where it is from: a path in the lake, or `registered`.
    pub source: String,
    /// The text.
    pub text: String,
}

/// A file of a table.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileDetail {
    /// Its path in the lake.
    pub path: String,
    /// Its length in bytes.
    pub size: u64,
    /// When it was written.
    pub modified: Option<String>,
    /// Its rows, if they are known.
    pub rows: Option<u64>,
    /// Why it could not be read.
    pub error: Option<String>,
}

/// What is known of a table.
///
/// # Errors
/// No such table among those that the caller may see; an index that cannot be read.
pub async fn describe(
    node: &Node,
    grant: &Grant,
    request: &TableRequest,
) -> Result<TableDetail, Problem> {
    grant.require(Right::Search)?;
    let facts = grant.table(&request.table, request.lake.as_deref())?;
    let row = grant.row(node, &facts.key.to_key()).await?;
    let shows = grant.shows_values;
    Ok(TableDetail {
        line: grant.line(&facts),
        snapshot: grant.view.snapshot.number,
        indexed: time(row.indexed_ms),
        columns: row
            .columns
            .iter()
            .map(|column| detail(column, shows))
            .collect(),
        likely_keys: row
            .likely_keys()
            .into_iter()
            .map(|column| column.name.clone())
            .collect(),
        declared_keys: declared_keys(grant, &row),
        // They may quote a file, and name one by a path that holds values.
        notes: row.notes.iter().filter(|_| shows).cloned().collect(),
        sample: if shows {
            row.sample.clone()
        } else {
            Vec::new()
        },
        contexts: contexts(&row),
        files: row
            .files_now()
            .filter(|_| shows)
            .take(FILES)
            .map(file)
            .collect(),
        file_count: row.whole_files().len(),
        awaits_narration: row.awaits_narration,
        previews: shows,
        why: match request.why {
            Some(true) => why::explain(node, grant, &row).await?,
            _ => None,
        },
    })
}

/// A table that the caller may not see is not named.
fn declared_keys(grant: &Grant, row: &TableRecord) -> DeclaredKeys {
    let is_seen = |reference: &&ReferenceRecord| {
        grant.view.reach.allows(&TableKey {
            lake: row.lake.clone(),
            name: reference.table.clone(),
        })
    };
    let references = row.keys.references.iter().filter(is_seen);
    DeclaredKeys {
        primary: row.keys.primary.clone(),
        unique: row.keys.unique.clone(),
        references: references
            .map(|reference| Reference {
                columns: reference.columns.clone(),
                table: reference.table.clone(),
                to: reference.to.clone(),
            })
            .collect(),
    }
}

fn detail(column: &ColumnRecord, shows: bool) -> ColumnDetail {
    let value = |text: &Option<String>| text.clone().filter(|_| shows);
    let frequent = column.frequent.iter().filter(|_| shows);
    let patterns = column.patterns.iter().filter(|_| shows);
    ColumnDetail {
        column: ColumnLine {
            name: column.name.clone(),
            data_type: column.data_type.clone(),
            narration: column.narration.clone(),
        },
        null_share: column.null_share,
        distinct: column.distinct,
        distinct_exact: column.distinct_exact,
        uniqueness: column.uniqueness,
        likely_key: column.key_rank.is_some(),
        patterns: patterns
            .map(|it| Pattern {
                pattern: it.pattern.clone(),
                share: it.share,
            })
            .collect(),
        min: value(&column.min),
        max: value(&column.max),
        frequent: frequent
            .map(|it| Frequent {
                value: it.value.clone(),
                count: it.count,
            })
            .collect(),
        profile_exact: column.profile_exact,
        description: column.description.clone(),
        notation: column.notation.clone(),
        in_files: column.in_files.clone(),
        sensitive: column.sensitive.clone(),
        withheld: column.withheld,
    }
}

fn contexts(row: &TableRecord) -> Vec<ContextText> {
    let contexts = row
        .contexts
        .iter()
        .filter(|context| !context.text.is_empty());
    contexts
        .map(|context| ContextText {
            source: context.source.clone(),
            text: context.text.clone(),
        })
        .collect()
}

fn file(file: &limn_segment::FileRecord) -> FileDetail {
    FileDetail {
        path: file.path.clone(),
        size: file.size,
        // Of a file that could not be read yet nothing is known.
        modified: time(file.modified_ms).filter(|_| file.modified_ms != 0),
        rows: file.rows,
        error: file.error.clone(),
    }
}

/// To which table others are compared.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SimilarRequest {
    /// Its name: its path in its lake.
    pub table: String,
    /// The lake's URL, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// How many: 1 to 100, 5 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 100)]
    pub k: Option<usize>,
}

/// Tables that are like one.
#[derive(Debug, Serialize, ToSchema)]
pub struct SimilarAnswer {
    /// The one.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// The others, the most alike first.
    pub results: Vec<SimilarTable>,
}

/// A table that is like another.
#[derive(Debug, Serialize, ToSchema)]
pub struct SimilarTable {
    /// Which table.
    #[serde(flatten)]
    pub line: TableLine,
    /// How alike they are in meaning: a cosine, at most 1.
    pub similarity: f32,
    /// Whether it is a copy: a table of equal content.
    pub copy: bool,
    /// The names of further copies of it in its lake, which it stands for.
    pub copies: Vec<String>,
}

/// Finds the tables that are like one.
///
/// # Errors
/// As [`describe`].
pub async fn similar(
    node: &Node,
    grant: &Grant,
    request: &SimilarRequest,
) -> Result<SimilarAnswer, Problem> {
    grant.require(Right::Search)?;
    let k = bounded("k", request.k, 5, 100)?;
    let key = grant
        .table(&request.table, request.lake.as_deref())?
        .key
        .to_key();
    let view = grant.view.clone();
    if view.searcher.table(&key).is_none() {
        // It could never be read: nothing is known that others could be like.
        return Ok(SimilarAnswer {
            table: key.name,
            lake: key.lake,
            results: Vec::new(),
        });
    }
    let (to, until) = (key.clone(), Some(grant.until));
    let found = node
        .compute(move || view.searcher.similar(&to, k, None, until))
        .await??;
    let results = found.into_iter().filter_map(|similar| {
        Some(SimilarTable {
            line: grant.line(&grant.view.table_list.get(&similar.key)?),
            similarity: similar.similarity,
            copy: similar.copy,
            copies: similar.copies,
        })
    });
    Ok(SimilarAnswer {
        results: results.collect(),
        table: key.name,
        lake: key.lake,
    })
}
