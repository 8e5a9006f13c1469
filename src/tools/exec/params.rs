//! The parameters of `exec` (spec `exec.md` §1.1), its schema, and what its description tells a model (§1.6). Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ExecError;
use crate::config::exec::{Ask, ExecHost};
use crate::error::Report;
use crate::runner::Limits;
use crate::tools::{ToolError, args};

/// What a model may send. Unknown properties, `security` among them, have no effect.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Params {
    /// Shell command to run.
    pub command: String,
    /// Directory to start in, an existing one. The path is literal: neither ~ nor $VAR is expanded.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Variables over the inherited environment. Values are literal.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
    /// Milliseconds to wait before the command goes on in the background (10 to 120000).
    #[serde(default)]
    pub yield_ms: Option<f64>,
    /// Go on in the background at once.
    #[serde(default)]
    pub background: Option<bool>,
    /// Limit on the command's whole life in seconds, in the background too; 0 is none.
    #[serde(default)]
    pub timeout_seconds: Option<f64>,
    /// Older name of timeoutSeconds.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Run in a pseudo-terminal: for programs that need one, such as terminal user interfaces and coding agents.
    #[serde(default)]
    pub pty: Option<bool>,
    /// Where to run: auto is the configured place. Not the name of a machine.
    #[serde(default)]
    #[schemars(extend("enum" = ["auto", "sandbox", "gateway", "node"]))]
    pub host: Option<String>,
    /// Ask for a stricter approval than configured: off, on-miss or always. It never loosens one.
    #[serde(default)]
    pub ask: Option<String>,
    /// Node for host=node: its id, name or address.
    #[serde(default)]
    pub node: Option<String>,
    /// true asks to leave the sandbox, false stays in it; only where the operator allows it.
    #[serde(default)]
    pub elevated: Option<bool>,
    /// Short purpose, shown to people.
    #[serde(default)]
    #[schemars(length(max = 120))]
    pub title: Option<String>,
    /// Limits on what the command may use.
    #[serde(default)]
    pub limits: Option<CallLimits>,
}

/// Limits of one command (creel's extension).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallLimits {
    /// Bytes of memory.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub memory_bytes: Option<u64>,
    /// Processes at a time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub processes: Option<u32>,
    /// Bytes of output; the command is ended when it prints more.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub output_bytes: Option<u64>,
    /// Seconds of processor time.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub cpu_seconds: Option<u64>,
    /// Seconds without output after which the command is ended.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub silence_seconds: Option<u64>,
}

impl CallLimits {
    /// As the runner takes them; the limit on silence is one of its options.
    pub fn of_runner(self) -> Limits {
        Limits {
            memory_bytes: self.memory_bytes,
            processes: self.processes,
            output_bytes: self.output_bytes,
            cpu_seconds: self.cpu_seconds,
        }
    }
}

/// Parameters that a run without the `process` tool does not have.
const CONTINUATION: &[&str] = &["yieldMs", "background"];
/// What a broken template leaves at the end of a value.
const MARKER: &str = "</arg_value>";

/// The schema. `process`: the run has the `process` tool, so that commands can go on in the background.
pub fn schema(process: bool) -> Value {
    let schema = args::schema_of::<Params>();
    if process { schema } else { args::without(schema, CONTINUATION) }
}

/// What the model reads of the tool.
pub fn description(process: bool) -> String {
    let head = "Run a shell command. It runs where the operator configured it, in a sandbox where there is one; it can \
                change files whatever the other tools may do.";
    let going_on = if process {
        "A command that outlives yieldMs goes on in the background and gets a session id. Start work once and rely on \
         the notice of its end, which comes where notices are enabled and the command printed something or failed; use \
         process for logs, status, input, its screen, to wait for a text, and to end it. Pass background: true instead of a trailing &."
    } else {
        "The call waits for the end of the command: this run has no process tool, so nothing goes on in the background. \
         Give long commands a timeoutSeconds that fits."
    };
    let tail = "Do not imitate a scheduler with sleep or polling loops; what belongs to a later time goes to cron. Where \
                the channel shows a card or buttons for an approval, rely on them; write out an /approve command only \
                when the result says that there is no other way.";
    format!("{head} {going_on} {tail}")
}

