#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;
use serde_json::json;

use super::super::column_descriptions;
use super::*;

fn part(path: &str, text: &str, table: &str) -> String {
    let kind = SharedKind::of_path(path).unwrap();
    let shared = SharedText::of(path, kind, text.to_owned()).unwrap();
    shared.part(&of(table)).text
}

/// A table that has what names it.
fn of(table: &str) -> About {
    About {
        paths: vec![table.to_owned()],
        ..About::default()
    }
}

/// One that has all, if no other is named.
fn whole(table: &str, others: &[&str]) -> About {
    About {
        whole: true,
        others: others.iter().map(|it| (*it).to_owned()).collect(),
        ..of(table)
    }
}

fn described(text: &str, columns: &[&str]) -> Vec<String> {
    let found = column_descriptions(&[text], columns);
    found.into_iter().map(Option::unwrap_or_default).collect()
}

fn package(orders: &str, people: &str) -> String {
    json!({"name": "shop", "title": "The shop", "resources": [
        {"name": "x", "path": "data/orders.csv", "description": "What was sold",
         "schema": {"fields": [{"name": "id", "type": "integer", "description": orders}, {"name": "day"}]}},
        {"name": "people", "path": ["people-1.csv", "./people-2.csv"], "schema": {"fields": [{"name": "id", "description": people}]}},
        {"name": "inline", "data": []},
    ]})
    .to_string()
}

#[test]
fn resources_of_packages_are_found_by_their_paths() {
    let text = package("The | number", "Who; id: it is");
    let orders = part("a/datapackage.json", &text, "a/data/orders.csv");
    assert_eq!(
        orders,
        "The shop\nWhat was sold\n| column | description |\n|---|---|\n| id | The / number |"
    );
    assert_eq!(described(&orders, &["id", "day"]), ["The / number", ""]);
    let people = part("a/datapackage.json", &text, "a/people-2.csv.gz");
    assert_eq!(described(&people, &["id"]), ["Who; id: it is"]);
    // A resource with a path is not meant by its name, and none is meant by a part of its path.
    for other in [
        "a/people.csv",
        "a/orders.csv",
        "a/x.csv",
        "people-2.csv",
        "b/data/orders.csv",
    ] {
        assert_eq!(part("a/datapackage.json", &text, other), "", "{other}");
    }
    assert_eq!(part("datapackage.json", &text, "inline.csv"), "The shop");
    let error =
        SharedText::of("datapackage.json", SharedKind::Frictionless, "{".into()).unwrap_err();
    assert!(error.to_string().contains("not JSON"), "{error}");
}

#[test]
fn a_dbt_file_that_is_no_yaml_is_reported_and_a_dictionary_stays_text() {
    let broken = "models: [unclosed\n";
    for path in ["schema.yml", "a/_shop__models.yaml"] {
        let kind = SharedKind::of_path(path).unwrap();
        let error = SharedText::of(path, kind, broken.into()).unwrap_err();
        assert_eq!(error.kind, FileErrorKind::NotItsFormat);
        assert_eq!(error.cause, "it is not YAML (line 1: [ is never closed)");
    }
    let kind = SharedKind::of_path("codebook.yaml").unwrap();
    assert!(SharedText::of("codebook.yaml", kind, broken.into()).is_ok());
}

#[test]
fn csvw_croissant_and_dictionaries_say_the_same() {
    let csvw = json!({"@context": "http://www.w3.org/ns/csvw", "tables": [
        {"url": "orders.csv", "dc:description": "Sold", "tableSchema": {"columns": [{"titles": ["id"], "dc:description": "The number"}]}}]});
    let alone = json!({"dc:description": "Sold", "tableSchema": {"columns": [{"name": "id", "dc:description": {"@value": "The number"}}]}});
    let croissant = json!({"@type": "sc:Dataset",
        "distribution": [{"@type": "cr:FileObject", "@id": "f", "contentUrl": "https://x.org/d/orders.csv?raw=1"},
                         {"@id": "s", "containedIn": {"@id": "f"}, "includes": "more/*.parquet"}],
        "recordSet": [
            {"@id": "r", "description": "Sold", "cr:field": [{"@id": "r/id", "name": "r/number", "description": "The number",
              "source": {"fileObject": {"@id": "f"}, "extract": {"column": "id"}}}]},
            {"@id": "q", "description": "Sold", "field": [{"name": "q/id", "description": "The number", "source": {"fileSet": {"@id": "s"}}}]}]});
    let keyed = json!({"tables": {"orders": {"description": "Sold", "columns": {"id": {"description": "The number"}}}, "people": {"id": "Who"}}});
    let rows = json!([{"table": "orders", "column": "id", "description": "The number"}, {"table": "people", "column": "id", "description": "Who"}]);
    for (path, json, table, says) in [
        ("csv-metadata.json", &csvw, "orders.csv", true),
        ("orders.csv-metadata.json", &alone, "orders.csv", true),
        ("croissant.json", &croissant, "deep/orders.csv", true),
        ("a.jsonld", &croissant, "more", true),
        ("data_dictionary.json", &keyed, "orders.parquet", true),
        ("codebook.json", &rows, "orders.csv", false),
    ] {
        let text = json.to_string();
        let said = part(path, &text, table);
        assert_eq!(described(&said, &["id"]), ["The number"], "{path}: {said}");
        assert_eq!(said.contains("Sold"), says, "{path}: {said}");
        assert_eq!(part(path, &text, "other.csv"), "", "{path}");
    }
}

