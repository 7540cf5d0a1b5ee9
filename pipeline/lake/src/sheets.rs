//! What names of sheets say: a sheet for each year, month, region or number, and sheets of totals.
//!
//! Sheets may belong together by names that are alike but for such words ([`form`]), or by their
//! columns alone: which do shows when they are read ([`crate::evolution`]). What distinguishes them
//! is in their names alone, so their table has it as a column ([`column`]): `year`, `quarter`,
//! `month` or `region`, else the name as `sheet`.

use std::collections::BTreeMap;

use limn_formats::Format;

use crate::dates::dated;
use crate::months::{is_accent, is_month};
use crate::place::split_path;

/// Sheets of these names sum up the others.
const TOTALS: [&str; 22] = [
    "total",
    "totals",
    "sum",
    "sums",
    "all",
    "overall",
    "overview",
    "summary",
    "summe",
    "summen",
    "gesamt",
    "alle",
    "übersicht",
    "zusammenfassung",
    "totale",
    "totaux",
    "résumé",
    "resumen",
    "totalt",
    "suma",
    "razem",
    "合計",
];

/// Points of the compass, continents and the markets that companies divide the world into, in
/// words.
const REGIONS: [&str; 42] = [
    "north",
    "northern",
    "south",
    "southern",
    "east",
    "eastern",
    "west",
    "western",
    "northeast",
    "northwest",
    "southeast",
    "southwest",
    "midwest",
    "central",
    "middle",
    "europe",
    "european",
    "asia",
    "africa",
    "america",
    "americas",
    "australia",
    "oceania",
    "antarctica",
    "pacific",
    "atlantic",
    "emea",
    "apac",
    "apj",
    "latam",
    "amer",
    "nam",
    "anz",
    "dach",
    "mena",
    "cee",
    "benelux",
    "nordics",
    "iberia",
    "domestic",
    "international",
    "overseas",
];

/// The meaning of a word of a sheet's name for its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Year,
    Quarter,
    Month,
    Region,
    Number,
    Nothing,
}

impl Says {
    fn of(word: &str) -> Says {
        let word = word.to_lowercase();
        if word.bytes().all(|b| b.is_ascii_digit()) {
            let is_year = word.len() == 4 && ("1900".."2100").contains(&word.as_str());
            return if is_year { Says::Year } else { Says::Number };
        }
        if let [b'q', b'1'..=b'4'] = word.as_bytes() {
            return Says::Quarter;
        }
        if is_month(&word) {
            Says::Month
        } else if REGIONS.contains(&word.as_str()) {
            Says::Region
        } else {
            Says::Nothing
        }
    }

    /// Stands for such a word in a form.
    fn mark(self) -> &'static str {
        match self {
            Says::Year => "\u{1}y",
            Says::Quarter => "\u{1}q",
            Says::Month => "\u{1}m",
            Says::Region => "\u{1}r",
            Says::Number => "\u{1}n",
            Says::Nothing => "",
        }
    }
}

/// The words of a sheet's name with what they say, and where they are in it.
fn words(name: &str) -> Vec<(usize, &str, Says)> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(first) = name[rest..].chars().next() {
        if !first.is_alphanumeric() {
            rest += first.len_utf8();
            continue;
        }
        let after = &name[rest..];
        let end =
            |is_in: &dyn Fn(char) -> bool| after.find(|c: char| !is_in(c)).unwrap_or(after.len());
        let whole = end(&|c| c.is_alphanumeric() || is_accent(c));
        // Letters and digits are words of their own (`FY23`), unless they are a quarter.
        let run = match first.is_ascii_digit() {
            true => end(&|c| c.is_ascii_digit()),
            false => end(&|c| (c.is_alphanumeric() || is_accent(c)) && !c.is_ascii_digit()),
        };
        let length = match Says::of(&after[..whole]) {
            Says::Quarter => whole,
            _ => run,
        };
        let word = &after[..length];
        words.push((rest, word, Says::of(word)));
        rest += length;
    }
    words
}

/// The name of a sheet; `None` for what is no sheet.
fn name_of(path: &str) -> Option<&str> {
    (Format::of_part(path) == Some(Format::Sheet)).then(|| split_path(path).1)
}

/// The book that a sheet is of; `None` for no sheet.
pub(crate) fn book(path: &str) -> Option<&str> {
    name_of(path).map(|_| split_path(path).0)
}

/// Whether a sheet sums up the others, as its name says.
pub(crate) fn is_total(path: &str) -> bool {
    let name = name_of(path).map(str::to_lowercase);
    name.is_some_and(|name| TOTALS.contains(&name.trim()))
}

/// What the names of a table's sheets have in common; `None` for a name in which nothing can vary,
/// and for no sheet.
pub(crate) fn form(path: &str) -> Option<String> {
    let mut form: Vec<String> = Vec::new();
    for (_, word, says) in words(name_of(path)?) {
        let next = match says {
            Says::Nothing => word.to_lowercase(),
            says => says.mark().to_owned(),
        };
        // `North America` is one region as `Europe` is.
        if says != Says::Region || form.last() != Some(&next) {
            form.push(next);
        }
    }
    let varies = form.iter().any(|word| word.starts_with('\u{1}'));
    varies.then(|| form.join(" "))
}

/// The form of those sheets of a file that may be one table: the only one that several of them
/// have.
pub(crate) fn common_form<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut forms: BTreeMap<String, usize> = BTreeMap::new();
    for form in paths.filter_map(form) {
        *forms.entry(form).or_default() += 1;
    }
    let mut several = forms.into_iter().filter(|(_, sheets)| *sheets > 1);
    several
        .next()
        .filter(|_| several.next().is_none())
        .map(|(form, _)| form)
}

