//! What a script gets of `limn tables`, `show` and `diff`, and what somebody reads who was nearly
//! right.

use std::fs;

use limn_tests::{index_hashed, lake, limn, limn_command, text};
use tempfile::TempDir;

/// A lake with names, values and texts that are longer than a terminal is wide.
fn long(scratch: &TempDir) -> (std::path::PathBuf, std::path::PathBuf, [String; 3]) {
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let name = format!("archive/{}/orders", "a-very-long-folder-name-".repeat(4));
    let value = format!("value {}end", "that goes on and ".repeat(8));
    let about = format!(
        "Orders {}end of the text.",
        "and what became of them ".repeat(30)
    );
    lake::write(
        &lake,
        &format!("{name}.csv"),
        &format!("id,note\n1,{value}\n2,{value}\n"),
    );
    lake::write(&lake, "sales/customers.csv", "id,name\n1,Ann\n2,Bob\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    lake::write(&lake, &format!("{name}.md"), &about);
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    (lake, index, [name, value, about])
}

#[test]
fn nothing_is_cut_for_a_pipe() {
    let scratch = TempDir::new().unwrap();
    let (_, index, [name, value, about]) = long(&scratch);
    let index = text(&index);
    let tables = limn(&["tables", "--index", index]);
    assert!(tables.stdout.contains(&name), "{tables:?}");
    let show = limn(&["show", &name, "--index", index]);
    for part in [&value, &about] {
        assert!(show.stdout.contains(part.as_str()), "{part}: {show:?}");
    }
    let range = format!("{value} … {value}");
    assert!(show.stdout.contains(&range), "{show:?}");
    let diff = limn(&["diff", "--index", index]);
    assert!(diff.stdout.contains(&about), "{diff:?}");
    for run in [&tables, &show, &diff] {
        assert_eq!(run.code, 0);
        assert!(!run.stdout.replace(" … ", "").contains('…'), "{run:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = TempDir::new().unwrap();
    let (_, index, [name, ..]) = long(&scratch);
    for command in [&["tables"][..], &["show", &name], &["diff"]] {
        // Nobody reads from the beginning.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let place = ["--index", text(&index)];
        let mut limn = limn_command(&[command, &place].concat());
        limn.stdout(writer);
        let ended = limn.output().unwrap();
        let error = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(
            (ended.status.code(), error.as_str()),
            (Some(0), ""),
            "{command:?}"
        );
    }
}

#[test]
fn a_prefix_that_matches_nothing_is_said_and_one_that_is_like_it_suggested() {
    let scratch = TempDir::new().unwrap();
    let (_, index, _) = long(&scratch);
    for command in [&["tables"][..], &["diff"], &["search", "which customers?"]] {
        let under = |prefix: &str| {
            let place = ["--index", text(&index), "--prefix", prefix];
            limn(&[command, &place].concat())
        };
        let wrong = under("slaes");
        let said = "no table lies at 'slaes' or below it; did you mean sales?";
        assert!(wrong.code == 0 && wrong.stderr.contains(said), "{wrong:?}");
        let far = under("weather");
        assert!(
            far.stderr.contains("limn tables lists what there is"),
            "{far:?}"
        );
        let right = under("sales");
        assert!(!right.stderr.contains("no table lies"), "{right:?}");
    }
    let show = limn(&["show", "sales/custmers", "--index", text(&index)]);
    assert_eq!(show.code, 2);
    assert!(
        show.stderr.contains("did you mean sales/customers?"),
        "{show:?}"
    );
}

#[test]
fn update_takes_the_lake_from_the_index() {
    let scratch = TempDir::new().unwrap();
    let (lake, index, _) = long(&scratch);
    lake::write(
        &lake,
        "sales/customers.csv",
        "id,name\n1,Ann\n2,Bob\n3,Eve\n",
    );
    let update = |more: &[&str]| {
        let update = ["update", "sales/customers", "--index", text(&index)];
        let more = [more, &["--embedder", "hashed-words", "--json"]].concat();
        limn(&[&update[..], &more].concat())
    };
    assert_eq!(update(&[]).ok()["tables"]["changed"], 1);
    let other = scratch.path().join("other");
    fs::create_dir(&other).unwrap();
    lake::write(&other, "hr/staff.csv", "id,name\n1,Ann\n");
    assert_eq!(index_hashed(&other, &index, &[]).code, 0);
    let which = update(&[]);
    assert!(
        which.code == 2 && which.stderr.contains("several lakes: say --lake"),
        "{which:?}"
    );
    assert_eq!(
        update(&["--lake", text(&lake)]).ok()["tables"]["changed"],
        0
    );
}
