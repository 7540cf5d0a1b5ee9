//! From a location as a person writes it to a client: local paths, `file://`, `s3://`, `memory://`.
//!
//! S3 settings come from the environment under AWS's own names, on top of time-outs of our own: a
//! wrong endpoint must fail within seconds, not minutes, and a large object may take its time as long
//! as it moves (`stall.rs`).

use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};

use crate::error::{Place, StoreError, StoreErrorKind};
use crate::odd_keys;
use crate::stall::{self, Patience};

/// A client and where its root lies in it.
pub(crate) struct Opened {
    pub(crate) client: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
    pub(crate) url: String,
    pub(crate) local_root: Option<PathBuf>,
    pub(crate) place: Place,
}

/// Opens a location; `variables` are the environment.
pub(crate) fn open(
    location: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Opened, StoreError> {
    match location.split_once("://") {
        None => local(FsPath::new(location)),
        Some(("file", _)) => {
            let path = url::Url::parse(location)
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .ok_or_else(|| {
                    StoreError::new(
                        StoreErrorKind::Configuration,
                        location,
                        "is no file URL with an absolute path",
                        "write file:///folder or just the folder",
                    )
                })?;
            local(&path)
        }
        Some(("memory", _)) => Ok(memory()),
        Some(("s3" | "s3a", rest)) => s3(rest, variables),
        Some((scheme, _)) => Err(StoreError::new(
            StoreErrorKind::Configuration,
            format!("{scheme}://…"),
            format!("'{scheme}://' locations are not supported"),
            "use a local path, file:// or s3://",
        )),
    }
}

/// A store that lives as long as its handles.
pub(crate) fn memory() -> Opened {
    Opened {
        client: Arc::new(InMemory::new()),
        prefix: Path::default(),
        url: "memory://".to_owned(),
        local_root: None,
        place: Place::default(),
    }
}

fn local(path: &FsPath) -> Result<Opened, StoreError> {
    let shown = path.display().to_string();
    let invalid = |cause: String| {
        StoreError::new(
            StoreErrorKind::Configuration,
            shown.clone(),
            cause,
            "choose a folder with a plain UTF-8 name",
        )
    };
    if path.as_os_str().is_empty() {
        return Err(StoreError::new(
            StoreErrorKind::Configuration,
            "''",
            "is no location",
            "name a folder or an s3:// URL",
        ));
    }
    let absolute = canonical(path).map_err(|error| invalid(error.to_string()))?;
    let text = absolute
        .to_str()
        .ok_or_else(|| invalid("its name is not UTF-8".to_owned()))?;
    let prefix = Path::parse(text.trim_start_matches('/'))
        .map_err(|_| invalid("its name has control characters".to_owned()))?;
    Ok(Opened {
        client: Arc::new(LocalFileSystem::new()),
        prefix,
        url: text.to_owned(),
        local_root: Some(absolute.clone()),
        place: Place::default(),
    })
}

/// The one absolute name of a path, whether it exists or not: symbolic links of the longest part
/// that exists are resolved, so a folder has the same name before and after it is created.
fn canonical(path: &FsPath) -> std::io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut plain = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                // `..` after a link means the parent of what the link names.
                if let Ok(resolved) = plain.canonicalize() {
                    plain = resolved;
                }
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let mut rest = Vec::new();
    let mut existing = plain.clone();
    loop {
        match existing.canonicalize() {
            Ok(mut resolved) => {
                resolved.extend(rest.iter().rev());
                return Ok(resolved);
            }
            Err(_) => match (existing.parent(), existing.file_name()) {
                (Some(parent), Some(name)) => {
                    rest.push(name.to_owned());
                    existing = parent.to_owned();
                }
                _ => return Ok(plain),
            },
        }
    }
}

