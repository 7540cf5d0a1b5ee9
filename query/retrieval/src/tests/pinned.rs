//! The bits of scores as they are written down here: whatever changes one, on any machine, is seen.

use std::fmt::Write;

use super::*;

/// A table that is found, and the bits of its score, of its words' and of its meaning's side.
type Found = (&'static str, u32, u32, u32);

/// What is found for each question, by the weights that were learned. A change that is meant to
/// change scores puts here what the test prints.
const PINNED: &[(&str, &[Found])] = &[
    // PASTE
];

/// Words of names, rows, texts and cells; codes and numbers; a word that most tables have, a name
/// that a question has whole, and another language.
const QUESTIONS: [&str; 8] = [
    "orders of carla leipzig",
    "which customer placed the most orders in 2024",
    "fish species by depth of the river",
    "average water level of each lake",
    "order A-17",
    "Kundinnen je Stadt",
    "price",
    "how much rain fell while boats were out",
];

fn corpus() -> Vec<TableBlocks> {
    let mut tables = small_lake();
    tables.extend([
        table(
            "shop/customers",
            "shop customers: customer id, name, city, since",
            &["customer id: 7 | name: Carla Leipzig | city: Bonn | since: 2019-05-01"],
            &["People who placed at least one order in the web shop."],
            "name: Ann Smith | Bob Jones | Carla Leipzig\ncity: Bonn | Cologne",
        ),
        table(
            "shop/order_lines",
            "shop order lines: order code, item id, price, quantity",
            &["order code: A-17 | item id: 3 | price: 9.5 | quantity: 2"],
            &[],
            "order code: A-17 | A-18 | B-2\nprice: 9.5 | 12",
        ),
        table(
            "science/water_levels",
            "science water levels: lake, day, level in metres",
            &[
                "lake: Ammersee | day: 2024-01-01 | level: 3.1",
                "lake: Chiemsee | day: 2024-01-02 | level: 2.9",
            ],
            &[
                "The level of the water of each lake, once a day.",
                "Levels are averages of what the stations measure.",
            ],
            "lake: Ammersee | Chiemsee",
        ),
        table(
            "science/rainfall",
            "science rainfall: station, month, rain in millimetres",
            &["station: Elbe north | month: 2024-03 | rain: 41"],
            &["Rain that fell at the stations of a river, by month."],
            "station: Elbe north | Saale",
        ),
        table(
            "harbour/boats",
            "harbour boats: boat, owner, weight, price",
            &["boat: Perch | owner: Bob Jones | weight: 900 | price: 12000"],
            &[],
            "boat: Perch | Heron",
        ),
        table(
            "verkauf/kunden",
            "verkauf kunden: kunde, name, stadt, seit",
            &["kunde: 4 | name: Eva | stadt: Köln | seit: 2020"],
            &["Alle Kunden und die Stadt, in der sie wohnen."],
            "stadt: Köln | Bonn",
        ),
    ]);
    tables
}

/// What was found as it stands in this file.
fn source(found: &[(&str, Vec<(String, u32, u32, u32)>)]) -> String {
    let mut source = String::from("const PINNED: &[(&str, &[Found])] = &[\n");
    for (question, tables) in found {
        writeln!(source, "    (\n        {question:?},\n        &[").unwrap();
        for (name, score, words, meaning) in tables {
            writeln!(
                source,
                "            ({name:?}, 0x{score:08x}, 0x{words:08x}, 0x{meaning:08x}),"
            )
            .unwrap();
        }
        source.push_str("        ],\n    ),\n");
    }
    source + "];"
}

#[test]
fn scores_have_the_bits_that_are_written_down() {
    for shards in [1, 3] {
        let searcher = searcher(&corpus(), shards);
        let found = QUESTIONS.map(|question| {
            let ranking = searcher.rank(&query(question, 10, Mode::Limn)).unwrap();
            (question, bits(&ranking))
        });
        let pinned = PINNED.iter().map(|(question, tables)| {
            let tables = tables.iter();
            let owned = tables.map(|(name, score, words, meaning)| {
                ((*name).to_owned(), *score, *words, *meaning)
            });
            (*question, owned.collect::<Vec<_>>())
        });
        assert!(
            pinned.eq(found.iter().cloned()),
            "over {shards} shards, scores have other bits than are written down; these:\n{}",
            source(&found)
        );
    }
}
