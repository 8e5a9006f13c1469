//! Names of MCP tools, and servers that need not be asked (spec `sandbox.md` §18.5).

use super::lists::Entry;
use super::matcher::Matcher;
use super::tables::{GROUP_PLUGINS, MCP_OWNER};

/// The longest name of a server.
const SERVER_MAX: usize = 30;
/// The longest name of a tool, the server's included.
const TOOL_MAX: usize = 64;
/// Between server and tool.
const BETWEEN: &str = "__";

/// Names of servers as they stand before their tools, in the order of declaration.
pub fn server_names<'a>(servers: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = Vec::new();
    for server in servers {
        let name = plain(server, "mcp");
        let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let name = if letter { name } else { format!("mcp-{name}") };
        let name = free(&name, SERVER_MAX, &taken);
        taken.push(name);
    }
    taken
}

/// Names of a server's tools in full; `server` is one of [`server_names`].
pub fn tool_names<'a>(server: &str, tools: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let room = TOOL_MAX.saturating_sub(server.len() + BETWEEN.len());
    let mut taken = Vec::new();
    for tool in tools {
        let name = free(&plain(tool, "tool"), room, &taken);
        taken.push(name);
    }
    taken.into_iter().map(|tool| format!("{server}{BETWEEN}{tool}")).collect()
}

/// Trimmed, with `-` for what a model's provider does not take.
fn plain(text: &str, fallback: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
    let name: String = text.trim().chars().map(keep).collect();
    if name.is_empty() { fallback.to_owned() } else { name }
}

/// The name cut to `max`, with `-2`, `-3`, … where it is taken. Names are ASCII here.
fn free(name: &str, max: usize, taken: &[String]) -> String {
    let is_taken = |name: &str| taken.iter().any(|other| other.eq_ignore_ascii_case(name));
    let cut = |max: usize| name.get(..max).unwrap_or(name);
    let mut found = cut(max).to_owned();
    let mut number = 2_usize;
    while is_taken(&found) {
        let suffix = format!("-{number}");
        found = format!("{}{suffix}", cut(max.saturating_sub(suffix.len())));
        number += 1;
    }
    found
}

/// Whether a deny list covers everything that a server could offer, so that it need not be started.
pub fn server_denied(deny: &[Entry], server: &str) -> bool {
    let namespace = format!("{server}{BETWEEN}").to_lowercase();
    deny.iter().any(|entry| {
        let text = entry.text.trim().to_lowercase();
        if text.ends_with('*') {
            return Matcher::new([entry]).find_name(&namespace).is_some();
        }
        text == MCP_OWNER || text == GROUP_PLUGINS
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::List;

    #[test]
    fn servers() {
        let long = "x".repeat(40);
        let given = ["Outlook Graph", "outlook-graph", "123", "a.b/c", "_z", &long, &long, " ", "é"];
        let (x30, x28) = ("x".repeat(30), format!("{}-2", "x".repeat(28)));
        let wanted =
            ["Outlook-Graph", "outlook-graph-2", "mcp-123", "a-b-c", "mcp-_z", &x30, &x28, "mcp", "mcp--"];
        assert_eq!(server_names(given), wanted);
    }

    #[test]
    fn tools() {
        let long = "t".repeat(80);
        let names = tool_names("srv", ["send mail", "Send-Mail", "", &long, &long]);
        assert_eq!(names[..3], ["srv__send-mail", "srv__Send-Mail-2", "srv__tool"]);
        assert!(names[3..].iter().all(|name| name.len() == 64) && names[4].ends_with("t-2"));
    }

    #[test]
    fn whole_servers() {
        let denied = |text: &str| server_denied(&List::built_in("k", &[text]).entries, "srv");
        assert!(["*", "srv__*", "SRV*", "bundle-mcp", "group:plugins", "*__*"].into_iter().all(denied));
        assert!(!["srv__q", "srv__q*", "srv", "", "*__q", "x*"].into_iter().any(denied));
    }
}