#[test]
fn dbt_models_and_sources_are_found_by_name() {
    let text = "version: 2\nmodels:\n  - name: orders\n    description: Sold\n    columns:\n      - name: id\n        description: The number\n      - name: people\n        description: How many\n  - name: people\n    columns:\n    - name: id\n      description: Who\nsources:\n- name: raw\n  tables:\n  - name: visits\n    identifier: raw_visits\n    description: Seen\n";
    let orders = part("m/schema.yml", text, "m/orders.parquet");
    assert_eq!(
        described(&orders, &["id", "people"]),
        ["The number", "How many"]
    );
    assert!(
        orders.starts_with("- name: orders") && !orders.contains("Who"),
        "{orders}"
    );
    let people = part("m/schema.yml", text, "m/x/people.csv");
    assert_eq!(described(&people, &["id"]), ["Who"]);
    let visits = part("m/schema.yml", text, "m/RAW_visits.csv");
    assert!(
        visits.contains("Seen") && !visits.contains("raw\n"),
        "{visits}"
    );
    let plain = "orders:\n  id: The number\npeople:\n  id: Who\n";
    assert_eq!(
        described(&part("codebook.yaml", plain, "people.csv"), &["id"]),
        ["Who"]
    );
}

#[test]
fn prose_is_kept_where_it_names_the_table() {
    let text = "# The shop\n\nAll orders of people.\n\n## orders\n\nWhat was sold.\n\n### Columns\n\n- id: The number\n\n## Others\n\nThe `people` are many\nof one kind.\n\n| file | about |\n|---|---|\n| visits.csv | Seen |\n| people.csv | Known |\n\n* visits - who came\n* people (few): who stayed\n  for long\n";
    let of = |table| part("README.md", text, table);
    assert_eq!(
        of("orders.csv"),
        "## orders\n\nWhat was sold.\n\n### Columns\n\n- id: The number"
    );
    assert_eq!(
        of("people.csv"),
        "The `people` are many\nof one kind.\n| file | about |\n|---|---|\n| people.csv | Known |\n* people (few): who stayed\n  for long"
    );
    assert_eq!(
        of("visits.csv"),
        "| file | about |\n|---|---|\n| visits.csv | Seen |\n* visits - who came"
    );
    assert_eq!(of("shop.csv"), "");
}

#[test]
fn lines_that_begin_with_a_name_and_a_colon_are_items() {
    let text = "The agency's lake\nerp/: a nightly dump. VOY_HDR: one row per voyage.\nStates are \
                in CODES.\nops/port_calls: when a ship lay where\nquotes.csv: what was offered";
    let of = |table| part("README.txt", text, table);
    let erp = "erp/: a nightly dump. VOY_HDR: one row per voyage.\nStates are in CODES.";
    assert_eq!(of("erp/VOY_HDR.csv"), erp);
    let calls = "ops/port_calls: when a ship lay where";
    assert_eq!(of("ops/port_calls.csv"), calls);
    assert_eq!(of("sales/quotes.csv"), "quotes.csv: what was offered");
    assert_eq!(of("erp/CODES.csv"), "");
    // What follows describes it, and no table that is called so.
    let columns = "orders.csv:\n  order_id: number of the order\n  amount: in EUR\nSource: ERP";
    assert_eq!(part("README.txt", columns, "orders.csv"), columns);
    assert_eq!(part("README.txt", columns, "source.csv"), "");
    let named = "visits_2024.csv has visits\nid: who\nday_no: when";
    assert_eq!(part("README.txt", named, "visits_2024.csv"), named);
    assert_eq!(
        part("README.txt", "http://x/y.csv is old\nC:\\y.csv", "z.csv"),
        ""
    );
}

