//! Where a table's files lie, and what opens the store there: the environment, or what the catalog
//! gives.
//!
//! Where the environment has credentials of a cloud, they are used, and the catalog's are not asked
//! for. Those of a catalog live in memory alone. An endpoint that a catalog names gets its own
//! credentials and no others.

use std::time::{Duration, SystemTime};

use super::answers::{Loaded, Properties};
use super::error::CatalogError;
use crate::access::{Access, Variables};
use crate::named::plain_location;

/// Variables that are credentials of a cloud, or say where to find them.
const CREDENTIALS: [&str; 20] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_STORAGE_CLIENT_SECRET",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
    "AWS_SKIP_SIGNATURE",
    "GOOGLE_SKIP_SIGNATURE",
    "AZURE_SKIP_SIGNATURE",
];
/// What a catalog says of a table holds so long.
const HOLDS: Duration = Duration::from_secs(15 * 60);
/// Credentials are asked for anew so long before they end.
const BEFORE_END: Duration = Duration::from_secs(60);

/// Whether the environment itself says with what credentials files are read, or that none are
/// wanted.
pub(super) fn has_own(access: &Access, variables: &Variables) -> bool {
    let mut credentials = CREDENTIALS.iter();
    access.anonymous || credentials.any(|name| variables.get(name).is_some())
}

/// The root that a store is opened at, and the path of the location there: of buckets all share
/// one, and of folders each is one. Folders of this machine are only what a catalog on this machine
/// may name.
pub(super) fn root_of(location: &str, is_here: bool) -> Result<(String, String), CatalogError> {
    let location = plain_location(location);
    if location.starts_with('/') {
        return match is_here {
            true => Ok((location, String::new())),
            false => Err(CatalogError::Refused {
                cause: format!(
                    "the table lies in {location}, which a catalog on another machine cannot know"
                ),
                remedy: "move it to a bucket, or index the folder",
            }),
        };
    }
    let split = location.split_once("://");
    let known = split
        .filter(|(scheme, _)| ["s3", "gs", "gcs", "az", "azure", "abfs", "abfss"].contains(scheme));
    let Some((scheme, rest)) = known else {
        return Err(CatalogError::Refused {
            cause: format!("the table lies in {location}, where limn cannot read"),
            remedy: "move it to S3, Google's or Azure's storage",
        });
    };
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    Ok((
        format!("{scheme}://{bucket}"),
        path.trim_end_matches('/').to_owned(),
    ))
}

/// All that a catalog sets for a table at this location: what it sets for all, then for the table,
/// then for the location.
pub(super) fn settings(of_all: &Properties, loaded: &Loaded, location: &str) -> Properties {
    let mut settings = of_all.clone();
    settings.extend(loaded.config.clone());
    let credentials = loaded.credentials.iter().flatten();
    let fitting = credentials.filter(|it| location.starts_with(&plain_location(&it.prefix)));
    if let Some(own) = fitting.max_by_key(|it| it.prefix.len()) {
        settings.extend(own.config.clone());
    }
    settings
}

/// Until when what a catalog said of a table holds.
pub(super) fn holds_until(settings: &Properties, now: SystemTime) -> SystemTime {
    let ends = settings
        .iter()
        .filter(|(name, _)| name.contains("expires-at-ms") || name.contains("expiration-time"));
    let ends = ends.filter_map(|(_, ms)| ms.parse().ok());
    let end = ends.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
    let end = end.map(|end| {
        end.checked_sub(BEFORE_END)
            .unwrap_or(SystemTime::UNIX_EPOCH)
    });
    end.fold(now + HOLDS, SystemTime::min)
}

/// The variables that a table's store is opened with, on top of the environment.
pub(super) fn variables(
    settings: &Properties,
    is_own: bool,
    is_encrypted: bool,
) -> Result<Vec<(String, String)>, CatalogError> {
    let get = |name: &str| settings.get(name).filter(|it| !it.is_empty());
    let mut found = Vec::new();
    let mut set = |name: &str, value: Option<&String>| {
        found.extend(value.map(|value| (name.to_owned(), value.clone())));
    };
    set("AWS_REGION", get("client.region").or(get("s3.region")));
    if is_own {
        return Ok(found);
    }
    set("GOOGLE_OAUTH_ACCESS_TOKEN", get("gcs.oauth2.token"));
    for (name, value) in settings {
        let account = name.strip_prefix("adls.sas-token.");
        if let Some(account) = account.and_then(|it| it.split('.').next()) {
            set("AZURE_STORAGE_ACCOUNT_NAME", Some(&account.to_owned()));
            set("AZURE_STORAGE_SAS_KEY", Some(value));
        }
    }
    let keys = get("s3.access-key-id").zip(get("s3.secret-access-key"));
    let Some((id, secret)) = keys else {
        return Ok(found);
    };
    set("AWS_ACCESS_KEY_ID", Some(id));
    set("AWS_SECRET_ACCESS_KEY", Some(secret));
    set("AWS_SESSION_TOKEN", get("s3.session-token"));
    if let Some(endpoint) = get("s3.endpoint") {
        let is_plain = endpoint
            .get(..7)
            .is_some_and(|it| it.eq_ignore_ascii_case("http://"));
        if is_encrypted && is_plain {
            return Err(CatalogError::Refused {
                cause:
                    "the catalog sends its keys unencrypted: its s3.endpoint begins with http://"
                        .into(),
                remedy: "give the store an https:// endpoint, or set AWS_ACCESS_KEY_ID and the others",
            });
        }
        set("AWS_ENDPOINT_URL", Some(endpoint));
    }
    if let Some(is_path) = get("s3.path-style-access") {
        let is_host = !is_path.eq_ignore_ascii_case("true");
        set(
            "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
            Some(&is_host.to_string()),
        );
    }
    Ok(found)
}
