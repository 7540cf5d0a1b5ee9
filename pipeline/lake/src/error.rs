//! What can go wrong with a whole lake.

/// Why a lake, or something a person said about it, could not be used.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// A table name that no table can have.
    #[error("table name {name:?} is not usable: {cause}; {TABLE_NAME_REMEDY}")]
    TableName {
        /// The name as given.
        name: String,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// A contexts file that cannot be opened or read.
    #[error("contexts file {file}: {source}; check the path and that it may be read")]
    ContextsFile {
        /// The file as given.
        file: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A line of a contexts file that is not `{"table": NAME, "context": TEXT}`.
    #[error("contexts file {file}, line {line}: {cause}; {CONTEXT_LINE_REMEDY}")]
    ContextLine {
        /// The file as given.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with the line.
        cause: String,
    },
}

const TABLE_NAME_REMEDY: &str = "write a table's name as its path in the lake without the data extension, like sales/2024/orders";
const CONTEXT_LINE_REMEDY: &str = r#"each line is one JSON object: {"table": "sales/orders", "context": "what a reader should know"}"#;
