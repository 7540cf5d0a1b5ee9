//! What is run of a database's schema, and how much.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error};

use super::Entry;

/// The longest value that a view may make.
const LONGEST_OF_VIEW: i32 = 64 << 10;
/// Queries that a view may be made of, with those of the views that it reads, each as often as it
/// is read: what preparing them takes grows much faster than their number.
pub(super) const MOST_QUERIES: u32 = 256;
/// Columns that all of them may read.
const MOST_READS: u32 = 1 << 16;
/// Steps between looks at how many there were.
const STRIDE: i32 = 100;
/// Steps that any reading may take; and more, for each byte of the database.
const STEPS: u64 = 16 << 20;
const STEPS_A_BYTE: u64 = 16;
/// A reading that takes longer is broken off: steps may be long.
pub(super) const LONGEST: Duration = Duration::from_secs(20);
/// Likewise one of a view, so that its process is not ended first.
const LONGEST_VIEW: Duration = Duration::from_secs(4);

/// Functions whose results depend on their arguments only, and that make no long values of short
/// ones.
const FUNCTIONS: &[&str] = &[
    "abs",
    "avg",
    "char",
    "coalesce",
    "count",
    "date",
    "datetime",
    "dense_rank",
    "first_value",
    "floor",
    "ceil",
    "ceiling",
    "hex",
    "ifnull",
    "if",
    "iif",
    "instr",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "glob",
    "lower",
    "ltrim",
    "max",
    "min",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "cume_dist",
    "rank",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "strftime",
    "substr",
    "substring",
    "sum",
    "time",
    "total",
    "trim",
    "trunc",
    "typeof",
    "unicode",
    "unixepoch",
    "upper",
    "quote",
    "cast",
    "mod",
    "sqrt",
    "power",
    "pow",
];

/// From here on nothing is allowed but to read the database's own tables. Tells whether an entry
/// asked for too much of that.
pub(super) fn close(
    connection: &mut Connection,
    size: u64,
    entries: &[Entry],
    entry: &Entry,
) -> Result<Arc<AtomicBool>, Error> {
    if entry.is_view {
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_OF_VIEW)?;
    }
    let longest = if entry.is_view { LONGEST_VIEW } else { LONGEST };
    set_steps(connection, size, longest)?;
    let known = entries.iter().filter(|entry| entry.is_member);
    let known: HashSet<String> = known.map(|it| it.name.to_ascii_lowercase()).collect();
    let others = entries.iter().filter(|entry| !entry.is_member);
    let others: HashSet<String> = others.map(|it| it.name.to_ascii_lowercase()).collect();
    let is_too_much = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_too_much);
    let (mut queries, mut reads) = (0, 0);
    let authorizer = move |context: AuthContext<'_>| {
        match context.action {
            AuthAction::Select => queries += 1,
            AuthAction::Read { .. } => reads += 1,
            _ => {}
        }
        if queries > MOST_QUERIES || reads > MOST_READS {
            flag.store(true, Ordering::Relaxed);
            return Authorization::Deny;
        }
        let is_fine = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read {
                table_name,
                column_name,
            } => {
                let table = table_name.to_ascii_lowercase();
                // Without a column also what a view itself defines is asked for.
                let is_own = column_name.is_empty()
                    && !others.contains(&table)
                    && !["pragma_", "sqlite_", "dbstat", "json_", "bytecode", "fts"]
                        .iter()
                        .any(|prefix| table.starts_with(prefix));
                known.contains(&table) || is_own
            }
            AuthAction::Function { function_name } => {
                FUNCTIONS.contains(&function_name.to_ascii_lowercase().as_str())
            }
            _ => false,
        };
        match is_fine {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    };
    connection.authorizer(Some(authorizer))?;
    Ok(is_too_much)
}

/// Gives what is run from now on a number of steps, and a time.
pub(super) fn set_steps(
    connection: &mut Connection,
    size: u64,
    longest: Duration,
) -> Result<(), Error> {
    let steps = STEPS.saturating_add(size.saturating_mul(STEPS_A_BYTE));
    let mut left = steps / STRIDE.unsigned_abs() as u64;
    let end = Instant::now() + longest;
    let is_over = move || {
        left = left.saturating_sub(1);
        left == 0 || Instant::now() > end
    };
    connection.progress_handler(STRIDE, Some(is_over))
}
