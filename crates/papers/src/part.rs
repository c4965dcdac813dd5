//! The measurements that an experiment is made of, and those who watch them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netfathom_model::plan::{CostPlan, MessagePlan, ReversePlan, StackPlan, SweepPlan};
use netfathom_model::profile::Profile;
use netfathom_model::record::{Measurement, ReproduceResult, ReproducedRun};
use netfathom_sys::directory::Directory;

use super::whole::Whole;
use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_measure::kind::{cost, message, reverse, stack, sweep};

pub struct Part {
    /// Its name within the experiment, such as `outgoing`.
    pub name: &'static str,
    pub work: Box<dyn Work>,
    /// One of many of the same: a claim counts those that could tell nothing.
    pub counted: bool,
    /// Whether it is left out after the parts so far.
    pub unless: fn(&[ReproducedRun]) -> bool,
}

impl Part {
    pub fn new(name: &'static str, work: impl Work + 'static) -> Self {
        Self { name, work: Box::new(work), counted: false, unless: |_| false }
    }

    /// One of many equal parts. A claim counts the inconclusive ones, so a single part does not make the result VOID.
    pub fn counted(self) -> Self {
        Self { counted: true, ..self }
    }

    pub fn unless(self, unless: fn(&[ReproducedRun]) -> bool) -> Self {
        Self { unless, ..self }
    }
}

/// Something that can be measured: a plan that knows its measurement.
pub trait Work {
    /// Measures. Ends early, keeping the finished trials, once `stop` is set.
    fn run(
        &self,
        observer: &mut PartObserver<'_>,
        stop: &AtomicBool,
    ) -> Result<Progressed<Measurement>, RunError>;

    /// The same at half the rate, for a machine on which this is VOID; none where there is no rate to choose.
    fn lighter(&self) -> Option<Box<dyn Work>> {
        None
    }
}

macro_rules! work {
    ($($plan:ty: $kind:ident $({ $($more:tt)* })?),*) => {$(
        impl Work for $plan {
            fn run(
                &self,
                observer: &mut PartObserver<'_>,
                stop: &AtomicBool,
            ) -> Result<Progressed<Measurement>, RunError> {
                $kind::run(self, observer, stop).map(measured)
            }

            $($($more)*)?
        }
    )*};
}

work!(
    StackPlan: stack {
        fn lighter(&self) -> Option<Box<dyn Work>> {
            let profile = half_the_rate(&self.profile)?;
            Some(Box::new(Self { profile, ..self.clone() }))
        }
    },
    ReversePlan: reverse, SweepPlan: sweep, MessagePlan: message, CostPlan: cost
);

/// As many messages in twice the time.
fn half_the_rate(profile: &Profile) -> Option<Profile> {
    match *profile {
        Profile::Ramp { from_per_s, to_per_s, duration_ns } => Some(Profile::Ramp {
            from_per_s: from_per_s / 2.0,
            to_per_s: to_per_s / 2.0,
            duration_ns: 2 * duration_ns,
        }),
        Profile::Triangle { from_per_s, to_per_s, cap_per_s: None, duration_ns } => Some(Profile::Triangle {
            from_per_s: from_per_s / 2.0,
            to_per_s: to_per_s / 2.0,
            cap_per_s: None,
            duration_ns: 2 * duration_ns,
        }),
        _ => None,
    }
}

/// The same of any measurement. Raw samples stay behind: no experiment asks for them.
fn measured<R: Into<Measurement>>(progressed: Progressed<R>) -> Progressed<Measurement> {
    let Progressed { environment, result, verdict, findings, .. } = progressed;
    Progressed { environment, result: result.into(), verdict, findings, samples: Vec::new() }
}

/// Tells those who watch the experiment what goes on in one of its parts.
pub struct PartObserver<'a> {
    pub whole: &'a Whole<'a>,
    pub outer: &'a mut dyn Observer<ReproduceResult>,
    pub part: &'a Part,
    /// Its number, from 1.
    pub number: usize,
    pub of: usize,
}

impl<R: Clone + Into<Measurement>> Observer<R> for PartObserver<'_> {
    fn directory(&self) -> Option<&Directory> {
        self.outer.directory()
    }

    fn begins(&mut self, step: Step, live: &Arc<Live>) {
        let name = match self.of {
            1 => step.name,
            of => format!("part {} of {of}, {}: {}", self.number, self.part.name, step.name),
        };
        self.outer.begins(Step { name, ..step }, live);
    }

    fn keep(&mut self, so_far: &Progressed<R>) -> io::Result<()> {
        self.outer.keep(&self.whole.with(self.part, measured(so_far.clone()), self.of))
    }
}
