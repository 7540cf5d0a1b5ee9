//! Where a request went: what a message needs to know beyond the client's own error.

/// Whose store it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Provider {
    /// A local disk, or memory.
    #[default]
    Here,
    S3,
    Google,
    Azure,
    Web,
}

/// Where a request went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    pub(crate) provider: Provider,
    /// The bucket, for object stores.
    pub(crate) bucket: Option<String>,
    /// The URL of the bucket or of the web server's folder: what a key comes after.
    pub(crate) root: String,
    /// The endpoint, for remote stores that were given one.
    pub(crate) endpoint: Option<String>,
}

/// What messages about a provider's stores say.
pub(crate) struct Words {
    /// What holds the objects.
    pub(crate) bucket: &'static str,
    /// The service, where no endpoint was named.
    pub(crate) service: &'static str,
    /// What to do where no credentials were found…
    pub(crate) no_credentials: &'static str,
    /// …where they were refused…
    pub(crate) denied: &'static str,
    /// …where nobody answers at the endpoint that was named…
    pub(crate) endpoint_silent: &'static str,
    /// …or at the service's own.
    pub(crate) service_silent: &'static str,
}

impl Place {
    /// Whether requests leave this machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.provider != Provider::Here
    }

    pub(crate) fn words(&self) -> Words {
        match self.provider {
            Provider::Here | Provider::S3 => Words {
                bucket: "bucket",
                service: "the S3 endpoint",
                no_credentials: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or, for a lake in a \
                     public bucket, --anonymous; anywhere AWS_SKIP_SIGNATURE=true)",
                denied: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's permissions",
                endpoint_silent: "check AWS_ENDPOINT_URL and that the server runs",
                service_silent: "check the network, AWS_REGION and AWS_ENDPOINT_URL",
            },
            Provider::Google => Words {
                bucket: "bucket",
                service: "Google's storage",
                no_credentials: "set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials (or, for a lake \
                     in a public bucket, --anonymous; anywhere GOOGLE_SKIP_SIGNATURE=true)",
                denied: "check GOOGLE_APPLICATION_CREDENTIALS and the bucket's permissions",
                endpoint_silent: "check GOOGLE_BASE_URL and that the server runs",
                service_silent: "check the network",
            },
            Provider::Azure => Words {
                bucket: "container",
                service: "Azure's storage",
                no_credentials: "set AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_TENANT_ID, \
                     AZURE_CLIENT_ID and AZURE_CLIENT_SECRET (or, for a lake in a public container, \
                     --anonymous; anywhere AZURE_SKIP_SIGNATURE=true)",
                denied: "check AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY and the container's \
                     permissions",
                endpoint_silent: "check AZURE_STORAGE_ENDPOINT and that the server runs",
                service_silent: "check the network and AZURE_STORAGE_ACCOUNT_NAME",
            },
            Provider::Web => Words {
                bucket: "folder",
                service: "the server",
                no_credentials: "name a page that everybody may read",
                denied: "name a page that everybody may read",
                endpoint_silent: "check the address and that the server runs",
                service_silent: "check the address and the network",
            },
        }
    }
}
