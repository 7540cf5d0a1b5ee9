//! Names of columns and tables, and whether one refers to another.
//!
//! `customer_id`, `CustomerID` and `customerId` are the words *customer* and *id*. Words such as
//! *id* say that a column is a key and not of what: what is left without them at the end is the
//! name's *stem*. `id` has none, and means the id of its table.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::edge::Millionths;
use crate::short::Short;

/// Words that say what kind of thing a column is, and not of what.
const GENERIC: [&str; 27] = [
    "id",
    "key",
    "code",
    "no",
    "nr",
    "num",
    "nbr",
    "number",
    "name",
    "index",
    "idx",
    "pk",
    "fk",
    "uid",
    "uuid",
    "guid",
    "ref",
    "sk",
    "rowid",
    "row",
    "date",
    "time",
    "timestamp",
    "day",
    "month",
    "year",
    "value",
];
/// Words whose end is an *s* that is no plural's.
const SINGULAR: [&str; 4] = ["ss", "us", "is", "as"];
/// Words that are the same in both numbers, or no plurals at all.
const UNCOUNTED: [&str; 5] = ["series", "species", "news", "goods", "means"];
/// Words of a name, at most, from which on what follows is looked at as a name.
const BEGINNINGS: usize = 4;
/// Letters of a name's end that are enough for another name.
const LETTERS: usize = 3;
/// Letters that a word of an abbreviation has, at most, and those by which a name meets what it is
/// short for.
const SHORT: usize = 5;
const HEAD: usize = 3;

/// A name as words in the singular, in lower case, run together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    letters: String,
    /// Where words begin.
    starts: Vec<u16>,
    /// Where the stem ends: 0 if every word is generic.
    stem: u16,
    /// Whether its last word is a plural.
    is_plural: bool,
}

impl Name {
    /// A column's name.
    #[must_use]
    pub fn of_column(name: &str) -> Name {
        Name::of(name)
    }

    /// A table's: what follows the last `/`, `.` or `__`.
    #[must_use]
    pub fn of_table(name: &str) -> Name {
        let own = name.rsplit(['/', '.']).next().unwrap_or(name);
        let own = own.rsplit("__").find(|part| !part.is_empty());
        Name::of(own.unwrap_or(name))
    }

    fn of(name: &str) -> Name {
        let mut it = Name::default();
        for (word, is_plural) in words(name) {
            let start = it.letters.len() as u16;
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            let is_generic = is_number || GENERIC.contains(&word.as_str());
            // Longer names than this are cut: nobody refers to them by their end.
            if it.letters.len() + word.len() > usize::from(u16::MAX) {
                break;
            }
            it.letters.push_str(&word);
            it.starts.push(start);
            it.is_plural = is_plural;
            if !is_generic {
                it.stem = it.letters.len() as u16;
            }
        }
        // `studentid`, of which nothing shows two words.
        if let ([_], Some(stem)) = (it.starts.as_slice(), it.letters.strip_suffix("id"))
            && stem.len() >= LETTERS
        {
            it.stem = stem.len() as u16;
        }
        it
    }

    /// Whether it is the same name, in the singular or in the plural.
    pub(crate) fn is_same(&self, other: &Name) -> bool {
        (&self.letters, &self.starts, self.stem) == (&other.letters, &other.starts, other.stem)
    }

    /// The whole name.
    #[must_use]
    pub fn letters(&self) -> &str {
        &self.letters
    }

    /// The name without generic words at its end; empty if it has no other.
    #[must_use]
    pub fn stem(&self) -> &str {
        &self.letters[..usize::from(self.stem)]
    }

