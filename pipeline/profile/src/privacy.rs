//! Which columns are sensitive, and summaries without what their values are.
//!
//! A column is *sensitive* if its name says so ([`named`]: the last words of it, `billing_email`
//! and `PhoneNumber` but not `PhoneType`), or if at least one in ten of the distinct values that
//! its profile keeps has a form that people are known by: e-mail addresses, telephone numbers, and
//! what carries its own proof, as numbers of payment cards (Luhn), of bank accounts (ISO 13616) and
//! national ones with check digits do. An e-mail address counts wherever it stands in a value; the
//! others have to be all of it. What no form shows (names of persons, addresses, birthdays) is not
//! found.
//!
//! [`FileSummary::redact`] takes the values out of a summary before anything is made of it: least,
//! greatest and frequent values, the sketch of which ones there are, and the cells of sampled rows.
//! What stays of the column is its name, type, nulls and how many distinct values there are. Of
//! columns that are not sensitive the single values go that have such a form, and names of columns
//! go that are values themselves (`names.rs`). Nothing downstream can reveal what it never had
//! ([decision 24](../../../docs/decisions/024-privacy.md)).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::data_type::DataType;
use crate::logged::LoggedColumns;
use crate::patterns::detect;
use crate::sample::RowSample;
use crate::sensitive::Sensitive;
use crate::summary::{ColumnSummary, FileSummary, TableSummary};
use crate::text::truncate;
use crate::values::{Frequent, VALUE_CHARS};

mod names;

/// The least share of a column's distinct values whose form makes it sensitive: one in this many.
const ONE_IN: usize = 10;

/// The least number of digits of a telephone, a card, an account or a person.
const DIGITS: usize = 5;

/// Whose values are kept out of what is made of a lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Redact {
    /// Nobody's.
    #[default]
    Off,
    /// Those of sensitive columns.
    Marked,
    /// Those of all columns.
    AllValues,
}

impl fmt::Display for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Redact::Off => "off",
            Redact::Marked => "marked",
            Redact::AllValues => "all-values",
        })
    }
}

/// A text that names no [`Redact`].
#[derive(Debug, Error)]
#[error("'{0}' is not one of off, marked, all-values")]
pub struct UnknownRedact(String);

impl FromStr for Redact {
    type Err = UnknownRedact;

    fn from_str(text: &str) -> Result<Self, UnknownRedact> {
        [Redact::Off, Redact::Marked, Redact::AllValues]
            .into_iter()
            .find(|it| it.to_string() == text)
            .ok_or_else(|| UnknownRedact(text.to_owned()))
    }
}

/// Last words of names, and what such columns hold.
const NAMES: &[(Sensitive, &[&str])] = &[
    (
        Sensitive::Secret,
        &[
            "password",
            "passwd",
            "pwd",
            "password hash",
            "password salt",
            "passphrase",
            "secret",
            "secret key",
            "api key",
            "apikey",
            "access token",
            "auth token",
            "refresh token",
            "private key",
            "pin",
            "pin number",
            "cvv",
            "cvc",
        ],
    ),
    (
        Sensitive::PaymentCard,
        &[
            "card number",
            "card no",
            "card num",
            "cardnumber",
            "credit card",
            "creditcard",
            "debit card",
            "cc number",
            "cc num",
            "pan number",
        ],
    ),
    (
        Sensitive::BankAccount,
        &[
            "iban",
            "bank account",
            "account iban",
            "bank account number",
            "bank account no",
        ],
    ),
    (
        Sensitive::NationalId,
        &[
            "ssn",
            "social security number",
            "social security no",
            "sin number",
            "national id",
            "national id number",
            "nationalid",
            "passport",
            "passport number",
            "passport no",
            "tax id",
            "tax number",
            "taxpayer id",
            "nino",
            "national insurance number",
            "aadhaar",
            "aadhar",
            "cpf",
            "curp",
            "dni",
            "nif",
            "codice fiscale",
            "personnummer",
            "driver license",
            "drivers license",
            "driver licence",
            "driving licence number",
            "license number driver",
        ],
    ),
    (
        Sensitive::EMail,
        &[
            "email",
            "e mail",
            "emails",
            "email address",
            "e mail address",
            "email addresses",
            "mail address",
            "email id",
            "emailaddress",
        ],
    ),
    (
        Sensitive::Phone,
        &[
            "phone",
            "phones",
            "phone number",
            "phone no",
            "phone num",
            "phonenumber",
            "telephone",
            "telephone number",
            "telefon",
            "telefono",
            "tel",
            "mobile",
            "mobile number",
            "mobile no",
            "cell phone",
            "cellphone",
            "fax",
            "fax number",
        ],
    ),
];

