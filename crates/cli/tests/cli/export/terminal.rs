//! Exports of a record that comes from anywhere, on a terminal.

use std::fs::{self, File};

use netfathom_results::store;
use netfathom_testkit::test_name;

use crate::child::{fixture, netfathom, on_terminal, out, run};

/// A title, a colour, a delete, a turn of direction.
const HOSTILE: &str = "\u{1b}]0;pwned\u{7}\u{9b}31m\u{7f}\u{202e}µ";
/// What none of it may come as.
const STEERING: [char; 5] = ['\u{1b}', '\u{7}', '\u{9b}', '\u{7f}', '\u{202e}'];

#[test]
fn an_export_steers_no_terminal_and_changes_nothing_elsewhere() {
    let dir = out();
    let path = dir.path().join("record.json");
    for (name, formats) in [
        ("ttcp", &["csv", "iperf3", "netperf", "openmetrics"][..]),
        ("stack", &["csv", "hdr", "openmetrics"]),
    ] {
        let mut record = store::read(&fixture(name)).unwrap();
        record.id = HOSTILE.into();
        record.environment.host = Some(HOSTILE.into());
        record.environment.kernel = HOSTILE.into();
        serde_json::to_writer(File::create(&path).unwrap(), &record).unwrap();
        for format in formats {
            let exact = run(netfathom("export --to").arg(format).arg(&path)).out;
            let file = dir.path().join("x");
            run(netfathom("export --to").arg(format).arg(&path).arg("-o").arg(&file));
            assert!(fs::read_to_string(&file).unwrap() == exact, "{format}");
            let expected = exact.replace(STEERING, "\u{fffd}");
            // The other formats have spaces in their place, or none of these texts.
            assert_eq!(expected != exact, *format == "iperf3", "{format}");
            for to in ["-", "/dev/stdout"] {
                let args = format!("export --to {format} {} -o {to} 2>/dev/null", path.display());
                let Some(shown) = on_terminal(test_name!(), &args) else { return };
                assert_eq!(shown.out.replace("\r\n", "\n"), expected, "{format} to {to}");
            }
        }
    }
}
