//! Avro schemas: read into parts that know one another by number, checked, and written down again
//! as the decoder takes them best (Avro specification 1.12, "Schema Declaration").
//!
//! A schema is JSON that a stranger wrote: named types may contain themselves, or one another so
//! often that a few lines stand for billions of fields. Here every name is followed once. The
//! schema that the decoder gets has no names to resolve, no defaults, and only such logical types
//! as are in order: others are to be ignored.

mod logical;
mod within;

use std::collections::{HashMap, HashSet};

use limn_store::one_line;
use serde_json::{Map, Value, json};

use self::logical::logical;
use crate::documented::{self, Documented};
use crate::error::FileErrorKind;
use crate::{Failure, MAX_COLUMNS};

/// Levels of types within types.
const MAX_DEPTH: usize = 64;
/// Types in a schema when every name is replaced by what it stands for. The decoder sets some
/// kilobytes aside for each.
const MAX_NODES: u64 = 8192;
/// Values of fixed length have no more bytes than this: a null takes as many.
const MAX_FIXED: u64 = 64 << 10;
/// The most kinds of values that a union has.
const MAX_BRANCHES: usize = 127;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(u64),
    /// With so many symbols.
    Enum(u64),
    Array(usize),
    Map(usize),
    Union(Vec<usize>),
    Record(Vec<usize>),
}

/// A schema whose rows are records.
pub(super) struct Schema {
    pub(super) nodes: Vec<Node>,
    /// The types of the columns.
    pub(super) columns: Vec<usize>,
    /// The names of records' fields, and the ids that Iceberg's writers give them, by the records'
    /// types.
    pub(super) fields: HashMap<usize, Vec<(String, Option<i32>)>>,
    /// Lists of pairs that are Iceberg's maps.
    maps: HashSet<usize>,
    /// The type of rows.
    pub(super) root: usize,
    /// Types in it when every name is replaced by what it stands for.
    pub(super) types: u64,
    /// Bytes that the decoder appends for a null of each type, about.
    pub(super) null_costs: Vec<u64>,
    /// The same schema for the decoder.
    pub(super) json: String,
    /// Its documentation of the table and its columns.
    pub(super) documented: Documented,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// A schema that is none, or of no table, or that this reader does not follow.
    pub(super) fn parse(json: &[u8]) -> Result<Schema, Failure> {
        let value: Value = serde_json::from_slice(json).map_err(|error| {
            broken(&format!("it is no JSON ({})", one_line(&error.to_string())))
        })?;
        let mut parser = Parser::default();
        let root = parser.parse(&value, "", 0)?;
        let Node::Record(columns) = parser.nodes[root].clone() else {
            let cause = "its rows are no records";
            return Err(Failure::new(FileErrorKind::Unsupported, cause)
                .with_remedy("write it with a schema of type record"));
        };
        if columns.is_empty() {
            return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
        }
        if columns.len() > MAX_COLUMNS {
            return Err(Failure::too_many_columns(columns.len()));
        }
        if parser.nodes.iter().any(|node| parser.holds_nothing(node)) {
            return Err(unsupported("it has a record without fields".to_owned()));
        }
        let Measures {
            sizes,
            null_costs,
            depths,
        } = parser.measure();
        if depths[root] > MAX_DEPTH {
            return Err(too_deep());
        }
        if sizes[root] > MAX_NODES {
            return Err(unsupported(format!(
                "its schema has more than {MAX_NODES} types"
            )));
        }
        let mut named = 0;
        let json = parser.write(root, &mut named).to_string();
        let mut documented = documented::avro(&value);
        if documented.columns.len() != columns.len() {
            documented.columns = vec![None; columns.len()];
        }
        let details = parser.details.into_iter().enumerate();
        let fields = details.map(|(node, detail)| {
            let fields = detail.names.into_iter().zip(detail.ids);
            (node, fields.collect::<Vec<_>>())
        });
        Ok(Schema {
            nodes: parser.nodes,
            columns,
            fields: fields.filter(|(_, fields)| !fields.is_empty()).collect(),
            maps: parser.maps,
            root,
            types: sizes[root],
            null_costs,
            json,
            documented,
        })
    }
}

fn broken(what: &str) -> Failure {
    Failure::new(
        FileErrorKind::Corrupt,
        format!("its schema is broken: {what}"),
    )
}

fn unsupported(cause: String) -> Failure {
    Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("write it with a simpler schema, or as Parquet")
}

fn too_deep() -> Failure {
    unsupported(format!(
        "its schema nests more than {MAX_DEPTH} levels deep"
    ))
}

/// Of each node: the types that it consists of, the bytes that the decoder appends for a null of
/// it, and the levels of types below it.
#[derive(Default)]
struct Measures {
    sizes: Vec<u64>,
    null_costs: Vec<u64>,
    depths: Vec<usize>,
}

/// What a node is called and means besides its shape.
#[derive(Clone, Debug, Default)]
struct Detail {
    /// The names of a record's fields, an enum's symbols.
    names: Vec<String>,
    /// The ids of a record's fields.
    ids: Vec<Option<i32>>,
    /// A logical type's attributes.
    logical: Map<String, Value>,
}

