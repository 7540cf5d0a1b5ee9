//! Delimited text: delimiters, quotes, headers, widths.

use super::{Odd, noted, reads, refuses};

pub fn files() -> Vec<Odd> {
    let two = "id:integer name:text";
    vec![
        reads("comma.csv", "id,name\n1,ada\n2,bob\n", two, 2),
        reads("semicolon.csv", "id;name\n1;ada\n2;bob\n", two, 2),
        reads("tab.csv", "id\tname\n1\tada\n2\tbob\n", two, 2),
        reads("pipe.csv", "id|name\n1|ada\n2|bob\n", two, 2),
        reads("tab.tsv", "id\tname\n1\tada\n2\tbob\n", two, 2),
        reads("comma.tsv", "id,name\n1,ada\n2,bob\n", two, 2),
        reads("tab.TAB", "id\tname\n1\tada\n", two, 1),
        reads("sep_line.csv", "sep=;\nid;name\n1;ada\n2;bob\n", two, 2),
        reads("crlf.csv", "id,name\r\n1,ada\r\n2,bob\r\n", two, 2),
        reads("cr.csv", "id,name\r1,ada\r2,bob\r", two, 2),
        reads("ctrl_z.csv", "id,name\n1,ada\n2,bob\n\u{1a}", two, 2),
        reads("mixed_ends.csv", "id,name\r\n1,ada\n2,bob\r\n", two, 2),
        reads("no_last_end.csv", "id,name\n1,ada\n2,bob", two, 2),
        reads(
            "blank_lines.csv",
            "\n\nid,name\n\n1,ada\n\n2,bob\n\n\n",
            two,
            2,
        ),
        reads("spaces.csv", "id , name\n1 , ada\n2 , bob\n", two, 2),
        reads(
            "quoted.csv",
            "\"id\",\"name\"\n\"1\",\"ada, countess\"\n\"2\",\"b\"\"o\"\"b\"\n",
            two,
            2,
        ),
        reads(
            "quoted_lines.csv",
            "id,name\n1,\"ada\nof\nbyron\"\n2,bob\n",
            two,
            2,
        ),
        reads(
            "backslash.csv",
            "id,name\n1,\"ada \\\"the\\\" first, it is\"\n2,\"bob \\\"b\\\" b\"\n3,\"c \\\"c\\\"\"\n",
            two,
            3,
        ),
        reads(
            "quotes_as_inches.tsv",
            "id\tname\n1\t\"5\" pipe\n2\t\"6\" pipe\n3\t\"7\" pipe\n4\tx\n",
            two,
            4,
        ),
        reads("single_column.csv", "name\nada\nbob\n", "name:text", 2),
        reads("single_number_column.csv", "n\n1\n2\n", "n:integer", 2),
        reads("header_only.csv", "id,name\n", "id:unknown name:unknown", 0),
        reads(
            "behind_a_hash.csv",
            "#sample,ct\nS1,Undetermined\nS2,31.2\nS3,29.8\nS4,30.1\n",
            "#sample:text ct:text",
            4,
        ),
        reads(
            "names_left_out.csv",
            "name,score,,\nAnn,absent,p,q\nBen,2,r,s\nCy,3,t,u\nDi,4,v,w\n",
            "name:text score:text column_3:text column_4:text",
            4,
        ),
        reads("one_cell.csv", "x", "x:unknown", 0),
        noted(
            "no_header.csv",
            "1,ada,2.5\n2,bob,3.5\n3,cyd,4.5\n",
            "column_1:integer column_2:text column_3:float",
            3,
            "no header",
        ),
        noted(
            "title_above.csv",
            titled(),
            "id:integer name:text age:integer",
            40,
            "before the header skipped",
        ),
        noted(
            "title_above_three.csv",
            "Staff of the house\n\nid,name,age\n1,ada,36\n2,bob,41\n3,cyd,20\n",
            "id:integer name:text age:integer",
            3,
            "before the header skipped",
        ),
        noted(
            "title_and_footer.csv",
            "Staff of the house\nid;name;age\n1;ada;36\n2;bob;41\nTotal;;77\n\nSource: the register\n",
            "id:integer name:text age:integer",
            2,
            "1 row of totals at the end left out",
        ),
        noted(
            "remarks_below.csv",
            "id,name,age\n1,ada,36\n2,bob,41\n\n\"Ages as of 2020, rounded\"\n",
            "id:integer name:text age:integer",
            2,
            "1 line below the table left out: Ages as of 2020, rounded",
        ),
        reads(
            "total_is_a_value.csv",
            "sex,year,n\ntotal,2019,7\nmale,2020,3\nfemale,2020,5\ntotal,2020,8\n",
            "sex:text year:integer n:integer",
            4,
        ),
        noted(
            "title_above_decimal_commas.csv",
            "Umsatz 2024\n\nname;betrag\nada;0,50\nbob;1,51\ncyd;12,52\n",
            "name:text betrag:float",
            3,
            "1 line before the header skipped",
        ),
        noted(
            "title_above_addresses.tsv",
            "Staff\n\nname\tat\nada\tMain St. 1, Bern\nbob\tMain St. 2, Bern\n",
            "name:text at:text",
            2,
            "1 line before the header skipped",
        ),
        noted(
            "title_and_remark_around_two.csv",
            "Sales report\n\nname,amount\nada,36\nbob,41\ncyd,20\n\nSource: the office, Bern\n",
            "name:text amount:integer",
            3,
            "1 line below the table left out: Source: the office",
        ),
        reads(
            "decimal_commas_in_one_column.csv",
            decimal_commas(),
            "n:float",
            60,
        ),
        noted(
            "title_padded.csv",
            "Staff,,\n,,\nid,name,age\n1,ada,36\n2,bob,41\n",
            "id:integer name:text age:integer",
            2,
            "before the header skipped",
        ),
        noted(
            "title_with_a_comma.csv",
            "Staff, of the house\nid,name,age\n1,ada,36\n2,bob,41\n3,cyd,20\n",
            "id:integer name:text age:integer",
            3,
            "1 line before the header skipped",
        ),
        noted(
            "title_with_a_comma_above_two.csv",
            "Staff of the house, 2024\n\nname,age\nada,36\nbob,41\ncyd,20\n",
            "name:text age:integer",
            3,
            "1 line before the header skipped",
        ),
        noted(
            "names_and_values_above.csv",
            "House;north\nPrinted;2024\n\nid;name;age\n1;ada;36\n2;bob;41\n3;cyd;20\n",
            "id:integer name:text age:integer",
            3,
            "2 lines before the header skipped",
        ),
        noted(
            "names_and_values_padded.csv",
            "House:;north;;\n;;;\nid;name;age;\n1;ada;36;\n2;bob;41;\n3;cyd;20;\n",
            "id:integer name:text age:integer",
            3,
            "2 lines before the header skipped",
        ),
        noted(
            "comment_with_commas.csv",
            "# by foo, on 2020-01-01, at home\nid,name,age\n1,ada,36\n2,bob,41\n",
            "id:integer name:text age:integer",
            2,
            "1 line before the header skipped",
        ),
        noted(
            "names_of_groups.csv",
            ",2020,2020,2021,2021\nregion,q1,q2,q1,q2\nnorth,1,2,3,4\nsouth,5,6,7,8.5\n",
            "region:text 2020 q1:integer 2020 q2:integer 2021 q1:integer 2021 q2:float",
            2,
            "of two lines, joined",
        ),
        noted(
            "units.csv",
            "time,temp\n[s],[degC]\n0,0.5\n1,1.5\n2,2.5\n3,3.5\n4,4.5\n",
            "time:integer temp:float",
            5,
            "left out: [s], [degC]",
        ),
        noted(
            "names_beside_groups.csv",
            "Region,2020,,2021,\n,q1,q2,q1,q2\nR1,1,2,3,4\nR2,5,6,7,8.5\n",
            "Region:text 2020 q1:integer 2020 q2:integer 2021 q1:integer 2021 q2:float",
            2,
            "of two lines, joined",
        ),
        noted(
            "years_below_groups.csv",
            "Kreis;M;;F;\n;2020;2021;2020;2021\nMitte;1;2;3;4\nPankow;5;6;7;8\n",
            "Kreis:text M 2020:integer M 2021:integer F 2020:integer F 2021:integer",
            2,
            "of two lines, joined",
        ),
        noted(
            "units_over_decimal_commas.csv",
            "zeit;wert\nh;°C\n0;0,5\n1;1,5\n2;2,5\n3;3,5\n4;4,5\n",
            "zeit:integer wert:float",
            5,
            "left out: h, °C",
        ),
        noted(
            "unit_of_one_column.csv",
            "land,einw\n,persons\nL1,\"1,234,567\"\nL2,\"2,345,678\"\nL3,\"3,456,789\"\nL4,\"4,567,890\"\n",
            "land:text einw:integer",
            4,
            "left out: persons",
        ),
        noted(
            "row_names.csv",
            "name,age\n1,ada,36\n2,bob,41\n3,cyd,20\n",
            "column_1:integer name:text age:integer",
            3,
            "no name in the header",
        ),
        reads("trailing_comma.csv", "id,name,\n1,ada,\n2,bob,\n", two, 2),
        reads(
            "trailing_comma_in_rows.csv",
            "id,name\n1,ada,\n2,bob,\n",
            two,
            2,
        ),
        reads(
            "same_names.csv",
            "id,name,name\n1,a,b\n2,c,d\n",
            "id:integer name:text name_2:text",
            2,
        ),
        reads(
            "nameless.csv",
            "id,,name\n1,x,a\n2,y,d\n",
            "id:integer column_2:text name:text",
            2,
        ),
        reads(
            "lines_in_names.csv",
            "id,\"full\n name\"\n1,ada\n2,bob\n",
            "id:integer full name:text",
            2,
        ),
        reads(
            "numbers_as_names.csv",
            "country,1990,2000,2010\nCH,1,2,3\nDE,4,5,6\n",
            "country:text 1990:integer 2000:integer 2010:integer",
            2,
        ),
        reads(
            "nulls.csv",
            "a,b,c\nNA,NULL,1\n,\\N,2\nn/a,NaN,3\n",
            "a:unknown b:unknown c:integer",
            3,
        ),
        reads(
            "zeros_in_front.csv",
            "zip,n\n01234,1\n00501,2\n",
            "zip:text n:integer",
            2,
        ),
        reads(
            "large_integers.csv",
            "a,b\n9223372036854775807,1\n18446744073709551616,2\n",
            "a:text b:integer",
            2,
        ),
        reads(
            "exponents.csv",
            "a,b\n1e5,inf\n2.5E-3,-inf\n",
            "a:float b:float",
            2,
        ),
        reads(
            "integers_then_floats.csv",
            "a,b\n1,x\n2.5,y\n",
            "a:float b:text",
            2,
        ),
        reads(
            "booleans.csv",
            "a,b\ntrue,TRUE\nfalse,False\n",
            "a:boolean b:boolean",
            2,
        ),
        reads(
            "days.csv",
            "iso,de,us\n2024-02-29,29.02.2024,2/29/2024\n2024-03-01,01.03.2024,3/1/2024\n",
            "iso:date de:date us:date",
            2,
        ),
        reads(
            "notations.csv",
            "price;share;on;code\n1.234,50 €;12 %;31.12.2020;007\n2,00 €;7,5 %;1.2.2020;1,5\n",
            "price:float share:float on:date code:text",
            2,
        ),
        reads(
            "mixed_orders.csv",
            "on,n\n13/1/2020,\"1,234\"\n1/13/2020,\"5,678\"\n",
            "on:text n:integer",
            2,
        ),
        reads(
            "times.csv",
            "a,b\n2024-02-29T12:30:00Z,2024-02-29 12:30\n2024-03-01T00:00:00+02:00,2024-03-01 01:00\n",
            "a:timestamp b:timestamp",
            2,
        ),
        reads(
            "no_such_day.csv",
            "a,b\n2023-02-29,1\n2024-13-01,2\n",
            "a:text b:integer",
            2,
        ),
        noted(
            "short_rows.csv",
            "a,b,c\n1,2,3\n4,5\n6,7,8\n9,10,11\n12,13,14\n15,16,17\n18,19,20\n",
            "a:integer b:integer c:integer",
            7,
            "of another width",
        ),
        refuses(
            "lines_of_json.csv",
            "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n",
            "rename the file to .jsonl",
        ),
        refuses(
            "array_of_json.tsv",
            "[\n  {\"a\": 1, \"b\": 2},\n  {\"a\": 3, \"b\": 4}\n]\n",
            "rename the file to .json",
        ),
        refuses(
            "hopeless.csv",
            "a,b,c\n1\n1,2,3,4,5\n1,2,3,4,5,6,7\n1,2\n1,2,3,4\n1,2,3,4,5,6\n1\n",
            "do not have the header's",
        ),
        refuses("blank.csv", "\n\n   \n\t\n", "blank lines"),
        refuses("no_bytes.csv", "", "no bytes"),
        reads("wide.csv", wide(2_000), &wide_columns(2_000), 1),
        refuses("too_wide.csv", wide(20_000), "20000 columns"),
        noted(
            "never_closed.csv",
            never_closed(),
            "id:integer name:text",
            3_000,
            "never closed",
        ),
        noted(
            "never_closed_among_quoted.csv",
            "a,b,c\n1,\"x\",1\n2,\"oops,2\n3,\"y\",3\n4,\"z\",4\n",
            "a:integer b:text c:integer",
            4,
            "never closed (line 3)",
        ),
        reads("nul_like.csv", "id,name\n1,a\u{b}b\n2,c\n", two, 2),
        reads("emoji.csv", "id,🙂\n1,😀\n2,🎉\n", "id:integer 🙂:text", 2),
        reads(
            "right_to_left.csv",
            "id,שם\n1,\u{202e}abc\n2,שלום\n",
            "id:integer שם:text",
            2,
        ),
    ]
}

fn wide(columns: usize) -> String {
    let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
    format!("{}\n{}1\n", names.join(","), "1,".repeat(columns - 1))
}

fn wide_columns(columns: usize) -> String {
    let names: Vec<String> = (0..columns).map(|i| format!("c{i}:integer")).collect();
    names.join(" ")
}

/// One quote is opened early on and closed nowhere.
fn never_closed() -> String {
    let mut text = "id,name\n1,\"ada\n".to_owned();
    for id in 2..=3_000 {
        text += &format!("{id},name {id}\n");
    }
    text
}

/// One column of numbers.
fn decimal_commas() -> String {
    let rows = (0..60).map(|n| format!("{n},5\n"));
    "n\n".to_owned() + &rows.collect::<String>()
}

/// A title, a blank line, and a table.
fn titled() -> String {
    let mut text = "Staff of the house\n\nid,name,age\n".to_owned();
    for id in 1..=40 {
        text += &format!("{id},name {id},{}\n", 20 + id);
    }
    text
}
