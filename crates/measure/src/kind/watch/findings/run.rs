//! Of the run itself: that it ended early, and what it may not look at.

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{WatchResult, WatchStage};
use netfathom_model::verdict::Finding;

use super::times;
use crate::kind::watch::WatchRunError;

/// Of a run that ended as no process was left. It comes first: what the others advise to do to these processes is too late.
pub(in crate::kind::watch) fn ended(result: &WatchResult) -> Finding {
    let who = match &result.plan.target {
        WatchTarget::Process(pid) => format!("process {pid}"),
        target => format!("the last process of {}", target.arguments()),
    };
    let time = print::time(result.watched_ns as f64);
    let asked = result.plan.time_ns.map(|ns| print::time(ns as f64));
    let of = asked.as_ref().map_or_else(String::new, |asked| format!(" of {asked}"));
    Finding {
        seen: format!("the run ended after {time}{of}, as {who} ended"),
        cause: "watch ends with the last process that it follows".into(),
        evidence: format!("watched for {time}; --time: {}", asked.as_deref().unwrap_or("none")),
        remedy: format!("to go on when it starts again: `netfathom watch {}`", again(result)),
    }
}

/// Its number is gone then, and Unix sockets have no port.
fn again(result: &WatchResult) -> String {
    let networked = |stage| times(&result.stages, stage).is_some_and(|times| times.n > 0);
    let is_networked = networked(WatchStage::Protocol) || networked(WatchStage::Lock);
    let is_unix = result.plan.follows_unix() && !is_networked;
    let target = match (&result.plan.target, &result.reader) {
        _ if !is_unix => return "--port PORT".into(),
        (WatchTarget::Process(_), Some(process)) => WatchTarget::Name(process.name.clone()),
        (target, _) => target.clone(),
    };
    format!("{} --unix", target.arguments())
}

/// Of sockets that may not be looked at, in a run that goes on with the others.
pub(in crate::kind::watch) fn denied(why: &WatchRunError) -> Finding {
    Finding {
        seen: "not all processes of the target are watched from the start".into(),
        cause: "the sockets that one has may not be looked at; TCP sockets that it opens later are watched"
            .into(),
        evidence: why.to_string(),
        remedy: "run as root, or give netfathom CAP_SYS_PTRACE".into(),
    }
}
