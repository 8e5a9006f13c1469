//! What a call of `exec` would come to, and why: the same reading, the same checks in the same order as [`super::call`],
//! and nothing is started, asked or written. What is told of it is [`crate::approvals::explain`]'s.
//!
//! | file | concern |
//! |---|---|
//! | `side` | what surrounds a command on this machine |
//! | `look` | the checks, one after the other |
//! | `host` | a command beside the gateway |
//! | `notes` | what in a document holds for nobody |
//! | `entries` | the lists of an agent, each entry with its key |

pub(super) mod entries;
mod host;
mod look;
mod notes;
mod side;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use self::look::{Look, Seen};
use self::side::{Side, Sides};
use super::gather::Files;
use super::params::{self, Params};
use crate::approvals::document::Standing;
use crate::approvals::explain::change::{self, Edit, Parameter};
use crate::approvals::explain::{Change, Explained};
use crate::approvals::policy::Target;
use crate::approvals::store::Local;
use crate::client::SandboxOptions;
use crate::config::index::Index;
use crate::config::{self, Config, KeyPath, edit};
use crate::error::Failure;
use crate::tools::Context;

/// How many changes are tried: each is a decision of its own.
const TRIED: usize = 8;

/// A call that is asked about.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Its surroundings.
    pub context: Context,
    /// The command.
    pub command: String,
    /// The host that it names.
    pub host: Option<String>,
    /// The ask that it names.
    pub ask: Option<String>,
    /// Whether it asks to leave the sandbox.
    pub elevated: Option<bool>,
    /// The directory that it names.
    pub workdir: Option<String>,
    /// Its variables.
    pub env: std::collections::BTreeMap<String, String>,
    /// PATH, in place of this machine's.
    pub path: Option<String>,
}

impl Asked {
    fn params(&self) -> Result<Params, Failure> {
        let mut value = json!({ "command": self.command });
        let mut put = |name: &str, part: Option<Value>| {
            if let (Some(map), Some(part)) = (value.as_object_mut(), part) {
                map.insert(name.to_owned(), part);
            }
        };
        put("host", self.host.as_ref().map(|host| json!(host)));
        put("ask", self.ask.as_ref().map(|ask| json!(ask)));
        put("elevated", self.elevated.map(|elevated| json!(elevated)));
        put("workdir", self.workdir.as_ref().map(|workdir| json!(workdir)));
        put("env", (!self.env.is_empty()).then(|| json!(self.env)));
        params::read(value).map_err(|error| Failure(error.report))
    }

    fn given(&self) -> Vec<Parameter> {
        let host = self.host.as_deref().is_some_and(|host| !host.trim().is_empty() && host.trim() != "auto");
        [
            (host, Parameter::Host),
            (self.elevated == Some(true), Parameter::Elevated),
            (self.ask.is_some(), Parameter::Ask),
        ]
        .into_iter()
        .filter_map(|(given, parameter)| given.then_some(parameter))
        .collect()
    }

    fn without(&self, parameter: Parameter) -> Self {
        let mut asked = self.clone();
        match parameter {
            Parameter::Host => asked.host = None,
            Parameter::Elevated => asked.elevated = None,
            Parameter::Ask => asked.ask = None,
        }
        asked
    }
}

/// Answers about calls. Files are read once: all answers are about the same state.
#[derive(Clone)]
pub struct Explainer {
    base: SandboxOptions,
    files: Files,
    /// The configuration's text, for changes that are tried.
    text: String,
    /// Where keys of the document stand.
    document: Option<Arc<Index>>,
    /// The document is not this machine's.
    elsewhere: bool,
    sides: Sides,
}

