//! What an index knows by name: its lakes, and the paths that somebody may have meant.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::bail;
use limn_segment::{
    CatalogEntry, HeldRows, HeldValue, IndexStore, Snapshot, TableKey, TableRecord, is_under,
};

/// Paths that are suggested, at most.
const SUGGESTED: usize = 3;
/// Letters of a path that may be wrong: one in so many, and two at most.
const ONE_IN: usize = 3;

/// Of a row, its lake.
struct Lake(String);

impl HeldValue for Lake {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[]);

    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Lake {
        Lake(row.lake)
    }
}

async fn rows(index: &IndexStore, snapshot: &Snapshot) -> anyhow::Result<HeldRows<Lake>> {
    let mut rows = HeldRows::keeping(None);
    rows.advance(index, snapshot).await?;
    Ok(rows)
}

/// The tables of these names, in their order, of all lakes or of one.
pub async fn tables(
    index: &IndexStore,
    snapshot: &Snapshot,
    names: &[String],
    lake: Option<&str>,
) -> anyhow::Result<Vec<TableKey>> {
    let rows = rows(index, snapshot).await?;
    let of_lake = |key: &&TableKey| lake.is_none_or(|lake| key.lake == lake);
    let keys: Vec<&TableKey> = rows.live().map(|(key, _)| key).filter(of_lake).collect();
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        let of_name: Vec<&&TableKey> = keys.iter().filter(|key| key.name == *name).collect();
        match of_name.as_slice() {
            [key] => found.push((**key).clone()),
            [] => bail!(no_table(name, keys.iter().map(|key| key.name.as_str()))),
            several => {
                let lakes: Vec<&str> = several.iter().map(|key| key.lake.as_str()).collect();
                bail!(
                    "several lakes have a table '{name}': say --lake, one of {}",
                    lakes.join(", ")
                )
            }
        }
    }
    Ok(found)
}

/// All that the index knows of tables: those that there are.
pub async fn records(
    index: &IndexStore,
    snapshot: &Snapshot,
    tables: impl IntoIterator<Item = TableKey>,
) -> anyhow::Result<HashMap<TableKey, TableRecord>> {
    let rows = rows(index, snapshot).await?;
    let mut files: BTreeMap<&str, (&CatalogEntry, HashSet<TableKey>)> = BTreeMap::new();
    for table in tables {
        if let Some(file) = rows.file_of(&table) {
            let wanted = files.entry(&file.path).or_insert((file, HashSet::new()));
            wanted.1.insert(table);
        }
    }
    let mut records = HashMap::new();
    for (file, tables) in files.into_values() {
        records.extend(index.rows(file, tables).await?);
    }
    Ok(records)
}

/// The lake that is meant: the one that was said, else the only one that the index has.
pub async fn lake(index: &IndexStore, said: Option<String>) -> anyhow::Result<String> {
    if let Some(said) = said {
        return Ok(said);
    }
    let snapshot = index.require_newest().await?;
    let rows = rows(index, &snapshot).await?;
    let lakes: BTreeSet<&str> = rows.iter().map(|lake| lake.0.as_str()).collect();
    match lakes.iter().collect::<Vec<_>>().as_slice() {
        [lake] => Ok((**lake).to_owned()),
        [] => bail!("the index has no table yet: say --lake"),
        several => {
            let several: Vec<&str> = several.iter().map(|lake| **lake).collect();
            bail!(
                "the index is of several lakes: say --lake, one of {}",
                several.join(", ")
            )
        }
    }
}

/// What to say where no table lies at a path or below it: that, and which paths are like it.
/// Nothing where one does.
pub async fn nothing_under(
    index: &IndexStore,
    snapshot: &Snapshot,
    prefix: &str,
) -> anyhow::Result<Option<String>> {
    let rows = rows(index, snapshot).await?;
    let names: Vec<&str> = rows.live().map(|(key, _)| key.name.as_str()).collect();
    if names.iter().any(|name| is_under(name, prefix)) {
        return Ok(None);
    }
    let hint = match like(prefix, names.into_iter()).as_slice() {
        [] => "limn tables lists what there is".to_owned(),
        like => format!("did you mean {}?", like.join(", ")),
    };
    Ok(Some(format!(
        "no table lies at '{prefix}' or below it; {hint}"
    )))
}

/// What to say where no table has a name: that, and what lies below it or is like it.
pub fn no_table<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    // `folder/*` is how a shell calls what lies in a folder.
    let folder = wanted.strip_suffix("/*").unwrap_or(wanted);
    let below = names.clone().filter(|name| is_under(name, folder)).count();
    let hint = match (below, like(wanted, names).as_slice()) {
        (0, []) => "limn tables lists what there is".to_owned(),
        (0, near) => format!("did you mean {}?", near.join(", ")),
        (1, _) => format!("there is 1 table below it: limn tables --prefix '{folder}'"),
        (below, _) => {
            format!("there are {below} tables below it: limn tables --prefix '{folder}'")
        }
    };
    format!("the index has no table '{wanted}'; {hint}")
}

/// The tables, and the folders above them, that are most like a path: in another case, without the
/// folders before it, with a few letters wrong, or going on where it ends.
pub fn like<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.trim_matches('/').to_lowercase();
    let mut found: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in names {
        let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        for path in folders.chain([name]) {
            found.extend(unlikeness(&wanted, &path.to_lowercase()).map(|it| (it, path)));
        }
    }
    let least = found.first().map(|it| it.0);
    let alike = found.into_iter().filter(|it| Some(it.0) == least);
    alike.map(|it| it.1).take(SUGGESTED).collect()
}

fn unlikeness(wanted: &str, path: &str) -> Option<usize> {
    if wanted.is_empty() {
        return None;
    }
    let end = path.rsplit('/').next().unwrap_or(path);
    let wrong = changes(wanted, path).min(changes(wanted, end));
    let wanted_end = wanted.rsplit('/').next().unwrap_or(wanted);
    match wrong {
        _ if path == wanted => Some(0),
        _ if end == wanted || path.ends_with(&format!("/{wanted}")) => Some(1),
        _ if wrong <= 2 && wrong * ONE_IN <= wanted.chars().count() => Some(1 + wrong),
        _ if end.starts_with(wanted) || end == wanted_end => Some(4),
        _ if end.contains(wanted) => Some(5),
        _ => None,
    }
}

/// Letters to put in, take out, change or exchange with the next one until one text is the other.
fn changes(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > 2 {
        return usize::MAX / ONE_IN;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_nearly_right_are_suggested() {
        let names = [
            "sales/2024/orders",
            "sales/customers",
            "hr/staff",
            "Finance",
        ];
        for (wanted, suggested) in [
            ("slaes", &["sales"][..]),
            ("Sales/", &["sales"]),
            ("orders", &["sales/2024/orders"]),
            ("2024/orders", &["sales/2024/orders"]),
            ("sales/2042", &["sales/2024"]),
            ("fin", &["Finance"]),
            ("sales/staff", &["hr/staff"]),
            ("hq", &[]),
            ("weather", &[]),
            ("", &[]),
        ] {
            assert_eq!(like(wanted, names.into_iter()), suggested, "{wanted}");
        }
    }

    #[test]
    fn exchanged_letters_are_one_change() {
        assert_eq!(changes("slaes", "sales"), 1);
        assert_eq!(changes("sale", "sales"), 1);
        assert_eq!(changes("", "ab"), 2);
        assert_eq!(changes("kitten", "sitting"), 3);
    }
}
