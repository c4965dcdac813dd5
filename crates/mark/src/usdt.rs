//! A mark as a USDT probe, `netfathom:mark`, with the name and its length: for bpftrace, perf and
//! such. The note is that of `<sys/sdt.h>`, version 3; the probe itself is one nop.

/// Where the tracer stops the program. The name may be elsewhere when it reads it, so it is taken then.
#[inline(always)]
pub fn probe(name: &str) {
    // SAFETY: a nop, and a note beside the program that nothing loads. Both operands are only named.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "990: nop",
            ".pushsection .note.stapsdt,\"?\",\"note\"",
            ".balign 4",
            ".4byte 992f-991f, 994f-993f, 3",
            "991: .asciz \"stapsdt\"",
            "992: .balign 4",
            "993: .8byte 990b",
            ".8byte _.stapsdt.base",
            ".8byte 0",
            ".asciz \"netfathom\"",
            ".asciz \"mark\"",
            ".asciz \"8@{name} 8@{length}\"",
            "994: .balign 4",
            ".popsection",
            ".ifndef _.stapsdt.base",
            ".pushsection .stapsdt.base,\"aGR\",\"progbits\",.stapsdt.base,comdat",
            ".weak _.stapsdt.base",
            ".hidden _.stapsdt.base",
            "_.stapsdt.base: .space 1",
            ".size _.stapsdt.base, 1",
            ".popsection",
            ".endif",
            name = in(reg) name.as_ptr(),
            length = in(reg) name.len(),
            options(att_syntax, readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = name;
}
