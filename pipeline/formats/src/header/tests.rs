#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn understand_text(text: &str) -> Header {
    let rows: Vec<Vec<String>> = text
        .lines()
        .map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    understand(&rows, is_first_parted(text.as_bytes()))
}

fn is(text: &str, skip: usize, columns: &[&str]) {
    let header = understand_text(text);
    assert_eq!(
        (header.skip, header.columns),
        (skip, columns.iter().map(ToString::to_string).collect()),
        "{text}"
    );
}

#[test]
fn a_header_is_presumed() {
    is("id,name\n1,a\n2,b", 1, &["id", "name"]);
    is(
        "city,country\nRome,Italy\nParis,France",
        1,
        &["city", "country"],
    );
    // A matrix of persons.
    is(
        "item,ada@example.org,bob@example.org\na,1,2\nb,3,4",
        1,
        &["item", "ada@example.org", "bob@example.org"],
    );
    is("id,name", 1, &["id", "name"]);
    is(
        "Country,2010,2011\nFrance,1,2\nItaly,3,4",
        1,
        &["Country", "2010", "2011"],
    );
    is(
        "name,1,2,3\nAnna,30,20,10\nBen,1,2,3",
        1,
        &["name", "1", "2", "3"],
    );
    is(
        "Party,-,Votes\nParty,-,Total\nx,-,some\ny,-,some\nz,-,none",
        1,
        &["Party", "-", "Votes"],
    );
    is("0,1\nAnna,Rome\nBen,Paris", 1, &["0", "1"]);
    is(",a,b\n0,1,2\n1,3,4", 1, &["column_1", "a", "b"]);
}

#[test]
fn rows_without_a_header_are_seen() {
    is("1,a\n2,b\n3,c", 0, &["column_1", "column_2"]);
    is(
        "2024-01-01,0.5\n2024-01-02,0.7",
        0,
        &["column_1", "column_2"],
    );
    is(
        "Anna,30,Rome\nBen,25,Paris",
        0,
        &["column_1", "column_2", "column_3"],
    );
    is("1,2,4", 0, &["column_1", "column_2", "column_3"]);
    for people in [
        "ada@example.org,Lovelace\nbob@example.org,Babbage\neve@example.org,Moore",
        "Lovelace,ada@example.org\nBabbage,\nMoore,none",
        "Lovelace,ada@example.org",
        "Lovelace,+49 30 901820\nBabbage,+49 30 901821",
        "Lovelace,078-05-1120\nBabbage,123-45-6789",
        "home,https://example.org/a\nhelp,https://example.org/b",
    ] {
        is(people, 0, &["column_1", "column_2"]);
    }
    is("a,x\nb,x\nc,x\na,x\nb,x\nc,x", 0, &["column_1", "column_2"]);
}

#[test]
fn odd_beginnings() {
    is(
        "Report of 2024\n\nid,name,n\n1,a,2\n2,b,3\n3,b,3\n4,b,3\n5,b,3\n6,b,3\n7,b,3\n8,b,3\n9,b,3\n10,b,3",
        3,
        &["id", "name", "n"],
    );
    is(
        "Report of 2024\n\nid,name,n\n1,a,2\n2,b,3\nprinted by us",
        3,
        &["id", "name", "n"],
    );
    is(
        "Report,,\n,,\nid,name,n\n1,a,2\n2,b,3",
        3,
        &["id", "name", "n"],
    );
    is("id,,\n1,a,2\n2,b,3", 1, &["id", "column_2", "column_3"]);
    // R writes row names without a name of their own.
    is(
        "mpg,cyl\nMazda,21,6\nDatsun,22,4",
        1,
        &["column_1", "mpg", "cyl"],
    );
    is("a,b,\n1,2,\n3,4,", 1, &["a", "b"]);
    is("a,b\n1,2,\n3,4,", 1, &["a", "b"]);
    is(
        "a,b\n1,2,3,4\n3,4,5,6\n5,6,7,8",
        1,
        &["a", "b", "column_3", "column_4"],
    );
}

#[test]
fn a_header_that_may_be_a_row_of_values_says_so() {
    for (text, is_presumed) in [
        ("Lovelace,Ada\nHopper,Grace", true),
        ("city,country\nRome,Italy", true),
        ("id,name\n1,a\n2,b", false),
        ("1,a\n2,b", false),
        ("Lovelace,Ada\nHopper,Grace,Ms\nNoether,Emmy,Ms", true),
        ("mpg,cyl\nMazda,21,6\nDatsun,22,4", false),
    ] {
        assert_eq!(understand_text(text).is_presumed, is_presumed, "{text}");
    }
}