#[derive(Default)]
struct Parser {
    nodes: Vec<Node>,
    details: Vec<Detail>,
    /// Types by their full names. None: it is being read.
    named: HashMap<String, Option<usize>>,
    /// Lists of pairs that are Iceberg's maps.
    maps: HashSet<usize>,
}

impl Parser {
    fn parse(&mut self, value: &Value, namespace: &str, depth: usize) -> Result<usize, Failure> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        match value {
            Value::String(name) => self.reference(name, namespace),
            Value::Array(branches) => {
                if branches.is_empty() || branches.len() > MAX_BRANCHES {
                    return Err(unsupported(format!(
                        "its schema has a union of {} types",
                        branches.len()
                    )));
                }
                let branches = branches
                    .iter()
                    .map(|branch| self.parse(branch, namespace, depth + 1))
                    .collect::<Result<_, _>>()?;
                Ok(self.add(Node::Union(branches), Detail::default()))
            }
            Value::Object(object) => self.object(object, namespace, depth),
            _ => Err(broken("a type is neither a name nor an object")),
        }
    }

    fn reference(&mut self, name: &str, namespace: &str) -> Result<usize, Failure> {
        if let Some(node) = primitive(name) {
            return Ok(self.add(node, Detail::default()));
        }
        let known = self
            .named
            .get(&full_name(name, namespace))
            .or_else(|| self.named.get(name));
        match known {
            Some(Some(node)) => Ok(*node),
            Some(None) => Err(unsupported(format!(
                "its type {} contains itself",
                one_line(name)
            ))),
            None => Err(broken(&format!("there is no type {}", one_line(name)))),
        }
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
        depth: usize,
    ) -> Result<usize, Failure> {
        let kind = match object.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            // A type in a type.
            Some(inner) => return self.parse(inner, namespace, depth + 1),
            None => return Err(broken("a type has no type")),
        };
        let member = |name: &str| member(object, name);
        let mut detail = Detail::default();
        match kind {
            "array" => {
                let items = self.parse(member("items")?, namespace, depth + 1)?;
                let is_map = object.get("logicalType").and_then(Value::as_str) == Some("map");
                // Iceberg's maps: pairs with keys of text are written as Avro's maps are.
                if let Some(value) = self.value_of_pair(items).filter(|_| is_map) {
                    return Ok(self.add(Node::Map(value), detail));
                }
                let list = self.add(Node::Array(items), detail);
                self.maps.extend(is_map.then_some(list));
                Ok(list)
            }
            "map" => {
                let values = self.parse(member("values")?, namespace, depth + 1)?;
                Ok(self.add(Node::Map(values), detail))
            }
            "record" | "error" => self.record(object, namespace, depth),
            "enum" => {
                let (name, _) = self.name(object, namespace)?;
                let symbols = member("symbols")?.as_array();
                let symbols = symbols.ok_or_else(|| broken("symbols are no list"))?;
                detail.names = symbols
                    .iter()
                    .map(|symbol| symbol.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or_else(|| broken("a symbol is no text"))?;
                Ok(self.define(name, Node::Enum(symbols.len() as u64), detail))
            }
            "fixed" => {
                let (name, _) = self.name(object, namespace)?;
                let size = member("size")?.as_u64();
                let size = size.ok_or_else(|| broken("a size is no number"))?;
                if size > MAX_FIXED {
                    return Err(unsupported(format!("it has values of {size} bytes each")));
                }
                let node = Node::Fixed(size);
                detail.logical = logical(&node, object);
                Ok(self.define(name, node, detail))
            }
            name => match primitive(name) {
                Some(node) => {
                    detail.logical = logical(&node, object);
                    Ok(self.add(node, detail))
                }
                None => self.reference(name, namespace),
            },
        }
    }

    fn record(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
        depth: usize,
    ) -> Result<usize, Failure> {
        let (name, namespace) = self.name(object, namespace)?;
        let (mut fields, mut detail) = (Vec::new(), Detail::default());
        let list = member(object, "fields")?.as_array();
        for field in list.ok_or_else(|| broken("fields are no list"))? {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| broken("a field has no name"))?;
            let kind = field.get("type");
            let kind = kind.ok_or_else(|| broken("a field has no type"))?;
            let kind = self.parse(kind, &namespace, depth + 1)?;
            // A record without fields takes no bytes, and has no value.
            if self.nodes[kind] != Node::Record(Vec::new()) {
                detail.names.push(name.to_owned());
                detail.ids.push(field_id(field));
                fields.push(kind);
            }
        }
        Ok(self.define(name, Node::Record(fields), detail))
    }

    /// The full name that a type is given, which is taken from now on, and the namespace within it.
    fn name(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
    ) -> Result<(String, String), Failure> {
        let name = object.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| broken("a type has no name"))?;
        let own = object.get("namespace").and_then(Value::as_str);
        let name = full_name(name, own.unwrap_or(namespace));
        let namespace = name.rsplit_once('.').map_or("", |(namespace, _)| namespace);
        let namespace = namespace.to_owned();
        self.named.insert(name.clone(), None);
        Ok((name, namespace))
    }

    /// The type of values in pairs of a text and a value.
    fn value_of_pair(&self, node: usize) -> Option<usize> {
        let (Node::Record(parts), Detail { names, .. }) = (&self.nodes[node], &self.details[node])
        else {
            return None;
        };
        let is_pair = names.as_slice() == ["key", "value"];
        let value = |key: usize, value: usize| (self.nodes[key] == Node::String).then_some(value);
        match parts.as_slice() {
            [key, of] if is_pair => value(*key, *of),
            _ => None,
        }
    }

    /// Whether values of a type may be records without fields.
    fn holds_nothing(&self, node: &Node) -> bool {
        let is_nothing = |part: &usize| self.nodes[*part] == Node::Record(Vec::new());
        match node {
            Node::Array(part) | Node::Map(part) => is_nothing(part),
            Node::Union(parts) => parts.iter().any(is_nothing),
            _ => false,
        }
    }

    fn define(&mut self, name: String, node: Node, detail: Detail) -> usize {
        let node = self.add(node, detail);
        self.named.insert(name, Some(node));
        node
    }

    fn add(&mut self, node: Node, detail: Detail) -> usize {
        self.nodes.push(node);
        self.details.push(detail);
        self.nodes.len() - 1
    }

    /// Every node's measures. Parts come before what they are parts of.
    fn measure(&self) -> Measures {
        let mut found = Measures::default();
        for node in &self.nodes {
            let sum = |of: &[u64], parts: &[usize]| {
                parts
                    .iter()
                    .fold(1u64, |sum, part| sum.saturating_add(of[*part]))
            };
            let parts = match node {
                Node::Record(parts) | Node::Union(parts) => &parts[..],
                Node::Array(part) | Node::Map(part) => std::slice::from_ref(part),
                _ => &[],
            };
            let cost = match node {
                Node::Record(_) | Node::Union(_) => sum(&found.null_costs, parts).saturating_add(8),
                Node::Array(_) | Node::Map(_) => 8,
                Node::Fixed(size) => size.saturating_add(1),
                // A decimal of 256 bits is the longest.
                _ => 32,
            };
            let depth = parts.iter().map(|part| found.depths[*part] + 1).max();
            found.sizes.push(sum(&found.sizes, parts));
            found.null_costs.push(cost);
            found.depths.push(depth.unwrap_or(0));
        }
        found
    }

    /// A node as JSON in which nothing is named twice.
    fn write(&self, node: usize, named: &mut u64) -> Value {
        let detail = &self.details[node];
        let mut name = |what: &str| {
            *named += 1;
            format!("{what}{named}")
        };
        let mut object = match &self.nodes[node] {
            Node::Null => return json!("null"),
            Node::Boolean => return json!("boolean"),
            Node::Float => return json!("float"),
            Node::Double => return json!("double"),
            Node::String => return json!("string"),
            Node::Int => json!({"type": "int"}),
            Node::Long => json!({"type": "long"}),
            Node::Bytes => json!({"type": "bytes"}),
            Node::Fixed(size) => json!({"type": "fixed", "name": name("fixed"), "size": size}),
            Node::Enum(_) => {
                json!({"type": "enum", "name": name("enum"), "symbols": detail.names})
            }
            Node::Array(items) => json!({"type": "array", "items": self.write(*items, named)}),
            Node::Map(values) => json!({"type": "map", "values": self.write(*values, named)}),
            Node::Union(branches) => {
                let branches = branches.iter().map(|branch| self.write(*branch, named));
                return Value::Array(branches.collect());
            }
            Node::Record(fields) => {
                let record = name("record");
                let fields =
                    detail.names.iter().zip(fields).map(
                        |(name, field)| json!({"name": name, "type": self.write(*field, named)}),
                    );
                let fields: Vec<Value> = fields.collect();
                json!({"type": "record", "name": record, "fields": fields})
            }
        };
        if let Value::Object(object) = &mut object {
            object.extend(detail.logical.clone());
        }
        object
    }
}

/// The id that a field has in an Iceberg table (Iceberg's specification, "Avro").
fn field_id(field: &Value) -> Option<i32> {
    i32::try_from(field.get("field-id")?.as_i64()?).ok()
}

/// What a type says of this name.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Value, Failure> {
    let found = object.get(name);
    found.ok_or_else(|| broken(&format!("a type has no {name}")))
}

fn primitive(name: &str) -> Option<Node> {
    Some(match name {
        "null" => Node::Null,
        "boolean" => Node::Boolean,
        "int" => Node::Int,
        "long" => Node::Long,
        "float" => Node::Float,
        "double" => Node::Double,
        "bytes" => Node::Bytes,
        "string" => Node::String,
        _ => return None,
    })
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}

#[cfg(test)]
mod tests;
