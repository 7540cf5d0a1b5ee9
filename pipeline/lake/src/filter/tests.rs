#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;

const DAY: i64 = 86_400_000;
const NOW: i64 = 1_795_305_600_000;

fn including(globs: &[&str]) -> Filters {
    Filters {
        include: globs.iter().map(|it| (*it).to_owned()).collect(),
        ..Filters::default()
    }
}

fn excluding(globs: &[&str]) -> Filters {
    Filters {
        exclude: globs.iter().map(|it| (*it).to_owned()).collect(),
        ..Filters::default()
    }
}

fn kept<'a>(filters: &Filters, paths: &[&'a str]) -> Vec<&'a str> {
    let selection = filters.at(NOW).unwrap();
    let kept = paths.iter().filter(|path| selection.has(path, 1, NOW));
    kept.copied().collect()
}

#[test]
fn globs_match_names_anywhere_paths_from_the_root_and_folders_whole() {
    let paths = [
        "a.csv",
        "sales/a.csv",
        "sales/2024/b.parquet",
        "x/sales/c.csv",
        "salesforce/d.csv",
        "ü b/😀.csv",
    ];
    for (glob, wanted) in [
        (
            "*.csv",
            vec![
                "a.csv",
                "sales/a.csv",
                "x/sales/c.csv",
                "salesforce/d.csv",
                "ü b/😀.csv",
            ],
        ),
        ("/*.csv", vec!["a.csv"]),
        (
            "sales",
            vec!["sales/a.csv", "sales/2024/b.parquet", "x/sales/c.csv"],
        ),
        (
            "sales/",
            vec!["sales/a.csv", "sales/2024/b.parquet", "x/sales/c.csv"],
        ),
        ("/sales", vec!["sales/a.csv", "sales/2024/b.parquet"]),
        ("./sales/*.csv", vec!["sales/a.csv"]),
        ("sales/**", vec!["sales/a.csv", "sales/2024/b.parquet"]),
        ("sales/**/*.parquet", vec!["sales/2024/b.parquet"]),
        (
            "**/sales/*",
            vec!["sales/a.csv", "sales/2024/b.parquet", "x/sales/c.csv"],
        ),
        ("{sales,x}/*.csv", vec!["sales/a.csv"]),
        (
            "[a-b].*",
            vec!["a.csv", "sales/a.csv", "sales/2024/b.parquet"],
        ),
        (
            "?.csv",
            vec!["a.csv", "sales/a.csv", "x/sales/c.csv", "salesforce/d.csv"],
        ),
        ("ü b", vec!["ü b/😀.csv"]),
        ("ü ?/*.csv", vec!["ü b/😀.csv"]),
        ("A.CSV", vec![]),
        ("a.csv/", vec![]),
    ] {
        assert_eq!(kept(&including(&[glob]), &paths), wanted, "{glob}");
        let others: Vec<&str> = paths
            .into_iter()
            .filter(|it| !wanted.contains(it))
            .collect();
        assert_eq!(kept(&excluding(&[glob]), &paths), others, "{glob}");
    }
    assert_eq!(kept(&including(&["a.csv", "*.parquet"]), &paths).len(), 3);
}

#[test]
fn what_is_no_glob_is_reported() {
    for (glob, part) in [
        ("", "matches nothing"),
        ("/", "matches nothing"),
        ("a[", "no pattern"),
        ("{a", "no pattern"),
    ] {
        let error = including(&[glob]).at(NOW).unwrap_err().to_string();
        assert!(
            error.starts_with("--include '") && error.contains(part),
            "{error}"
        );
    }
}

#[test]
fn only_data_files_are_chosen_by_glob_size_and_age() {
    let filters = Filters {
        include: vec!["*.parquet".into()],
        min_size: Some(10),
        max_size: Some(20),
        newer_than: Some("30d".parse().unwrap()),
        older_than: Some("2026-11-21".parse().unwrap()),
        ..Filters::default()
    };
    let selection = filters.at(NOW).unwrap();
    let has = |path, size, days: i64| selection.has(path, size, NOW - days * DAY);
    assert!(has("a.parquet", 10, 5) && has("a.parquet", 20, 29));
    assert!(!has("a.csv", 10, 5), "its path");
    assert!(
        !has("a.parquet", 9, 5) && !has("a.parquet", 21, 5),
        "its size"
    );
    assert!(
        !has("a.parquet", 10, 31) && !has("a.parquet", 10, 0),
        "its age"
    );
    // The text beside a table, and what a table's format keeps beside its files.
    assert!(has("a.md", 1, 900) && has("t/_delta_log/0.json", 1, 900));
    // A store without times.
    assert!(selection.has("a.parquet", 10, 0));
    let selection = excluding(&["a.md"]).at(NOW).unwrap();
    assert!(!selection.has("x/a.md", 1, NOW));
}

#[test]
fn moments_are_dates_or_ages() {
    let at = |text: &str| text.parse::<Moment>().unwrap().at(NOW);
    assert_eq!(at("2026-11-22"), NOW);
    assert_eq!(at("2026-11-22T01:00:00+01:00"), NOW);
    assert_eq!(at("1d"), NOW - DAY);
    assert_eq!(at(" 12h 30m "), NOW - 45_000_000);
    for nonsense in ["", "yesterday", "22.11.2026", "-1d"] {
        assert!(nonsense.parse::<Moment>().is_err(), "{nonsense}");
    }
}

