//! Contexts: texts about a table, each with blocks of its own, a long one over several.
//!
//! Not several short ones to a block, unless there are more than blocks: a text that many tables
//! have is known by its block, which is the same for all of them (`query/retrieval/src/shared.rs`).

use std::collections::HashSet;

use crate::clean::count_words;
use crate::pack::{pack, split_to_fit};
use crate::{BlockKind, DocumentOptions, Field, TableFacts, TextBlock, TokenCounter};

/// Bytes that one token of ordinary text stands for at most, used only to bound how much of a very
/// long text is measured.
const BYTES_PER_TOKEN: usize = 12;
/// Bytes of one word at most, on average, in what is kept of an overlong context: a text without
/// white space is one word of any length.
const BYTES_PER_WORD: usize = 64;

/// A table's context blocks, and one searched by words only for what they have no room for; then
/// those of its folder, whose words count as little as those of a row, and each once: a text that
/// speaks of sales at length makes none of its folder's tables one of sales.
pub(crate) fn context_blocks(
    facts: &TableFacts,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let mut blocks = blocks_of(&facts.contexts, Field::Contexts, counter, options);
    blocks.extend(blocks_of(
        &facts.folder_contexts,
        Field::Rows,
        counter,
        options,
    ));
    blocks
}

fn blocks_of(
    contexts: &[String],
    field: Field,
    counter: &dyn TokenCounter,
    options: &DocumentOptions,
) -> Vec<TextBlock> {
    let window = counter.window();
    let measured = options
        .context_blocks
        .saturating_mul(window)
        .saturating_mul(BYTES_PER_TOKEN);
    // The parts of texts that may share blocks.
    let mut texts: Vec<Vec<String>> = vec![Vec::new()];
    let mut beyond: Vec<String> = Vec::new();
    let mut read = 0usize;
    for context in contexts {
        let text = tidy(context);
        let (near, far) = split_at_or_before(&text, measured.saturating_sub(read));
        read += near.len();
        let parts = split_to_fit(near, counter, window);
        let parts = parts.into_iter().map(str::to_owned);
        match texts.last_mut() {
            Some(last) if contexts.len() > options.context_blocks => last.extend(parts),
            _ => texts.push(parts.collect()),
        }
        if !far.trim().is_empty() {
            beyond.push(far.to_owned());
        }
    }
    let mut words = (field == Field::Rows).then(HashSet::new);
    let mut searched = |text: &str| match &mut words {
        Some(known) => new_words(text, known),
        None => text.to_owned(),
    };
    let mut blocks: Vec<TextBlock> = Vec::new();
    let mut rest: Vec<String> = Vec::new();
    for mut parts in texts {
        let left = options.context_blocks - blocks.len();
        let packed = pack("", &parts, "\n\n", counter, left);
        let held: usize = packed.iter().map(|(_, held)| held).sum();
        blocks.extend(packed.into_iter().map(|(text, _)| TextBlock {
            kind: BlockKind::Context,
            fields: vec![(field, searched(&text))],
            text,
        }));
        rest.extend(parts.split_off(held));
    }
    rest.append(&mut beyond);
    if !rest.is_empty() {
        let rest = first_words(&rest.join("\n\n"), options.context_words);
        if !rest.is_empty() {
            blocks.push(TextBlock {
                kind: BlockKind::Cells,
                fields: vec![(field, searched(&rest))],
                text: rest,
            });
        }
    }
    blocks
}

/// The words of a text that are not known yet, each once, on one line: they are no values, which
/// lines would be.
fn new_words(text: &str, known: &mut HashSet<String>) -> String {
    let words = text.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(|it: char| !it.is_alphanumeric());
        (!word.is_empty() && known.insert(word.to_lowercase())).then_some(word)
    });
    words.collect::<Vec<&str>>().join(" ")
}

/// Line ends as `\n`, no other control characters, no runs of spaces.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for line in text.lines() {
        let mut words = line.split(|c: char| c.is_whitespace() || c.is_control());
        let mut first = true;
        for word in words.by_ref().filter(|word| !word.is_empty()) {
            if !first {
                tidied.push(' ');
            }
            tidied.push_str(word);
            first = false;
        }
        tidied.push('\n');
    }
    tidied.trim().to_owned()
}

fn split_at_or_before(text: &str, bytes: usize) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(bytes.min(text.len())))
}

/// The beginning of a text that holds at most `words` words of ordinary length.
fn first_words(text: &str, words: usize) -> String {
    let (text, _) = split_at_or_before(text, words.saturating_mul(BYTES_PER_WORD));
    let mut kept = String::new();
    let mut count = 0;
    for line in text.split_inclusive('\n') {
        for word in line.split_inclusive(' ') {
            count += count_words(word);
            if count > words {
                return kept.trim().to_owned();
            }
            kept.push_str(word);
        }
    }
    kept.trim().to_owned()
}
