//! Records that no measurement leaves: each kind of value is changed under each name, as long as it stays a record. A
//! field that is added to the record later is walked over, too.

use netfathom_model::record::Record;
use serde_json::{Value, json};

/// What no report may ever run or obey: HTML, script, Markdown and what steers a terminal.
pub const HOSTILE: &str = "</script></style></title><img src=x onerror=\"window.pwned=1\">\
    <script>window.pwned=1</script>\"><img onerror='window.pwned=1' src=x><!-- \u{2028} {{ 7*7 }} ' \" ` \
    ${window.pwned=1} javascript:window.pwned=1 [x](javascript:window.pwned=1) ![x](https://x.invalid/x) \
    <https://x.invalid> https://x.invalid www.x.invalid a@x.invalid **b** _i_ ~~s~~ | \\| \u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\
    \r# h\n- l\n1. n\n```\nf\n> q\n---\n=1+1";

/// What a value is changed to; `None` where it stays.
pub type Change<'a> = &'a dyn Fn(&Value) -> Option<Value>;

/// Lists are empty, and what may be missing is.
pub fn hollow(value: &Value) -> Option<Value> {
    match value {
        Value::Array(all) if !all.is_empty() => Some(json!([])),
        Value::Object(_) | Value::Number(_) | Value::String(_) => Some(Value::Null),
        _ => None,
    }
}

/// The record with a change under every name that bears it, one after the other.
pub fn changed(record: &Record, change: Change<'_>) -> Record {
    walk(record, change, |value, tried| *value = tried.clone())
}

/// The record with [`HOSTILE`] in every string that may hold any text.
pub fn poisoned(mut record: Record) -> Record {
    record.environment.settings.host.insert(HOSTILE.into(), HOSTILE.into());
    changed(&record, &|value| value.is_string().then(|| HOSTILE.into()))
}

/// Each record with a change under one name more is handed to `found`, with what it was before; what that leaves is
/// returned.
pub fn walk(record: &Record, change: Change<'_>, mut found: impl FnMut(&mut Value, &Value)) -> Record {
    let mut value = serde_json::to_value(record).expect("a record is JSON");
    let mut names = Vec::new();
    names_in(&value, "", change, &mut names);
    for name in names.iter().filter(|name| *name != "schema_version") {
        let mut tried = value.clone();
        set(&mut tried, "", name, change);
        if serde_json::from_value::<Record>(tried.clone()).is_ok() {
            found(&mut value, &tried);
        }
    }
    serde_json::from_value(value).expect("each step was a record")
}

fn names_in(value: &Value, name: &str, change: Change<'_>, found: &mut Vec<String>) {
    if change(value).is_some() && !found.iter().any(|f| f == name) {
        found.push(name.into());
    }
    match value {
        Value::Array(all) => all.iter().for_each(|v| names_in(v, name, change, found)),
        Value::Object(all) => all.iter().for_each(|(k, v)| names_in(v, k, change, found)),
        _ => {}
    }
}

fn set(value: &mut Value, name: &str, wanted: &str, change: Change<'_>) {
    match change(value) {
        Some(changed) if name == wanted => *value = changed,
        _ => match value {
            Value::Array(all) => all.iter_mut().for_each(|v| set(v, name, wanted, change)),
            Value::Object(all) => all.iter_mut().for_each(|(k, v)| set(v, k, wanted, change)),
            _ => {}
        },
    }
}
