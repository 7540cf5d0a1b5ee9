//! From claims to a caller: who it is, what it may see and what it may do.
//!
//! Nothing is granted that a claim does not say: without paths a token sees nothing and is refused,
//! without rights it may search. Everything is granted by the one word `*`, which somebody has to
//! write into the claim; it is no pattern, and in a path it is refused, so that nobody takes it for
//! one.

use serde_json::{Map, Value};

use crate::access::{Caller, Reach, Right};
use crate::problem::{Code, Problem};

/// The word for all tables.
const EVERYTHING: &str = "*";
/// Paths of a token.
const PATHS: usize = 256;
/// Bytes of a path.
const PATH: usize = 1_024;
/// Bytes of a subject: OpenID Connect Core 1.0, section 2.
const SUBJECT: usize = 255;

/// What a token says.
pub(super) type Claims = Map<String, Value>;

/// The claims that are read.
#[derive(Clone, Debug)]
pub(super) struct ClaimNames {
    /// The one with paths.
    pub prefixes: String,
    /// The one with rights.
    pub rights: String,
}

impl ClaimNames {
    /// The caller that these claims of a token describe, whose signature, issuer, audience and
    /// times are in order.
    ///
    /// # Errors
    /// What the token lacks.
    pub fn caller(&self, issuer: &str, claims: &Claims) -> Result<Caller, Problem> {
        let subject = subject(claims)?;
        if claims.contains_key("cnf") {
            return Err(super::refused(
                "the token is bound to its holder's key (cnf), which is not checked here",
                "get a plain bearer token",
            ));
        }
        Ok(Caller {
            // An issuer has no space in it, and an API key's id no address: nobody can pass for
            // another.
            id: format!("{issuer} {subject}").into(),
            reach: self.reach(claims)?,
            rights: self.granted(claims)?.into(),
            per_minute: None,
        })
    }

    fn reach(&self, claims: &Claims) -> Result<Reach, Problem> {
        let claim = &self.prefixes;
        let paths = match claims.get(claim) {
            None | Some(Value::Null) => {
                return Err(forbidden(claim, "lacks the claim", ""));
            }
            Some(value) => texts(value)
                .ok_or_else(|| forbidden(claim, "has in the claim", "no list of paths"))?,
        };
        if paths.contains(&EVERYTHING) {
            return Ok(Reach::Everything);
        }
        let wrong = match paths.as_slice() {
            [] => Some("no path"),
            all if all.len() > PATHS => Some("too many paths"),
            all if all.iter().any(|path| path.len() > PATH) => Some("a path that is too long"),
            all if all.iter().any(|path| path.trim_matches('/').is_empty()) => {
                Some("a path that names nothing")
            }
            all if all.iter().any(|path| path.contains('*')) => {
                Some("a pattern, where paths are wanted")
            }
            _ => None,
        };
        match wrong {
            Some(wrong) => Err(forbidden(claim, "has in the claim", wrong)),
            None => Ok(Reach::under(paths.into_iter().map(str::to_owned))),
        }
    }

    /// A text is read as OAuth's `scope` is: words, of which those that mean nothing here grant
    /// nothing.
    fn granted(&self, claims: &Claims) -> Result<Vec<Right>, Problem> {
        let words = match claims.get(&self.rights) {
            None | Some(Value::Null) => return Ok(vec![Right::Search]),
            Some(value) => texts(value)
                .ok_or_else(|| forbidden(&self.rights, "has in the claim", "no list of rights"))?,
        };
        let words = words.into_iter().flat_map(str::split_ascii_whitespace);
        let mut rights: Vec<Right> = words.filter_map(|word| word.parse().ok()).collect();
        rights.sort();
        rights.dedup();
        Ok(rights)
    }
}

fn subject(claims: &Claims) -> Result<&str, Problem> {
    let subject = claims.get("sub").and_then(Value::as_str);
    let is_one = |subject: &&str| {
        (1..=SUBJECT).contains(&subject.len()) && !subject.chars().any(char::is_control)
    };
    subject.filter(is_one).ok_or_else(|| {
        super::refused(
            "the token does not say whose it is (sub)",
            "get one of a user or a client",
        )
    })
}

