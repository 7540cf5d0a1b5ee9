//! The bits of scores as they are written down here: whatever changes one, on any machine, is seen.

use std::fmt::Write;

use super::*;

/// A table that is found, and the bits of its score, of its words' and of its meaning's side.
type Found = (&'static str, u32, u32, u32);

/// What is found for each question, by the weights that were learned. A change that is meant to
/// change scores puts here what the test prints.
const PINNED: &[(&str, &[Found])] = &[
    (
        "orders of carla leipzig",
        &[
            ("shop/customers", 0x3f5cf133, 0x3f800000, 0x3f800000),
            ("shop/orders", 0x3f30fd60, 0x3f57ecc4, 0x3f04b09a),
            ("verkauf/kunden", 0x3e983342, 0x00000000, 0x3f33df7c),
            ("science/fish", 0x3e720f93, 0x00000000, 0x3f0f0934),
            ("shop/order_lines", 0x3e367a94, 0x3e8a2008, 0x3d2b9a2a),
            ("science/water_levels", 0x3e365b97, 0x00000000, 0x3ed78383),
            ("science/rainfall", 0x3e2a1d94, 0x00000000, 0x3ec90bae),
            ("harbour/boats", 0x3ccc2ae5, 0x00000000, 0x3d7149f7),
            ("shop/items", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "which customer placed the most orders in 2024",
        &[
            ("shop/orders", 0x3f79a5a1, 0x3f800000, 0x3f800000),
            ("shop/customers", 0x3f62897b, 0x3f55635b, 0x3f7da4f1),
            ("shop/order_lines", 0x3eb31531, 0x3e7fed61, 0x3ef26893),
            ("science/water_levels", 0x3e9f1a99, 0x3e22ae73, 0x3f12b65c),
            ("verkauf/kunden", 0x3e7bdc42, 0x00000000, 0x3f14d39b),
            ("science/rainfall", 0x3e4b47af, 0x3e1e48de, 0x3e9f9979),
            ("shop/items", 0x3e3c6fb4, 0x00000000, 0x3edeb28e),
            ("science/fish", 0x3daf4abd, 0x00000000, 0x3e4f29c8),
            ("harbour/boats", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "fish species by depth of the river",
        &[
            ("science/fish", 0x3f703f05, 0x3f800000, 0x3f800000),
            ("science/rainfall", 0x3ea80402, 0x3e3aa85d, 0x3f104a36),
            ("science/water_levels", 0x3e417a7f, 0x00000000, 0x3ee4a809),
            ("verkauf/kunden", 0x3e4063d4, 0x00000000, 0x3ee35eb4),
            ("shop/orders", 0x3e081f90, 0x00000000, 0x3ea0df7c),
            ("shop/customers", 0x3dcfa7ad, 0x00000000, 0x3e756912),
            ("shop/order_lines", 0x3d92269b, 0x00000000, 0x3e2cb942),
            ("shop/items", 0x3c15d018, 0x00000000, 0x3cb10d33),
            ("harbour/boats", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "average water level of each lake",
        &[
            ("science/water_levels", 0x3f800000, 0x3f800000, 0x3f800000),
            ("shop/orders", 0x3e6a2422, 0x00000000, 0x3f0a5b2b),
            ("shop/customers", 0x3e634cc4, 0x00000000, 0x3f065045),
            ("science/rainfall", 0x3e395232, 0x00000000, 0x3edb040c),
            ("verkauf/kunden", 0x3df4ea4f, 0x00000000, 0x3e90b900),
            ("harbour/boats", 0x3de94211, 0x00000000, 0x3e89d595),
            ("shop/items", 0x3d9e39f0, 0x00000000, 0x3e3afea7),
            ("science/fish", 0x3cafaa75, 0x00000000, 0x3d4f9ae6),
            ("shop/order_lines", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "order A-17",
        &[
            ("shop/order_lines", 0x3f63237a, 0x3f800000, 0x3f7a41c0),
            ("shop/orders", 0x3f0241c0, 0x3e88f94d, 0x3f800000),
            ("shop/customers", 0x3e725f76, 0x3e5ee8eb, 0x3ea8e71e),
            ("science/water_levels", 0x3e13b86b, 0x00000000, 0x3f2422bf),
            ("verkauf/kunden", 0x3df8856f, 0x00000000, 0x3f0a11aa),
            ("science/rainfall", 0x3de87f89, 0x00000000, 0x3f012ace),
            ("harbour/boats", 0x3d73da26, 0x00000000, 0x3e87799c),
            ("science/fish", 0x3d2ecd3b, 0x00000000, 0x3e4239f6),
            ("shop/items", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "Kundinnen je Stadt",
        &[
            ("verkauf/kunden", 0x3f5d1315, 0x3f800000, 0x3f800000),
            ("science/rainfall", 0x3e9568ac, 0x00000000, 0x3f3092f9),
            ("science/fish", 0x3e3e90d1, 0x00000000, 0x3ee136c8),
            ("shop/orders", 0x3e2418a5, 0x00000000, 0x3ec1ee94),
            ("shop/items", 0x3e1bc386, 0x00000000, 0x3eb8159e),
            ("science/water_levels", 0x3e0ba2e4, 0x00000000, 0x3ea50653),
            ("shop/customers", 0x3df7b148, 0x00000000, 0x3e925d1f),
            ("harbour/boats", 0x3d46d14f, 0x00000000, 0x3deaf75d),
            ("shop/order_lines", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "price",
        &[
            ("shop/items", 0x3f589d8b, 0x3f800000, 0x3f800000),
            ("shop/order_lines", 0x3f3e91dc, 0x3f7a6f7e, 0x3f477f0b),
            ("harbour/boats", 0x3f361944, 0x3f7a9727, 0x3f335537),
            ("shop/orders", 0x3e09a64c, 0x00000000, 0x3ea2ad42),
            ("science/water_levels", 0x3df992f4, 0x00000000, 0x3e9379be),
            ("shop/customers", 0x3de3a28a, 0x00000000, 0x3e8682f4),
            ("science/rainfall", 0x3d8ddb88, 0x00000000, 0x3e27a65b),
            ("verkauf/kunden", 0x3d2d4c41, 0x00000000, 0x3dccce7b),
            ("science/fish", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
    (
        "how much rain fell while boats were out",
        &[
            ("science/rainfall", 0x3f5b0161, 0x3f800000, 0x3f800000),
            ("harbour/boats", 0x3f0927ad, 0x3f0c689d, 0x3f071fb3),
            ("science/water_levels", 0x3dbf0d50, 0x00000000, 0x3e61c9ea),
            ("shop/items", 0x3da80d42, 0x00000000, 0x3e469b4d),
            ("science/fish", 0x3d86fee8, 0x00000000, 0x3e1f8a58),
            ("shop/order_lines", 0x3d4a86e0, 0x00000000, 0x3def5995),
            ("shop/orders", 0x3d2fc9c3, 0x00000000, 0x3dcfbfe6),
            ("verkauf/kunden", 0x3c6272e9, 0x00000000, 0x3d05cf89),
            ("shop/customers", 0x00000000, 0x00000000, 0x00000000),
        ],
    ),
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

/// [`Found`], of a run.
type Bits = (String, u32, u32, u32);

/// What was found as it stands in this file.
fn source(found: &[(&str, Vec<Bits>)]) -> String {
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
