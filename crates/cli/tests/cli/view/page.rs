//! The page in a real browser.

use std::fs;
use std::path::Path;

use netfathom_model::verdict::Level;
use netfathom_results::store;
use netfathom_testkit::browser::Page;
use netfathom_testkit::test_name;
use serde_json::json;

use super::Viewed;
use crate::child::out;
use crate::runs::put;

/// What no page may run.
const HOSTILE: &str = "</script><img src=x onerror=\"window.pwned=1\"><script>window.pwned=1</script>";

/// Runs enough for several pages of the list: most of them are heads alone.
fn many(out: &Path, runs: usize) {
    for i in 0..runs {
        let id = format!("202609{:02}T{:02}{:02}00Z-load-{i:08x}", 1 + i / 1440, i / 60 % 24, i % 60);
        let started = format!("2026-09-{:02}T{:02}:{:02}:00Z", 1 + i / 1440, i / 60 % 24, i % 60);
        let record = format!(
            r#"{{"schema_version":1,"id":"{id}","tool":"netfathom","started_utc":"{started}","state":"complete","verdict":{{"level":"{}","reasons":[]}},"command":"netfathom","environment":{{"host":"host-{}","kernel":"6.1.0"}},"measurement":{{"kind":"load"}},"findings":[]}}"#,
            ["VALID", "VOID"][i % 2],
            i % 3,
        );
        fs::create_dir(out.join(&id)).unwrap();
        fs::write(out.join(&id).join("record.json"), record + "\n").unwrap();
    }
}

/// The page in a browser; `None` where there is none.
fn show(test: &str, viewed: &Viewed) -> Option<Page> {
    let mut page = Page::start(test)?;
    go(&mut page, &viewed.address(""));
    Some(page)
}

fn go(page: &mut Page, address: &str) {
    let opened = page.call("Page.navigate", json!({"url": address}));
    assert!(opened["errorText"].is_null(), "{opened}");
    await_drawn(page, &format!("location.href.startsWith({address:?})"));
    page.settle();
}

/// Waits until this holds of a page, and a script has drawn it.
fn await_drawn(page: &mut Page, holds: &str) {
    page.wait_for(&format!("{holds} && document.documentElement?.dataset.drawn === 'yes'"));
}

const NAMES: &str = "[...document.querySelectorAll('#runs td .id')].map((n) => n.textContent)";

/// The runs that a comparison names.
const SIDES: &str = "[...document.querySelectorAll('main p')].map((p) => p.textContent.split(/\\s+/))
    .filter(([side]) => side === 'A' || side === 'B').map(([, name]) => name)";

fn set(page: &mut Page, id: &str, value: &str) {
    page.eval(&format!(
        "(() => {{ const box = document.getElementById({id:?}); box.value = {value:?};
            box.dispatchEvent(new Event(box.tagName === 'SELECT' ? 'change' : 'input')); }})()"
    ));
}

#[test]
fn runs_are_listed_filtered_and_opened() {
    let dir = out();
    let newest = put(dir.path(), 20, "ttcp", |r| r.verdict.level = Level::Degraded);
    let tagged = put(dir.path(), 19, "join", |r| r.environment.host = Some(HOSTILE.into()));
    store::tag(&tagged, &["base".into()]).unwrap();
    fs::write(put(dir.path(), 18, "join", |_| ()).join("record.json"), HOSTILE).unwrap();
    fs::create_dir(dir.path().join("20261017T000000Z-<img src=x onerror=alert(1)>")).unwrap();
    let name = |run: &Path| run.file_name().unwrap().to_str().unwrap().to_owned();
    let viewed = Viewed::start(dir.path());
    let Some(mut page) = show(test_name!(), &viewed) else { return };
    let shown = page.eval(NAMES);
    assert_eq!(shown.as_array().unwrap().len(), 3, "{shown}");
    assert_eq!(shown[0], json!(name(&newest)));
    assert!(page.eval("document.body.innerText").as_str().unwrap().contains(HOSTILE));
    assert_eq!(page.eval("document.querySelectorAll('img').length"), json!(0));

    set(&mut page, "tag", "base");
    assert_eq!(page.eval(NAMES), json!([name(&tagged)]));
    set(&mut page, "tag", "");
    set(&mut page, "find", "damaged");
    assert_eq!(page.eval(NAMES).as_array().unwrap().len(), 1);
    assert_eq!(
        page.eval("document.querySelectorAll('#runs a').length"),
        json!(0),
        "a damaged run has no report"
    );
    set(&mut page, "find", "");
    set(&mut page, "since", "2026-10-20");
    assert_eq!(page.eval(NAMES), json!([name(&newest)]));
    // It survives a reload.
    page.call("Page.reload", json!({}));
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 1");
    assert_eq!(page.eval(NAMES), json!([name(&newest)]));

    page.drag("document.querySelector('#runs a')", &[0.0], true);
    await_drawn(&mut page, "document.querySelector('#verdict')");
    assert!(page.eval("location.pathname").as_str().unwrap().starts_with("/report/"));
    assert!(page.eval("document.title").as_str().unwrap().contains(&name(&newest)));
    assert_eq!(page.eval("window.pwned === undefined"), json!(true));
    assert_eq!(page.complaints(), Vec::<String>::new());
    // The browser draws boxes for dates with a picture of its own.
    let own = viewed.address("");
    let foreign: Vec<_> =
        page.requests().into_iter().filter(|r| !r.starts_with(&own) && !r.starts_with("data:")).collect();
    assert_eq!(foreign, Vec::<String>::new());
}

