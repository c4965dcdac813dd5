//! Errors in the words of a reader: without the number that Rust adds.

use std::fmt::Display;
use std::io;

/// The text of an error without ` (os error 1)`.
pub(super) fn plain(error: &dyn Display) -> String {
    let text = error.to_string();
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once(" (os error ") {
        out.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

/// Whether the system refused it for want of privilege.
pub(super) fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_left_out() {
        assert_eq!(
            plain(&"cannot load: Operation not permitted (os error 1); a"),
            "cannot load: Operation not permitted; a"
        );
        assert_eq!(plain(&"(os error 1)"), "(os error 1)");
        assert_eq!(plain(&"x (os error 1"), "x");
        assert!(is_denied(&io::Error::from_raw_os_error(1)));
    }
}
