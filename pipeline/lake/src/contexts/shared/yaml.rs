//! YAML: dbt's `models:`, `sources:` and `seeds:`, and dictionaries in the same manner.
//!
//! What is looked for is what such files have in common: an item `- name: orders`, or a key
//! `orders:` with lines further in. The part is those very lines; it is read by
//! [`super::super::column_descriptions`] as it stands.

mod flaws;

pub(super) use self::flaws::{Flaw, check};
use super::Parts;
use crate::place::split_path;

/// Keys below which names are those of columns.
const COLUMNS: [&str; 3] = ["columns", "fields", "properties"];
/// Levels of items within items.
const LEVELS: usize = 8;
/// Other names of an item.
const ALIASES: [&str; 6] = [
    "identifier",
    "alias",
    "path",
    "file",
    "table",
    "external_location",
];

pub(super) fn cut(text: &str, parts: &mut Parts) {
    let lines: Vec<&str> = text.lines().collect();
    // The indents of the keys of columns that are open.
    let mut columns: Option<usize> = None;
    // The table that is open: where its item begins, how far in, and its part.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        let item = content.strip_prefix("- ").map(str::trim_start);
        // An item of a list may stand as far in as the key of the list.
        columns = columns.filter(|outer| indent > *outer || indent == *outer && item.is_some());
        open.retain(|(outer, _)| indent > *outer);
        if columns.is_some() {
            continue;
        }
        let Some((key, value)) = item.unwrap_or(content).split_once(':') else {
            continue;
        };
        let (key, value) = (bare(key), bare(value));
        if COLUMNS.contains(&key) && value.is_empty() {
            columns = Some(indent);
            continue;
        }
        let name = match (item, key) {
            (Some(_), "name" | "table" | "path" | "file") => value,
            _ if value.is_empty() => key,
            _ => "",
        };
        if !name.is_empty() && open.len() < LEVELS {
            let part = parts.add(block(&lines[at..], indent, item.is_some()), None);
            parts.is_called(part, split_path(name).1);
            open.push((indent, part));
        } else if let (true, Some((_, part))) = (ALIASES.contains(&key), open.last()) {
            parts.is_called(*part, split_path(value).1);
        }
    }
}

fn bare(text: &str) -> &str {
    text.trim().trim_matches(['"', '\'']).trim()
}

/// A first line and those further in.
fn block(lines: &[&str], indent: usize, is_item: bool) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let content = line.trim_start();
        let inner = line.len() - content.len();
        let is_list_of_key = !is_item && inner == indent && content.starts_with("- ");
        if at > 0 && !content.is_empty() && inner <= indent && !is_list_of_key {
            break;
        }
        if text.len() > super::PART_CHARS {
            break;
        }
        text.push_str(line.get(indent.min(inner)..).unwrap_or(content));
        text.push('\n');
    }
    text
}
