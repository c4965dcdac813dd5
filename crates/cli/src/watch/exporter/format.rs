//! The formats of a page, and which one a scraper gets.

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::ACCEPT;
use netfathom_results::export::{Dialect, Exposition};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// The text format of Prometheus.
    Plain,
    Protobuf,
}

impl Format {
    pub const COUNT: usize = 3;

    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    pub fn write(self, page: &Exposition) -> Bytes {
        match self {
            Self::OpenMetrics => page.text(Dialect::OpenMetrics).into(),
            Self::Plain => page.text(Dialect::Prometheus).into(),
            Self::Protobuf => page.protobuf().into(),
        }
    }

    /// The one that a scraper prefers, the first of equal ones; OpenMetrics if it names none.
    pub fn preferred(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(ACCEPT).iter().filter_map(|list| list.to_str().ok());
        let types = lists.flat_map(|list| list.split(','));
        let known = types.filter_map(|of| Some((quality(of), Self::named(of)?))).filter(|of| of.0 > 0.0);
        let most = known.reduce(|most, next| if next.0 > most.0 { next } else { most });
        most.map_or(Self::OpenMetrics, |(_, format)| format)
    }

    /// Protobuf has other forms, which its parameters name; a text of another version is answered in the one here.
    fn named(media_type: &str) -> Option<Self> {
        let (kind, _) = parts(media_type).next()?;
        match kind.to_ascii_lowercase().as_str() {
            "application/openmetrics-text" => Some(Self::OpenMetrics),
            "text/plain" => Some(Self::Plain),
            _ => is_protobuf(media_type).then_some(Self::Protobuf),
        }
    }
}

fn quality(media_type: &str) -> f64 {
    let quality = parts(media_type).find(|(name, _)| name.eq_ignore_ascii_case("q"));
    let number = quality.map_or(Ok(1.0), |(_, value)| value.parse::<f64>());
    number.ok().filter(|number| number.is_finite()).map_or(0.0, |number| number.clamp(0.0, 1.0))
}

fn is_protobuf(media_type: &str) -> bool {
    parts(Format::Protobuf.media_type()).all(|(name, value)| {
        parts(media_type).any(|of| of.0.eq_ignore_ascii_case(name) && of.1.eq_ignore_ascii_case(value))
    })
}

/// The type, without a value, and the parameters with theirs, which may be quoted.
fn parts(media_type: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = media_type.split(';').map(|part| part.split_once('=').unwrap_or((part, "")));
    parts.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept: &str) -> Format {
        Format::preferred(&HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]))
    }

    #[test]
    fn a_scraper_gets_the_format_that_it_prefers() {
        let text = "application/openmetrics-text;version=1.0.0";
        let plain = "text/plain;version=0.0.4";
        let protobuf = Format::Protobuf.media_type();
        let delimited = protobuf.replace(' ', "");
        for accept in [
            // Prometheus 2.42 and 3.
            format!("{delimited},{text};q=0.8,{text};q=0.75,{plain};q=0.5,*/*;q=0.1"),
            format!("{delimited};q=0.6,{text};escaping=allow-utf-8;q=0.5,*/*;q=0.2"),
            format!("{text};q=0.5, {protobuf}"),
            format!("{delimited};q=0.1,{text};q=NaN"),
            format!("{delimited};q=7,{text};q=9"),
            protobuf.replace("delimited", "\"delimited\"").replace("encoding", "Encoding"),
            protobuf.to_owned(),
        ] {
            assert_eq!(preferred(&accept), Format::Protobuf, "{accept}");
        }
        for accept in [
            // Prometheus without native histograms.
            format!("{text},{text};q=0.75,{plain};q=0.5,*/*;q=0.1"),
            format!("{text};q=0.6,{delimited};q=0.5"),
            format!("{text},{delimited}"),
            format!("{plain};q=0"),
            format!("{delimited};q=0"),
            format!("{delimited};Q=0"),
            format!("{delimited};q =0.1,{text};q=0.2"),
            format!("{delimited};q=-1"),
            format!("{delimited};q=NaN"),
            format!("{delimited};q=inf"),
            protobuf.replace("delimited", "text"),
            "application/vnd.google.protobuf".to_owned(),
            "*/*".to_owned(),
        ] {
            assert_eq!(preferred(&accept), Format::OpenMetrics, "{accept}");
        }
        for accept in [plain.to_owned(), "Text/Plain".to_owned(), format!("{text};q=0.3,{plain};q=0.5")] {
            assert_eq!(preferred(&accept), Format::Plain, "{accept}");
        }
        assert_eq!(Format::preferred(&HeaderMap::new()), Format::OpenMetrics);
    }
}
