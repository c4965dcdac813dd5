//! One manual page.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use super::after::After;

const SOURCE: &str = concat!("netfathom ", env!("CARGO_PKG_VERSION"));
const MANUAL: &str = "User Commands";
/// How the generator makes an empty line, which linters call two breaks too many.
const GAP: &str = ".br\n\n.br\n";
/// What a run leaves, where a command has the option.
const RUN_FILES: [(&str, &str, &str); 4] = [
    ("out", "record.json", "The record: plan, environment, trials, verdict; written after each trial."),
    ("out", "report.html", "The report, one file without outside requests."),
    ("samples", "samples.parquet", "The times of single messages, with --samples."),
    ("export", "samples.pcapng", "The same as a capture, with --export pcapng."),
];
/// Variables, and the commands that heed them; none means all.
const VARIABLES: [(&str, &[&str], &str); 3] = [
    ("NO_COLOR", &[], "Set and not empty: tables have no colors."),
    ("TMPDIR", &["cost", "light"], "Where files are made that a benchmark reads or writes; otherwise /tmp."),
    ("NETFATHOM_MARK_FD", &["marks"], "Set for the program that is started: the descriptor of its ring."),
];

/// `netfathom-ttcp-sweep`.
pub fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

pub fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

/// The page of a command of `root`, with a date in its foot.
pub fn render(root: &Command, command: &Command, date: &str) -> io::Result<Vec<u8>> {
    let shown = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let usual = root.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut after = After::of(&shown);
    let above =
        top(root, command).and_then(Command::get_after_help).map(ToString::to_string).unwrap_or_default();
    if after.examples.is_empty() {
        // The command above may have some of this one.
        let call = name(command).replace('-', " ");
        after.examples = After::of(&above).examples;
        after.examples.retain(|(line, _)| line.contains(&call));
    }
    if after.statuses.is_empty() {
        after.statuses = After::of(&usual).statuses;
    }
    let man = man(command, date);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    page.extend(description(root, command, &after).to_roff().bytes());
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend(String::from_utf8_lossy(&options).replace(GAP, ".sp\n").bytes());
    page.extend(sections(root, command, &after).to_roff().bytes());
    Ok(page)
}

fn man(command: &Command, date: &str) -> Man {
    // Its own synopsis would have every option once more.
    let usage = command.clone().render_usage().to_string();
    let forms: Vec<&str> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    Man::new(command.clone().override_usage(forms.join("\n")))
        .title(name(command).to_uppercase())
        .date(date)
        .source(SOURCE)
        .manual(MANUAL)
}

fn description(root: &Command, command: &Command, after: &After<'_>) -> Roff {
    let mut roff = Roff::new();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    roff.control("SH", ["DESCRIPTION"]).text([roman(format!("{about}."))]);
    for note in &after.notes {
        roff.control("PP", []).text([roman(note)]);
    }
    let page = format!("docs/{}.md", chapter(root, command));
    roff.control("PP", []).text([
        roman("All about it is in the page "),
        italic(page),
        roman(" of the documentation, which packages put into "),
        italic("/usr/share/doc/netfathom"),
        roman("."),
    ]);
    roff
}

/// What clap's generator knows nothing of.
fn sections(root: &Command, command: &Command, after: &After<'_>) -> Roff {
    let mut roff = Roff::new();
    let mut listed = |title: &str, entries: Vec<(&str, &str)>| {
        if !entries.is_empty() {
            roff.control("SH", [title]);
        }
        for (term, meaning) in entries {
            roff.control("TP", []).text([bold(term)]).text([roman(meaning)]);
        }
    };
    let commands: Vec<(String, String)> = visible(command)
        .map(|below| {
            (below.get_name().into(), below.get_about().map(ToString::to_string).unwrap_or_default())
        })
        .collect();
    listed("COMMANDS", commands.iter().map(|(name, about)| (name.as_str(), about.as_str())).collect());
    listed("EXAMPLES", after.examples.iter().map(|(line, what)| (*line, what.as_str())).collect());
    listed("EXIT STATUS", after.statuses.clone());
    let files = files(command);
    listed("FILES", files.iter().map(|(path, what)| (path.as_str(), *what)).collect());
    listed("ENVIRONMENT", variables(command));
    see_also(&mut roff, root, command);
    roff
}

fn files(command: &Command) -> Vec<(String, &'static str)> {
    let Some(out) = command.get_arguments().find(|arg| arg.get_id() == "out") else { return Vec::new() };
    let below = out.get_default_values().first().map_or("DIR".into(), |dir| dir.to_string_lossy());
    let has = |option: &str| command.get_arguments().any(|arg| arg.get_id() == option);
    let there = RUN_FILES.iter().filter(|(option, ..)| has(option));
    there.map(|(_, file, what)| (format!("{below}/TIME-NAME-ID/{file}"), *what)).collect()
}

fn variables(command: &Command) -> Vec<(&'static str, &'static str)> {
    let heeds = |commands: &[&str]| commands.is_empty() || commands.contains(&command.get_name());
    VARIABLES
        .iter()
        .filter(|(_, commands, _)| heeds(commands))
        .map(|(name, _, what)| (*name, *what))
        .collect()
}

/// The pages above, below and beside.
fn see_also(roff: &mut Roff, root: &Command, command: &Command) {
    let own = name(command);
    let mut pages = vec![name(root)];
    match top(root, command) {
        None => pages.extend(visible(root).map(name)),
        Some(top) => {
            pages.push(name(top));
            pages.extend(visible(top).map(name));
        }
    }
    pages.retain(|&page| page != own);
    roff.control("SH", ["SEE ALSO"]);
    for (at, page) in pages.iter().enumerate() {
        let end = if at + 1 < pages.len() { "(1)," } else { "(1)" };
        roff.text([bold(*page), roman(end)]);
    }
}

/// Which of the root's commands a command is, or belongs to.
fn top<'a>(root: &'a Command, command: &Command) -> Option<&'a Command> {
    let own = name(command);
    visible(root).find(|&top| own == name(top) || own.starts_with(&format!("{}-", name(top))))
}

/// The page of the book that tells of a command.
fn chapter<'a>(root: &'a Command, command: &Command) -> &'a str {
    match top(root, command).map(Command::get_name) {
        None => "README",
        Some("completions") => "install",
        Some(named) => named,
    }
}
