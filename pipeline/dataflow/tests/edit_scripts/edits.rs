//! Edits of a lake, drawn at random and carried out.
//!
//! An edit names tables, files and columns by numbers that are taken modulo how many there are, so
//! an edit keeps a meaning when those before it are taken away, and a failing script shrinks.

use proptest::prelude::*;

use super::cells::{self, Format, Type, column_name, columns, word};
use super::lake::{Lake, Shape, Table};

/// One edit.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A table that was not there, possibly in the folder of another or beside its namesake.
    Create {
        place: usize,
        name: usize,
        shape: Shape,
        format: Format,
        seed: usize,
        files: usize,
    },
    /// A table gets one more file, if it is not a lone one.
    Append {
        table: usize,
        rows: usize,
    },
    /// A file gets other rows.
    Rewrite {
        table: usize,
        file: usize,
        seed: usize,
        rows: usize,
    },
    /// A file is written again as it is.
    Touch {
        table: usize,
        file: usize,
    },
    /// A file's, or all files', column is renamed.
    Rename {
        table: usize,
        files: Which,
        column: usize,
        name: usize,
    },
    /// The columns of a file, or of all files, are called the same in another spelling.
    Spell {
        table: usize,
        files: Which,
        how: usize,
    },
    /// The first column goes to the end.
    Reorder {
        table: usize,
        files: Which,
    },
    /// A column's values become others.
    Retype {
        table: usize,
        files: Which,
        column: usize,
        kind: usize,
    },
    /// A column comes, or the last one goes.
    Widen {
        table: usize,
        files: Which,
        name: usize,
    },
    Narrow {
        table: usize,
        files: Which,
    },
    /// A file goes.
    DropFile {
        table: usize,
        file: usize,
    },
    /// A table goes.
    Drop {
        table: usize,
    },
    /// A table gets another name or place, its files as they are.
    Move {
        table: usize,
        place: usize,
        name: usize,
    },
    /// A table's file becomes a folder of parts of the same name, or the other way round.
    Reshape {
        table: usize,
    },
    /// A file becomes unreadable.
    Corrupt {
        table: usize,
        file: usize,
        how: usize,
    },
    /// A table that is not a lone file gets one more file, which cannot be read from the start.
    AppendBroken {
        table: usize,
    },
    /// A file is again as it was when it could be read.
    Restore {
        table: usize,
        file: usize,
    },
    /// A text is put beside a table, or changed.
    PutText {
        table: usize,
        seed: usize,
    },
    /// That text becomes unreadable.
    CorruptText {
        table: usize,
    },
    /// That text goes.
    RemoveText {
        table: usize,
    },
    /// A text about several tables is put into a folder, or changed.
    Document {
        place: usize,
        kind: usize,
        seed: usize,
    },
    /// That text goes.
    Undocument {
        place: usize,
        kind: usize,
    },
    /// A file whose name does not show whether it is a table is left somewhere, or becomes another.
    Leave {
        place: usize,
        name: usize,
        kind: usize,
        seed: usize,
    },
    /// That file goes.
    Fetch {
        place: usize,
        name: usize,
        kind: usize,
    },
    /// It is declared how files of a folder are read, or what they are; or something else of them.
    Declare {
        place: usize,
        name: usize,
        seed: usize,
    },
    /// What they say goes.
    Undeclare {
        place: usize,
    },
    /// A text is registered for a table, by its name in the index.
    Register {
        table: usize,
        seed: usize,
    },
    /// Nothing happens.
    Nothing,
    /// The lake stays as it is; the kept index loses what nobody needs.
    CollectGarbage,
}

/// The files that an edit concerns.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    All,
    One(usize),
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![3 => Just(Which::All), 1 => (0..4usize).prop_map(Which::One)]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        2 => Just(Shape::Lone),
        2 => Just(Shape::Family),
        2 => Just(Shape::Beside),
        2 => Just(Shape::Dated),
        1 => Just(Shape::Parts),
        1 => Just(Shape::Hive),
    ]
}

