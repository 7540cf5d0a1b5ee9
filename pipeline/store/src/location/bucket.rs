//! What locations in all object stores have: a bucket and a prefix.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::Opened;
use crate::error::place::{Place, Provider};
use crate::error::{StoreError, StoreErrorKind};

/// A bucket's location: its name, the key of the root, and its canonical URL.
pub(super) struct Bucket {
    pub(super) name: String,
    pub(super) prefix: Path,
    /// `scheme://name`
    pub(super) root: String,
    /// `scheme://name/prefix`
    pub(super) url: String,
}

impl Bucket {
    /// Reads `BUCKET/PREFIX` of a location that begins with `scheme`; `keys` are the variables that
    /// credentials belong in.
    pub(super) fn parse(scheme: &str, rest: &str, keys: &str) -> Result<Bucket, StoreError> {
        let what = if scheme == "az" {
            "container"
        } else {
            "bucket"
        };
        let wrong = |object: String, cause: String| {
            StoreError::new(
                StoreErrorKind::Configuration,
                object,
                cause,
                format!("write {scheme}://{}/PREFIX", what.to_uppercase()),
            )
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.contains('@') {
            let cause = format!("credentials do not belong in a location (set {keys})");
            return Err(wrong(format!("{scheme}://…@…"), cause));
        }
        if name.is_empty() {
            let cause = format!("the {what}'s name is missing");
            return Err(wrong(format!("{scheme}://"), cause));
        }
        let root = format!("{scheme}://{name}");
        let prefix = prefix.trim_end_matches('/');
        let path = Path::parse(prefix).map_err(|_| {
            let cause = "the prefix has empty, '.' or '..' parts".to_owned();
            wrong(format!("{root}/{prefix}"), cause)
        })?;
        let url = match prefix {
            "" => root.clone(),
            _ => format!("{root}/{path}"),
        };
        Ok(Bucket {
            name: name.to_owned(),
            prefix: path,
            root,
            url,
        })
    }

    /// The builder's errors name settings, never their secret values.
    pub(super) fn refused(&self, error: &object_store::Error, variables: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Configuration,
            self.url.clone(),
            error.to_string(),
            format!("check the {variables} variables"),
        )
    }

    pub(super) fn opened(
        self,
        client: Arc<dyn ObjectStore>,
        provider: Provider,
        endpoint: Option<String>,
    ) -> Opened {
        Opened {
            client,
            prefix: self.prefix,
            url: self.url,
            local: None,
            web: None,
            catalog: None,
            place: Place {
                provider,
                bucket: Some(self.name),
                root: self.root,
                endpoint,
            },
        }
    }
}

/// An endpoint as it may be shown: no user name, password or query.
pub(super) fn without_credentials(endpoint: &str) -> String {
    match url::Url::parse(endpoint) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.as_str().trim_end_matches('/').to_owned()
        }
        Err(_) => "the endpoint that is set".to_owned(),
    }
}
