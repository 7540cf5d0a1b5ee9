//! Prose: Markdown and plain text, in which tables are named in headings, tables, lists and
//! paragraphs.
//!
//! What belongs to a name is as little as makes sense: all below a heading that names the table; of
//! a table or list that names several, the rows or items; else the paragraph. A line such as
//! `orders.csv: one row per order` begins an item, too. In running text a word that could be any
//! (`orders`) names a table only if it is marked as a name (in quotes or code, or at the start of
//! an item); one with a digit, an underscore or an extension always does, as does a path. What ends
//! with a slash (`eu/`) is a folder.

use std::ops::Range;

use limn_formats::Format;

use super::Parts;

/// Words looked at in one line: a longer one is no prose.
const WORDS: usize = 2000;
/// Letters of a name.
const NAME: usize = 300;

pub(super) fn cut(text: &str, parts: &mut Parts) {
    let mut open: Vec<Section> = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut is_code = false;
    let mut count = 0;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        match level(line).filter(|_| !is_code) {
            Some(level) => {
                finish(std::mem::take(&mut block), at, parts);
                close(&mut open, level, at, parts);
                open.push(Section {
                    level,
                    from: at,
                    text: String::new(),
                    names: names(line, true),
                });
            }
            None if line.is_empty() => finish(std::mem::take(&mut block), at, parts),
            None => block.push(line),
        }
        for section in &mut open {
            if section.text.len() <= super::PART_CHARS {
                section.text.push_str(line);
                section.text.push('\n');
            }
        }
        count = at + 1;
    }
    finish(block, count, parts);
    close(&mut open, 0, count, parts);
}

/// What stands below a heading, with the headings below it.
struct Section {
    level: usize,
    /// The line of the heading.
    from: usize,
    text: String,
    names: Vec<String>,
}

/// The level of a heading.
fn level(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then_some(level)
}

fn close(open: &mut Vec<Section>, level: usize, end: usize, parts: &mut Parts) {
    while let Some(section) = open.pop_if(|section| section.level >= level) {
        // The title of the whole names the dataset.
        if section.level == 1 && !section.names.iter().any(|name| name.contains('.')) {
            continue;
        }
        let part = parts.add_lines(section.text, None, section.from..end);
        for name in &section.names {
            parts.is_called(part, name);
        }
    }
}

/// A paragraph, a table or a list, that ends before a line.
fn finish(block: Vec<&str>, end: usize, parts: &mut Parts) {
    let Some(first) = block.first() else {
        return;
    };
    let from = end - block.len();
    if first.trim_start().starts_with('|') {
        let is_rule = |line: &&&str| line.contains("--");
        let header: Vec<&str> = match block.get(1).filter(is_rule) {
            Some(rule) => vec![first, rule],
            None => Vec::new(),
        };
        let rows = (from..).zip(&block).skip(header.len());
        let above = (!header.is_empty()).then(|| parts.add(header.join("\n"), None));
        for (at, row) in rows {
            let cells = row.trim().trim_matches('|').split('|');
            let found = cells.flat_map(|cell| names(cell, is_short(cell))).collect();
            let row = Item {
                text: (*row).to_owned(),
                lines: at..at + 1,
                names: found,
            };
            row.add(above, parts);
        }
        return;
    }
    let starts = starts(&block);
    let mut open: Option<Item> = None;
    for ((at, line), head) in (from..).zip(&block).zip(starts) {
        match &mut open {
            Some(item) if head.is_none() => {
                item.text.push('\n');
                item.text.push_str(line);
                item.lines.end = at + 1;
                item.names.extend(names(line, false));
            }
            _ => {
                let new = Item {
                    text: (*line).to_owned(),
                    lines: at..at + 1,
                    names: names(line, false),
                };
                if let Some(item) = open.replace(new) {
                    item.add(None, parts);
                }
            }
        }
        if let Some((head, item)) = head.zip(open.as_mut()) {
            item.names.extend(names(head, true));
        }
    }
    if let Some(item) = open {
        item.add(None, parts);
    }
}

