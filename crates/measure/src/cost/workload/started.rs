//! A benchmark that is started for each run.

use std::env;
use std::io;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_mark::listen::Listener;
use netfathom_model::record::{Amount, Condition, Resource};
use netfathom_sys::cpu;
use netfathom_sys::netns::Namespace;
use netfathom_sys::perf_event::{ChildCounters, Event};

use super::super::error::CostError;
use super::super::program::Output;
use super::super::sequence::{Reached, Sequence};
use super::super::watch::{Observed, Points, Watch};
use super::{Outcome, Workload};
