//! Names of columns that are values themselves, and summaries without them.
//!
//! A name may be a value: JSON whose keys are data, a matrix of persons, a text without a header of
//! which the first row was taken for one. A name that is, or holds, what people are known by
//! ([`super::kind_of`]) is not kept where values are not. Where no value at all is to be kept, of a
//! first row that only may be a header the names stay that are made of [`USUAL`] words alone: those
//! say nothing of anybody, whatever the row was. The other columns are called by their place,
//! `column_3`.

use std::collections::HashMap;

use super::{Redact, kind_of, words};
use crate::names::distinct;
use crate::summary::FileSummary;
use crate::text::counted;

/// Digits that a usual name may have: `address_2`, `q4`.
const DIGITS: usize = 2;

/// Words that columns are usually named with, and nobody else.
const USUAL: &str = "
    abbreviation account accuracy action active activity actual address adults age agency altitude amount annual answer area
    article artist at attribute author authors average balance bank barcode batch begin benefit bill billing birth birthdate
    birthday body book brand browser budget building by calendar campaign capacity capital card carrier cases cat category
    cell census channel chapter charge children city class client close code codes col color colour column comment comments
    commune company component contact content continent cost count country county course created creator credit currency
    current customer daily data database date datetime day days dealer debit debt deleted delivery density department depth
    desc description destination device diagnosis difference dimension direction director discount disease distance district
    division doctor document domain due duration duty e edition education elevation email employee employees employer end
    energy ended entity entry error estimate event expense export family fare fax fee field file final first fiscal flag
    flight folder food foot for format frequency from fuel full gender genre given goal grade grand gross group half has
    headquarters height high hire holiday home host hour hours household iban id identifier ids image import in income
    index industry info insurance interest invoice ip is issue item items job journal key keyword keywords kind label land
    language last lat latitude launch length level license limit line link list lng loan location log lon long longitude
    low mail manager manufacturer margin market max maximum mean measure median medium member message method middle min minimum
    minute mobile mode model modified module month monthly mother municipality name names nationality net next no note notes
    nr num number occupation of office on open opened option or order orders organisation organization origin outcome owner
    page parent part partner party passenger password path patient pay payment per percent percentage period person phone
    photo place plan plant platform player population port position postal postcode predicted price primary priority process
    product products profession profit program project property province publication published publisher purpose qty
    quality quantity quarter question rank rate rating ratio reason received record ref reference region registration
    relation release remark remarks report request response result results revenue review role room route row salary sale
    sales sample scale schedule school score season second section sector segment seller sender series service session sex
    share shipping shop short signal site size sku source species speed staff stage stamp start started state station
    status step stock stop store street student subject sum supplier surname symbol system table tag tags target task tax
    team telephone temperature term text ticket time timestamp title to token topic total town track traffic train
    transaction transport trend trip type types uid unit units until update updated url usage user username uuid valid value
    values variable vendor version visit visits volume votes wage warehouse website week weight width wind winner with work
    year yearly years zip zone";

/// Whether a name is made of usual words: it says nothing of anybody, be it a name or a value.
fn is_usual(name: &str) -> bool {
    let words = words(name);
    let digits = name.chars().filter(|it| it.is_numeric()).count();
    let is_known = |word: &String| USUAL.split_ascii_whitespace().any(|it| it == word);
    !words.is_empty() && digits <= DIGITS && words.iter().all(is_known)
}

/// Whether a column's name is a value that is not to be kept, be it as one key of a path
/// (`users.+49 30 901820.age`).
fn is_value(name: &str) -> bool {
    let mut keys = name.split('.').map(|key| key.trim_end_matches("[]"));
    kind_of(name).is_some() || keys.any(|key| kind_of(key).is_some())
}

impl FileSummary {
    /// Calls the columns by their places whose names are not to be kept. Doing so twice changes
    /// nothing.
    pub(super) fn redact_names(&mut self, redact: Redact) {
        let presumed = self.presumed_names;
        let is_kept = |name: &str| match redact {
            Redact::Off => true,
            Redact::Marked => !is_value(name),
            Redact::AllValues => !is_value(name) && (!presumed || is_usual(name)),
        };
        let kept: Vec<&str> = self
            .column_names()
            .map(|it| if is_kept(it) { it } else { "" })
            .collect();
        let names = distinct(&kept);
        // With `all-values` a name is judged once: a made-up one is not usual either.
        self.presumed_names &= redact != Redact::AllValues;
        let mut others = HashMap::new();
        let mut renamed = 0;
        for (column, name) in self.columns.iter_mut().zip(names) {
            if column.name != name && !is_kept(&column.name) {
                renamed += 1;
                others.insert(std::mem::replace(&mut column.name, name.clone()), name);
            }
        }
        if renamed == 0 {
            return;
        }
        let keys = &mut self.keys;
        let references = keys.references.iter_mut().flat_map(|it| &mut it.columns);
        let lists = keys
            .primary
            .iter_mut()
            .chain(keys.unique.iter_mut().flatten());
        for name in lists.chain(references) {
            if let Some(other) = others.get(name) {
                name.clone_from(other);
            }
        }
        let note = format!(
            "names withheld of {}, which may be values",
            counted(renamed, "column")
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_distinguished_from_what_may_be_values() {
        for name in [
            "id",
            "First Name",
            "customerId",
            "order_date",
            "address2",
            "E-Mail",
            "Q4 sales",
        ] {
            assert_eq!(is_usual(name), name != "Q4 sales", "{name}");
        }
        for name in [
            "Lovelace",
            "Ada",
            "name 1906",
            "New York",
            "",
            "2020",
            "order 123",
        ] {
            assert!(!is_usual(name), "{name}");
        }
        let mut words: Vec<&str> = USUAL.split_ascii_whitespace().collect();
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count, "each word once");
    }

    #[test]
    fn names_that_are_values_are_known_in_paths_too() {
        for name in [
            "ada@example.org",
            "users.ada@example.org.age",
            "users.+49 30 901820[].age",
            "078-05-1120",
        ] {
            assert!(is_value(name), "{name}");
        }
        for name in ["email", "users.age", "2024-01-02", "a.b[].c", "column_1"] {
            assert!(!is_value(name), "{name}");
        }
    }
}
