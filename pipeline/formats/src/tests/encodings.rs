//! Text in other encodings than UTF-8.

use encoding_rs::Encoding;

use super::*;

const UNITS: [fn(u16) -> [u8; 2]; 2] = [u16::to_le_bytes, u16::to_be_bytes];

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn utf16_is_read_with_a_mark_and_without() {
    for bytes in UNITS {
        let text = "id\tname\r\n1\tÉva 😀\r\n2\tBen\r\n";
        let marked = utf16(&format!("\u{feff}{text}"), bytes);
        for content in [marked, utf16(text, bytes)] {
            let summary = read("x.csv", content);
            assert_eq!(schema(&summary), "id:integer name:text");
            assert_eq!(sample(&summary), ["1|Éva 😀", "2|Ben"]);
            assert!(summary.notes.is_empty(), "{:?}", summary.notes);
        }
        let text = "编号,姓名,城市\n1,王小明,北京\n2,李四,上海\n";
        assert_eq!(
            sample(&read("x.csv", utf16(text, bytes))),
            ["1|王小明|北京", "2|李四|上海"]
        );
    }
}

#[test]
fn utf16_beyond_the_budget_is_read_in_ranges_of_whole_letters() {
    let mut text = "\u{feff}id,name\n".to_owned();
    for id in 0..20_000 {
        text += &format!("{id},Zoë ж {id}\n");
    }
    for bytes in UNITS {
        let summary = read_with("x.csv", utf16(&text, bytes), &budget(50_001))
            .0
            .unwrap();
        assert_eq!(schema(&summary), "id:integer name:text");
        assert!((18_000..22_000).contains(&summary.rows), "{}", summary.rows);
        for row in &summary.sample.rows {
            let id = row.values[0].as_deref().unwrap();
            assert_eq!(row.values[1], Some(format!("Zoë ж {id}")));
        }
        assert_eq!(summary.notes.len(), 1, "{:?}", summary.notes);
    }
}

#[test]
fn half_a_letter_is_a_replacement_character() {
    let mut content = utf16("a,b\n1,x\n", u16::to_le_bytes);
    content.extend([0x00, 0xd8, b'\n', 0, b'2']);
    let summary = read("x.csv", [b"\xff\xfe".as_slice(), &content].concat());
    assert_eq!(summary.rows, 3);
    let note = "some bytes mean no letter in UTF-16LE".to_owned();
    assert!(summary.notes.contains(&note), "{:?}", summary.notes);
}

#[test]
fn the_old_encodings_are_guessed_from_the_letters_and_noted() {
    for (label, text, cell) in [
        (
            "windows-1252",
            "id,nom\n1,Élodie Lefèvre\n2,François Béchard\n3,Zoé Noël\n",
            "Élodie Lefèvre",
        ),
        (
            "windows-1252",
            "id;Straße\n1;Müllerstraße\n2;Größenwahn\n3;Weißwürste für Gäste\n",
            "Müllerstraße",
        ),
        (
            "windows-1250",
            "id,nazwa\n1,Łódź źródło\n2,Gdańsk Wrzeszcz żółć\n3,Świętosława\n",
            "Łódź źródło",
        ),
        (
            "windows-1251",
            "id,имя\n1,Иванов Иван\n2,Петров Пётр\n3,Сидорова Мария\n",
            "Иванов Иван",
        ),
        (
            "koi8-r",
            "id,имя\n1,Иванов Иван Иванович\n2,Петров Петр\n3,Сидорова Мария\n",
            "Иванов Иван Иванович",
        ),
        (
            "windows-1253",
            "id,όνομα\n1,Γιώργος Παπαδόπουλος\n2,Μαρία Οικονόμου\n",
            "Γιώργος Παπαδόπουλος",
        ),
        (
            "shift_jis",
            "番号,氏名,都市\n1,山田太郎,東京\n2,佐藤花子,大阪\n3,鈴木一郎,名古屋\n",
            "山田太郎",
        ),
        (
            "euc-jp",
            "番号,氏名,都市\n1,山田太郎,東京\n2,佐藤花子,大阪\n3,鈴木いちろう,名古屋\n",
            "山田太郎",
        ),
        (
            "gbk",
            "编号,姓名,城市\n1,王小明,北京\n2,李四,上海\n3,张伟,广州市天河区\n",
            "王小明",
        ),
        (
            "big5",
            "編號,姓名,城市\n1,王小明,臺北\n2,李四,高雄\n3,張偉,臺中市西屯區\n",
            "王小明",
        ),
        (
            "euc-kr",
            "번호,이름,도시\n1,김철수,서울\n2,이영희,부산\n3,박지민,대구광역시\n",
            "김철수",
        ),
    ] {
        let (content, _, unmappable) = Encoding::for_label(label.as_bytes()).unwrap().encode(text);
        assert!(!unmappable, "{label}");
        let summary = read("x.csv", content.into_owned());
        let cells: Vec<String> = sample(&summary);
        assert!(
            cells.iter().any(|row| row.split('|').nth(1) == Some(cell)),
            "{label}: {cells:?}"
        );
        assert!(
            summary.notes[0].starts_with("not in UTF-8: read as "),
            "{label}: {:?}",
            summary.notes
        );
    }
}

#[test]
fn a_bad_byte_among_good_letters_makes_no_other_encoding() {
    let mut content = "id,name\n1,Müller Ärger Öl über\n2,Größe äöü ßß\n3,"
        .as_bytes()
        .to_vec();
    content.extend(b"M\xfcller\n");
    let summary = read("x.csv", content);
    assert_eq!(sample(&summary)[2], "3|M\u{fffd}ller");
    assert_eq!(summary.notes, ["1 cell not in UTF-8"]);
}

#[test]
fn ranges_that_cut_letters_of_utf8_leave_it_utf8() {
    let mut text = "id,name\n".to_owned();
    for id in 0..9_000 {
        text += &format!("{id},ééé😀東京{id}\n");
    }
    for limit in [20_000, 20_001, 20_003, 20_007, 31_111] {
        let summary = read_with("x.csv", text.clone(), &budget(limit)).0.unwrap();
        assert_eq!(summary.notes.len(), 1, "{:?}", summary.notes);
        for row in &summary.sample.rows {
            let id = row.values[0].as_deref().unwrap();
            assert_eq!(row.values[1], Some(format!("ééé😀東京{id}")));
        }
    }
}

#[test]
fn the_old_encodings_are_read_in_ranges_too() {
    let mut text = "番号,氏名\n".to_owned();
    for id in 0..9_000 {
        text += &format!("{id},山田太郎ソ能表{id}\n");
    }
    let (content, ..) = encoding_rs::SHIFT_JIS.encode(&text);
    for limit in [20_000, 20_001, 31_111] {
        let summary = read_with("x.csv", content.clone().into_owned(), &budget(limit))
            .0
            .unwrap();
        assert!((8_500..9_500).contains(&summary.rows), "{}", summary.rows);
        for row in &summary.sample.rows {
            let id = row.values[0].as_deref().unwrap();
            assert_eq!(row.values[1], Some(format!("山田太郎ソ能表{id}")));
        }
    }
}

#[test]
fn a_mark_and_nothing_else_is_an_empty_file() {
    for content in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"] {
        assert_eq!(
            failure("x.csv", content.to_vec()).kind,
            FileErrorKind::Empty
        );
    }
    let error = failure("x.csv", b"\xff\xfe\0\0a\0\0\0,\0\0\0b\0\0\0".to_vec());
    assert!(error.to_string().contains("binary"), "{error}");
}
