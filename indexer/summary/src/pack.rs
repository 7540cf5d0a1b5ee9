//! Packing: pieces of text into as few blocks as possible, each within the window.
//!
//! A tokenizer's count of a joined text is nearly, not exactly, the sum of its pieces' counts. So
//! pieces are gathered by their sums and every finished block is measured once as a whole; one that
//! turned out too long gives its last pieces to the next.

use crate::TokenCounter;

/// Packs `pieces` in order, joined by `separator`, each block beginning with `head`.
///
/// Every block fits the window. A piece that alone (with the head) does not fit is cut to what
/// does. Returns the blocks (at most `limit`), each with the number of pieces it holds.
pub(crate) fn pack(
    head: &str,
    pieces: &[String],
    separator: &str,
    counter: &dyn TokenCounter,
    limit: usize,
) -> Vec<(String, usize)> {
    let window = counter.window();
    let empty = counter.count("");
    let head = cut(head, counter, window / 2 + empty);
    let cost = |text: &str| counter.count(text).saturating_sub(empty);
    let head_cost = empty + cost(&head);
    let separator_cost = cost(separator.trim());
    let mut blocks = Vec::new();
    let mut start = 0;
    // What the window is measured against; costs are computed once a piece.
    let mut costs: Vec<Option<usize>> = vec![None; pieces.len()];
    while start < pieces.len() && blocks.len() < limit {
        let mut end = start;
        let mut sum = head_cost;
        while end < pieces.len() {
            let piece = *costs[end].get_or_insert_with(|| cost(&pieces[end]));
            let joined = sum + piece + if end > start { separator_cost } else { 0 };
            if end > start && joined > window {
                break;
            }
            sum = joined;
            end += 1;
            if sum > window {
                break;
            }
        }
        loop {
            let text = join(&head, &pieces[start..end], separator);
            if counter.fits(&text) {
                blocks.push((text, end - start));
                break;
            }
            if end - start > 1 {
                end -= 1;
                continue;
            }
            let text = cut(&text, counter, window);
            if !text.is_empty() {
                blocks.push((text, 1));
            }
            break;
        }
        start = end;
    }
    blocks
}

fn join(head: &str, pieces: &[String], separator: &str) -> String {
    let body = pieces.join(separator);
    if head.is_empty() {
        body
    } else if body.is_empty() {
        head.to_owned()
    } else {
        format!("{head} {body}")
    }
}

/// The longest beginning of a text that has at most `tokens` tokens, ended at a word where
/// possible.
pub(crate) fn cut(text: &str, counter: &dyn TokenCounter, tokens: usize) -> String {
    let text = text.trim();
    if counter.count(text) <= tokens {
        return text.to_owned();
    }
    let ends: Vec<usize> = text
        .char_indices()
        .skip(1)
        .map(|(at, _)| at)
        // No tokenizer makes fewer than one token of 64 characters of real text; this only bounds
        // the search on hostile input.
        .take(tokens.saturating_mul(64).max(64))
        .collect();
    // Counts grow with the text closely enough for bisection; the result is checked below.
    let fitting = ends.partition_point(|&end| counter.count(&text[..end]) <= tokens);
    let mut fitting = fitting;
    while fitting > 0 {
        let end = ends[fitting - 1];
        let kept = &text[..end];
        let at_word = text[end..].starts_with(char::is_whitespace);
        let nice = if at_word {
            kept
        } else {
            match kept.rfind(char::is_whitespace) {
                Some(space) if space > kept.len() / 2 => &kept[..space],
                _ => kept,
            }
        };
        let nice = nice.trim_end();
        if counter.count(nice) <= tokens {
            return nice.to_owned();
        }
        fitting -= 1;
    }
    String::new()
}

/// Splits a text into contiguous parts that each fit `tokens`: at paragraphs, else at lines and
/// sentences, else at words, else anywhere.
pub(crate) fn split_to_fit<'a>(
    text: &'a str,
    counter: &dyn TokenCounter,
    tokens: usize,
) -> Vec<&'a str> {
    let mut parts = Vec::new();
    split_at_level(text, counter, tokens, 0, &mut parts);
    parts
}

