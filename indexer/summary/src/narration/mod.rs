//! Narration: a language model describes every column, given the whole schema (PNEUMA, SIGMOD 2025,
//! section 5.2).
//!
//! [`schema_prompts`] is a pure function from a table's ordered column names to the prompts for its
//! columns, and [`parse_narration`] turns an answer into a text that goes into the index. The names
//! are all that a prompt knows: no table name, type or value. So a schema that a thousand tables
//! share is narrated once, and a changed row narrates nothing.
//!
//! A narration costs a model some tenths of a second to seconds, so the texts are short: what all
//! columns of a table share stands first, where a model computes it once, and a column's own part
//! is a dozen tokens.

mod answer;
mod prompt;
#[cfg(test)]
mod tests;

pub use answer::parse_narration;
pub use prompt::{ColumnPrompt, PromptBudget, schema_prompts};

/// Version of the prompts and of the parser: part of a stored narration's key, so that other words
/// narrate anew.
pub const NARRATION_PROMPT_VERSION: u32 = 2;

/// The most tokens of an answer.
pub const NARRATION_TOKENS: usize = 32;

/// The text that ends an answer.
pub const NARRATION_STOP: &str = "\n";

/// What a model answers when it is not certain.
pub const NO_DESCRIPTION: &str = "No description.";

/// Characters that show nothing but change how text is read: soft hyphens, zero-width and
/// direction marks, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The visible part of a text on one line.
fn visible_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    crate::clean::one_line(&visible)
}
