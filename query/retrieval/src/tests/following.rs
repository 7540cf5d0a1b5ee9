//! Following an index reads what is new in it, and answers like a searcher that was opened anew.

use std::sync::Arc;

use limn_models::{Embedder, HashedWords};
use limn_segment::{
    Deletes, IndexStore, SegmentSettings, Shard, Snapshot, TableBlocks, build_segment,
};
use limn_store::Store;

use super::{bits, small_lake, snapshot, table};
use crate::{Query, RetrievalError, Searcher, Values};

async fn put(index: &IndexStore, snapshot: &mut Snapshot, tables: Vec<TableBlocks>) {
    let settings = SegmentSettings::new(HashedWords.dimensions(), Shard(0));
    let built = build_segment(tables, &settings).unwrap();
    let entry = index.put_segment(&built).await.unwrap();
    snapshot.segments.push(entry);
}

async fn delete(index: &IndexStore, snapshot: &mut Snapshot, segment: usize, deletes: Deletes) {
    let entry = index.put_deletes(&deletes).await.unwrap();
    snapshot.segments[segment].deletes = entry;
}

/// The answers of the followed searcher are those of one that was opened anew.
async fn same_answers(index: &IndexStore, snapshot: &Snapshot, followed: Searcher) -> Searcher {
    let anew = Searcher::open(index, snapshot.clone(), Arc::new(HashedWords));
    let anew = anew.await.unwrap();
    let compared = tokio::task::spawn_blocking(move || {
        assert_eq!(followed.table_count(), anew.table_count());
        for question in ["customer orders", "river fish", "price"] {
            let query = Query::new(question);
            let (found, expected) = (followed.rank(&query).unwrap(), anew.rank(&query).unwrap());
            assert_eq!(bits(&found), bits(&expected), "{question}");
            assert_eq!(found.notes, expected.notes);
        }
        followed
    });
    compared.await.unwrap()
}

#[tokio::test]
async fn following_reads_only_what_is_new() {
    let index = IndexStore::new(Store::in_memory());
    let [orders, items, fish] = <[TableBlocks; 3]>::try_from(small_lake()).unwrap();
    let mut published = snapshot();
    put(&index, &mut published, vec![orders, items]).await;
    put(&index, &mut published, vec![fish]).await;
    let first = Searcher::open(&index, published.clone(), Arc::new(HashedWords));
    let first = first.await.unwrap();
    let requests = |counts: limn_store::RequestCounts| counts.get + counts.list + counts.head;
    let before = || index.store.counts();

    // Nothing is new: no request.
    let counted = before();
    published.number += 1;
    let same = first.open_after(&index, published.clone()).await.unwrap();
    assert_eq!(requests(index.store.counts().since(&counted)), 0);
    assert_eq!(same.snapshot().number, 2);
    let same = same_answers(&index, &published, same).await;

    // One new segment, and deletes of an old one: a request each.
    let boats = table("harbour/boats", "boat: owner, weight", &[], &[], "");
    put(&index, &mut published, vec![boats]).await;
    let mut deletes = Deletes::none();
    deletes.delete_table(0, 1);
    delete(&index, &mut published, 0, deletes).await;
    let counted = before();
    let grown = same.open_after(&index, published.clone()).await.unwrap();
    assert_eq!(requests(index.store.counts().since(&counted)), 2);
    let grown = same_answers(&index, &published, grown).await;
    assert!(grown.names().contains("harbour/boats") && !same.names().contains("harbour/boats"));

    // Deletes that stay the same are not read again; other ones are, and what is named no more is
    // dropped.
    let mut more = Deletes::none();
    more.delete_table(0, published.segments[1].blocks);
    delete(&index, &mut published, 1, more).await;
    published.segments.pop();
    let counted = before();
    let shrunk = grown.open_after(&index, published.clone()).await.unwrap();
    assert_eq!(requests(index.store.counts().since(&counted)), 1);
    assert!(!shrunk.names().contains("science/fish") && !shrunk.names().contains("harbour/boats"));
    let shrunk = same_answers(&index, &published, shrunk).await;

    // Deletes may go (an older snapshot): no request, and the table is there again.
    published.segments[1].deletes = None;
    let counted = before();
    let back = shrunk.open_after(&index, published.clone()).await.unwrap();
    assert_eq!(requests(index.store.counts().since(&counted)), 0);
    assert!(back.names().contains("science/fish"));
    same_answers(&index, &published, back).await;
}

#[tokio::test]
async fn a_restricted_searcher_is_followed_by_an_unrestricted_one() {
    let index = IndexStore::new(Store::in_memory());
    let mut published = snapshot();
    for table in small_lake() {
        put(&index, &mut published, vec![table]).await;
    }
    let all = Searcher::open(&index, published.clone(), Arc::new(HashedWords));
    let shop = all
        .await
        .unwrap()
        .restricted(|key| key.name == "shop/items", Values::Searched);
    let next = shop.open_after(&index, published.clone()).await.unwrap();
    let next = same_answers(&index, &published, next).await;
    assert_eq!((shop.table_count(), next.table_count()), (1, 3));
}

#[tokio::test]
async fn an_index_of_another_embedder_or_with_a_damaged_segment_is_not_followed() {
    let index = IndexStore::new(Store::in_memory());
    let mut published = snapshot();
    put(&index, &mut published, small_lake()).await;
    let open = Searcher::open(&index, published.clone(), Arc::new(HashedWords));
    let open = open.await.unwrap();
    let mut other = published.clone();
    other.embedder = "another@12345678".into();
    let error = open.open_after(&index, other).await.unwrap_err();
    assert!(matches!(error, RetrievalError::OtherEmbedder { .. }));
    let mut wrong = published.clone();
    wrong.segments[0].blocks += 1;
    let error = open.open_after(&index, wrong).await.unwrap_err();
    assert!(matches!(error, RetrievalError::Segment(_)), "{error}");
}
