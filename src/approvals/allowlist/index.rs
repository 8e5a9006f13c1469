//! Which entries may be meant, without looking at each: a list of ten thousand is asked as few questions as one of ten.

use std::collections::{BTreeSet, HashMap};

use super::Subject;
use super::glob::Glob;
use super::pattern::{self, Pattern};

/// Places of entries by what they must have in common with a command.
#[derive(Debug, Default)]
pub(super) struct Index {
    everything: Vec<usize>,
    /// Literal bare names.
    names: HashMap<String, Vec<usize>>,
    /// Bare names with wildcards.
    name_globs: Prefixes,
    /// Literal paths, as written and as they lead.
    files: HashMap<String, Vec<usize>>,
    /// Globs of paths that end in a literal name.
    by_last_name: HashMap<String, Vec<usize>>,
    /// Other globs of paths.
    path_globs: Prefixes,
    /// Whole texts of commands.
    markers: HashMap<String, usize>,
}

/// Globs by what stands in front of their first wildcard.
#[derive(Debug, Default)]
struct Prefixes {
    lengths: BTreeSet<usize>,
    of: HashMap<String, Vec<usize>>,
}

impl Index {
    pub(super) fn add(&mut self, at: usize, pattern: &Pattern) {
        match pattern {
            Pattern::Everything => self.everything.push(at),
            Pattern::Nothing => {}
            Pattern::Name { text, glob: None } => self.names.entry(text.clone()).or_default().push(at),
            Pattern::Name { text, glob: Some(_) } => self.name_globs.add(Glob::prefix(text), at),
            Pattern::File(file) => {
                let paths = [Some(&file.path), file.real.as_ref()];
                for path in paths.into_iter().flatten().filter_map(|path| path.to_str()) {
                    let places = self.files.entry(path.to_owned()).or_default();
                    if places.last() != Some(&at) {
                        places.push(at);
                    }
                }
            }
            Pattern::Files { text, .. } => {
                match text.rsplit('/').next().filter(|last| !Glob::is_wild(last)) {
                    Some(last) => self.by_last_name.entry(last.to_owned()).or_default().push(at),
                    None => self.path_globs.add(Glob::prefix(text), at),
                }
            }
        }
    }

    pub(super) fn add_marker(&mut self, at: usize, pattern: &str) {
        self.markers.entry(pattern.to_owned()).or_insert(at);
    }

    pub(super) fn has_markers(&self) -> bool {
        !self.markers.is_empty()
    }

    pub(super) fn marker(&self, marker: &str) -> Option<usize> {
        self.markers.get(marker).copied()
    }

    /// Entries that may allow, in their order.
    pub(super) fn candidates(&self, subject: &Subject<'_>) -> Vec<usize> {
        let mut places = self.everything.clone();
        if let Some(program) = subject.program {
            if subject.bare() {
                self.by_name(program.name(), &mut places);
            }
            let paths = [program.real.to_str(), program.invoked.to_str()];
            for path in paths.into_iter().flatten() {
                self.by_path(path, &mut places);
            }
        }
        ordered(places)
    }

    /// Entries that may deny, in their order.
    pub(super) fn denying(&self, subject: &Subject<'_>) -> Vec<usize> {
        let mut places = self.everything.clone();
        for name in pattern::names(subject) {
            self.by_name(name, &mut places);
        }
        for path in pattern::paths(subject) {
            self.by_path(path, &mut places);
        }
        ordered(places)
    }

    fn by_name(&self, name: &str, places: &mut Vec<usize>) {
        places.extend(self.names.get(name).into_iter().flatten());
        self.name_globs.find(name, places);
    }

    fn by_path(&self, path: &str, places: &mut Vec<usize>) {
        places.extend(self.files.get(path).into_iter().flatten());
        places.extend(
            path.rsplit('/').next().and_then(|last| self.by_last_name.get(last)).into_iter().flatten(),
        );
        self.path_globs.find(path, places);
    }
}

impl Prefixes {
    fn add(&mut self, prefix: &str, at: usize) {
        self.lengths.insert(prefix.len());
        self.of.entry(prefix.to_owned()).or_default().push(at);
    }

    fn find(&self, text: &str, places: &mut Vec<usize>) {
        let known = self.lengths.iter().map_while(|length| (*length <= text.len()).then_some(*length));
        for length in known {
            places.extend(text.get(..length).and_then(|prefix| self.of.get(prefix)).into_iter().flatten());
        }
    }
}

fn ordered(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    places
}
