//! Experiments: their runs are drawn as their own reports draw them.

use netfathom_model::record::{Measurement, Record, ReproduceResult};
use serde_json::json;

use crate::kinds::{of, open_all};
use crate::show;

fn reproduce(record: &mut Record) -> &mut ReproduceResult {
    let Measurement::Reproduce(reproduce) = &mut record.measurement else { panic!("another measurement") };
    reproduce
}

#[test]
fn a_run_is_drawn_as_its_own_report_draws_it() {
    let mut record = of("reproduce");
    let Some(mut shown) = show("whole run", &record) else { return };
    open_all(&mut shown);
    let whole = shown.page.eval("netfathom.charts['run-1-reverse-ignored'].plot.data.at(-1)");
    record.measurement = reproduce(&mut record).runs[1].measurement.clone();
    let Some(mut alone) = show("run alone", &record) else { return };
    assert_eq!(whole, alone.page.eval("netfathom.charts['reverse-ignored'].plot.data.at(-1)"));
    let twice = "(() => { const ids = [...document.querySelectorAll('[id]')].map((n) => n.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i); })()";
    assert_eq!(shown.page.eval(twice), json!([]), "names that stand twice");
}
