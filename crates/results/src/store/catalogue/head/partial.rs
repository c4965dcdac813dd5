//! What was found of a head so far, and reading until all of it is there.

use std::borrow::Cow;
use std::fmt;

use netfathom_model::record::State;
use netfathom_model::verdict::Level;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Head;

/// The fields of a head that were found.
#[derive(Default)]
pub struct Partial {
    pub schema_version: Option<u64>,
    id: Option<String>,
    tool: Option<String>,
    started_utc: Option<String>,
    pub state: Option<State>,
    verdict: Option<Level>,
    place: Option<Place>,
    measurement: Option<String>,
    command: Option<String>,
    answer: Option<String>,
    /// Whether what comes after the head is read as well.
    to_the_end: bool,
}

struct Place {
    host: Option<String>,
    kernel: String,
}

#[derive(Deserialize)]
struct Verdict {
    level: Level,
}

impl Partial {
    /// Nothing yet, of a record that is read to its end.
    pub fn to_the_end() -> Self {
        Self { to_the_end: true, ..Self::default() }
    }

    /// Reads fields until the head is whole, or to the end if that is asked for.
    pub fn read<'de, R: serde_json::de::Read<'de>>(
        &mut self,
        mut from: serde_json::Deserializer<R>,
    ) -> Result<(), serde_json::Error> {
        match from.deserialize_map(Fields(self)) {
            Err(_) if self.ends_here() => Ok(()),
            Err(e) => Err(e),
            Ok(()) => from.end(),
        }
    }

    /// Whether everything is there that a head has.
    pub fn is_whole(&self) -> bool {
        self.measurement.is_some() && self.is_whole_but_measurement()
    }

    fn is_whole_but_measurement(&self) -> bool {
        self.schema_version.is_some()
            && self.id.is_some()
            && self.tool.is_some()
            && self.started_utc.is_some()
            && self.state.is_some()
            && self.verdict.is_some()
            && self.place.is_some()
    }

    /// Whether the rest is of no interest: it is all there, or its meaning is not known.
    fn ends_here(&self) -> bool {
        !self.to_the_end && self.is_whole() || self.is_newer()
    }

    fn is_newer(&self) -> bool {
        self.schema_version > Some(netfathom_model::record::SCHEMA_VERSION.into())
    }

    /// The head, or the name of a field that is missing.
    pub fn head(self, running: bool) -> Result<Head, &'static str> {
        let place = self.place.ok_or("environment")?;
        Ok(Head {
            // `is_newer` has refused what does not fit.
            schema_version: self.schema_version.and_then(|v| v.try_into().ok()).ok_or("schema_version")?,
            id: self.id.ok_or("id")?,
            tool: self.tool.ok_or("tool")?,
            started_utc: self.started_utc.ok_or("started_utc")?,
            state: self.state.ok_or("state")?,
            running,
            verdict: self.verdict.ok_or("verdict")?,
            host: place.host,
            kernel: place.kernel,
            measurement: self.measurement.ok_or("measurement")?,
            command: self.command,
            answer: self.answer,
        })
    }
}

/// The fields of a record.
struct Fields<'a>(&'a mut Partial);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let found = self.0;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "schema_version" => found.schema_version = Some(map.next_value()?),
                "id" => found.id = Some(map.next_value()?),
                "tool" => found.tool = Some(map.next_value()?),
                "started_utc" => found.started_utc = Some(map.next_value()?),
                "state" => found.state = Some(map.next_value()?),
                "verdict" => found.verdict = Some(map.next_value::<Verdict>()?.level),
                "measured" => {
                    found.measurement = Some(map.next_value::<String>()?).filter(|name| !name.is_empty())
                }
                "command" => found.command = map.next_value()?,
                "answer" => found.answer = map.next_value()?,
                "environment" => map.next_value_seed(Machine(found))?,
                "measurement" => map.next_value_seed(Kind(found))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if found.ends_here() {
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

/// The environment, of which only the host and its kernel are wanted; they stand first in it.
struct Machine<'a>(&'a mut Partial);

impl<'de> DeserializeSeed<'de> for Machine<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Machine<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an environment")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut host = None;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "host" => host = map.next_value()?,
                "kernel" => self.0.place = Some(Place { host: host.take(), kernel: map.next_value()? }),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if self.0.ends_here() {
                return Err(A::Error::custom("enough"));
            }
        }
        self.0.place.as_ref().map(|_| ()).ok_or_else(|| A::Error::missing_field("kernel"))
    }
}

/// A measurement, of which only the kind is wanted.
struct Kind<'a>(&'a mut Partial);

impl<'de> DeserializeSeed<'de> for Kind<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Kind<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a measurement")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key != "kind" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let kind: String = map.next_value()?;
            // A transfer is called by the command that makes it.
            self.0.measurement = Some(if kind == "transfer" { "ttcp".into() } else { kind });
            if self.0.ends_here() {
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}
