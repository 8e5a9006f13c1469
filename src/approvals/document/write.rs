//! The document into text: known keys in a fixed order, then the unknown ones.

use std::path::Path;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::MAX_BYTES;
use super::error::DocumentError;
use super::read::ALWAYS;
use super::types::{Agent, Document, Entry, McpGrant, Rules, Socket, Source, Unknown};

impl Document {
    /// The text of the file: two spaces, a line feed at the end (spec `approvals.md` 1.06).
    pub fn to_text(&self) -> String {
        // Maps with string keys and values that were parsed cannot fail to be written.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The text for the file, or an error where it could not be read again: expanding shorthand makes it larger.
    pub fn to_file(&self, file: &Path) -> Result<String, DocumentError> {
        let text = self.to_text();
        if text.len() > MAX_BYTES { Err(DocumentError::TooLarge { file: file.to_owned() }) } else { Ok(text) }
    }
}

fn some<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}

fn unknown<M: SerializeMap>(map: &mut M, keys: &Unknown) -> Result<(), M::Error> {
    keys.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        map.serialize_entry("socket", &self.socket)?;
        map.serialize_entry("defaults", &self.defaults)?;
        map.serialize_entry("agents", &Agents(&self.agents))?;
        unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

impl Serialize for Socket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        some(&mut map, "path", self.path.as_ref())?;
        some(&mut map, "token", self.token.as_ref().map(|token| &token.0))?;
        unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

fn rules<M: SerializeMap>(map: &mut M, rules: &Rules) -> Result<(), M::Error> {
    some(map, "security", rules.security.as_ref())?;
    some(map, "ask", rules.ask.as_ref())?;
    some(map, "askFallback", rules.ask_fallback.as_ref())?;
    some(map, "autoAllowSkills", rules.auto_allow_skills.as_ref())?;
    some(map, "denylist", Some(&rules.denylist).filter(|list| !list.is_empty()))
}

impl Serialize for Rules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        rules(&mut map, self)?;
        unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

struct Agents<'a>(&'a [Agent]);

impl Serialize for Agents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|agent| (&agent.id, agent)))
    }
}

impl Serialize for Agent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        rules(&mut map, &self.rules)?;
        some(&mut map, "allowlist", Some(&self.allowlist).filter(|list| !list.is_empty()))?;
        some(&mut map, "mcpTools", Some(&self.mcp_tools).filter(|list| !list.is_empty()))?;
        unknown(&mut map, &self.rules.unknown)?;
        map.end()
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        some(&mut map, "id", self.id.as_ref())?;
        map.serialize_entry("pattern", &self.pattern)?;
        some(&mut map, "argPattern", self.arg_pattern.as_ref())?;
        some(&mut map, "source", (self.source == Source::AllowAlways).then_some(ALWAYS))?;
        some(&mut map, "commandText", self.command_text.as_ref())?;
        some(&mut map, "lastUsedAt", self.last_used_at.as_ref())?;
        some(&mut map, "lastUsedCommand", self.last_used_command.as_ref())?;
        some(&mut map, "lastResolvedPath", self.last_resolved_path.as_ref())?;
        some(&mut map, "contentSha256", self.content_sha256.as_ref())?;
        unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

impl Serialize for McpGrant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("server", &self.server)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("source", ALWAYS)?;
        map.serialize_entry("addedAt", &self.added_at)?;
        some(&mut map, "lastUsedAt", self.last_used_at.as_ref())?;
        unknown(&mut map, &self.unknown)?;
        map.end()
    }
}
