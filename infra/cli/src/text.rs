//! Small things about text for people: numbers, sizes, colours, marked words.

use std::collections::HashSet;
use std::io::IsTerminal;

use limn_segment::analyzer::analyze;

/// Colours, where standard output is a terminal that wants them.
pub struct Style {
    on: bool,
}

impl Style {
    /// Colours for standard output; `NO_COLOR` switches them off.
    pub fn of_stdout() -> Self {
        Self {
            on: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }

    fn wrap(&self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn bold(&self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(&self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn marked(&self, text: &str) -> String {
        self.wrap("1;33", text)
    }
}

/// Text on one line: every control character, line breaks among them, becomes a space, so nothing
/// in a table can steer a terminal or turn the direction in which the line is read.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || limn_store::is_steering(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// At most `width` characters, the last one an ellipsis if something was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// As [`cut`], where standard output is a terminal; what reads a pipe gets all of it.
pub fn fit(text: &str, width: usize) -> String {
    if std::io::stdout().is_terminal() {
        return cut(text, width);
    }
    text.to_owned()
}

fn wanted_in(word: &str, wanted: &HashSet<String>) -> Vec<String> {
    let mut terms = analyze(word);
    terms.retain(|term| wanted.contains(term));
    terms
}

/// The part of a text that holds the most of the wanted words, the first such, on one line.
pub fn shorten(text: &str, wanted: &HashSet<String>, width: usize) -> String {
    let text = one_line(text);
    let words: Vec<&str> = text.split(' ').collect();
    let first = fullest(&words, wanted, width - width / 3);
    let mut start = first;
    let mut lead = 0;
    while start > 0 && lead + words[start - 1].chars().count() < width / 3 {
        start -= 1;
        lead += words[start].chars().count() + 1;
    }
    let part = cut(&words[start..].join(" "), width);
    if start > 0 {
        format!("…{part}")
    } else {
        part
    }
}

/// The word from which on `width` characters hold the most different ones of the wanted; 0 if there
/// are none.
fn fullest(words: &[&str], wanted: &HashSet<String>, width: usize) -> usize {
    let mut matching: Vec<(usize, usize, Vec<String>)> = Vec::new();
    let mut place = 0;
    for (at, word) in words.iter().enumerate() {
        let terms = wanted_in(word, wanted);
        let end = place + word.chars().count();
        if !terms.is_empty() {
            matching.push((at, place, terms));
        }
        place = end + 1;
    }
    let held = |from: usize| {
        let rest = matching.get(from..).unwrap_or_default();
        let start = rest.first().map_or(0, |it| it.1);
        let near = rest.iter().take_while(|it| it.1 < start + width);
        let terms: HashSet<&String> = near.flat_map(|it| &it.2).collect();
        terms.len()
    };
    let places = 0..matching.len();
    let best = places.max_by_key(|from| (held(*from), std::cmp::Reverse(*from)));
    best.and_then(|from| matching.get(from))
        .map_or(0, |it| it.0)
}

/// The text with the words that match the question marked.
pub fn mark(text: &str, wanted: &HashSet<String>, style: &Style) -> String {
    if !style.on {
        return text.to_owned();
    }
    let marked = text.split(' ').map(|word| {
        if !wanted_in(word, wanted).is_empty() {
            style.marked(word)
        } else {
            word.to_owned()
        }
    });
    marked.collect::<Vec<_>>().join(" ")
}

/// A number with thousands separators.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 table", "2 tables".
pub fn plural(number: u64, what: &str) -> String {
    format!(
        "{} {what}{}",
        count(number),
        if number == 1 { "" } else { "s" }
    )
}

/// A size with its unit.
pub fn bytes(number: u64) -> String {
    indicatif::HumanBytes(number).to_string()
}

/// A duration in seconds.
pub fn seconds(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        indicatif::HumanDuration(std::time::Duration::from_secs_f64(seconds)).to_string()
    }
}

/// A time in UTC, to the second.
pub fn utc(milliseconds: i64) -> String {
    chrono::DateTime::from_timestamp_millis(milliseconds).map_or_else(
        || "?".to_owned(),
        |time| time.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_cannot_steer_the_terminal() {
        assert_eq!(one_line("a\x1b[31mred\nb\tc"), "a [31mred b c");
        assert_eq!(
            one_line("invoice\u{202e}fdp.exe\u{2069}"),
            "invoice fdp.exe"
        );
        assert_eq!(one_line("naïve שלום 東京"), "naïve שלום 東京");
    }

    #[test]
    fn the_part_with_the_match_is_shown() {
        let wanted = HashSet::from(["depth".to_owned()]);
        let text = format!("{} depth in metres", "word ".repeat(100));
        assert!(shorten(&text, &wanted, 60).contains("depth"));
    }

    #[test]
    fn the_part_with_the_most_matches_is_shown() {
        let wanted = analyze("salaried employee flag").into_iter().collect();
        let other = "the number of an employee and so on ".repeat(20);
        let text = format!("{other} flag of the salaried employee, {other}");
        let shown = shorten(&text, &wanted, 60);
        assert!(shown.contains("flag of the salaried"), "{shown}");
    }

    #[test]
    fn times_and_numbers() {
        assert_eq!(utc(1_709_208_000_000), "2024-02-29 12:00:00");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "table"), "1 table");
    }
}
