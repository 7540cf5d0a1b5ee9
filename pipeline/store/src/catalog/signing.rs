//! Requests that a catalog wants signed by AWS (Signature Version 4): those of Glue's and S3
//! Tables' catalogs, and of others that say so in their settings (`rest.sigv4-enabled`).
//!
//! The credentials are those that S3 is read with. Signed is what goes to the host that the user
//! has named, or to AWS's own two: an index may come from others, and it names the catalog.

use std::error::Error;
use std::fmt;

use http::header::{AUTHORIZATION, HOST, HeaderName};
use http::{HeaderMap, HeaderValue};
use object_store::aws::{AwsAuthorizer, AwsCredential, AwsCredentialProvider};
use object_store::client::{HttpRequest, HttpRequestBody};
use url::Url;

use super::answers::Properties;
use super::client::Secret;
use super::error::CatalogError;
use crate::access::{Access, Variables};
use crate::location::s3;

/// The service whose requests are signed; setting it has requests signed from the first one on.
const NAME: &str = "LIMN_ICEBERG_SIGNING_NAME";
const REGION: &str = "LIMN_ICEBERG_SIGNING_REGION";
/// The service that the specification's own clients sign for where nothing is said.
const USUAL_NAME: &str = "execute-api";
/// Where a token goes whose header the signature takes, as in the specification's own clients.
const TOKEN: HeaderName = HeaderName::from_static("original-authorization");

/// Whether limn signs requests to a catalog that wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signs {
    Yes,
    /// The user has not named its host.
    NotNamed,
    /// The user wants no credentials sent.
    Anonymous,
}

/// The catalog of AWS that a host is: its service and region.
pub(super) fn of_aws(host: &str) -> Option<(&str, &str)> {
    let own = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
    let below = own.iter().find_map(|domain| host.strip_suffix(domain))?;
    let (service, region) = below.split_once('.')?;
    let service = match service {
        "glue" | "glue-fips" => "glue",
        "s3tables" | "s3tables-fips" => "s3tables",
        _ => return None,
    };
    (!region.contains('.')).then_some((service, region))
}

/// Whether requests to this address are signed if the catalog wants it, and what the address and,
/// for a host that is named, the environment say of it; as a catalog's settings say it.
pub(super) fn of_user(
    base: &Url,
    is_named: bool,
    access: &Access,
    variables: &Variables,
) -> (Signs, Properties) {
    if access.anonymous {
        return (Signs::Anonymous, Properties::new());
    }
    let aws = match base.scheme() {
        "https" => of_aws(base.host_str().unwrap_or_default()),
        _ => None,
    };
    let signs = match is_named || aws.is_some() {
        true => Signs::Yes,
        false => Signs::NotNamed,
    };
    let given = |name: &str| variables.get(name).map(str::trim).filter(|_| is_named);
    let name = given(NAME).or(aws.map(|(name, _)| name));
    let region = given(REGION).or(aws.map(|(_, region)| region));
    let settings = [
        ("rest.sigv4-enabled", name.map(|_| "true")),
        ("rest.signing-name", name),
        ("rest.signing-region", region),
    ];
    let settings = settings.into_iter();
    let settings = settings.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    (signs, settings.collect())
}

/// Whether these settings have requests signed.
pub(super) fn are_wanted(settings: &Properties) -> bool {
    let is = |name: &str, value: &str| {
        settings
            .get(name)
            .is_some_and(|it| it.eq_ignore_ascii_case(value))
    };
    is("rest.sigv4-enabled", "true") || is("rest.auth.type", "sigv4")
}

/// The signer.
pub(super) struct Signer {
    credentials: AwsCredentialProvider,
    service: String,
    region: String,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut signer = f.debug_struct("Signer");
        signer.field("service", &self.service);
        signer.field("region", &self.region).finish_non_exhaustive()
    }
}

