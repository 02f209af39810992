//! TLS of connections that the service opens.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// The certificate authorities that Mozilla trusts.
pub(crate) fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() }
}

/// Describes a TLS fault in words; rustls shows this one as type names.
pub(crate) fn in_words(fault: String) -> String {
    if fault.contains("CaUsedAsEndEntity") {
        let why = "the server's certificate is that of an authority: make one with CA:FALSE";
        return why.to_owned();
    }
    fault
}

/// TLS 1.2 and 1.3 for a client, with certificates that these authorities signed.
///
/// # Errors
/// The library offers no cipher for one of these versions.
pub(crate) fn tls(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}
