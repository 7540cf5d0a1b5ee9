//! `limn keys`: changes at the same time are all made, and a file stays whose it was.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::{Child, Stdio};

use limn_tests::{limn, limn_command, text};
use tempfile::TempDir;

fn start(arguments: &[&str]) -> Child {
    let mut command = limn_command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("limn starts")
}

fn all_end_well(processes: Vec<Child>) {
    for process in processes {
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    }
}

fn names(file: &str) -> Vec<(String, String)> {
    let listed = limn(&["keys", "list", "--keys", file, "--json"]).ok();
    let listed = listed.as_array().unwrap().iter();
    let field = |record: &serde_json::Value, name: &str| {
        record[name].as_str().unwrap_or_default().to_owned()
    };
    listed
        .map(|record| (field(record, "name"), field(record, "id")))
        .collect()
}

#[test]
fn changes_by_processes_at_the_same_time_are_all_made() {
    let folder = TempDir::new().unwrap();
    let file = text(&folder.path().join("keys")).to_owned();
    let add = |name: &str| start(&["keys", "add", "--keys", &file, "--name", name]);
    let wanted: BTreeSet<String> = (0..24).map(|n| format!("key {n}")).collect();
    // Also the file is made by whoever is first.
    all_end_well(wanted.iter().map(|name| add(name)).collect());
    let made = names(&file);
    let found: BTreeSet<String> = made.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!((made.len(), &found), (24, &wanted));

    // Half are taken out while others are added.
    let (removed, stay) = made.split_at(12);
    let removals = removed
        .iter()
        .map(|(_, id)| start(&["keys", "remove", id, "--keys", &file]));
    let additions: Vec<String> = (0..12).map(|n| format!("later {n}")).collect();
    let mut processes: Vec<Child> = removals.collect();
    processes.extend(additions.iter().map(|name| add(name)));
    all_end_well(processes);
    let found: BTreeSet<String> = names(&file).into_iter().map(|(name, _)| name).collect();
    let stay = stay.iter().map(|(name, _)| name.clone());
    assert_eq!(found, stay.chain(additions).collect());
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_file_keeps_its_owner_and_its_mode() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("keys");
    let file = text(&path).to_owned();
    let add = || limn(&["keys", "add", "--keys", &file]).code_is(0);
    let about = || fs::metadata(&path).unwrap();
    add();
    assert_eq!(about().permissions().mode() & 0o7777, 0o600);
    let own = (about().uid(), about().gid());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    // A user who may give files away gives this one to the user that a node runs as.
    let owner = match chown(&path, Some(12_345), Some(23_456)) {
        Ok(()) => (12_345, 23_456),
        Err(_) => own,
    };
    add();
    let id = names(&file)[0].1.clone();
    limn(&["keys", "remove", &id, "--keys", &file]).code_is(0);
    assert_eq!((about().uid(), about().gid()), owner);
    assert_eq!(about().permissions().mode() & 0o7777, 0o640);
    assert_eq!(names(&file).len(), 1);

    let missing = limn(&["keys", "remove", "00000000", "--keys", &file]);
    missing.code_is(2);
    assert!(missing.stderr.contains("00000000"), "{missing:?}");
    let nowhere = text(&folder.path().join("nothing")).to_owned();
    limn(&["keys", "remove", "00000000", "--keys", &nowhere]).code_is(2);
    assert!(!folder.path().join("nothing").exists());
}