/// A text, or a list of them.
fn texts(claim: &Value) -> Option<Vec<&str>> {
    match claim {
        Value::String(text) => Some(vec![text]),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn forbidden(claim: &str, what: &str, wrong: &str) -> Problem {
    let what_is_wrong = format!("the token {what} '{claim}' {wrong}");
    Problem::new(
        Code::Forbidden,
        what_is_wrong.trim_end(),
        "ask whoever runs the issuer of tokens to say in this claim what the token is for (docs/node.md)",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://issuer.test";

    fn caller(claims: Value) -> Result<Caller, Problem> {
        let names = ClaimNames {
            prefixes: "paths".to_owned(),
            rights: "rights".to_owned(),
        };
        names.caller(ISSUER, claims.as_object().unwrap())
    }

    fn seeing(paths: Value) -> Result<Reach, Problem> {
        caller(json!({"sub": "ada", "paths": paths})).map(|caller| caller.reach)
    }

    fn doing(rights: Value) -> Result<Vec<Right>, Problem> {
        let caller = caller(json!({"sub": "ada", "paths": "hr", "rights": rights}));
        caller.map(|caller| caller.rights.to_vec())
    }

    #[test]
    fn paths_of_the_claim_are_the_reach_of_a_key_with_them() {
        let hr = Reach::under(["hr".to_owned()]);
        assert_eq!(seeing(json!("hr")).unwrap(), hr);
        assert_eq!(seeing(json!(["hr"])).unwrap(), hr);
        let two = Reach::under(["s3://lake/hr".to_owned(), "shop".to_owned()]);
        assert_eq!(
            seeing(json!(["shop", "s3://lake/hr", "shop"])).unwrap(),
            two
        );
        // A name with a space is one path.
        let spaced = Reach::under(["two words".to_owned()]);
        assert_eq!(seeing(json!("two words")).unwrap(), spaced);
    }

    #[test]
    fn a_token_without_paths_is_refused_and_the_claim_is_named() {
        for none in [
            json!(null),
            json!([]),
            json!(""),
            json!("/"),
            json!(["hr", ""]),
            json!(["hr", 7]),
            json!(7),
            json!(true),
            json!({"hr": true}),
            json!("hr/*"),
            json!(["hr", "s*"]),
            json!("**"),
            json!("x".repeat(PATH + 1)),
            json!(vec!["x"; PATHS + 1]),
        ] {
            let problem = seeing(none.clone()).unwrap_err();
            assert_eq!(problem.code, Code::Forbidden, "{none}");
            assert!(problem.message.contains("'paths'"), "{none}: {problem}");
        }
        let missing = caller(json!({"sub": "ada"})).unwrap_err();
        assert_eq!(missing.message, "the token lacks the claim 'paths'");
    }

    #[test]
    fn everything_is_one_word() {
        assert_eq!(seeing(json!("*")).unwrap(), Reach::Everything);
        assert_eq!(seeing(json!(["hr", "*"])).unwrap(), Reach::Everything);
    }

    #[test]
    fn rights_are_those_of_the_claim_and_search_without_one() {
        use Right::{Admin, Rows, Search};
        for (claimed, granted) in [
            (json!(null), vec![Search]),
            (json!("rows"), vec![Rows]),
            (json!("openid search  rows profile"), vec![Search, Rows]),
            (
                json!(["rows", "search", "admin", "rows"]),
                vec![Search, Rows, Admin],
            ),
            (json!("openid"), vec![]),
            (json!("Search"), vec![]),
            (json!([]), vec![]),
            (json!(""), vec![]),
        ] {
            assert_eq!(doing(claimed.clone()).unwrap(), granted, "{claimed}");
        }
        let absent = caller(json!({"sub": "ada", "paths": "hr"})).unwrap();
        assert_eq!(absent.rights.to_vec(), [Search]);
        for wrong in [json!(1), json!({"rows": true}), json!(["rows", 1])] {
            assert_eq!(doing(wrong).unwrap_err().code, Code::Forbidden);
        }
    }

    #[test]
    fn a_caller_is_its_issuer_and_its_subject() {
        let one = caller(json!({"sub": "ada", "paths": "hr"})).unwrap();
        assert_eq!(&*one.id, "https://issuer.test ada");
        assert_eq!(one.per_minute, None);
        for wrong in [
            json!({"paths": "hr"}),
            json!({"paths": "hr", "sub": ""}),
            json!({"paths": "hr", "sub": 7}),
            json!({"paths": "hr", "sub": "a\nb"}),
            json!({"paths": "hr", "sub": "x".repeat(SUBJECT + 1)}),
            json!({"paths": "hr", "sub": "ada", "cnf": {"jkt": "x"}}),
        ] {
            assert_eq!(
                caller(wrong.clone()).unwrap_err().code,
                Code::Unauthorized,
                "{wrong}"
            );
        }
    }
}
