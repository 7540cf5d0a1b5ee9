//! Fields within columns under the names that the log of their table has for them today: what was
//! renamed since a file was written is renamed in its values, and what was dropped is left out
//! ([`NestedNames`]).

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    OffsetSizeTrait, StructArray,
};
use arrow::datatypes::{DataType as Arrow, Field, FieldRef};
use arrow::error::ArrowError;
use limn_profile::{DeclaredReading, NestedNames};

use crate::typed::field_id;

/// The levels of lists and maps in a field's path.
pub(crate) const ELEMENT: &str = "element";
pub(crate) const KEY: &str = "key";
pub(crate) const VALUE: &str = "value";

/// Names of fields within columns. None is of one that was dropped.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    by_id: HashMap<i32, Option<String>>,
    by_path: HashMap<Vec<String>, Option<String>>,
    /// Whether other fields were dropped.
    only: bool,
}

impl Nested {
    /// What is said of a file, if anything is.
    pub(crate) fn of(reading: &DeclaredReading) -> Option<Nested> {
        let names = reading.logged.as_deref()?.nested.as_ref()?.names()?;
        let NestedNames { fields, only } = names;
        let mut nested = Nested {
            only: *only,
            ..Nested::default()
        };
        for field in fields {
            match field.id {
                Some(id) => drop(nested.by_id.insert(id, field.name.clone())),
                None => drop(
                    nested
                        .by_path
                        .insert(field.path.clone(), field.name.clone()),
                ),
            }
        }
        Some(nested)
    }

    /// The same by paths alone, of a file whose fields have these ids.
    pub(crate) fn by_paths(
        self,
        fields: impl Iterator<Item = (Vec<String>, Option<i32>)>,
    ) -> Nested {
        let mut found = HashMap::new();
        for (path, id) in fields {
            if let Some(name) = self.name(&path, id) {
                found.insert(path, name.cloned());
            }
        }
        Nested {
            by_path: found,
            ..Nested::default()
        }
    }

    /// What is said of a field: its name, or that it was dropped.
    fn name(&self, path: &[String], id: Option<i32>) -> Option<Option<&String>> {
        let known = match id.filter(|_| self.by_path.is_empty()) {
            Some(id) => self.by_id.get(&id),
            None => self.by_path.get(path),
        };
        // Of fields without ids nothing is said where others are known by theirs.
        let is_dropped = self.only && (id.is_some() || !self.by_path.is_empty());
        match known {
            Some(name) => Some(name.as_ref()),
            None => is_dropped.then_some(None),
        }
    }

    /// The type of a file's column.
    ///
    /// # Errors
    /// Those of Arrow; none of a type that a reader gives.
    pub(crate) fn field(&self, column: &FieldRef) -> Result<FieldRef, ArrowError> {
        if !column.data_type().is_nested() {
            return Ok(column.clone());
        }
        let none = arrow::array::new_empty_array(column.data_type());
        let renamed = self.values(column.name(), &none)?;
        let field = column.as_ref().clone();
        Ok(Arc::new(field.with_data_type(renamed.data_type().clone())))
    }

    /// The values of the column that a file calls so.
    ///
    /// # Errors
    /// Those of Arrow; none of values that a reader gives.
    pub(crate) fn values(&self, column: &str, values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        self.renamed(&mut vec![column.to_owned()], values)
    }

    fn renamed(&self, path: &mut Vec<String>, values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        Ok(match values.data_type() {
            Arrow::Struct(_) => Arc::new(self.structs(path, values.as_struct())?),
            Arrow::List(_) => Arc::new(self.lists(path, values.as_list::<i32>())?),
            Arrow::LargeList(_) => Arc::new(self.lists(path, values.as_list::<i64>())?),
            Arrow::ListView(_) => Arc::new(self.views(path, values.as_list_view::<i32>())?),
            Arrow::LargeListView(_) => Arc::new(self.views(path, values.as_list_view::<i64>())?),
            Arrow::FixedSizeList(..) => {
                Arc::new(self.fixed_lists(path, values.as_fixed_size_list())?)
            }
            Arrow::Map(..) => Arc::new(self.maps(path, values.as_map())?),
            _ => values.clone(),
        })
    }

