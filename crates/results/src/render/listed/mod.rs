//! The page over a directory of runs, which a server sends beside the list itself: it finds runs, and leads to
//! their reports. Of the same parts as a report.

use std::sync::LazyLock;

use askama::Template;

use super::html::embed::sha256_source;

const STYLE: &str = concat!(
    include_str!("../html/style/base.css"),
    include_str!("../html/style/parts.css"),
    include_str!("style.css"),
    include_str!("../html/style/media.css"),
);

/// Concatenated in this order into one function scope.
const SCRIPT: &str = concat!(
    "(function () {\n'use strict';\n",
    include_str!("../html/script/format.js"),
    include_str!("../html/script/dom.js"),
    include_str!("script/filter.js"),
    include_str!("script/rows.js"),
    include_str!("script/main.js"),
    "})();\n",
);

#[derive(Template)]
#[template(path = "page.html", config = "src/render/listed/askama.toml")]
struct Page<'a> {
    style: &'a str,
    script: &'a str,
    out: &'a str,
}

/// Draws the page over the runs in `out`. It asks for the list at `runs.json` beside itself.
pub fn render(out: &str) -> Result<String, askama::Error> {
    Page { style: STYLE, script: SCRIPT, out }.render()
}

/// The content policy that the page is to be sent with: nothing but its own script and style, and its own list.
pub fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "default-src 'none'; script-src {}; style-src {}; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            sha256_source(SCRIPT),
            sha256_source(STYLE),
        )
    });
    &POLICY
}
