//! What edits write: texts about tables, declarations, and files that are none.

use super::cells::{column_name, word};
use super::lake::Lake;

pub(super) const NAMES: [&str; 7] = [
    "orders", "peaks", "staff", "rivers", "albums", "trams", "birds",
];

/// A folder: one of a few, or that of a table.
pub(super) fn folder(lake: &Lake, place: usize) -> String {
    match place {
        0 => String::new(),
        1 | 2 => "shop/".into(),
        3 => "shop/eu/".into(),
        4 | 5 => "hr/".into(),
        _ => match lake.tables.get(place % lake.tables.len().max(1)) {
            Some(table) => format!("{}/", table.base),
            None => String::new(),
        },
    }
}

pub(super) fn text_of(seed: usize) -> String {
    format!(
        "About {} and {}, kept by {}.",
        word(seed),
        word(seed / 3),
        word(seed / 7 + 11)
    )
}

/// A text about several tables: its path and what it says. Of some tables it says the same for many
/// seeds.
pub(super) fn document_of(place: usize, kind: usize, seed: usize) -> (String, String) {
    let folder = ["", "shop/", "hr/"][place];
    let described = NAMES.iter().enumerate().take(5);
    let described = described.map(|(at, name)| (name, text_of(seed / (at * at * 20 + 1))));
    if kind == 0 {
        let sections = described.map(|(name, text)| format!("## {name}\n\n{text}\n\n"));
        return (format!("{folder}README.md"), sections.collect());
    }
    let resource = |path: String, text: &str| {
        let fields = format!(r#"{{"fields": [{{"name": "id", "description": "{text}"}}]}}"#);
        format!(r#"{{"path": "{path}", "description": "{text}", "schema": {fields}}}"#)
    };
    let resources = described.flat_map(|(name, text)| {
        [
            resource(format!("{name}.csv"), &text),
            resource(format!("shop/{name}"), &text),
        ]
    });
    let resources: Vec<String> = resources.collect();
    let text = format!(r#"{{"resources": [{}]}}"#, resources.join(", "));
    (format!("{folder}datapackage.json"), text)
}

/// A `.limn.yaml`: its path.
pub(super) fn declared_at(place: usize) -> String {
    let folder = ["", "shop/", "shop/eu/", "hr/"][place];
    format!("{folder}.limn.yaml")
}

/// What is declared of the files of a folder.
pub(super) fn declared_of(name: usize, seed: usize) -> String {
    let (files, column) = (NAMES[name], column_name(seed));
    let files = match seed % 4 {
        0 => "*".to_owned(),
        1 => "*.csv".to_owned(),
        _ => format!("{files}*"),
    };
    let said = match seed % 11 {
        0 => format!("name: {}", NAMES[name]),
        1 => "separate: true".to_owned(),
        2 => format!("columns: {{'{column}': text}}"),
        3 => format!(
            "columns: {{'{column}': {{type: float, description: '{}'}}}}",
            word(seed)
        ),
        4 => format!("columns: {{'{column}': date}}, date-order: month-first"),
        5 => "header: none".to_owned(),
        6 => format!("header: 1, owner: '{}'", word(seed)),
        7 => format!("nulls: ['{}', '3', '7.5']", word(seed)),
        8 => "decimal: ','".to_owned(),
        9 => format!("description: '{}'", text_of(seed)),
        _ => "delimiter: ';', encoding: windows-1252".to_owned(),
    };
    format!("tables: [{{files: '{files}', {said}}}]\n")
}

/// A file whose content alone shows whether it is a table: its path and what it holds.
pub(super) fn left(
    lake: &Lake,
    place: usize,
    name: usize,
    kind: usize,
    seed: usize,
) -> (String, String) {
    let path = folder(lake, place) + NAMES[name];
    let rows = || (0..5).map(|row| (row + seed, word(row + seed)));
    match (kind, seed % 3) {
        (0, 0) => {
            let object = format!(
                r#"{{"id": "{}", "description": "{}"}}"#,
                word(seed),
                text_of(seed)
            );
            (path + ".json", object)
        }
        (0, _) => {
            let rows = rows().map(|(id, what)| format!(r#"{{"id": {id}, "what": "{what}"}}"#));
            (path + ".json", rows.collect::<Vec<_>>().join("\n"))
        }
        (kind, of) => {
            let path = path + [".txt", ".dat"][kind - 1];
            let header = "id what\n".to_owned();
            match of {
                0 => (path, text_of(seed)),
                _ => (
                    path,
                    rows().fold(header, |text, (id, what)| format!("{text}{id} {what}\n")),
                ),
            }
        }
    }
}

pub(super) const GARBAGE: [u8; 8] = [0, 159, 146, 150, 0, 1, 2, 3];
