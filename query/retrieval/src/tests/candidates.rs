//! How many candidates are ranked.

use super::*;

#[test]
fn any_number_of_candidates_is_searched_and_more_than_there_are_change_nothing() {
    let searcher = searcher(&small_lake(), 2);
    for mode in [Mode::Limn, Mode::Plain] {
        let found = |candidates| {
            let query = Query {
                candidates,
                ..query("orders of a customer", 3, mode)
            };
            bits(&searcher.rank(&query).unwrap())
        };
        let all = found(Some(100));
        assert_eq!(all.len(), 3);
        assert_eq!(found(None), all);
        for many in [usize::MAX, usize::MAX / 2 + 1, 1 << 40] {
            assert_eq!(found(Some(many)), all, "{many}");
        }
    }
}

#[test]
fn candidates_that_are_asked_for_are_not_raised_to_the_default() {
    let tables: Vec<TableBlocks> = (0..40)
        .map(|at| {
            let word = WORDS[at % 8];
            table(&format!("t{at}"), &format!("{word} fish"), &[], &[], "")
        })
        .collect();
    let searcher = searcher(&tables, 2);
    let score = |candidates| {
        let query = Query {
            candidates,
            ..query("fish", 1, Mode::Limn)
        };
        let ranking = searcher.rank(&query).unwrap();
        (ranking.tables[0].lexical, ranking.tables[0].semantic)
    };
    // A table alone among its candidates has no other to be compared with: max = min is 1.
    assert_eq!(score(Some(1)), (1.0, 1.0));
    assert_eq!(score(None), score(Some(50)));
}
