//! A model and an engine that do what a test says, and tables.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use limn_cells::{
    Cell, CellsAnswer, CellsJoin, JoinedColumn, Match, TableCells, TableColumn, Tokens,
};
use limn_models::{
    Classified, Finish, Generated, LanguageModel, Limits, ModelError, ModelId, Prompt, Usage,
};

use crate::plan::{Column, SqlStage, Stage};
use crate::write::{Mend, Refusal, Tried, TryOut};

type Answer = Box<dyn Fn(usize, &Prompt) -> Result<String, ModelError> + Send + Sync>;

/// Says what a function of the prompt, and of how many came before, says.
pub(in crate::write) struct Model {
    id: ModelId,
    answer: Answer,
    pub(in crate::write) window: usize,
    pub(in crate::write) delay: Duration,
    pub(in crate::write) prompts: Mutex<Vec<Prompt>>,
}

impl Model {
    pub(in crate::write) fn new(
        answer: impl Fn(usize, &Prompt) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Model {
        Model {
            id: ModelId::new("scripted"),
            answer: Box::new(answer),
            window: 4096,
            delay: Duration::ZERO,
            prompts: Mutex::default(),
        }
    }

    /// Says these in turn, the last one from then on.
    pub(in crate::write) fn saying(answers: &'static [&'static str]) -> Model {
        Model::new(|at, _| Ok(answers[at.min(answers.len() - 1)].to_owned()))
    }

    pub(in crate::write) fn prompts(&self) -> Vec<String> {
        let prompts = self.prompts.lock().unwrap();
        let whole = prompts
            .iter()
            .map(|it| format!("{}{}{}", it.system, it.shared, it.own));
        whole.collect()
    }
}

#[async_trait]
impl LanguageModel for Model {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn count_tokens(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn window(&self) -> usize {
        self.window
    }

    fn concurrency(&self) -> usize {
        1
    }

    async fn generate(&self, prompt: &Prompt, _: &Limits) -> Result<Generated, ModelError> {
        tokio::time::sleep(self.delay).await;
        let before = {
            let mut prompts = self.prompts.lock().unwrap();
            prompts.push(prompt.clone());
            prompts.len() - 1
        };
        Ok(Generated {
            text: (self.answer)(before, prompt)?,
            finish: Finish::Stopped,
            prompt_tokens: 10,
            generated_tokens: 2,
        })
    }

    async fn classify(&self, _: &Prompt, _: &[&str]) -> Result<Classified, ModelError> {
        Err(ModelError::Stopped)
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }
}

/// Gives the results that it was given, and refuses all other statements.
#[derive(Default)]
pub(in crate::write) struct Engine {
    results: HashMap<String, Result<Tried, Refusal>>,
    pub(in crate::write) tried: Mutex<Vec<String>>,
}

impl Engine {
    /// With a result of one column of integers or texts.
    pub(in crate::write) fn gives(
        mut self,
        statement: &str,
        data_type: &str,
        rows: &[&str],
    ) -> Engine {
        let column = Column {
            name: "c".to_owned(),
            data_type: data_type.to_owned(),
        };
        let mut tried = Tried::new(vec![column], statement.contains("ORDER BY"));
        rows.iter()
            .for_each(|it| tried.push(vec![Some((*it).to_owned()).filter(|it| it != "NULL")]));
        self.results.insert(statement.to_owned(), Ok(tried));
        self
    }

    pub(in crate::write) fn refuses(
        mut self,
        statement: &str,
        line: &str,
        mend: Option<Mend>,
        column: Option<&str>,
    ) -> Engine {
        let refusal = Refusal {
            line: line.to_owned(),
            mend,
            column: column.map(str::to_owned),
            is_of_statement: true,
        };
        self.results.insert(statement.to_owned(), Err(refusal));
        self
    }
}

#[async_trait]
impl TryOut for Engine {
    async fn run(&self, stage: &SqlStage) -> Result<Tried, Refusal> {
        self.tried.lock().unwrap().push(stage.statement.clone());
        let unknown = || {
            Err(Refusal {
                line: "there is no such thing".to_owned(),
                mend: None,
                column: None,
                is_of_statement: true,
            })
        };
        self.results
            .get(&stage.statement)
            .cloned()
            .unwrap_or_else(unknown)
    }

    async fn check(&self, stages: &[Stage]) -> Result<Vec<Stage>, Refusal> {
        Ok(stages.to_vec())
    }
}

pub(in crate::write) fn column(name: &str, data_type: &str, score: f64) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        range: None,
        frequent: None,
        all: None,
        score,
    }
}

pub(in crate::write) fn table(
    name: &str,
    columns: Vec<TableColumn>,
    cells: &[(&str, &str)],
) -> TableCells {
    let cells = cells.iter().map(|(column, value)| Cell {
        column: (*column).to_owned(),
        value: (*value).to_owned(),
        how: Match::Exact,
        count: Some(1),
    });
    TableCells {
        table: name.to_owned(),
        lake: "/lake".to_owned(),
        rows: Some(6),
        rows_exact: true,
        dates: Vec::new(),
        columns,
        cells: cells.collect(),
        tokens: 0,
    }
}

pub(in crate::write) fn cells(tables: Vec<TableCells>, joins: Vec<CellsJoin>) -> CellsAnswer {
    CellsAnswer {
        question: String::new(),
        snapshot: 1,
        tables,
        joins,
        text: String::new(),
        tokens: Tokens {
            text: 0,
            model: String::new(),
        },
        notes: Vec::new(),
    }
}

pub(in crate::write) fn join(left: (&str, &str), right: (&str, &str)) -> CellsJoin {
    let column = |(table, column): (&str, &str)| JoinedColumn {
        table: table.to_owned(),
        lake: "/lake".to_owned(),
        column: column.to_owned(),
    };
    CellsJoin {
        left: column(left),
        right: column(right),
        more: Vec::new(),
        cardinality: "n:1".to_owned(),
        evidence: String::new(),
    }
}

/// Singers and their concerts.
pub(in crate::write) fn singers() -> CellsAnswer {
    let singer = vec![
        column("Singer_ID", "integer", 0.6),
        column("Name", "text", 0.7),
        column("Country", "text", 0.9),
        column("Age", "integer", 0.5),
    ];
    let concert = vec![
        column("Concert_ID", "integer", 0.4),
        column("Singer_ID", "integer", 0.4),
        column("Year", "integer", 0.4),
    ];
    cells(
        vec![
            table("music/singer", singer, &[("Country", "France")]),
            table("music/concert", concert, &[]),
        ],
        vec![join(
            ("music/concert", "Singer_ID"),
            ("music/singer", "Singer_ID"),
        )],
    )
}
