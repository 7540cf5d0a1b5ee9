//! Statements tried by the engine that answers them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::TryStreamExt;
use limn_sql::cells::type_word;
use limn_sql::written::cells_of;
use limn_sql::{Answer, Engine, Input, Inputs, SqlError};
use limn_store::one_line;

use super::try_out::{Mend, Refusal, Tried, TryOut};
use crate::check::{Fault, check};
use crate::plan::{Column, Plan, Source, SqlStage, Stage};

/// Tries statements by an engine, within its limits: they say how many rows are read of a result,
/// and for how long.
#[derive(Clone)]
pub struct EngineTryOut(Engine);

impl EngineTryOut {
    /// By this engine. Tables are read in one part, so that of rows that are equal in an order a
    /// LIMIT leaves the same ones each time, and votes do not change.
    #[must_use]
    pub fn new(engine: &Engine) -> EngineTryOut {
        EngineTryOut(engine.for_plans())
    }

    async fn tried(&self, stage: &SqlStage) -> Result<Tried, SqlError> {
        let inputs = inputs(&stage.inputs);
        let mut answer = self.0.run_over(&stage.statement, inputs).await?;
        let columns = answer
            .schema()
            .fields()
            .iter()
            .map(|field| Column {
                name: field.name().clone(),
                data_type: type_word(field.data_type()).to_owned(),
            })
            .collect();
        let mut tried = Tried::new(columns, answer.is_ordered());
        while let Some(batch) = answer.try_next().await? {
            let cells = cells_of(&batch).map_err(|it| SqlError::Execution(it.to_string()))?;
            for row in 0..batch.num_rows() {
                tried.push(cells.iter().map(|cell| cell.text(row)).collect());
            }
        }
        tried.is_cut = Answer::is_truncated(&answer);
        Ok(tried)
    }
}

#[async_trait]
impl TryOut for EngineTryOut {
    async fn run(&self, stage: &SqlStage) -> Result<Tried, Refusal> {
        self.tried(stage).await.map_err(|error| refusal(&error))
    }

    async fn check(&self, stages: &[Stage]) -> Result<Vec<Stage>, Refusal> {
        let plan = Plan::of(String::new(), stages.to_vec());
        let checked = check(&self.0, plan).await;
        let faults = match checked {
            Ok(checked) => return Ok(checked.plan().stages.clone()),
            Err(faults) => faults,
        };
        match faults.0.as_slice() {
            [Fault::Sql { cause, .. }] => Err(refusal(cause)),
            _ => Err(Refusal {
                line: one_line(&faults.to_string()),
                mend: None,
                column: None,
                is_of_statement: true,
            }),
        }
    }
}

/// The tables of a stage; one that names another stage has nothing to be tried on.
fn inputs(inputs: &BTreeMap<String, Source>) -> Inputs {
    let tables = inputs.iter().filter_map(|(own, source)| match source {
        Source::Table { name, lake } => {
            let (name, lake) = (name.clone(), lake.clone());
            Some((own.clone(), Input::Table { name, lake }))
        }
        Source::Stage(_) => None,
    });
    tables.collect()
}

fn refusal(error: &SqlError) -> Refusal {
    Refusal {
        line: one_line(&error.to_string()),
        mend: mend(error),
        column: match error {
            SqlError::UnknownColumn { name, .. } => Some(last_part(name)),
            _ => None,
        },
        is_of_statement: !matches!(
            error,
            SqlError::Stale(_)
                | SqlError::Scan(_)
                | SqlError::Store(_)
                | SqlError::Catalogue(_)
                | SqlError::Unreadable { .. }
                | SqlError::Internal(_)
        ),
    }
}

/// A column without what is written before it.
fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// What may be changed: the one name that is near, or the quotes of what is no name.
fn mend(error: &SqlError) -> Option<Mend> {
    match error {
        SqlError::UnknownColumn { name, near, .. } if near.len() == 1 => {
            let (written, meant) = (last_part(name), near[0].clone());
            // Case is no difference: then another table has it.
            let differs = written.to_lowercase() != meant.to_lowercase();
            differs.then_some(Mend::Name { written, meant })
        }
        SqlError::UnknownColumn {
            name,
            near,
            is_text: true,
            ..
        } if near.is_empty() => Some(Mend::Text {
            written: name.clone(),
        }),
        SqlError::UnknownSource { name, .. } => Some(Mend::Source {
            written: name.clone(),
        }),
        SqlError::UnknownInput { name, known } => {
            let near =
                |it: &&String| strsim::osa_distance(&it.to_lowercase(), &name.to_lowercase()) <= 2;
            let mut near = known.iter().filter(near);
            match (near.next(), near.next()) {
                (Some(meant), None) => Some(Mend::Name {
                    written: name.clone(),
                    meant: meant.clone(),
                }),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_with_one_remedy_has_it() {
        let column = |name: &str, near: &[&str], is_text| SqlError::UnknownColumn {
            name: name.to_owned(),
            table: None,
            near: near.iter().map(|it| (*it).to_owned()).collect(),
            is_text,
        };
        let name = |written: &str, meant: &str| {
            Some(Mend::Name {
                written: written.to_owned(),
                meant: meant.to_owned(),
            })
        };
        assert_eq!(
            mend(&column("t.nam", &["Name"], false)),
            name("nam", "Name")
        );
        assert_eq!(mend(&column("nam", &["Name", "Names"], false)), None);
        // There is one, of another table.
        assert_eq!(mend(&column("makeid", &["MakeId"], false)), None);
        let text = Mend::Text {
            written: "France".to_owned(),
        };
        assert_eq!(mend(&column("France", &[], true)), Some(text));
        assert_eq!(mend(&column("France", &[], false)), None);
        let table = |name: &str, known: &[&str]| SqlError::UnknownInput {
            name: name.to_owned(),
            known: known.iter().map(|it| (*it).to_owned()).collect(),
        };
        let singers = table("Singers", &["singer", "concert"]);
        assert_eq!(mend(&singers), name("Singers", "singer"));
        assert_eq!(mend(&table("singer", &["singer_1", "singer_2"])), None);
        let refused = refusal(&column("t.nam", &[], false));
        assert_eq!(refused.column.as_deref(), Some("nam"));
        assert!(
            refused.is_of_statement && !refusal(&SqlError::Internal("x".into())).is_of_statement
        );
    }
}
