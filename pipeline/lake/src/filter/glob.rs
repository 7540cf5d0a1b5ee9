//! Globs of paths, in the manner of `.gitignore`.
//!
//! A glob without a '/' matches a file or folder of that name anywhere, one with a '/' a path below
//! the lake's root. What matches a folder matches all that lies in it. `*` and `?` stand for
//! anything but '/', `**` for folders, `[a-z]` for a character, `{a,b}` for either.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use limn_formats::member::SEPARATOR;

use super::FilterError;

/// A set of globs, compiled into one.
#[derive(Clone, Debug)]
pub(super) struct Globs(GlobSet);

impl Globs {
    /// `option` names them in errors.
    pub(super) fn new(option: &'static str, globs: &[String]) -> Result<Self, FilterError> {
        let mut set = GlobSetBuilder::new();
        for text in globs {
            let wrong = |cause: String| FilterError {
                what: option,
                text: text.clone(),
                cause,
            };
            let plain = text.strip_prefix("./").unwrap_or(text);
            let (glob, only_folders) = match plain.strip_suffix('/') {
                Some(folder) => (folder, true),
                None => (plain, false),
            };
            let anywhere = if glob.contains('/') { "" } else { "**/" };
            let glob = glob.strip_prefix('/').unwrap_or(glob);
            if glob.is_empty() {
                return Err(wrong(
                    "matches nothing: write a pattern such as '*.csv' or 'sales/**'".to_owned(),
                ));
            }
            let forms = [format!("{anywhere}{glob}/**"), format!("{anywhere}{glob}")];
            for form in forms.iter().take(if only_folders { 1 } else { 2 }) {
                let built = GlobBuilder::new(form)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build();
                let built =
                    built.map_err(|error| wrong(format!("is no pattern: {}", error.kind())))?;
                set.add(built);
            }
        }
        let too_large = |error: globset::Error| FilterError {
            what: option,
            text: globs.join(" "),
            cause: format!("cannot be used: {}", error.kind()),
        };
        set.build().map(Globs).map_err(too_large)
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        // A container is a folder.
        let is_member = || self.0.is_match(path.replace(SEPARATOR, "/"));
        !self.0.is_empty() && (self.0.is_match(path) || path.contains(SEPARATOR) && is_member())
    }
}
