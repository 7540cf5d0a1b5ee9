//! Recorded texts cut into passages, one of which a question asks for.

use limn_models::quote;

/// Characters of a context in a prompt and in a line.
pub(crate) const LONGEST: usize = 800;

/// The passages of a recorded text: whole paragraphs of [`LONGEST`] characters together, longer
/// ones cut. Short ones say too little to be asked for.
pub(crate) fn passages(text: &str) -> Vec<String> {
    let mut passages: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let paragraph = quote(paragraph.trim(), LONGEST);
        let length = paragraph.chars().count();
        match passages.last_mut() {
            Some(last) if last.chars().count() + length < LONGEST => {
                last.push('\n');
                last.push_str(&paragraph);
            }
            _ => passages.push(paragraph),
        }
    }
    passages.retain(|it| it.split_whitespace().count() > 5);
    passages
}
