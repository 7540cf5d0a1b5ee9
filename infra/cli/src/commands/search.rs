//! `limn search`: the tables that answer a question, and why.

use std::collections::HashSet;
use std::io::{self, Write};

use limn_retrieval::{Answer, Hit, JoinedBy, Query, ScoredBy, content_terms};
use limn_segment::IndexStore;

use crate::Outcome;
use crate::args::SearchArgs;
use crate::commands::{joins_of, judge, known, open_searcher, print_json, query, scores, sets};
use crate::progress::{Waiting, say};
use crate::text::{Style, mark, one_line, shorten};

/// Evidence blocks shown per table, and characters of each.
const EVIDENCE_BLOCKS: usize = 2;
const EVIDENCE_CHARS: usize = 240;
/// What is said of a ranking by the index's own weights.
pub const TUNED: &str = "ranked by the index's own weights (limn tune --show)";
/// Copies named per table.
const COPIES: usize = 3;

pub async fn run(args: SearchArgs) -> anyhow::Result<Outcome> {
    if args.join {
        return sets::search(args).await;
    }
    let k = match args.k {
        None => Query::new("").k,
        Some(count) => sets::given(count)?,
    };
    let mut query = query(&args.question.join(" "), k, &args.options)?;
    let searcher = open_searcher(&args.index.index, &args.encoder).await?;
    let joins = joins_of(&args.index.index, searcher.snapshot(), &args.options).await;
    query.joins = joins.unwrap_or_else(|error| {
        say(&format!(
            "tables are ranked one by one: the index's joins cannot be read: {error:#}"
        ));
        None
    });
    let judging = judge::open(&args.options.judging, &args.model).await?;
    query.judge = judging.judge;
    let is_judged = query.judge.is_some();
    let waiting = query.judge.as_ref().map(|judge| {
        let model = one_line(judge.model().id().as_str());
        Waiting::start(format!("judging the first tables with {model}"))
    });
    let answered = tokio::task::spawn_blocking(move || searcher.search(&query)).await;
    if let Some(waiting) = waiting {
        waiting.finish();
    }
    let mut answer = answered??;
    // Of a judge that judged nothing there is nothing to say but why not.
    let nothing = |judged: Option<bool>| judged.is_none();
    let is_unjudged = answer.results.iter().all(|hit| nothing(hit.judged));
    if !(is_judged && is_unjudged) {
        answer.notes.extend(judging.notes);
    }
    say_nothing_under(&args, &answer).await?;
    if args.output.json {
        print_json(&answer)?;
    } else {
        print(&answer, args.why)?;
    }
    Ok(Outcome::Done)
}

/// Says that no table lies under the prefix, where that is why none was found.
pub async fn say_nothing_under(args: &SearchArgs, answer: &Answer) -> anyhow::Result<()> {
    if let (Some(prefix), true) = (&args.options.under.prefix, answer.results.is_empty()) {
        let index = IndexStore::open(&args.index.index)?;
        let snapshot = index.require_newest().await?;
        let nothing = known::nothing_under(&index, &snapshot, prefix).await?;
        nothing.iter().for_each(|it| say(it));
    }
    Ok(())
}

/// The line that names a table's copies, if it has any.
fn copies(names: &[String]) -> Option<String> {
    let shown: Vec<String> = names
        .iter()
        .take(COPIES)
        .map(|name| one_line(name))
        .collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("copies: {}{more}", shown.join(", ")))
}

/// The line that says why a table stands behind the first.
fn joined_by(joined: &JoinedBy) -> String {
    let pairs = joined.columns.iter().zip(&joined.partner_columns);
    let pairs: Vec<String> = pairs
        .map(|(own, other)| format!("{own} = {other}"))
        .collect();
    one_line(&format!("joins {}: {}", joined.partner, pairs.join(", ")))
}

/// What a table is worth whatever else was found; in plain mode, which has no grades, how it scores
/// among the others.
fn worth(hit: &Hit) -> String {
    let Some(grade) = hit.grade else {
        let Hit {
            score,
            lexical,
            semantic,
            ..
        } = hit;
        return format!("{score:.2} (words {lexical:.2}, meaning {semantic:.2})");
    };
    let meaning = hit.cosine.map(|cosine| format!(", meaning {cosine:.2}"));
    format!(
        "{}: words {:.0} %{}",
        grade.as_str(),
        100.0 * hit.covered,
        meaning.unwrap_or_default()
    )
}

/// Prints an answer; where asked for, with what its scores are made of.
pub fn print(answer: &Answer, with_scores: bool) -> io::Result<()> {
    let style = Style::of_stdout();
    let words: HashSet<String> = content_terms(&answer.question).into_iter().collect();
    let mut out = io::stdout().lock();
    for (rank, hit) in answer.results.iter().enumerate() {
        writeln!(
            out,
            "{:>2}. {}  {}",
            rank + 1,
            style.bold(&one_line(&hit.table)),
            style.dim(&format!(
                "{}{}",
                worth(hit),
                match hit.judged {
                    Some(true) => " judged relevant",
                    Some(false) => " judged irrelevant",
                    None => "",
                }
            )),
        )?;
        writeln!(out, "    {}", style.dim(&one_line(&hit.location)))?;
        if !hit.exact.is_empty() {
            writeln!(out, "    {}", one_line(&hit.exact.join(", ")))?;
        }
        if let Some(joined) = &hit.joined {
            writeln!(out, "    {}", style.dim(&joined_by(joined)))?;
        }
        if let Some(copies) = copies(&hit.copies) {
            writeln!(out, "    {}", style.dim(&copies))?;
        }
        if with_scores {
            for line in scores::lines(hit) {
                writeln!(out, "    {line}")?;
            }
        }
        for block in hit.blocks.iter().take(EVIDENCE_BLOCKS) {
            let text = shorten(&block.text, &words, EVIDENCE_CHARS);
            writeln!(
                out,
                "    {} {}",
                style.dim(&format!("{}:", block.kind)),
                mark(&text, &words, &style)
            )?;
        }
    }
    if answer.ranking == ScoredBy::Tuned {
        writeln!(out, "{}", style.dim(TUNED))?;
    }
    for note in answer.notes.iter().chain(&answer.failures) {
        writeln!(out, "{}", style.dim(&format!("note: {}", one_line(note))))?;
    }
    if answer.results.is_empty() && answer.notes.is_empty() {
        writeln!(out, "nothing relevant was found")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_copies_are_named_and_the_others_counted() {
        let names =
            |count: usize| -> Vec<String> { (0..count).map(|n| format!("tmp/{n}")).collect() };
        assert_eq!(copies(&names(0)), None);
        assert_eq!(copies(&names(2)).as_deref(), Some("copies: tmp/0, tmp/1"));
        let line = copies(&names(5));
        assert_eq!(
            line.as_deref(),
            Some("copies: tmp/0, tmp/1, tmp/2 and 2 more")
        );
    }
}
