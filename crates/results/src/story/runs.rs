//! Runs as a list, and the head of one.

use crate::page::{Page, Style, Table, shortened};
use netfathom_model::print::count;
use netfathom_model::record::{Record, State};

use super::headline::style;
use super::{answer, notes};
use crate::page::LEAST_WIDTH;
use crate::store::{Head, RunEntry};

/// What a host's name and a kernel's release may take of 80 columns, and the part that is added of wider pages.
const HOST_COLUMNS: usize = 10;
const KERNEL_COLUMNS: usize = 12;
const PART_OF_MORE: usize = 4;
/// What a command may take, over several lines.
const LONGEST_COMMAND: usize = 110;

/// Runs as a table, a line a run that has nothing wrong, for a page of `width` columns. Below it stand the notes.
pub fn list(entries: &[&RunEntry], notes: &[String], width: usize) -> Page {
    let width = width.max(LEAST_WIDTH);
    let mut page = Page::default();
    let more = (width - LEAST_WIDTH) / PART_OF_MORE;
    let (hosts, kernels) =
        (differ(entries, |head| head.host.as_deref()), differ(entries, |head| Some(head.kernel_release())));
    let differing = [hosts.then_some("host"), kernels.then_some("kernel")];
    let mut table = Table::of("<run|<verdict").words(differing.into_iter().flatten()).words(["command"]);
    for entry in entries {
        let name = &entry.name;
        match (&entry.head, &entry.problem) {
            (Some(head), _) => {
                let host = || shortened(head.host.as_deref().unwrap_or("-"), HOST_COLUMNS + more);
                let kernel = || shortened(head.kernel_release(), KERNEL_COLUMNS + more);
                let mut cells = vec![name.clone(), head.verdict.name().to_owned()];
                cells.extend(hosts.then(host));
                cells.extend(kernels.then(kernel));
                table.row_open(&cells, &remarks(entry, head));
                if let Some(answer) = &head.answer {
                    table.row_open(Vec::<String>::new(), answer);
                }
            }
            (None, Some(problem)) => {
                let why = shortened(&problem.why, width);
                table.row_across(name, &format!("{}: {why}{}", problem.kind.name(), tags(entry)));
            }
            (None, None) => table.row_across(name, "unknown"),
        }
    }
    if !entries.is_empty() {
        page.table(table);
        page.gap();
    }
    notes.iter().for_each(|note| page.note(note));
    page
}

/// Whether runs were made in different places, so that each line has to name its own.
fn differ<'a>(entries: &[&'a RunEntry], of: impl Fn(&'a Head) -> Option<&'a str>) -> bool {
    let mut all = entries.iter().filter_map(|entry| entry.head.as_ref()).map(of);
    let first = all.next();
    all.any(|other| Some(other) != first)
}

/// What a line has beside its columns: what is not as usual, the tags, and the command.
fn remarks(entry: &RunEntry, head: &Head) -> String {
    let mut words = Vec::new();
    if head.state != State::Complete {
        words.push(head.condition().to_owned());
    }
    // A directory that was renamed does not tell it.
    if !entry.name.contains(&head.measurement) {
        words.push(shortened(&head.measurement, HOST_COLUMNS));
    }
    words.extend(entry.tags.iter().cloned());
    if entry.tags_problem.is_some() {
        words.push("(tags.json is damaged)".into());
    }
    words.push(shortened(head.command.trim_start_matches("netfathom "), LONGEST_COMMAND));
    words.join(" ")
}

fn tags(entry: &RunEntry) -> String {
    if entry.tags.is_empty() { String::new() } else { format!(" [{}]", entry.tags.join(" ")) }
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunFile {
    pub name: String,
    pub bytes: u64,
}

/// What a run is and says, without its tables.
pub fn show(entry: &RunEntry, record: &Record, files: &[RunFile]) -> Page {
    let mut page = Page::default();
    let named = format!("{}  {}", entry.name, record.tool);
    page.labelled(Style::Strong, &format!("netfathom {}", record.measurement.name()), &named);
    page.gap();
    let level = record.verdict.level;
    page.labelled(style(level), level.name(), &answer(&record.measurement, &record.verdict));
    for reason in record.verdict.shown() {
        let label = format!("{} {}", reason.scope(), reason.level.name());
        page.bullet(&format!("{}: {}", label.trim(), reason.text));
    }
    about(&mut page, entry, record);
    notes::findings(&mut page, record);
    page.heading("Files");
    let mut table = Table::of("<file|bytes");
    files.iter().for_each(|f| table.row([&f.name, &count(f.bytes)]));
    page.table(table);
    page.text(&entry.path.display().to_string());
    page
}

fn about(page: &mut Page, entry: &RunEntry, record: &Record) {
    page.heading("The run");
    let environment = &record.environment;
    let state = entry.head.as_ref().map_or("complete", Head::condition);
    let mut rows = vec![
        ("command", record.command.clone()),
        ("begun", record.started_utc.clone()),
        ("state", state.to_owned()),
        ("host", environment.host.clone().unwrap_or_else(|| "not recorded".into())),
        ("kernel", environment.kernel.clone()),
        ("CPUs", format!("{}, {}", environment.cpus, environment.cpu_model)),
    ];
    match &entry.tags_problem {
        Some(why) => rows.push(("tags", format!("unknown: tags.json: {why}"))),
        None if entry.tags.is_empty() => rows.push(("tags", "none".into())),
        None => rows.push(("tags", entry.tags.join(" "))),
    }
    if record.id != entry.name {
        rows.push(("made as", record.id.clone()));
    }
    for (name, value) in rows {
        page.labelled(Style::Plain, &format!("  {name:<10}"), &value);
    }
}
