//! What SQLite's errors mean to the person who reads them.

use limn_store::one_line;
use rusqlite::{Error, ErrorCode};

use super::cage;
use crate::Failure;
use crate::containers::{COPY_FILE, damaged};
use crate::error::FileErrorKind;

pub(super) const REMEDY: &str = "lay its rows there as a file";

pub(super) fn no_database() -> Failure {
    Failure::new(
        FileErrorKind::NotItsFormat,
        "it does not begin as SQLite databases do: it is none, or encrypted",
    )
}

fn line(text: &str) -> String {
    one_line(text).chars().take(300).collect()
}

pub(super) fn is_too_much(error: &Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::OperationInterrupted | ErrorCode::OutOfMemory | ErrorCode::TooBig)
    )
}

pub(super) fn failure(error: &Error) -> Failure {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => damaged("database is damaged").with_remedy(COPY_FILE),
        Some(ErrorCode::NotADatabase) => no_database(),
        Some(ErrorCode::AuthorizationForStatementDenied) => Failure::new(
            FileErrorKind::Unsupported,
            "its columns are computed by what is not run here",
        ),
        _ if is_too_much(error) => Failure::new(
            FileErrorKind::Unsupported,
            "reading it takes more steps or memory than a table may",
        )
        .with_remedy(REMEDY),
        _ => Failure::new(
            FileErrorKind::Unsupported,
            format!("SQLite cannot read it: {}", line(&error.to_string())),
        )
        .with_remedy(REMEDY),
    }
}

pub(super) fn too_complex() -> Failure {
    let most = cage::MOST_QUERIES;
    let cause = format!(
        "it is a view that comes to more than {most} queries with the views it reads, or reads too many columns"
    );
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy(REMEDY)
}

pub(super) fn of_view(error: &Error) -> Failure {
    let code = error.sqlite_error_code();
    let text = error.to_string();
    // What a view calls is refused while it is prepared, with no code of its own.
    let is_refused = code == Some(ErrorCode::AuthorizationForStatementDenied)
        || ["not authorized", "unsafe use of"]
            .iter()
            .any(|it| text.contains(it));
    if !is_refused {
        return failure(error);
    }
    let cause = "it is a view that calls what is not run here";
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy(REMEDY)
}
