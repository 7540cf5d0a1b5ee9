//! From a location as a person writes it to a client: local paths, `file://`, `s3://`, `gs://`,
//! `az://`, `http(s)://`, `iceberg+http(s)://`, `memory://`.
//!
//! Settings of the clouds come from the environment under their own names, on top of time-outs of
//! our own ([`crate::requests`]).

mod azure;
mod bucket;
mod google;
pub(crate) mod s3;

use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;

use crate::access::{Access, Variables};
use crate::catalog::{self, Catalog};
use crate::error::place::Place;
use crate::error::{StoreError, StoreErrorKind};
use crate::local::LocalFolder;
use crate::web::{self, Web};

/// A client and where its root lies in it.
pub(crate) struct Opened {
    pub(crate) client: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
    pub(crate) url: String,
    pub(crate) local: Option<LocalFolder>,
    /// The web server, where the root is one's.
    pub(crate) web: Option<Arc<Web>>,
    /// The catalog, where the root is one.
    pub(crate) catalog: Option<Arc<Catalog>>,
    pub(crate) place: Place,
}

/// Opens a location; `variables` are the environment.
pub(crate) fn open(
    location: &str,
    access: &Access,
    variables: &Variables,
) -> Result<Opened, StoreError> {
    let Some((scheme, rest)) = location.split_once("://") else {
        no_such_access(location, "a local folder", access)?;
        return local(FsPath::new(location));
    };
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        "file" => {
            no_such_access(location, "a local folder", access)?;
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
        "memory" => Ok(memory()),
        "s3" | "s3a" => s3::open(rest, access, variables),
        "gs" | "gcs" => google::open(rest, access, variables),
        "az" | "azure" | "adl" | "abfs" | "abfss" => azure::open(rest, access, variables),
        "http" | "https" => web::open(location, access, variables),
        "iceberg+http" | "iceberg+https" => catalog::open(location, access, variables),
        _ => Err(StoreError::new(
            StoreErrorKind::Configuration,
            format!("{scheme}://…"),
            format!("'{scheme}://' locations are not supported"),
            "use a local path, s3://, gs://, az://, https:// or iceberg+https://",
        )),
    }
}

/// Options that mean nothing where nobody signs or pays are refused: a person who gives them means
/// another place.
fn no_such_access(location: &str, what: &str, access: &Access) -> Result<(), StoreError> {
    let cause = if access.requester_pays {
        format!("nobody pays for requests to {what}")
    } else if access.anonymous {
        format!("no credentials are used for {what}")
    } else {
        return Ok(());
    };
    Err(StoreError::new(
        StoreErrorKind::Configuration,
        location,
        cause,
        "leave --anonymous and --requester-pays away",
    ))
}

/// A store that lives as long as its handles.
pub(crate) fn memory() -> Opened {
    Opened {
        client: Arc::new(InMemory::new()),
        prefix: Path::default(),
        url: "memory://".to_owned(),
        local: None,
        web: None,
        catalog: None,
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
            "name a folder, or an s3://, gs:// or az:// URL",
        ));
    }
    let absolute = canonical(path).map_err(|error| invalid(error.to_string()))?;
    let text = absolute
        .to_str()
        .ok_or_else(|| invalid("its name is not UTF-8".to_owned()))?;
    let prefix = Path::parse(text.trim_start_matches('/'))
        .map_err(|_| invalid("its name has control characters".to_owned()))?;
    let folder = LocalFolder::new(absolute.clone(), prefix.clone());
    Ok(Opened {
        client: Arc::new(folder.clone()),
        prefix,
        url: text.to_owned(),
        local: Some(folder),
        web: None,
        catalog: None,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::bucket::without_credentials;
    use super::*;

    fn open(location: &str) -> Result<Opened, StoreError> {
        super::open(location, &Access::default(), &Variables::new([]))
    }

    fn url_of(location: &str) -> Result<String, StoreError> {
        open(location).map(|opened| opened.url)
    }

    #[test]
    fn s3_locations_have_one_canonical_form() {
        assert_eq!(url_of("s3://lake").unwrap(), "s3://lake");
        assert_eq!(url_of("s3://lake/").unwrap(), "s3://lake");
        assert_eq!(
            url_of("s3a://lake/a b/ü%20/").unwrap(),
            "s3://lake/a b/ü%20"
        );
    }

    #[test]
    fn what_cannot_be_opened_says_why_in_one_line() {
        for (location, part) in [
            ("s3://", "bucket's name is missing"),
            ("s3://b/a//c", "empty"),
            ("gs://", "bucket's name is missing"),
            ("az:///x", "container's name is missing"),
            ("ftp://host/x", "'ftp://' locations are not supported"),
            ("", "is no location"),
            ("file://relative", "no file URL"),
        ] {
            let error = open(location).err().expect(location);
            assert_eq!(error.kind(), StoreErrorKind::Configuration, "{location}");
            let text = error.to_string();
            assert!(text.contains(part), "{text}");
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn credentials_in_a_location_are_refused_and_not_repeated() {
        let error = open("s3://AKIAKEY:sEcReT@bucket/x").err().unwrap();
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
