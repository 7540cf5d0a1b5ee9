//! What contexts say of single columns.
//!
//! Data dictionaries come in many shapes: Markdown tables, lists, `name: description` lines, JSON
//! of one schema language or another, YAML such as dbt's. What they share is that a column's own
//! name stands where its description begins, and the names of the columns are known. So there is no
//! parser of each shape here, but a look for known names at the places where shapes have them. What
//! is not found is not lost: the whole text describes the table.

use std::collections::HashMap;

use limn_formats::DESCRIPTION_CHARS;
use limn_profile::text::prefix;
use limn_store::one_line;
use serde_json::Value;

/// Letters of the longest name that is looked for.
const NAME_CHARS: usize = 200;
/// Levels of JSON that are looked into.
const LEVELS: usize = 16;

/// What `texts` say of the columns called `columns`, in their order; the first text that says
/// anything of a column holds. Names are compared without case, spaces and underscores, if that
/// leaves them apart.
#[must_use]
pub fn column_descriptions(texts: &[&str], columns: &[&str]) -> Vec<Option<String>> {
    let mut found = Found::of(columns);
    if columns.len() > 1
        || texts
            .iter()
            .any(|text| text.contains(columns.first().unwrap_or(&"\0")))
    {
        for text in texts {
            match serde_json::from_str::<Value>(text) {
                Ok(json @ (Value::Object(_) | Value::Array(_))) => found.json(&json, LEVELS),
                _ => found.text(text),
            }
            found.settle();
        }
    }
    found.descriptions
}

struct Found {
    /// Columns by the letters of their names; none where two have the same.
    by_name: HashMap<String, Option<usize>>,
    descriptions: Vec<Option<String>>,
    /// What the text being read says.
    said: HashMap<usize, String>,
}

fn letters(name: &str) -> String {
    let letters = name
        .chars()
        .filter(|it| it.is_alphanumeric() || matches!(it, '%' | '#' | '+'));
    letters
        .flat_map(char::to_lowercase)
        .take(NAME_CHARS)
        .collect()
}