fn split_at_level<'a>(
    text: &'a str,
    counter: &dyn TokenCounter,
    tokens: usize,
    level: usize,
    parts: &mut Vec<&'a str>,
) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    if counter.count(text) <= tokens {
        parts.push(text);
        return;
    }
    let pieces = match level {
        0 => paragraphs(text),
        1 => sentences(text),
        2 => words(text),
        _ => {
            let middle = text
                .char_indices()
                .map(|(at, _)| at)
                .nth(text.chars().count() / 2);
            match middle.filter(|&at| at > 0) {
                Some(at) => vec![&text[..at], &text[at..]],
                // A single character that does not fit: there is nothing to be done with it.
                None => return,
            }
        }
    };
    if pieces.len() == 1 {
        split_at_level(text, counter, tokens, level + 1, parts);
        return;
    }
    // Gather neighbours again as long as they fit, so that a long paragraph gives few parts.
    let empty = counter.count("");
    let mut start: Option<usize> = None;
    let mut sum = empty;
    let offset = |piece: &str| piece.as_ptr() as usize - text.as_ptr() as usize;
    let mut end = 0;
    for piece in pieces {
        let cost = counter.count(piece).saturating_sub(empty);
        let from = offset(piece);
        if start.is_some() && sum + cost > tokens {
            split_rest(
                &text[start.unwrap_or(0)..end],
                counter,
                tokens,
                level,
                parts,
            );
            start = None;
            sum = empty;
        }
        start.get_or_insert(from);
        sum += cost;
        end = from + piece.len();
    }
    if let Some(start) = start {
        split_rest(&text[start..end], counter, tokens, level, parts);
    }
}

/// A gathered run: taken as it is where it fits, split finer where it does not.
fn split_rest<'a>(
    run: &'a str,
    counter: &dyn TokenCounter,
    tokens: usize,
    level: usize,
    parts: &mut Vec<&'a str>,
) {
    if counter.count(run) <= tokens {
        let run = run.trim();
        if !run.is_empty() {
            parts.push(run);
        }
    } else {
        split_at_level(run, counter, tokens, level + 1, parts);
    }
}

/// Parts ended by an empty line.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut blank = false;
    for (at, line) in lines(text) {
        if line.trim().is_empty() {
            blank = true;
        } else if blank {
            parts.push(&text[start..at]);
            start = at;
            blank = false;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Parts ended by a line break, or by `.`, `!`, `?` (or their wide forms) before white space.
fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_some_and(char::is_whitespace),
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            parts.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(char::is_whitespace).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::WordCounter;

    /// Counts like a sub-word tokenizer: two special tokens, and one token per begun four
    /// characters of a word. Joining across a word boundary changes counts, as real ones do.
    pub(crate) struct Chunks(pub(crate) usize);

    impl TokenCounter for Chunks {
        fn count(&self, text: &str) -> usize {
            2 + text
                .split_whitespace()
                .map(|word| word.chars().count().div_ceil(4))
                .sum::<usize>()
        }

        fn window(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn long_texts_split_at_the_widest_boundary_that_does() {
        let text = "One two three. Four five!\nSix seven\n\nEight nine ten";
        let at = |window| split_to_fit(text, &WordCounter { window }, window);
        assert_eq!(at(10), [text]);
        assert_eq!(
            at(7),
            ["One two three. Four five!\nSix seven", "Eight nine ten"]
        );
        assert_eq!(
            at(5),
            ["One two three. Four five!", "Six seven", "Eight nine ten"]
        );
        assert_eq!(
            at(2),
            [
                "One two",
                "three.",
                "Four five!",
                "Six seven",
                "Eight nine",
                "ten"
            ]
        );
    }

    #[test]
    fn a_cut_ends_at_a_word() {
        let counter = Chunks(6);
        assert_eq!(cut("alpha beta gamma delta", &counter, 6), "alpha beta");
        assert_eq!(cut(&"x".repeat(100), &counter, 6), "x".repeat(16));
        assert_eq!(cut("短い", &counter, 2), "");
    }

    proptest! {
        #[test]
        fn every_block_fits_and_no_piece_is_lost(
            head in "[a-z ]{0,30}",
            pieces in prop::collection::vec("[a-zA-Zäß ]{0,40}", 0..40),
            window in 24usize..80,
        ) {
            let counter = Chunks(window);
            let blocks = pack(&head, &pieces, ", ", &counter, usize::MAX);
            let mut next = 0;
            for (text, held) in &blocks {
                prop_assert!(counter.fits(text), "{}", text);
                for piece in &pieces[next..next + held] {
                    prop_assert!(text.contains(piece.trim()), "{:?} in {:?}", piece, text);
                }
                next += held;
            }
            prop_assert_eq!(next, pieces.len());
        }

        #[test]
        fn splitting_keeps_every_character_but_white_space(text in "[a-z.!\\n ]{0,200}", window in 4usize..20) {
            let counter = Chunks(window);
            let parts = split_to_fit(&text, &counter, window);
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeeze(&parts.concat()), squeeze(&text));
            for part in parts {
                prop_assert!(counter.fits(part));
            }
        }
    }
}
