//! `creel approvals set`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{Shared, snapshot};
use crate::approvals::document::Document;
use crate::approvals::store;
use crate::cli::print;
use crate::error::{Failure, Report};
use crate::paths::given;

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
        Some(path) => (path.clone(), given::text(path, MOST)),
        None => (PathBuf::from("standard input"), given::bounded(std::io::stdin(), MOST)),
    };
    let text = text.map_err(|reason| unreadable(&name, &reason))?;
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

fn unreadable(path: &Path, reason: &str) -> Failure {
    Failure(Report {
        code: "CRL-CLI-021",
        message: format!("{} cannot be taken as a document: {reason}", path.display()),
        rule: Some("creel approvals set".to_owned()),
        fix: "give a regular file in JSON5 of at most 1 MiB, or --stdin".to_owned(),
    })
}
