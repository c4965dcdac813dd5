//! The names of an enum's values.

/// Gives an enum names: `ALL` of its values in order, the `name` of each, as flags, tables and files have it, and the value
/// `named` so.
macro_rules! named {
    ($type:ident: $($value:ident = $name:literal),* $(,)?) => {
        impl $type {
            /// All of them, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// As it is written in flags, tables and files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }

            /// The one with that name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }
    };
}
