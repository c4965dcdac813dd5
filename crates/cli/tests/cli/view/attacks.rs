//! Requests that no browser of the user makes.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;

use netfathom_model::record::Measurement;

use super::{Viewed, status};
use crate::child::{out, until};
use crate::runs::put;

#[test]
fn only_reading_is_answered() {
    let dir = out();
    let run = put(dir.path(), 1, "ttcp", |_| ());
    let name = run.file_name().unwrap().to_str().unwrap().to_owned();
    let viewed = Viewed::start(dir.path());
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
        for path in ["/", &format!("/report/{name}"), "/runs.json"] {
            let target = if method == "CONNECT" { "127.0.0.1:1" } else { path };
            let answer = viewed.send(
                format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
                    .as_bytes(),
            );
            assert_eq!(status(&answer), 405, "{method}: {answer}");
            assert!(answer.contains("allow: GET, HEAD"), "{answer}");
        }
    }
    assert!(run.join("record.json").exists());
    let head = viewed.send(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&head), 200);
    assert!(head.ends_with("\r\n\r\n"), "a body: {head}");
}

#[test]
fn only_names_of_the_loopback_device_and_bounded_requests_are_answered() {
    let dir = out();
    let viewed = Viewed::start(dir.path());
    let asked = |headers: &str| status(&viewed.send(format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes()));
    for host in ["127.0.0.1", "localhost:1234", "[::1]:80"] {
        assert_eq!(asked(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "192.168.0.1", "", "localhost@evil"] {
        assert_eq!(asked(&format!("Host: {host}\r\n")), 403, "{host}");
    }
    assert_eq!(asked("Host: localhost\r\nHost: evil\r\n"), 403);
    assert_eq!(asked(""), 403);
    assert_eq!(status(&viewed.send(b"GET / HTTP/1.0\r\n\r\n")), 403);
    assert_eq!(asked("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n"), 403);
    assert_eq!(asked("Host: localhost\r\nSec-Fetch-Site: same-origin\r\n"), 200);
    let proxied = viewed.send(b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&proxied), 400);
    let long = "x".repeat(1_000_000);
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(10_000)),
        long.clone(),
        "\0\0\0\u{16}\u{3}\u{1}\r\n\r\n".into(),
        "GET / HTTP/9.9\r\n\r\n".into(),
        "GET\r\n\r\n".into(),
    ] {
        let answer = viewed.send(request.as_bytes());
        let refused = answer.is_empty() || matches!(status(&answer), 400 | 414 | 431 | 505);
        assert!(refused, "{}: {answer}", &request[..20.min(request.len())]);
    }
    assert_eq!(status(&viewed.get("")), 200, "it still answers");
}