/// Rows of an integer, a text and a float.
const ROWS: &str = "0,a,0.0\n1,b,1.5\n2,c,2.5\n3,d,3.5";

#[test]
fn lines_of_several_cells_stand_above() {
    for (above, skip) in [
        ("Weather export, made by hand\n", 2),
        ("Station:,BER\nPeriod:,2020\n", 3),
        ("Station,BER,\nPeriod,2020,\n,,\n", 4),
        ("Weather export,,\nStation,BER,\n", 3),
        ("Weather export\nPrinted:,,2024-01-05\n", 3),
        ("# by foo, on 2020-01-01, at home\n", 2),
        ("# by foo, on 2020-01-01, at home\n# a, b, c, d\n", 3),
    ] {
        let text = format!("{above}id,label,amount\n{ROWS}");
        is(&text, skip, &["id", "label", "amount"]);
    }
    is(
        "Source:,World\nCountry,2010,2011\nCH,1,2\nDE,4,5\nFR,7,8",
        2,
        &["Country", "2010", "2011"],
    );
    is(
        "# id,label,amount\n0,a,0.0\n1,b,1.5",
        1,
        &["# id", "label", "amount"],
    );
}

#[test]
fn a_row_that_may_hold_values_is_no_header() {
    // R's, with something missing in the first row.
    for row in [
        "Mazda,NA,6",
        "Mazda,-,6",
        "Mazda,missing,6",
        "Mazda,missing,[x]",
    ] {
        let text = format!("mpg,cyl\n{row}\nDatsun,22,4\nFiat,24,4\nFord,15,8\nHonda,30,4");
        is(&text, 1, &["column_1", "mpg", "cyl"]);
    }
    is(
        ",a,b\nx,none,none\ny,1,2\nz,3,4",
        1,
        &["column_1", "a", "b"],
    );
    is("a,b,\nx,y,z\nu,v,w", 1, &["a", "b", "column_3"]);
    is(
        "#sample,ct\nS1,Undetermined\nS2,31.2\nS3,29.8",
        1,
        &["#sample", "ct"],
    );
    is(
        "name,score,,\nAnn,absent,p,q\nBen,2,r,s\nCy,3,t,u",
        1,
        &["name", "score", "column_3", "column_4"],
    );
}

#[test]
fn names_of_groups_are_joined() {
    let rows = "north,1,2,3,4\nsouth,5,6,7,8\neast,9,1,2,3\nwest,4,5,6,7\nrest,8,9,1,2";
    let joined = ["region", "2020 q1", "2020 q2", "2021 q1", "2021 q2"];
    for above in [",2020,2020,2021,2021", ",2020,,2021,"] {
        is(&format!("{above}\nregion,q1,q2,q1,q2\n{rows}"), 2, &joined);
    }
    is(
        &format!("Club,League,League,Cup,-\nClub,Apps,Goals,Apps,Rank\n{rows}"),
        2,
        &["Club", "League Apps", "League Goals", "Cup Apps", "Rank"],
    );
}

#[test]
fn a_name_in_the_line_of_the_groups_is_a_name() {
    let joined = ["region", "2020 q1", "2020 q2", "2021 q1", "2021 q2"];
    let rows = "north,1,2,3,4\nsouth,5,6,,8\neast,9,1,2,3";
    for above in ["region,2020,,2021,", "region,2020,2020,2021,2021"] {
        is(&format!("{above}\n,q1,q2,q1,q2\n{rows}"), 2, &joined);
        let titled = format!("Sales by region\n\n{above}\n,q1,q2,q1,q2\n{rows}");
        is(&titled, 4, &joined);
    }
    // Years, and decimal commas or dates among the values.
    let names = ["Kreis", "M 2020", "M 2021", "F 2020", "F 2021"];
    for rows in [
        "Mitte,1,2,3,4\nPankow,5,6,7,8",
        "Mitte,1.000 €,2 €,3 %,4\nPankow,5 €,6 €,7 %,8",
    ] {
        let rows = format!("2020,2021,2020,2021\n{rows}");
        is(&format!("Kreis,M,,F,\n,{rows}"), 2, &names);
        is(&format!(",M,,F,\nKreis,{rows}"), 2, &names);
    }
    is(
        "Region,Code,Sales,,Costs,,All\n,,north,south,north,south,\nR1,x,1,2,3,4,5\nR2,y,1,2,3,4,5",
        2,
        &[
            "Region",
            "Code",
            "Sales north",
            "Sales south",
            "Costs north",
            "Costs south",
            "All",
        ],
    );
}

