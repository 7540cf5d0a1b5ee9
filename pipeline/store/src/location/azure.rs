//! `az://container/prefix`, with settings from the `AZURE_*` variables; also
//! `abfs[s]://container@account.dfs.core.windows.net/prefix`, as Hadoop has it.

use std::sync::Arc;

use object_store::ClientConfigKey;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::bucket::{Bucket, without_credentials};
use super::{Opened, no_such_access};
use crate::access::{Access, Variables};
use crate::error::place::Provider;
use crate::error::{StoreError, StoreErrorKind};
use crate::requests::{self, Connector};

/// Where the emulator is, unless the variable of this name says otherwise.
const EMULATOR: (&str, &str) = ("AZURITE_BLOB_STORAGE_URL", "http://127.0.0.1:10000");

pub(super) fn open(
    rest: &str,
    access: &Access,
    variables: &Variables,
) -> Result<Opened, StoreError> {
    let payers = Access {
        anonymous: false,
        ..*access
    };
    no_such_access("az://…", "Azure's containers", &payers)?;
    let (bucket, account) = parse(rest)?;
    let patience = variables.patience()?;
    let mut builder = MicrosoftAzureBuilder::new()
        .with_http_connector(Connector::new(patience, variables.at_once(access, false)?))
        .with_client_options(requests::options());
    let mut endpoint = None;
    let mut allow_http = None;
    let mut emulated = false;
    // The identity of an app service has a name without the others' beginning.
    let identity = variables.get("IDENTITY_ENDPOINT");
    let identity = identity.map(|value| ("azure_identity_endpoint", value));
    for (name, value) in variables.beginning("AZURE_").chain(identity) {
        let Ok(key) = name.to_ascii_lowercase().parse::<AzureConfigKey>() else {
            continue;
        };
        match key {
            AzureConfigKey::ContainerName => continue,
            AzureConfigKey::Endpoint => endpoint = Some(value),
            AzureConfigKey::UseEmulator => emulated = matches!(value, "1" | "true" | "on" | "yes"),
            AzureConfigKey::Client(ClientConfigKey::AllowHttp) => allow_http = Some(value),
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if access.anonymous {
        builder = builder.with_skip_signature(true);
    }
    if emulated {
        endpoint = Some(variables.get(EMULATOR.0).unwrap_or(EMULATOR.1));
    }
    // An endpoint written with http:// says that plain HTTP is wanted, unless that is denied aloud.
    if allow_http.is_none() && endpoint.is_some_and(|it| it.starts_with("http://")) {
        builder = builder.with_allow_http(true);
    }
    if endpoint.is_some_and(|it| url::Url::parse(it).is_err()) {
        // Reported without its text, which may hold a signature.
        return Err(StoreError::new(
            StoreErrorKind::Configuration,
            bucket.url,
            "AZURE_STORAGE_ENDPOINT is no address",
            "write https://HOST, or unset it",
        ));
    }
    if account.is_some() && endpoint.is_some() {
        return Err(StoreError::new(
            StoreErrorKind::Configuration,
            bucket.url,
            "the location names one account and AZURE_STORAGE_ENDPOINT another server",
            "write az://CONTAINER/PREFIX, or unset it",
        ));
    }
    builder = match &account {
        Some(host) => builder.with_url(format!("abfss://{}@{host}/", bucket.name)),
        None => builder.with_container_name(&bucket.name),
    };
    let client = builder
        .with_retry(requests::retries(patience))
        .build()
        .map_err(|error| match error.to_string() {
            text if text.contains("Account must be specified") => StoreError::new(
                StoreErrorKind::Configuration,
                bucket.url.clone(),
                "the storage account is not named",
                "set AZURE_STORAGE_ACCOUNT_NAME, or write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX",
            ),
            _ => bucket.refused(&error, "AZURE_*"),
        })?;
    let endpoint = endpoint.map(without_credentials);
    Ok(bucket.opened(Arc::new(client), Provider::Azure, endpoint))
}

/// The container and, where the location names one, the host of its account.
fn parse(rest: &str) -> Result<(Bucket, Option<String>), StoreError> {
    const KEYS: &str = "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY";
    let (place, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let account = place.split_once('@').filter(|(container, host)| {
        // Anything else before an '@' may be a secret.
        !container.contains(':') && is_service(host)
    });
    let Some((container, host)) = account else {
        return Ok((Bucket::parse("az", rest, KEYS)?, None));
    };
    let mut bucket = Bucket::parse("az", &format!("{container}/{prefix}"), KEYS)?;
    // Containers of one name in two accounts are two lakes.
    let root = format!("abfss://{container}@{host}");
    bucket.url = bucket.url.replacen(&bucket.root, &root, 1);
    bucket.root = root;
    Ok((bucket, Some(host.to_owned())))
}

fn is_service(host: &str) -> bool {
    let services = [
        ".dfs.core.windows.net",
        ".blob.core.windows.net",
        ".dfs.fabric.microsoft.com",
        ".blob.fabric.microsoft.com",
    ];
    let account = services.iter().find_map(|it| host.strip_suffix(it));
    account.is_some_and(|account| !account.is_empty() && !account.contains(['.', ':', '@']))
}
