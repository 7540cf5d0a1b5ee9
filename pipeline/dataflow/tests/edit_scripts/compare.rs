//! Two indexes of one lake, compared: what is in them, and what they answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use limn_models::HashedWords;
use limn_retrieval::{Query, Searcher};
use limn_segment::{IndexStore, SegmentReader, TableRecord};

/// Questions asked of both indexes after every step.
const QUESTIONS: usize = 50;

/// Everything that is in the newest snapshot of an index.
#[derive(Default)]
pub struct Contents {
    /// The live rows of the catalog, by name, as they are.
    pub rows: BTreeMap<String, TableRecord>,
    /// The texts and vectors of a table, in order.
    blocks: BTreeMap<String, Vec<String>>,
    /// The words of all texts.
    words: BTreeSet<String>,
    /// The edges of the join graph.
    pub joins: Vec<String>,
}

/// Reads an index, and checks that its live blocks are those that its catalog names.
pub async fn contents(index: &IndexStore) -> Contents {
    let mut contents = Contents::default();
    let Some(snapshot) = index.newest().await.unwrap() else {
        return contents;
    };
    for lake in snapshot.joins.keys() {
        let edges = index.joins(&snapshot, lake).await.unwrap();
        let edges = edges.into_iter().flatten();
        contents.joins.extend(edges.map(|edge| format!("{edge:?}")));
    }
    contents.joins.sort();
    assert_eq!(snapshot.joins.len(), 1, "one lake has joins, if only none");
    let mut readers: HashMap<String, Arc<SegmentReader>> = HashMap::new();
    let mut live = 0;
    for row in index.tables(&snapshot, None).await.unwrap() {
        let mut blocks = Vec::new();
        if row.blocks > 0 {
            let entry = snapshot.segments.iter().find(|it| it.path == row.segment);
            let entry = entry.unwrap_or_else(|| panic!("{}'s segment is missing", row.name));
            if !readers.contains_key(&entry.path) {
                let reader = SegmentReader::open(&index.store, entry).await.unwrap();
                readers.insert(entry.path.clone(), reader);
            }
            let reader = &readers[&entry.path];
            let deletes = index.deletes(entry).await.unwrap();
            for block in row.first_block..row.first_block + row.blocks {
                assert!(!deletes.contains(block), "a block of {} is dead", row.name);
                let text = reader.text(block).unwrap();
                let words = text.split(|c: char| !c.is_alphanumeric());
                let words = words.filter(|word| word.len() > 2);
                contents.words.extend(words.map(str::to_owned));
                let vector = reader.vector(block).unwrap();
                let vector: Option<Vec<u16>> =
                    vector.map(|vector| vector.iter().map(|x| x.to_bits()).collect());
                blocks.push(format!("{:?}: {text}\n{vector:?}", reader.kind(block)));
            }
            let values = reader.table_values(reader.table_of(row.first_block));
            blocks.push(format!("values: {:?}", values.unwrap()));
            live += u64::from(row.blocks);
        }
        contents.blocks.insert(row.name.clone(), blocks);
        let again = contents.rows.insert(row.name.clone(), row);
        assert!(again.is_none(), "two rows of one table: {again:?}");
    }
    assert_eq!(
        snapshot.live_blocks(),
        live,
        "live blocks that no row names"
    );
    contents
}

impl Contents {
    /// Files that the catalog has a version of that could be read.
    pub fn known_files(&self) -> BTreeSet<String> {
        let files = self.rows.values().flat_map(|row| &row.files);
        let files = files.filter(|file| file.summary.is_some());
        files.map(|file| file.path.clone()).collect()
    }

    /// Texts beside tables that the catalog has a version of that could be read.
    pub fn known_texts(&self) -> BTreeSet<String> {
        let contexts = self.rows.values().flat_map(|row| &row.contexts);
        let contexts = contexts.filter(|context| !context.text.is_empty());
        contexts.map(|context| context.source.clone()).collect()
    }

    /// Tables of which nothing at all could be read.
    pub fn unread_tables(&self) -> impl Iterator<Item = &str> {
        let rows = self.rows.values();
        let rows = rows.filter(|row| row.files.iter().all(|file| file.summary.is_none()));
        rows.map(|row| row.name.as_str())
    }

