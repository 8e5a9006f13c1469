//! Looks at a command that is to run beside the gateway: what it runs, what covers each of it, how it could be run
//! exactly so (spec `approvals.md` §20 steps 6 to 8). The only part of a decision that looks at files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::beside::Fixed;
use super::decide::Decided;
use super::error::{ExecError, thrown};
use super::gather::Gathered;
use super::job::Job;
use super::launch;
use super::lists::Lists;
use super::shape::Around;
use crate::approvals::assess::{Assessed, By, Rules, assess};
use crate::approvals::binding::{BindError, Binding, bind, pin};
use crate::approvals::document::{Coverage, Entry};
use crate::approvals::enforce::{Enforced, Unpinnable, enforce};
use crate::approvals::host::Looked;
use crate::approvals::policy::Effective;
use crate::approvals::policy::snapshot::Snapshot;
use crate::approvals::programs::HostPrograms;
use crate::approvals::remember::{Remembered, remember};
use crate::approvals::store::{self, Use};
use crate::paths::hold::HeldSource;
use crate::process::store::now_ms;
use crate::tools::{ToolError, Toolbox};

/// Stands for an entry where a text is too much to be looked through for one.
const LIMITS: &str = "built-in: a text beyond the limits of the analysis, where something is denied";

/// What was seen. It is kept while a person is asked.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) assessed: Assessed,
    /// As it is run without a question.
    pinned: Result<Enforced, Unpinnable>,
    /// As it is run after somebody saw it, where its programs can be pinned.
    seen: Option<Enforced>,
    pub(super) remembered: Remembered,
    /// What it was compared with.
    lists: Arc<Lists>,
    lookup: HostPrograms,
    /// Where the entry stands that denies it, and the command that takes it out.
    denied_by: Option<(String, Option<String>)>,
}

impl Look {
    /// Looks at a text that begins in `cwd`.
    pub(super) fn at(
        text: &str,
        cwd: &Path,
        strict_inline: bool,
        lists: Arc<Lists>,
        lookup: HostPrograms,
    ) -> Self {
        let rules =
            Rules { allow: &lists.allow, deny: &lists.deny, safe: &lists.safe, skills: &[], strict_inline };
        let assessed = assess(text, cwd, &rules, &lookup);
        let limits = || (LIMITS.to_owned(), None);
        let denied_by =
            assessed.denied.as_ref().map(|by| by.entry.map_or_else(limits, |entry| lists.denier(entry)));
        let pinned = enforce(&assessed, false);
        let seen = enforce(&assessed, true).ok();
        let remembered = remember(&assessed);
        Self { assessed, pinned, seen, remembered, lists, lookup, denied_by }
    }

    /// As it is called, with these variables.
    pub(super) fn called_with(mut self, env: &[(String, String)]) -> Self {
        self.assessed = self.assessed.called_with(env);
        self
    }

    /// Binds it as somebody who is asked saw it.
    pub(super) fn bind(&self, held: &HeldSource, env: &[(String, String)]) -> Result<Binding, BindError> {
        bind(&self.assessed, self.seen.as_ref(), held, env, &self.lookup)
    }

    /// Pins it as it was matched; `None` where that cannot be done.
    pub(super) fn pin(
        &self,
        held: &HeldSource,
        env: &[(String, String)],
    ) -> Option<Result<Binding, BindError>> {
        let enforced = self.pinned.as_ref().ok()?;
        Some(pin(&self.assessed, enforced, held, env, &self.lookup))
    }

