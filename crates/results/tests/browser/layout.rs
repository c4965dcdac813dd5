//! The report on a telephone and on a wide screen, in the dark and in the light.

use netfathom_model::verdict::{Finding, Level};
use netfathom_testkit::browser::address;
use serde_json::{Value, json};

use crate::kinds::of;
use crate::records::fixture;
use crate::show;

/// How often each colour, as `#rrggbb`, occurs among a chart's pixels.
pub const COLOURS: &str = "((id) => {
    const canvas = document.querySelector('#chart-' + id + ' canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = {};
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] < 255) continue;
        const hex = '#' + [0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, '0')).join('');
        seen[hex] = (seen[hex] || 0) + 1;
    }
    return seen;
})";

/// Whether a curve of that colour is really to be seen.
pub fn has(colours: &Value, wanted: &str) -> bool {
    colours[wanted].as_u64() >= Some(200)
}

#[test]
fn names_come_before_their_figures_on_a_small_screen() {
    let cells = "[...document.querySelector('tbody tr').cells].slice(0, 3).map((cell) => cell.innerText)";
    for (record, wide, small) in [
        ("message", ["", "84.9 ms", "91.1 ms"], ["as it was (two)", "", "84.9 ms"]),
        ("sweep", ["1448", "171 kb/s", ""], ["Nagle 83.0 %", "1448", "171 kb/s"]),
    ] {
        let Some(mut shown) = show("names", &of(record)) else { return };
        for (width, first) in [(1600, wide), (360, small)] {
            shown.page.resize(width, 900, false);
            shown.page.open(&address(&shown.file));
            shown.page.wait_for("document.documentElement.dataset.drawn === 'yes'");
            assert_eq!(shown.page.eval(cells), json!(first), "{record} at {width}");
        }
    }
}

#[test]
fn links_shares_and_the_first_figures_are_within_the_report() {
    let beyond = "(() => {
        const edge = document.getElementById('report').getBoundingClientRect().right + 0.5;
        const heads = [...document.querySelectorAll('thead th')]
            .filter((head) => ['stage', 'largest stage', 'time', 'mean', 'p99'].includes(head.textContent));
        return [...document.querySelectorAll('nav a, .waterfall .share'), ...heads].filter((node) => {
            const text = document.createRange();
            text.selectNodeContents(node);
            return text.getBoundingClientRect().right > edge;
        }).map((node) => node.textContent);
    })()";
    let Some(mut shown) = show("edge", &of("watch-slow")) else { return };
    for width in [1600, 360] {
        shown.page.resize(width, 900, false);
        shown.page.open(&address(&shown.file));
        shown.page.wait_for("document.documentElement.dataset.drawn === 'yes'");
        assert_eq!(shown.page.eval(beyond), json!([]), "at {width}");
    }
}

#[test]
fn options_of_a_command_stay_on_one_line() {
    let lines = "(() => {
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const lines = [];
        while (walker.nextNode()) {
            const node = walker.currentNode;
            for (const option of node.data.matchAll(/--[a-z-]+/g)) {
                const range = document.createRange();
                range.setStart(node, option.index);
                range.setEnd(node, option.index + option[0].length);
                lines.push(new Set([...range.getClientRects()].map((line) => line.top)).size);
            }
        }
        return lines.filter((count) => count > 0);
    })()";
    let mut record = fixture();
    let text = "it is shorter with --cross-checks 0; ".repeat(20);
    record.verdict.lower(Level::Degraded, text.clone());
    let nothing = String::new;
    record.findings.push(Finding { seen: text, cause: nothing(), evidence: nothing(), remedy: nothing() });
    let Some(mut shown) = show("options", &record) else { return };
    for width in [1600, 700, 360] {
        shown.page.resize(width, 900, false);
        let lines = shown.page.eval(lines);
        let lines = lines.as_array().unwrap();
        assert!(lines.len() >= 40 && lines.iter().all(|count| *count == json!(1)), "at {width}: {lines:?}");
    }
}

