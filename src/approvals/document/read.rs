//! Text into the document.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::{DocumentError, Problem};
use super::shape::{Place, Shape};
use super::types::{Agent, Coverage, Document, Entry, McpGrant, Rules, Socket, Source, Token};
use super::{EVERYBODY, MAX_BYTES, migrate};
use crate::config::exec::{ASK, SECURITY};
use crate::config::index::{Index, Position, member};
use crate::session::AgentId;

const TOP: &[&str] = &["version", "defaults", "agents"];
const RULES: &[&str] = &["security", "ask", "askFallback", "autoAllowSkills", "denylist"];
/// What restricts only in `defaults` or in an agent.
const MISPLACED: &[&str] = &["security", "ask", "askFallback", "denylist"];
const ENTRY: &[&str] = &["argPattern", "source", "contentSha256"];
/// How an entry that an approval wrote says so.
pub(super) const ALWAYS: &str = "allow-always";

/// A text without the byte order mark at its start.
pub(crate) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

impl Document {
    /// Reads a document. `file` is named in messages only. A byte order mark, which some editors write, says nothing.
    pub fn parse(text: &str, file: &Path) -> Result<Self, DocumentError> {
        let parser = |text: &str| {
            serde_json::from_str(text)
                .map_err(|error| Position { line: error.line().max(1), column: error.column().max(1) })
        };
        Self::parse_with(unmarked(text), file, parser)
    }

    /// Reads what a person hands in to become the document: JSON5, and whatever version it names is this one (spec
    /// `approvals.md` 16.1 `set`).
    pub fn parse_handed_in(text: &str, file: &Path) -> Result<Self, DocumentError> {
        let parser = |text: &str| {
            let mut root: Value = json5::from_str(text).map_err(|error| {
                // A text that ends too soon is wrong at its end.
                let end = || Position {
                    line: text.split('\n').count(),
                    column: text.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
                };
                error
                    .position()
                    .filter(|place| (place.line, place.column) != (0, 0))
                    .map_or_else(end, |place| Position { line: place.line + 1, column: place.column + 1 })
            })?;
            if let Some(map) = root.as_object_mut() {
                map.insert("version".to_owned(), 1.into());
            }
            Ok(root)
        };
        Self::parse_with(unmarked(text), file, parser)
    }

    fn parse_with(
        text: &str,
        file: &Path,
        parser: impl FnOnce(&str) -> Result<Value, Position>,
    ) -> Result<Self, DocumentError> {
        let file = file.to_owned();
        if text.len() > MAX_BYTES {
            return Err(DocumentError::TooLarge { file });
        }
        // The walk is bounded in depth; not every parser is.
        let index = match Index::of(text) {
            Ok(index) => index,
            Err(deep) => return Err(DocumentError::Syntax { file, at: deep.at }),
        };
        let root = match parser(text) {
            Ok(root) => root,
            Err(at) => return Err(DocumentError::Syntax { file, at }),
        };
        let mut problems = repeated(&index);
        let mut shape = Shape::new(&index);
        let document = document(&mut shape, &index, root);
        problems.extend(shape.finish());
        match document {
            Some(mut document) if problems.is_empty() => {
                migrate::agents(&mut document);
                Ok(document)
            }
            _ => Err(DocumentError::Invalid { file, problems }),
        }
    }
}

/// Of a key that is written twice a reader sees the first and a parser the last. Places here are not told in full,
/// because keys may be names of agents.
fn repeated(index: &Index) -> Vec<Problem> {
    let problem = |at| Problem {
        place: "document".to_owned(),
        at: Some(at),
        message: "a key is written twice",
        fix: "keep one of them".to_owned(),
    };
    index.all_repeated().map(problem).collect()
}

