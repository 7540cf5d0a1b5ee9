//! An answer for people: in words, its rows, and where they come from.

use std::io::{self, Write};

use limn_ask::plan::{Column, Operation, Plan};
use limn_ask::run::CostEstimate;
use limn_ask::{AskAnswer, SpentTokens, shown};
use serde_json::Value;

use crate::progress::say;
use crate::table::Table;
use crate::text::{Style, count, one_line, plural, seconds};

/// Rows of an answer that are printed.
const PRINTED: usize = 50;
/// Rows that are printed of those behind an answer.
const BEHIND: usize = 5;
/// Types whose values are printed to the right.
const NUMBERS: [&str; 3] = ["integer", "float", "decimal"];

/// Prints an answer; with its stages, if it is to be explained.
pub fn answer(answer: &AskAnswer, explains: bool) -> io::Result<()> {
    let style = Style::of_stdout();
    let mut out = io::stdout().lock();
    let words = answer.answer.as_deref();
    writeln!(out, "{}", style.bold(words.unwrap_or("no answer")))?;
    if !limn_ask::is_said(answer.columns.len(), answer.rows.len()) {
        writeln!(out)?;
        rows(&mut out, &answer.columns, &answer.rows, PRINTED)?;
        let rest = answer.rows.len().saturating_sub(PRINTED);
        if rest > 0 {
            writeln!(out, "{}", style.dim(&format!("{rest} more: --json")))?;
        }
    }
    for cited in &answer.citations {
        let rest = cited.values.len().saturating_sub(BEHIND);
        let more = if rest > 0 { ", among others" } else { "" };
        writeln!(out, "\n{}", style.dim(&format!("rows behind it{more}:")))?;
        rows(&mut out, &cited.columns, &cited.values, BEHIND)?;
    }
    if let Some(plan) = &answer.plan {
        writeln!(out)?;
        written(&mut out, plan, answer, &style)?;
    }
    if explains {
        for stage in &answer.stages {
            let head = format!(
                "{} ({}): {}, {}",
                stage.stage,
                stage.operation,
                plural(stage.row_count as u64, "row"),
                seconds(stage.seconds)
            );
            writeln!(out, "\n{}", style.bold(&head))?;
            rows(&mut out, &stage.columns, &stage.first_rows, usize::MAX)?;
        }
    }
    out.flush()?;
    for judged in &answer.model_judged {
        let sure = judged
            .sure
            .map(|it| format!(", {:.0} % sure on the average", 100.0 * it));
        say(&format!(
            "note: a language model decided in stage '{}' ({}){}",
            judged.stage,
            judged.operation,
            sure.unwrap_or_default()
        ));
    }
    answer
        .notes
        .iter()
        .for_each(|note| say(&format!("note: {}", one_line(note))));
    cost(answer);
    Ok(())
}

/// What is done, and from which tables. Statements are written so that `limn sql` takes them.
fn written(out: &mut impl Write, plan: &Plan, answer: &AskAnswer, style: &Style) -> io::Result<()> {
    for stage in &plan.stages {
        let does = match &stage.operation {
            Operation::Sql(sql) => {
                let ran = answer.stages.iter().find(|it| it.stage == stage.name);
                let pasted = ran.and_then(|it| it.sql.as_deref());
                one_line(pasted.unwrap_or(&sql.statement))
            }
            Operation::SemFilter(it) => format!("{}: {}", it.input, it.instruction),
            Operation::SemMap(it) => format!("{}: {}", it.input, it.instruction),
            Operation::SemExtract(it) => format!("{}: {}", it.input, it.instruction),
            Operation::SemTopK(it) => format!("{}: first {} by {}", it.input, it.k, it.instruction),
            Operation::SemAgg(it) => format!("{}: {}", it.input, it.instruction),
            Operation::SemJoin(it) => format!("{} and {}: {}", it.left, it.right, it.instruction),
            Operation::SemFact(it) => it.instruction.clone(),
        };
        let head = format!("{} ({}):", stage.name, stage.operation.word());
        writeln!(out, "{} {}", style.dim(&head), one_line(&does))?;
    }
    Ok(())
}

/// Rows, the first so many.
fn rows(
    out: &mut impl Write,
    columns: &[Column],
    rows: &[Vec<Value>],
    most: usize,
) -> io::Result<()> {
    let names: Vec<&str> = columns.iter().map(|it| it.name.as_str()).collect();
    let is_number = |at: &usize| NUMBERS.contains(&columns[*at].data_type.as_str());
    let numbers: Vec<usize> = (0..columns.len()).filter(is_number).collect();
    let mut table = Table::new(&names, &numbers);
    for row in rows.iter().take(most) {
        let cells = columns.iter().zip(row).map(|(it, value)| text(it, value));
        table.row(cells.collect());
    }
    table.write_aligned(out)
}

fn text(column: &Column, value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => shown(column, other),
    }
}

/// What a plan costs, in words.
pub fn estimate(estimate: &CostEstimate) -> String {
    let about = if estimate.guessed.is_empty() {
        ""
    } else {
        "about "
    };
    format!(
        "the plan asks the model {about}{}: {} tokens to read, about {} to write",
        plural(estimate.calls, "time"),
        count(estimate.prompt_tokens),
        count(estimate.generated_tokens)
    )
}

/// Says what an answer has cost, or will.
pub fn cost(answer: &AskAnswer) {
    let cost = &answer.cost;
    if cost.estimate.calls > 0 && cost.spent == SpentTokens::default() {
        say(&estimate(&cost.estimate));
    }
    let spent = |what: &str, spent: &SpentTokens| {
        (spent.calls + spent.kept > 0).then(|| {
            let kept = match spent.kept {
                0 => String::new(),
                kept => format!(", {} known already", count(kept)),
            };
            format!(
                "{what}: {}{kept}, {} tokens read, {} written",
                plural(spent.calls, "call"),
                count(spent.prompt_tokens),
                count(spent.generated_tokens)
            )
        })
    };
    let parts = [
        spent("writing the plan", &cost.writing),
        spent("running it", &cost.spent),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.push(seconds(cost.seconds));
    say(&format!("({})", parts.join("; ")));
}
