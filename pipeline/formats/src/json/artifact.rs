//! What programs write about tables in JSON: artifacts of dbt, events of OpenLineage. They hold no
//! rows.
//!
//! An artifact of dbt says so itself: its `metadata` has a `dbt_schema_version`, the URL of its
//! schema (<https://schemas.getdbt.com>). dbt's semantic manifest and summary of its graph have
//! none, and are known by their names and members. Events of OpenLineage
//! (<https://openlineage.io/spec>) may be rows that somebody wants to find, so their files' names
//! have to say it, too.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};

/// Letters that are kept of a text.
const KEPT: usize = 300;

/// What a program wrote about tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artifact {
    /// dbt's `manifest.json`.
    DbtManifest,
    /// dbt's `catalog.json`.
    DbtCatalog,
    /// Another one of dbt's: `run_results.json`, `sources.json`, `semantic_manifest.json`,
    /// `graph_summary.json`. They say nothing of tables.
    DbtOther,
    /// Events of OpenLineage.
    OpenLineage,
}

impl Artifact {
    /// What the beginning of a file is. Nothing of it is kept, and it is read until that is known.
    pub fn of(path: &str, beginning: &[u8]) -> Option<Artifact> {
        let mut seen = Seen::default();
        let text = beginning.strip_prefix(b"\xef\xbb\xbf");
        let text = text.unwrap_or(beginning);
        let mut json = serde_json::Deserializer::from_slice(text);
        // Where the text breaks off, what was seen before counts.
        let _ = Top(&mut seen).deserialize(&mut json);
        if let Some(schema) = &seen.dbt_schema {
            return Some(if schema.contains("/manifest/") {
                Artifact::DbtManifest
            } else if schema.contains("/catalog/") {
                Artifact::DbtCatalog
            } else {
                Artifact::DbtOther
            });
        }
        if is_named_openlineage(path) && seen.is_event() {
            return Some(Artifact::OpenLineage);
        }
        let is_other = match name_of(path).as_str() {
            "semantic_manifest.json" => seen.semantic_models && seen.metrics,
            "graph_summary.json" => seen.invocation && seen.linked,
            _ => false,
        };
        is_other.then_some(Artifact::DbtOther)
    }
}

/// Whether a file's name says that it holds events of OpenLineage: `orders.openlineage.json`,
/// `openlineage-2024.jsonl`.
pub fn is_named_openlineage(path: &str) -> bool {
    const BEGINNING: &[u8] = b"openlineage";
    const END: &[u8] = b".openlineage";
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let mut extensions = ["json", "jsonl", "ndjson"].iter();
    let stem = stem.as_bytes();
    let beginning = stem.get(..BEGINNING.len());
    let end = stem.get(stem.len().saturating_sub(END.len())..);
    extensions.any(|it| extension.eq_ignore_ascii_case(it))
        && (beginning.is_some_and(|it| it.eq_ignore_ascii_case(BEGINNING))
            || end.is_some_and(|it| it.eq_ignore_ascii_case(END)))
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

#[derive(Default)]
struct Seen {
    dbt_schema: Option<String>,
    semantic_models: bool,
    metrics: bool,
    invocation: bool,
    linked: bool,
    /// An event's job or dataset.
    subject: bool,
    time: bool,
    /// The event's schema or producer.
    origin: bool,
}

impl Seen {
    fn is_event(&self) -> bool {
        self.subject && self.time && self.origin
    }
}

/// The members of the object that a text begins with; anything else is none.
struct Top<'a>(&'a mut Seen);

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(Some(key))) = map.next_key()? {
            match key.as_str() {
                "metadata" => {
                    map.next_value_seed(Metadata(&mut *self.0))?;
                    if self.0.dbt_schema.is_some() {
                        return Err(A::Error::custom("it is known what this is"));
                    }
                    continue;
                }
                "semantic_models" => self.0.semantic_models = true,
                "metrics" => self.0.metrics = true,
                "_invocation_id" => self.0.invocation = true,
                "linked" => self.0.linked = true,
                "job" | "dataset" => self.0.subject = true,
                "eventTime" => self.0.time = true,
                "schemaURL" | "producer" => self.0.origin = true,
                _ => {}
            }
            if self.0.is_event() {
                return Err(A::Error::custom("it is known what this is"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    /// Of an array the first element.
    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        let first = array.next_element_seed(Top(self.0))?;
        match first {
            Some(()) => Err(A::Error::custom("only the first is looked at")),
            None => Ok(()),
        }
    }
}

struct Metadata<'a>(&'a mut Seen);

impl<'de> DeserializeSeed<'de> for Metadata<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Metadata<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(Some(key))) = map.next_key()? {
            if key != "dbt_schema_version" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let Text(schema) = map.next_value()?;
            self.0.dbt_schema = schema.filter(|it| it.contains("/dbt/"));
        }
        Ok(())
    }
}

