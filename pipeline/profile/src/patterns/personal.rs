//! Numbers that stand for a person or a person's money, recognised by the digits that guard them
//! against slips of the pen.
//!
//! Chance passes the check of one in ten numbers of a card (Luhn, ISO/IEC 7812), and of one in 97
//! of an account (ISO 13616) or of the national ones below; prefixes, lengths and places of letters
//! leave fewer.

/// A number of a payment card: an issuer's beginning, the length that goes with it, and Luhn's
/// digit.
pub(super) fn is_card(value: &str) -> bool {
    let digits = digits(value);
    let begins = |count: usize| {
        digits
            .iter()
            .take(count)
            .fold(0, |n, d| n * 10 + u32::from(*d))
    };
    let is_issued = match digits.len() {
        14 => matches!(begins(2), 36 | 38) || (300..=305).contains(&begins(3)),
        15 => matches!(begins(2), 34 | 37),
        16 => {
            begins(1) == 4
                || (51..=55).contains(&begins(2))
                || (2221..=2720).contains(&begins(4))
                || matches!(begins(2), 35 | 65)
                || begins(4) == 6011
        }
        _ => false,
    };
    is_issued && luhn(&digits)
}

/// An international bank account number: moved to the end and written as digits, its first four
/// characters leave 1.
pub(super) fn is_account(value: &str) -> bool {
    let letters: Vec<u8> = value
        .bytes()
        .filter(|it| it.is_ascii_alphanumeric())
        .collect();
    let Some((country, account)) = letters.split_at_checked(4) else {
        return false;
    };
    (15..=34).contains(&letters.len()) && remainder(account.iter().chain(country), 97) == 1
}

/// A number that a state gave a person, of those that are guarded or have a form of their own: of
/// Brazil (CPF), China, France (NIR), Italy (codice fiscale, by its form), Spain (DNI, NIE),
/// Sweden, the United Kingdom (NINO, by its form) and the United States (SSN, by its form).
pub(super) fn is_national(value: &str) -> bool {
    let digits = digits(value);
    let text: Vec<u8> = value
        .bytes()
        .filter(|it| it.is_ascii_alphanumeric())
        .collect();
    let letters = text.iter().filter(|it| it.is_ascii_alphabetic()).count();
    let has = |byte| value.bytes().any(|it| it == byte);
    match (text.len(), letters) {
        (9, 0) => is_american(&digits),
        (9, 1 | 2) => is_spanish(&text),
        // Of the United Kingdom and of Italy the form is all there is.
        (9 | 16, _) => true,
        (10, 0) => luhn(&digits),
        (11, 0) if has(b'.') => is_brazilian(&digits),
        (15, 0) => is_french(&digits),
        (18, 0 | 1) => is_chinese(&text),
        _ => false,
    }
}

fn digits(value: &str) -> Vec<u8> {
    let bytes = value.bytes();
    bytes
        .filter(u8::is_ascii_digit)
        .map(|it| it - b'0')
        .collect()
}

/// ISO/IEC 7812-1, annex B: every second digit from the right but one is doubled, and all digits
/// add up to tens.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) => 2 * digit / 10 + 2 * digit % 10,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Digits and letters as one number (A is 10), divided.
fn remainder<'a>(text: impl Iterator<Item = &'a u8>, by: u32) -> u32 {
    text.fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % by,
        _ => (rest * 100 + u32::from(byte.to_ascii_uppercase().saturating_sub(b'A')) + 10) % by,
    })
}

/// `AAA-GG-SSSS`: no area is 000, 666 or 900 and above, no group 00, no serial number 0000.
fn is_american(digits: &[u8]) -> bool {
    let number = |range: std::ops::Range<usize>| {
        let digits = digits.get(range).unwrap_or_default();
        digits.iter().fold(0u32, |n, d| n * 10 + u32::from(*d))
    };
    let area = number(0..3);
    area != 0 && area != 666 && area < 900 && number(3..5) != 0 && number(5..9) != 0
}

/// Eight digits, of which a foreigner's first is X, Y or Z, and a letter for what 23 leaves of
/// them. Two letters at the beginning are British.
fn is_spanish(text: &[u8]) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let Some((last, number)) = text.split_last() else {
        return false;
    };
    let number = number.iter().enumerate().map(|(at, byte)| match byte {
        b'X' if at == 0 => b'0',
        b'Y' if at == 0 => b'1',
        b'Z' if at == 0 => b'2',
        other => *other,
    });
    let number: Vec<u8> = number.collect();
    number.iter().all(u8::is_ascii_digit)
        && LETTERS.get(remainder(number.iter(), 23) as usize) == Some(last)
}

fn is_brazilian(digits: &[u8]) -> bool {
    let check = |count: usize| {
        let weights = (2..=count as u32 + 1).rev();
        let sum: u32 = digits
            .iter()
            .zip(weights)
            .map(|(d, w)| u32::from(*d) * w)
            .sum();
        let digit = (sum * 10 % 11) % 10;
        digits.get(count).is_some_and(|it| u32::from(*it) == digit)
    };
    digits.iter().any(|digit| digits.first() != Some(digit)) && check(9) && check(10)
}

/// Thirteen digits, and what they lack to 97.
fn is_french(digits: &[u8]) -> bool {
    let number = |digits: &[u8]| digits.iter().fold(0u64, |n, d| n * 10 + u64::from(*d));
    let Some((number_of, key)) = digits.split_at_checked(13) else {
        return false;
    };
    97 - number(number_of) % 97 == number(key)
}

/// Seventeen digits, among them a birthday, and ISO 7064's check character of modulus 11.
fn is_chinese(text: &[u8]) -> bool {
    let Some((last, number)) = text.split_last() else {
        return false;
    };
    let sum = number.iter().fold(0u32, |rest, byte| {
        (rest + u32::from(byte.wrapping_sub(b'0') % 10)) * 2 % 11
    });
    let check = (12 - sum) % 11;
    number.iter().all(u8::is_ascii_digit)
        && match last {
            b'X' | b'x' => check == 10,
            digit => check == u32::from(digit.wrapping_sub(b'0')),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_examples_are_known_and_slips_are_not() {
        // Numbers that issuers and registries publish as examples; none is a person's.
        for card in [
            "4111 1111 1111 1111",
            "5555555555554444",
            "378282246310005",
            "6011-1111-1111-1117",
            "30569309025904",
            "2223003122003222",
        ] {
            assert!(is_card(card), "{card}");
        }
        for card in [
            "4111 1111 1111 1112",
            "1577836800000000",
            "4012888888881",
            "20200101000000",
        ] {
            assert!(!is_card(card), "{card}");
        }
        for account in [
            "GB82 WEST 1234 5698 7654 32",
            "DE89370400440532013000",
            "NO9386011117947",
        ] {
            assert!(is_account(account), "{account}");
            assert!(!is_account(&account.replacen('3', "4", 1)), "{account}");
        }
        for id in [
            "123-45-6789",
            "12345678Z",
            "X1234567L",
            "AB 12 34 56 C",
            "811228-9874",
            "529.982.247-25",
            "2 55 08 14 168 025 38",
            "11010519491231002X",
            "RSSMRA85T10A562S",
        ] {
            assert!(is_national(id), "{id}");
        }
        for id in [
            "666-45-6789",
            "123-00-6789",
            "12345678A",
            "811228-9873",
            "529.982.247-26",
            "111.111.111-11",
            "2 55 08 14 168 025 37",
            "110105194912310021",
        ] {
            assert!(!is_national(id), "{id}");
        }
    }
}