/// Reads the arguments of a call (spec `exec.md` §1.2), and the first check of §1.3.
///
/// # Errors
///
/// E-SCHEMA; two limits on time that contradict each other.
pub fn read(value: Value) -> Result<Params, ToolError> {
    let mut params: Params = args::parse("exec", lenient(value))?;
    cut_command(&mut params.command);
    let fields = [&mut params.workdir, &mut params.host, &mut params.ask, &mut params.node];
    for text in fields.into_iter().flatten() {
        cut(text);
    }
    if params.command.contains('\0') {
        return Err(ToolError::of(Report {
            code: "CRL-TOOL-022",
            message: "the command contains a NUL byte, which no program can be given".to_owned(),
            rule: Some("parameters of exec".to_owned()),
            fix: "write the byte inside the command, for example with printf '\\0'".to_owned(),
        }));
    }
    if let (Some(new), Some(old)) = (params.timeout_seconds, params.timeout)
        && (new - old).abs() > f64::EPSILON
    {
        return Err(ExecError::Timeouts { new: new.to_string(), old: old.to_string() }.into());
    }
    Ok(params)
}

/// Before the schema looks: an empty host is none, and a marker is no part of one.
fn lenient(mut value: Value) -> Value {
    if let Some(Value::String(host)) = value.get_mut("host") {
        cut(host);
        if host.trim().is_empty() {
            "auto".clone_into(host);
        }
    } else if value.get("host").is_some_and(Value::is_null) {
        value.as_object_mut().and_then(|map| map.remove("host"));
    }
    value
}

/// Cuts the marker, and what follows it, off the end of a value.
fn cut(text: &mut String) {
    if let Some(at) = text.find(MARKER) {
        text.truncate(at);
    }
}

/// As [`cut`], but a command may hold the marker as data: within quotes, and in a document that it feeds to a program.
fn cut_command(text: &mut String) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(MARKER)) {
        let at = from + found;
        let before = text.get(..at).unwrap_or_default();
        let last = text.get(at + MARKER.len()..).is_none_or(|rest| rest.trim().is_empty());
        if !in_quotes(before) && (last || !before.contains("<<")) {
            text.truncate(at);
            return;
        }
        from = at + MARKER.len();
    }
}

fn in_quotes(text: &str) -> bool {
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    quote.is_some()
}

impl Params {
    /// The host that the call names; absent and `auto` name none.
    ///
    /// # Errors
    ///
    /// E-HOST-VALUE, for callers that pass the schema by.
    pub fn host(&self) -> Result<Option<ExecHost>, ExecError> {
        let Some(text) = self.host.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let host = crate::approvals::policy::words::target(text);
        let host = host.ok_or_else(|| ExecError::HostValue(crate::shown::one_line(text)))?;
        Ok((host != ExecHost::Auto).then_some(host))
    }

    /// The stricter approval that the call asks for; an unknown word asks for none.
    pub fn ask(&self) -> Option<Ask> {
        crate::approvals::policy::words::ask(self.ask.as_deref()?)
    }

    /// The directory; an empty text names none.
    pub fn workdir(&self) -> Option<&str> {
        self.workdir.as_deref().filter(|text| !text.is_empty())
    }