/// The beginning of a text; of anything but a text nothing.
struct Text(Option<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(Some(text.chars().take(KEPT).collect())))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Text, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text(None))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dbt(what: &str) -> String {
        let schema = format!("https://schemas.getdbt.com/dbt/{what}");
        format!(r#"{{"metadata": {{"x": [1], "dbt_schema_version": "{schema}"}}, "nodes": {{}}}}"#)
    }

    #[test]
    fn artifacts_of_dbt_are_known_by_their_schema_and_not_by_their_names() {
        let of = |text: &str| Artifact::of("any.json", text.as_bytes());
        assert_eq!(of(&dbt("manifest/v12.json")), Some(Artifact::DbtManifest));
        assert_eq!(of(&dbt("catalog/v1.json")), Some(Artifact::DbtCatalog));
        for other in ["run-results/v6.json", "sources/v3.json"] {
            assert_eq!(of(&dbt(other)), Some(Artifact::DbtOther), "{other}");
        }
        // Cut off, and with what comes before it.
        let text = dbt("manifest/v12.json");
        assert_eq!(of(&text[..text.len() - 8]), Some(Artifact::DbtManifest));
        let late = text.replacen('{', "\u{feff}{\"child_map\": {\"a\": [\"b\"]}, ", 1);
        assert_eq!(of(&late), Some(Artifact::DbtManifest));
        for other in [
            "",
            "[",
            "[]",
            "7",
            "{\"metadata\": 5}",
            "{\"metadata\": {\"dbt_schema_version\": [\"/dbt/manifest/\"]}}",
            "{\"metadata\": {\"dbt_schema_version\": \"v12\"}}",
            "{\"manifest_version\": 3, \"name\": \"an extension\"}",
            "{\"a\": {\"metadata\": {\"dbt_schema_version\": \"https://schemas.getdbt.com/dbt/manifest/v12.json\"}}}",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn others_need_their_names_too() {
        let semantic = br#"{"semantic_models": [], "metrics": [], "project_configuration": {}}"#;
        let of = |path: &str, text: &[u8]| Artifact::of(path, text);
        let found = of("target/semantic_manifest.json", semantic);
        assert_eq!(found, Some(Artifact::DbtOther));
        assert_eq!(of("x.json", semantic), None);
        let graph = br#"{"_invocation_id": "7f", "linked": {}}"#;
        let found = of("target/graph_summary.json", graph);
        assert_eq!(found, Some(Artifact::DbtOther));
        let event = br#"{"eventType": "COMPLETE", "eventTime": "2024-01-02T00:00:00Z", "job": {}, "producer": "https://x.org", "#;
        for path in [
            "openlineage.jsonl",
            "a/OpenLineage-2024.ndjson",
            "b/orders.openlineage.json",
        ] {
            assert_eq!(of(path, event), Some(Artifact::OpenLineage), "{path}");
            assert_eq!(of(path, b"{\"eventTime\": 5, \"job\": {}}"), None);
        }
        let array = [b"[".as_slice(), event].concat();
        assert!(of("openlineage.json", &array).is_some());
        for path in ["events.jsonl", "openlineage.csv", "my_openlineage.json"] {
            assert_eq!(of(path, event), None, "{path}");
        }
    }
}