    /// Whether it says no more than what kind of thing this is.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.stem == 0
    }

    /// Whether it counts things, as a number that is called `items` does: what refers to one of
    /// them is called by the singular.
    pub(crate) fn is_count(&self) -> bool {
        self.is_plural
    }

    /// What the name ends in from a word on, without its end where that is generic.
    fn ends<'a>(&self, whole: &'a str) -> impl Iterator<Item = &'a str> {
        let starts: Vec<usize> = self.starts.iter().map(|it| usize::from(*it)).collect();
        let first = starts.len().saturating_sub(BEGINNINGS);
        let ends = starts.into_iter().skip(first);
        ends.filter_map(move |start| whole.get(start..))
            .filter(|end| end.len() >= LETTERS)
    }

    /// Whether it ends in a word such as *id*, as what refers to something often does.
    fn is_called_a_key(&self) -> bool {
        self.stem > 0 && usize::from(self.stem) < self.letters.len()
    }

    /// Whether a key of this name is the one of `table`: `id`, `customer_id` and `cust_no` of
    /// `customers`, and of `dim_customer`, `customer_list` and `CUST_MST`, which begin or end so.
    pub(crate) fn is_key_of(&self, table: &Name) -> bool {
        let own: Vec<&str> = self.words(self.stem()).collect();
        let others: Vec<&str> = table.words(&table.letters).collect();
        let Some(more) = others.len().checked_sub(own.len()) else {
            return own.is_empty();
        };
        let is_called = |words: &[&str]| {
            words == own || are_short_for(own.iter().copied(), words.iter().copied())
        };
        own.is_empty() || is_called(&others[..own.len()]) || is_called(&others[more..])
    }

    /// The words of its letters, or of its stem.
    fn words<'a>(&'a self, whole: &'a str) -> impl Iterator<Item = &'a str> {
        let starts = self.starts.iter().map(|it| usize::from(*it));
        let ends = starts.clone().skip(1).chain([whole.len()]);
        starts
            .zip(ends)
            .filter_map(move |(start, end)| whole.get(start..end.min(whole.len())))
            .filter(|word| !word.is_empty())
    }

    /// Whether it refers to a key by an abbreviation of what the key is called.
    pub(crate) fn is_short_for(&self, key: &Name, table: &Name) -> bool {
        let called = match key.is_generic() {
            true => table.words(&table.letters).collect::<Vec<_>>(),
            false => key.words(key.stem()).collect(),
        };
        self.may_be_short() && are_short_for(self.words(self.stem()), called.into_iter())
    }

    /// Hashes that an abbreviation shares with what it is short for: of its first letters, with and
    /// without vowels.
    fn heads(stem: &str) -> impl Iterator<Item = u64> {
        let plain: String = stem.chars().take(HEAD).collect();
        let bare: String = without_vowels(stem).take(HEAD).collect();
        let long_enough = |head: &String| head.chars().count() == HEAD;
        let heads = [("first", plain), ("bare", bare)].into_iter();
        heads
            .filter(move |it| long_enough(&it.1))
            .map(|(kind, head)| xxh3_64(format!("{kind}\0{head}").as_bytes()))
    }

    /// Whether it may be short for something, as `prd_id` is: none of its words is long.
    fn may_be_short(&self) -> bool {
        let mut words = self.words(self.stem());
        self.is_called_a_key() && words.all(|word| word.chars().count() <= SHORT)
    }

    fn ends_in(&self, whole: &str, end: &str) -> bool {
        let start = whole.len().checked_sub(end.len());
        let begins = |start| self.starts.iter().any(|it| usize::from(*it) == start);
        end.len() >= LETTERS && whole.ends_with(end) && start.is_some_and(begins)
    }

    /// Hashes that it shares with keys it may refer to ([`Name::key_hashes`]).
    pub(crate) fn reference_hashes(&self) -> Vec<u64> {
        let ends = self.ends(&self.letters).chain(self.ends(self.stem()));
        let mut hashes: Vec<u64> = ends.map(|end| xxh3_64(end.as_bytes())).collect();
        if self.may_be_short() {
            hashes.extend(Name::heads(self.stem()));
        }
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// As the name of a key of `table`: hashes that it shares with names that may refer to it.
    pub(crate) fn key_hashes(&self, table: &Name) -> Vec<u64> {
        let hash = |text: &str| xxh3_64(text.as_bytes());
        let mut hashes = if self.is_generic() {
            let mut hashes = vec![hash(&format!("{}{}", table.letters, self.letters))];
            hashes.extend(table.ends(&table.letters).map(hash));
            hashes
        } else {
            vec![hash(&self.letters), hash(self.stem()), hash(&table.letters)]
        };
        let stem = if self.is_generic() {
            &table.letters
        } else {
            self.stem()
        };
        hashes.extend(Name::heads(stem));
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// How well a column of this name refers to the column `key` of `table`, by names alone.
    #[must_use]
    pub fn refers_to(&self, key: &Name, table: &Name) -> Millionths {
        let full = format!("{}{}", table.letters, key.letters);
        let thousandths = if key.is_generic() {
            if self.letters == full {
                1000
            } else if !table.letters.is_empty()
                && (self.letters == table.letters || self.stem() == table.letters)
            {
                950
            } else if self.ends_in(&self.letters, &full)
                || self.ends_in(self.stem(), &table.letters)
                || self.is_short_for(key, table)
            {
                850
            } else if table.ends_in(&table.letters, self.stem()) {
                750
            } else if self.letters == key.letters {
                300
            } else {
                0
            }
        } else if self.letters == key.letters || self.letters == full {
            1000
        } else if self.stem() == key.stem()
            || !table.letters.is_empty() && self.stem() == table.letters && key.is_key_of(table)
        {
            900
        } else if self.is_short_for(key, table) {
            850
        } else if self.ends_in(&self.letters, &key.letters) || self.ends_in(self.stem(), key.stem())
        {
            800
        } else if !table.letters.is_empty() && self.stem() == table.letters {
            750
        } else {
            0
        };
        Millionths::new(thousandths * 1000)
    }
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u')
}

/// A word's first letter and its consonants.
fn without_vowels(word: &str) -> impl Iterator<Item = char> {
    let letters = word.chars().enumerate();
    letters
        .filter(|(at, letter)| *at == 0 || !is_vowel(*letter))
        .map(|(_, letter)| letter)
}

/// Whether some words are those of a name, in order, of which one or more are short.
fn are_short_for<'a>(
    short: impl Iterator<Item = &'a str>,
    long: impl Iterator<Item = &'a str>,
) -> bool {
    let (mut short, mut long, mut any) = (short, long, false);
    loop {
        match (short.next(), long.next()) {
            (None, None) => return any,
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) if Short::of(other).is_some_and(|it| it.is_surely_of(one)) => {
                any = true
            }
            _ => return false,
        }
    }
}

