//! Similar tables: the formula, whatever the shards, filters and restrictions.

use limn_models::{Embedder, HashedWords};
use limn_segment::{BlockKind, TableBlocks, TableKey};
use proptest::prelude::*;

use super::properties::lake;
use super::{key, searcher, small_lake, table};
use crate::{RetrievalError, Similar, Values};

/// The formula over all tables, the slow way.
fn by_hand(tables: &[TableBlocks], of: &TableKey) -> Vec<(TableKey, f32)> {
    let vectors = |table: &TableBlocks, kind: BlockKind| -> Vec<Vec<f32>> {
        let blocks = table.blocks.iter().filter(|block| block.kind == kind);
        blocks
            .filter_map(|block| block.vector.as_ref())
            .map(|vector| vector.iter().map(|x| x.to_f32()).collect())
            .collect()
    };
    let own = tables.iter().find(|table| table.table == *of).unwrap();
    let kind = |other: &TableBlocks, kind: BlockKind| -> Option<f32> {
        let mut mean = vec![0.0f32; HashedWords.dimensions()];
        for vector in vectors(own, kind) {
            mean.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
        }
        let length = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
        let cosine = |vector: &Vec<f32>| -> f32 {
            vector.iter().zip(&mean).map(|(x, y)| x * y).sum::<f32>() / length
        };
        let best = vectors(other, kind)
            .iter()
            .map(cosine)
            .max_by(f32::total_cmp);
        best.filter(|_| length > 0.0)
    };
    let mut found: Vec<(TableKey, f32)> = tables
        .iter()
        .filter(|table| table.table != *of)
        .filter_map(|table| {
            let second = [BlockKind::Rows, BlockKind::Context].map(|k| kind(table, k));
            let second = second.into_iter().flatten().max_by(f32::total_cmp);
            let similarity = match (kind(table, BlockKind::Schema), second) {
                (Some(schema), Some(second)) => (schema + 0.3 * second) / 1.3,
                (schema, second) => schema.or(second)?,
            };
            Some((table.table.clone(), similarity))
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

fn bits(found: &[Similar]) -> Vec<(TableKey, u32)> {
    let all = found.iter();
    all.map(|similar| (similar.key.clone(), similar.similarity.to_bits()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn similar_tables_are_those_of_the_formula_however_they_are_spread(
        mut tables in lake(),
        at in any::<prop::sample::Index>(),
        k in 1usize..14,
        kept in prop::collection::vec(any::<bool>(), 26),
    ) {
        // So few that all are candidates.
        tables.truncate(12);
        let of = tables[at.index(tables.len())].table.clone();
        let one = searcher(&tables, 1);
        let found = one.similar(&of, k, None, None).unwrap();
        prop_assert_eq!(bits(&found), bits(&searcher(&tables, 4).similar(&of, k, None, None).unwrap()));
        let expected = by_hand(&tables, &of);
        prop_assert_eq!(found.len(), k.min(expected.len()));
        for (similar, at) in found.iter().zip(&expected) {
            prop_assert!((similar.similarity - at.1.clamp(-1.0, 1.0)).abs() < 1e-4);
            let own = expected.iter().find(|(key, _)| *key == similar.key).unwrap();
            prop_assert!((similar.similarity - own.1).abs() < 2e-3);
        }
        // A selection of tables, and a searcher that sees only these and the table itself.
        let place = |key: &TableKey| tables.iter().position(|t| t.table == *key).unwrap();
        let selection = one.select(|key| kept[place(key)]);
        let selected = one.similar(&of, k, Some(&selection), None).unwrap();
        let restricted = one.restricted(|key| kept[place(key)] || *key == of, Values::Searched);
        prop_assert_eq!(bits(&selected), bits(&restricted.similar(&of, k, None, None).unwrap()));
        prop_assert!(selected.iter().all(|similar| kept[place(&similar.key)] && similar.key != of));
    }
}

#[test]
fn a_copy_is_the_most_similar_and_columns_say_more_than_a_shared_readme() {
    let mut tables = small_lake();
    let readme = &["All tables of the water authority."][..];
    tables.push(table(
        "w/levels",
        "river level: station, date, level",
        &["level: 1"],
        readme,
        "",
    ));
    tables.push(table(
        "w/copy",
        "river level: station, date, level",
        &["level: 1"],
        readme,
        "",
    ));
    tables.push(table(
        "w/staff",
        "staff: employee, salary",
        &["employee: Ann"],
        readme,
        "",
    ));
    tables.push(table(
        "old/levels",
        "river level: station, day, level",
        &[],
        &[],
        "",
    ));
    let searcher = searcher(&tables, 3);
    let found = searcher.similar(&key("w/levels"), 3, None, None).unwrap();
    let names: Vec<&str> = found.iter().map(|s| s.key.name.as_str()).collect();
    assert_eq!(names, ["w/copy", "old/levels", "w/staff"]);
    assert!((found[0].similarity - 1.0).abs() < 1e-3);
    assert_eq!(found[0].location, "lake/w/copy.csv");
}

#[test]
fn a_table_that_is_not_there_or_not_seen_is_answered_alike() {
    let all = searcher(&small_lake(), 2);
    let shop = all.restricted(|key| key.name.starts_with("shop/"), Values::Searched);
    let error = |name: &str| shop.similar(&key(name), 3, None, None).unwrap_err();
    for name in ["science/fish", "science/none"] {
        let wrong = error(name);
        assert!(
            matches!(wrong, RetrievalError::NoSuchTable { .. }),
            "{wrong}"
        );
        assert_eq!(wrong.to_string().replace(name, ""), error("").to_string());
    }
    assert_eq!(
        shop.similar(&key("shop/items"), 9, None, None)
            .unwrap()
            .len(),
        1
    );
    assert!(shop.similar(&key("shop/items"), 0, None, None).is_err());
    let none = all.select(|_| false);
    assert!(
        all.similar(&key("shop/items"), 3, Some(&none), None)
            .unwrap()
            .is_empty()
    );
    let other = shop
        .similar(&key("shop/items"), 3, Some(&none), None)
        .unwrap_err();
    assert!(matches!(other, RetrievalError::OtherSelection));
}