/// The column that distinguishes the rows of a table's sheets.
pub(crate) struct SheetColumn {
    pub(crate) name: &'static str,
    /// Whether the value is the part of the name that varies, and not all of it.
    is_part: bool,
}

impl SheetColumn {
    /// Of a table with files at these paths; `None` where they are not sheets of several names, or
    /// of books in different folders.
    pub(crate) fn of(paths: &[&str]) -> Option<SheetColumn> {
        let [first, _, ..] = paths else {
            return None;
        };
        let folder =
            |path: &str| book(path).map(|book| dated(path).map_or(book, |it| it.home).to_owned());
        let is_beside = |path: &&str| folder(path).is_some() && folder(path) == folder(first);
        let name = name_of(first)?;
        if !paths.iter().all(is_beside) || paths.iter().all(|it| name_of(it) == Some(name)) {
            return None;
        }
        let form_of_first = form(first);
        let are_alike = paths.iter().all(|path| form(path) == form_of_first);
        let said = words(name).into_iter().map(|(.., says)| says);
        let mut said: Vec<Says> = said.filter(|says| *says != Says::Nothing).collect();
        said.dedup();
        let has = |says| said.contains(&says);
        let only = |among: &[Says]| said.iter().all(|says| among.contains(says));
        let name = if !are_alike {
            "sheet"
        } else if has(Says::Month) && only(&[Says::Month, Says::Year, Says::Number]) {
            "month"
        } else if has(Says::Quarter) && only(&[Says::Quarter, Says::Year]) {
            "quarter"
        } else if has(Says::Year) && only(&[Says::Year]) {
            "year"
        } else if has(Says::Region) && only(&[Says::Region]) {
            "region"
        } else {
            "sheet"
        };
        Some(SheetColumn {
            name,
            is_part: name != "sheet",
        })
    }

    /// The value of a sheet's rows.
    pub(crate) fn value(&self, path: &str) -> String {
        let name = name_of(path).unwrap_or(path);
        let words = words(name);
        let mut varying = words.iter().filter(|(.., says)| *says != Says::Nothing);
        let first = varying.next().filter(|_| self.is_part);
        let Some((start, ..)) = first else {
            return name.to_owned();
        };
        let (last, word, _) = varying.next_back().or(first).unwrap_or(&words[0]);
        name[*start..last + word.len()].to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn paths(names: &[&str]) -> Vec<String> {
        let paths = names.iter().map(|name| format!("a/b.xlsx//{name}"));
        paths.collect()
    }

    #[test]
    fn names_alike_but_for_years_months_regions_and_numbers_have_one_form() {
        for names in [
            ["2023", "2024"],
            ["Sales 2023", "sales_2024"],
            ["Jan", "September"],
            ["Jan 2024", "feb-2023"],
            ["Europe", "North America"],
            ["Q1", "q4"],
            ["FY23", "FY 24"],
            ["Sheet1", "Sheet2"],
        ] {
            let [a, b] = paths(&names).try_into().unwrap();
            assert!(form(&a).is_some(), "{names:?}");
            assert_eq!(form(&a), form(&b), "{names:?}");
        }
        for names in [
            ["Orders", "Customers"],
            ["Orders 2023", "Customers 2023"],
            ["2023", "Jan"],
            ["2023", "Notes"],
        ] {
            let [a, b] = paths(&names).try_into().unwrap();
            assert!(form(&a).is_none() || form(&a) != form(&b), "{names:?}");
        }
        assert_eq!(form("a/2023.csv"), None);
    }

    #[test]
    fn sheets_of_one_form_are_together_and_others_stay() {
        let common = |names: &[&str]| {
            let paths = paths(names);
            common_form(paths.iter().map(String::as_str))
        };
        assert_eq!(
            common(&["2023", "Notes", "2024"]),
            common(&["2021", "2022"])
        );
        assert!(common(&["2023", "2024"]).is_some());
        assert_eq!(common(&["2023", "Notes"]), None);
        // Two tables of two sheets each: no name of the file would say which is which.
        assert_eq!(common(&["Sales 1", "Sales 2", "Costs 1", "Costs 2"]), None);
    }

    #[test]
    fn what_varies_is_a_column() {
        let column = |names: &[&str]| {
            let paths = paths(names);
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let column = SheetColumn::of(&paths)?;
            let values: Vec<String> = paths.iter().map(|path| column.value(path)).collect();
            Some(format!("{}: {}", column.name, values.join(", ")))
        };
        let described = |names| column(names).unwrap();
        assert_eq!(described(&["Sales 2023", "Sales 2024"]), "year: 2023, 2024");
        assert_eq!(
            described(&["Jan 2024", "Feb 2024"]),
            "month: Jan 2024, Feb 2024"
        );
        assert_eq!(described(&["Mar", "May"]), "month: Mar, May");
        assert_eq!(
            described(&["North America", "EMEA"]),
            "region: North America, EMEA"
        );
        assert_eq!(
            described(&["2024 Q1", "2024 Q2"]),
            "quarter: 2024 Q1, 2024 Q2"
        );
        assert_eq!(described(&["Team 1", "Team 2"]), "sheet: Team 1, Team 2");
        assert_eq!(
            described(&["EMEA 2023", "APAC 2023"]),
            "sheet: EMEA 2023, APAC 2023"
        );
        assert_eq!(column(&["2024"]), None);
        assert!(SheetColumn::of(&["a/2023.csv", "a/2024.csv"]).is_none());
    }
}