#[test]
fn a_readme_of_a_folder_does_not_describe_tables_that_it_passes_over() {
    let of_readme = |text: &str, about: &About| {
        let readme = SharedText::of("d/README.md", SharedKind::Readme, text.to_owned()).unwrap();
        let part = readme.part(about);
        (part.text, part.of_folder)
    };
    let all = "# The shop\n\nWhat is sold.";
    let alone = whole("d/orders.csv", &[]);
    let neighbour = whole("d/orders.csv", &["d/people.csv"]);
    assert_eq!(of_readme(all, &alone), (all.to_owned(), false));
    assert_eq!(of_readme(all, &neighbour), (all.to_owned(), true));
    let some = "# The shop\n\nWhat is sold.\n\n- `people`: who buys\n- `orders`: what";
    assert_eq!(
        of_readme(some, &neighbour),
        ("- `orders`: what".to_owned(), false)
    );
    // One that is passed over has what names no other, as a text about the folder.
    let third = whole("d/visits.csv", &["d/orders.csv", "d/people.csv"]);
    assert_eq!(of_readme(some, &third), (all.to_owned(), true));
    let only = "- `people`: who buys\n- `orders`: what";
    assert_eq!(of_readme(only, &third), (String::new(), false));
    // A table of another folder, by the name of its file.
    let other = "# The shop\n\nSee people.csv.";
    assert_eq!(of_readme(other, &alone), ("# The shop".to_owned(), true));
    let parts = About {
        paths: vec!["d".to_owned()],
        ..alone.clone()
    };
    assert_eq!(of_readme(other, &parts), (other.to_owned(), false));
    // It names this one alone.
    let own = "# The shop\n\nSee orders.csv.";
    assert_eq!(
        of_readme(own, &neighbour),
        ("See orders.csv.".to_owned(), false)
    );
    assert_eq!(of_readme(own, &alone), (own.to_owned(), false));
    // A folder below has what is said of it; an address is no folder.
    let below = "# The shop\n\nFrom https://x.org/ and\n[y](http://y.org/).\n\n## eu/\n\nEurope.\n\n### More\n\n- `us/`: there\n\n# End\n\nAll in us/ is old.";
    let rest = "# The shop\n\nFrom https://x.org/ and\n[y](http://y.org/).\n\n# End";
    assert_eq!(of_readme(below, &neighbour), (rest.to_owned(), true));
    assert_eq!(of_readme(below, &alone), (rest.to_owned(), false));
    let of_us = About {
        folders: vec!["d/us".to_owned()],
        ..of("d/us/orders.csv")
    };
    let us = "- `us/`: there\nAll in us/ is old.";
    assert_eq!(of_readme(below, &of_us), (us.to_owned(), true));
}

#[test]
fn keys_units_and_values_are_said_as_dbt_says_them() {
    let package = json!({"resources": [{"path": "orders.csv", "name": "orders", "licenses": [{"name": "CC0"}], "schema": {
        "primaryKey": ["id", "line"],
        "uniqueKeys": [["code"]],
        "foreignKeys": [
            {"fields": "who", "reference": {"resource": "data/people.csv", "fields": "id"}},
            {"fields": ["parent"], "reference": {"resource": "", "fields": ["id"]}}],
        "fields": [
            {"name": "id", "type": "integer", "description": "The number", "constraints": {"required": true, "unique": false}},
            {"name": "mass", "unit": "kg"},
            {"name": "state", "constraints": {"enum": ["open", "closed"]}},
            {"name": "odd", "constraints": 7, "unit": {"@id": "http://qudt.org/vocab/unit/KiloGM"}}]}}]});
    let csvw = json!({"tables": [{"url": "orders.csv", "tableSchema": {
        "primaryKey": "id",
        "foreignKeys": [{"columnReference": "who", "reference": {"resource": "people.csv", "columnReference": "id"}}],
        "columns": [{"name": "id", "required": true, "dc:description": "The number"}]}}]});
    let croissant = json!({
        "distribution": [{"@id": "f", "contentUrl": "orders.csv"}],
        "recordSet": [
            {"@id": "orders", "key": {"@id": "orders/number"}, "field": [
                {"@id": "orders/number", "name": "number", "description": "The number",
                    "source": {"fileObject": {"@id": "f"}, "extract": {"column": "id"}}},
                {"@id": "orders/who", "name": "who", "references": {"field": {"@id": "people/id"}}}]},
            {"@id": "people", "field": [{"@id": "people/id", "name": "id"}]}]});
    assert_eq!(
        part("datapackage.json", &package.to_string(), "orders.csv"),
        "Primary key: id, line.\n| column | description |\n|---|---|\n\
         | id | The number. Never empty. |\n| mass | Unit: kg. |\n| state | One of: open, closed. |\n\
         | odd | Unit: KiloGM. |\n| code | Unique. |\n| who | Refers to people.id. |\n\
         | parent | Refers to orders.id. |"
    );
    assert_eq!(
        part("csv-metadata.json", &csvw.to_string(), "orders.csv"),
        "Primary key: id.\n| column | description |\n|---|---|\n\
         | id | The number. Never empty. |\n| who | Refers to people.id. |"
    );
    assert_eq!(
        part("croissant.json", &croissant.to_string(), "orders.csv"),
        "Primary key: id.\n| column | description |\n|---|---|\n\
         | id | The number |\n| who | Refers to people.id. |"
    );
}

