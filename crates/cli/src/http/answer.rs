//! From a request to a response: who may ask, for what, and with which headers it is answered.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};

use super::{Content, Site};

/// By these names only. Under another, a page from elsewhere could have brought a browser here (DNS rebinding).
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// Says whether a request comes from a page of another site.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

type Answer = Response<Full<Bytes>>;

pub async fn answer<S: Site>(site: Arc<S>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    if let Some(refused) = refusal(&request, site.is_local()) {
        return Ok(refused);
    }
    let uri = request.uri();
    Ok(match site.content(uri.path(), uri.query().unwrap_or_default(), request.headers()).await {
        Ok(Content { kind, policy, body }) => respond(StatusCode::OK, kind, &policy, body),
        Err(missing) => plain(missing.status, missing.why),
    })
}

/// Why a request is not even looked at.
fn refusal<B>(request: &Request<B>, is_local: bool) -> Option<Answer> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "this page only shows: GET and HEAD are all there is".into(),
        );
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Some(refused);
    }
    if request.uri().authority().is_some() {
        return Some(plain(StatusCode::BAD_REQUEST, "this is no proxy: ask for a path".into()));
    }
    if is_local && !names_loopback(request.headers()) {
        let why = "this page is for this machine alone: open it as http://127.0.0.1 or http://localhost, with its port";
        return Some(plain(StatusCode::FORBIDDEN, why.into()));
    }
    let site = request.headers().get(FETCH_SITE).map(HeaderValue::as_bytes);
    let foreign = matches!(site, Some(site) if site != b"same-origin" && site != b"none");
    foreign.then(|| plain(StatusCode::FORBIDDEN, "pages of other sites may not ask for this".into()))
}

/// Whether the request was made under a name of the loopback device, whatever the port: it may be forwarded.
fn names_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let authority = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    authority.is_some_and(|a| {
        !a.as_str().contains('@') && LOOPBACK_NAMES.iter().any(|name| a.host().eq_ignore_ascii_case(name))
    })
}

fn plain(status: StatusCode, why: String) -> Answer {
    let policy = "default-src 'none'; frame-ancestors 'none'";
    respond(status, "text/plain; charset=utf-8", policy, (why + "\n").into())
}

fn respond(status: StatusCode, kind: &'static str, policy: &str, body: Bytes) -> Answer {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Policies are ours, and of plain characters.
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_hosts(hosts: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        names_loopback(&headers)
    }

    #[test]
    fn only_names_of_the_loopback_device_are_answered() {
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:80", "127.0.0.1"] {
            assert!(with_hosts(&[host]), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil@127.0.0.1",
            "127.0.0.1@evil",
            "0.0.0.0",
            "[::]",
            "localhost:8080/x",
            "localhost evil",
        ] {
            assert!(!with_hosts(&[host]), "{host}");
        }
        assert!(!with_hosts(&[]));
        assert!(!with_hosts(&["localhost", "localhost"]));
    }
}
