//! What a column may hold that people are known by.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a sensitive column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensitive {
    /// Passwords, keys and the like.
    Secret,
    /// Numbers of payment cards.
    PaymentCard,
    /// Numbers of bank accounts.
    BankAccount,
    /// Numbers that a state gave a person.
    NationalId,
    /// E-mail addresses.
    EMail,
    /// Telephone numbers.
    Phone,
}

impl fmt::Display for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sensitive::Secret => "secret",
            Sensitive::PaymentCard => "payment card",
            Sensitive::BankAccount => "bank account",
            Sensitive::NationalId => "national id",
            Sensitive::EMail => "e-mail",
            Sensitive::Phone => "phone",
        })
    }
}
