//! Narration files: what goes in comes out, damage is an error that says what to do, files of other
//! narrators and of runs at the same time stay apart.

use limn_store::Store;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;

fn narrator() -> Narrator {
    Narrator {
        model: "qwen@0123-q8".into(),
        prompt: 1,
    }
}

fn records() -> Vec<NarrationRecord> {
    let context = narration_context(["id", "price \"ü\"\n東京", "id"]);
    (0..3)
        .map(|position| NarrationRecord {
            context,
            position,
            column: format!("column {position}"),
            narration: (position != 1).then(|| format!("The {position}th, ü")),
        })
        .collect()
}

#[test]
fn narrations_come_back_and_any_parquet_tool_reads_them() {
    let bytes = write_narrations(&narrator(), "run", &records()).unwrap();
    assert_eq!(
        read_narrations("n", &narrator(), bytes.clone()).unwrap(),
        records()
    );
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let names: Vec<String> = builder
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["context", "position", "column", "narration"]);
}

#[test]
fn a_context_is_the_ordered_names() {
    let of = |names: &[&str]| narration_context(names.iter().copied());
    // A stored value: if this changes, every column is narrated anew.
    assert_eq!(
        format!("{:032x}", of(&["a", "b"])),
        "4e8071d3974d16754bcb794c7d699bd6"
    );
    let others = [
        of(&["b", "a"]),
        of(&["ab"]),
        of(&["a", "b", ""]),
        of(&["a"]),
        of(&[]),
        of(&["a", "B"]),
    ];
    assert!(others.iter().all(|other| *other != of(&["a", "b"])));
    assert_eq!(narrator().folder(), "cache/narrations/86b3132e3e8e0511");
}

#[tokio::test]
async fn damage_names_the_file_and_the_remedy() {
    let index = IndexStore::new(Store::in_memory());
    let path = index
        .put_narrations(&narrator(), "run", &records())
        .await
        .unwrap();
    let bytes = index.store.get(&path).await.unwrap();
    for at in 0..bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[at] ^= 4;
        // Past the hash of the name, it must at least not panic.
        let _ = read_narrations("n", &narrator(), flipped.clone().into());
        index.store.put(&path, flipped.into()).await.unwrap();
        let error = index.narrations(&narrator(), &path).await.unwrap_err();
        assert!(error.is_damage(), "{error}");
        let text = error.to_string();
        assert!(text.contains(&path) && text.contains("delete it"), "{text}");
    }
    // A file of another model in the folder is no better.
    let other = Narrator {
        prompt: 2,
        ..narrator()
    };
    let error = read_narrations("n", &other, bytes).unwrap_err();
    assert!(error.to_string().contains("another model"), "{error}");
    index.remove_narrations(&path).await.unwrap();
    assert_eq!(index.narrations(&narrator(), &path).await.unwrap(), None);
}

#[tokio::test]
async fn two_runs_have_files_of_their_own() {
    let index = IndexStore::new(Store::in_memory());
    let put = async |run: &str| {
        let path = index.put_narrations(&narrator(), run, &records()).await;
        path.unwrap()
    };
    let (one, two) = (put("one").await, put("two").await);
    assert_ne!(one, two);
    let mut files = index.narration_files(&narrator()).await.unwrap();
    assert_eq!(files.len(), 2);
    index.remove_narrations(&one).await.unwrap();
    files = index.narration_files(&narrator()).await.unwrap();
    assert_eq!(files[0].0, two);
    let other = Narrator {
        model: "other".into(),
        ..narrator()
    };
    assert!(index.narration_files(&other).await.unwrap().is_empty());
}