#[test]
fn filters_are_kept_as_they_were_said() {
    let filters = Filters {
        include: vec!["*.csv".into(), "sales/**".into()],
        exclude: vec!["tmp".into()],
        max_size: Some(5),
        newer_than: Some("90d".parse().unwrap()),
        ..Filters::default()
    };
    let json = serde_json::to_value(&filters).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"include": ["*.csv", "sales/**"], "exclude": ["tmp"], "max_size": 5, "newer_than": "90d"})
    );
    assert_eq!(serde_json::from_value::<Filters>(json).unwrap(), filters);
    assert!(serde_json::from_str::<Filters>("{}").unwrap().is_empty());
    // What a later limn has added must not go unnoticed.
    assert!(serde_json::from_str::<Filters>(r#"{"owner": "me"}"#).is_err());
}

#[test]
fn ignore_files_hold_for_their_folder_and_the_deepest_decides() {
    let mut files = IgnoreFiles::default();
    files
        .add(
            "",
            "\u{feff}# private\n*.bak.csv\n/secret/\nhr/**/salary.csv\n!keep.bak.csv\n",
        )
        .unwrap();
    files.add("shop", "*.csv\n!orders.csv\n").unwrap();
    files.add("secret/open", "!*\n").unwrap();
    for (path, ignored) in [
        ("a.csv", false),
        ("a.bak.csv", true),
        ("x/y/a.bak.csv", true),
        ("keep.bak.csv", false),
        ("secret/a.csv", true),
        ("secret/deep/a.csv", true),
        ("secret/open/a.csv", false),
        ("x/secret/a.csv", false),
        ("hr/2024/salary.csv", true),
        ("hr/salary.csv", true),
        ("shop/a.csv", true),
        ("shop/b/a.csv", true),
        ("shop/orders.csv", false),
        ("shop/orders.parquet", false),
        ("shopping/a.csv", false),
    ] {
        assert_eq!(files.ignores(path), ignored, "{path}");
    }
    assert!(!IgnoreFiles::default().ignores("a.csv"));
}

#[test]
fn an_ignore_file_that_is_not_understood_is_not_used() {
    let mut files = IgnoreFiles::default();
    let error = files.add("", "ok\na[\n").unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
    files.add("", "# nothing\n\n").unwrap();
    assert!(files.is_empty());
}

proptest! {
    #[test]
    fn any_filter_and_any_path_are_survived(glob in "[a-c/*?!\\[\\]{},\\\\ .]{0,12}", path in "[a-c. ü]{1,4}(/[a-c. ]{1,4}){0,3}") {
        if let Ok(selection) = including(&[&glob]).at(NOW) {
            selection.has(&path, 1, 1);
        }
        let mut files = IgnoreFiles::default();
        if files.add("a", &glob).is_ok() {
            files.ignores(&path);
            files.ignores(&format!("a/{path}"));
        }
    }
}

#[test]
fn what_an_age_leaves_out_for_a_while_is_too_new() {
    let at = |said: &str, path: &str, size, modified_ms| {
        let filters = Filters {
            older_than: Some(said.parse().unwrap()),
            max_size: Some(9),
            ..Filters::default()
        };
        let selection = filters.at(1_800_000_000_000).unwrap();
        let too_new = selection.is_too_new(path, size, modified_ms);
        assert!(!(too_new && selection.has(path, size, modified_ms)));
        too_new
    };
    assert!(at("10m", "a.csv", 1, 1_799_999_999_000));
    assert!(!at("10m", "a.csv", 1, 1_799_000_000_000), "it has settled");
    assert!(
        !at("10m", "a.csv", 10, 1_799_999_999_000),
        "it is too large"
    );
    assert!(
        !at("2020-01-01", "a.csv", 1, 1_799_999_999_000),
        "it never will be"
    );
}

#[test]
fn a_pattern_of_all_folders_leaves_files_beside_it() {
    let mut files = IgnoreFiles::default();
    files.add("a", "*/\n").unwrap();
    assert!(files.ignores("a/b/c.csv"));
    assert!(!files.ignores("a/c.csv"));
    assert!(files.add("b", "x[\n").is_err());
}

#[test]
fn a_text_that_may_be_about_a_table_counts_and_as_data_only_if_it_is_chosen() {
    let paths = ["a.csv", "a.txt", "b.dat", "c.md"];
    assert_eq!(
        kept(&including(&["*.csv"]), &paths),
        ["a.csv", "a.txt", "c.md"]
    );
    assert_eq!(
        kept(&excluding(&["*.txt"]), &paths),
        ["a.csv", "b.dat", "c.md"]
    );
    let has_rows = |filters: &Filters| filters.at(NOW).unwrap().has_rows("a.txt", 1, NOW);
    assert!(has_rows(&Filters::default()) && has_rows(&including(&["*.txt"])));
    assert!(!has_rows(&including(&["*.csv"])) && !has_rows(&excluding(&["*.txt"])));
    let small = Filters {
        min_size: Some(2),
        ..Filters::default()
    };
    assert!(!has_rows(&small) && kept(&small, &paths) == ["a.txt", "c.md"]);
}