#[test]
fn names_with_blanks_are_whole_in_code_and_in_headings() {
    let text = "# Bees\n\n- `hives (1).csv`: never use\n- hives.csv: honey\n\n## orders final.csv\n\nSold.\n\n## orders\n\nDrafts.\n";
    let of = |table| part("README.md", text, table);
    assert_eq!(of("hives.csv"), "- hives.csv: honey");
    assert_eq!(of("hives (1).csv"), "- `hives (1).csv`: never use");
    assert_eq!(of("orders final.csv"), "## orders final.csv\n\nSold.");
    assert_eq!(of("orders.csv"), "## orders\n\nDrafts.");
}

#[test]
fn what_a_readme_says_of_a_folder_is_said_of_its_tables() {
    let text =
        "# Lake\n\n## eu\n\nSales of Europe.\n\n## people\n\nAll of them.\n\n- us/: sales there\n";
    let readme = SharedText::of("README.md", SharedKind::Readme, text.to_owned()).unwrap();
    let part = |path: &str, folders: &[&str]| {
        let about = About {
            folders: folders.iter().map(|it| (*it).to_owned()).collect(),
            ..of(path)
        };
        let part = readme.part(&about);
        (part.text, part.of_folder)
    };
    let eu = "## eu\n\nSales of Europe.".to_owned();
    assert_eq!(part("eu/2024/orders.csv", &["eu/2024", "eu"]), (eu, true));
    let people = "## people\n\nAll of them.\n\n- us/: sales there".to_owned();
    assert_eq!(part("eu/people.csv", &["eu"]), (people, false));
    assert_eq!(
        part("us/orders.csv", &["us"]),
        ("- us/: sales there".to_owned(), true)
    );
    assert_eq!(part("asia/orders.csv", &["asia"]), (String::new(), false));
}

fn some_text() -> impl Strategy<Value = String> {
    "(# |## |- |\\* |name|orders|people|: |\n|\n  |\n    |\\| |--|`|\"|columns|tables|\\{|\\}|\\[|\\]|,|x_1|/| ){0,60}"
}

proptest! {
    /// A table's part depends on nothing that is said of another.
    #[test]
    fn a_change_of_one_part_leaves_the_others(before in "[a-z]{1,9}( [a-z;:|]{1,9}){0,3}", after in "[a-z]{1,9}( [a-z;:|]{1,9}){0,3}", same in "[a-z]{1,9}") {
        let yaml = |of_orders: &str| format!("models:\n  - name: orders\n    description: {of_orders}\n  - name: people\n    description: {same}\n");
        let prose = |of_orders: &str| format!("# shop\n\n## orders\n\n{of_orders}\n\n## people\n\n{same}\n");
        for (path, old, new) in [
            ("datapackage.json", package(&before, &same), package(&after, &same)),
            ("schema.yml", yaml(&before), yaml(&after)),
            ("README.md", prose(&before), prose(&after)),
        ] {
            let table = if path.ends_with("json") { "people-1.csv" } else { "people.csv" };
            let (was, is) = (part(path, &old, table), part(path, &new, table));
            prop_assert!(was.contains(&same), "{path}: {was}");
            prop_assert_eq!(was, is);
        }
    }

    #[test]
    fn any_text_is_cut_up(text in some_text(), whole in any::<bool>()) {
        for (path, kind) in [
            ("README.md", SharedKind::Readme),
            ("codebook.yml", SharedKind::Dictionary),
            ("schema.yml", SharedKind::Dbt),
            ("datapackage.json", SharedKind::Frictionless),
            ("data_dictionary.json", SharedKind::Dictionary),
            ("croissant.json", SharedKind::Croissant),
        ] {
            let Ok(shared) = SharedText::of(path, kind, text.clone()) else { continue };
            let about = About {
                paths: vec!["orders.csv".to_owned(), "x_1".to_owned()],
                whole,
                ..About::default()
            };
            let text = shared.part(&about).text;
            prop_assert!(text.len() <= 4 * PART_CHARS);
            let wire = serde_json::to_vec(&shared).unwrap();
            prop_assert_eq!(&serde_json::from_slice::<SharedText>(&wire).unwrap(), &shared);
        }
    }
}