/// Any edit, those that add a little more often than those that take away.
pub fn edit() -> impl Strategy<Value = Edit> {
    let (table, file, seed, rows) = (0..12usize, 0..4usize, 0..200usize, 0..7usize);
    let (place, name) = (0..8usize, 0..NAMES.len());
    prop_oneof![
        9 => (place.clone(), name.clone(), shape(), cells::format(), seed.clone(), 1..4usize)
            .prop_map(|(place, name, shape, format, seed, files)| Edit::Create { place, name, shape, format, seed, files }),
        4 => (table.clone(), rows.clone()).prop_map(|(table, rows)| Edit::Append { table, rows }),
        3 => (table.clone(), file.clone(), seed.clone(), rows)
            .prop_map(|(table, file, seed, rows)| Edit::Rewrite { table, file, seed, rows }),
        1 => (table.clone(), file.clone()).prop_map(|(table, file)| Edit::Touch { table, file }),
        2 => (table.clone(), which(), 0..5usize, 0..14usize)
            .prop_map(|(table, files, column, name)| Edit::Rename { table, files, column, name }),
        2 => (table.clone(), which(), 0..3usize)
            .prop_map(|(table, files, how)| Edit::Spell { table, files, how }),
        2 => (table.clone(), which()).prop_map(|(table, files)| Edit::Reorder { table, files }),
        2 => (table.clone(), which(), 0..5usize, 0..4usize)
            .prop_map(|(table, files, column, kind)| Edit::Retype { table, files, column, kind }),
        3 => (table.clone(), which(), 0..14usize).prop_map(|(table, files, name)| Edit::Widen { table, files, name }),
        2 => (table.clone(), which()).prop_map(|(table, files)| Edit::Narrow { table, files }),
        2 => (table.clone(), file.clone()).prop_map(|(table, file)| Edit::DropFile { table, file }),
        2 => table.clone().prop_map(|table| Edit::Drop { table }),
        2 => (table.clone(), place, name).prop_map(|(table, place, name)| Edit::Move { table, place, name }),
        1 => table.clone().prop_map(|table| Edit::Reshape { table }),
        4 => (table.clone(), file.clone(), 0..3usize)
            .prop_map(|(table, file, how)| Edit::Corrupt { table, file, how }),
        2 => table.clone().prop_map(|table| Edit::AppendBroken { table }),
        2 => (table.clone(), file).prop_map(|(table, file)| Edit::Restore { table, file }),
        3 => (table.clone(), seed.clone()).prop_map(|(table, seed)| Edit::PutText { table, seed }),
        1 => table.clone().prop_map(|table| Edit::CorruptText { table }),
        1 => table.clone().prop_map(|table| Edit::RemoveText { table }),
        3 => (0..3usize, 0..2usize, seed.clone()).prop_map(|(place, kind, seed)| Edit::Document { place, kind, seed }),
        1 => (0..3usize, 0..2usize).prop_map(|(place, kind)| Edit::Undocument { place, kind }),
        4 => (0..6usize, 0..3usize, 0..3usize, seed.clone())
            .prop_map(|(place, name, kind, seed)| Edit::Leave { place, name, kind, seed }),
        1 => (0..6usize, 0..3usize, 0..3usize).prop_map(|(place, name, kind)| Edit::Fetch { place, name, kind }),
        4 => (0..4usize, 0..NAMES.len(), seed.clone())
            .prop_map(|(place, name, seed)| Edit::Declare { place, name, seed }),
        1 => (0..4usize).prop_map(|place| Edit::Undeclare { place }),
        3 => (table, seed).prop_map(|(table, seed)| Edit::Register { table, seed }),
        1 => Just(Edit::Nothing),
        1 => Just(Edit::CollectGarbage),
    ]
}

const NAMES: [&str; 7] = [
    "orders", "peaks", "staff", "rivers", "albums", "trams", "birds",
];

