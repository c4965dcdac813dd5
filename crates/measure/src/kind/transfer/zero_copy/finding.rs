//! The finding about bytes that were copied although zero copy was requested.

use netfathom_model::plan::Role;
use netfathom_model::record::{TransferMethod, TransferResult, ZeroCopied};
use netfathom_model::verdict::Finding;

/// Why not all of it went without a copy; `None` where it did, or that was not asked for.
pub fn finding(result: &TransferResult) -> Option<Finding> {
    let sum = sum(result)?;
    let ZeroCopied { uncopied_bytes, copied_bytes, unknown_bytes } = sum;
    if copied_bytes + unknown_bytes == 0 {
        return None;
    }
    let all = uncopied_bytes + copied_bytes + unknown_bytes;
    let unknown = match unknown_bytes {
        0 => String::new(),
        unknown => format!(", unknown {unknown}"),
    };
    let (cause, evidence, remedy) = why(result, &sum);
    Some(Finding {
        seen: format!("{uncopied_bytes} of {all} bytes went without a copy{unknown}"),
        cause: cause.into(),
        evidence: evidence.into(),
        remedy: remedy.into(),
    })
}

fn sum(result: &TransferResult) -> Option<ZeroCopied> {
    let each = result.streams.iter().filter_map(|stream| stream.zero_copy);
    each.reduce(|a, b| ZeroCopied {
        uncopied_bytes: a.uncopied_bytes + b.uncopied_bytes,
        copied_bytes: a.copied_bytes + b.copied_bytes,
        unknown_bytes: a.unknown_bytes + b.unknown_bytes,
    })
}

/// Cause, evidence, what to do.
fn why(result: &TransferResult, sum: &ZeroCopied) -> (&'static str, &'static str, &'static str) {
    let sends = result.plan.role == Role::Transmit;
    match result.way {
        TransferMethod::Copied if sends && result.plan.generated && sum.copied_bytes == 0 => (
            "the kernel has not reported it yet: the other end has not acknowledged it, or its device still has it",
            "the completions on the socket's error queue (MSG_ZEROCOPY)",
            "give it more time with --idle",
        ),
        TransferMethod::Copied if sends && result.plan.generated => (
            "the kernel copied them, as it does over loopback/veth, for a capture, for a device without \
             scatter-gather, and of a buffer larger than may be locked (ulimit -l)",
            "the completions on the socket's error queue (MSG_ZEROCOPY)",
            "send over a network card to spare the copy",
        ),
        TransferMethod::Copied if sends => (
            "standard input is neither a pipe nor a file that sendfile takes: its bytes went through a buffer",
            "the kind of standard input",
            "let a pipe or a file be the input",
        ),
        TransferMethod::Copied => (
            "standard output is no pipe, or something needs to see the bytes: they went through a buffer",
            "the kind of standard output",
            "let a pipe be the output, or throw the data away with -s",
        ),
        TransferMethod::Spliced if !sends => (
            "of a packet the kernel passes on pages and copies what lies behind its headers, and reports neither",
            "the data was spliced from the socket to a pipe",
            "none is needed: no byte went through this program",
        ),
        _ if sum.copied_bytes > 0 => (
            "the device on the way has no scatter-gather: the kernel copied them into packets",
            "tx-scatter-gather of the device (ethtool -k)",
            "switch it on: ethtool -K DEVICE tx-scatter-gather on",
        ),
        TransferMethod::Spliced | TransferMethod::SentAsFile | TransferMethod::Discarded => (
            "the device on the way does not report whether it has scatter-gather",
            "tx-scatter-gather of the device (ethtool -k)",
            "none is needed: no byte went through this program",
        ),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::TransferPlan;
    use netfathom_model::record::TransferStream;

    use super::*;
    use crate::kind::transfer::{explain, streams};

    fn result(role: Role, way: TransferMethod, generated: bool, zero_copy: ZeroCopied) -> TransferResult {
        let stream = TransferStream { zero_copy: Some(zero_copy), ..explain::tests::stream(|_, _| {}) };
        let plan = TransferPlan { generated, ..TransferPlan::classic(role) };
        let nothing = streams::result(&plan, String::new(), None, Vec::new());
        TransferResult { way, streams: vec![stream.clone(), stream], ..nothing }
    }

    #[test]
    fn only_copied_bytes_are_reported_with_the_sum_of_the_streams() {
        let of = |uncopied_bytes, copied_bytes, unknown_bytes| ZeroCopied {
            uncopied_bytes,
            copied_bytes,
            unknown_bytes,
        };
        let seen = |zero_copy| {
            finding(&result(Role::Transmit, TransferMethod::Copied, true, zero_copy)).map(|f| f.seen)
        };
        assert_eq!(seen(of(5, 0, 0)), None);
        assert_eq!(seen(of(5, 3, 0)).unwrap(), "10 of 16 bytes went without a copy");
        assert_eq!(seen(of(5, 3, 1)).unwrap(), "10 of 18 bytes went without a copy, unknown 2");
    }

    #[test]
    fn each_way_has_its_own_cause() {
        let copied = ZeroCopied { copied_bytes: 1, ..ZeroCopied::default() };
        let unknown = ZeroCopied { unknown_bytes: 1, ..ZeroCopied::default() };
        let cases = [
            (Role::Transmit, TransferMethod::Copied, true, copied, "over loopback/veth"),
            (Role::Transmit, TransferMethod::Copied, true, unknown, "not reported it yet"),
            (Role::Transmit, TransferMethod::Copied, false, copied, "standard input is neither"),
            (Role::Transmit, TransferMethod::Spliced, false, copied, "no scatter-gather"),
            (Role::Transmit, TransferMethod::SentAsFile, false, unknown, "does not report"),
            (Role::Receive, TransferMethod::Copied, false, copied, "standard output is no pipe"),
            (Role::Receive, TransferMethod::Spliced, false, unknown, "passes on pages"),
        ];
        for (role, way, generated, zero_copy, expected) in cases {
            let finding = finding(&result(role, way, generated, zero_copy)).unwrap();
            assert!(finding.cause.contains(expected), "{finding:?}");
        }
    }
}
