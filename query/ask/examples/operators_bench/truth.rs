//! Stages that choose: a filter, with a cascade and without, a column, a ranking and a join.

use std::cmp::Reverse;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::Failure;
use crate::data::{Table, batch};
use crate::measured::{Bench, quality, rounded, share, texts};

const CONTINENTS: [&str; 7] = [
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "North America",
    "Oceania",
    "South America",
];
/// Countries that are judged, and those that are ranked.
const ROWS: usize = 120;
const RANKED: usize = 40;
const WANTED: usize = 10;
/// Countries that are joined, and cities of each.
const JOINED: usize = 10;
const CITIES: usize = 4;

pub async fn all(bench: &Bench) -> Result<Map<String, Value>, Failure> {
    let all = bench.table("world_1__country")?;
    let some = bench.some("world_1__country", ROWS)?;
    let mut figures = Map::new();
    if bench.wants("filter") {
        figures.insert("filter".to_owned(), filter(bench, &some).await?);
    }
    if bench.wants("cascade") {
        figures.insert("cascade".to_owned(), cascade(bench, &all).await?);
    }
    if bench.wants("map") {
        figures.insert("map".to_owned(), map(bench, &some).await?);
    }
    if bench.wants("topk") {
        figures.insert("topk".to_owned(), topk(bench, some.some(RANKED)).await?);
    }
    if bench.wants("join") {
        figures.insert("join".to_owned(), join(bench, &all).await?);
    }
    Ok(figures)
}

/// Which of the names are kept.
fn are_kept(names: &[&str], kept: &[String]) -> Vec<bool> {
    let kept: HashSet<&str> = kept.iter().map(String::as_str).collect();
    names.iter().map(|it| kept.contains(it)).collect()
}

/// The best accuracy and F1 over all thresholds, which nobody knows beforehand.
fn best(likenesses: &[f32], truth: &[bool]) -> (f64, f64) {
    let of = likenesses.iter().map(|least| {
        let kept: Vec<bool> = likenesses.iter().map(|it| it >= least).collect();
        quality(&kept, truth)
    });
    of.fold((0.0, 0.0), |best, it| {
        (f64::max(best.0, it.0), f64::max(best.1, it.1))
    })
}