#[test]
fn nothing_outside_the_directory_is_read() {
    let (dir, elsewhere) = (out(), out());
    let outside = put(elsewhere.path(), 2, "ttcp", |r| r.environment.host = Some("the-secret".into()));
    let run = put(dir.path(), 1, "ttcp", |_| ());
    let name = outside.file_name().unwrap().to_str().unwrap().to_owned();
    symlink(&outside, dir.path().join("20261009T000000Z-ttcp-1")).unwrap();
    symlink(elsewhere.path(), dir.path().join("way-out")).unwrap();
    fs::create_dir(dir.path().join("linked")).unwrap();
    symlink(outside.join("record.json"), dir.path().join("linked/record.json")).unwrap();
    let viewed = Viewed::start(dir.path());
    let up = elsewhere.path().file_name().unwrap().to_str().unwrap();
    let absolute = outside.to_str().unwrap();
    for path in [
        format!("report/../../{up}/{name}"),
        format!("report/..%2f{up}%2f{name}"),
        format!("report/%2e%2e%2f{up}%2f{name}"),
        format!("report/..%252f{up}%252f{name}"),
        format!("report/..\\{up}\\{name}"),
        format!("report/{absolute}"),
        format!("report/{}", absolute.replace('/', "%2f")),
        "report/20261009T000000Z-ttcp-1".into(),
        format!("report/way-out%2f{name}"),
        "report/way-out".into(),
        "report/linked".into(),
        "report/%00".into(),
        "report/%ff%fe".into(),
        "report/".into(),
        "report/..".into(),
        "report/.".into(),
        "report/%zz".into(),
        format!("report/{}/record.json", run.file_name().unwrap().to_str().unwrap()),
        "etc/passwd".into(),
        "../../../etc/passwd".into(),
        "//etc/passwd".into(),
        "runs.json/x".into(),
    ] {
        let answer = viewed.get(&path);
        assert!(matches!(status(&answer), 400 | 404), "{path}: {}", &answer[..answer.len().min(300)]);
        assert!(!answer.contains("the-secret"), "{path}");
    }
    let own = run.file_name().unwrap().to_str().unwrap();
    let up = format!("..%2f{up}%2f{name}");
    for query in
        [format!("run={own}&run={up}"), format!("run={up}&run={own}"), format!("run={own}&run=way-out")]
    {
        let answer = viewed.get(&format!("compare?{query}"));
        assert_eq!(status(&answer), 404, "{query}: {}", &answer[..answer.len().min(300)]);
        assert!(!answer.contains("the-secret"), "{query}");
    }
    for query in [String::new(), format!("run={own}"), format!("run={own}&").repeat(1000)] {
        assert!(matches!(status(&viewed.get(&format!("compare?{query}"))), 400 | 431), "{query}");
    }
    assert!(!viewed.get("runs.json").contains("the-secret"));
}

#[test]
fn half_requests_and_floods_keep_no_client_out() {
    let dir = out();
    put(dir.path(), 1, "ttcp", |_| ());
    let viewed = Viewed::start(dir.path());
    // Far more than are let in at a time; each sends half of a request.
    let mut slow: Vec<_> = (0..150)
        .map(|i| {
            let mut stream = viewed.connect();
            let _ = stream.write_all(["GET / HT", "GET / HTTP/1.1\r\nHost: loc", ""][i % 3].as_bytes());
            stream
        })
        .collect();
    assert_eq!(status(&viewed.get("runs.json")), 200);
    // The last of them had not been cut by then: it is answered when it goes on.
    let last = slow.last_mut().unwrap();
    last.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert_eq!(status(&answer), 200);
    // And the others are sent away by themselves.
    let one = &mut slow[148];
    let mut rest = Vec::new();
    let closed = until("the end of half a request", || one.read_to_end(&mut rest).ok());
    assert!(closed == 0 || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

#[test]
fn what_a_run_is_called_and_says_is_never_markup() {
    let dir = out();
    let evil = "</script><img src=x onerror=alert(1)>";
    let run = put(dir.path(), 1, "ttcp", |r| {
        r.environment.host = Some(evil.into());
        let Measurement::Transfer(_) = &r.measurement else { panic!("another measurement") };
    });
    fs::rename(&run, dir.path().join("<img src=x onerror=alert(1)>")).unwrap();
    fs::write(put(dir.path(), 2, "ttcp", |_| ()).join("record.json"), evil).unwrap();
    let viewed = Viewed::start(dir.path());
    let page = viewed.get("");
    assert!(page.contains("content-security-policy: default-src 'none'; script-src 'sha256-"), "{page}");
    let list = viewed.get("runs.json");
    assert!(list.contains("content-type: application/json") && list.contains("nosniff"), "{list}");
    let report = viewed.get("report/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E");
    assert_eq!(status(&report), 200);
    assert!(report.contains("frame-ancestors 'none'") && !report.contains("<img src=x"), "not escaped");
    let refused = viewed.get(&format!("{}%3Cb%3E", "report/"));
    assert!(refused.contains("content-type: text/plain"), "{refused}");
}
