//! What a text about a table says first, in a line: lists show it, and a whole text is read where
//! somebody opens the table.

/// Characters of a line.
const CHARACTERS: usize = 200;
/// Lines that are looked through for it.
const LINES: usize = 60;

/// The first sentence of a text: of the first paragraph or list item that is no heading; without
/// the signs of Markdown. A text of headings alone gives the first of them. `None` where nothing is
/// said.
pub(crate) fn brief(text: &str) -> Option<String> {
    let mut heading = None;
    let mut paragraph = String::new();
    for line in text.lines().take(LINES).map(str::trim) {
        let is_sign = line.starts_with(['|', '<', '!', '[', '{', '}', ']'])
            || line.starts_with("```")
            || line.chars().all(|sign| "-=*_#~+".contains(sign));
        if is_sign {
            match paragraph.is_empty() {
                true => continue,
                false => break,
            }
        }
        if line.starts_with('#') {
            if !paragraph.is_empty() {
                break;
            }
            heading.get_or_insert(line.trim_start_matches('#').trim());
            continue;
        }
        let item = line.strip_prefix(['-', '*', '+']);
        let line = item.filter(|item| item.starts_with(' ')).unwrap_or(line);
        if item.is_some() && !paragraph.is_empty() {
            break;
        }
        paragraph.push(' ');
        paragraph.push_str(without_label(line.trim()));
        if paragraph.len() > 4 * CHARACTERS || sentence_end(&paragraph).is_some() {
            break;
        }
    }
    let found = match paragraph.is_empty() {
        true => heading.unwrap_or_default(),
        false => &paragraph,
    };
    let found = &found[..sentence_end(found).unwrap_or(found.len())];
    // Signs of code and emphasis say nothing in a line.
    let words: Vec<&str> = found.split_whitespace().collect();
    let plain = words.join(" ").replace(['`', '*'], "");
    (!plain.is_empty()).then(|| shortened(&plain))
}

/// Manifests name what they say: `description: …`.
fn without_label(line: &str) -> &str {
    match line.split_once(':') {
        Some((label, rest))
            if ["description", "title", "summary"].contains(&label.to_lowercase().as_str())
                && !rest.trim().is_empty() =>
        {
            rest.trim()
        }
        _ => line,
    }
}

/// Where the first sentence ends, its stop left out: at a stop before a space, if it is no
/// abbreviation's.
fn sentence_end(text: &str) -> Option<usize> {
    let stops = text.match_indices(['.', '!', '?', '。']);
    let mut ends = stops.filter_map(|(at, stop)| {
        let rest = &text[at + stop.len()..];
        let word = text[..at].rsplit(' ').next().unwrap_or_default();
        let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric());
        let letters = word.chars().filter(|sign| sign.is_alphabetic()).count();
        let is_end = stop == "。" || (rest.starts_with(char::is_whitespace) && letters > 2);
        is_end.then_some(at)
    });
    ends.next()
}

fn shortened(text: &str) -> String {
    let text = text.trim_end_matches(['.', ' ', ':']);
    match text.char_indices().nth(CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let cut = &text[..end];
            let cut = cut.rsplit_once(' ').map_or(cut, |(words, _)| words);
            format!("{}…", cut.trim_end_matches([',', ';', ' ']))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_summed_up_by_its_first_sentence() {
        for (text, wanted) in [
            (
                "# Survey\n\nVolunteers lower a *disc* on a\nrope until it is `gone`. The depth tells",
                Some("Volunteers lower a disc on a rope until it is gone"),
            ),
            ("# Only a title\n\n---\n", Some("Only a title")),
            ("- day: when\n- amount: how much", Some("day: when")),
            ("title: Orders of the shop\nx", Some("Orders of the shop x")),
            ("| a | b |\n|---|---|\n", None),
            (
                "Mean wind (e.g. 3.5 m/s) at noon. More",
                Some("Mean wind (e.g. 3.5 m/s) at noon"),
            ),
            ("", None),
            ("  \n\n", None),
        ] {
            assert_eq!(brief(text).as_deref(), wanted, "{text}");
        }
        let long = brief(&"word ".repeat(500)).unwrap_or_default();
        assert!(long.ends_with("word…") && long.chars().count() <= CHARACTERS + 1);
        let unspaced = brief(&"é".repeat(500)).unwrap_or_default();
        assert_eq!(unspaced.chars().count(), CHARACTERS + 1);
    }
}