#[test]
fn a_command_in_a_sentence_is_whole_unless_it_is_longer_than_a_line() {
    let lines = "(() => {
        const codes = [...document.querySelectorAll('.verdict li code, .finding code')];
        const lines = (code) => {
            const text = document.createRange();
            text.selectNodeContents(code);
            return new Set([...text.getClientRects()].map((line) => line.top)).size;
        };
        const of = (name) => codes.filter((code) => code.textContent.startsWith(name));
        return ['kill -CONT', 'strace'].map((name) => of(name).map(lines));
    })()";
    let quoted =
        "[...document.querySelectorAll('.verdict, .finding')].some((n) => n.innerText.includes('`'))";
    let beyond = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
    let mut record = fixture();
    let text = "it runs again with `kill -CONT 8`, ".repeat(20) + &format!("`strace{}`", " -f -T".repeat(40));
    record.verdict.lower(Level::Degraded, text.clone());
    let [cause, evidence, remedy] = [(); 3].map(|()| text.clone());
    record.findings = vec![Finding { seen: text, cause, evidence, remedy }];
    let Some(mut shown) = show("commands", &record) else { return };
    for width in [1600, 700, 360] {
        shown.page.resize(width, 900, false);
        let lines = shown.page.eval(lines);
        let of_text =
            |which: usize| lines[which].as_array().unwrap().iter().map(|count| count.as_u64().unwrap());
        assert!(of_text(0).count() >= 100 && of_text(0).all(|count| count == 1), "at {width}: {lines}");
        assert!(of_text(1).count() >= 5 && of_text(1).all(|count| count > 1), "at {width}: {lines}");
        assert_eq!(shown.page.eval(beyond), json!(false), "at {width}");
    }
    assert_eq!(shown.page.eval(quoted), json!(false));
}

#[test]
fn charts_follow_the_width() {
    let Some(mut shown) = show("width", &fixture()) else { return };
    for width in [1600, 360] {
        shown.page.resize(width, 900, false);
        let misfits = shown.page.eval(
            "Object.values(netfathom.charts).filter(({ plot }) =>
                Math.abs(plot.root.parentElement.clientWidth - plot.width) > 1).map((c) => c.spec.id)",
        );
        assert_eq!(misfits, json!([]), "at {width}");
    }
}

#[test]
fn the_dark_is_dark_in_page_and_charts() {
    let Some(mut shown) = show("dark", &fixture()) else { return };
    let ground = "getComputedStyle(document.body).backgroundColor";
    let drawn = format!("{COLOURS}('time-tx')");

    shown.page.prefer("light");
    let light = shown.page.eval(&drawn);
    assert_eq!(shown.page.eval(ground), json!("rgb(255, 255, 255)"));
    assert!(has(&light, "#0072b2") && !has(&light, "#56b4e9"), "{light}");

    shown.page.prefer("dark");
    let dark = shown.page.eval(&drawn);
    assert_eq!(shown.page.eval(ground), json!("rgb(17, 20, 24)"));
    assert!(has(&dark, "#56b4e9") && !has(&dark, "#0072b2"), "{dark}");
}

#[test]
fn paper_is_white_and_narrow() {
    let Some(mut shown) = show("print", &fixture()) else { return };
    shown.page.resize(1600, 900, false);
    shown.page.prefer("dark");
    shown.page.eval("window.dispatchEvent(new Event('beforeprint'))");
    shown.page.settle();
    let drawn = shown.page.eval(&format!("{COLOURS}('time-tx')"));
    assert!(has(&drawn, "#0072b2"), "{drawn}");
    let wide = "Object.values(netfathom.charts).filter((c) => c.plot.width > 700).map((c) => c.spec.id)";
    assert_eq!(shown.page.eval(wide), json!([]), "beyond the sheet");
}

#[test]
fn a_switched_off_curve_leaves_the_picture() {
    let Some(mut shown) = show("toggle", &fixture()) else { return };
    shown.page.prefer("light");
    let drawn = format!("{COLOURS}('time-tx')");
    let button = "document.querySelector('#chart-time-tx button[data-group=\"stack time\"]')";
    assert!(has(&shown.page.eval(&drawn), "#0072b2"));

    shown.page.eval(&format!("{button}.click()"));
    shown.page.settle();
    assert_eq!(shown.page.eval(&format!("{button}.getAttribute('aria-pressed')")), json!("false"));
    assert!(!has(&shown.page.eval(&drawn), "#0072b2"), "still drawn");

    shown.page.eval(&format!("{button}.click()"));
    shown.page.settle();
    assert!(has(&shown.page.eval(&drawn), "#0072b2"), "not drawn again");
}

