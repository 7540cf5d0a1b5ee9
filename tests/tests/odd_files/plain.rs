//! Plain text: tables in their shapes, and texts that are none.

use super::{Odd, ignores, noted, reads, refuses};

pub fn files() -> Vec<Odd> {
    let two = "id:integer name:text";
    let mut files = vec![
        reads("comma.txt", "id,name\n1,ada\n2,bob\n3,cyd\n", two, 3),
        reads("tab.TXT", "id\tname\n1\tada of b\n2\tbob\n", two, 2),
        reads("bars.psv", "id|name\n1|ada\n2|bob\n", two, 2),
        reads(
            "lineitem.tbl",
            "1|155190|0.04|1996-03-13|\n1|67310|0.09|1996-04-12|\n2|63700|0.10|1996-01-29|\n",
            "column_1:integer column_2:integer column_3:float column_4:date",
            3,
        ),
        reads(
            "below_comments.dat",
            "# made by us\n# id name\n1 ada\n2 bob\n3 cyd\n",
            two,
            3,
        ),
        noted(
            "write_table.data",
            "\"mpg\" \"cyl\" \"gear\"\n\"Mazda RX4\" 21 6 \"a\"\n\"Datsun \\\"710\\\"\" 22.8 4 \"b\"\n",
            "column_1:text mpg:float cyl:integer gear:text",
            2,
            "no name in the header",
        ),
        reads(
            "census.fwf",
            "STATE      COUNTY          POP2000   AREA\n\
             Alabama    Autauga County    43671  594.4\n\
             Alabama    St. Clair        140415 1589.8\n\
             New York   Kings           2465326   70.6\n\
             Utah       Salt Lake        898387  742.3\n",
            "STATE:text COUNTY:text POP2000:integer AREA:float",
            4,
        ),
        reads(
            "sqlplus.prn",
            "city            people\n--------------- -------\nNew York        8000000\nBern             130000\n\n(2 rows affected)\n",
            "city:text people:integer",
            2,
        ),
        reads(
            "psql.txt",
            " id | name\n----+------\n  1 | ada\n  2 | bob\n(2 rows)\n\n",
            two,
            2,
        ),
        reads(
            "mysql.txt",
            "+----+------+\n| id | name |\n+----+------+\n|  1 | ada  |\n|  2 | bob  |\n+----+------+\n",
            two,
            2,
        ),
        reads(
            "markdown.txt",
            "| id | name |\n|---:|------|\n| 1 | ada |\n| 2 | bob |\n",
            two,
            2,
        ),
        reads(
            "measured.dat",
            "day hour low high\n2020-01-01 10 3.2 4.5\n2020-01-01 11 3.3 4.5\n2020-01-01 12 3.4 4.6\n",
            "day:date hour:integer low:float high:float",
            3,
        ),
        noted(
            "large.asc",
            grid(40_000),
            "x:integer y:integer z:float",
            40_000,
            "",
        ),
        noted(
            "latin.txt",
            b"gr\xf6\xdfe;stadt;n\n1;K\xf6ln;5\n2;D\xfcsseldorf;6\n3;M\xfcnchen;7\n".to_vec(),
            "größe:integer stadt:text n:integer",
            3,
            "not in UTF-8",
        ),
        refuses(
            "damaged.txt.gz",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03broken".to_vec(),
            "packed data",
        ),
    ];
    files.extend(
        others()
            .into_iter()
            .map(|(path, content)| ignores(path, content)),
    );
    files
}

/// Texts that are passed over.
fn others() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("letter.txt", b"Dear all,\n\nthe report is done, and I will send it tomorrow.\nIt has four parts.\n\nYours,\nAda\n".to_vec()),
        ("poem.txt", b"Roses are red,\nViolets are blue,\nSugar is sweet,\nAnd so are you.\n".to_vec()),
        ("log.txt", b"2024-01-01 10:00:00,123 INFO starting the server on port 8080\n2024-01-01 10:00:01,456 WARN no configuration found, using defaults\n2024-01-01 10:00:02,789 ERROR cannot reach the database at all\n".to_vec()),
        ("access.txt", (0..30).map(|n| format!("10.0.0.{n} - - [10/Oct/2000:13:55:{n:02} -0700] \"GET /a{n}.gif HTTP/1.0\" 200 {n}\n")).collect::<String>().into_bytes()),
        ("workers.txt", (0..30).map(|n| format!("2020-01-01 10:00:{n:02} INFO server started worker {n} in {n} ms\n")).collect::<String>().into_bytes()),
        ("glued.fwf", (0..30).map(|n| format!("{n:05}Name{:<10}{n:>5}.24202006{:02}\n", n % 10, 1 + n % 28)).collect::<String>().into_bytes()),
        ("settings.txt", b"retries = 3\nport = 8080\nworkers = 4\ntimeout = 30\n".to_vec()),
        ("requirements.txt", b"numpy>=1.26\npandas\nclick==8.1\n".to_vec()),
        ("list.txt", b"milk\nbread\nbutter\n".to_vec()),
        ("model.dat", vec![0, 1, 2, 3, 255, 0, 0, 7]),
        ("empty.dat", Vec::new()),
        ("blank.txt", b"\n\n  \n".to_vec()),
        ("page.txt", b"<!doctype html><p>hello".to_vec()),
        ("packed.dat", b"\x1f\x8b\x08\0broken".to_vec()),
    ]
}

/// Numbers as a program prints them.
fn grid(rows: usize) -> String {
    let mut text = "       x       y           z\n".to_owned();
    for row in 0..rows {
        text += &format!(
            "{:>8}{:>8}{:>12.3}\n",
            row % 200,
            row / 200,
            row as f64 / 7.0
        );
    }
    text
}
