//! Words that tables have in a short form only.

use proptest::prelude::*;

use super::*;

/// Words and their short forms, and what is neither.
const OF_SHORT: [&str; 8] = [
    "quantity",
    "qty",
    "population",
    "pop",
    "temperature",
    "temp",
    "order",
    "river",
];

fn lake(explained: &[&str]) -> Vec<TableBlocks> {
    vec![
        table("stock", "\tstock\nitem\nqty", &[], explained, ""),
        table("people", "\tpeople\nname\ncity", &["1 | Qty"], &[], "qty"),
        table("parts", "\tparts\nitem\nsize", &[], &[], ""),
        table("music", "\tmusic\nsong\nquartet", &[], &[], ""),
    ]
}

fn found(searcher: &Searcher, text: &str) -> (Vec<(String, f32)>, Vec<String>) {
    let answer = searcher.search(&query(text, 10, Mode::Limn)).unwrap();
    let hits = answer.results.into_iter().filter(|hit| hit.covered > 0.0);
    (
        hits.map(|hit| (hit.table, hit.covered)).collect(),
        answer.notes,
    )
}

#[test]
fn a_word_finds_the_names_that_are_its_short_form() {
    let searcher = searcher(&lake(&[]), 2);
    let (tables, notes) = found(&searcher, "what quantity");
    // Nothing but names: cells that hold the letters say nothing.
    assert_eq!(tables.len(), 1, "{tables:?}");
    assert_eq!(tables[0].0, "stock");
    let note = "searched \"quantity\" as \"qty\", too";
    assert!(notes.iter().any(|it| it == note), "{notes:?}");
    // No table has the word.
    let nowhere = "nowhere in the index: quantity";
    assert!(notes.iter().any(|it| it.contains(nowhere)), "{notes:?}");
    for question in ["\"quantity\"", "qty", "quarter", "quant", "item"] {
        let (_, notes) = found(&searcher, question);
        let is_noted = notes.iter().any(|it| it.contains(", too"));
        assert!(!is_noted, "{question}: {notes:?}");
    }
}

#[test]
fn an_abbreviation_that_no_table_has_is_the_word_that_it_stands_for() {
    let mut tables = lake(&[]);
    tables.push(table("staff", "\tstaff\nperson\ndepartment", &[], &[], ""));
    let searcher = searcher(&tables, 2);
    let (found_by, notes) = found(&searcher, "salary by dept");
    assert_eq!(found_by[0].0, "staff", "{found_by:?}");
    let note = "searched \"dept\" as \"department\"";
    assert!(notes.iter().any(|it| it == note), "{notes:?}");
    // In quotation marks, with several meanings, or of a word that no table has: as it stands.
    for question in ["\"dept\"", "salary by no", "shown by amt"] {
        let (_, notes) = found(&searcher, question);
        assert!(
            !notes.iter().any(|it| it.starts_with("searched")),
            "{question}: {notes:?}"
        );
    }
}

#[test]
fn a_short_form_is_worth_less_than_the_word() {
    let mut tables = lake(&[]);
    tables.push(table("shop", "\tshop\nitem\nquantity", &[], &[], ""));
    let searcher = searcher(&tables, 3);
    let (tables, notes) = found(&searcher, "quantity");
    let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["shop", "stock"]);
    assert!(tables[0].1 >= 2.0 * tables[1].1, "{tables:?}");
    assert!(tables[0].1 <= 1.0, "{tables:?}");
    assert!(notes.iter().any(|it| it.contains("\"qty\", too")));
}

#[test]
fn what_a_text_says_of_a_short_form_holds() {
    // It is explained as something else.
    let other = lake(&["qty is the sort of the item"]);
    assert!(found(&searcher(&other, 2), "quantity").0.is_empty());
    // It is explained as the word, which counts as words do.
    let same = lake(&["qty: quantity"]);
    let (tables, notes) = found(&searcher(&same, 2), "quantity");
    assert_eq!(tables, [("stock".to_owned(), 1.0)]);
    assert!(!notes.iter().any(|it| it.contains(", too")), "{notes:?}");
}

#[test]
fn a_common_abbreviation_of_another_word_is_no_short_form() {
    let tables = [
        table("trips", "\ttrips\ndest", &[], &[], ""),
        table("rocks", "\trocks\nmin", &[], &[], ""),
    ];
    let searcher = searcher(&tables, 2);
    // `dest` is "destination".
    assert!(found(&searcher, "destruction").0.is_empty());
    assert_eq!(found(&searcher, "destination").0.len(), 1);
    // `min` may be "minute", or something else.
    assert_eq!(found(&searcher, "minute").0.len(), 1);
    assert_eq!(found(&searcher, "mineral").0.len(), 1);
}

#[test]
fn a_word_that_is_misspelt_is_what_is_meant() {
    let tables = [
        table("crm", "\tcrm\ncustomer\ncust", &[], &[], ""),
        table("hr", "\thr\ncust\nname", &[], &[], ""),
    ];
    let (tables, notes) = found(&searcher(&tables, 1), "custommer");
    assert_eq!(tables[0].0, "crm");
    assert!(tables.iter().all(|(_, covered)| *covered <= 1.0));
    assert!(notes[0].contains("as \"customer\""), "{notes:?}");
}

fn of_short() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&OF_SHORT[..]), 1..4);
    words.prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn short_forms_do_not_depend_on_shards_nor_on_hidden_tables(
        names in prop::collection::vec((of_short(), prop::option::of(of_short())), 2..14),
        question in of_short(),
        kept in prop::collection::vec(any::<bool>(), 14),
    ) {
        let tables: Vec<TableBlocks> = names
            .iter()
            .enumerate()
            .map(|(at, (names, context))| {
                let contexts: Vec<&str> = context.iter().map(String::as_str).collect();
                table(&format!("t{}", at * 7919 % 1000), names, &[], &contexts, "")
            })
            .collect();
        let query = query(&question, 20, Mode::Limn);
        let one = searcher(&tables, 1);
        let many = searcher(&tables, 5);
        prop_assert_eq!(bits(&many.rank(&query).unwrap()), bits(&one.rank(&query).unwrap()));
        let place = |key: &TableKey| tables.iter().position(|it| it.table == *key).unwrap();
        let restricted = many.restricted(|key| kept[place(key)], crate::Values::Searched);
        let only = tables.iter().filter(|it| kept[place(&it.table)]).cloned();
        let built = searcher(&only.collect::<Vec<_>>(), 2);
        let answer = |searcher: &Searcher| {
            let answer = searcher.search(&query).unwrap();
            for hit in &answer.results {
                assert!(hit.covered <= 1.0 + 1e-5, "{hit:?}");
                assert!(hit.name_match <= 1.0, "{hit:?}");
            }
            serde_json::to_string(&answer).unwrap()
        };
        // Twice: what was remembered of the first changes nothing.
        prop_assert_eq!(answer(&restricted), answer(&built));
        prop_assert_eq!(answer(&restricted), answer(&built));
    }
}
