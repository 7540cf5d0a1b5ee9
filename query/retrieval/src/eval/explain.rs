//! Why a question does not find a table: which of its words the table has, and in which field, and
//! how it ranks by words and by meaning alone.

use std::collections::BTreeMap;
use std::iter;

use limn_segment::Field;
use serde::Serialize;

use super::EvalQuestion;
use crate::answer::{Mode, Query, RankedTable};
use crate::corpus::Corpus;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::inflected::forms;
use crate::lexical::Found;
use crate::question::{Question, Word};
use crate::searcher::{Candidates, Searcher};
use crate::shared::shared;
use crate::shortened::ShortForm;

/// Tables that are ranked to tell the places of those that lie behind the tables of an answer.
const RANKED: usize = 1_000;
/// Of words in a text that many tables have, which counts less than one of their own.
const SHARED: &str = "shared";
/// Words that a reason names.
const NAMED: usize = 5;

/// Words by the field that has them.
pub type ByField = BTreeMap<&'static str, Vec<String>>;

/// Why a question does not find some of the tables that it needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The question.
    pub question: String,
    /// Its words that no table has, as written.
    pub unknown: Vec<String>,
    /// The table that comes first.
    pub first: Option<Standing>,
    /// The tables that it needs and does not find, with the reasons.
    pub missed: Vec<(Standing, String)>,
}

/// How a table stands in the ranking of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub table: String,
    /// Its place, from 1: in the answer, or behind it as in a ranking of a thousand; `None` behind
    /// that.
    pub rank: Option<usize>,
    /// Its place by words alone, among the thousand; `None` where it has none of the question's,
    /// too.
    pub by_words: Option<usize>,
    /// Its place by meaning alone, likewise.
    pub by_meaning: Option<usize>,
    /// The question's words that it has, by field: `names`, `rows`, `contexts`, `cells`, or
    /// `shared` where they are in a text that many tables have. Values that are kept as hashes are
    /// in none.
    pub words: ByField,
    /// The question's words that other tables have and it lacks.
    pub lacks: Vec<String>,
}

/// Explains why a question does not find the needed tables that are not among `found`, which it
/// finds with the query's `k`. What comes first is what does with this k: candidates, and so
/// scores, depend on it.
///
/// # Errors
/// As [`Searcher::search`].
pub fn explain(
    searcher: &Searcher,
    question: &EvalQuestion,
    found: &[String],
    query: &Query,
) -> Result<Explanation, RetrievalError> {
    let query = Query {
        text: question.question.clone(),
        vector: Some(searcher.embed(&question.question)?),
        ..query.clone()
    };
    let Candidates {
        ranking,
        found: known,
        question: asked,
        ..
    } = searcher.candidates(&query, 0)?;
    let deep = Query {
        k: RANKED.max(query.k),
        ..query.clone()
    };
    let answer = &ranking.tables;
    let deep = searcher.candidates(&deep, 0)?.ranking.tables;
    let terms = |term: &String| match query.mode {
        Mode::Limn => looked_up_as(searcher.corpus(), &asked, term),
        Mode::Plain => Ok(vec![term.clone()]),
    };
    let words = Words::of(&asked, &known, &ranking.unknown, terms)?;
    let standing = |name: &str| -> Result<Option<Standing>, RetrievalError> {
        let is_it = |it: &RankedTable| it.key.name == name || it.copies.iter().any(|at| at == name);
        let in_deep = deep.iter().position(is_it);
        let found = answer.iter().find(|it| is_it(it));
        let found = found.or(in_deep.map(|at| &deep[at]));
        let number = match found {
            Some(found) => Some(found.table),
            None => number_of(searcher.corpus(), name),
        };
        let Some(number) = number else {
            return Ok(None);
        };
        let by = |score: &dyn Fn(&RankedTable) -> f32| {
            let own = score(&deep[in_deep?]);
            (own > 0.0).then(|| 1 + deep.iter().filter(|it| score(it) > own).count())
        };
        let (words, lacks) = words.of_table(searcher.corpus(), number)?;
        Ok(Some(Standing {
            table: name.to_owned(),
            rank: rank(answer, &deep, is_it),
            by_words: by(&|it| it.lexical),
            by_meaning: by(&|it| it.semantic),
            words,
            lacks,
        }))
    };
    let first = match answer.first() {
        Some(first) => standing(&first.key.name)?,
        None => None,
    };
    let mut missed = Vec::new();
    for name in question.tables.iter().filter(|it| !found.contains(it)) {
        let found = standing(name)?;
        let why = found.as_ref().map(|it| it.reason(first.as_ref()));
        let nowhere = || Standing::nowhere(name);
        let why = why.unwrap_or_else(|| "the index has no table of this name".to_owned());
        missed.push((found.unwrap_or_else(nowhere), why));
    }
    Ok(Explanation {
        question: query.text,
        unknown: ranking.unknown,
        first,
        missed,
    })
}

