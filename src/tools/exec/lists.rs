//! The lists that commands are compared with, compiled once for each state of the documents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::explain::entries;
use super::gather::Gathered;
use crate::approvals::allowlist::Allowlist;
use crate::approvals::desk::Grant;
use crate::approvals::document::Entry;
use crate::approvals::programs::HostPrograms;
use crate::approvals::safe_bins::SafeBins;

/// How long a compiled list is used: entries name files, and links may lead elsewhere a moment later.
const AGE: Duration = Duration::from_secs(2);
/// Lists that are kept.
const KEPT: usize = 64;

/// What commands are compared with.
#[derive(Debug)]
pub(super) struct Lists {
    /// Entries of the documents, then of grants.
    pub(super) allow: Allowlist,
    /// Entries that deny.
    pub(super) deny: Allowlist,
    /// Programs that only filter.
    pub(super) safe: SafeBins,
    /// How many of the entries that allow are the documents'.
    pub(super) written: usize,
    /// The grant of each entry behind those.
    pub(super) grants: Vec<String>,
    /// Where each entry that denies stands, and how it is taken out.
    deniers: Vec<(String, Option<String>)>,
}

impl Lists {
    /// Where an entry that denies stands, for people, and the command that takes it out where there is one.
    pub(super) fn denier(&self, place: usize) -> (String, Option<String>) {
        self.deniers.get(place).cloned().unwrap_or_default()
    }

    /// The grant whose entry stands at this place.
    pub(super) fn grant(&self, place: usize) -> Option<&str> {
        self.grants.get(place.checked_sub(self.written)?).map(String::as_str)
    }

    /// What the documents and these grants say for the agent of a call.
    pub(super) fn compile(gathered: &Gathered, grants: &[Grant], lookup: &HostPrograms) -> Self {
        let hosts = gathered.document.hosts(Some(&gathered.subject.agent));
        let written: Vec<&Entry> =
            hosts.iter().flat_map(|host| host.rules.allowlist.iter().copied()).collect();
        let granted: Vec<(String, Entry)> = grants
            .iter()
            .flat_map(|grant| grant.entries().into_iter().map(|entry| (grant.grant_id.clone(), entry)))
            .collect();
        let allow: Vec<&Entry> =
            written.iter().copied().chain(granted.iter().map(|(_, entry)| entry)).collect();
        let named = entries::denied(&gathered.document, &gathered.subject.agent);
        let deniers = named.iter().map(|named| named.told(&gathered.document)).collect();
        let deny: Vec<&Entry> = hosts.iter().flat_map(|host| host.rules.denylist.iter().copied()).collect();
        Self {
            allow: Allowlist::compile(&allow, lookup),
            deny: Allowlist::compile(&deny, lookup),
            safe: SafeBins::new(&gathered.exec.safe_bins, lookup),
            written: written.len(),
            grants: granted.into_iter().map(|(id, _)| id).collect(),
            deniers,
        }
    }
}

/// Compiled lists. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Compiled(Arc<Mutex<HashMap<Key, Known>>>);

/// When it was compiled, and what.
type Known = (Instant, Arc<Lists>);

/// Everything that a list is made of.
type Key = (u64, String, String, Vec<String>);

impl Compiled {
    /// The lists for the agent of a call.
    pub(super) fn get(&self, gathered: &Gathered, grants: &[Grant], lookup: &HostPrograms) -> Arc<Lists> {
        let config = format!("{:?}", gathered.exec.safe_bins);
        let ids = grants.iter().map(|grant| grant.grant_id.clone()).collect();
        let key = (gathered.document.revision(), gathered.subject.agent.to_string(), config, ids);
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((since, lists)) = known.get(&key)
                && since.elapsed() < AGE
            {
                return Arc::clone(lists);
            }
        }
        let lists = Arc::new(Lists::compile(gathered, grants, lookup));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < AGE);
        if known.len() < KEPT {
            known.insert(key, (Instant::now(), Arc::clone(&lists)));
        }
        lists
    }
}
