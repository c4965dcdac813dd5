//! The report on paper: everything open, nothing to press, and as before afterwards.

use serde_json::json;

use crate::kinds::of;
use crate::{Shown, show};

const CONTROLS: &str = "[...document.querySelectorAll('nav, .skip, .tools, .choice, .download, .downloads')]
    .filter((node) => node.getClientRects().length > 0).map((node) => node.outerHTML.slice(0, 200))";
const CLOSED: &str = "document.querySelectorAll('details:not([open]), .chosen > [hidden]').length";

/// Paper has all tables and no controls.
pub fn printed(kind: &str, shown: &mut Shown) {
    let closed = shown.page.eval(CLOSED);
    let tables = shown.page.eval("document.querySelectorAll('table').length").as_u64();
    shown.page.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    shown.page.eval("window.dispatchEvent(new Event('beforeprint'))");
    shown.page.settle();
    assert_eq!(shown.page.eval(CLOSED), json!(0), "{kind}: something is closed");
    assert_eq!(shown.page.eval(CONTROLS), json!([]), "{kind}");
    assert!(shown.page.eval("document.querySelectorAll('table').length").as_u64() > tables, "{kind}");
    let unseen = "[...document.querySelectorAll('table')].filter((t) => !t.getClientRects().length).length";
    assert_eq!(shown.page.eval(unseen), json!(0), "{kind}: a table is not printed");

    shown.page.eval("window.dispatchEvent(new Event('afterprint'))");
    shown.page.call("Emulation.setEmulatedMedia", json!({"media": ""}));
    shown.page.settle();
    assert_eq!(
        shown.page.eval("document.querySelectorAll('main > section > details[open]').length"),
        json!(0),
        "{kind}"
    );
    assert!(shown.page.eval(CLOSED).as_u64() >= closed.as_u64(), "{kind}: not as before");
    assert_eq!(shown.page.complaints(), Vec::<String>::new(), "{kind}");
}

#[test]
fn a_browser_makes_a_document_of_it() {
    let Some(mut shown) = show("pdf", &of("stack")) else { return };
    let pdf = shown.page.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(pdf["data"].as_str().is_some_and(|data| data.len() > 10_000));
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}
