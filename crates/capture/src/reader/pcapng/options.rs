//! Options of a block: code, length, value, up to the next multiple of four bytes.

use super::super::Order;

/// The options of a block, one after the other; ends after an error.
#[derive(Debug)]
pub struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    pub fn new(order: Order, options: &'a [u8]) -> Self {
        Self { order, rest: options }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<(u16, &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        // Blocks are multiples of four bytes long, and so is what is left of them.
        let (head, behind) = std::mem::take(&mut self.rest).split_at_checked(4)?;
        let (code, length) = (self.order.u16_at(head, 0), self.order.u16_at(head, 2));
        if code == 0 {
            return None;
        }
        let length = usize::from(length);
        let Some(value) = behind.get(..length) else {
            return Some(Err(format!(
                "option {code} claims {length} bytes; its block has room for {}",
                behind.len()
            )));
        };
        self.rest = behind.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok((code, value)))
    }
}
