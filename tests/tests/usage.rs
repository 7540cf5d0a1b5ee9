//! The command's help and usage errors: what a newcomer sees first.

use std::collections::BTreeSet;

use limn_tests::{Run, repository, text};

fn limn(arguments: &[&str]) -> (i32, String, String) {
    let Run {
        code,
        stdout,
        stderr,
    } = limn_tests::limn(arguments);
    (code, stdout, stderr)
}

#[test]
fn help_teaches_the_first_steps_and_every_command() {
    let (code, help, _) = limn(&["--help"]);
    assert_eq!(code, 0);
    for word in [
        "index",
        "search",
        "eval",
        "tables",
        "show",
        "snapshots",
        "models",
        "First steps",
        "AWS_ENDPOINT_URL",
    ] {
        assert!(help.contains(word), "{word} is missing: {help}");
    }
    let (code, help, _) = limn(&["index", "--help"]);
    assert!(
        code == 0 && help.contains("--contexts") && help.contains("Examples"),
        "{help}"
    );
}

#[test]
fn a_missing_argument_is_usage() {
    let (code, out, error) = limn(&["index"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(error.contains("Usage"), "{error}");
}

#[test]
fn numbers_out_of_range_are_usage() {
    for (flag, value, wanted) in [
        ("--candidates", "0", "from 1 to 1000"),
        ("--candidates", "9223372036854775808", "from 1 to 1000"),
        ("-k", "1001", "from 1 to 1000"),
        ("--alpha", "NaN", "from 0 to 1"),
    ] {
        let (code, _, error) = limn(&["search", "q", "--index", "x.limn", flag, value]);
        assert!(
            code == 2 && error.contains(wanted),
            "{flag} {value}: {error}"
        );
    }
}

#[test]
fn a_model_that_is_not_there_is_refused_with_a_remedy() {
    let place = std::env::temp_dir().join("limn-usage-test-that-is-never-made");
    let place = place.to_str().unwrap();
    let lake = repository().join("examples/lake");
    let arguments = ["index", text(&lake), "--index", place, "--narrate=llm"];
    let (code, _, error) = limn(&[&arguments[..], &["--model=no-such-model"]].concat());
    assert_eq!((code, error.lines().count()), (2, 1), "{error}");
    assert!(error.contains("--narrate names"), "{error}");
}

/// The options that a text names.
fn options(text: &str) -> BTreeSet<&str> {
    let is_letter = |it: char| it.is_ascii_lowercase() || it == '-';
    let named = text.match_indices("--").filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_begun = before.is_some_and(|it| it == '-' || it.is_alphanumeric());
        let rest = &text[at..];
        let end = rest.find(|it| !is_letter(it)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('-');
        (!is_begun && name.len() > 3 && !name[2..].starts_with('-')).then_some(name)
    });
    named.collect()
}

#[test]
fn the_reference_names_every_option_and_no_other() {
    let reference = std::fs::read_to_string(repository().join("docs/cli.md")).unwrap();
    let got = options(&reference);
    let commands = "index|update|watch|context add|context remove|context list|search|sql|ask|cells|eval|bench make|tune|tables|show|joins|\
        snapshots|diff|verify|compact|gc|serve|mcp|keys add|keys list|keys remove|models list|models pull|\
        models check|models bench";
    let mut all = BTreeSet::new();
    for command in commands.split('|') {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        let (code, help, _) = limn(&arguments);
        assert_eq!(code, 0, "{command}");
        let name = command.split(' ').next().unwrap();
        assert!(reference.contains(&format!("limn {name}")), "{command}");
        for option in options(&help) {
            assert!(
                got.contains(option),
                "{command} {option} is not in docs/cli.md"
            );
            all.insert(option.to_owned());
        }
    }
    let unknown: Vec<&&str> = got.iter().filter(|it| !all.contains(**it)).collect();
    assert!(unknown.is_empty(), "docs/cli.md names {unknown:?}");
}
