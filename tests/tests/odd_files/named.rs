//! Names that are hard to bear.

use super::{Odd, ignores, reads, refuses};

const TEXT: &str = "id,name\n1,ada\n2,bob\n";
const COLUMNS: &str = "id:integer name:text";

pub fn files() -> Vec<Odd> {
    let mut files: Vec<Odd> = [
        "with space.csv",
        "per%2Fcent.csv",
        "per%cent.csv",
        "plus+and&amp.csv",
        "emoji 🙂.csv",
        "שלום.csv",
        "right\u{202e}vsc.csv",
        "quote\"s'.csv",
        "brackets[1](2){3}.csv",
        "semi;colon,comma.csv",
        "dollar$HOME`x`.csv",
        "star*mark?.csv",
        "back\\slash.csv",
        "hash#and=equals.csv",
        "a.b.c.csv",
        "CASE.CSV",
        "-dash.csv",
        "~tilde.csv",
        "e\u{301}.csv",
    ]
    .iter()
    .map(|path| reads(path, TEXT, COLUMNS, 2))
    .collect();
    files.extend([
        refuses("line\nbreak.csv", TEXT, "control characters"),
        refuses("bell\u{7}.csv", TEXT, "control characters"),
        ignores(".hidden.csv", TEXT),
        ignores("...csv", TEXT),
        ignores("_SUCCESS", ""),
        ignores("_temporary/0/part.csv", TEXT),
        ignores(".part-0.csv.crc", "crc"),
        ignores("_metadata.csv", TEXT),
        ignores("no_extension", TEXT),
        ignores("program.exe", TEXT),
    ]);
    let long = format!("{}.csv", "n".repeat(240));
    files.push(reads(&long, TEXT, COLUMNS, 2));
    files
}
