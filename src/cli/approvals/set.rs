//! `creel approvals set`.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Shared, snapshot};
use crate::approvals::document::Document;
use crate::approvals::store;
use crate::cli::print;
use crate::error::{Failure, Report};

/// The largest document that is taken, in bytes (spec `approvals.md` 16.1).
const MOST: u64 = 1 << 20;

/// Where the document comes from.
#[derive(Debug, clap::Args)]
#[group(id = "source", required = true, multiple = false)]
pub(super) struct Args {
    /// A file with the document, in JSON5.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Read the document from standard input.
    #[arg(long)]
    stdin: bool,
}

pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Failure> {
    let state = Shared::state()?;
    // What is there when the document is read is what is replaced.
    let before = store::read(&state);
    let (name, text) = match &args.file {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| unreadable(path, &error.to_string()))?;
            (path.clone(), text_of(path, file)?)
        }
        None => (PathBuf::from("standard input"), text_of(Path::new("standard input"), std::io::stdin())?),
    };
    let document = Document::parse_handed_in(&text, &name)?;
    let local = store::set(&state, &document, Some(before.hash()))?;
    if shared.json {
        print::compact(&snapshot(&local));
    } else if local.hash() == before.hash() {
        print::line(&format!("{}: unchanged", local.locator()));
    } else {
        print::line(&format!("{}: written", local.locator()));
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(path: &Path, source: impl std::io::Read) -> Result<String, Failure> {
    let mut text = String::new();
    let read = source.take(MOST + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(path, &error.to_string()))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MOST {
        return Err(unreadable(path, &format!("it is larger than {MOST} bytes")));
    }
    Ok(text)
}

fn unreadable(path: &Path, reason: &str) -> Failure {
    Failure(Report {
        code: "CRL-CLI-021",
        message: format!("{} cannot be taken as a document: {reason}", path.display()),
        rule: Some("creel approvals set".to_owned()),
        fix: "give a file in JSON5 of at most 1 MiB".to_owned(),
    })
}