    /// Variables in the order of their names.
    pub fn env(&self) -> Vec<(String, String)> {
        self.env.iter().flatten().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The limit on time that the call sets, in milliseconds; `Some(None)` is no limit.
    pub fn timeout_ms(&self) -> Option<Option<u64>> {
        /// More is the same as the longest timer upstream has.
        const LONGEST: f64 = 2_147_483_647.0;
        let seconds = self.timeout_seconds.or(self.timeout)?;
        let millis = (seconds * 1000.0).ceil();
        let armed = millis.is_finite() && millis > 0.0;
        Some(armed.then(|| whole(millis.min(LONGEST))))
    }

    /// The window that the call sets, in milliseconds.
    pub fn yield_ms(&self) -> Option<u64> {
        let asked = self.yield_ms.filter(|ms| ms.is_finite())?;
        Some(crate::config::exec::clamp_yield(whole(asked.clamp(0.0, 1e9))))
    }

    /// It asks for what a run without the `process` tool does not have.
    pub fn continues(&self) -> bool {
        self.yield_ms.is_some() || self.background.is_some()
    }
}

/// A number from 0 to 2^53 without its fraction.
fn whole(number: f64) -> u64 {
    format!("{number:.0}").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn read_ok(value: Value) -> Params {
        read(value).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn markers_at_the_end_are_cut_and_data_stays() {
        for (sent, wanted) in [
            ("ls -la</arg_value>", "ls -la"),
            ("ls</arg_value>\n</tool_call>", "ls"),
            ("ls</arg_value><arg_key>x</arg_key>", "ls"),
            ("grep '</arg_value>' file", "grep '</arg_value>' file"),
            ("grep \"</arg_value>\" file</arg_value>", "grep \"</arg_value>\" file"),
            ("cat > f <<E\n<x></arg_value>\nE", "cat > f <<E\n<x></arg_value>\nE"),
            ("cat > f <<E\nx\nE\n</arg_value>", "cat > f <<E\nx\nE\n"),
        ] {
            assert_eq!(read_ok(json!({"command": sent})).command, wanted, "{sent}");
        }
        let params = read_ok(json!({
            "command": "x", "workdir": "/a</arg_value>\n", "host": "node</arg_value>", "node": "n</arg_value>y",
            "ask": "always</arg_value>",
        }));
        assert_eq!((params.workdir(), params.node.as_deref()), (Some("/a"), Some("n")));
        assert_eq!((params.host().unwrap(), params.ask()), (Some(ExecHost::Node), Some(Ask::Always)));
    }

    #[test]
    fn hosts_are_one_of_four_words() {
        let host =
            |value: Value| read(json!({"command": "x", "host": value})).map(|params| params.host().unwrap());
        for value in [json!(""), json!("auto"), json!(" AUTO "), Value::Null] {
            assert_eq!(host(value.clone()).unwrap(), None, "{value}");
        }
        assert_eq!(host(json!(" Gateway ")).unwrap(), Some(ExecHost::Gateway));
        let error = host(json!("mac-1")).unwrap_err();
        assert!(error.text.contains("- host: must be one of auto, sandbox, gateway, node"), "{error}");
        let passed_by = Params { host: Some("mac-1".to_owned()), ..Params::default() };
        assert!(passed_by.host().unwrap_err().to_string().contains("mac-1"));
    }

    #[test]
    fn limits_on_time() {
        let of = |value: Value| {
            let mut all = json!({"command": "x"});
            all.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            read(all).map(|params| params.timeout_ms())
        };
        assert_eq!(of(json!({})).unwrap(), None);
        assert_eq!(of(json!({"timeoutSeconds": 2})).unwrap(), Some(Some(2000)));
        assert_eq!(of(json!({"timeout": "0.5"})).unwrap(), Some(Some(500)));
        assert_eq!(of(json!({"timeout": 3, "timeoutSeconds": 3})).unwrap(), Some(Some(3000)));
        assert_eq!(of(json!({"timeoutSeconds": 0})).unwrap(), Some(None));
        assert_eq!(of(json!({"timeoutSeconds": -5})).unwrap(), Some(None));
        assert_eq!(of(json!({"timeoutSeconds": 1e12})).unwrap(), Some(Some(2_147_483_647)));
        let error = of(json!({"timeout": 3, "timeoutSeconds": 4})).unwrap_err();
        assert!(error.text.contains("timeoutSeconds") && error.text.contains("timeout"), "{error}");
    }

    #[test]
    fn what_is_lenient_and_what_is_not() {
        let params = read_ok(json!({"command": "x", "security": "full", "ask": "never", "yieldMs": "5"}));
        assert_eq!((params.ask(), params.yield_ms()), (None, Some(10)));
        assert_eq!(read_ok(json!({"command": 5})).command, "5");
        assert!(read(json!({"command": "x", "title": "t".repeat(121)})).is_err());
        assert!(read(json!({"command": "x", "limits": {"memoryBytes": 0}})).is_err());
        assert!(read(json!({"command": "x", "limits": {"bogus": 1}})).is_err(), "a misspelt limit is none");
        assert!(read(json!({"command": "a\0b"})).is_err());
        assert_eq!(read_ok(json!({"command": "x", "workdir": ""})).workdir(), None);
    }

    #[test]
    fn schemas_follow_what_the_run_has() {
        let names = |schema: &Value| {
            schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let full = schema(true);
        assert_eq!(
            names(&full),
            "ask background command elevated env host limits node pty timeout timeoutSeconds title workdir yieldMs"
        );
        assert_eq!(full["required"], json!(["command"]));
        assert!(!names(&schema(false)).contains("yieldMs") && !names(&schema(false)).contains("background"));
        assert!(!full.to_string().contains("null"), "{full:#}");
    }
}
