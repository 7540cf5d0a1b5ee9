//! From a catalog's address, and the environment, to a store.
//!
//! Credentials are sent to the host that `LIMN_ICEBERG_HOST` names, and to no other: an index may
//! come from others, and it names the catalog that `limn sql` asks. Requests to AWS's own catalogs
//! are signed, as those to S3 are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use object_store::path::Path;
use tokio::sync::OnceCell;
use url::Url;

use super::client::{Caller, Client, Grant, Secret};
use super::signing;
use super::{Catalog, CatalogStore};
use crate::access::{Access, Variables};
use crate::error::place::Place;
use crate::error::{StoreError, StoreErrorKind};
use crate::location::Opened;

/// What a location of a catalog begins with, before `https://`.
pub(crate) const SCHEME: &str = "iceberg+";

const TOKEN: &str = "LIMN_ICEBERG_TOKEN";
const CREDENTIAL: &str = "LIMN_ICEBERG_CREDENTIAL";
const HOST: &str = "LIMN_ICEBERG_HOST";
const SERVER: &str = "LIMN_ICEBERG_OAUTH2_SERVER_URI";
const SCOPE: &str = "LIMN_ICEBERG_SCOPE";
/// The scope that the specification's own clients ask for.
const USUAL_SCOPE: &str = "catalog";

fn wrong(shown: &str, cause: &str, remedy: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Configuration, shown, cause, remedy)
}

/// Opens a catalog's address; nothing is requested.
pub(crate) fn open(
    location: &str,
    access: &Access,
    variables: &Variables,
) -> Result<Opened, StoreError> {
    let (base, warehouse) = parse(location)?;
    let host = base.host_str().unwrap_or_default().to_owned();
    let shown = match base.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.clone(),
    };
    let mut whole = base.clone();
    if let Some(warehouse) = &warehouse {
        whole.query_pairs_mut().append_pair("warehouse", warehouse);
    }
    let url = format!("{SCHEME}{whole}");
    let is_here = is_loopback(&host);
    let named = variables.get(HOST);
    let is_plain = base.scheme() == "http" && !is_here;
    // Nobody sends a secret unencrypted who has not said so.
    let meant = match is_plain {
        true => format!("http://{shown}"),
        false => shown.clone(),
    };
    let is_meant = named.is_some_and(|it| it.eq_ignore_ascii_case(&meant));
    let caller = match is_meant && !access.anonymous {
        true => caller(&base, variables)?,
        false => Caller::Anybody,
    };
    let (signs, signing) = signing::of_user(&base, is_meant, access, variables);
    // The catalog may want signed requests, too, which carry a token of AWS.
    if is_plain && is_meant && !access.anonymous {
        tracing::warn!(catalog = %url, "tokens for the catalog are sent unencrypted");
    }
    let client = Client::new(
        variables.patience()?,
        variables.at_once(access, true)?,
        caller,
    );
    let client = client.map_err(|error| {
        let cause = format!("no client can be made: {error}");
        wrong(&url, &cause, "check the system's certificates")
    })?;
    let catalog = Arc::new(Catalog {
        client,
        base,
        warehouse,
        url: url.clone(),
        host: meant,
        is_here,
        access: *access,
        variables: variables.clone(),
        signs,
        signing,
        api: OnceCell::new(),
        tables: Mutex::new(HashMap::new()),
        stores: Mutex::new(HashMap::new()),
        asking: tokio::sync::Mutex::new(()),
    });
    Ok(Opened {
        client: Arc::new(CatalogStore(Arc::clone(&catalog))),
        prefix: Path::default(),
        url,
        local: None,
        web: None,
        catalog: Some(catalog),
        place: Place::default(),
    })
}

/// The address of the API, without a slash at its end, and the warehouse.
fn parse(location: &str) -> Result<(Url, Option<String>), StoreError> {
    let hidden = "iceberg+https://…";
    let form = "write iceberg+https://HOST/PATH?warehouse=NAME";
    let below = location.get(SCHEME.len()..).unwrap_or_default();
    let url = Url::parse(below).ok();
    let url = url.filter(|url| url.host().is_some() && !url.cannot_be_a_base());
    let mut url = url.ok_or_else(|| wrong(hidden, "is no address of a catalog", form))?;
    if !url.username().is_empty() || url.password().is_some() {
        let cause = "credentials do not belong in a location";
        let remedy = format!("set {TOKEN} or {CREDENTIAL}, and {HOST}");
        return Err(wrong(hidden, cause, &remedy));
    }
    let mut warehouse = None;
    for (name, value) in url.query_pairs() {
        if name != "warehouse" || value.is_empty() || warehouse.is_some() {
            let cause = "a catalog's address has one warehouse in its query, and nothing else";
            return Err(wrong(hidden, cause, form));
        }
        warehouse = Some(value.into_owned());
    }
    url.set_query(None);
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok((url, warehouse))
}

/// Who asks, as the environment says.
fn caller(base: &Url, variables: &Variables) -> Result<Caller, StoreError> {
    if let Some(token) = variables.get(TOKEN) {
        return Ok(Caller::Bearer(Secret(token.trim().to_owned())));
    }
    let Some(credential) = variables.get(CREDENTIAL) else {
        return Ok(Caller::Anybody);
    };
    let server = match variables.get(SERVER) {
        None => super::at(base, &["v1", "oauth", "tokens"]),
        Some(text) => {
            let url = Url::parse(text).ok();
            let is_safe = |url: &Url| {
                let host = url.host_str().unwrap_or_default();
                url.scheme() == "https" || url.scheme() == "http" && is_loopback(host)
            };
            url.filter(is_safe).ok_or_else(|| {
                wrong(
                    SERVER,
                    "is no https:// address",
                    "write the address that gives tokens",
                )
            })?
        }
    };
    let (id, secret) = match credential.trim().split_once(':') {
        Some((id, secret)) => (Some(id.to_owned()), secret),
        None => (None, credential.trim()),
    };
    Ok(Caller::Client(Grant {
        server,
        id,
        secret: Secret(secret.to_owned()),
        scope: variables.get(SCOPE).unwrap_or(USUAL_SCOPE).to_owned(),
        token: tokio::sync::Mutex::new(None),
    }))
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
