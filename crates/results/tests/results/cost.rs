//! Costs on a terminal: each kind of answer, what is missing, what is hostile, and what is inconsistent.

use netfathom_results::render::terminal::render;

use crate::contract::read_fixture;

#[test]
fn eighty_columns_of_each() {
    for name in ["cost", "cost-chance", "cost-offline", "cost-own", "cost-observers"] {
        insta::assert_snapshot!(format!("eighty_columns_of_{name}"), render(&read_fixture(name), 80, false));
    }
}