impl Signer {
    /// The signer that these settings want, if they want one.
    pub(super) fn of(
        settings: &Properties,
        signs: Signs,
        access: &Access,
        variables: &Variables,
    ) -> Result<Option<Signer>, CatalogError> {
        if !are_wanted(settings) {
            return Ok(None);
        }
        if signs != Signs::Yes {
            return Err(CatalogError::Unsigned(signs));
        }
        let said = |name: &str| settings.get(name).map(String::as_str);
        let service = said("rest.signing-name").unwrap_or(USUAL_NAME);
        let region = said("rest.signing-region")
            .or(variables.get("AWS_REGION"))
            .or(variables.get("AWS_DEFAULT_REGION"))
            .ok_or_else(|| CatalogError::Refused {
                cause: "the catalog wants signed requests and does not say of which region".into(),
                remedy: "set AWS_REGION or LIMN_ICEBERG_SIGNING_REGION",
            })?;
        if !is_name(service) || !is_name(region) {
            return Err(CatalogError::Refused {
                cause: "the service or the region to sign for is no name".into(),
                remedy: "check LIMN_ICEBERG_SIGNING_NAME, LIMN_ICEBERG_SIGNING_REGION and AWS_REGION, and the catalog's settings",
            });
        }
        tracing::debug!(service, region, "requests are signed");
        Ok(Some(Signer {
            credentials: s3::credentials(access, variables)?,
            service: service.to_owned(),
            region: region.to_owned(),
        }))
    }

    /// Signs a GET request with these headers, and gives what of it is secret.
    pub(super) async fn sign(
        &self,
        url: &Url,
        headers: &mut HeaderMap,
    ) -> Result<Vec<Secret>, CatalogError> {
        let credential = self.credentials.get_credential().await;
        let credential = credential.map_err(|error| {
            tracing::debug!(error = innermost(&error), "there are no credentials");
            CatalogError::NoCredentials
        })?;
        if !fits_a_header(&credential) {
            return Err(CatalogError::Refused {
                cause: "the credentials have characters that no header can hold".into(),
                remedy: "check AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN for line ends",
            });
        }
        let token = headers.remove(AUTHORIZATION);
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = url.as_str().parse().map_err(|_| {
            CatalogError::Nonsense("a name in it cannot be a part of an address".into())
        })?;
        *request.headers_mut() = std::mem::take(headers);
        AwsAuthorizer::new(&credential, &self.service, &self.region).authorize(&mut request, None);
        *headers = std::mem::take(request.headers_mut());
        // The client sends it as it was signed, of the address.
        headers.remove(HOST);
        if let Some(token) = token {
            headers.insert(TOKEN, token);
        }
        for name in ["authorization", "x-amz-security-token"] {
            if let Some(value) = headers.get_mut(name) {
                value.set_sensitive(true);
            }
        }
        let signature = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let signature = signature.and_then(|it| it.rsplit_once("Signature="));
        let secrets = [
            Some(credential.secret_key.clone()),
            credential.token.clone(),
            signature.map(|(_, it)| it.to_owned()),
        ];
        Ok(secrets.into_iter().flatten().map(Secret).collect())
    }
}

/// An address as it is signed: a space in its query is `%20`, and never a plus.
pub(super) fn plain_query(url: &Url) -> Url {
    let mut plain = url.clone();
    if let Some(query) = url.query() {
        plain.set_query(Some(&query.replace('+', "%20")));
    }
    plain
}

/// Whether a text can be a part of what a signature is for.
fn is_name(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
    !text.is_empty() && text.bytes().all(is_plain)
}

/// What an error comes down to. The addresses in its other causes may hold a role's token.
fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// Whether signing with them succeeds.
fn fits_a_header(credential: &AwsCredential) -> bool {
    let fits = |text: &str| HeaderValue::from_str(text).is_ok();
    fits(&credential.key_id) && credential.token.as_deref().is_none_or(fits)
}
