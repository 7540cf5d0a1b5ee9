//! Whether a question needs judgement: a model that reads rows, and not only SQL.
//!
//! It does where a word of judging, or what stands behind "about" or "named after", is in no name,
//! column or cell of its tables, and one of them has a column of texts. Whatever else is in none
//! may be another word for a column, which SQL answers: then a model that reads rows is the last
//! resort.

use limn_segment::analyzer::analyze;

use super::tables::Tables;
use super::template::{Word, read_words};

/// Words of judging.
const JUDGING: [&str; 44] = [
    "angry",
    "biased",
    "complain",
    "complaint",
    "convey",
    "creative",
    "criticise",
    "criticize",
    "emotional",
    "enthusiastic",
    "express",
    "feeling",
    "formal",
    "friendly",
    "funniest",
    "funny",
    "grateful",
    "happiest",
    "happy",
    "hopeful",
    "humorous",
    "mention",
    "mood",
    "negative",
    "offensive",
    "opinion",
    "optimistic",
    "pessimistic",
    "polite",
    "positive",
    "praise",
    "romantic",
    "rude",
    "sad",
    "saddest",
    "sarcastic",
    "seem",
    "sentiment",
    "sound",
    "summarise",
    "summarize",
    "summary",
    "technical",
    "tone",
];
/// What stands behind these is judged.
const BEFORE: [&[&str]; 2] = [&["about"], &["named", "after"]];

/// What a question needs beside SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nothing: every word is read, or no text is there to be judged.
    None,
    /// Some word is in no name, column or cell: a model may read rows where SQL answers nothing.
    Perhaps,
    /// A model that reads rows.
    Needed,
}

impl Judgement {
    pub(super) fn of(question: &str, tables: &Tables<'_>) -> Judgement {
        let columns = tables.list.iter().flat_map(|(_, table)| &table.columns);
        let has_text = columns.map(|it| &it.data_type).any(|it| it == "text");
        let words = read_words(question, tables);
        // SQL compares numbers, and no text is about one.
        let is_number = |it: &Word| it.written.replace(',', "").parse::<f64>().is_ok();
        let mut open = words.iter().filter(|it| !it.is_read && it.says);
        if !has_text || open.all(is_number) {
            return Judgement::None;
        }
        let judging: Vec<String> = judging_terms().collect();
        let judges = |word: &Word| !word.is_read && judging.contains(&word.term);
        match words.iter().any(judges) || is_behind(&words) {
            true => Judgement::Needed,
            false => Judgement::Perhaps,
        }
    }
}

/// The terms of words of judging, also as they compare: `angry`, `angrier`, `angriest`.
pub(super) fn judging_terms() -> impl Iterator<Item = String> {
    JUDGING.iter().flat_map(|word| {
        let stem = word.strip_suffix('e').unwrap_or(word);
        let (stem, with) = match word.strip_suffix('y') {
            Some(stem) => (stem, "i"),
            None => (stem, ""),
        };
        let forms = ["er", "est"].map(|ending| format!("{stem}{with}{ending}"));
        let all = std::iter::once((*word).to_owned()).chain(forms);
        all.flat_map(|it| analyze(&it)).collect::<Vec<_>>()
    })
}

/// Whether something stands behind a phrase after which is judged, and is in no name, column or
/// cell.
fn is_behind(words: &[Word]) -> bool {
    let is_phrase = |at: usize, phrase: &[&str]| {
        let here = words[at..].iter().take(phrase.len());
        here.map(|it| it.written.as_str())
            .eq(phrase.iter().copied())
    };
    (0..words.len()).any(|at| {
        let ends = BEFORE.iter().filter(|it| is_phrase(at, it));
        let mut ends = ends.map(|it| at + it.len());
        ends.any(|end| {
            let says = words[end..].iter().find(|it| it.says);
            says.is_some_and(|it| !it.is_read)
        })
    })
}

#[cfg(test)]
mod tests {
    use limn_cells::CellsAnswer;

    use super::*;
    use crate::write::tests::scripted::{cells, column, table};

    fn posts() -> CellsAnswer {
        let posts = vec![
            column("title", "text", 0.6),
            column("score", "integer", 0.6),
            column("tone", "text", 0.6),
        ];
        cells(
            vec![table("site/posts", posts, &[("title", "Love")])],
            Vec::new(),
        )
    }

    #[test]
    fn words_of_judging_need_it_unless_a_column_or_cell_has_them() {
        let posts = posts();
        let of = |question: &str| Judgement::of(question, &Tables::of(&posts));
        for question in [
            "Which posts are sarcastic?",
            "Summarize the posts with the highest score",
            "How many posts mention a river?",
            "Which posts are about mathematics?",
            "Titles of posts named after a person",
        ] {
            assert_eq!(of(question), Judgement::Needed, "{question}");
        }
        assert_eq!(of("Which posts have the tone sad?"), Judgement::Needed);
        assert_eq!(of("How many posts have each tone?"), Judgement::None);
        assert_eq!(of("Which posts are about love?"), Judgement::None);
        assert_eq!(of("Tell me about the posts"), Judgement::None);
        assert_eq!(of("Which posts did John write?"), Judgement::Perhaps);
        assert_eq!(of("Which posts have the score 80000?"), Judgement::None);
        let mut numbers = posts.clone();
        numbers.tables[0]
            .columns
            .retain(|it| it.data_type != "text");
        numbers.tables[0].cells.clear();
        let of_numbers = Judgement::of("Which posts are sarcastic?", &Tables::of(&numbers));
        assert_eq!(of_numbers, Judgement::None);
    }
}