    /// As the decision takes it.
    pub(super) fn looked(&self) -> Looked<'_> {
        Looked {
            assessed: &self.assessed,
            enforced: self.pinned.as_ref().map_err(|why| *why),
            remembered: &self.remembered,
            allow: self.lists.allow.entries(),
            denied_by: self.denied_by.as_ref().map(|(rule, remove)| (rule.as_str(), remove.as_deref())),
        }
    }

    /// What covers it: the places of entries, each once, with the program that each covers.
    fn covering(&self) -> Vec<(usize, Option<PathBuf>)> {
        let mut all: Vec<(usize, Option<PathBuf>)> = Vec::new();
        for part in &self.assessed.parts {
            if let By::Entry(place) = part.by
                && all.iter().all(|(known, _)| *known != place)
            {
                all.push((place, part.program.as_ref().map(|program| program.real.clone())));
            }
        }
        all
    }

    /// The grants without which it is not covered, each once.
    pub(super) fn grants(&self) -> Vec<&str> {
        let mut ids: Vec<&str> =
            self.covering().into_iter().filter_map(|(place, _)| self.lists.grant(place)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Uses of the documents' entries, to be noted.
    pub(super) fn uses(&self) -> Vec<Use> {
        let now = now_ms();
        let text = self.assessed.text.as_str();
        let used = self.covering().into_iter().filter(|(place, _)| *place < self.lists.written);
        used.filter_map(|(place, program)| {
            let entry = self.lists.allow.entries().get(place)?;
            Some(Use::of(entry, now, Some(text), program.as_deref()))
        })
        .collect()
    }

    /// Entries wait to be approved again.
    pub(super) fn inactive(&self) -> bool {
        self.lists.allow.entries().iter().any(|entry| entry.coverage() == Coverage::Inactive)
    }

    /// Its program and its words, where it is one command.
    pub(super) fn single(&self) -> Option<(Option<String>, Vec<String>)> {
        let [part] = self.assessed.parts.as_slice() else { return None };
        let path = part.program.as_ref().map(|program| program.real.to_string_lossy().into_owned());
        Some((path, part.argv.iter().map(|word| word.text.clone()).collect()))
    }

    /// The programs by which it is known, named for people.
    pub(super) fn misses(&self) -> Vec<String> {
        let missed = self.assessed.parts.iter().filter(|part| !part.by.covers());
        let words = missed.filter_map(|part| part.effective.first().or(part.argv.first()));
        let mut names: Vec<String> = words.map(|word| word.text.clone()).collect();
        names.dedup();
        names
    }
}

/// Looks at the command of a job.
pub(super) async fn look(
    toolbox: &Toolbox,
    job: &Job<'_>,
    decided: &Decided,
    fixed: &Fixed,
    around: &mut Around,
) -> Result<Look, ToolError> {
    // The PATH of the look is the PATH of the run.
    let setting = launch::setting(toolbox, job, fixed.held.path(), true, around).await;
    let lookup = HostPrograms::new(&setting.path(), job.gathered.places.home.clone());
    let grants = toolbox.desk.grants(job.gathered.subject.agent.as_str()).map_err(|error| thrown(&error))?;
    let lists = toolbox.waiting.compiled().get(job.gathered, &grants, &lookup);
    let (text, cwd) = (job.params.command.clone(), fixed.held.path().to_owned());
    let strict_inline = decided.strict_inline;
    let env = fixed.env.clone();
    blocking(move || Look::at(&text, &cwd, strict_inline, lists, lookup).called_with(&env)).await
}

/// Binds a command that somebody is about to be asked about.
pub(super) async fn bound(look: &Arc<Look>, fixed: &Fixed) -> Result<Result<Binding, BindError>, ToolError> {
    let (look, fixed) = (Arc::clone(look), fixed.clone());
    blocking(move || look.bind(&fixed.held, &fixed.env)).await
}

/// Pins a command that runs because all of it is listed; `None` where it cannot be run as it was matched.
pub(super) async fn pinned(
    look: &Arc<Look>,
    fixed: &Fixed,
) -> Result<Option<Result<Binding, BindError>>, ToolError> {
    let (look, fixed) = (Arc::clone(look), fixed.clone());
    blocking(move || look.pin(&fixed.held, &fixed.env)).await
}

/// Looks again at what was bound.
pub(super) async fn verified(
    look: &Arc<Look>,
    binding: &Arc<Binding>,
) -> Result<Result<(), BindError>, ToolError> {
    let (look, binding) = (Arc::clone(look), Arc::clone(binding));
    blocking(move || binding.verify(&look.lookup)).await
}

/// The policy as it decides about a call (11.11).
pub(super) fn snapshot(gathered: &Gathered, effective: &Effective) -> Snapshot {
    let entries: Vec<&Entry> = gathered.document.allowlist(Some(&gathered.subject.agent));
    Snapshot::of(effective, &entries)
}

/// Notes that entries were used; behind the start of the command, whatever becomes of it.
pub(super) fn touch(toolbox: &Toolbox, job: &Job<'_>, uses: Vec<Use>) {
    if uses.is_empty() {
        return;
    }
    let (state, agent) = (job.gathered.state.clone(), job.gathered.subject.agent.to_string());
    toolbox.waiting.spawn(async move {
        let noted = blocking(move || store::touch(&state, &agent, &uses)).await;
        if let Ok(Err(error)) = noted {
            tracing::warn!(target: "approvals", %error, "the use of an entry could not be noted");
        }
    });
}

/// Work that looks at files or takes a while, on a thread of its own.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ExecError::Aborted.into())
}