    /// A row without what names the run, and of `stand_ins` only what is known of their content.
    fn comparable(row: &TableRecord, stand_ins: &BTreeSet<String>) -> TableRecord {
        let mut row = row.clone();
        (row.segment, row.first_block, row.indexed_ms) = (String::new(), 0, 0);
        // Whether it is reported as unreadable is compared with the lake, not with the other index.
        if row.files.iter().any(|file| stand_ins.contains(&file.path)) {
            row.error = None;
            row.notes.retain(|note| !note.contains("could not be read"));
        }
        for file in row
            .files
            .iter_mut()
            .filter(|file| stand_ins.contains(&file.path))
        {
            (file.etag, file.size, file.modified_ms, file.error) = (None, 0, 0, None);
            file.fingerprint = String::new();
        }
        for context in &mut row.contexts {
            if stand_ins.contains(&context.source) {
                (context.fingerprint, context.error) = (String::new(), None);
            }
            // Its version may be an older one that says the same of the table.
            if ["README.md", "datapackage.json"]
                .iter()
                .any(|name| context.source.ends_with(name))
            {
                context.fingerprint = String::new();
            }
        }
        row.files.sort_by(|a, b| a.path.cmp(&b.path));
        row
    }
}

/// What two indexes' contents differ in, if they do.
pub fn difference(
    grown: &Contents,
    anew: &Contents,
    stand_ins: &BTreeSet<String>,
) -> Result<(), String> {
    let names = |contents: &Contents| contents.rows.keys().cloned().collect::<Vec<_>>();
    if names(grown) != names(anew) {
        return Err(format!(
            "tables: grown {:?}, anew {:?}",
            names(grown),
            names(anew)
        ));
    }
    if grown.joins != anew.joins {
        let (one, other) = (grown.joins.join("\n"), anew.joins.join("\n"));
        return Err(format!("joins:\n{}", unlike_lines(&one, &other)));
    }
    for (name, row) in &grown.rows {
        let one = Contents::comparable(row, stand_ins);
        let other = Contents::comparable(&anew.rows[name], stand_ins);
        if one != other {
            let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
            return Err(format!(
                "the row of {name}:\n{}",
                unlike_lines(&one, &other)
            ));
        }
        let (one, other) = (&grown.blocks[name], &anew.blocks[name]);
        if one != other {
            let (one, other) = (one.join("\n"), other.join("\n"));
            return Err(format!(
                "the texts of {name}:\n{}",
                unlike_lines(&one, &other)
            ));
        }
    }
    Ok(())
}

/// The lines that differ, of two texts.
fn unlike_lines(grown: &str, anew: &str) -> String {
    let mut differences = String::new();
    let (grown, anew): (Vec<_>, Vec<_>) = (grown.lines().collect(), anew.lines().collect());
    for line in 0..grown.len().max(anew.len()) {
        let (one, other) = (grown.get(line), anew.get(line));
        if one != other && differences.len() < 3000 {
            let _ = writeln!(differences, "  grown: {one:?}\n  anew:  {other:?}");
        }
    }
    differences
}

/// What an index answers to questions made of its own words and of some that nobody has.
pub async fn answers(index: &IndexStore, words: &Contents, seed: usize) -> Vec<String> {
    let Some(snapshot) = index.newest().await.unwrap() else {
        return Vec::new();
    };
    let searcher = Searcher::open(index, snapshot, Arc::new(HashedWords));
    let searcher = searcher.await.unwrap();
    let questions = questions(words, seed);
    let asked = questions.into_iter().map(|text| {
        let mut query = Query::new(text);
        query.k = 8;
        let answer = searcher.search(&query).unwrap();
        let mut text = format!("{} {:?}", answer.question, answer.notes);
        for hit in answer.results {
            let scores = [hit.score, hit.lexical, hit.semantic].map(f32::to_bits);
            let _ = write!(
                text,
                "\n{} {} {scores:x?} {:?}",
                hit.table, hit.location, hit.blocks
            );
        }
        text
    });
    asked.collect()
}

fn questions(contents: &Contents, seed: usize) -> Vec<String> {
    let mut words: Vec<&str> = contents.words.iter().map(String::as_str).collect();
    words.push("nowhere");
    let mut state = seed as u64 + 1;
    let mut draw = |below: usize| {
        state = xxhash_rust::xxh3::xxh3_64(&state.to_le_bytes());
        (state % below as u64) as usize
    };
    (0..QUESTIONS)
        .map(|_| {
            let length = 1 + draw(4);
            let words: Vec<&str> = (0..length).map(|_| words[draw(words.len())]).collect();
            words.join(" ")
        })
        .collect()
}