impl Found {
    fn of(columns: &[&str]) -> Self {
        let mut by_name = HashMap::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            let letters = letters(column);
            if !letters.is_empty() {
                by_name
                    .entry(letters)
                    .and_modify(|known| *known = None)
                    .or_insert(Some(at));
            }
        }
        Found {
            by_name,
            descriptions: vec![None; columns.len()],
            said: HashMap::new(),
        }
    }

    fn column(&self, name: &str) -> Option<usize> {
        if name.len() > 4 * NAME_CHARS {
            return None;
        }
        self.by_name.get(&letters(name)).copied().flatten()
    }

    fn say(&mut self, column: usize, description: &str) {
        let description = description.trim().trim_matches(['|', '*', '`']).trim();
        let is_link = description.starts_with("http://") || description.starts_with("https://");
        let has_words = description.chars().any(char::is_alphabetic) && !is_link;
        if has_words && !self.said.contains_key(&column) {
            let line = one_line(prefix(description, 4 * DESCRIPTION_CHARS));
            let kept = prefix(line.trim(), DESCRIPTION_CHARS).to_owned();
            self.said.insert(column, kept);
        }
    }

    /// Takes what a text said where no earlier one said anything.
    fn settle(&mut self) {
        for (column, description) in self.said.drain() {
            self.descriptions[column].get_or_insert(description);
        }
    }

    /// Objects that name a column and describe it (Frictionless, CSVW, Croissant, dbt's manifest),
    /// and objects whose keys are columns (JSON Schema, plain dictionaries).
    fn json(&mut self, value: &Value, levels: usize) {
        const NAMES: [&str; 8] = [
            "name",
            "column",
            "columnname",
            "column_name",
            "field",
            "titles",
            "title",
            "id",
        ];
        const DESCRIPTIONS: [&str; 8] = [
            "description",
            "dc:description",
            "comment",
            "doc",
            "meaning",
            "definition",
            "label",
            "rdfs:comment",
        ];
        if levels == 0 {
            return;
        }
        match value {
            Value::Object(object) => {
                let texts = |keys: &'static [&str]| {
                    let is_one =
                        move |key: &str| keys.iter().any(|it| key.eq_ignore_ascii_case(it));
                    let found = object.iter().filter(move |(key, _)| is_one(key));
                    found.filter_map(|(_, text)| text.as_str())
                };
                let column = texts(&NAMES).find_map(|name| self.column(name));
                if let (Some(column), Some(description)) = (column, texts(&DESCRIPTIONS).next()) {
                    self.say(column, description);
                }
                for (key, inner) in object {
                    let described = match inner {
                        Value::String(text)
                            if !NAMES.contains(&key.as_str())
                                && !DESCRIPTIONS.contains(&key.as_str()) =>
                        {
                            Some(text.as_str())
                        }
                        Value::Object(inner) => {
                            let mut texts = DESCRIPTIONS.iter().filter_map(|key| inner.get(*key));
                            texts.find_map(Value::as_str)
                        }
                        _ => None,
                    };
                    if let (Some(column), Some(text)) = (self.column(key), described) {
                        self.say(column, text);
                    }
                    self.json(inner, levels - 1);
                }
            }
            Value::Array(all) => all.iter().for_each(|inner| self.json(inner, levels - 1)),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        // The cells of a Markdown table's header, while inside one.
        let mut header: Option<Header> = None;
        // The column that a YAML list is at.
        let mut named: Option<usize> = None;
        let mut lines = text.lines().peekable();
        while let Some(whole) = lines.next() {
            let line = whole.trim();
            if line.starts_with('|') {
                let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
                match &header {
                    Some(known) => self.row(known, &cells),
                    None => header = Some(Header::of(&cells)),
                }
                continue;
            }
            header = None;
            let line = without_marker(line);
            match line
                .split_once(':')
                .map(|(key, value)| (key.trim(), value.trim()))
            {
                Some(("name" | "column" | "field", name))
                    if self.column(unquoted(name)).is_some() =>
                {
                    named = self.column(unquoted(name));
                    continue;
                }
                Some(("description" | "comment" | "meaning" | "doc" | "label", text)) => {
                    let Some(column) = named else {
                        self.line(line);
                        continue;
                    };
                    // A block: `>` or `|`, and then lines that are further in.
                    if text.is_empty() || text.starts_with(['>', '|']) {
                        let mut block = String::new();
                        while let Some(next) = lines
                            .next_if(|next| indent(next) > indent(whole) || next.trim().is_empty())
                        {
                            block.push(' ');
                            block.push_str(next.trim());
                            if block.len() > 4 * DESCRIPTION_CHARS {
                                break;
                            }
                        }
                        self.say(column, &block);
                    } else {
                        self.say(column, unquoted(text));
                    }
                    continue;
                }
                Some(("name", _)) => named = None,
                _ => {}
            }
            self.line(line);
        }
    }

    fn row(&mut self, header: &Header, cells: &[&str]) {
        let cell = |at: usize| cells.get(at).copied().map(plain);
        let name = cell(header.name).unwrap_or_default();
        let Some(column) = self.column(name) else {
            return;
        };
        let description = header.description.and_then(cell).or_else(|| {
            let others = cells
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != header.name);
            others
                .map(|(_, cell)| plain(cell))
                .max_by_key(|cell| cell.len())
        });
        self.say(column, description.unwrap_or_default());
    }

    /// `name: description`, with other separators, too; several after one another with semicolons
    /// between them, the first one perhaps behind a title:
    /// `Columns of orders: id: The number; day: When it came`.
    fn line(&mut self, line: &str) {
        let mut open: Option<(usize, String)> = None;
        for part in line.split(';') {
            match self.named(part) {
                Some((column, text)) => {
                    if let Some((column, text)) = open.replace((column, text.to_owned())) {
                        self.say(column, &text);
                    }
                }
                None => {
                    if let Some((_, text)) = &mut open
                        && text.len() < 4 * DESCRIPTION_CHARS
                    {
                        text.push(';');
                        text.push_str(part);
                    }
                }
            }
        }
        if let Some((column, text)) = open {
            self.say(column, &text);
        }
    }

    /// The column that a text begins with, perhaps behind one title, and what follows it.
    fn named<'t>(&self, text: &'t str) -> Option<(usize, &'t str)> {
        const SEPARATORS: [&str; 8] = [": ", ":** ", "`: ", " - ", " – ", " — ", " = ", "\t"];
        let begin = prefix(text, 2 * NAME_CHARS);
        let mut places: Vec<(usize, usize)> = SEPARATORS
            .iter()
            .flat_map(|it| {
                begin
                    .match_indices(it)
                    .map(|(at, it)| (at, at + it.len()))
                    .take(3)
            })
            .collect();
        places.sort_unstable();
        let mut from = 0;
        for (end, next) in places.into_iter().take(4) {
            let Some(name) = text.get(from..end) else {
                continue;
            };
            // `id (integer): …`
            let bare = name.split_once(" (").map_or(name, |(bare, _)| bare);
            for name in [name, bare] {
                if let Some(column) = self.column(plain(name)) {
                    return Some((column, widest(text.get(next..)?)));
                }
            }
            from = next;
        }
        None
    }
}

/// A cell or name without what marks it in Markdown.
fn plain(cell: &str) -> &str {
    cell.trim().trim_matches(['`', '*', '_', '"']).trim()
}

/// Of a row whose cells have tabs between them the longest, as in a Markdown table without a header
/// that says so.
fn widest(cells: &str) -> &str {
    cells
        .split('\t')
        .max_by_key(|cell| cell.len())
        .unwrap_or(cells)
}

fn unquoted(value: &str) -> &str {
    value.trim().trim_matches(['"', '\'']).trim()
}

/// Spaces before a line's text.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A line without the bullet or the number that makes it an item of a list.
fn without_marker(line: &str) -> &str {
    let item = line
        .trim_start_matches(['-', '+', '•', '>', '#'])
        .trim_start();
    let item = item.strip_prefix("* ").unwrap_or(item);
    let digits = item.trim_start_matches(|it: char| it.is_ascii_digit());
    let number = item.len() - digits.len();
    match digits
        .strip_prefix(". ")
        .or_else(|| digits.strip_prefix(") "))
    {
        Some(rest) if (1..4).contains(&number) => rest,
        _ => item,
    }
}

