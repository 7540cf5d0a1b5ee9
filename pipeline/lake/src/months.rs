//! Names of months, in names of folders, files and sheets.

use std::sync::LazyLock;

/// Months in Danish, Dutch, English, French, German, Italian, Norwegian, Polish, Portuguese,
/// Spanish and Swedish, without accents; abbreviated in English and German.
#[rustfmt::skip]
const MONTHS: [&str; 111] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
    "januar", "janner", "februar", "marz", "maerz", "mai", "juni", "juli", "oktober", "dezember", "mrz", "okt", "dez",
    "janvier", "fevrier", "mars", "avril", "juin", "juillet", "aout", "septembre", "octobre", "novembre", "decembre",
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
    "gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre", "dicembre",
    "janeiro", "fevereiro", "marco", "maio", "junho", "julho", "setembro", "outubro", "novembro", "dezembro",
    "januari", "februari", "maart", "mei", "augustus", "marts", "maj", "augusti", "desember",
    "styczen", "luty", "marzec", "kwiecien", "czerwiec", "lipiec", "sierpien", "wrzesien", "pazdziernik", "listopad", "grudzien",
    "stycznia", "lutego", "marca", "kwietnia", "maja", "czerwca", "lipca", "sierpnia", "wrzesnia", "pazdziernika", "listopada", "grudnia",
];

/// Letters of the longest.
const LONGEST: usize = 12;

/// Lengths of the names that begin with each letter of the alphabet, a bit each.
const LENGTHS: [u16; 26] = {
    let mut lengths = [0; 26];
    let mut at = 0;
    while at < MONTHS.len() {
        let month = MONTHS[at].as_bytes();
        lengths[(month[0] - b'a') as usize] |= 1 << month.len();
        at += 1;
    }
    lengths
};

/// They in order.
static SORTED: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut months = MONTHS.to_vec();
    months.sort_unstable();
    months
});

/// Whether a word is a month's name.
pub(crate) fn is_month(word: &str) -> bool {
    if word.is_ascii() {
        let mut plain = [0; LONGEST];
        let plain = plain.get_mut(..word.len());
        return plain.is_some_and(|plain| {
            plain.copy_from_slice(word.as_bytes());
            plain.make_ascii_lowercase();
            is_plain_month(plain)
        });
    }
    let letters = word.chars().flat_map(char::to_lowercase);
    let letters = letters.filter(|c| !is_accent(*c)).map(|c| match c {
        'ä' | 'à' => 'a',
        'é' => 'e',
        'û' => 'u',
        'ç' => 'c',
        'ń' => 'n',
        'ś' => 's',
        'ź' => 'z',
        other => other,
    });
    let mut plain = [0; LONGEST];
    let mut length = 0;
    for letter in letters {
        let (Some(place), Ok(letter)) = (plain.get_mut(length), u8::try_from(letter)) else {
            return false;
        };
        *place = letter;
        length += 1;
    }
    is_plain_month(&plain[..length])
}

/// Whether a word in lower case and without accents is a month's name.
fn is_plain_month(word: &[u8]) -> bool {
    let first = word.first().map(|it| usize::from(it.wrapping_sub(b'a')));
    let lengths = first.and_then(|first| LENGTHS.get(first).copied());
    let found = || SORTED.binary_search_by(|month| month.as_bytes().cmp(word));
    lengths.is_some_and(|it| it >> word.len() & 1 == 1) && found().is_ok()
}

/// Whether this is an accent of the letter before it, as some systems write names.
pub(crate) fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn months_are_words_of_many_languages() {
        for word in [
            "Jan",
            "MÄRZ",
            "ma\u{308}rz",
            "février",
            "październik",
            "sept",
        ] {
            assert!(is_month(word), "{word}");
        }
        for word in [
            "",
            "ja",
            "marching",
            "total",
            "марч",
            "m\u{e1}j",
            "septiembres",
            "a word that is longer",
        ] {
            assert!(!is_month(word), "{word}");
        }
    }
}
