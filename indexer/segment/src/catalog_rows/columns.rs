//! Columns of a catalog file that may be missing: texts, flags, numbers, lists.

use std::ops::Range;

use arrow::array::{
    Array, ArrowPrimitiveType, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray,
};

use crate::format_error::FormatError;

pub(super) fn column_error(column: &str, problem: impl Into<String>) -> FormatError {
    FormatError::Column {
        column: column.to_owned(),
        problem: problem.into(),
    }
}

/// The columns of a struct, or of all rows.
pub(super) struct StructColumns<'a>(pub(super) &'a StructArray);

impl<'a> StructColumns<'a> {
    pub(super) fn column<A: 'static>(&self, name: &str) -> Result<Option<&'a A>, FormatError> {
        let Some(column) = self.0.column_by_name(name) else {
            return Ok(None);
        };
        let typed = column.as_any().downcast_ref::<A>();
        typed
            .map(Some)
            .ok_or_else(|| column_error(name, format!("is of type {}", column.data_type())))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Texts<'a>, FormatError> {
        self.column(name).map(Texts)
    }

    pub(super) fn flags(&self, name: &str) -> Result<Flags<'a>, FormatError> {
        self.column(name).map(Flags)
    }

    pub(super) fn numbers<P: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Numbers<'a, P>, FormatError> {
        self.column(name).map(Numbers)
    }

    /// A column of lists of structs, of which `item` finds the columns.
    pub(super) fn structs<T>(
        &self,
        name: &str,
        item: impl FnOnce(StructColumns<'a>) -> Result<T, FormatError>,
    ) -> Result<Lists<'a, Option<T>>, FormatError> {
        let lists: Option<&ListArray> = self.column(name)?;
        let items = lists.map(|lists| {
            let items = lists.values().as_any().downcast_ref::<StructArray>();
            item(StructColumns(
                items.ok_or_else(|| column_error(name, "holds no structs"))?,
            ))
        });
        Ok(Lists {
            lists,
            items: items.transpose()?,
        })
    }

    /// A column of structs, if there is one.
    pub(super) fn one(&self, name: &str) -> Result<Option<StructColumns<'a>>, FormatError> {
        Ok(self.column(name)?.map(StructColumns))
    }

    /// A column of lists of texts.
    pub(super) fn texts_of(&self, name: &str) -> Result<Lists<'a, Option<Texts<'a>>>, FormatError> {
        let Lists { lists, items } = self.lists(name)?;
        let items = items.map(|texts| Texts(Some(texts)));
        Ok(Lists { lists, items })
    }

    /// A column of lists of values of some type.
    pub(super) fn lists<A: 'static>(
        &self,
        name: &str,
    ) -> Result<Lists<'a, Option<&'a A>>, FormatError> {
        let lists: Option<&ListArray> = self.column(name)?;
        let items = lists.map(|lists| {
            let items = lists.values().as_any().downcast_ref::<A>();
            items.ok_or_else(|| column_error(name, format!("is of type {}", lists.data_type())))
        });
        Ok(Lists {
            lists,
            items: items.transpose()?,
        })
    }

    /// A column of lists of lists of texts.
    pub(super) fn lists_of_texts(&self, name: &str) -> Result<TextLists<'a>, FormatError> {
        let wrong = || column_error(name, "holds no lists of texts");
        let lists: Option<&ListArray> = self.column(name)?;
        let items = lists.map(|lists| {
            let inner = lists.values().as_any().downcast_ref::<ListArray>();
            let inner = inner.ok_or_else(wrong)?;
            let texts = inner.values().as_any().downcast_ref::<StringArray>();
            Ok::<_, FormatError>(Lists {
                lists: Some(inner),
                items: Texts(Some(texts.ok_or_else(wrong)?)),
            })
        });
        Ok(Lists {
            lists,
            items: items.transpose()?,
        })
    }
}

pub(super) struct Texts<'a>(pub(super) Option<&'a StringArray>);

impl Texts<'_> {
    pub(super) fn get(&self, row: usize) -> Option<String> {
        let column = self.0.filter(|column| column.is_valid(row))?;
        Some(column.value(row).to_owned())
    }

    pub(super) fn text(&self, row: usize) -> String {
        self.get(row).unwrap_or_default()
    }
}

pub(super) struct Flags<'a>(pub(super) Option<&'a BooleanArray>);

impl Flags<'_> {
    pub(super) fn get(&self, row: usize) -> bool {
        let column = self.0.filter(|column| column.is_valid(row));
        column.is_some_and(|column| column.value(row))
    }
}

pub(super) struct Numbers<'a, P: ArrowPrimitiveType>(pub(super) Option<&'a PrimitiveArray<P>>);

impl<P: ArrowPrimitiveType> Numbers<'_, P> {
    pub(super) fn get(&self, row: usize) -> Option<P::Native> {
        let column = self.0.filter(|column| column.is_valid(row))?;
        Some(column.value(row))
    }
}

/// A column of lists, and what they are lists of.
pub(super) struct Lists<'a, T> {
    pub(super) lists: Option<&'a ListArray>,
    pub(super) items: T,
}

pub(super) type TextLists<'a> = Lists<'a, Option<Lists<'a, Texts<'a>>>>;

impl<T> Lists<'_, T> {
    /// The items of a row's list.
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        match self.lists.filter(|lists| lists.is_valid(row)) {
            Some(lists) => {
                let offsets = lists.value_offsets();
                offsets[row] as usize..offsets[row + 1] as usize
            }
            None => 0..0,
        }
    }
}

impl<T> Lists<'_, Option<T>> {
    pub(super) fn all<R>(
        &self,
        row: usize,
        record: impl Fn(&T, usize) -> Result<R, FormatError>,
    ) -> Result<Vec<R>, FormatError> {
        match &self.items {
            Some(items) => self.range(row).map(|at| record(items, at)).collect(),
            None => Ok(Vec::new()),
        }
    }
}

impl Lists<'_, Option<Texts<'_>>> {
    pub(super) fn texts(&self, row: usize) -> Vec<String> {
        let items = self.items.as_ref();
        items.map_or(Vec::new(), |texts| {
            self.range(row).map(|at| texts.text(at)).collect()
        })
    }
}
