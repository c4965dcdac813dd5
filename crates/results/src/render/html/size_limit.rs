//! A page that a browser can show, whatever the record is like.

use std::borrow::Cow;
use std::collections::BTreeMap;

use netfathom_model::print::listed_first;
use netfathom_model::record::Record;
use serde_json::Value;

/// What a record may take as JSON, in bytes, before parts of it are left out.
const MOST_BYTES: usize = 32_000_000;
/// To how many entries lists are cut, and texts to as many characters: the first that does.
const LIMITS: [usize; 4] = [10_000, 1_000, 100, 10];
/// A list of numbers may be longer by this factor: it is a curve.
const NUMBERS: usize = 100;
/// Lists that are named one by one.
const MOST_NAMED: usize = 3;

/// A record that is drawn, and what was left out of it.
pub struct Bounded<'a> {
    pub record: Cow<'a, Record>,
    /// In words; nothing where it is whole.
    pub left_out: Option<String>,
}

impl<'a> Bounded<'a> {
    pub fn of(record: &'a Record) -> Result<Self, serde_json::Error> {
        let whole = serde_json::to_string(record)?;
        if whole.len() <= MOST_BYTES {
            return Ok(Self { record: Cow::Borrowed(record), left_out: None });
        }
        let mut value = serde_json::from_str(&whole)?;
        drop(whole);
        let (mut cuts, mut limit) = (Cuts::new(), 0);
        for next in LIMITS {
            limit = next;
            cut(&mut value, limit, "", &mut cuts);
            if value.to_string().len() <= MOST_BYTES {
                break;
            }
        }
        Ok(Self {
            record: Cow::Owned(serde_json::from_value(value)?),
            left_out: Some(cut_notice(&cuts, limit)),
        })
    }
}

/// The parts that were cut, and how long they were.
type Cuts = BTreeMap<String, usize>;

fn cut(value: &mut Value, limit: usize, name: &str, cuts: &mut Cuts) {
    match value {
        Value::Array(all) => {
            let room = if all.first().is_some_and(Value::is_number) { limit * NUMBERS } else { limit };
            if all.len() > room {
                longest(cuts, name, all.len());
                all.truncate(room);
            }
            all.iter_mut().for_each(|each| cut(each, limit, name, cuts));
        }
        Value::Object(all) => {
            for (key, each) in all {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                cut(each, limit, &inner, cuts);
            }
        }
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(limit) {
                longest(cuts, name, text.chars().count());
                text.truncate(end);
            }
        }
        _ => {}
    }
}

fn longest(cuts: &mut Cuts, name: &str, len: usize) {
    let known = cuts.entry(name.to_owned()).or_default();
    *known = len.max(*known);
}

fn cut_notice(cuts: &Cuts, limit: usize) -> String {
    let named = listed_first(MOST_NAMED, cuts.iter().map(|(name, n)| format!("{name} (of {n})")));
    format!(
        "Too long to be shown whole: of every list only the first {limit} entries are in this file, or \
         {curve} numbers. Cut were {named}. \
         The run's record.json has them all.",
        curve = limit * NUMBERS
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_cut_is_named_with_its_length() {
        let mut value = json!({"a": {"b": vec![""; 30]}, "c": "x".repeat(11), "d": vec![1; 1_001]});
        let mut cuts = Cuts::new();
        cut(&mut value, 10, "", &mut cuts);
        assert_eq!(cuts, Cuts::from([("a.b".to_owned(), 30), ("c".to_owned(), 11), ("d".to_owned(), 1_001)]));
        assert_eq!(value, json!({"a": {"b": vec![""; 10]}, "c": "x".repeat(10), "d": vec![1; 1_000]}));
        assert!(cut_notice(&cuts, 10).contains("a.b (of 30), c (of 11)"));
    }
}
