//! What came of asking a model, in one process or in all.

use serde::{Deserialize, Serialize};

/// What came of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Columns that the model answered for, with or without a description.
    pub narrated: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub generated_tokens: u64,
    /// Columns for which the model failed.
    pub failed: u64,
    /// The first failure.
    pub error: Option<String>,
    /// Columns that were not asked for because the run was stopped…
    pub stopped: u64,
    /// …or because the model failed every time.
    pub given_up: u64,
    /// Tables await narrations that were never asked for: the run was stopped before.
    pub not_begun: bool,
}

impl Outcome {
    /// Adds what came of asking in another process.
    pub fn add(&mut self, other: Self) {
        self.narrated += other.narrated;
        self.prompt_tokens += other.prompt_tokens;
        self.generated_tokens += other.generated_tokens;
        self.failed += other.failed;
        self.error = self.error.take().or(other.error);
        self.stopped += other.stopped;
        self.given_up += other.given_up;
        self.not_begun |= other.not_begun;
    }

    /// Columns that have no answer because of the model.
    pub fn lost(&self) -> u64 {
        self.failed + self.given_up
    }

    /// What a person should know of what went wrong, if anything did.
    pub fn notes(&self, model: &str) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stopped > 0 {
            let all = self.narrated + self.lost() + self.stopped;
            notes.push(format!(
                "stopped: of {all} columns to be narrated, {} are, and are kept; the same command goes on with the rest",
                self.narrated,
            ));
        }
        let Some(error) = &self.error else {
            return notes;
        };
        let columns = |number: u64| match number {
            1 => "1 column".to_owned(),
            _ => format!("{number} columns"),
        };
        notes.push(if self.given_up > 0 {
            format!(
                "narrating was given up: {model} failed for {}, and {} were not asked for ({error}); their tables are searchable by names, and the same command goes on",
                columns(self.failed),
                columns(self.given_up),
            )
        } else {
            format!(
                "{} could not be narrated by {model} and are described by their names; the same command tries again ({error})",
                columns(self.failed),
            )
        });
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_gives_up_and_another_is_stopped() {
        let mut all = Outcome {
            narrated: 3,
            stopped: 4,
            ..Outcome::default()
        };
        all.add(Outcome {
            narrated: 1,
            failed: 16,
            given_up: 20,
            error: Some("refused".into()),
            ..Outcome::default()
        });
        assert_eq!(all.lost(), 36);
        let [stopped, failed] = &all.notes("a@1")[..] else {
            panic!("{:?}", all.notes("a@1"));
        };
        assert!(
            stopped.contains("of 44 columns to be narrated, 4 are"),
            "{stopped}"
        );
        assert!(
            failed.contains("16 columns, and 20 columns were not"),
            "{failed}"
        );
        assert!(failed.contains("refused"), "{failed}");
    }
}
