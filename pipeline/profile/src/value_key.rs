//! What a value is looked up by: its letters and digits, without case, accents and separators.
//!
//! An index and a question have to make the same of one value, so both come here.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use xxhash_rust::xxh3::xxh3_64;

/// A person who writes this much from memory looks for parts of it.
const MAX_KEY_BYTES: usize = 96;
/// Bits of a [`hash`]. Of a million values one in 17 million others has the hash of one.
pub const HASH_BITS: u32 = 44;

/// NFKC with decorations removed, for text that is not ASCII already.
#[must_use]
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut latin = false;
    for c in text.nfkd() {
        if is_combining_mark(c) {
            // Marks are dropped after Latin letters only: elsewhere they make different letters.
            if !latin {
                out.push(c);
            }
            continue;
        }
        latin = c.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&c);
        match c {
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'Æ' => out.push_str("AE"),
            'œ' => out.push_str("oe"),
            'Œ' => out.push_str("OE"),
            'ø' => out.push('o'),
            'Ø' => out.push('O'),
            'ł' => out.push('l'),
            'Ł' => out.push('L'),
            'đ' | 'ð' => out.push('d'),
            'Đ' | 'Ð' => out.push('D'),
            'þ' => out.push_str("th"),
            'Þ' => out.push_str("Th"),
            'ı' => out.push('i'),
            '\u{2019}' => out.push('\''),
            c => out.push(c),
        }
    }
    // Recompose what was not folded, so that one letter has one spelling.
    Cow::Owned(out.nfc().collect())
}

/// The letters and digits of a text in lower case, folded as terms are; `None` where there are
/// none, or more than 96 bytes of them. A number keeps the point between digits: 12.5 is not 125.
///
/// ```
/// use limn_profile::value_key::key;
/// assert_eq!(key("Promo_Code"), key("promo code"));
/// assert_eq!(key("US-10,123,456 B2").as_deref(), Some("us10123456b2"));
/// assert_eq!(key("1,012.50").as_deref(), Some("1012.50"));
/// ```
#[must_use]
pub fn key(text: &str) -> Option<String> {
    // A byte of the key takes at most a few of the text, of which separators are not many.
    if text.len() > 8 * MAX_KEY_BYTES {
        return None;
    }
    let text = fold(text);
    let is_number = !text.chars().any(char::is_alphabetic);
    let mut key = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if c.is_alphanumeric() || is_combining_mark(c) {
            key.extend(c.to_lowercase());
        } else if is_number && c == '.' {
            let is_before = key.ends_with(|c: char| c.is_ascii_digit());
            if is_before && characters.peek().is_some_and(char::is_ascii_digit) {
                key.push(c);
            }
        }
    }
    (!key.is_empty() && key.len() <= MAX_KEY_BYTES).then_some(key)
}

/// The [`HASH_BITS`] high bits of the xxh3-64 of a key.
#[must_use]
pub fn hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes()) >> (64 - HASH_BITS)
}

/// The hash of a value's key. Most values are ASCII, and need no memory for it.
#[must_use]
pub fn hash_of_value(value: &str) -> Option<u64> {
    if !value.is_ascii() || value.len() > MAX_KEY_BYTES || value.contains('.') {
        return key(value).map(|key| hash(&key));
    }
    let mut buffer = [0; MAX_KEY_BYTES];
    let mut length = 0;
    for byte in value.bytes().filter(u8::is_ascii_alphanumeric) {
        buffer[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    (length > 0).then(|| xxh3_64(&buffer[..length]) >> (64 - HASH_BITS))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_forget_case_and_separators_and_keep_decimal_points() {
        for (text, expected) in [
            ("promo_code", "promocode"),
            ("PromoCode", "promocode"),
            (" Promo-Code ", "promocode"),
            ("sales/2024/Orders", "sales2024orders"),
            ("3FA85F64-5717", "3fa85f645717"),
            ("-1,012.50", "1012.50"),
            ("2024-01-02", "20240102"),
            ("v1.2", "v12"),
            ("Łódź", "lodz"),
            ("東京", "東京"),
        ] {
            assert_eq!(key(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(key(" _-"), None);
        assert_eq!(key(&"a".repeat(MAX_KEY_BYTES + 1)), None);
        assert_eq!(key(&" a".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn a_value_has_the_hash_of_its_key(value in "\\PC{0,9}|[-A-Z0-9. _]{0,120}") {
            prop_assert_eq!(hash_of_value(&value), key(&value).map(|key| hash(&key)));
        }
    }
}
