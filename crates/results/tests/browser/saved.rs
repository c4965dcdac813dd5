//! What a report saves: the record as it was, and the values of charts and tables.

use netfathom_model::record::Record;
use serde_json::json;

use crate::kinds::open_all;
use crate::records::fixture;
use crate::{Shown, show};

/// Clicks a button and waits for the file that it saves.
pub fn saved(shown: &mut Shown, button: &str, name: &str) -> String {
    shown.page.save(shown.directory.path(), &format!("{button}.click()"));
    std::fs::read_to_string(shown.directory.path().join(name)).expect("the saved file")
}

#[test]
fn the_record_can_be_saved_as_it_was() {
    let record = fixture();
    let Some(mut shown) = show("download", &record) else { return };
    let text = saved(&mut shown, "document.getElementById('download')", &format!("{}.json", record.id));
    let saved: Record = serde_json::from_str(&text).expect("what is saved is a record");
    assert_eq!(serde_json::to_value(saved).unwrap(), serde_json::to_value(record).unwrap());
    assert_eq!(shown.page.complaints(), Vec::<String>::new());
}

#[test]
fn a_chart_saves_what_it_draws() {
    let record = fixture();
    let Some(mut shown) = show("csv", &record) else { return };
    let name = format!("{}-Mean_stack_time_rx.csv", record.id);
    let text = saved(&mut shown, "document.querySelector('#chart-time-rx .csv')", &name);
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some(
            "time (s),\"stack time, trial 1 (ns)\",\"stack time, trial 4 (ns)\",\"stack time, trial 6 (ns)\",\
             stack time (ns)"
        )
    );
    let values = shown.page.eval("netfathom.charts['time-rx'].plot.data[0].length").as_u64().unwrap();
    assert_eq!(lines.clone().filter(|line| !line.is_empty()).count() as u64, values);
    let first: Vec<f64> = lines.next().unwrap().split(',').map(|field| field.parse().unwrap()).collect();
    let drawn = shown.page.eval("netfathom.charts['time-rx'].plot.data.map((values) => values[0])");
    assert_eq!(json!(first), drawn);
}

#[test]
fn a_text_that_a_spreadsheet_would_run_is_a_text() {
    let mut record = fixture();
    record.environment.settings.host.insert("=1+1".into(), "a,\"b\"".into());
    let Some(mut shown) = show("formula", &record) else { return };
    open_all(&mut shown);
    let button = "[...document.querySelectorAll('.downloads button')].find((b) => b.textContent === 'Settings of the host')";
    let text = saved(&mut shown, button, &format!("{}-Settings_of_the_host.csv", record.id));
    assert!(text.contains("'=1+1,\"a,\"\"b\"\"\"\r\n"), "{text}");
}

/// Every chart of a report that is open has values to save, and every one of them is a number.
pub fn charts_are_saved(kind: &str, shown: &mut Shown) {
    let charts = shown.page.eval("document.querySelectorAll('.chart .csv').length").as_u64().unwrap();
    assert_eq!(shown.page.eval("Object.keys(netfathom.charts).length").as_u64(), Some(charts), "{kind}");
    // What would be saved is read where it is made.
    shown.page.eval(
        "(() => { window.texts = []; const make = URL.createObjectURL;
            URL.createObjectURL = (blob) => { texts.push(blob.text()); return make(blob); };
            HTMLAnchorElement.prototype.click = () => {};
            document.querySelectorAll('.chart .csv').forEach((b) => b.click()); })()",
    );
    let texts = shown.page.eval("Promise.all(texts)");
    let texts = texts.as_array().unwrap();
    assert_eq!(texts.len() as u64, charts, "{kind}");
    for text in texts.iter().map(|text| text.as_str().unwrap()) {
        let rows: Vec<&str> = text.split("\r\n").filter(|line| !line.is_empty()).collect();
        assert!(rows.len() > 1, "{kind}: {text}");
        for bad in ["NaN", "undefined", "Infinity", "[object"] {
            assert!(!text.contains(bad), "{kind}: {bad} in {text}");
        }
    }
    assert_eq!(shown.page.complaints(), Vec::<String>::new(), "{kind}");
}