/// Which columns of a Markdown table name and describe.
struct Header {
    name: usize,
    description: Option<usize>,
}

impl Header {
    fn of(cells: &[&str]) -> Self {
        // The word that says most stands first: of `Table name | Column name` the second is meant.
        let is = |names: &[&str]| {
            names.iter().find_map(|name| {
                cells.iter().position(|cell| {
                    let cell = letters(cell);
                    cell == *name || cell.ends_with(name) || cell.starts_with(name)
                })
            })
        };
        let description = is(&[
            "description",
            "meaning",
            "definition",
            "comment",
            "comments",
            "notes",
            "label",
            "bedeutung",
            "beschreibung",
        ]);
        let name = is(&["column", "field", "variable", "attribute", "name", "spalte"])
            .filter(|at| Some(*at) != description);
        Header {
            name: name.unwrap_or(0),
            description,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [&str; 3] = ["OrderID", "placed_on", "Total"];

    fn said(text: &str) -> Vec<Option<String>> {
        column_descriptions(&[text], &COLUMNS)
    }

    #[test]
    fn every_shape_of_a_dictionary_is_understood() {
        let expected = [
            Some("The number of the order.".to_owned()),
            Some("When it came; in UTC".to_owned()),
            None,
        ];
        for text in [
            "# Orders\n\n| Column | Type | Description |\n|---|---|---|\n| `OrderID` | int | The number of the order. |\n| placed on | date | When it came; in UTC |\n",
            "Orders of the shop.\n\n- **OrderID**: The number of the order.\n- placed_on (date): When it came; in UTC\n",
            "1. **OrderID:** The number of the order.\n2. `placed_on`: When it came; in UTC\n",
            "- name: OrderID\n  description: >\n    The number\n    of the order.\n- name: placed_on\n  description: |\n    When it came; in UTC\n\n- name: other\n  description: x\n",
            "| Table name | Column name | Meaning |\n|---|---|---|\n| orders | OrderID | The number of the order. |\n| orders | placed_on | When it came; in UTC |\n",
            r#"[{"name": "Order number", "id": "OrderID", "description": "The number of the order."}, {"column": "placed_on", "Comment": "When it came; in UTC"}]"#,
            "OrderID - The number of the order.\nPLACED_ON\tWhen it came; in UTC\nOther: nothing\n",
            "Column\tType\tMeaning\nOrderID\tint\tThe number of the order.\tno\nplaced_on\tdate\tWhen it came; in UTC\n",
            "Columns of dbo.Orders: OrderID: The number of the order.; placed_on: When it came; in UTC; Shipping: where",
            "models:\n  - name: orders\n    description: Orders of the shop\n    columns:\n      - name: order_id\n        description: \"The number of the order.\"\n      - name: placed_on\n        tests: [not_null]\n        description: When it came; in UTC\n",
            r#"{"fields": [{"name": "OrderID", "type": "integer", "description": "The number of the order."}, {"name": "placed_on", "description": "When it came; in UTC"}]}"#,
            r#"{"properties": {"orderId": {"type": "integer", "description": "The number of the order."}, "placed_on": {"description": "When it came; in UTC"}}}"#,
            r#"{"OrderID": "The number of the order.", "placed_on": "When it came; in UTC", "total": 5}"#,
        ] {
            let found = said(text);
            let shipping = found[1]
                .as_deref()
                .map(|it| it.replace("; Shipping: where", ""));
            assert_eq!(
                [found[0].clone(), shipping, found[2].clone()],
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn prose_says_nothing_of_columns() {
        for text in [
            "",
            "Total chaos. Orders that came in.",
            "The total: 5",
            "Total: 12,000",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "[1, 2, 3]",
            "\"Total\"",
            "| OrderID |",
            "name: Total",
            "description: of nothing",
        ] {
            assert_eq!(said(text), [None, None, None], "{text}");
        }
    }

    #[test]
    fn the_first_text_holds_and_names_that_are_alike_are_nobodys() {
        let found = column_descriptions(&["id: first", "id: second\nday: a day"], &["id", "day"]);
        assert_eq!(found, [Some("first".to_owned()), Some("a day".to_owned())]);
        assert_eq!(
            column_descriptions(&["a b: x"], &["a_b", "A B"]),
            [None, None]
        );
        let long = format!("id: {}", "word ".repeat(1000));
        let kept = column_descriptions(&[&long], &["id"])[0].clone().unwrap();
        assert!(kept.chars().count() <= DESCRIPTION_CHARS);
    }

    proptest! {
        #[test]
        fn any_text_is_looked_at(text in "[-|:;# {}\\[\\]\",a-c\n\tß]{0,200}", columns in proptest::collection::vec("[a-c ß_]{0,3}", 0..5)) {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let found = column_descriptions(&[&text], &columns);
            prop_assert_eq!(found.len(), columns.len());
            prop_assert!(found.iter().flatten().all(|it| !it.contains('\n') && !it.is_empty()));
        }
    }
}
