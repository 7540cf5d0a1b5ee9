//! Stages that write: texts, values drawn out of texts, and texts about rows that cite them.

use std::collections::{BTreeMap, BTreeSet};

use limn_ask::semantic::Output;
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::data::{Table, batch};
use crate::measured::{Bench, rounded, share, texts};

/// Rows of each stage that draws values out.
const ROWS: usize = 40;
/// Rows of each group that a text is about.
const GROUP: usize = 12;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub async fn all(bench: &Bench) -> Result<Map<String, Value>, Failure> {
    let mut figures = Map::new();
    if bench.wants("capital") {
        figures.insert("capital".to_owned(), capital(bench).await?);
    }
    if bench.wants("extract_make") {
        figures.insert("extract_make".to_owned(), make(bench).await?);
    }
    if bench.wants("extract_day") {
        figures.insert("extract_day".to_owned(), day(bench).await?);
    }
    if bench.wants("agg_most") {
        figures.insert("agg_most".to_owned(), most(bench).await?);
    }
    if bench.wants("agg_continents") {
        figures.insert("agg_continents".to_owned(), continents(bench).await?);
    }
    if bench.wants("fact") {
        figures.insert("fact".to_owned(), fact(bench).await?);
    }
    Ok(figures)
}

/// Capitals of countries, written as texts; the truth is the city of the capital's number.
async fn capital(bench: &Bench) -> Result<Value, Failure> {
    let countries = bench.table("world_1__country")?;
    let cities = bench.table("world_1__city")?;
    let ids = cities.column("ID")?;
    // The table of cities ends early: not every capital is in it.
    let of = countries.column("Capital")?;
    let city = |row: &usize| {
        ids.iter()
            .position(|id| of[*row].split('.').next() == Some(id))
    };
    let rows = (0..countries.len()).filter(|row| city(row).is_some());
    let rows: Vec<usize> = rows.collect();
    let capitals = rows.iter().filter_map(city).collect::<Vec<_>>();
    let every = (rows.len() / bench.part(ROWS)).max(1);
    let countries = countries.of(rows.into_iter().step_by(every));
    let names = countries.column("Name")?;
    let cities = cities.of(capitals.into_iter().step_by(every));
    let truth = cities.column("Name")?;
    let written = json!({"sem_map": {
        "input": "r", "instruction": "the capital of {Name}", "output": {"name": "capital"}}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("capital", written, &[input]).await?;
    let said = texts(&output, "capital");
    // The table has local spellings.
    let alike = |(a, b): (&String, &&str)| strsim::jaro_winkler(a, b) > 0.8;
    Ok(
        json!({"rows": names.len(), "right": share(said.iter().zip(&truth).map(alike)), "took": took}),
    )
}

/// The maker of a car by its name; the truth is the table's column of makers.
async fn make(bench: &Bench) -> Result<Value, Failure> {
    let cars = bench.some("car_1__car_names", ROWS)?;
    let (names, truth) = (cars.column("Make")?, cars.column("Model")?);
    let written = json!({"sem_extract": {
        "input": "r", "instruction": "the maker and the model of the car {Name}",
        "outputs": [{"name": "maker"}, {"name": "model"}]}});
    let input = batch(&[("Name", &names)])?;
    let (output, took) = bench.measured("extract_make", written, &[input]).await?;
    let said = texts(&output, "maker");
    let right = |(a, b): (&String, &&str)| a.eq_ignore_ascii_case(b);
    let rest = names.iter().zip(&truth).map(|(name, maker)| {
        let rest = name.strip_prefix(maker).unwrap_or(name);
        rest.trim().to_owned()
    });
    let models = texts(&output, "model");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    truth
        .iter()
        .for_each(|it| *counts.entry(it).or_default() += 1);
    let majority = counts.values().max().copied().unwrap_or(0);
    let first = names.iter().zip(&truth);
    let first = first.map(|(name, maker)| name.split(' ').next() == Some(maker));
    Ok(json!({
        "rows": names.len(), "maker_right": share(said.iter().zip(&truth).map(right)),
        "model_right": share(models.iter().zip(rest).map(|(a, b)| a.eq_ignore_ascii_case(&b))),
        "majority_maker": rounded(majority as f64 / truth.len() as f64),
        "first_word_maker": share(first), "took": took,
    }))
}

/// A day as a person writes it; the truth is the same day by rules.
async fn day(bench: &Bench) -> Result<Value, Failure> {
    let tables = [
        ("tvshow__tv_series", "Air_Date"),
        ("workshop_paper__workshop", "Date"),
        ("poker_player__people", "Birth_Date"),
        ("body_builder__people", "Birth_Date"),
    ];
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (table, column) in tables {
        let table = bench.table(table)?;
        for text in table.column(column)? {
            if let Some(day) = by_rules(text) {
                all.insert(text.to_owned(), day);
            }
        }
    }
    let days: Vec<&str> = all.keys().map(String::as_str).collect();
    let written = json!({"sem_extract": {
        "input": "r", "instruction": "the day in {Text}",
        "outputs": [{"name": "day", "type": "date"}]}});
    let input = batch(&[("Text", &days)])?;
    let (output, took) = bench.measured("extract_day", written, &[input]).await?;
    let column = output.batch.column_by_name("day").ok_or("no day")?;
    let said = arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8)?;
    let said = said.as_any().downcast_ref::<arrow::array::StringArray>();
    let said = said.ok_or("a day is no text")?;
    let right = said.iter().zip(all.values());
    Ok(json!({
        "rows": days.len(), "right": share(right.map(|(a, b)| a == Some(b))),
        "majority": rounded(1.0 / days.len().max(1) as f64), "took": took,
    }))
}

/// `September 24, 2007` as `2007-09-24`.
fn by_rules(text: &str) -> Option<String> {
    let (month, rest) = text.trim().split_once(' ')?;
    let (day, year) = rest.split_once(',')?;
    let month = MONTHS.iter().position(|it| *it == month)? + 1;
    let (day, year): (u32, u32) = (day.trim().parse().ok()?, year.trim().parse().ok()?);
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

/// The rows of a text, counted from 0.
fn cites(output: &Output, at: usize) -> BTreeSet<usize> {
    let cites = output.cites.as_ref().and_then(|it| it.get(at));
    let cites = cites.into_iter().flatten();
    cites.filter_map(|row| usize::try_from(*row).ok()).collect()
}

/// Of each region the country with the most inhabitants.
async fn most(bench: &Bench) -> Result<Value, Failure> {
    let countries = bench.table("world_1__country")?;
    let regions = countries.column("Region")?;
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, region) in regions.iter().enumerate() {
        groups.entry(region).or_default().push(row);
    }
    groups.values_mut().for_each(|rows| rows.truncate(GROUP));
    groups.retain(|_, rows| rows.len() > 3);
    let rows: Vec<usize> = groups.into_values().flatten().collect();
    let countries = countries.of(rows);
    let regions = countries.column("Region")?;
    let (names, people) = (countries.column("Name")?, countries.column("Population")?);
    let written = json!({"sem_agg": {
        "input": "r", "group_by": ["Region"], "output": "text",
        "instruction": "Name the country, {Name}, that has the largest {Population}."}});
    let input = batch(&[
        ("Region", &regions),
        ("Name", &names),
        ("Population", &people),
    ])?;
    let (output, took) = bench.measured("agg_most", written, &[input]).await?;
    let (said, of) = (texts(&output, "text"), texts(&output, "Region"));
    let (mut right, mut cited, mut only, mut chance) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
    let mut any = Vec::new();
    for (at, (text, region)) in said.iter().zip(&of).enumerate() {
        let rows: Vec<usize> = (0..names.len())
            .filter(|row| regions[*row] == region)
            .collect();
        let people = |row: &usize| people[*row].parse::<u64>().unwrap_or(0);
        let best = rows.iter().copied().max_by_key(people).unwrap_or(0);
        let cites = cites(&output, at);
        right.push(text.contains(names[best]));
        cited.push(cites.contains(&best));
        only.push(text.contains(names[best]) && cites.iter().all(|it| *it == best));
        any.push(!cites.is_empty());
        chance += 1.0 / rows.len() as f64;
    }
    let groups = of.len();
    Ok(json!({
        "groups": groups, "named": share(right.into_iter()), "cited": share(cited.into_iter()),
        "named_and_nothing_else_cited": share(only.into_iter()), "cites_any": share(any.into_iter()),
        "chance": rounded(chance / groups.max(1) as f64), "texts": said, "took": took,
    }))
}

/// Which continents the countries of a group are on.
async fn continents(bench: &Bench) -> Result<Value, Failure> {
    let countries = bench.some("world_1__country", GROUP * 10)?;
    let (names, of) = (countries.column("Name")?, countries.column("Continent")?);
    let group: Vec<String> = (0..names.len())
        .map(|it| format!("{}", it / GROUP))
        .collect();
    let group: Vec<&str> = group.iter().map(String::as_str).collect();
    let written = json!({"sem_agg": {
        "input": "r", "group_by": ["Group"], "output": "text",
        "instruction": "Say which continents these rows name: {Name} is in {Continent}."}});
    let input = batch(&[("Group", &group), ("Name", &names), ("Continent", &of)])?;
    let (output, took) = bench.measured("agg_continents", written, &[input]).await?;
    let said = texts(&output, "text");
    let all: BTreeSet<&str> = of.iter().copied().collect();
    let (mut exact, mut hits, mut named, mut wanted) = (Vec::new(), 0, 0, 0);
    let mut shown = Vec::new();
    for (at, text) in said.iter().enumerate() {
        let rows = at * GROUP..((at + 1) * GROUP).min(names.len());
        let truth: BTreeSet<&str> = of[rows].iter().copied().collect();
        let found: BTreeSet<&str> = all.iter().copied().filter(|it| text.contains(it)).collect();
        exact.push(found == truth);
        hits += found.intersection(&truth).count();
        named += found.len();
        wanted += truth.len();
        // A cited row shows what is said if its continent is named.
        shown.extend(
            cites(&output, at)
                .into_iter()
                .map(|row| found.contains(of[row])),
        );
    }
    Ok(json!({
        "groups": said.len(), "all_and_no_other": share(exact.into_iter()),
        "precision": rounded(hits as f64 / f64::max(f64::from(named as u32), 1.0)),
        "recall": rounded(hits as f64 / f64::max(f64::from(wanted as u32), 1.0)),
        "citations": shown.len(), "citations_whose_continent_is_named": share(shown.into_iter()),
        "texts": said, "took": took,
    }))
}

/// A fact, and a list of facts.
async fn fact(bench: &Bench) -> Result<Value, Failure> {
    let countries: Table = bench.table("world_1__country")?;
    let written = json!({"sem_fact": {
        "instruction": "the countries of South America",
        "output": {"name": "country"}, "list": true}});
    let (output, took) = bench.measured("fact", written, &[]).await?;
    let (names, of) = (countries.column("Name")?, countries.column("Continent")?);
    let truth: BTreeSet<&str> = names
        .iter()
        .zip(&of)
        .filter(|it| *it.1 == "South America")
        .map(|it| *it.0)
        .collect();
    let said = texts(&output, "country");
    Ok(json!({
        "listed": said.len(), "true_ones": truth.len(),
        "right": said.iter().filter(|it| truth.contains(it.as_str())).count(), "took": took,
    }))
}
