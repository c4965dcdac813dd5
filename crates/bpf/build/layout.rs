//! Rust types with the layout that the compiled programs use, from the BTF of their object. A field that
//! moves in `abi.h` moves on both sides; a layout that Rust cannot repeat ends the build.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use libbpf_rs::HasSize;
use libbpf_rs::btf::types::{Array, Enum, Int, IntEncoding, MemberAttr, Struct};
use libbpf_rs::btf::{Btf, BtfType};

/// How a struct is reached from user space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Mapped: the programs may write at any time.
    Shared,
    Copied,
}

/// The modules `shared` and `copied` with the structs and those inside them, and the enumerators of all enums.
pub fn rust_types(object: &Path, shared: &[&str], copied: &[&str]) -> Result<String, String> {
    let btf = Btf::from_path(object).map_err(|e| format!("{}: {e}", object.display()))?;
    let mut out = String::new();
    for (module, access, roots) in [("shared", Access::Shared, shared), ("copied", Access::Copied, copied)] {
        let mut types = Types { btf: &btf, access, written: BTreeSet::new(), text: String::new() };
        for root in roots {
            let found: Struct<'_> = btf.type_by_name(root).ok_or(format!("no struct {root}"))?;
            types.add(found)?;
            types.mark(root);
        }
        if !roots.is_empty() {
            let _ = writeln!(out, "pub mod {module} {{{}}}", types.text);
        }
    }
    out.push_str(&enumerators(&btf));
    Ok(out)
}

/// Of the enums that a field of the programs has: the compiler keeps no others.
fn enumerators(btf: &Btf<'_>) -> String {
    let constant = |ty: &str, name: &str, value: i64| format!("pub const {name}: {ty} = {value};\n");
    let of = |of: Enum<'_>| -> String {
        let named = of.iter().filter_map(|member| Some((member.name?.to_str()?, member.value)));
        named.map(|(name, value)| constant("u32", name, value)).collect()
    };
    (1..btf.len() as u32).filter_map(|id| btf.type_by_id::<Enum<'_>>(id.into())).map(of).collect()
}

struct Types<'a> {
    btf: &'a Btf<'a>,
    access: Access,
    written: BTreeSet<String>,
    text: String,
}

impl Types<'_> {
    fn add(&mut self, of: Struct<'_>) -> Result<(), String> {
        let name = of.name().and_then(|name| name.to_str()).ok_or("a struct without a name")?;
        if !self.written.insert(name.to_owned()) {
            return Ok(());
        }
        let (mut fields, mut lengths, mut end) = (Vec::new(), String::new(), 0);
        for member in of.iter() {
            let field = member.name.and_then(|name| name.to_str()).ok_or("a field without a name")?;
            let at = match member.attr {
                MemberAttr::Normal { offset } => offset as usize / 8,
                MemberAttr::BitField { .. } => return Err(format!("{name}.{field} is a bit field")),
            };
            if at != end {
                return Err(format!("{name}: {} bytes of padding before {field}", at - end));
            }
            let ty: BtfType<'_> = self.btf.type_by_id(member.ty).ok_or("a field without a type")?;
            let (rust, size) = self.rust_type(ty).map_err(|why| format!("{name}.{field}: {why}"))?;
            if let Ok(array) = Array::try_from(ty.skip_mods_and_typedefs()) {
                let _ =
                    writeln!(lengths, "pub const {}: usize = {};", field.to_uppercase(), array.capacity());
            }
            fields.push((field, rust));
            end += size;
        }
        if end != of.size() {
            return Err(format!("{name}: {} bytes of padding at its end", of.size() - end));
        }
        let camel = camel_case(name);
        let derived = if self.access == Access::Copied { "#[derive(Clone, Copy)]" } else { "" };
        let _ = writeln!(self.text, "#[repr(C)] {derived} pub struct {camel} {{");
        for (field, rust) in &fields {
            let _ = writeln!(self.text, "pub {field}: {rust},");
        }
        self.text.push_str("}\n");
        let _ = writeln!(self.text, "impl {camel} {{ {lengths} {} }}", all_fields(&fields));
        Ok(())
    }

    /// The type and its size in bytes.
    fn rust_type(&mut self, ty: BtfType<'_>) -> Result<(String, usize), String> {
        let ty = ty.skip_mods_and_typedefs();
        if let Ok(int) = Int::try_from(ty) {
            // Bytes of text: C leaves it open whether a char is signed.
            let signed = matches!(int.encoding, IntEncoding::Signed) && int.bits > 8;
            return Ok((self.integer(signed, int.bits.into()), usize::from(int.bits) / 8));
        }
        if let Ok(of) = Enum::try_from(ty) {
            return Ok((self.integer(of.is_signed(), of.size() * 8), of.size()));
        }
        if let Ok(array) = Array::try_from(ty) {
            let (element, size) = self.rust_type(array.contained_type())?;
            return Ok((format!("[{element}; {}]", array.capacity()), size * array.capacity()));
        }
        let of = Struct::try_from(ty).map_err(|ty| format!("{:?} has no Rust type here", ty.kind()))?;
        let name = of.name().and_then(|name| name.to_str()).ok_or("a struct without a name")?;
        self.add(of)?;
        Ok((camel_case(name), of.size()))
    }

    fn integer(&self, signed: bool, bits: usize) -> String {
        match self.access {
            Access::Shared => {
                format!("std::sync::atomic::Atomic{}{bits}", if signed { "I" } else { "U" })
            }
            Access::Copied => format!("{}{bits}", if signed { "i" } else { "u" }),
        }
    }

    /// Vouches for a struct that is mapped or copied as a whole.
    fn mark(&mut self, name: &str) {
        let promise = match self.access {
            Access::Shared => "Atomics",
            Access::Copied => "Plain",
        };
        let _ =
            writeln!(self.text, "// SAFETY: integers without padding, at the offsets of the object's BTF.");
        let _ = writeln!(self.text, "unsafe impl crate::mapping::{promise} for {} {{}}", camel_case(name));
    }
}

/// A function that lists the fields of a struct that are all of one type.
fn all_fields(fields: &[(&str, String)]) -> String {
    let Some((_, first)) = fields.first() else { return String::new() };
    if fields.iter().any(|(_, rust)| rust != first) {
        return String::new();
    }
    let names: Vec<String> = fields.iter().map(|(field, _)| format!("&self.{field}")).collect();
    format!("pub fn fields(&self) -> [&{first}; {}] {{ [{}] }}", fields.len(), names.join(", "))
}

fn camel_case(name: &str) -> String {
    let words = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
