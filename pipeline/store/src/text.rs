//! Text that others wrote (names, keys, foreign messages), made safe to show.
//!
//! A terminal obeys escape sequences, and some characters make text read in another order than it
//! is written: a file's name must be able to do neither.

/// Characters that a shown line has at most.
const LINE_CHARS: usize = 300;

/// Whether a character steers a terminal or the direction of text instead of being shown: control
/// characters, and the characters of Unicode's bidirectional algorithm that have no form of their
/// own (UAX #9, section 2).
pub fn is_steering(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control()
}

/// The text on one line of bearable length: runs of white space and [steering](is_steering)
/// characters as one space.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(4 * LINE_CHARS));
    let mut length = 0;
    for word in text.split(|c: char| c.is_whitespace() || is_steering(c)) {
        if word.is_empty() {
            continue;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for c in word.chars() {
            line.push(c);
            length += 1;
            if length > LINE_CHARS {
                // One character more than may be shown: it makes room for the mark.
                line.truncate(
                    line.char_indices()
                        .nth(LINE_CHARS - 1)
                        .map_or(0, |(end, _)| end),
                );
                line.push('…');
                return line;
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(one_line("\u{1b}]0;x\u{7}a.csv"), "]0;x a.csv");
        assert_eq!(one_line("a\u{9b}2Jb\u{85}c"), "a 2Jb c");
        assert_eq!(one_line("a\u{202e}vsc.exe\u{2066}"), "a vsc.exe");
        assert_eq!(one_line("  a\r\n\t b  "), "a b");
        assert_eq!(one_line("שָׁלוֹם ü"), "שָׁלוֹם ü");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(one_line(&"ü".repeat(300)).chars().count(), 300);
        let cut = one_line(&"ü ".repeat(300));
        assert_eq!(cut.chars().count(), 300);
        assert!(cut.ends_with("ü…") || cut.ends_with(" …"), "{cut}");
    }
}
