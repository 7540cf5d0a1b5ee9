//! What is wrong with a plan, before anything of it runs; and the columns of each stage.
//!
//! First the graph: names, inputs, cycles. All that is wrong with it is said at once. Then, in the
//! order in which stages run, the columns: SQL is planned over its inputs, semantic operators say
//! what comes out of theirs. Types are those that will come out, since the same code decides them.

mod fault;
mod graph;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
pub use fault::{Fault, Faults};
pub(crate) use graph::MOST_STAGES;
use limn_sql::cells::type_word;
use limn_sql::{Engine, Input, Inputs};

use crate::plan::{Column, Operation, Plan, Source, SqlStage, Stage};
use crate::semantic;

/// A plan that can run.
#[derive(Clone, Debug)]
pub struct Checked {
    plan: Plan,
    /// The places of its stages in the order in which they run.
    order: Vec<usize>,
    /// The columns of each stage, by its place.
    schemas: Vec<SchemaRef>,
    /// What to know of it, one line each.
    notes: Vec<String>,
}

/// Checks a plan over the tables of an engine.
///
/// # Errors
/// What is wrong with it: everything that is wrong with its graph, else the first stage that is
/// wrong.
pub async fn check(engine: &Engine, mut plan: Plan) -> Result<Checked, Faults> {
    let order = graph::order(&plan)?;
    let mut schemas: HashMap<String, SchemaRef> = HashMap::new();
    for place in &order {
        let stage = &mut plan.stages[*place];
        let schema = columns(engine, stage, &schemas).await?;
        let found = columns_of(&schema);
        if let Some(stated) = &stage.columns
            && *stated != found
        {
            return Err(Fault::Columns {
                stage: stage.name.clone(),
                stated: stated.clone(),
                found,
            }
            .into());
        }
        stage.columns = Some(found);
        schemas.insert(stage.name.clone(), schema);
    }
    let schemas = plan
        .stages
        .iter()
        .map(|stage| Arc::clone(&schemas[&stage.name]));
    let schemas = schemas.collect();
    Ok(Checked {
        notes: graph::unused(&plan),
        plan,
        order,
        schemas,
    })
}

impl Checked {
    /// The plan, each stage with its columns.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The stages that the answer needs, in the order in which they run.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        let needed = graph::needed(&self.plan);
        let stages = self.order.iter().map(|place| &self.plan.stages[*place]);
        stages.filter(move |it| needed.contains(it.name.as_str()))
    }

    /// The columns of a stage's rows.
    #[must_use]
    pub fn schema(&self, stage: &str) -> Option<SchemaRef> {
        let place = self.plan.stages.iter().position(|it| it.name == stage)?;
        Some(Arc::clone(&self.schemas[place]))
    }

    /// What to know of it, one line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether a model is asked for it.
    #[must_use]
    pub fn needs_model(&self) -> bool {
        self.stages().any(|it| it.operation.is_semantic())
    }
}

/// The columns of a stage, those of the stages before it being known.
async fn columns(
    engine: &Engine,
    stage: &Stage,
    known: &HashMap<String, SchemaRef>,
) -> Result<SchemaRef, Fault> {
    let schema = match &stage.operation {
        Operation::Sql(sql) => {
            let empty = |stage: &str| RecordBatch::new_empty(Arc::clone(&known[stage]));
            let inputs = inputs(sql, empty);
            let schema = engine.columns_over(&sql.statement, inputs).await;
            schema.map_err(|cause| Fault::Sql {
                stage: stage.name.clone(),
                cause: Box::new(cause),
            })?
        }
        operation => {
            let read = operation.stages();
            let inputs: Vec<SchemaRef> = read.iter().map(|it| Arc::clone(&known[*it])).collect();
            let schema = semantic::output_schema(operation, &inputs);
            schema.map(Arc::new).map_err(|cause| Fault::Semantic {
                stage: stage.name.clone(),
                cause,
            })?
        }
    };
    if schema.fields().is_empty() {
        return Err(Fault::NoColumns {
            stage: stage.name.clone(),
        });
    }
    Ok(schema)
}

/// The inputs of an SQL stage; `rows` gives those of a stage.
pub(crate) fn inputs(sql: &SqlStage, rows: impl Fn(&str) -> RecordBatch) -> Inputs {
    let inputs = sql.inputs.iter().map(|(called, source)| {
        let input = match source {
            Source::Table { name, lake } => Input::Table {
                name: name.clone(),
                lake: lake.clone(),
            },
            Source::Stage(stage) => Input::Rows(rows(stage)),
        };
        (called.clone(), input)
    });
    inputs.collect()
}

/// Columns as a plan states them.
pub(crate) fn columns_of(schema: &Schema) -> Vec<Column> {
    let fields = schema.fields().iter();
    let columns = fields.map(|field| Column {
        name: field.name().clone(),
        data_type: type_word(field.data_type()).to_owned(),
    });
    columns.collect()
}
