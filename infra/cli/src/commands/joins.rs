//! `limn joins`: what a table joins with, and the way to another table.

use std::io::{self, Write};

use anyhow::bail;
use limn_joins::EdgeKind;
use limn_retrieval::{Direction, JoinGraph, Partner, notes_of_way};
use limn_segment::{IndexStore, JoinRecord, TableRecord, is_under};

use crate::Outcome;
use crate::args::JoinsArgs;
use crate::commands::{known, newest, print_json, show};
use crate::progress::say;
use crate::table::Table;

pub async fn run(args: JoinsArgs) -> anyhow::Result<Outcome> {
    let index = IndexStore::open(&args.index.index)?;
    let snapshot = newest(&index).await?;
    let tables = index.tables(&snapshot, None).await?;
    let table = only(&tables, &args.table)?;
    let with = args.with.as_deref().map(|with| only(&tables, with));
    let with = with.transpose()?;
    if let Some(with) = with.filter(|with| with.lake != table.lake) {
        bail!(
            "'{}' and '{}' are of two lakes, {} and {}: joins are found within one",
            table.name,
            with.name,
            table.lake,
            with.lake
        );
    }
    let Some(edges) = index.joins(&snapshot, &table.lake).await? else {
        bail!(
            "the index does not know what joins in {lake}: `limn index {lake} --index {}` finds out, of more than 10,000 tables with --join-tables N",
            args.index.index,
            lake = table.lake
        );
    };
    let prefix = args.under.prefix.as_deref();
    if let Some(prefix) = prefix
        && !tables.iter().any(|it| is_under(&it.name, prefix))
    {
        let nothing = known::nothing_under(&index, &snapshot, prefix).await?;
        nothing.iter().for_each(|it| say(it));
    }
    let is_meant = |name: &str| {
        name == table.name
            || with.is_some_and(|with| name == with.name)
            || prefix.is_none_or(|prefix| is_under(name, prefix))
    };
    let sees = |edge: &JoinRecord| is_meant(&edge.left) && is_meant(&edge.right);
    let graph = JoinGraph::of(edges);
    let mut answer = Answer {
        table: &table.name,
        lake: &table.lake,
        snapshot: snapshot.number,
        with: with.map(|with| with.name.as_str()),
        path: None,
        partners: None,
    };
    match answer.with {
        Some(with) => {
            let path = graph.path(&table.name, with, &sees);
            let notes = notes_of_way(path.as_deref(), &table.name, with, str::to_owned);
            notes.iter().for_each(|it| say(it));
            answer.path = Some(path);
        }
        None => {
            let kind = args.kind.as_deref().and_then(EdgeKind::of_name);
            let partners = graph.partners(&table.name, kind, usize::MAX, &sees);
            if partners.is_empty() {
                say_none(table, kind);
            }
            answer.partners = Some(partners);
        }
    }
    if args.output.json {
        print_json(&answer)?;
    } else {
        print(
            &answer
                .path
                .flatten()
                .or(answer.partners)
                .unwrap_or_default(),
        )?;
    }
    Ok(Outcome::Done)
}

/// Says that no partners of a table are known, and why if that shows.
fn say_none(table: &TableRecord, kind: Option<EdgeKind>) {
    let kind = kind.map_or("partner", EdgeKind::name);
    say(&format!("no {kind} of '{}' is known", table.name));
    if table.columns.is_empty() {
        say(&format!(
            "'{}' could not be read: limn show says why",
            table.name
        ));
    }
}

/// What `--json` prints.
#[derive(serde::Serialize)]
struct Answer<'a> {
    table: &'a str,
    lake: &'a str,
    snapshot: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<&'a str>,
    /// With `--with`: the steps, null where there is no way.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Option<Vec<Partner>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partners: Option<Vec<Partner>>,
}

/// The one table that is meant.
fn only<'a>(tables: &'a [TableRecord], wanted: &str) -> anyhow::Result<&'a TableRecord> {
    match show::meant(tables, wanted.trim_end_matches('/'))?.as_slice() {
        [table] => Ok(table),
        several => {
            let places: Vec<&str> = several.iter().map(|it| it.location.as_str()).collect();
            bail!(
                "'{wanted}' is {} tables: say which by its location, {}",
                several.len(),
                places.join(" or ")
            )
        }
    }
}

/// What a partner is to the table.
fn relation(partner: &Partner) -> &'static str {
    match (partner.kind, partner.direction) {
        (EdgeKind::Join, Direction::RefersTo) => "refers to",
        (EdgeKind::Join, Direction::ReferredBy) => "referred to by",
        (EdgeKind::Join, Direction::Neither) => "joins",
        (EdgeKind::Copy, _) => "copy of",
        (EdgeKind::Subset, Direction::RefersTo) => "part of",
        (EdgeKind::Subset, _) => "holds",
        (EdgeKind::Union, _) => "union with",
    }
}

fn print(partners: &[Partner]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let header = [
        "columns",
        "",
        "table",
        "columns",
        "rows",
        "contained",
        "score",
        "why",
    ];
    let mut listing = Table::new(&header, &[5, 6]);
    for it in partners {
        let own = match partners.iter().any(|other| other.table != it.table) {
            // Of a way each step has its own.
            true => format!("{}: {}", it.table, it.columns.join(", ")),
            false => it.columns.join(", "),
        };
        let percent = |share: f32| (share * 100.0).floor();
        listing.row(vec![
            own,
            relation(it).to_owned(),
            it.partner.clone(),
            it.partner_columns.join(", "),
            it.cardinality.map_or("", |it| it.name()).to_owned(),
            format!(
                "{} % (≥ {} %)",
                percent(it.containment),
                percent(it.containment_low)
            ),
            format!("{:.2}", it.score),
            it.evidence.name().to_owned(),
        ]);
    }
    if !partners.is_empty() {
        listing.write(&mut out)?;
    }
    out.flush()
}
