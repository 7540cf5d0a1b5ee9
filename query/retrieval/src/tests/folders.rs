//! A text about a folder does not make a table of it the answer to what the table itself does not
//! have.

use limn_segment::{Block, BlockKind, Field};

use super::*;

const README: &str = "Sales of all shops. Revenue by region, revenue after refunds, and refunds by region: revenue and refunds of sales are what this is about.";
/// The same words as they are searched: each once.
const WORDS_OF_README: &str =
    "Sales of all shops Revenue by region after refunds and are what this is about";

fn with_readme(mut table: TableBlocks) -> TableBlocks {
    table.blocks.push(Block {
        fields: vec![(Field::Rows, WORDS_OF_README.to_owned())],
        ..block(BlockKind::Context, Field::Rows, README)
    });
    table
}

#[test]
fn what_a_folder_is_about_does_not_come_before_columns_that_are_asked_for() {
    let lake = [
        with_readme(table(
            "sales/vouchers",
            "vouchers code issued_on face_value",
            &["V-17 2024-01-02 50"],
            &[],
            "",
        )),
        with_readme(table(
            "sales/shops",
            "shops shop city manager",
            &["7 Bern ada"],
            &[],
            "",
        )),
        table(
            "finance/results",
            "results region revenue refunds month",
            &["north 100 5 2024-01"],
            &[],
            "",
        ),
        table("hr/people", "people name city", &["ada Bern"], &[], ""),
    ];
    let searcher = searcher(&lake, 1);
    for alpha in [0.0, 0.5, 1.0] {
        let query = Query {
            alpha,
            ..query("revenue by region and refunds", 4, Mode::Limn)
        };
        let ranking = searcher.rank(&query).unwrap();
        assert_eq!(
            ranking.tables[0].key.name,
            "finance/results",
            "alpha {alpha}: {:?}",
            bits(&ranking)
        );
    }
    // A word that only the folder's text has is a third of one.
    let answer = searcher
        .search(&query("revenue refunds code", 4, Mode::Limn))
        .unwrap();
    let covered = |name: &str| {
        let mut hits = answer.results.iter();
        hits.find(|hit| hit.table == name).map(|hit| hit.covered)
    };
    let (own, only) = (
        covered("sales/vouchers").unwrap(),
        covered("sales/shops").unwrap(),
    );
    assert!(own > only && only < 0.34, "{own} {only}");
    // Where no table has more, the folder's text still finds its tables.
    let ranking = searcher.rank(&query("sales of shops", 1, Mode::Limn));
    let found = ranking.unwrap().tables[0].key.name.clone();
    assert!(found.starts_with("sales/"), "{found}");
}