/// The place of a table in an answer, from 1, or behind it in the order of a deeper ranking.
fn rank(
    answer: &[RankedTable],
    deep: &[RankedTable],
    is_it: impl Fn(&RankedTable) -> bool,
) -> Option<usize> {
    if let Some(at) = answer.iter().position(&is_it) {
        return Some(1 + at);
    }
    let is_behind = |it: &&RankedTable| answer.iter().all(|found| found.table != it.table);
    let mut behind = deep.iter().filter(is_behind);
    Some(1 + answer.len() + behind.position(is_it)?)
}

impl Standing {
    fn nowhere(name: &str) -> Standing {
        Standing {
            table: name.to_owned(),
            rank: None,
            by_words: None,
            by_meaning: None,
            words: ByField::new(),
            lacks: Vec::new(),
        }
    }

    /// Why it stands behind the first table.
    fn reason(&self, first: Option<&Standing>) -> String {
        if self.words.is_empty() {
            return "it has none of the question's words".to_owned();
        }
        let has = |it: &Standing, word: &String| it.words.values().flatten().any(|at| at == word);
        let lacks = self.lacks.iter();
        let lacks = lacks.filter(|word| first.is_some_and(|it| has(it, word)));
        let lacks: Vec<&str> = lacks.take(NAMED).map(String::as_str).collect();
        let of_first = first.map_or("another", |it| it.table.as_str());
        let is_first_by_words = match (self.by_words, first.and_then(|it| it.by_words)) {
            (Some(own), Some(other)) => own < other,
            _ => false,
        };
        if !lacks.is_empty() && !is_first_by_words {
            return format!("it lacks what '{of_first}' has: {}", lacks.join(", "));
        }
        match (self.by_words, self.by_meaning) {
            (Some(words), Some(meaning)) if words < meaning => {
                format!("by words it is number {words}, by meaning only {meaning}")
            }
            _ if is_first_by_words => {
                format!("by words it stands before '{of_first}', by meaning behind it")
            }
            (Some(words), Some(meaning)) if meaning < words => format!(
                "by meaning it is number {meaning}, by words only {words}: others have them in fields that count more, or more often"
            ),
            _ => "others have the same words in fields that count more, or more often".to_owned(),
        }
    }
}

/// The known words of a question: as written, and the terms that are looked up, in the languages of
/// the index; then short forms.
struct Words {
    known: Vec<(String, Vec<String>)>,
    short: Vec<ShortForm>,
}