async fn filter(bench: &Bench, countries: &Table) -> Result<Value, Failure> {
    let names = countries.column("Name")?;
    let truth: Vec<bool> = countries
        .column("Continent")?
        .iter()
        .map(|it| *it == "Asia")
        .collect();
    let written = json!({"sem_filter": {"input": "r", "instruction": "{Name} is in Asia"}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("filter", written, &[input]).await?;
    let (accuracy, f1) = quality(&are_kept(&names, &texts(&output, "Name")), &truth);
    let (majority, _) = quality(&vec![false; names.len()], &truth);
    let likest = best(&bench.likenesses("a country in Asia", &names)?, &truth);
    Ok(json!({
        "accuracy": accuracy, "f1": f1, "majority_accuracy": majority,
        "embedder_best_accuracy": likest.0, "embedder_best_f1": likest.1, "took": took,
    }))
}

async fn cascade(bench: &Bench, countries: &Table) -> Result<Value, Failure> {
    let names = countries.column("Name")?;
    let written = json!({"sem_filter": {
        "input": "r", "instruction": "{Name} is in Europe",
        "cascade": {"recall": 0.8, "precision": 0.8}}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("cascade", written, &[input]).await?;
    Ok(json!({"of": names.len(), "notes": output.notes, "took": took}))
}

async fn map(bench: &Bench, countries: &Table) -> Result<Value, Failure> {
    let (names, truth) = (countries.column("Name")?, countries.column("Continent")?);
    let written = json!({"sem_map": {
        "input": "r", "instruction": "the continent of {Name}",
        "output": {"name": "continent", "one_of": CONTINENTS}}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("map", written, &[input]).await?;
    let said = texts(&output, "continent");
    let majority = CONTINENTS.map(|it| share(truth.iter().map(|truth| it == *truth)));
    let mut nearest = Vec::new();
    for name in &names {
        let likenesses = bench.likenesses(name, &CONTINENTS)?;
        let best = (0..CONTINENTS.len()).max_by(|a, b| likenesses[*a].total_cmp(&likenesses[*b]));
        nearest.push(CONTINENTS[best.unwrap_or(0)]);
    }
    Ok(json!({
        "accuracy": share(said.iter().zip(&truth).map(|(a, b)| a == b)),
        "majority_accuracy": majority.into_iter().fold(0.0, f64::max),
        "embedder_accuracy": share(nearest.iter().zip(&truth).map(|(a, b)| a == b)), "took": took,
    }))
}

async fn topk(bench: &Bench, countries: Table) -> Result<Value, Failure> {
    let names = countries.column("Name")?;
    let mut order: Vec<(Reverse<u64>, &str)> = Vec::new();
    for (row, name) in names.iter().enumerate() {
        order.push((Reverse(countries.cell(row, "Population")?.parse()?), *name));
    }
    order.sort();
    let largest: Vec<&str> = order.iter().take(WANTED).map(|it| it.1).collect();
    let recall = |found: &[&str]| share(largest.iter().map(|it| found.contains(it)));
    let written = json!({"sem_topk": {
        "input": "r", "instruction": "which country, {Name}, has more inhabitants", "k": WANTED}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("topk", written, &[input]).await?;
    let found = texts(&output, "Name");
    let likenesses = bench.likenesses("a country with many inhabitants", &names)?;
    let mut by_likeness: Vec<usize> = (0..names.len()).collect();
    by_likeness.sort_by(|a, b| likenesses[*b].total_cmp(&likenesses[*a]));
    let likest = by_likeness.into_iter().take(WANTED).map(|at| names[at]);
    Ok(json!({
        "of": names.len(), "k": WANTED,
        "recall": recall(&found.iter().map(String::as_str).collect::<Vec<_>>()),
        "chance": rounded(WANTED as f64 / names.len() as f64),
        "embedder_recall": recall(&likest.collect::<Vec<_>>()), "took": took,
    }))
}

/// Cities and countries by their names, the code that joins them hidden.
async fn join(bench: &Bench, countries: &Table) -> Result<Value, Failure> {
    let cities = bench.table("world_1__city")?;
    let mut large: Vec<usize> = (0..countries.len()).collect();
    let population = |row: &usize| countries.cell(*row, "Population").ok()?.parse::<u64>().ok();
    large.sort_by_key(|row| Reverse(population(row)));
    let countries = countries.of(large.into_iter().step_by(2).take(JOINED));
    let codes = countries.column("Code")?;
    let mut rows = Vec::new();
    for code in &codes {
        let of = cities.column("CountryCode")?;
        let of = (0..cities.len()).filter(|row| of[*row] == *code);
        rows.extend(of.take(CITIES));
    }
    let cities = cities.of(rows);
    let (left, right) = (cities.column("Name")?, countries.column("Name")?);
    let own = cities.column("CountryCode")?;
    let pairs = || (0..left.len()).flat_map(|a| (0..right.len()).map(move |b| (a, b)));
    let truth: Vec<bool> = pairs().map(|(a, b)| own[a] == codes[b]).collect();
    let written = json!({"sem_join": {
        "left": "a", "right": "b", "instruction": "the city {City} is in {Country}"}});
    let inputs = [batch(&[("City", &left)])?, batch(&[("Country", &right)])?];
    let (output, took) = bench.measured("join", written, &inputs).await?;
    let found: HashSet<(String, String)> = texts(&output, "City")
        .into_iter()
        .zip(texts(&output, "Country"))
        .collect();
    let kept: Vec<bool> = pairs()
        .map(|(a, b)| found.contains(&(left[a].to_owned(), right[b].to_owned())))
        .collect();
    let (accuracy, f1) = quality(&kept, &truth);
    let hits = kept.iter().zip(&truth).filter(|(a, b)| **a && **b).count();
    let (mut likenesses, mut nearest) = (Vec::new(), Vec::new());
    for city in &left {
        let of = bench.likenesses(city, &right)?;
        let most = of.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        nearest.extend(of.iter().map(|it| *it == most));
        likenesses.extend(of);
    }
    Ok(json!({
        "pairs": truth.len(), "true_pairs": truth.iter().filter(|it| **it).count(),
        "kept": found.len(), "precision": rounded(hits as f64 / f64::max(found.len() as f64, 1.0)),
        "recall": rounded(hits as f64 / truth.iter().filter(|it| **it).count() as f64),
        "accuracy": accuracy, "f1": f1,
        "majority_accuracy": quality(&vec![false; truth.len()], &truth).0, "majority_f1": 0,
        "embedder_nearest_f1": quality(&nearest, &truth).1,
        "embedder_best_f1": best(&likenesses, &truth).1, "took": took,
    }))
}