/// The words of a name in the singular, and whether they were plurals: split at what is no letter
/// or digit, and before humps.
fn words(name: &str) -> Vec<(String, bool)> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let is_hump = letter.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || before.is_some_and(char::is_uppercase)
                    && after.is_some_and(|it| it.is_lowercase()));
        if is_hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    let with_number = |mut word: String| {
        let is_uncounted = UNCOUNTED.contains(&word.as_str());
        let is_plural = singular(&mut word) && !is_uncounted;
        (word, is_plural)
    };
    words.into_iter().map(with_number).collect()
}

/// English plurals: `cities`, `boxes`, `orders`. Gives whether the word was one.
fn singular(word: &mut String) -> bool {
    if word.len() < 4 || SINGULAR.iter().any(|end| word.ends_with(end)) {
        return false;
    }
    let cut = |word: &mut String, letters: usize| word.truncate(word.len() - letters);
    if word.ends_with("ies") && word.len() > 4 {
        cut(word, 3);
        word.push('y');
    } else if ["ches", "shes", "xes", "sses"]
        .iter()
        .any(|end| word.ends_with(end))
    {
        cut(word, 2);
    } else if word.ends_with('s') {
        cut(word, 1);
    } else {
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refers(from: &str, table: &str, key: &str) -> u32 {
        let name = Name::of_column(from);
        let (key, table) = (Name::of_column(key), Name::of_table(table));
        let known = key.key_hashes(&table);
        let refers = name.refers_to(&key, &table);
        let meets = name.reference_hashes().iter().any(|it| known.contains(it));
        let is_found = meets || refers < Millionths::new(750_000);
        assert!(
            is_found,
            "{from} to {key:?} of {table:?} is not found by name"
        );
        refers.get() / 1000
    }

    #[test]
    fn names_refer_to_keys() {
        for (from, table, key, expected) in [
            ("customer_id", "sales/customers", "id", 1000),
            ("CustomerID", "dbo.Customers", "CustomerId", 1000),
            ("customer", "customers", "id", 950),
            ("customer_no", "customers", "id", 950),
            ("home_team_id", "soccer__teams", "id", 850),
            ("customer_id", "shop_customers", "id", 750),
            ("billing_address_id", "addresses", "address_id", 800),
            ("country_code", "countries", "code", 1000),
            ("stadium", "stadiums", "stadium_id", 900),
            ("id", "customers", "id", 300),
            ("studentid", "students", "id", 1000),
            ("club_id_2", "clubs", "club_id", 900),
            ("physician", "physicians", "employee_id", 750),
            ("prd_id", "master/products", "product_id", 850),
            ("CUST_NO", "customers", "id", 850),
            ("dept_id", "departments", "id", 850),
            ("cust_acct_id", "customer_accounts", "id", 850),
            ("constr_id", "constructions", "id", 0),
            ("driver", "fleet/drivers", "drv_id", 900),
            ("age_no", "agencies", "id", 0),
            ("book_id", "bookings", "booking_id", 0),
            ("order_id", "order_items", "order_item_id", 0),
            ("ord_line_no", "order_lines", "id", 850),
            ("prd", "products", "product_id", 0),
            ("amount", "customers", "id", 0),
            ("paid", "customers", "customer_id", 0),
            ("", "customers", "id", 0),
            ("città_id", "città", "id", 1000),
        ] {
            assert_eq!(refers(from, table, key), expected, "{from} → {table}.{key}");
        }
    }

    #[test]
    fn a_key_is_its_tables_whatever_stands_beside_its_name() {
        let is_key =
            |key: &str, table: &str| Name::of_column(key).is_key_of(&Name::of_table(table));
        for table in [
            "customers",
            "dim_customer",
            "CustomerMaster",
            "customers_2024",
            "x/tbl_customers",
        ] {
            assert!(is_key("customer_id", table), "{table}");
            assert!(is_key("CUST_NO", table), "{table}");
            assert!(is_key("id", table), "{table}");
            assert!(!is_key("order_id", table), "{table}");
        }
        assert!(is_key("CUST_NO", "erp/CUST_MST") && is_key("VOY_NO", "erp/VOY_HDR"));
        assert!(is_key("VOY_NO", "voyage") && !is_key("big_customer_order_id", "customers"));
    }

    #[test]
    fn a_plural_counts() {
        for (name, expected) in [
            ("items", true),
            ("number_of_items", true),
            ("item", false),
            ("items_id", false),
            ("species", false),
            ("address", false),
            ("status", false),
            ("", false),
        ] {
            assert_eq!(Name::of_column(name).is_count(), expected, "{name}");
        }
    }

    #[test]
    fn plurals_are_singular_and_others_stay() {
        for (plural, expected) in [
            ("cities", "city"),
            ("boxes", "box"),
            ("orders", "order"),
            ("address", "address"),
            ("status", "status"),
            ("gas", "gas"),
        ] {
            let mut word = plural.to_owned();
            assert_eq!(singular(&mut word), word != plural);
            assert_eq!(word, expected);
        }
    }
}