impl Words {
    fn of(
        question: &Question,
        found: &Found,
        unknown: &[String],
        terms: impl Fn(&String) -> Result<Vec<String>, RetrievalError>,
    ) -> Result<Words, RetrievalError> {
        let written = |term: &String| {
            let meant = found.meant.iter().find(|it| it.term == *term);
            let meant = meant.map(|it| format!("{} (as {})", it.written, it.word));
            let mut words = question.words.iter();
            let word = words.find(|word| word.terms.contains(term));
            // Of a text that is written without spaces each term is a word.
            let is_whole = |it: &&Word| it.terms.len() <= 2 || term.is_ascii();
            let is_unknown = |word: &Word| {
                let written = word.written.to_lowercase();
                unknown.iter().any(|it| it.to_lowercase() == written)
            };
            let word = word.filter(is_whole).map(|it| match is_unknown(it) {
                // A code that no table has, and a part of it.
                true => format!("{term} (of {})", it.written.to_lowercase()),
                false => it.written.to_lowercase(),
            });
            let word = word.or(term.strip_prefix('~').map(str::to_owned));
            meant.or(word).unwrap_or_else(|| term.clone())
        };
        let known = found.known.iter();
        let known = known.map(|(term, _)| Ok((written(term), terms(term)?)));
        Ok(Words {
            known: known.collect::<Result<_, RetrievalError>>()?,
            short: found.short.clone(),
        })
    }

    /// Those that a table has, by field, and those that it lacks.
    fn of_table(
        &self,
        corpus: &Corpus,
        number: u32,
    ) -> Result<(ByField, Vec<String>), RetrievalError> {
        let (mut words, mut lacks) = (ByField::new(), Vec::new());
        let add = |words: &mut Vec<String>, written: &String| {
            // A word may be several terms.
            if !words.contains(written) {
                words.push(written.clone());
            }
        };
        for (written, terms) in &self.known {
            let fields = fields_with(corpus, number, terms)?;
            if fields.is_empty() {
                add(&mut lacks, written);
            }
            for field in fields {
                add(words.entry(field).or_default(), written);
            }
        }
        let has = |words: &ByField, word: &String| words.values().flatten().any(|it| it == word);
        for form in self.short.iter().filter(|it| it.is_guessed(number)) {
            let written = form.written.to_lowercase();
            let is_own = has(&words, &written);
            if !is_own
                && fields_with(corpus, number, std::slice::from_ref(&form.term))?
                    .contains(&Field::Names.name())
            {
                lacks.retain(|word| *word != written);
                words
                    .entry(Field::name(Field::Names))
                    .or_default()
                    .push(format!("{written} (as {})", form.shown()));
            }
        }
        Ok((words, lacks))
    }
}

/// The first live table of this name, of any lake.
fn number_of(corpus: &Corpus, name: &str) -> Option<u32> {
    let mut tables = corpus.tables.iter();
    let at = tables.position(|table| corpus.name(table) == name)?;
    u32::try_from(at).ok()
}

/// The terms that a term of a question is looked up as: itself, and its forms in the languages of
/// the index.
pub(super) fn looked_up_as(
    corpus: &Corpus,
    question: &Question,
    term: &str,
) -> Result<Vec<String>, RetrievalError> {
    let forms = forms(corpus, question, term, Deadline(None))?;
    Ok(iter::once(term.to_owned()).chain(forms).collect())
}

/// The fields in which a table has one of these terms; [`SHARED`] where only texts that many tables
/// have do.
fn fields_with(
    corpus: &Corpus,
    number: u32,
    terms: &[String],
) -> Result<Vec<&'static str>, RetrievalError> {
    let place = corpus.segment_number(&corpus.tables[number as usize]);
    let (segment, shared) = (&corpus.segments[place], shared(corpus)?);
    let is_shared = |block: u32| shared.is_some_and(|it| it.has(place, block));
    let mut fields = Vec::new();
    for field in Field::ALL {
        let (mut has, mut has_shared) = (false, false);
        let mut visit = |blocks: &[u32], _: &[u32]| {
            let of_table = |block: &&u32| segment.table_of[**block as usize] == number;
            for block in blocks.iter().filter(of_table) {
                match is_shared(*block) {
                    true => has_shared = true,
                    false => has = true,
                }
            }
        };
        for term in terms {
            segment.reader.posting_runs(field, term, &mut visit)?;
        }
        if has {
            fields.push(field.name());
        } else if has_shared {
            fields.push(SHARED);
        }
    }
    Ok(fields)
}