#[test]
fn a_row_below_names_that_are_left_out_is_a_row() {
    for (first, rows) in [
        // It has values.
        (",1,2,x", "b,1,2,y\nc,3,4,z"),
        // There is no column of numbers.
        (",p,q,r", "b,p,q,y\nc,s,t,z"),
        // It says what it is of.
        ("a,none,some,x", "b,1,2,y\nc,3,4,z"),
        // Others do not say it, either.
        (",none,some,x", ",1,2,y\n,3,4,z"),
    ] {
        let header = understand_text(&format!("name,score,,note\n{first}\n{rows}"));
        assert_eq!(header.skip, 1, "{first}");
    }
}

#[test]
fn values_in_other_notations_are_values() {
    is("1.5 €,a\n2.5 €,b\n3.5 €,c", 0, &["column_1", "column_2"]);
    is("25%,a\n2.5,b\n3.5,c\n4.5,d", 1, &["25%", "a"]);
    is(
        "Weather export, made by hand\nday,label,rain\n3 Jan 2020,a,5 %\n4 Jan 2020,b,7 %",
        2,
        &["day", "label", "rain"],
    );
    is(
        "Source:,World\nplace,2020-01-01,2020-02-01\na,5 %,7 %\nb,6 %,8 %\nc,7 %,9 %",
        2,
        &["place", "2020-01-01", "2020-02-01"],
    );
}

#[test]
fn a_blank_line_parts_a_title_from_the_header() {
    let rows: String = (0..9).map(|i| format!("n{i},{i}\n")).collect();
    for above in ["Sales by region, 2024\n", "Sales by region, 2024\n,"] {
        let text = format!("{above}\nname,amount\n{rows}");
        is(&text, text.matches('\n').count() - 9, &["name", "amount"]);
    }
    let first = "Sales by region, 2024";
    is(
        &format!("{first}\nname,amount\n{rows}"),
        1,
        &["Sales by region", "2024"],
    );
    for (text, is_parted) in [
        ("a,b\n\nc,d\ne,f\n", true),
        ("\n a,b\r\n\r\n\r\nc,d\r\n", true),
        ("a,b\nc,d\n\n", false),
        ("a,b\n\nc,d\n\ne,f\n\n", false),
        ("a,\"b\n\nc\"\nd,e\n", false),
    ] {
        assert_eq!(is_first_parted(text.as_bytes()), is_parted, "{text:?}");
    }
}

#[test]
fn units_below_the_header_are_no_values() {
    let rows = "0,0.0,1000\n1,0.5,1001\n2,1.0,1002\n3,1.5,1003\n4,2.0,1004";
    for units in ["[s],[degC],[hPa]", "(s),(C),-", "s,degC,hPa"] {
        let header = understand_text(&format!("time,temp,press\n{units}\n{rows}"));
        assert_eq!((header.skip, header.columns.len()), (2, 3), "{units}");
        assert!(header.notes[0].contains("left out"), "{:?}", header.notes);
    }
    let left_out = |names: &str, units: &str, rows: &[&str]| {
        let header = understand_text(&format!("{names}\n{units}\n{}", rows.join("\n")));
        assert_eq!(header.skip, 2, "{units}");
        assert!(header.notes[0].contains("left out"), "{:?}", header.notes);
    };
    let written = ["1.000 €,3 %", "2 €,5 %", "3 €,7 %", "4 €,9 %", "remark"];
    left_out("price,share", "gross,of all", &written);
    let days = [
        "1 Jan 2020,x",
        "2 Jan 2020,y",
        "3 Jan 2020,z",
        "4 Jan 2020,w",
    ];
    left_out("day,name", "(UTC),-", &days);
    // Below the name of what the rows are of there is nothing.
    left_out("land,n", ",persons", &["a,1", "b,2", "c,3", "d,4"]);
    for (units, other) in [(",persons", ",5"), ("a,persons", "b,5"), (",#N/A", "b,5")] {
        let text = format!("land,n\n{units}\na,1\nb,2\nc,3\nd,4\n{other}");
        is(&text, 1, &["land", "n"]);
    }
    for values in [
        "(1),(2),(3)",
        "none,none,none",
        "x,€5,007",
        ".,.,x",
        "#N/A,#DIV/0!,x",
    ] {
        let header = understand_text(&format!("time,temp,press\n{values}\n{rows}"));
        assert_eq!((header.skip, header.notes.len()), (1, 0), "{values}");
    }
}
