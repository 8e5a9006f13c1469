//! The checks of a call, one after the other, each told as a layer.

use std::path::{Path, PathBuf};

use super::entries;
use super::side::Side;
use crate::approvals::allowlist::Allowlist;
use crate::approvals::assess::{Assessed, Rules, assess};
use crate::approvals::document::Entry;
use crate::approvals::enforce::{Enforced, Unpinnable, enforce};
use crate::approvals::explain::change::{Edit, Parameter, Situation};
use crate::approvals::explain::{
    Always, Analysis, Explained, Layer, PolicyShown, Rule, Run, entry_rule, settle, words,
};
use crate::approvals::policy::{Facts, ModePolicy, Reason, Target, judge};
use crate::approvals::programs::HostPrograms;
use crate::approvals::remember::remember;
use crate::approvals::safe_bins::SafeBins;
use crate::approvals::{Command, policy};
use crate::config::exec::{Ask, Security};
use crate::error::{Diagnose as _, Failure, Report};
use crate::paths::hold::HeldSource;
use crate::paths::host_dir;
use crate::policy::{Level, Verdict};
use crate::runner::host_plan::host_call;
use crate::session::SessionKey;
use crate::tools::exec::decide::{Decided, decide};
use crate::tools::exec::error::ExecError;
use crate::tools::exec::gather::{Files, Gathered};
use crate::tools::exec::guards;
use crate::tools::exec::params::Params;
use crate::tools::Context;

/// What is looked at.
pub(super) struct Look<'a> {
    pub(super) files: &'a Files,
    pub(super) context: &'a Context,
    pub(super) params: &'a Params,
    pub(super) side: &'a Side,
    pub(super) var: &'a dyn Fn(&str) -> Option<String>,
    /// The document's text, where it is the document that holds.
    pub(super) document: Option<&'a str>,
}

/// What was seen, and what changes are proposed from.
pub(super) struct Seen {
    pub(super) explained: Explained,
    pub(super) session: SessionKey,
    decided: Option<Decided>,
    assessed: Option<Assessed>,
    entries: Vec<(String, Entry)>,
    agent: crate::session::AgentId,
}

impl Seen {
    /// Changes that may give another verdict.
    pub(super) fn proposals(&self, given: &[Parameter]) -> Vec<Edit> {
        let decided = self.decided.as_ref();
        Situation {
            verdict: self.explained.verdict,
            target: self.explained.host,
            given,
            policy: decided.map(|decided| (&decided.effective, decided.policy)),
            assessed: self.assessed.as_ref(),
            entries: &self.entries,
            agent: &self.agent,
            inline_key: decided.map_or("tools.exec.strictInlineEval", |decided| &decided.scene.inline_key),
        }
        .proposals()
    }
}
