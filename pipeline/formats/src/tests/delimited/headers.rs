//! What stands above the values: headers, units, titles.

use super::*;

#[test]
fn a_header_alone_is_a_table_without_rows() {
    for text in ["id,name", "id,name\n", "\u{feff}id,name\r\n"] {
        let summary = read("x.csv", text);
        assert_eq!(schema(&summary), "id:unknown name:unknown", "{text:?}");
        assert_eq!((summary.rows, summary.rows_exact), (0, true));
    }
}

#[test]
fn names_are_made_unique() {
    assert_eq!(
        schema(&read("x.csv", "name,name,,id\na,b,c,1\nd,e,f,2\n")),
        "name:text name_2:text column_3:text id:integer"
    );
}

#[test]
fn a_file_without_a_header_has_numbered_columns() {
    let summary = read("x.csv", "1,a\n2,b\n3,c\n");
    assert_eq!(schema(&summary), "column_1:integer column_2:text");
    assert_eq!(summary.rows, 3);
    assert_eq!(summary.notes.len(), 1);
}

#[test]
fn units_stand_above_values_in_other_notations() {
    let written = |rows: usize, value: &dyn Fn(usize) -> String| -> String {
        (0..rows).map(|i| value(i) + "\n").collect()
    };
    let times = |i| format!("{i};{i},5");
    let (few, many) = (written(24, &times), written(500, &times));
    let three = written(24, &|i| format!("{i};{i},5;{}.000,00 €", i + 1));
    let days = written(24, &|i| format!("{:02}.01.2024;{i}.5", i + 1));
    let people = written(24, &|i| format!("L{i},\"{},234,567\"", i + 1));
    let (float, two) = (" wert:float", "zeit:integer wert:float");
    for (head, rows, columns) in [
        ("zeit;wert\nh;°C", &few, two.to_owned()),
        ("zeit;wert\nh;°C", &many, two.to_owned()),
        ("Wetter\n\nzeit;wert\nh;°C", &few, two.to_owned()),
        (
            "zeit;wert;preis\nh;°C;brutto",
            &three,
            two.to_owned() + " preis:float",
        ),
        ("datum;wert\n;°C", &days, "datum:date".to_owned() + float),
        (
            "land,einw\n,persons",
            &people,
            "land:text einw:integer".to_owned(),
        ),
    ] {
        let summary = read("x.csv", format!("{head}\n{rows}"));
        assert_eq!(schema(&summary), columns, "{head}");
        assert_eq!(summary.rows, rows.lines().count() as u64, "{head}");
        let notes = summary.notes.join(" ");
        assert!(
            notes.contains("1 row between the header and the values"),
            "{notes}"
        );
    }
}

#[test]
fn groups_of_columns_beside_a_column_that_has_its_name_above() {
    let rows: String = (0..30)
        .map(|i| format!("R{i},{i},{i},{i},\"{i},5\"\n"))
        .collect();
    for (head, names) in [
        (
            "Region,2020,,2021,\n,q1,q2,q1,q2",
            "Region|2020 q1|2020 q2|2021 q1|2021 q2",
        ),
        ("Sales\nR,X,,Y,\n,n,s,n,s", "R|X n|X s|Y n|Y s"),
        (
            "Kreis,Männer,,Frauen,\n,2020,2021,2020,2021",
            "Kreis|Männer 2020|Männer 2021|Frauen 2020|Frauen 2021",
        ),
        (
            ",2020,,2021,\nRegion,q1,q2,q1,q2",
            "Region|2020 q1|2020 q2|2021 q1|2021 q2",
        ),
    ] {
        let summary = read("x.csv", format!("{head}\n{rows}"));
        let columns: Vec<&str> = summary.column_names().collect();
        assert_eq!(columns.join("|"), names);
        assert_eq!(summary.rows, 30, "{head}");
        assert!(
            summary.notes.iter().any(|it| it.contains("joined")),
            "{:?}",
            summary.notes
        );
        assert!(schema(&summary).contains("integer"));
    }
}

#[test]
fn a_title_with_a_comma_stands_above_two_columns() {
    let rows: String = (0..30).map(|i| format!("n{i},{i}\n")).collect();
    let summary = read(
        "x.csv",
        format!("Sales by region, 2024\n\nname,amount\n{rows}"),
    );
    assert_eq!(schema(&summary), "name:text amount:integer");
    assert_eq!(
        (summary.rows, &summary.notes[..]),
        (30, &["1 line before the header skipped".to_owned()][..])
    );
    // Nothing parts it from the others, or it is a header as well.
    for (head, rows_read) in [
        ("Sales by region, 2024\nname,amount\n", 31),
        ("name,2024\n\n", 30),
        ("name,amount\n\nnobody,none\n", 31),
    ] {
        let summary = read("x.csv", format!("{head}{rows}"));
        assert_eq!(summary.rows, rows_read, "{head}");
    }
}

#[test]
fn a_header_that_comes_again_is_no_row() {
    let summary = read(
        "x.csv",
        "id,v\n1,0.5\n2,1.5\n3,2.5\n4,3.5\n5,x\nid,v\n6,5.5\n7,6.5\n8,7.5\n",
    );
    assert_eq!(schema(&summary), "id:integer v:text");
    assert_eq!(summary.rows, 8);
    assert_eq!(
        summary.notes,
        ["the header stands 1 time more within the table: left out"]
    );
    // Nothing says that the first row is a header.
    let summary = read("x.csv", "a,b\nc,d\na,b\n");
    assert_eq!(summary.rows, 2);
}