#[test]
fn a_switched_off_layer_lowers_the_others() {
    let Some(mut shown) = show("layer toggle", &fixture()) else { return };
    let top = "Math.max(...netfathom.charts['stages-rx'].plot.data[1])";
    let before = shown.page.eval(top).as_f64().unwrap();
    shown.page.eval("document.querySelector('#chart-stages-rx button[data-group=sockqueue]').click()");
    shown.page.settle();
    let after = shown.page.eval(top).as_f64().unwrap();
    assert!(after < before * 0.9, "{after} of {before}");
}

#[test]
fn a_chart_is_reached_and_used_by_keyboard() {
    let Some(mut shown) = show("keyboard", &fixture()) else { return };
    // The rate is another chart: they zoom together.
    let view = "(() => { const { min, max } = netfathom.charts['rate'].plot.scales.x; return max - min; })()";
    let whole = shown.page.eval(view).as_f64().unwrap();
    let plot = "document.querySelector('#chart-time-tx .plot')";
    shown.page.eval(&format!("{plot}.focus()"));
    assert_eq!(shown.page.eval(&format!("document.activeElement === {plot}")), json!(true));
    shown.page.press("ArrowRight");
    shown.page.settle();
    let value =
        "document.querySelector('#chart-time-tx button[data-group=\"stack time\"] .value').textContent";
    assert!(shown.page.eval(value).as_str().unwrap().contains("µs"), "the reading has no value");

    shown.page.press("+");
    shown.page.settle();
    let zoomed = shown.page.eval(view).as_f64().unwrap();
    assert!(zoomed < whole * 0.6, "{zoomed} of {whole}");
    shown.page.press("0");
    shown.page.settle();
    assert!((shown.page.eval(view).as_f64().unwrap() - whole).abs() < 1e-9, "not the whole range again");
}

#[test]
fn the_mouse_reads_values_and_zooms() {
    let Some(mut shown) = show("mouse", &fixture()) else { return };
    shown.page.resize(1600, 900, false);
    let over = "document.querySelector('#chart-time-tx .u-over')";
    let reading = |chart: &str, group: &str| {
        format!("document.querySelector('#chart-{chart} button[data-group=\"{group}\"] .value').textContent")
    };
    shown.page.drag(over, &[1.0], false);
    let wanted = "((c) => { const i = c.plot.cursor.idx;
        return (c.spec.series.at(-1).values[i] / 1000).toFixed(2) + '\\u00a0µs'; })(netfathom.charts['time-tx'])";
    assert_eq!(shown.page.eval(&reading("time-tx", "stack time")), shown.page.eval(wanted));
    // The charts of one run read the same moment.
    assert!(shown.page.eval(&reading("rate", "planned")).as_str().unwrap().contains("/s"));

    shown.page.drag(over, &[20.0, 60.0, 100.0], true);
    let view = "(() => { const { min, max } = netfathom.charts['rate'].plot.scales.x; return max - min; })()";
    let zoomed = shown.page.eval(view).as_f64().unwrap();
    assert!(zoomed < 4.0, "{zoomed} of 10 s");
    shown.page.eval("document.querySelector('#chart-time-tx .reset').click()");
    shown.page.settle();
    assert!(shown.page.eval(view).as_f64().unwrap() > 9.0, "not the whole range again");
}

#[test]
fn everything_that_acts_can_be_reached_and_has_a_name() {
    let Some(mut shown) = show("names", &fixture()) else { return };
    let unnamed = "[...document.querySelectorAll('button, a, summary, .plot, .scroll')].filter((n) =>
        n.tabIndex < 0 || !(n.getAttribute('aria-label') || n.textContent.trim())).map((n) => n.outerHTML)";
    assert_eq!(shown.page.eval(unnamed), json!([]));
}
