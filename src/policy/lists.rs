//! `allow`, `alsoAllow` and `deny` as configured, with the keys that wrote them.

use super::elevated::ElevatedScope;
use super::tables::Profile;

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As written.
    pub text: String,
    /// The key that wrote it, as in `tools.deny[0]`; of what is built in, the key that would decide instead.
    pub key: String,
}

impl Entry {
    /// The key of the list that it is written in; `None` for what is built in.
    pub fn list(&self) -> Option<&str> {
        self.key.strip_suffix(']').and_then(|head| head.rsplit_once('[')).map(|(list, _)| list)
    }
}

/// A list and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// The key, as in `tools.deny`.
    pub key: String,
    /// The entries in their order.
    pub entries: Vec<Entry>,
}

impl List {
    /// A list of names that no configuration wrote; all of them carry the key of the list.
    pub fn built_in(key: &str, names: &[&str]) -> Self {
        let entry = |name: &&str| Entry { text: (*name).to_owned(), key: key.to_owned() };
        Self { key: key.to_owned(), entries: names.iter().map(entry).collect() }
    }

    /// Whether it names nothing: no entries, or blank ones only.
    pub fn is_blank(&self) -> bool {
        self.entries.iter().all(|entry| entry.text.trim().is_empty())
    }
}

/// The three lists of one scope; `None` where the scope does not say anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// Only these.
    pub allow: Option<List>,
    /// These too.
    pub also_allow: Option<List>,
    /// Never these.
    pub deny: Option<List>,
}

/// A profile and the key that chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileSet {
    /// The profile.
    pub profile: Profile,
    /// The key.
    pub key: String,
}

/// What holds for one provider, or one model of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderScope {
    /// `provider` or `provider/model`, as written.
    pub name: String,
    /// Its profile.
    pub profile: Option<ProfileSet>,
    /// Its lists.
    pub lists: Lists,
}

/// What holds for a sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SenderScope {
    /// Who, as written: `channel:<ch>:<id>`, `id:`, `e164:`, `username:`, `name:` or `*`.
    pub who: String,
    /// The lists.
    pub lists: Lists,
}

/// The block `tools`, global or of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The base allow list.
    pub profile: Option<ProfileSet>,
    /// The lists of the scope itself.
    pub lists: Lists,
    /// By provider or model.
    pub by_provider: Vec<ProviderScope>,
    /// By sender.
    pub by_sender: Vec<SenderScope>,
    /// In a sandbox.
    pub sandbox: Lists,
    /// For subagents; only the global block has it.
    pub subagents: Lists,
    /// The gates of elevated.
    pub elevated: ElevatedScope,
}
