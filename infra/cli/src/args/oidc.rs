//! Flags of the issuer whose tokens a node believes.

use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct OidcArgs {
    /// Believe tokens (signed JWTs) of this OpenID Connect issuer, besides keys of --keys or
    /// instead of them: its URL as its tokens have it.
    #[arg(
        long = "oidc-issuer",
        value_name = "URL",
        env = "LIMN_OIDC_ISSUER",
        requires = "oidc_audience"
    )]
    pub oidc_issuer: Option<String>,
    /// The audience that tokens must be for. May be repeated: one of them must do.
    #[arg(
        long = "oidc-audience",
        value_name = "AUDIENCE",
        env = "LIMN_OIDC_AUDIENCE",
        requires = "oidc_issuer"
    )]
    pub oidc_audience: Vec<String>,
    /// The claim with the paths that a token may see, one or a list, as those of limn keys add
    /// --prefix; the path
    /// * alone is for all tables. A token without it is refused.
    #[arg(
        long = "oidc-prefix-claim",
        value_name = "CLAIM",
        default_value = "limn_prefixes"
    )]
    pub prefix_claim: String,
    /// The claim with a token's rights: search, rows, admin, as a list or as words. A token without
    /// it may search.
    #[arg(
        long = "oidc-rights-claim",
        value_name = "CLAIM",
        default_value = "limn_rights"
    )]
    pub rights_claim: String,
    /// Certificates that the issuer's may be signed by, in PEM, besides the public ones.
    #[arg(long = "oidc-ca", value_name = "FILE.pem", requires = "oidc_issuer")]
    pub ca: Option<PathBuf>,
}
