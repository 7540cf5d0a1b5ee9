//! `limn search --why`: the score of a table as the sum that it is.

use limn_retrieval::{Hit, Share};

use crate::text::one_line;

/// Less is 0.000 as it is printed.
const SHOWN: f32 = 0.0005;

/// The lines that say why a table has its score, and its place where it joins one before it.
pub fn lines(hit: &Hit) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if !hit.shares.is_empty() {
        let counting = hit.shares.iter().filter(|it| it.contribution >= SHOWN);
        let mut terms: Vec<String> = counting.map(term).collect();
        if terms.is_empty() {
            terms.push("nothing".to_owned());
        }
        lines.push(format!("score {:.3} = {}", hit.score, terms.join(" + ")));
    }
    if let Some(joined) = &hit.joined {
        let partner = one_line(&joined.partner);
        let bonus = joined.bonus;
        let adds = match joined.adds_words() {
            true => ", and has words that those before it lack",
            false => "",
        };
        lines.push(format!(
            "its place counts {bonus:.3} more: it joins {partner}{adds}"
        ));
    }
    lines
}

/// A term of the sum: what it adds, of what, and how that comes about.
fn term(share: &Share) -> String {
    let Share {
        name,
        value,
        weight,
        contribution,
    } = share;
    match title(name) {
        Some(title) => format!("{contribution:.3} {title} ({value:.2} × {weight:.3})"),
        None => format!("{contribution:.3} (the question names it)"),
    }
}

/// What a value is called; none of the share for being named.
fn title(name: &'static str) -> Option<&'static str> {
    match name {
        "formula_words" => Some("words"),
        "formula_meaning" => Some("meaning"),
        "meaning" => Some("meaning again"),
        "covered" => Some("words covered"),
        "name" => Some("its name"),
        "contexts" => Some("its contexts"),
        "named" => None,
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_says_what_it_is_made_of() {
        let of = |name| {
            term(&Share {
                name,
                value: 0.5,
                weight: 0.25,
                contribution: 0.125,
            })
        };
        assert_eq!(of("name"), "0.125 its name (0.50 × 0.250)");
        assert_eq!(of("named"), "0.125 (the question names it)");
    }
}