fn s3(
    rest: &str,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Opened, StoreError> {
    let wrong = |object: String, cause: &str| {
        StoreError::new(
            StoreErrorKind::Configuration,
            object,
            cause,
            "write s3://BUCKET/PREFIX",
        )
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.contains('@') {
        return Err(wrong(
            "s3://…@…".to_owned(),
            "credentials do not belong in a location (set AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY)",
        ));
    }
    if bucket.is_empty() {
        return Err(wrong("s3://".to_owned(), "the bucket's name is missing"));
    }
    let prefix = prefix.trim_end_matches('/');
    let path = Path::parse(prefix).map_err(|_| {
        wrong(
            format!("s3://{bucket}/{prefix}"),
            "the prefix has empty, '.' or '..' parts",
        )
    })?;
    let url = if prefix.is_empty() {
        format!("s3://{bucket}")
    } else {
        format!("s3://{bucket}/{path}")
    };

    let variables: Vec<(String, String)> = variables.into_iter().collect();
    let patience = patience(&variables)?;
    // A user's own AWS_TIMEOUT is one for a whole request.
    let options = ClientOptions::new()
        .with_connect_timeout(Duration::from_secs(3))
        .with_timeout_disabled();
    let mut builder = AmazonS3Builder::new()
        .with_http_connector(odd_keys::Connector(Patience(patience)))
        .with_client_options(options);
    let mut endpoint = None;
    let mut s3_endpoint = None;
    let mut allow_http = None;
    for (name, value) in variables {
        if !name.starts_with("AWS_") || value.is_empty() {
            continue;
        }
        let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() else {
            continue;
        };
        match key {
            AmazonS3ConfigKey::Bucket => continue,
            AmazonS3ConfigKey::Endpoint => endpoint = Some(value.clone()),
            AmazonS3ConfigKey::S3Endpoint => s3_endpoint = Some(value.clone()),
            AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp) => {
                allow_http = Some(value.clone())
            }
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    let endpoint = s3_endpoint.or(endpoint);
    // An endpoint written with http:// says that plain HTTP is wanted, unless that is denied aloud.
    if allow_http.is_none()
        && endpoint
            .as_deref()
            .is_some_and(|e| e.starts_with("http://"))
    {
        builder = builder.with_allow_http(true);
    }
    let shown_endpoint = endpoint.as_deref().map(without_credentials);
    let client = builder
        .with_bucket_name(bucket)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_retry(RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(2),
                base: 2.0,
            },
            max_retries: 3,
            // Two attempts of a request that stalls. A large object that breaks off is read on.
            retry_timeout: patience * 2,
        })
        .build()
        .map_err(|error| {
            // The builder's errors name settings, never their secret values.
            StoreError::new(
                StoreErrorKind::Configuration,
                url.clone(),
                error.to_string(),
                "check the AWS_* variables",
            )
        })?;
    Ok(Opened {
        client: Arc::new(client),
        prefix: path,
        url,
        local_root: None,
        place: Place {
            bucket: Some(bucket.to_owned()),
            endpoint: shown_endpoint,
        },
    })
}

/// How long a request may make no progress.
fn patience(variables: &[(String, String)]) -> Result<Duration, StoreError> {
    let set = variables.iter().find(|(name, _)| name == stall::VARIABLE);
    let Some((name, text)) = set else {
        return Ok(stall::DEFAULT);
    };
    let time = humantime::parse_duration(text).ok();
    time.filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
        .ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::Configuration,
                format!("{name}={text}"),
                "is no time",
                "write 30s or 2m, or unset it",
            )
        })
}

/// An endpoint as it may be shown: no user name, password or query.
fn without_credentials(endpoint: &str) -> String {
    match url::Url::parse(endpoint) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.as_str().trim_end_matches('/').to_owned()
        }
        Err(_) => "the endpoint of AWS_ENDPOINT_URL".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn s3_url(location: &str) -> Result<String, StoreError> {
        open(location, []).map(|opened| opened.url)
    }

    #[test]
    fn s3_locations_have_one_canonical_form() {
        assert_eq!(s3_url("s3://lake").unwrap(), "s3://lake");
        assert_eq!(s3_url("s3://lake/").unwrap(), "s3://lake");
        assert_eq!(
            s3_url("s3a://lake/a b/ü%20/").unwrap(),
            "s3://lake/a b/ü%20"
        );
    }

    #[test]
    fn what_cannot_be_opened_says_why_in_one_line() {
        for (location, part) in [
            ("s3://", "bucket's name is missing"),
            ("s3://b/a//c", "empty"),
            ("gs://bucket/x", "'gs://' locations are not supported"),
            ("", "is no location"),
            ("file://relative", "no file URL"),
        ] {
            let error = open(location, []).err().expect(location);
            assert_eq!(error.kind(), StoreErrorKind::Configuration, "{location}");
            let text = error.to_string();
            assert!(text.contains(part), "{text}");
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn credentials_in_a_location_are_refused_and_not_repeated() {
        let error = open("s3://AKIAKEY:sEcReT@bucket/x", []).err().unwrap();
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("sEcReT") && !shown.contains("AKIAKEY"),
            "{shown}"
        );
        assert_eq!(
            without_credentials("http://me:sEcReT@127.0.0.1:9/?x=1"),
            "http://127.0.0.1:9"
        );
    }

    #[test]
    fn a_folder_has_the_same_name_before_and_after_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let later = link.join("sub/../sub").join("index");
        let before = local(&later).unwrap().url;
        std::fs::create_dir_all(real.join("sub/index")).unwrap();
        let after = local(&later).unwrap().url;
        assert_eq!(before, after);
        assert!(before.ends_with("real/sub/index"), "{before}");
        assert_eq!(
            local(FsPath::new(&format!("{before}/"))).unwrap().url,
            before
        );
    }
}
