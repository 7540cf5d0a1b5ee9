#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_formats::{ObjectRecord, ReadOptions, summarise_file};
use limn_profile::FileSummary;
use limn_store::Store;

use super::*;
use crate::contexts::Contexts;
use crate::declared::Declared;
use crate::evolution::{Shapes, arrange};
use crate::layout::whole::layout_declared;
use crate::layout::{Group, TableFile};

/// A table with its files as they were read.
struct Table {
    group: Group,
    key: String,
    files: Vec<(TableFile, FileSummary)>,
}

impl Table {
    fn known(&self) -> Known<'_> {
        Known {
            name: self.group.name.as_str(),
            group: &self.key,
            files: &self.files,
        }
    }
}

/// The tables of a lake of these files, of which this is said in the folder `d`.
async fn tables(files: &[(&str, &str)], said: &str) -> Vec<Table> {
    let store = Store::in_memory();
    let mut objects = Vec::new();
    for (path, text) in files {
        store.put(path, (*text).to_owned().into()).await.unwrap();
        objects.push(ObjectRecord::from(store.head(path).await.unwrap()));
    }
    let mut declared = Declared::default();
    declared.add("d", said).unwrap();
    let layout = layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake");
    let mut tables = Vec::new();
    for group in layout.groups {
        let mut read = Vec::new();
        for file in &group.files {
            let summary = summarise_file(&store, &file.data_file(), &ReadOptions::default()).await;
            read.push((file.clone(), summary.unwrap()));
        }
        let mut shapes = Shapes::default();
        for (file, summary) in &read {
            shapes.add(&file.object.path, summary);
        }
        for group in arrange(group, &shapes) {
            let is_own = |file: &TableFile| group.files.contains(file);
            tables.push(Table {
                key: format!("{:032x}", group.key.0),
                files: read.iter().filter(|it| is_own(&it.0)).cloned().collect(),
                group,
            });
        }
    }
    tables
}

/// Why a table is one, beside the others, without values if not `shows`.
fn of(tables: &[Table], name: &str, columns: &[(&str, &str)], shows: bool) -> Why {
    let is = |table: &&Table| table.group.name.as_str() == name;
    let table = tables.iter().find(is).unwrap().known();
    let others = tables.iter().filter(|table| !is(table)).map(Table::known);
    let columns: Vec<KnownColumn<'_>> = columns
        .iter()
        .map(|(name, data_type)| KnownColumn {
            name,
            data_type,
            in_files: None,
        })
        .collect();
    why(table, &columns, &others.collect::<Vec<_>>(), shows)
}

#[tokio::test]
async fn like_files_and_a_stray_are_given_with_what_they_share() {
    let files = [
        ("d/x_1.csv", "id,day\n1,31/12/2024\n2,1/2/2024\n"),
        ("d/x_2.csv", "id,day\n3,30/12/2024\n"),
        ("d/x_3.csv", "id,day,more\n4,29/12/2024,a\n"),
        ("d/x_4.csv", "id,day\n5,29/12/2024\n"),
        ("d/x_5.csv", "colour,weight\nred,7\n"),
        ("d/part/day=1/a.csv", "a\n1\n"),
    ];
    let tables = tables(&files, "tables: []").await;
    let columns = [("id", "integer"), ("day", "date"), ("gone", "text")];
    let explanation = of(&tables, "d", &columns, true);
    assert_eq!(
        (explanation.rule, &explanation.explanation[..]),
        (
            "alike",
            "4 files are named alike (x_*) and their columns follow from one another: of 3 columns 2 are in all files, in 2 different sets"
        )
    );
    let apart: Vec<(&str, &str)> = explanation
        .apart
        .iter()
        .map(|it| (&it.table[..], &it.explanation[..]))
        .collect();
    let nothing = "it shares 0 of 2 columns with the nearest file, and two thirds are needed";
    assert_eq!(apart, [("d/x_5", nothing)]);
    assert_eq!(explanation.readings.len(), 1);
    let read = &explanation.readings[0];
    assert_eq!((read.files, read.first.as_deref()), (4, Some("d/x_1.csv")));
    assert_eq!(
        read.explanation,
        "csv, cut by ',', a header, unlike the values below it, UTF-8"
    );
    let columns: Vec<&str> = explanation
        .columns
        .iter()
        .map(|it| &it.explanation[..])
        .collect();
    assert_eq!(columns[0], "from its values");
    assert!(
        columns[1].contains("DD/MM/YYYY (all values fit)"),
        "{columns:?}"
    );
    assert_eq!(of(&tables, "d/x_5", &[], true).rule, "file");
    assert_eq!(of(&tables, "d/part", &[], true).rule, "partitions");
}

#[tokio::test]
async fn what_people_declare_is_given_without_values_where_these_are_not() {
    let files = [("d/a.csv", "id;n\n1;-99\n"), ("d/b.csv", "id;n\n2;3\n")];
    let said = "tables: [{files: '*.csv', name: all, columns: {n: float, gone: text}, nulls: [-99], header: 1, delimiter: ';', encoding: utf-8}]";
    let tables = tables(&files, said).await;
    let columns = [("id", "integer"), ("n", "float")];
    let explanation = of(&tables, "d/all", &columns, true);
    assert_eq!(explanation.rule, "declared");
    assert_eq!(
        explanation.declared,
        [
            "d/.limn.yaml, files: '*.csv' (2 files): columns, header, delimiter, nulls, encoding; no file has the declared gone"
        ]
    );
    assert_eq!(
        explanation.readings[0].explanation,
        "csv, cut by ';' (declared), header in line 1 (declared), UTF-8 (declared), missing values: '-99' (declared)"
    );
    assert_eq!(explanation.columns[1].explanation, "as declared");
    let explanation = of(&tables, "d/all", &columns, false);
    let all = format!("{explanation:?}");
    assert!(
        !["-99", "a.csv", "*.csv"].iter().any(|it| all.contains(it)),
        "{all}"
    );
    assert!(
        explanation.readings[0]
            .explanation
            .ends_with("missing values: 1 sign (declared)")
    );
}

#[tokio::test]
async fn where_other_files_decide_it_is_said() {
    let files = [
        ("d/x_1.csv", "id,day\n1,1/2/2024\n2,3/4/2024\n"),
        ("d/x_2.csv", "id,day\n3,25/2/2024\n4,26/4/2024\n"),
        ("d/x_3.csv", "id,day\n5,27/2/2024\n6,28/4/2024\n"),
    ];
    let tables = tables(&files, "tables: []").await;
    let name = tables[0].group.name.as_str();
    let why = of(&tables, name, &[("id", "integer"), ("day", "date")], true);
    assert_eq!(
        why.columns[1].explanation,
        "from its values; written DD/MM/YYYY (all values fit) in 2 files, DD/MM/YYYY (as other files of the table show) in 1 file"
    );
}