#[test]
fn ten_thousand_runs_are_turned_over_a_page_at_a_time_on_any_screen_and_stay_when_the_server_ends() {
    const RUNS: usize = 10_000;
    let dir = out();
    many(dir.path(), RUNS);
    let viewed = Viewed::start(dir.path());
    let Some(mut page) = show(test_name!(), &viewed) else { return };
    let found = "document.getElementById('found').textContent";
    assert_eq!(page.eval(found), json!("1 to 100 of 10,000 runs"));
    assert_eq!(page.eval("document.querySelectorAll('#runs tbody tr').length"), json!(100));
    assert!(page.eval(NAMES)[0].as_str().unwrap().ends_with(&format!("{:08x}", RUNS - 1)));
    page.eval("document.querySelectorAll('.pager button')[1].click()");
    assert_eq!(page.eval(found), json!("101 to 200 of 10,000 runs"));
    assert!(page.eval(NAMES)[0].as_str().unwrap().ends_with(&format!("{:08x}", RUNS - 101)));
    set(&mut page, "verdict", "VOID");
    assert_eq!(page.eval(found), json!("1 to 100 of 5,000 runs, of 10,000"));
    set(&mut page, "host", "host-1");
    let matching = (0..RUNS).filter(|i| i % 2 == 1 && i % 3 == 1).count();
    assert!(
        page.eval(found).as_str().unwrap().contains(&format!("of 1,{} runs", matching - 1000)),
        "{matching}"
    );
    // A new run is there when the reader comes back.
    put(dir.path(), 30, "ttcp", |r| r.environment.host = Some("a-name-without-a-break".repeat(9)));
    page.eval("window.dispatchEvent(new Event('focus'))");
    page.wait_for(&format!("{found}.includes('of 10,001')"));
    set(&mut page, "verdict", "");
    set(&mut page, "host", "");
    assert_eq!(page.eval(found), json!("1 to 100 of 10,001 runs"));
    holds_on_any_screen(&mut page);
    assert_eq!(page.complaints(), Vec::<String>::new());
    viewed.stop("INT");
    page.eval("window.dispatchEvent(new Event('focus'))");
    page.wait_for(&format!("{found}.includes('Is netfathom view still running?')"));
    assert_eq!(page.eval(NAMES).as_array().unwrap().len(), 100, "what was read stays");
}

fn holds_on_any_screen(page: &mut Page) {
    for (width, mobile) in [(360, true), (360, false), (800, false), (1600, false)] {
        page.resize(width, 900, mobile);
        let wide = page.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(width)), "{wide} at {width}");
    }
    let ground = "getComputedStyle(document.body).backgroundColor";
    for (scheme, colour) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 20, 24)")] {
        page.prefer(scheme);
        assert_eq!(page.eval(ground), json!(colour));
    }
    let unnamed = "[...document.querySelectorAll('button, a, input, select, .scroll')].filter((n) => n.tabIndex < 0 && !n.disabled
        || !(n.getAttribute('aria-label') || n.textContent.trim() || document.querySelector('label[for=' + n.id + ']'))).map((n) => n.outerHTML)";
    assert_eq!(page.eval(unnamed), json!([]));
}

