//! What is done with any bytes, by the fuzz targets (`fuzz/`) and by a test of every build.

pub mod capture_reader;
pub mod log_reader;
pub mod packet_decoder;

/// Makes sure that one slice lies in another.
fn is_part(part: &[u8], whole: &[u8]) {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end, "bytes from elsewhere");
}
