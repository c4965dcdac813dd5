//! What the system refused, and what to do about it.

/// An error type: what was tried, the error of the system, and a remedy for each errno that has one.
macro_rules! refusal {
    ($(#[$doc:meta])* $name:ident: $($errno:pat => $remedy:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, thiserror::Error)]
        #[error("cannot {action}: {source}{}", Self::remedy(.source))]
        pub struct $name {
            /// What was tried and on what, such as `set device veth0 up`.
            pub action: String,
            #[source]
            pub source: std::io::Error,
        }

        impl $name {
            fn new(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
                let action = action.into();
                move |source| Self { action, source }
            }

            fn remedy(source: &std::io::Error) -> &'static str {
                match source.raw_os_error() {
                    $(Some($errno) => $remedy,)*
                    _ => "",
                }
            }
        }
    };
}