/// Names and tags that came with files from elsewhere; a name cannot hold a slash.
fn hostile_run(out: &Path) {
    let run = put(out, 7, "ttcp", |r| r.environment.kernel = HOSTILE.into());
    fs::write(run.join("tags.json"), json!({"tags": [HOSTILE, "<b>base</b>"]}).to_string()).unwrap();
    fs::rename(run, out.join("20261007T120000Z-<img src=x onerror=window.pwned=1>\"'`&")).unwrap();
}

/// As a reader does it: finds a run, reads its report, comes back to the same list, compares two with the oldest of them.
#[test]
fn a_reader_finds_opens_comes_back_and_compares_on_any_screen() {
    let dir = out();
    let runs: Vec<_> = [3, 5, 9].map(|day| put(dir.path(), day, "ttcp", |_| ())).into();
    put(dir.path(), 10, "join", |_| ());
    hostile_run(dir.path());
    let viewed = Viewed::start(dir.path());
    let name = |i: usize| json!(runs[i].file_name().unwrap().to_str().unwrap());
    for (width, mobile) in [(360, true), (1600, false)] {
        let Some(mut page) = show(test_name!(), &viewed) else { return };
        page.resize(width, 900, mobile);
        assert_eq!(page.eval("document.querySelectorAll('#runs tbody tr').length"), json!(5));
        assert_eq!(
            page.eval("document.querySelectorAll('#runs img, #runs b b, td .tag *').length"),
            json!(0)
        );
        set(&mut page, "find", "ttcp");
        set(&mut page, "until", "2026-10-05");
        assert_eq!(page.eval(NAMES), json!([name(1), name(0)]));

        page.drag("document.querySelector('#runs a')", &[0.0], true);
        await_drawn(&mut page, "location.pathname.startsWith('/report/')");
        // After the answer, which a page that is left cannot give.
        page.eval("void setTimeout(() => history.back())");
        page.wait_for("location.pathname === '/' && document.querySelectorAll('#runs tbody tr').length");
        assert_eq!(page.eval(NAMES), json!([name(1), name(0)]), "the filters are gone at {width}");

        let ticks = "document.getElementById('ticks').textContent";
        assert_eq!(page.eval(ticks), json!(""));
        // Ticks stay while other runs are shown.
        for (i, until, shown) in [(2, "", "tick another run"), (0, "2026-10-03", "Compare 2 runs")] {
            set(&mut page, "until", until);
            let tick = format!(
                "[...document.querySelectorAll('#runs tr')].find((r) => r.textContent.includes({})).querySelector('input')",
                name(i)
            );
            page.drag(&tick, &[0.0], true);
            assert!(page.eval(ticks).as_str().unwrap().starts_with(shown), "{shown}");
        }
        page.drag("document.querySelector('#ticks a')", &[0.0], true);
        await_drawn(&mut page, "location.pathname === '/compare'");
        assert_eq!(page.eval(SIDES), json!([name(0), name(2)]));
        let wide = page.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(width)), "{wide} at {width}");
        assert_eq!(page.eval("window.pwned === undefined"), json!(true));
        assert_eq!(page.complaints(), Vec::<String>::new());
    }
}

#[test]
fn the_policy_of_the_list_lets_nothing_else_run_or_be_asked() {
    let dir = out();
    put(dir.path(), 1, "ttcp", |_| ());
    let (viewed, other) = (Viewed::start(dir.path()), Viewed::start(dir.path()));
    let Some(mut page) = show(test_name!(), &viewed) else { return };
    page.eval(
        "(() => { const add = (tag, text) => document.body.append(Object.assign(document.createElement(tag), { textContent: text }));
            add('script', 'window.pwned = 1'); add('style', 'body { opacity: 0.5 }'); })()",
    );
    assert_eq!(page.eval("window.pwned === undefined"), json!(true));
    assert_eq!(page.eval("getComputedStyle(document.body).opacity"), json!("1"));
    let asked =
        format!("fetch({:?}, {{ mode: 'no-cors' }}).then(() => 'came', () => 'refused')", other.address(""));
    assert_eq!(page.eval(&asked), json!("refused"));
    let refusals: Vec<_> =
        page.complaints().into_iter().filter(|c| c.contains("Content Security Policy")).collect();
    for directive in ["script-src", "style-src", "connect-src"] {
        assert!(refusals.iter().any(|message| message.contains(directive)), "{directive}: {refusals:?}");
    }
}
