//! `hoodie.properties`: what a Hudi table is, in Java's format of properties.

use std::collections::HashMap;

use limn_store::one_line;

use super::Flaw;
use super::timeline::Layout;

/// A field by which a table is partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionField {
    pub(super) name: String,
    /// Whether folders have its values, and not what was made of them.
    pub(super) is_plain: bool,
}

/// A table's properties.
#[derive(Debug, Default)]
pub(super) struct Properties(HashMap<String, String>);

impl Properties {
    /// Reads properties (`java.util.Properties.load`).
    pub(super) fn parse(text: &str) -> Properties {
        let mut properties = HashMap::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start().to_owned();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            // A line goes on where an odd number of backslashes ends it.
            while (line.len() - line.trim_end_matches('\\').len()) % 2 == 1 {
                line.pop();
                match lines.next() {
                    Some(more) => line.push_str(more.trim_start()),
                    None => break,
                }
            }
            let end = key_end(&line);
            let (key, rest) = line.split_at(end);
            let rest = rest.trim_start();
            let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
            properties.insert(plain(key), plain(value.trim_start()));
        }
        Properties(properties)
    }

    /// A property that says something.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key).map(|it| it.trim());
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|it| it.eq_ignore_ascii_case("true"))
    }

    /// The names in a list with commas.
    fn names(&self, key: &str) -> Vec<&str> {
        let names = self.get(key).into_iter().flat_map(|it| it.split(','));
        names.map(str::trim).filter(|it| !it.is_empty()).collect()
    }

    /// The fields that identify a row.
    pub(super) fn record_key(&self) -> Vec<&str> {
        self.names("hoodie.table.recordkey.fields")
    }

    /// The fields by which the table is partitioned, in the order of its folders.
    pub(super) fn partition(&self) -> Vec<PartitionField> {
        let generator = [
            "hoodie.table.keygenerator.class",
            "hoodie.table.keygenerator.type",
        ];
        let mut generator = generator.iter().filter_map(|key| self.get(key));
        let is_made = generator.any(|it| {
            let it = it.to_ascii_lowercase();
            it.contains("timestamp") || it.contains("custom")
        });
        let field = |field: &str| match field.split_once(':') {
            // Since 1.0 fields may say how their values become folders.
            Some((name, kind)) => PartitionField {
                name: name.to_owned(),
                is_plain: kind.eq_ignore_ascii_case("simple"),
            },
            None => PartitionField {
                name: field.to_owned(),
                is_plain: !is_made,
            },
        };
        let fields = self.names("hoodie.table.partition.fields");
        fields.into_iter().map(field).collect()
    }

    /// The layout of the table's timeline, as its version says.
    ///
    /// # Errors
    /// It has a version that is not read, or none.
    pub(super) fn layout(&self) -> Result<Layout, Flaw> {
        match self.get("hoodie.table.version") {
            Some("5" | "6") => Ok(Layout::First),
            Some("8" | "9") => Ok(Layout::Second),
            Some(version) => Err(Flaw::Version(one_line(version))),
            None => Err(Flaw::NoVersion),
        }
    }
}

/// Where a key ends: at the first `=`, `:` or blank without a backslash before it.
fn key_end(line: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '=' | ':' | ' ' | '\t' => return at,
            _ => {}
        }
    }
    line.len()
}

/// A key or a value without backslashes.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
            }
            Some(c) => plain.push(c),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_read_as_java_writes_them() {
        let text = "#Updated at 2024\n!x\n\nhoodie.table.name=orders\nhoodie.table.version=6\n\
            hoodie.table.recordkey.fields = id, line\nhoodie.table.partition.fields:region,day\n\
            hoodie.table.create.schema={\"type\"\\:\"record\",\\\n   \"name\"\\:\"\\u00fc\"}\nk\\ ey=v\\\\\nflag=TRUE\nbad\\u12\nend\\";
        let properties = Properties::parse(text);
        assert_eq!(properties.get("hoodie.table.name"), Some("orders"));
        assert_eq!(properties.record_key(), ["id", "line"]);
        let fields = properties.partition();
        assert!(fields.iter().all(|it| it.is_plain));
        assert_eq!(fields[1].name, "day");
        assert_eq!(
            properties.get("hoodie.table.create.schema"),
            Some("{\"type\":\"record\",\"name\":\"ü\"}")
        );
        assert_eq!(properties.get("k ey"), Some("v\\"));
        assert!(properties.is_set("flag") && !properties.is_set("none"));
        assert_eq!(properties.layout(), Ok(Layout::First));
        let layout = |version: &str| Properties::parse(version).layout();
        assert_eq!(layout("hoodie.table.version=9"), Ok(Layout::Second));
        assert_eq!(
            layout("hoodie.table.version=7"),
            Err(Flaw::Version("7".to_owned()))
        );
        assert_eq!(layout(""), Err(Flaw::NoVersion));
    }

    #[test]
    fn values_that_were_made_into_folders_are_not_taken_from_them() {
        let made = |text: &str| Properties::parse(text).partition();
        let fields = "hoodie.table.partition.fields=at\nhoodie.table.keygenerator.type=TIMESTAMP";
        assert!(!made(fields)[0].is_plain);
        let fields = made("hoodie.table.partition.fields=at:TIMESTAMP,region:simple");
        assert_eq!((fields[0].is_plain, fields[1].is_plain), (false, true));
        assert_eq!(fields[1].name, "region");
    }
}
