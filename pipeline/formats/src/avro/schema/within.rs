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
            Node::Record(parts) => {
                let fields = self.fields.get(&node).into_iter().flatten();
                for (part, (name, id)) in parts.iter().zip(fields) {
                    path.push(name.clone());
                    found.push((path.clone(), *id));
                    self.within(*part, path, found);
                    path.pop();
                }
            }
            _ => {}
        }
    }
}
