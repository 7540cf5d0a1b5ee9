//! Files and objects for which access is denied.

use super::*;

/// Indexes as somebody whom the permissions of files bind: root is not.
fn index_as_anybody(scratch: &Path, lake: &Path, index: &Path) -> Run {
    let mut arguments = vec!["index", text(lake), "--index", text(index)];
    arguments.extend(["--embedder", "hashed-words", "--json"]);
    let mut command = limn_command(&arguments);
    if fs::metadata(scratch).unwrap().uid() == 0 {
        const NOBODY: u32 = 65_534;
        // Who starts it may lie where nobody else looks.
        let copy = scratch.join("limn");
        if !copy.exists() {
            fs::copy(binary(), &copy).unwrap();
        }
        let inherited: Vec<_> = command
            .get_envs()
            .map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned)))
            .collect();
        command = std::process::Command::new(&copy);
        command
            .args(&arguments)
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir(scratch);
        for (name, value) in inherited {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
    run(&mut command)
}

#[test]
fn files_for_which_access_is_denied_cost_only_themselves() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("out/index.limn"),
    );
    lake::varied(&lake);
    lake::write(&lake, "closed/orders.csv", "id,item\n1,pen\n2,ink\n");
    lake::write(&lake, "locked/secret.csv", "id,item\n1,pen\n2,ink\n");
    lake::write(&lake, "hr/pay.csv", "id,amount\n1,20\n2,30\n");
    lake::write(&lake, "hr/pay.md", "What people are paid.");
    fs::create_dir(scratch.path().join("out")).unwrap();
    let mode = |path: &str, mode| {
        fs::set_permissions(scratch.path().join(path), Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("out", 0o777);
    for closed in ["lake/closed/orders.csv", "lake/hr/pay.md"] {
        mode(closed, 0o000);
    }
    mode("lake/locked", 0o000);
    let first = index_as_anybody(scratch.path(), &lake, &index);
    mode("lake/locked", 0o755);
    first.code_is(1);
    let report = first.json();
    let failures = report["failures"].as_array().unwrap();
    let got: Vec<&str> = failures
        .iter()
        .map(|it| it["error"].as_str().unwrap())
        .collect();
    for object in ["closed/orders.csv", "hr/pay.md", "locked"] {
        let lines = got
            .iter()
            .filter(|line| line.contains(object) && line.contains("permission denied"));
        assert_eq!(lines.count(), 1, "{object}: {got:#?}");
    }
    // The varied lake's seven, and the table whose context is closed.
    assert_eq!(report["tables"]["added"], 8, "{report}");

    // Opened, they are read, and nothing else is.
    mode("lake/closed/orders.csv", 0o644);
    mode("lake/hr/pay.md", 0o644);
    let second = index_as_anybody(scratch.path(), &lake, &index);
    second.code_is(0);
    let report = second.json();
    assert_eq!(report["tables"]["added"], 2, "{report}");
    assert_eq!(report["tables"]["changed"], 1, "{report}");
    assert_eq!(report["objects"]["read"], 2, "{report}");
}

#[test]
fn objects_that_a_store_denies_cost_only_themselves() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("data");
    lake::varied(&lake.join("open"));
    lake::write(&lake, "closed/orders.csv", "id,item\n1,pen\n2,ink\n");
    lake::write_parquet(&lake, "closed/levels.parquet", 20);
    let server = S3Server::start_named("guests");
    for folder in ["open", "closed"] {
        server.copy_in(&lake.join(folder), "");
    }
    let index = scratch.path().join("index.limn");
    let as_guest = |lake: &str| {
        let arguments = [
            "index",
            lake,
            "--index",
            text(&index),
            "--embedder",
            "hashed-words",
            "--json",
        ];
        let mut command = limn_command(&arguments);
        command
            .envs(server.environment())
            .env("AWS_ACCESS_KEY_ID", GUEST);
        run(&mut command)
    };
    let denied = as_guest("s3://guests");
    denied.code_is(1);
    let report = denied.json();
    assert_eq!(report["tables"]["added"], 7, "{report}");
    let failures = report["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 2, "{report}");
    for failure in failures {
        let line = failure["error"].as_str().unwrap();
        assert!(
            line.contains("closed/")
                && line.contains("access denied")
                && line.contains("AWS_ACCESS_KEY_ID"),
            "{line}"
        );
    }
}
