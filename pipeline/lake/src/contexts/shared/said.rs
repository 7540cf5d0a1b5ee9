//! What manifests say of a table, in words of one kind: its columns, keys, and what it refers to.
//!
//! Each column is a row of a Markdown table, in which [`super::super::column_descriptions`] finds
//! it. What is declared of a column follows its description in fixed words: `Unique.`,
//! `Never empty.`, `One of: …`, `Unit: …`, `Refers to orders.order_id.`.

use limn_formats::DESCRIPTION_CHARS;
use limn_profile::text::prefix;
use limn_store::is_steering;

/// Characters kept of a name and of a value, and how many are listed.
const NAME_CHARS: usize = 200;
const VALUE_CHARS: usize = 60;
const MOST_LISTED: usize = 20;
/// Columns, and keys of a table, that are written.
pub(super) const MOST_COLUMNS: usize = 2000;
const MOST_KEYS: usize = 50;
/// Characters that a description of a column has, where there is more to say; at least so many,
/// whatever there is.
const CELL_CHARS: usize = 280;
const LEAST_CHARS: usize = 80;

/// A column as a manifest describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as it is written there.
    pub data_type: String,
    /// What is said of it.
    pub description: String,
    /// What is declared of it, a sentence each.
    pub declared: Vec<String>,
}

impl Column {
    pub(super) fn new(name: &str, description: &str) -> Column {
        Column {
            name: name.to_owned(),
            description: description.to_owned(),
            ..Column::default()
        }
    }

    /// Adds a sentence, once.
    pub(super) fn declare(&mut self, sentence: &str) {
        if !self.declared.iter().any(|it| it == sentence) && self.declared.len() < MOST_KEYS {
            self.declared.push(sentence.to_owned());
        }
    }

    /// What is said and declared of it. A long description ends early, so that what is declared is
    /// not cut off with it.
    fn cell(&self) -> String {
        let declared: usize = self.declared.iter().map(|it| it.len() + 1).sum();
        let room = match declared {
            0 => DESCRIPTION_CHARS,
            declared => CELL_CHARS.saturating_sub(declared).max(LEAST_CHARS),
        };
        let mut text = flat(&self.description, room);
        if declared > 0 && text.len() < flat(&self.description, room + 1).len() {
            text.push('…');
        }
        let is_sentence = text.ends_with(['.', '!', '?', ':', '…']);
        if !text.is_empty() && !self.declared.is_empty() && !is_sentence {
            text.push('.');
        }
        for sentence in &self.declared {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
        }
        text
    }
}

/// Keys of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    /// The columns of the primary key.
    pub primary: Vec<String>,
    /// The columns of each other one.
    pub unique: Vec<Vec<String>>,
    /// Foreign keys.
    pub references: Vec<Reference>,
}

/// Columns whose values are those of another table's.
#[derive(Clone, Debug, Default)]
pub(super) struct Reference {
    /// The columns here.
    pub columns: Vec<String>,
    /// The other table's name, and its columns; none where they are its key.
    pub table: String,
    pub to: Vec<String>,
}

impl Reference {
    fn target(&self) -> String {
        match self.to.as_slice() {
            [] => self.table.clone(),
            [one] => format!("{}.{one}", self.table),
            more => format!("{} ({})", self.table, listed(more)),
        }
    }
}

/// Columns and keys, as lines; a column of which nothing is said has none.
pub(super) fn lines(mut columns: Vec<Column>, keys: &Keys) -> String {
    let mut text = String::new();
    if !keys.primary.is_empty() {
        text.push_str(&format!("Primary key: {}.\n", listed(&keys.primary)));
    }
    for unique in keys.unique.iter().take(MOST_KEYS) {
        match unique.as_slice() {
            [] => {}
            [one] => column(&mut columns, one).declare("Unique."),
            more => text.push_str(&format!("Unique together: {}.\n", listed(more))),
        }
    }
    for reference in keys.references.iter().take(MOST_KEYS) {
        let target = flat(&reference.target(), 2 * NAME_CHARS);
        match reference.columns.as_slice() {
            [] => {}
            [one] => column(&mut columns, one).declare(&format!("Refers to {target}.")),
            more => text.push_str(&format!("{} refer to {target}.\n", listed(more))),
        }
    }
    text + &table(&columns)
}

/// The column of a name, which is added if there is none.
fn column<'a>(columns: &'a mut Vec<Column>, name: &str) -> &'a mut Column {
    let known = columns
        .iter()
        .position(|it| it.name.eq_ignore_ascii_case(name));
    let at = known.unwrap_or(columns.len());
    if known.is_none() {
        columns.push(Column::new(name, ""));
    }
    &mut columns[at]
}

/// Columns as rows of a Markdown table.
fn table(columns: &[Column]) -> String {
    let said: Vec<(&Column, String)> = columns
        .iter()
        .take(MOST_COLUMNS)
        .map(|column| (column, column.cell()))
        .filter(|(_, cell)| !cell.is_empty())
        .collect();
    let has_types = said.iter().any(|(column, _)| !column.data_type.is_empty());
    let mut text = String::new();
    for (column, description) in &said {
        if text.is_empty() {
            text.push_str(match has_types {
                true => "| column | type | description |\n|---|---|---|\n",
                false => "| column | description |\n|---|---|\n",
            });
        }
        let cell = |it: &str, most: usize| flat(it, most).replace('|', "/");
        let name = cell(&column.name, NAME_CHARS);
        let data_type = match has_types {
            true => format!(" {} |", cell(&column.data_type, NAME_CHARS)),
            false => String::new(),
        };
        let description = cell(description, DESCRIPTION_CHARS);
        text.push_str(&format!("| {name} |{data_type} {description} |\n"));
    }
    text
}

/// The first characters of a text, on one line.
pub(super) fn flat(text: &str, chars: usize) -> String {
    let words = prefix(text.trim(), chars).split(|it: char| it.is_whitespace() || is_steering(it));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Names or values with commas between them, of many the first ones.
pub(super) fn listed(all: &[String]) -> String {
    let first = all.iter().take(MOST_LISTED);
    let first: Vec<String> = first.map(|it| flat(it, VALUE_CHARS)).collect();
    let more = all.len() - first.len();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_said_of_the_columns_that_make_them() {
        let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let mut day = Column::new("day", "When; | in UTC");
        day.data_type = "date".to_owned();
        let keys = Keys {
            primary: owned(&["id", "day"]),
            unique: vec![owned(&["code"]), owned(&["a", "b"]), Vec::new()],
            references: vec![
                Reference {
                    columns: owned(&["DAY"]),
                    table: "days".to_owned(),
                    to: owned(&["day"]),
                },
                Reference {
                    columns: owned(&["a", "b"]),
                    table: "pairs".to_owned(),
                    to: owned(&["x", "y"]),
                },
            ],
        };
        assert_eq!(
            lines(vec![day, Column::new("silent", " ")], &keys),
            "Primary key: id, day.\nUnique together: a, b.\na, b refer to pairs (x, y).\n\
             | column | type | description |\n|---|---|---|\n\
             | day | date | When; / in UTC. Refers to days.day. |\n| code |  | Unique. |\n"
        );
        let mut long = Column::new("long", &"word ".repeat(200));
        long.declare("Unique.");
        let text = lines(vec![long], &Keys::default());
        assert!(
            text.ends_with("… Unique. |\n") && text.len() < 350,
            "{text}"
        );
        let many: Vec<String> = (0..30).map(|it| it.to_string()).collect();
        assert!(listed(&many).ends_with("18, 19 and 10 more"));
        assert_eq!(lines(Vec::new(), &Keys::default()), "");
    }
}