/// What a column of this name holds, if its last words say so.
#[must_use]
pub fn named(column: &str) -> Option<Sensitive> {
    let words = words(column);
    let ends_with = |name: &str| {
        let name: Vec<&str> = name.split(' ').collect();
        words.len() >= name.len()
            && words[words.len() - name.len()..]
                .iter()
                .zip(&name)
                .all(|(word, name)| word == name)
    };
    let mut kinds = NAMES.iter();
    kinds.find_map(|(kind, names)| names.iter().any(|name| ends_with(name)).then_some(*kind))
}

/// What values of a detector's form are.
fn of_form(form: &str) -> Option<Sensitive> {
    Some(match form {
        "e-mail" => Sensitive::EMail,
        "phone" => Sensitive::Phone,
        "payment card" => Sensitive::PaymentCard,
        "IBAN" => Sensitive::BankAccount,
        "national id" => Sensitive::NationalId,
        _ => return None,
    })
}

/// A name's words in lower case: `BillingE-Mail2` is `billing`, `e`, `mail`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before: Option<char> = None;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase()
                        && letters.peek().is_some_and(|next| next.is_lowercase()))
            });
        if begins || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if letter.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

impl ColumnSummary {
    /// What the column holds, if it is sensitive.
    pub fn sensitive(&self) -> Option<Sensitive> {
        self.marked
            .or_else(|| named(&self.name).filter(|kind| self.may_hold(*kind)))
            .or_else(|| known_by(&self.profile.frequent))
    }

    /// Whether the values may be what the name says: whether somebody has a telephone is not its
    /// number.
    fn may_hold(&self, kind: Sensitive) -> bool {
        match kind {
            Sensitive::EMail => !matches!(
                self.data_type,
                DataType::Unknown
                    | DataType::Boolean
                    | DataType::Integer
                    | DataType::Float
                    | DataType::Date
                    | DataType::Timestamp
            ),
            // Any number may be one, but for those that say "yes" and "no".
            Sensitive::Secret => {
                let mut values = self.profile.frequent.sample();
                match self.data_type {
                    DataType::Unknown | DataType::Boolean => false,
                    DataType::Integer | DataType::Float => {
                        values.len() == 0 || values.any(|(it, _)| !matches!(it, "0" | "1"))
                    }
                    _ => true,
                }
            }
            _ => {
                let has_digits = |value: &str| {
                    let digits = value.bytes().filter(u8::is_ascii_digit);
                    digits.count() >= DIGITS
                };
                let mut values = self.profile.frequent.sample();
                values.len() == 0 || values.any(|(value, _)| has_digits(value))
            }
        }
    }

    /// Whether its values are withheld.
    pub fn is_withheld(&self) -> bool {
        self.profile.frequent.is_withheld()
    }

    fn redact(&mut self, redact: Redact) -> bool {
        let sensitive = self.sensitive();
        let redacts = match redact {
            Redact::Off => false,
            Redact::Marked => sensitive.is_some(),
            Redact::AllValues => true,
        };
        if redacts {
            self.marked = sensitive;
            self.profile = self.profile.withheld();
            self.otherwise = Box::default();
            self.hashes = Vec::new();
            // Anyone who guesses the values could find that they are these.
            self.digest = 0;
        } else if redact == Redact::Marked {
            for column in self.otherwise.iter_mut() {
                column.profile.drop_values(|value| kind_of(value).is_some());
            }
            self.profile.drop_values(|value| kind_of(value).is_some());
        }
        redacts
    }
}

/// Whether a text is of a form that people are known by, as a whole.
pub fn is_personal(text: &str) -> bool {
    detect(text).is_some_and(|detector| of_form(detector.name).is_some())
}

/// Whether a value is of a form that people are known by, or holds an e-mail address.
pub fn is_private(value: &str) -> bool {
    let may_be = || value.bytes().filter(u8::is_ascii_digit).count() >= DIGITS;
    (value.contains('@') || may_be()) && kind_of(value).is_some()
}

