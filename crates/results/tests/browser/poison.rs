//! Records of which no string is to be trusted.

use netfathom_model::record::Record;
use serde_json::Value;

/// What no report may ever run or obey: HTML, script, Markdown and what steers a terminal.
pub const HOSTILE: &str = "</script></style></title><img src=x onerror=\"window.pwned=1\">\
    <script>window.pwned=1</script>\"><img onerror='window.pwned=1' src=x><!-- \u{2028} {{ 7*7 }} ' \" ` \
    ${window.pwned=1} javascript:window.pwned=1 [x](javascript:window.pwned=1) ![x](https://x.invalid/x) \
    <https://x.invalid> https://x.invalid www.x.invalid a@x.invalid **b** _i_ ~~s~~ | \\| \u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\
    \r# h\n- l\n1. n\n```\nf\n> q\n---\n=1+1";

/// A record with [`HOSTILE`] in every string that may hold any text.
///
/// Strings are found by trying: under each name, all at once, as long as it stays a record.
/// So a field that is added to the record later is poisoned too.
pub fn poisoned(mut record: Record) -> Record {
    record.environment.settings.host.insert(HOSTILE.into(), HOSTILE.into());
    let mut value = serde_json::to_value(&record).expect("a record is JSON");
    let mut names = Vec::new();
    names_of_strings(&value, "", &mut names);
    for name in names {
        let mut tried = value.clone();
        poison(&mut tried, "", &name);
        if serde_json::from_value::<Record>(tried.clone()).is_ok() {
            value = tried;
        }
    }
    serde_json::from_value(value).expect("each step was a record")
}

fn names_of_strings(value: &Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) if !found.iter().any(|f| f == name) => found.push(name.into()),
        Value::Array(all) => all.iter().for_each(|v| names_of_strings(v, name, found)),
        Value::Object(all) => all.iter().for_each(|(k, v)| names_of_strings(v, k, found)),
        _ => {}
    }
}

fn poison(value: &mut Value, name: &str, wanted: &str) {
    match value {
        Value::String(text) if name == wanted => *text = HOSTILE.into(),
        Value::Array(all) => all.iter_mut().for_each(|v| poison(v, name, wanted)),
        Value::Object(all) => all.iter_mut().for_each(|(k, v)| poison(v, k, wanted)),
        _ => {}
    }
}
