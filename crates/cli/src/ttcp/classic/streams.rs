//! The figures of each of several streams, which the classic does not know.

use netfathom_model::record::{TransferResult, TransferStream};

use super::{Classic, calls_line, seconds};

impl Classic<'_> {
    /// Of several streams each one's own figures; those of one are the sum's.
    pub(super) fn each_stream(&self, result: &TransferResult) {
        if result.streams.len() < 2 {
            return;
        }
        for (number, stream) in (1..).zip(&result.streams) {
            self.one_stream(number, stream);
        }
    }

    /// That all went without a copy; where it did not, a finding says so.
    pub(super) fn uncopied(&self, result: &TransferResult) {
        let each = || result.streams.iter().filter_map(|stream| stream.zero_copy);
        let bytes: u64 = each().map(|z| z.uncopied_bytes).sum();
        if bytes > 0 && each().all(|z| z.copied_bytes + z.unknown_bytes == 0) {
            self.say(format_args!("all of {bytes} bytes went without a copy"));
        }
    }

    fn one_stream(&self, number: usize, stream: &TransferStream) {
        let real = seconds(stream.duration_ns);
        self.say(format_args!("stream {number}: {}", self.real(stream.bytes, real)));
        if self.verbose {
            let cpu = seconds(stream.user_ns + stream.system_ns);
            self.say(format_args!("stream {number}: {}", self.cpu(stream.bytes, cpu)));
            self.say(format_args!("stream {number}: {}", calls_line(stream.calls, real)));
        }
    }
}