fn document(shape: &mut Shape<'_>, index: &Index, root: Value) -> Option<Document> {
    let mut map = shape.object(&Place::top("document"), root)?;
    let version = map.remove("version");
    if version.and_then(|version| version.as_f64()) != Some(1.0) {
        shape.problem(&Place::top("version"), "expected a supported value", "write \"version\": 1");
    }
    let socket = map.remove("socket").map(|value| socket(shape, value)).unwrap_or_default();
    let defaults = Place::top("defaults");
    let defaults = map.remove("defaults").and_then(|value| shape.object(&defaults, value)).map(|mut map| {
        let mut rules = rules(shape, &defaults, &mut map);
        rules.unknown = shape.rest(Some(&defaults), map, RULES);
        rules
    });
    let agents = map.remove("agents").map(|value| agents(shape, index, value)).unwrap_or_default();
    for name in MISPLACED.iter().filter(|name| map.contains_key(**name)) {
        let fix = format!("move {name} into defaults, or into an agent");
        shape.problem(&Place::top(name), "a rule that holds for nobody here", fix);
    }
    let unknown = shape.rest(None, map, TOP);
    Some(Document { socket, defaults: defaults.unwrap_or_default(), agents, unknown })
}

fn socket(shape: &mut Shape<'_>, value: Value) -> Socket {
    let place = Place::top("socket");
    let Some(mut map) = shape.object(&place, value) else { return Socket::default() };
    let mut word = |name: &str| {
        let text = map.remove(name).and_then(|value| shape.string(&place.member(name), value))?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let (path, token) = (word("path"), word("token").map(Token));
    Socket { path, token, unknown: map }
}

fn rules(shape: &mut Shape<'_>, place: &Place, map: &mut Map<String, Value>) -> Rules {
    let denylist = items(shape, place, map, "denylist");
    let denylist = denylist.into_iter().filter_map(|(place, item)| denying(shape, &place, item)).collect();
    let mut take = |name: &str| map.remove(name).map(|value| (place.member(name), value));
    Rules {
        security: take("security").and_then(|(place, value)| shape.choice(&place, &value, SECURITY)),
        ask: take("ask").and_then(|(place, value)| shape.choice(&place, &value, ASK)),
        ask_fallback: take("askFallback").and_then(|(place, value)| shape.choice(&place, &value, SECURITY)),
        auto_allow_skills: take("autoAllowSkills").and_then(|(place, value)| shape.flag(&place, &value)),
        denylist,
        unknown: Map::new(),
    }
}

/// The elements of a list, each with its place.
fn items(
    shape: &mut Shape<'_>,
    place: &Place,
    map: &mut Map<String, Value>,
    name: &str,
) -> Vec<(Place, Value)> {
    let place = place.member(name);
    let items = map.remove(name).map(|value| shape.list(&place, value)).unwrap_or_default();
    items.into_iter().enumerate().map(|(at, item)| (place.element(at), item)).collect()
}

/// An entry that denies must match something: what waits to be approved again would deny nothing.
fn denying(shape: &mut Shape<'_>, place: &Place, value: Value) -> Option<Entry> {
    let entry = entry(shape, place, value)?;
    if entry.coverage() == Coverage::Inactive {
        shape.problem(
            place,
            "denies nothing",
            "write a pattern, and an argPattern without sha256:, and no source",
        );
    }
    Some(entry)
}

fn agents(shape: &mut Shape<'_>, index: &Index, value: Value) -> Vec<Agent> {
    let place = Place::top("agents");
    let fix = "write an object of agents, { \"main\": { … } }";
    let Value::Object(map) = value else {
        shape.problem(&place, "invalid value", fix);
        return Vec::new();
    };
    if map.contains_key("__proto__") {
        shape.problem(&place, "invalid value", "remove the key __proto__; no agent can have that name");
        return Vec::new();
    }
    // The parser sorts; problems are counted in the order of the text.
    let mut members: Vec<(String, Value)> = map.into_iter().collect();
    members.sort_by_cached_key(|(id, _)| index.get(&member("agents", id)).map(|at| (at.line, at.column)));
    let mut known: Vec<AgentId> = Vec::new();
    let mut agents = Vec::new();
    for (number, (id, value)) in (1..).zip(members) {
        let place = Place::agent(number, &id);
        match AgentId::parse(&id) {
            _ if id == EVERYBODY => {}
            Ok(parsed) if known.contains(&parsed) => {
                shape.problem(&place, "names an agent that stands above", "put both into one entry");
            }
            Ok(parsed) => known.push(parsed),
            Err(_) => {
                shape.problem(&place, "expected an agent id", "write the agent's id, or * for every agent");
            }
        }
        agents.extend(agent(shape, &place, id, value));
    }
    agents
}

fn agent(shape: &mut Shape<'_>, place: &Place, id: String, value: Value) -> Option<Agent> {
    let mut map = shape.object(place, value)?;
    let mut rules = rules(shape, place, &mut map);
    let entries = items(shape, place, &mut map, "allowlist");
    let grants = items(shape, place, &mut map, "mcpTools");
    let allowlist = entries.into_iter().filter_map(|(place, item)| entry(shape, &place, item)).collect();
    let mcp_tools = grants.into_iter().filter_map(|(place, item)| grant(shape, &place, item)).collect();
    rules.unknown = shape.rest(Some(place), map, RULES);
    Some(Agent { id, rules, allowlist, mcp_tools })
}

/// A string is shorthand for its pattern. `null` in what an older version left empty is absent (spec `approvals.md` 1.11).
fn entry(shape: &mut Shape<'_>, place: &Place, value: Value) -> Option<Entry> {
    if value.is_string() {
        return shape.word(place, Some(&value)).map(Entry::of);
    }
    let mut map = shape.object(place, value)?;
    let pattern = shape.word(&place.member("pattern"), map.remove("pattern").as_ref());
    for name in ["lastUsedAt", "lastUsedCommand"] {
        if map.get(name).is_some_and(Value::is_null) {
            map.remove(name);
        }
    }
    let last_used_at = map.remove("lastUsedAt");
    let last_used_at = last_used_at.and_then(|value| shape.number(&place.member("lastUsedAt"), Some(value)));
    let mut text = |name: &str| map.remove(name).and_then(|value| shape.string(&place.member(name), value));
    let always = |source: String| source.trim().eq_ignore_ascii_case(ALWAYS);
    let mut entry = Entry {
        id: text("id").filter(|id| !id.trim().is_empty()),
        pattern: pattern.unwrap_or_default(),
        arg_pattern: text("argPattern"),
        source: if text("source").is_some_and(always) { Source::AllowAlways } else { Source::Manual },
        command_text: text("commandText"),
        last_used_at,
        last_used_command: text("lastUsedCommand"),
        last_resolved_path: text("lastResolvedPath"),
        content_sha256: text("contentSha256"),
        unknown: Map::new(),
    };
    entry.unknown = shape.rest(Some(place), map, ENTRY);
    Some(entry)
}

fn grant(shape: &mut Shape<'_>, place: &Place, value: Value) -> Option<McpGrant> {
    let mut map = shape.object(place, value)?;
    let mut word = |name: &str| shape.word(&place.member(name), map.remove(name).as_ref());
    let (server, tool) = (word("server"), word("tool"));
    let source = map.remove("source").unwrap_or_default();
    let source = shape.choice(&place.member("source"), &source, &[(ALWAYS, ())]);
    let added = place.member("addedAt");
    let added_at = shape.number(&added, map.remove("addedAt"));
    if added_at.as_ref().and_then(serde_json::Number::as_f64).is_some_and(|ms| ms < 0.0) {
        shape.problem(&added, "expected a number of at least 0", "write Unix time in milliseconds");
    }
    let last_used_at = map.remove("lastUsedAt");
    let last_used_at = last_used_at.and_then(|value| shape.number(&place.member("lastUsedAt"), Some(value)));
    source?;
    Some(McpGrant { server: server?, tool: tool?, added_at: added_at?, last_used_at, unknown: map })
}
