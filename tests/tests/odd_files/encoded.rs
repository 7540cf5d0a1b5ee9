//! Text in many encodings.

use super::{Odd, noted, reads, refuses};

const FRENCH: &str = "id,nom\n1,Élodie Lefèvre\n2,François Béchard\n3,Zoé Noël\n";

pub fn files() -> Vec<Odd> {
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    let latin = |text: &str| text.chars().map(|c| c as u32 as u8).collect::<Vec<u8>>();
    let columns = "id:integer nom:text";
    let mut files = vec![
        reads("utf8.csv", FRENCH, columns, 3),
        reads("utf8_mark.csv", format!("\u{feff}{FRENCH}"), columns, 3),
        reads("utf16le.csv", utf16(FRENCH, u16::to_le_bytes), columns, 3),
        reads("utf16be.csv", utf16(FRENCH, u16::to_be_bytes), columns, 3),
        reads(
            "utf16le_mark.csv",
            utf16(&format!("\u{feff}{FRENCH}"), u16::to_le_bytes),
            columns,
            3,
        ),
        reads(
            "utf16be_mark.csv",
            utf16(&format!("\u{feff}{FRENCH}"), u16::to_be_bytes),
            columns,
            3,
        ),
        reads(
            "utf16.jsonl",
            utf16("\u{feff}{\"a\": \"é\"}\n{\"a\": \"ü\"}\n", u16::to_le_bytes),
            "a:text",
            2,
        ),
        noted(
            "latin1.csv",
            latin(FRENCH),
            columns,
            3,
            "not in UTF-8: read as windows-1252",
        ),
        noted(
            "latin1.tsv",
            latin("id\tnom\n1\tÉlodie Lefèvre\n2\tFrançois Béchard\n"),
            columns,
            2,
            "not in UTF-8",
        ),
        noted(
            "one_bad_byte.csv",
            [FRENCH.as_bytes(), b"4,M\xfcller\n"].concat(),
            columns,
            4,
            "not in UTF-8",
        ),
        refuses(
            "utf32.csv",
            b"\xff\xfe\0\0i\0\0\0d\0\0\0,\0\0\0n\0\0\0\n\0\0\0".as_slice(),
            "binary",
        ),
        refuses("mark_only.csv", b"\xef\xbb\xbf".as_slice(), "blank lines"),
    ];
    for (label, text, columns) in [
        (
            "windows-1250",
            "id,nazwa\n1,Łódź źródło\n2,Gdańsk Wrzeszcz żółć\n3,Świętosława\n",
            "id:integer nazwa:text",
        ),
        (
            "windows-1251",
            "id,имя\n1,Иванов Иван\n2,Петров Пётр\n3,Сидорова Мария\n",
            "id:integer имя:text",
        ),
        (
            "koi8-r",
            "id,имя\n1,Иванов Иван Иванович\n2,Петров Петр\n3,Сидорова Мария\n",
            "id:integer имя:text",
        ),
        (
            "windows-1253",
            "id,όνομα\n1,Γιώργος Παπαδόπουλος\n2,Μαρία Οικονόμου\n",
            "id:integer όνομα:text",
        ),
        (
            "shift_jis",
            "番号,氏名\n1,山田太郎\n2,佐藤花子\n3,鈴木一郎\n",
            "番号:integer 氏名:text",
        ),
        (
            "euc-jp",
            "番号,氏名\n1,山田太郎\n2,佐藤花子\n3,鈴木いちろう\n",
            "番号:integer 氏名:text",
        ),
        (
            "gbk",
            "编号,姓名\n1,王小明\n2,李四\n3,张伟在广州市天河区\n",
            "编号:integer 姓名:text",
        ),
        (
            "big5",
            "編號,姓名\n1,王小明\n2,李四\n3,張偉在臺中市西屯區\n",
            "編號:integer 姓名:text",
        ),
        (
            "euc-kr",
            "번호,이름\n1,김철수\n2,이영희\n3,박지민 대구광역시\n",
            "번호:integer 이름:text",
        ),
    ] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let (content, _, lost) = encoding.encode(text);
        assert!(!lost, "{label}");
        files.push(noted(
            &format!("{label}.csv"),
            content.into_owned(),
            columns,
            text.lines().count() as u64 - 1,
            "not in UTF-8",
        ));
    }
    files
}
