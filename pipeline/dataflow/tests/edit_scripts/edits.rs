//! Edits of a lake, and how they are carried out.
//!
//! An edit names tables, files and columns by numbers that are taken modulo how many there are, so
//! an edit keeps a meaning when those before it are taken away, and a failing script shrinks.

use super::cells::{self, Format, Type, column_name, columns};
use super::lake::{Lake, Shape, Table};
use super::texts::{GARBAGE, NAMES, declared_at, declared_of, document_of, folder, left, text_of};

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
