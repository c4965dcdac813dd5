//! A headless Chromium for tests, driven by the DevTools protocol over a pipe.
//!
//! A test process has one browser, started when the first page is wanted. Each [`Page`] is in a
//! browser context of its own: no storage, no size, no wish of one test is seen by another.

mod page;
mod process;

pub use page::{Page, address};
