//! The fields within the columns of a schema, by their places.

use super::{Node, Schema};
use crate::nested::{ELEMENT, VALUE};

impl Schema {
    /// The fields within columns: their paths, from the column on, and their ids.
    pub(in crate::avro) fn fields_within(&self) -> Vec<(Vec<String>, Option<i32>)> {
        let mut found = Vec::new();
        let columns = self.fields.get(&self.root).into_iter().flatten();
        for ((name, _), column) in columns.zip(&self.columns) {
            self.within(*column, &mut vec![name.clone()], &mut found);
        }
        found
    }

    fn within(
        &self,
        node: usize,
        path: &mut Vec<String>,
        found: &mut Vec<(Vec<String>, Option<i32>)>,
    ) {
        match &self.nodes[node] {
            Node::Array(pair) if self.maps.contains(&node) => {
                path.push(ELEMENT.to_owned());
                for (part, name, _) in self.parts(*pair) {
                    // Keys and values are no fields of a struct: none is renamed or dropped.
                    path.push(name.clone());
                    self.within(part, path, found);
                    path.pop();
                }
                path.pop();
            }
            Node::Array(part) | Node::Map(part) => {
                let is_list = matches!(&self.nodes[node], Node::Array(_));
                path.push(if is_list { ELEMENT } else { VALUE }.to_owned());
                self.within(*part, path, found);
                path.pop();
            }
            Node::Union(branches) => {
                let mut values = branches.iter().filter(|it| self.nodes[**it] != Node::Null);
                // Of several kinds none has fields of the table.
                if let (Some(one), None) = (values.next(), values.next()) {
                    self.within(*one, path, found);
                }
            }
            Node::Record(_) => {
                for (part, name, id) in self.parts(node) {
                    path.push(name.clone());
                    found.push((path.clone(), id));
                    self.within(part, path, found);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// The fields of a record: their types, names and ids.
    fn parts(&self, record: usize) -> impl Iterator<Item = (usize, &String, Option<i32>)> {
        let parts: &[usize] = match &self.nodes[record] {
            Node::Record(parts) => parts,
            _ => &[],
        };
        let fields = self.fields.get(&record).into_iter().flatten();
        let parts = parts.iter().zip(fields);
        parts.map(|(part, (name, id))| (*part, name, *id))
    }
}