/// What a value is, or holds.
fn kind_of(value: &str) -> Option<Sensitive> {
    let whole = detect(value).and_then(|detector| of_form(detector.name));
    whole.or_else(|| holds_address(value).then_some(Sensitive::EMail))
}

/// Whether an e-mail address stands anywhere in a text, between whatever is in none.
fn holds_address(text: &str) -> bool {
    let in_words = |letter: char| letter.is_ascii_alphanumeric() || "@.:/+-_".contains(letter);
    let ends = |letter: char| !letter.is_ascii_alphanumeric() && letter != '@';
    let is_address = |word: &str| detect(word).is_some_and(|it| it.name == "e-mail");
    text.contains('@')
        && text
            .split(|letter| !in_words(letter))
            // Of a URL an `@` is a part: `https://cdn.example/vue@3.2.js`.
            .filter(|word| word.contains('@') && !word.contains("://"))
            // `mailto:ada@example.org`, `ada@example.org:secret`.
            .flat_map(|word| word.split(['/', ':']))
            .any(|word| is_address(word.trim_matches(ends)))
}

/// What the kept values are, if enough of them have a form that people are known by.
fn known_by(values: &Frequent) -> Option<Sensitive> {
    let all = values.sample().len();
    let mut kinds: Vec<Sensitive> = values
        .sample()
        .filter_map(|(value, _)| kind_of(value))
        .collect();
    kinds.sort_unstable();
    let kinds = kinds.chunk_by(|a, b| a == b);
    let most = kinds.max_by_key(|kind| kind.len())?;
    (most.len() * ONE_IN >= all).then(|| most[0])
}

impl FileSummary {
    /// Marks columns that are sensitive by the names that their table's log gives them.
    pub fn mark_by(&mut self, columns: &LoggedColumns<'_>) {
        for column in &mut self.columns {
            let logged = columns.find(&column.name, column.field_id);
            let kind = logged.and_then(|(_, logged)| named(&logged.name));
            column.marked = column.marked.or(kind.filter(|kind| column.may_hold(*kind)));
        }
    }

    /// Takes out the values that are not to be kept, names of columns that are such, and what notes
    /// quote of the file, behind a colon. Doing so twice changes nothing.
    pub fn redact(&mut self, redact: Redact) {
        if redact != Redact::Off {
            for note in &mut self.notes {
                note.truncate(note.find(": ").unwrap_or(note.len()));
            }
        }
        for other in self.otherwise.iter_mut() {
            other.redact(redact);
        }
        self.redact_names(redact);
        redact_all(&mut self.columns, &mut self.sample, redact);
        let first = self.reading.as_mut().and_then(|it| it.first.as_mut());
        if let Some(first) = first {
            redact_first(&mut first.row.values, &self.columns, redact);
        }
    }
}

/// Takes values out of a row that may be the first one of data: that there were some is still to be
/// counted.
fn redact_first(cells: &mut [Option<String>], columns: &[ColumnSummary], redact: Redact) {
    for (cell, column) in cells.iter_mut().zip(columns) {
        let is_known = |text: &String| match redact {
            Redact::Off => false,
            Redact::Marked => column.marked.is_some() || kind_of(text).is_some(),
            Redact::AllValues => true,
        };
        if let Some(text) = cell.as_mut().filter(|text| is_known(text)) {
            text.clear();
        }
    }
}

impl TableSummary {
    /// As [`FileSummary::redact`]. A column that one of the files marks is the table's: its values
    /// in the others go, too.
    pub fn redact(&mut self, redact: Redact) {
        redact_all(&mut self.columns, &mut self.sample, redact);
    }
}

fn redact_all(columns: &mut [ColumnSummary], sample: &mut RowSample, redact: Redact) {
    if redact == Redact::Marked {
        // Further than that no value was looked at.
        let cells = sample.rows.iter_mut().flat_map(|row| &mut row.values);
        cells.flatten().for_each(|cell| truncate(cell, VALUE_CHARS));
    }
    let is_value = |cell: &String| redact == Redact::Marked && kind_of(cell).is_some();
    for (at, column) in columns.iter_mut().enumerate() {
        let is_withheld = column.redact(redact);
        for row in &mut sample.rows {
            let cell = row.values.get_mut(at);
            if let Some(cell) = cell.filter(|it| is_withheld || it.as_ref().is_some_and(is_value)) {
                *cell = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
