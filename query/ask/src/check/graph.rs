//! The stages as a graph: names, what reads what, and in which order they run.

use std::collections::{BTreeSet, HashMap};

use super::{Fault, Faults};
use crate::plan::{Plan, VERSION};

/// Stages of a plan.
pub(crate) const MOST_STAGES: usize = 64;
/// Letters of a stage's name.
const MOST_LETTERS: usize = 64;
/// How alike a name must be to be suggested, 0 to 1.
const NEAR: f64 = 0.8;

/// The places of the stages in the order in which they run: each after those that it reads, and
/// those that could run at one time in the order in which they are written.
///
/// # Errors
/// Everything that is wrong with names and inputs, or a circle.
pub(super) fn order(plan: &Plan) -> Result<Vec<usize>, Faults> {
    let mut faults = Vec::new();
    if plan.version != VERSION {
        return Err(Fault::Version(plan.version).into());
    }
    match plan.stages.len() {
        0 => return Err(Fault::Empty.into()),
        found if found > MOST_STAGES => {
            let most = MOST_STAGES;
            return Err(Fault::TooMany { found, most }.into());
        }
        _ => {}
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, stage) in plan.stages.iter().enumerate() {
        if !is_name(&stage.name) {
            faults.push(Fault::Name(stage.name.clone()));
        }
        if places.insert(&stage.name, place).is_some() {
            faults.push(Fault::Twice(stage.name.clone()));
        }
    }
    for stage in &plan.stages {
        for name in stage.operation.stages() {
            if !places.contains_key(name) {
                faults.push(Fault::UnknownStage {
                    stage: stage.name.clone(),
                    name: name.to_owned(),
                    near: near(plan, name),
                });
            }
        }
    }
    if !places.contains_key(plan.answer.as_str()) {
        faults.push(Fault::UnknownAnswer {
            name: plan.answer.clone(),
            near: near(plan, &plan.answer),
        });
    }
    match faults.is_empty() {
        true => in_order(plan, &places),
        false => Err(Faults(faults)),
    }
}

fn in_order(plan: &Plan, places: &HashMap<&str, usize>) -> Result<Vec<usize>, Faults> {
    let reads: Vec<BTreeSet<usize>> = plan
        .stages
        .iter()
        .map(|stage| {
            stage
                .operation
                .stages()
                .iter()
                .map(|it| places[it])
                .collect()
        })
        .collect();
    let mut order: Vec<usize> = Vec::with_capacity(reads.len());
    let mut has_run = vec![false; reads.len()];
    while order.len() < reads.len() {
        let ready = |place: &usize| !has_run[*place] && reads[*place].iter().all(|it| has_run[*it]);
        match (0..reads.len()).find(ready) {
            Some(place) => {
                has_run[place] = true;
                order.push(place);
            }
            None => return Err(Fault::Cycle(circle(plan, &reads, &has_run)).into()),
        }
    }
    Ok(order)
}

/// A circle among the stages that cannot run, its first stage again at its end.
fn circle(plan: &Plan, reads: &[BTreeSet<usize>], has_run: &[bool]) -> Vec<String> {
    // Each of them reads another of them.
    let next = |place: usize| reads[place].iter().copied().find(|it| !has_run[*it]);
    let mut way: Vec<usize> = Vec::new();
    let mut at = has_run.iter().position(|it| !it);
    while let Some(place) = at {
        if let Some(start) = way.iter().position(|it| *it == place) {
            way.drain(..start);
            way.push(place);
            break;
        }
        way.push(place);
        at = next(place);
    }
    let names = way.into_iter().map(|place| plan.stages[place].name.clone());
    names.collect()
}

/// The stages that the answer needs.
pub(super) fn needed(plan: &Plan) -> BTreeSet<&str> {
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    let mut wanted = vec![plan.answer.as_str()];
    while let Some(name) = wanted.pop() {
        if needed.insert(name)
            && let Some(stage) = plan.stage(name)
        {
            wanted.extend(stage.operation.stages());
        }
    }
    needed
}

/// A note for each stage that the answer does not need.
pub(super) fn unused(plan: &Plan) -> Vec<String> {
    let needed = needed(plan);
    let unused = plan
        .stages
        .iter()
        .filter(|it| !needed.contains(it.name.as_str()));
    let unused = unused.map(|it| {
        let name = &it.name;
        format!("stage '{name}' is not run: the answer does not need it")
    });
    unused.collect()
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    let is_first = letters.next().is_some_and(|it| it.is_ascii_alphabetic());
    let is_rest = letters.all(|it| it.is_ascii_alphanumeric() || it == '_');
    is_first && is_rest && name.len() <= MOST_LETTERS
}

/// The stages whose names are like one that is none.
fn near(plan: &Plan, name: &str) -> Vec<String> {
    let name = name.to_lowercase();
    let names = plan.stages.iter().map(|it| it.name.as_str());
    let near = names.filter(|it| strsim::jaro_winkler(&it.to_lowercase(), &name) >= NEAR);
    near.take(3).map(str::to_owned).collect()
}
