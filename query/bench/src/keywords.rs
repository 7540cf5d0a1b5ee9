//! Whether a question gives a table away by its words: what full text would find it by.
//!
//! Words are compared as the full-text index has them: identifiers taken apart, stemmed, without
//! words that say nothing. A model is never asked.

use std::collections::{BTreeSet, HashSet};

use limn_retrieval::content_terms;
use limn_segment::analyzer::analyze;

use crate::datasheet::DATASHEET;
use crate::known_tables::Entry;
use crate::sample::{ColumnKind, Sample};

/// Letters of a word that says something.
const SHORTEST: usize = 3;
/// Words in a row that are copied.
const COPIED: usize = 3;
/// Words of its own that a request has at least.
const OWN: usize = 2;
/// Words that any request for a table has.
const ANY: &str = "table tables data dataset database record records file";
/// Further words that a small model asks of any table with.
const OF_ANY: &str = "available contact contain context create entity find given information \
    know license mistake name questionable represent tell time";

/// The words of a table: of its name, its columns, and the texts of its sample.
pub(crate) fn keywords(entry: &Entry, sample: &Sample) -> HashSet<String> {
    let mut words: HashSet<String> = content_terms(&entry.key.name).into_iter().collect();
    words.extend(entry.names.iter().flat_map(|it| content_terms(it)));
    for at in sample.places(ColumnKind::Text) {
        let values = (0..sample.rows.len()).filter_map(|row| sample.value(row, at));
        words.extend(values.flat_map(content_terms));
    }
    let any: HashSet<String> = analyze(ANY).into_iter().collect();
    // Shorter words of other scripts say something.
    words.retain(|it| (it.len() >= SHORTEST || !it.is_ascii()) && !any.contains(it));
    words
}

/// Whether a request could be for any table: but for one word, it has those that a datasheet asks
/// of each.
pub(crate) fn is_for_any(question: &str) -> bool {
    let asked = DATASHEET.iter().flat_map(|(_, asked)| analyze(asked));
    let any: HashSet<String> = asked.chain(analyze(ANY)).chain(analyze(OF_ANY)).collect();
    let own: HashSet<String> = content_terms(question).into_iter().collect();
    own.difference(&any).count() < OWN
}

/// The words of a question, as it has them, that are of the table or that it copies of the context.
pub(crate) fn shared(
    question: &str,
    keywords: &HashSet<String>,
    context: &str,
) -> BTreeSet<String> {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'');
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c| !is_letter(c)).filter(|it| !it.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let own = question.split(|c| !is_letter(c));
    let is_keyword = |it: &&str| analyze(it).iter().any(|term| keywords.contains(term));
    let mut found: BTreeSet<String> = own.filter(is_keyword).map(str::to_lowercase).collect();
    let (asked, said) = (words(question), words(context));
    let said: HashSet<&[String]> = said.windows(COPIED).collect();
    let copied = asked.windows(COPIED).filter(|it| said.contains(it));
    // Words in a row that say nothing are anybody's.
    let copied = copied.map(|it| it.join(" "));
    found.extend(copied.filter(|it| !limn_retrieval::says_nothing(it)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_tables::tests::entry;
    use crate::sample::tests::{LAKES, sample};

    #[test]
    fn what_is_asked_of_each_table_is_asked_for_none() {
        for question in [
            "What is the purpose of this table?",
            "Who is responsible for maintaining the table?",
            "How often is the table updated, and by whom?",
            "What is the purpose of the table in the given context?",
            "Who can I contact to find out who maintains the database?",
            "What license is the table available under?",
            "What entity created the table?",
            "What time period does the data represent?",
            "What are the mistakes and questionable entries in the table?",
            "What does the table not tell us about?",
            "Where can I find the information about who maintains the table?",
        ] {
            assert!(is_for_any(question), "{question}");
        }
        for question in [
            "Where do I find how vendors were paid for damaged parcels?",
            "Where can I find customer, employee, and vendor contact details?",
            "Which surveys of alpine lakes were gathered by divers?",
        ] {
            assert!(!is_for_any(question), "{question}");
        }
    }

    #[test]
    fn short_words_count_in_other_scripts() {
        let words = keywords(&entry("hr/顧客注文", &["kw"]), &sample(&LAKES));
        let shared = |question: &str| self::shared(question, &words, "");
        assert!(!shared("Where can I find 顧客注文 about complaints?").is_empty());
        assert!(shared("Where can I find what hr paid for kw hours?").is_empty());
    }

    #[test]
    fn names_cells_and_copied_words_are_found_in_any_form() {
        let entry = entry("geo/SwissLakes", &["lake_name", "canton", "depth", "since"]);
        let words = keywords(&entry, &sample(&LAKES));
        let context = "It was gathered by divers on behalf of the federal office, year by year.";
        let shared = |question: &str| -> Vec<String> {
            self::shared(question, &words, context)
                .into_iter()
                .collect()
        };
        assert_eq!(
            shared("Who measured the depths of LAKES near Thun?"),
            ["depths", "lakes", "thun"]
        );
        assert_eq!(
            shared("What was gathered by divers each summer?"),
            ["gathered by divers", "was gathered by"]
        );
        assert!(
            shared("Which table did people in wetsuits bring together for the state?").is_empty()
        );
        assert!(shared("Which data do I need, of the …?").is_empty());
        assert_eq!(shared("swissLakes"), ["swisslakes"]);
    }
}
