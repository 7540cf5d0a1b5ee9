//! What is to be said of a question's words beside the tables.

use crate::corpus::Values;
use crate::lexical::Found;

/// Words that are searched as others, then words that occur nowhere.
pub(crate) fn of_words(found: &Found, values: Values) -> Vec<String> {
    let meant = found.meant.iter();
    let meant = meant.map(|it| format!("searched \"{}\" as \"{}\"", it.written, it.word));
    meant.chain(unknown(&found.unknown, values)).collect()
}

/// What is to be said of words that occur nowhere. The index has all names and contexts, and a part
/// of the values.
fn unknown(words: &[String], values: Values) -> Option<String> {
    let (what, verb) = match words {
        [] => return None,
        [_] => ("this word", "occurs"),
        _ => ("these words", "occur"),
    };
    let words = words.join(", ");
    let why = match values {
        Values::Searched => {
            "the index holds a sample of each table's values, so a table may have what the index has not: limn sql looks into \
             all rows of the tables that should have it"
        }
        Values::Hidden => "tables' values were not searched: the key that asked may not read them",
    };
    Some(format!(
        "{what} {verb} nowhere in the index: {words} ({why})"
    ))
}
