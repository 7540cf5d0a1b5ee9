//! What people declare of files.

use super::*;

#[test]
fn people_say_how_files_are_read_and_what_they_are() {
    let arrange = |text: &str, paths: &[&str]| {
        let mut declared = Declared::default();
        declared.add("d", text).unwrap();
        let objects = paths.iter().map(|path| object(path)).collect();
        layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake")
    };
    let paths = [
        "d/x_1.csv",
        "d/x_2.csv",
        "d/x_3.csv",
        "d/x.md",
        "d/z.csv",
        "e/x_1.csv",
    ];
    let of = |text: &str| arrange(text, &paths);
    let plain = of("tables: []");
    let described = of("tables: [{files: 'x_[12].csv', header: none, description: About x}]");
    // What is one table is as ever.
    assert_eq!(shown(&described), shown(&plain));
    let family = |layout: &Layout| layout.groups[0].clone();
    assert_eq!(reaching(&described, "d"), ["About x"]);
    let declared = |group: &Group| {
        let files = group.files.iter();
        files.filter(|it| it.declared.is_some()).count()
    };
    assert_eq!(declared(&family(&described)), 2);
    // A file that is a table of its own keeps what is said of it, and no other has it.
    let parts = family(&described).part(|path| path == "d/x_3.csv");
    let texts: Vec<usize> = parts.iter().map(|it| it.contexts.len()).collect();
    assert_eq!((parts.len(), texts), (3, vec![0, 1, 1]));
    // Other words change no file, other readings change those that they are of.
    let contents = |layout: &Layout| -> Vec<Fingerprint> {
        let files = layout.groups.iter().flat_map(|group| &group.files);
        files.map(TableFile::content_fingerprint).collect()
    };
    let differ = |a: &Layout, b: &Layout| {
        let same = contents(a).into_iter().zip(contents(b));
        same.filter(|(a, b)| a != b).count()
    };
    let members = |layout: &Layout| -> Vec<Fingerprint> {
        layout.groups.iter().flat_map(Group::fingerprints).collect()
    };
    let words = of("tables: [{files: 'x_[12].csv', header: none, description: More of x}]");
    let other = of("tables: [{files: 'x_[12].csv', header: 1, description: About x}]");
    assert_eq!(
        (
            differ(&described, &plain),
            differ(&described, &words),
            differ(&described, &other)
        ),
        (2, 0, 2)
    );
    assert_ne!(members(&described), members(&words));
    // Of parts and of what is in a container, too.
    let paths = ["d/part-00000.csv", "d/book.xlsx//2024", "d/day=1/x_1.csv"];
    let found = arrange(
        "tables: [{files: '*', separate: true, header: none}]",
        &paths,
    );
    let said: Vec<(&str, usize)> = found
        .groups
        .iter()
        .map(|it| (it.files[0].object.path.as_str(), declared(it)))
        .collect();
    assert_eq!(said, [("d/day=1/x_1.csv", 1), ("d/book.xlsx//2024", 1),]);
}

#[test]
fn people_say_what_is_one_table() {
    let mut declared = Declared::default();
    let text = "tables:\n- {files: 'x_2*', name: all}\n- {files: 'y_*', separate: true}\n- {files: '*.json', name: x_1}\n";
    declared.add("d", text).unwrap();
    let paths = [
        "d/all/part-00000.csv",
        "d/all.md",
        "d/x_1.csv",
        "d/x_20.csv",
        "d/x_21.parquet",
        "d/y_1.csv",
        "d/y_2.csv",
        "d/y_3.csv",
        "d/z.json",
        "e/x_20.csv",
    ];
    let arrange = |paths: &[&str]| {
        let objects = paths.iter().map(|path| object(path)).collect();
        layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake")
    };
    let found = arrange(&paths);
    let expected = [
        "Directory d/all: d/all/part-00000.csv",
        "Declared ./d/all: d/x_20.csv d/x_21.parquet",
        "Declared d/x_1: d/z.json",
        "File d/x_1.csv: d/x_1.csv",
        "File d/y_1: d/y_1",
        "File d/y_2: d/y_2",
        "File d/y_3: d/y_3",
        "File e/x_20: e/x_20",
    ];
    assert_eq!(shown(&found), expected);
    // Without a folder of the name it is the table's.
    let found = arrange(&paths[1..]);
    assert_eq!(
        shown(&found)[0],
        "Declared d/all: d/x_20.csv d/x_21.parquet"
    );
    assert_eq!(reaching(&found, "d/all"), ["d/all.md"]);
}
