//! The tables of a statement, as DataFusion finds them: one catalog with a schema of the tables
//! that the statement names and one of the rows that it is given, and nothing else. What a name
//! means was decided before (`relations.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, SchemaProvider, Session, TableProvider,
};
use datafusion::common::{Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use limn_lake::scan::{Filter, Request};

use crate::inputs;
use crate::notes::Notes;
use crate::pushdown;
use crate::scan::ScanStep;
use crate::statistics;
use crate::table::Table;

/// The one catalog.
pub(crate) const CATALOG: &str = "limn";
/// The one schema.
pub(crate) const SCHEMA: &str = "lake";
/// Bytes of files from which on a table is read in one more part.
const PART_BYTES: u64 = 4 << 20;

/// The schema of rows that a statement is given.
pub(crate) const GIVEN: &str = "given";

type Providers = BTreeMap<String, Arc<dyn TableProvider>>;

/// The tables of a statement: those of lakes by their whole names, and rows that it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    lake: Arc<Providers>,
    given: Arc<Providers>,
}

/// The tables of one schema.
#[derive(Clone, Debug)]
struct Schema(Arc<Providers>);

impl Tables {
    pub(crate) fn new(
        tables: &BTreeMap<String, Arc<Table>>,
        given: &BTreeMap<String, RecordBatch>,
        notes: &Arc<Notes>,
    ) -> Result<Tables> {
        let provider = |table: &Arc<Table>| -> Arc<dyn TableProvider> {
            Arc::new(LakeTable {
                statistics: statistics::of_table(table),
                table: Arc::clone(table),
                notes: Arc::clone(notes),
            })
        };
        let lake = tables.iter();
        let lake = lake.map(|(name, table)| (name.clone(), provider(table)));
        let given = given.iter();
        let given = given.map(|(name, rows)| Ok((name.clone(), inputs::provider(rows)?)));
        Ok(Tables {
            lake: Arc::new(lake.collect()),
            given: Arc::new(given.collect::<Result<_>>()?),
        })
    }
}

impl CatalogProviderList for Tables {
    fn register_catalog(
        &self,
        _: String,
        _: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        None
    }

    fn catalog_names(&self) -> Vec<String> {
        vec![CATALOG.to_owned()]
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        (name == CATALOG).then(|| Arc::new(self.clone()) as Arc<dyn CatalogProvider>)
    }
}

impl CatalogProvider for Tables {
    fn schema_names(&self) -> Vec<String> {
        vec![SCHEMA.to_owned(), GIVEN.to_owned()]
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let tables = match name {
            SCHEMA => &self.lake,
            GIVEN => &self.given,
            _ => return None,
        };
        Some(Arc::new(Schema(Arc::clone(tables))))
    }
}

#[async_trait]
impl SchemaProvider for Schema {
    fn table_names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.0.get(name).map(Arc::clone))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// A table, as DataFusion reads it.
#[derive(Debug)]
pub(crate) struct LakeTable {
    table: Arc<Table>,
    statistics: Statistics,
    notes: Arc<Notes>,
}

impl LakeTable {
    /// In how many parts it is read.
    fn parts(&self, most: usize, filters: &[Filter], limit: Option<usize>) -> u32 {
        // The first rows of one part come sooner than those of several; where most rows do not
        // pass, all have to look.
        if limit.is_some() && filters.is_empty() {
            return 1;
        }
        let most = u64::try_from(most).unwrap_or(1);
        let parts = (1 + self.table.rows.bytes() / PART_BYTES).min(most);
        u32::try_from(parts).unwrap_or(1)
    }
}

#[async_trait]
impl TableProvider for LakeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.table.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.statistics.clone())
    }

    fn supports_filters_pushdown(
        &self,
        conditions: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = conditions.iter().map(|condition| {
            match pushdown::filters(condition, &self.table.schema) {
                Some(_) => TableProviderFilterPushDown::Exact,
                None => TableProviderFilterPushDown::Unsupported,
            }
        });
        Ok(support.collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        conditions: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = &self.table;
        let filters = conditions
            .iter()
            .filter_map(|condition| pushdown::filters(condition, &table.schema));
        let mut filters: Vec<Filter> = filters.flatten().collect();
        let schema = match projection {
            Some(columns) => Arc::new(table.schema.project(columns)?),
            None => Arc::clone(&table.schema),
        };
        let statistics =
            statistics::of_scan(&self.statistics, &table.schema, projection, &filters, limit);
        let parts = self.parts(state.config().target_partitions(), &filters, limit);
        // From places among the columns that are not withheld to places among all.
        for filter in &mut filters {
            filter.column = table.places[filter.column];
        }
        let columns = match projection {
            Some(columns) => columns.iter().map(|it| table.places[*it]).collect(),
            None => table.places.clone(),
        };
        let request = Request {
            columns: Some(columns),
            filters,
            limit: limit.and_then(|it| u64::try_from(it).ok()),
            ..Request::default()
        };
        Ok(Arc::new(ScanStep::new(
            Arc::clone(table),
            request,
            conditions.iter().map(ToString::to_string).collect(),
            parts,
            (schema, statistics),
            Arc::clone(&self.notes),
        )))
    }
}
