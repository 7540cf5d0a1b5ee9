//! The answer to a statement that fails: the engine's own line, without what is the operator's
//! business.
//!
//! The engine's errors name tables of its catalogue only, which are those that the caller may see.
//! What a store says may name hosts, buckets and folders: it goes to the log.

use std::time::Duration;

use limn_lake::scan::ScanError;
use limn_sql::{Answer, Limits, SqlError};

use crate::problem::{Code, Problem, shortened};

/// What to do where the statement is at fault and the engine does not say more.
const MEND: &str = "mend the statement and ask again";
/// How the engine's own notes of a limit end.
const OF_COMMAND: &str = ": --max-rows";

/// The answer to an error.
pub(super) fn problem(error: &SqlError, limits: &Limits) -> Problem {
    match error {
        SqlError::ReadsOnly(what) => Problem::bad(
            format!("only reading is allowed: {what}"),
            "statements are SELECT, WITH, VALUES, EXPLAIN, DESCRIBE, SHOW TABLES and SHOW COLUMNS",
        ),
        SqlError::Unsupported(what) => {
            Problem::bad(format!("there is no {what}"), "write it in another way")
        }
        SqlError::SeveralLakes { name, lakes } => Problem::bad(
            format!("several lakes have a table '{name}'"),
            format!("name the lake, too: {}", lakes.join(", ")),
        ),
        SqlError::UnknownLake { lake, known } => Problem::bad(
            format!("there is no table of the lake '{}'", shortened(lake, 200)),
            format!("there are those of {}", known.join(", ")),
        ),
        SqlError::Catalogue(error) => match error.downcast_ref::<Problem>() {
            Some(problem) => problem.clone(),
            None => Problem::internal(),
        },
        SqlError::UnknownTable { .. } => Problem {
            code: Code::NotFound,
            ..parted(error)
        },
        SqlError::Timeout(_) => late(limits),
        SqlError::Memory(_) => too_much(
            "stopped: it took more memory than it may, and could not be put on disk",
            "--sql-memory",
        ),
        SqlError::Spill(_) => too_much(
            "stopped: it took more room for temporary files than it may",
            "--sql-disk",
        ),
        // Asking again soon does not mend it.
        // The command names the lake, which is the operator's business.
        SqlError::Stale(stale) => Problem::new(
            Code::Unavailable,
            stale.what(),
            "ask again when the index has been brought up to date (limn index)",
        ),
        SqlError::Scan(ScanError::Store { path, .. }) => {
            tracing::error!(%error, "rows of the lake cannot be read");
            unreadable(&format!("{path} cannot be read now"))
        }
        SqlError::Store(_) => {
            tracing::error!(%error, "a lake cannot be opened");
            unreadable("the lake cannot be read by this node")
        }
        SqlError::Internal(_) => {
            tracing::error!(%error, "a statement failed");
            Problem::internal()
        }
        SqlError::Execution(text) if is_of_system(text) => {
            tracing::error!(%error, "a statement failed");
            unreadable("the statement failed for what this node lacks")
        }
        error => parted(error),
    }
}

/// A statement that took too long.
pub(super) fn late(limits: &Limits) -> Problem {
    let time = humantime::format_duration(Duration::from_secs(limits.timeout.as_secs().max(1)));
    Problem::new(
        Code::Timeout,
        format!("stopped: a statement may take {time}, and no longer than an answer may"),
        "ask for fewer rows or tables, or the operator for a longer --sql-timeout",
    )
}

fn too_much(what: &str, flag: &str) -> Problem {
    Problem::bad(
        what,
        format!("ask for fewer rows or columns, or the operator for more ({flag})"),
    )
}

fn unreadable(what: &str) -> Problem {
    let remedy = "ask again soon; if it stays so, the node's log says why";
    Problem::unavailable(what, remedy)
}

/// The engine's line, in what failed and what to do, where it says both.
fn parted(error: &SqlError) -> Problem {
    let line = error.to_string().replace("limn sql", "SQL here");
    match line.rsplit_once("; ") {
        Some((message, remedy)) => Problem::bad(message, remedy),
        None => Problem::bad(line, MEND),
    }
}

/// Whether an error is of files of this machine: temporary ones have paths.
fn is_of_system(text: &str) -> bool {
    let folder = std::env::temp_dir();
    text.contains("os error") || folder.to_str().is_some_and(|folder| text.contains(folder))
}

/// What to know of an answer of so many rows at most.
pub(super) fn notes(answer: &Answer, most: Option<u64>) -> Vec<String> {
    let mut notes = answer.notes();
    notes.retain(|note| !note.ends_with(OF_COMMAND));
    if let (true, Some(most)) = (answer.is_truncated(), most) {
        let rows = if most == 1 { "row" } else { "rows" };
        notes.push(format!("stopped after {most} {rows}, and there are more"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_says_reaches_nobody() {
        let limits = Limits::default();
        let store = SqlError::Scan(ScanError::Store {
            path: "shop/orders.csv".to_owned(),
            cause: "https://secret.example/bucket?sig=abc: 403".to_owned(),
        });
        let answer = problem(&store, &limits).to_string();
        assert!(
            answer.contains("shop/orders.csv") && !answer.contains("secret"),
            "{answer}"
        );
        let file = std::env::temp_dir().join("spilled").display().to_string();
        let answer = problem(&SqlError::Execution(format!("{file}: no room")), &limits);
        assert!(!answer.to_string().contains(&file), "{answer}");
        let answer = problem(&SqlError::Internal("a detail".to_owned()), &limits);
        assert_eq!(answer.code, Code::Internal);
        assert!(!answer.to_string().contains("detail"));
    }

    #[test]
    fn flags_of_the_command_reach_nobody() {
        let limits = Limits::default();
        let errors = [
            SqlError::ReadsOnly("INSERT".to_owned()),
            SqlError::Unsupported("PIVOT".to_owned()),
            SqlError::Timeout(limits.timeout),
            SqlError::Memory(1),
            SqlError::Spill(1),
            SqlError::SeveralLakes {
                name: "a".to_owned(),
                lakes: vec!["x".to_owned(), "y".to_owned()],
            },
        ];
        for error in errors {
            let answer = problem(&error, &limits).to_string();
            for word in ["limn sql", "--timeout", "--memory", "--lake", "--max-rows"] {
                assert!(!answer.contains(word), "{answer}");
            }
        }
    }

    #[test]
    fn each_failure_has_its_own_remedy() {
        let unknown = SqlError::UnknownTable {
            name: "odrers".to_owned(),
            near: vec!["orders".to_owned()],
        };
        let answer = problem(&unknown, &Limits::default());
        assert_eq!(answer.code, Code::NotFound);
        assert_eq!(answer.message, "the index has no table 'odrers'");
        assert_eq!(answer.remedy, "did you mean orders?");
    }
}