    fn below(
        &self,
        path: &mut Vec<String>,
        name: &str,
        values: &ArrayRef,
    ) -> Result<ArrayRef, ArrowError> {
        path.push(name.to_owned());
        let renamed = self.renamed(path, values);
        path.pop();
        renamed
    }

    fn structs(
        &self,
        path: &mut Vec<String>,
        values: &StructArray,
    ) -> Result<StructArray, ArrowError> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in values.fields().iter().zip(values.columns()) {
            path.push(field.name().clone());
            let said = self.name(path, field_id(field));
            let renamed = match said {
                Some(None) => None,
                _ => Some(self.renamed(path, column)),
            };
            path.pop();
            let Some(renamed) = renamed.transpose()? else {
                continue;
            };
            let mut of = Field::clone(field).with_data_type(renamed.data_type().clone());
            if let Some(Some(name)) = said {
                of.set_name(name.clone());
            }
            fields.push(of);
            columns.push(renamed);
        }
        let nulls = values.nulls().cloned();
        if fields.is_empty() {
            return Ok(StructArray::new_empty_fields(values.len(), nulls));
        }
        StructArray::try_new(fields.into(), columns, nulls)
    }

    fn lists<O: OffsetSizeTrait>(
        &self,
        path: &mut Vec<String>,
        values: &GenericListArray<O>,
    ) -> Result<GenericListArray<O>, ArrowError> {
        let (field, offsets, items, nulls) = values.clone().into_parts();
        let items = self.below(path, ELEMENT, &items)?;
        let field = Field::clone(&field).with_data_type(items.data_type().clone());
        GenericListArray::try_new(Arc::new(field), offsets, items, nulls)
    }

    fn views<O: OffsetSizeTrait>(
        &self,
        path: &mut Vec<String>,
        values: &GenericListViewArray<O>,
    ) -> Result<GenericListViewArray<O>, ArrowError> {
        let (field, offsets, sizes, items, nulls) = values.clone().into_parts();
        let items = self.below(path, ELEMENT, &items)?;
        let field = Field::clone(&field).with_data_type(items.data_type().clone());
        GenericListViewArray::try_new(Arc::new(field), offsets, sizes, items, nulls)
    }

    fn fixed_lists(
        &self,
        path: &mut Vec<String>,
        values: &FixedSizeListArray,
    ) -> Result<FixedSizeListArray, ArrowError> {
        let length = values.len();
        let (field, size, items, nulls) = values.clone().into_parts();
        let items = self.below(path, ELEMENT, &items)?;
        let field = Field::clone(&field).with_data_type(items.data_type().clone());
        FixedSizeListArray::try_new_with_length(Arc::new(field), size, items, nulls, length)
    }

    fn maps(&self, path: &mut Vec<String>, values: &MapArray) -> Result<MapArray, ArrowError> {
        let (field, offsets, entries, nulls, is_sorted) = values.clone().into_parts();
        let (fields, columns, of_entries) = entries.into_parts();
        let names = [KEY, VALUE].into_iter().zip(&columns);
        let columns = names.map(|(name, column)| self.below(path, name, column));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
        let fields = fields.iter().zip(&columns);
        let fields: Vec<Field> = fields
            .map(|(field, column)| Field::clone(field).with_data_type(column.data_type().clone()))
            .collect();
        let entries = StructArray::try_new(fields.into(), columns, of_entries)?;
        let field = Field::clone(&field).with_data_type(entries.data_type().clone());
        MapArray::try_new(Arc::new(field), offsets, entries, nulls, is_sorted)
    }
}
