//! HTML as plain text, in the shapes in which [`super::column_descriptions`] finds columns: a line
//! a block, `| a | b |` a row of a table, `term: definition` an entry of a definition list.
//!
//! Pages are tokenised, not built into trees (`html5gum`, by the HTML standard's own states), so
//! neither nesting nor missing end tags cost memory; the text is at most twice as long as its page.

use encoding_rs::{Encoding, UTF_8};
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

/// Elements whose content is not text for a reader.
const UNSEEN: [&[u8]; 8] = [
    b"script",
    b"style",
    b"template",
    b"noscript",
    b"svg",
    b"iframe",
    b"object",
    b"select",
];
/// Elements within a line; all others begin a new one.
const INLINE: [&[u8]; 24] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"cite", b"code", b"data", b"del", b"dfn", b"em", b"font",
    b"i", b"ins", b"kbd", b"mark", b"q", b"s", b"small", b"span", b"strong", b"sub", b"sup", b"u",
];
/// Where a page says how it is encoded.
const DECLARATION: usize = 1024;

/// The text of a page.
pub(super) fn text_of(page: &[u8]) -> String {
    let (page, _, _) = encoding_of(page).decode(page);
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut text = Text::default();
    // Names of elements that are not seen, with how often each is open within itself.
    let mut unseen: Option<(Vec<u8>, usize)> = None;
    // Reading from memory does not fail.
    for token in Tokenizer::new_with_emitter(&*page, emitter).flatten() {
        match (token, &mut unseen) {
            (Token::StartTag(tag), Some((name, open))) => {
                *open += usize::from(tag.name.as_slice() == name && !tag.self_closing);
            }
            (Token::EndTag(tag), Some((name, open))) => {
                *open -= usize::from(tag.name.as_slice() == name);
                if *open == 0 {
                    unseen = None;
                }
            }
            (Token::StartTag(tag), None) => {
                if !UNSEEN.contains(&tag.name.as_slice()) {
                    text.begin(&tag.name);
                } else if !tag.self_closing {
                    unseen = Some((tag.name.to_vec(), 1));
                }
            }
            (Token::EndTag(tag), None) => text.end(&tag.name),
            (Token::String(said), None) => text.say(&String::from_utf8_lossy(&said.value)),
            _ => {}
        }
    }
    text.finish()
}

/// The encoding by the byte order mark, or as the page declares it.
fn encoding_of(page: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(page) {
        return encoding;
    }
    let begin = String::from_utf8_lossy(&page[..page.len().min(DECLARATION)]).to_ascii_lowercase();
    let declared = begin.split_once("charset=").and_then(|(_, rest)| {
        let rest = rest.trim_start_matches(['"', '\'']);
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && !"-_:".contains(it));
        Encoding::for_label(rest.get(..end.unwrap_or(rest.len()))?.as_bytes())
    });
    declared.unwrap_or(UTF_8)
}

#[derive(Default)]
struct Text {
    lines: String,
    /// The line that is being written.
    line: String,
    /// The cells of the row that is being written, the last one unfinished.
    row: Option<Vec<String>>,
    /// How many of them are headers.
    heads: usize,
    /// Whether the line is the term of a definition.
    is_term: bool,
}

impl Text {
    fn begin(&mut self, name: &[u8]) {
        match name {
            b"td" | b"th" => {
                self.heads += usize::from(name == b"th");
                self.row.get_or_insert_default().push(String::new());
            }
            b"tr" | b"table" => self.end_line(),
            b"dd" if self.is_term && !self.line.trim().is_empty() => {
                self.line.truncate(self.line.trim_end().len());
                self.line.push_str(": ");
                self.is_term = false;
            }
            b"dt" => {
                self.new_line();
                self.is_term = true;
            }
            b"li" => {
                self.new_line();
                self.say("- ");
            }
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.new_line();
                self.say("# ");
            }
            _ if INLINE.contains(&name) => {}
            _ => self.new_line(),
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"tr" | b"table" => self.end_line(),
            b"td" | b"th" | b"dt" => {}
            _ if INLINE.contains(&name) => {}
            _ => self.new_line(),
        }
    }

    fn say(&mut self, text: &str) {
        let line = match self.row.as_mut().and_then(|row| row.last_mut()) {
            Some(cell) => cell,
            None => &mut self.line,
        };
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end();
            line.push_str(word);
            if word.len() < piece.len() && !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        }
    }

    /// A new line; within a cell a space.
    fn new_line(&mut self) {
        match &self.row {
            Some(_) => self.say(" "),
            None => self.end_line(),
        }
    }

    fn end_line(&mut self) {
        let line = match self.row.take() {
            Some(cells) if cells.iter().any(|cell| !cell.trim().is_empty()) => {
                let cells: Vec<String> = cells
                    .iter()
                    .map(|cell| cell.trim().replace('|', "/"))
                    .collect();
                let rule = if self.heads == cells.len() {
                    format!("\n|{}", "---|".repeat(cells.len()))
                } else {
                    String::new()
                };
                format!("| {} |{rule}", cells.join(" | "))
            }
            Some(_) => String::new(),
            None => std::mem::take(&mut self.line),
        };
        (self.is_term, self.heads) = (false, 0);
        let line = line.trim();
        if !matches!(line, "" | "-" | "#") {
            self.lines.push_str(line);
            self.lines.push('\n');
        }
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.end_line();
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::column_descriptions;
    use super::*;

    #[test]
    fn pages_are_read_as_a_reader_sees_them() {
        for (page, text) in [
            ("", ""),
            ("plain &amp; simple", "plain & simple\n"),
            (
                "<title>Orders</title><style>p {x: y}</style><script>if (a < b) { '</p>' }</script><h1>Of the\n shop</h1><p>What was <b>sold</b>.<p>And when",
                "Orders\n# Of the shop\nWhat was sold.\nAnd when\n",
            ),
            (
                "<table><thead><tr><th>Column<th>Meaning</tr></thead><tr><td>id</td><td>The <i>number</i><br>a|b</td></tr><tr><td></td></tr></table>after",
                "| Column | Meaning |\n|---|---|\n| id | The number a/b |\nafter\n",
            ),
            (
                "<dl><dt>id</dt>\n<dd>The number</dd><dt>day<dd>When</dl><ul><li>one<li>two</ul>",
                "id: The number\nday: When\n- one\n- two\n",
            ),
            ("<svg><svg></svg>x</svg>y<script>never ends <p>z", "y\n"),
        ] {
            assert_eq!(text_of(page.as_bytes()), text, "{page}");
        }
        assert_eq!(
            text_of(b"<meta charset=\"latin1\"><p>caf\xe9"),
            "caf\u{e9}\n"
        );
        assert_eq!(text_of(b"\xff\xfea\0b\0"), "ab\n");
    }

    #[test]
    fn columns_are_found_in_pages() {
        let page = "<table><tr><th>Name</th><th>Description</th></tr><tr><td><code>id</code></td><td>The number</td></tr></table><dl><dt>day<dd>When it came</dl>";
        let found = column_descriptions(&[&text_of(page.as_bytes())], &["id", "day"]);
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [Some("The number"), Some("When it came")]);
    }

    proptest! {
        #[test]
        fn any_page_is_read_and_none_grows(page in "(<|>|/|td|th|tr|dt|dd|li|h1|table|script|svg|a|&amp;|&|\"|=| |\n|é){0,60}") {
            let text = text_of(page.as_bytes());
            // A header of four letters (`<th>`) is written with seven.
            prop_assert!(text.len() <= 2 * page.len() + 8, "{:?}", text);
        }
    }
}