/// A folder: one of a few, or that of a table.
fn folder(lake: &Lake, place: usize) -> String {
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

fn text_of(seed: usize) -> String {
    format!(
        "About {} and {}, kept by {}.",
        word(seed),
        word(seed / 3),
        word(seed / 7 + 11)
    )
}

/// A text about several tables: its path and what it says. Of some tables it says the same for many
/// seeds.
fn document_of(place: usize, kind: usize, seed: usize) -> (String, String) {
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
fn declared_at(place: usize) -> String {
    let folder = ["", "shop/", "shop/eu/", "hr/"][place];
    format!("{folder}.limn.yaml")
}

/// What is declared of the files of a folder.
fn declared_of(name: usize, seed: usize) -> String {
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
fn left(lake: &Lake, place: usize, name: usize, kind: usize, seed: usize) -> (String, String) {
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

const GARBAGE: [u8; 8] = [0, 159, 146, 150, 0, 1, 2, 3];

/// Carries out edits, and keeps what was registered.
impl Edit {
    /// Changes the lake. Returns a context to register, `(table, text)`; `names` are the index's
    /// tables.
    pub fn apply(&self, lake: &mut Lake, names: &[String]) -> Option<(String, String)> {
        let count = lake.tables.len();
        let at = |table: &usize| (count > 0).then(|| table % count);
        match self {
            Self::Create {
                place,
                name,
                shape,
                format,
                seed,
                files,
            } => {
                let base = folder(lake, *place) + NAMES[*name];
                create(lake, base, (*shape, *format), *seed, *files);
            }
            Self::Append { table, rows } => {
                let at = at(table)?;
                if lake.tables[at].shape != Shape::Lone {
                    append(lake, at, rows + lake.tables[at].next, *rows);
                }
            }
            Self::Rewrite {
                table,
                file,
                seed,
                rows,
            } => {
                let at = at(table)?;
                let path = pick(&lake.tables[at], *file);
                rewrite(lake, at, &path, *seed, *rows);
            }
            Self::Touch { table, file } => {
                let path = pick(&lake.tables[at(table)?], *file);
                if !lake.is_broken(&path) {
                    lake.restore(&path);
                }
            }
            Self::Rename {
                table,
                files,
                column,
                name,
            } => {
                let at = at(table)?;
                let name = column_name(*name);
                let columns = &mut lake.tables[at].columns;
                if columns.iter().all(|(known, _)| *known != name) {
                    let column = column % columns.len();
                    columns[column].0 = name;
                    restructure(lake, at, *files);
                }
            }
            Self::Spell { table, files, how } => {
                let at = at(table)?;
                for (name, _) in &mut lake.tables[at].columns {
                    *name = match how {
                        0 => name.to_uppercase(),
                        1 => name.to_lowercase(),
                        _ => name.replace('_', " "),
                    };
                }
                restructure(lake, at, *files);
            }
            Self::Reorder { table, files } => {
                let at = at(table)?;
                lake.tables[at].columns.rotate_left(1);
                restructure(lake, at, *files);
            }
            Self::Retype {
                table,
                files,
                column,
                kind,
            } => {
                let at = at(table)?;
                let columns = &mut lake.tables[at].columns;
                let column = column % columns.len();
                columns[column].1 = Type::of(*kind);
                restructure(lake, at, *files);
            }
            Self::Widen { table, files, name } => {
                let at = at(table)?;
                let name = column_name(*name);
                let columns = &mut lake.tables[at].columns;
                if columns.iter().all(|(known, _)| *known != name) {
                    columns.push((name, Type::of(columns.len())));
                    restructure(lake, at, *files);
                }
            }
            Self::Narrow { table, files } => {
                let at = at(table)?;
                if lake.tables[at].columns.len() > 1 {
                    lake.tables[at].columns.pop();
                    restructure(lake, at, *files);
                }
            }
            Self::DropFile { table, file } => {
                let at = at(table)?;
                let path = pick(&lake.tables[at], *file);
                lake.remove(&path);
                let table = &mut lake.tables[at];
                table.files.retain(|file| *file != path);
                if table.files.is_empty() {
                    lake.tables.remove(at);
                }
            }
            Self::Drop { table } => {
                let table = lake.tables.remove(at(table)?);
                table.files.iter().for_each(|path| lake.remove(path));
            }
            Self::Move { table, place, name } => {
                let at = at(table)?;
                let base = folder(lake, *place) + NAMES[*name];
                relocate(lake, at, base);
            }
            Self::Reshape { table } => {
                let table = lake.tables.remove(at(table)?);
                let shape = match table.shape {
                    Shape::Lone => Shape::Parts,
                    Shape::Family | Shape::Beside | Shape::Dated | Shape::Parts | Shape::Hive => {
                        Shape::Lone
                    }
                };
                table.files.iter().for_each(|path| lake.remove(path));
                create(lake, table.base, (shape, table.format), table.next, 1);
            }
            Self::Corrupt { table, file, how } => {
                let table = &lake.tables[at(table)?];
                let path = pick(table, *file);
                // Text that is cut short may still be text.
                let garbage = match (how, table.format) {
                    (0, _) => Vec::new(),
                    (1, Format::Parquet) => b"PAR1 and no footer PAR1".to_vec(),
                    _ => GARBAGE.repeat(200 + lake.touched.len() + how),
                };
                lake.corrupt(&path, &garbage);
            }
            Self::AppendBroken { table } => {
                let at = at(table)?;
                let path = lake.tables[at].path(lake.tables[at].next);
                if lake.tables[at].shape != Shape::Lone && !lake.has(&path) {
                    append(lake, at, 0, 1);
                    lake.corrupt_unseen(&path, &GARBAGE.repeat(150));
                }
            }
            Self::Restore { table, file } => {
                let path = pick(&lake.tables[at(table)?], *file);
                lake.restore(&path);
            }
            Self::PutText { table, seed } => {
                let path = lake.tables[at(table)?].sidecar();
                lake.write(&path, text_of(*seed).into_bytes());
            }
            Self::CorruptText { table } => {
                let path = lake.tables[at(table)?].sidecar();
                lake.corrupt_if_there(&path, &GARBAGE.repeat(200));
            }
            Self::RemoveText { table } => {
                let path = lake.tables[at(table)?].sidecar();
                if lake.has(&path) {
                    lake.remove(&path);
                }
            }
            // The last good version of what cannot be read was read as was said then, and is not
            // read again.
            Self::Declare { .. } | Self::Undeclare { .. }
                if lake.broken().next().is_some() || lake.has_ghosts() => {}
            Self::Declare { place, name, seed } => {
                lake.write(&declared_at(*place), declared_of(*name, *seed).into_bytes());
                lake.touch_beside(&declared_at(*place));
            }
            Self::Undeclare { place } => {
                let path = declared_at(*place);
                if lake.has(&path) {
                    lake.remove(&path);
                    lake.touch_beside(&path);
                }
            }
            Self::Document { place, kind, seed } => {
                let (path, text) = document_of(*place, *kind, *seed);
                lake.write(&path, text.into_bytes());
            }
            Self::Undocument { place, kind } => {
                let (path, _) = document_of(*place, *kind, 0);
                if lake.has(&path) {
                    lake.remove(&path);
                }
            }
            Self::Leave {
                place,
                name,
                kind,
                seed,
            } => {
                let (path, text) = left(lake, *place, *name, *kind, *seed);
                lake.write(&path, text.into_bytes());
            }
            Self::Fetch { place, name, kind } => {
                let (path, _) = left(lake, *place, *name, *kind, 0);
                if lake.has(&path) {
                    lake.remove(&path);
                }
            }
            Self::Register { table, seed } => {
                let name = names.get(table % names.len().max(1))?;
                return Some((name.clone(), text_of(*seed)));
            }
            Self::Nothing | Self::CollectGarbage => {}
        }
        None
    }
}

fn pick(table: &Table, file: usize) -> String {
    table.files[file % table.files.len()].clone()
}

fn create(
    lake: &mut Lake,
    base: String,
    (shape, format): (Shape, Format),
    seed: usize,
    files: usize,
) {
    let (columns, next, files_of) = (columns(seed), 0, Vec::new());
    let table = Table {
        base,
        shape,
        format,
        columns,
        next,
        files: files_of,
    };
    // The very files of another table are not written over.
    if (0..28).any(|number| lake.has(&table.path(number))) {
        return;
    }
    lake.tables.push(table);
    let at = lake.tables.len() - 1;
    let files = if shape == Shape::Lone { 1 } else { files };
    for file in 0..files {
        append(lake, at, seed + file, 1 + (seed + file) % 5);
    }
}

/// Writes the table's next file.
fn append(lake: &mut Lake, at: usize, seed: usize, rows: usize) {
    let table = &mut lake.tables[at];
    let path = table.path(table.next);
    table.next += 1;
    if !lake.has(&path) {
        lake.tables[at].files.push(path.clone());
        rewrite(lake, at, &path, seed, rows);
    }
}

fn rewrite(lake: &mut Lake, at: usize, path: &str, seed: usize, rows: usize) {
    let table = &lake.tables[at];
    let bytes = cells::write(table.format, &table.columns, seed, rows);
    lake.write(path, bytes);
}

/// Writes files anew in the columns that their table has now.
fn restructure(lake: &mut Lake, at: usize, files: Which) {
    let table = lake.tables[at].clone();
    let paths = match files {
        Which::All => table.files.clone(),
        Which::One(file) => vec![pick(&table, file)],
    };
    for (number, path) in paths.iter().enumerate() {
        rewrite(lake, at, path, number, 3);
    }
}

fn relocate(lake: &mut Lake, at: usize, base: String) {
    let mut table = lake.tables[at].clone();
    let from = std::mem::replace(&mut table.base, base);
    let below = |path: &str| path.starts_with(&format!("{from}/"));
    // Not onto another table, nor into itself.
    if table.base == from
        || below(&table.base)
        || (0..28).any(|number| lake.has(&table.path(number)))
    {
        return;
    }
    for path in &mut table.files {
        let to = format!("{}{}", table.base, &path[from.len()..]);
        lake.rename(path, &to);
        *path = to;
    }
    lake.tables[at] = table;
}