/// Of each line of a block, what it begins with if it is an item: a list's, or one that is a file
/// or a path, a colon, and perhaps a text.
fn starts<'a>(block: &[&'a str]) -> Vec<Option<&'a str>> {
    let is_list = block.iter().any(|line| is_item(line));
    let start = |line: &&'a str| match is_list {
        true => is_item(line).then(|| {
            let marked = line.trim_start();
            begin(marked.trim_start_matches(['-', '*', '+', ' ']))
        }),
        false => defined(line),
    };
    block.iter().map(start).collect()
}

/// The beginning of a list's item: what stands in code, or the first word.
fn begin(content: &str) -> &str {
    let code = content.strip_prefix('`').and_then(|it| it.find('`'));
    let end = code.map(|end| end + 2);
    let end = end.or_else(|| content.find([':', ' ', '(']));
    &content[..end.unwrap_or(content.len())]
}

/// `orders.csv` of `orders.csv: one row per order`. A word is none: columns are described so, too.
fn defined(line: &str) -> Option<&str> {
    let (head, text) = line.trim_start().split_once(':')?;
    let is_word = head.is_empty() || head.contains(char::is_whitespace);
    let is_file = Format::of_path(head).is_some_and(|it| it != Format::Unnamed);
    let is_end = text.is_empty() || text.starts_with(' ');
    (!is_word && is_end && (is_file || head.contains('/'))).then_some(head)
}

/// A paragraph, a row or an item of a list.
struct Item {
    text: String,
    lines: Range<usize>,
    names: Vec<String>,
}

impl Item {
    fn add(mut self, above: Option<usize>, parts: &mut Parts) {
        if self.names.is_empty() {
            return;
        }
        self.names.sort_unstable();
        self.names.dedup();
        let part = parts.add_lines(self.text, above, self.lines);
        for name in &self.names {
            parts.is_called(part, name);
        }
    }
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// Whether a cell is a name rather than a text.
fn is_short(cell: &str) -> bool {
    !cell.trim().contains(' ')
}

/// Names that a line has, in lower case; any word where `all` are meant. What stands in code, and a
/// heading that is the name of a data file, is one name, blanks and all.
fn names(line: &str, all: bool) -> Vec<String> {
    let whole = line.trim_matches(|it: char| it == '#' || it.is_whitespace());
    // A heading may have a year in it.
    let format = Format::of_path(whole).filter(|it| *it != Format::Unnamed);
    if all && whole.contains(' ') && !whole.contains('`') && format.is_some() {
        return vec![last_part(whole)];
    }
    let mut found = Vec::new();
    let mut rest = String::with_capacity(line.len());
    let pieces: Vec<&str> = line.split('`').collect();
    for (at, piece) in pieces.iter().enumerate() {
        let is_code = at % 2 == 1 && at + 1 < pieces.len();
        if is_code && piece.trim().contains(' ') && piece.len() <= NAME {
            found.push(last_part(piece.trim()));
            rest.push(' ');
        } else if is_code {
            rest.extend(["`", piece, "`"]);
        } else {
            rest.push_str(piece);
        }
    }
    found.extend(words(&rest, all));
    found
}

/// The end of a path; of a folder with its slash.
fn last_part(name: &str) -> String {
    let path = name.trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    match path.len() < name.len() && !last.is_empty() {
        true => last + "/",
        false => last,
    }
}

/// The words of a line that are names.
fn words(line: &str, all: bool) -> Vec<String> {
    let between = |it: char| it.is_whitespace() || "()[]{}<>,;|".contains(it);
    let words = line.split(between).take(WORDS);
    let names = words.filter_map(|word| {
        let is_marked = word.starts_with(['`', '"', '\'', '*', '“', '\u{2018}']);
        let name = word.trim_start_matches(|it: char| !it.is_alphanumeric());
        let is_url = word.contains("://");
        let is_end = |it: char| !it.is_alphanumeric() && (it != '/' || is_url);
        let name = name.trim_end_matches(is_end);
        let is_odd =
            || name.contains(|it: char| it == '_' || it == '.' || it == '/' || it.is_ascii_digit());
        if name.is_empty() || name.len() > NAME || !(all || is_marked || is_odd()) {
            return None;
        }
        Some(last_part(name))
    });
    names.collect()
}