impl std::fmt::Debug for Explainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Explainer").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Explainer {
    /// Reads what decides. `approvals`: this file in place of the machine's document.
    ///
    /// # Errors
    ///
    /// When configuration or state cannot be read, or that file is no approvals document.
    pub fn read(base: &SandboxOptions, approvals: Option<&Path>) -> Result<Self, Failure> {
        let mut files = Files::read(base)?;
        if let Some(path) = approvals {
            files.document = Local::alone(path)?;
        }
        let text = config::document::read(&base.located()?)?.unwrap_or_else(|| "{}".to_owned());
        let document = std::fs::read_to_string(&files.document.path).ok();
        let document = document.and_then(|text| Index::of(&text).ok()).map(Arc::new);
        let elsewhere = approvals.is_some();
        Ok(Self { base: base.clone(), files, text, document, elsewhere, sides: Sides::default() })
    }

    /// What becomes of a call.
    ///
    /// # Errors
    ///
    /// When the call itself is not understood, or names an agent or session that is none.
    pub async fn explain(&self, asked: &Asked) -> Result<Explained, Failure> {
        let (mut seen, side) = self.decide(asked, true).await?;
        let mut changes = Vec::new();
        for edit in seen.proposals(&asked.given()).into_iter().take(TRIED) {
            changes.extend(self.tried(asked, &side, &edit, &seen));
        }
        seen.explained.changes = changes;
        Ok(seen.explained)
    }

    /// The verdict alone, without changes.
    ///
    /// # Errors
    ///
    /// As [`Self::explain`].
    pub async fn verdict(&self, asked: &Asked) -> Result<Explained, Failure> {
        Ok(self.decide(asked, false).await?.0.explained)
    }

    async fn decide(&self, asked: &Asked, thorough: bool) -> Result<(Seen, Side), Failure> {
        let params = asked.params()?;
        let side = match &asked.path {
            Some(path) => Side::with_path(path),
            None => self.sides.of(&self.base, &self.files, &asked.context).await?,
        };
        Ok((self.look(&self.files, asked, &params, &side, thorough)?, side))
    }

    fn look(
        &self,
        files: &Files,
        asked: &Asked,
        params: &Params,
        side: &Side,
        thorough: bool,
    ) -> Result<Seen, Failure> {
        let var = |name: &str| self.base.variable(name);
        Look {
            files,
            context: &asked.context,
            params,
            side,
            var: &var,
            document: self.document.as_deref().filter(|_| files.document.held.standing == Standing::Current),
            elsewhere: self.elsewhere,
            thorough,
        }
        .run()
    }

    /// A change, where the same decision with it gives another verdict.
    fn tried(&self, asked: &Asked, side: &Side, edit: &Edit, before: &Seen) -> Option<Change> {
        let mut files = self.files.clone();
        let mut asked = asked.clone();
        match edit {
            Edit::Call(parameter) => asked = asked.without(*parameter),
            Edit::Session(what) => {
                let word = format!("{what}=unset");
                asked.context.exec = Some(match asked.context.exec.take() {
                    Some(text) => format!("{text} {word}"),
                    None => word,
                });
            }
            Edit::Config { key, value } => files.config = self.configured(key, value.as_ref())?,
            Edit::Allow { .. } | Edit::Remove { .. } | Edit::Document { .. } => {
                let mut document = files.document.held.document.clone();
                if !change::apply(&mut document, edit) {
                    return None;
                }
                files.document = files.document.supposing(document);
            }
        }
        let params = asked.params().ok()?;
        let after = self.look(&files, &asked, &params, side, false).ok()?;
        let gives = after.explained.verdict;
        // A command that then runs in the sandbox has another verdict too, though both may be "allow".
        let moved =
            before.explained.host == Some(Target::Gateway) && after.explained.host != before.explained.host;
        if gives == before.explained.verdict && !moved {
            return None;
        }
        let config = self.files.config.file().display().to_string();
        let document = self.files.document.path.display().to_string();
        Some(edit.told(&before.session, (&config, &document), gives))
    }

    fn configured(&self, key: &str, value: Option<&Value>) -> Option<Config> {
        let path = KeyPath::parse(key).ok()?;
        let text = match value {
            Some(value) => edit::set(&self.text, &path, value),
            None => edit::unset(&self.text, &path),
        };
        let var = |name: &str| self.base.variable(name);
        Config::parse(&text.ok()?, self.files.config.file(), &var).ok()
    }
}
