//! `creel config`: read, change, check the configuration file.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::print;
use crate::config::path::{NotAKey, Step};
use crate::config::{self, Config, ConfigError, KeyPath, Located, Places, Problem, edit, env, schema, store};
use crate::error::{EXIT_CREEL, Failure, Report};
use crate::explain;
use crate::state::StateDir;

/// The most characters of a value in a message.
const VALUE_SHOWN: usize = 80;

/// The configuration file.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Configuration file instead of `openclaw.json` in the state directory.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print what is written at a key, or the whole file's values.
    Get {
        /// A key such as `agents.list[0].tools.exec.node`.
        key: Option<String>,
    },
    /// Write a value at a key; comments and layout stay. Refused when the result would be worse than before: the whole
    /// check of `validate` is made.
    Set {
        /// A key such as `agents.defaults.sandbox.mode`.
        key: String,
        /// JSON5, or plain text where it is none.
        value: String,
        /// The value is text, whatever it looks like.
        #[arg(long)]
        string: bool,
    },
    /// Remove a key. Refused when the result would be worse than before.
    Unset {
        /// A key.
        key: String,
    },
    /// Check the file, binds included: every problem at once, each with its place and fix.
    Validate,
    /// Print the JSON Schema.
    Schema,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> ExitCode {
    match act(args) {
        Ok(code) => code,
        Err(failure) => super::status(Err(failure), args.json),
    }
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The file and the places that paths in it are relative to.
struct Target {
    located: Located,
    state: StateDir,
    places: Places,
}

impl Target {
    fn find(args: &Args) -> Result<Self, Failure> {
        let state = StateDir::locate(var)?;
        let home = var("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let places = Places { home, state: state.root().to_owned() };
        Ok(Self { located: config::locate(args.config.as_deref(), &var, &state), state, places })
    }

    /// Everything that can be told before a sandbox is made, binds of this moment included.
    fn check(&self) -> Result<(), ConfigError> {
        explain::check(&Config::load(&self.located, &var)?, &self.places)
    }

    /// Changes what stands at a key. The same check judges the result as judges the file.
    fn update(
        &self,
        key: &KeyPath,
        what: &str,
        change: impl FnOnce(&str) -> Result<String, edit::EditError>,
    ) -> Result<Change, Failure> {
        let (key, mut left) = (key.to_string(), 0);
        let judge = |before: &str, after: &str| {
            left = explain::no_worse((before, after), (&key, what), &self.located.path, &self.places, &var)?;
            Ok(())
        };
        let changed = store::update(&self.located, &self.state, judge, change)?;
        Ok(Change { changed, left })
    }
}

/// What came of a change.
struct Change {
    /// The file is another one.
    changed: bool,
    /// Problems that the file had before and has still.
    left: explain::Left,
}

fn act(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        Action::Get { key } => get(&Target::find(args)?, key.as_deref(), args.json),
        Action::Set { key, value, string } => {
            let path = path(key)?;
            let value = read_value(value, *string)?;
            let what = format!("setting {path} to {}", shown(&path, &value));
            let change = Target::find(args)?.update(&path, &what, |text| edit::set(text, &path, &value))?;
            Ok(told(args, &path, &change, "set"))
        }
        Action::Unset { key } => {
            let path = path(key)?;
            let what = format!("removing {path}");
            let change = Target::find(args)?.update(&path, &what, |text| edit::unset(text, &path))?;
            Ok(told(args, &path, &change, "removed"))
        }
        Action::Validate => validate(&Target::find(args)?, args.json),
        Action::Schema => {
            print::put(&schema::text_of_schema());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn path(key: &str) -> Result<KeyPath, Failure> {
    KeyPath::parse(key).map_err(|NotAKey(text)| {
        Failure(Report {
            code: "CRL-CLI-005",
            message: format!("{text:?} is not a key"),
            rule: Some("command line".to_owned()),
            fix: "write a key such as agents.entries.web.tools.exec.node; odd names as [\"a b\"]".to_owned(),
        })
    })
}

/// JSON5 where it is JSON5, so that numbers, lists and objects need no flag.
fn read_value(text: &str, string: bool) -> Result<Value, Failure> {
    let parsed = if string { None } else { json5::from_str(text).ok() };
    let Some(value) = parsed else { return Ok(Value::String(text.to_owned())) };
    match bare_words(text).find(|word| !keeps(word)) {
        None => Ok(value),
        Some(word) => Err(Failure(Report {
            code: "CRL-CLI-006",
            message: format!("{word} cannot be kept as a number of JSON"),
            rule: Some("creel config set VALUE".to_owned()),
            fix: "write a smaller number, or a text with --string".to_owned(),
        })),
    }
}

/// What stands outside of quotes and between punctuation.
fn bare_words(text: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let mut escaped = false;
    text.split(move |letter: char| match quote {
        Some(open) => {
            let ends = letter == open && !escaped;
            escaped = letter == '\\' && !escaped;
            if ends {
                quote = None;
            }
            true
        }
        None if matches!(letter, '"' | '\'') => {
            quote = Some(letter);
            true
        }
        None => letter.is_whitespace() || "{}[],:".contains(letter),
    })
}

/// A number that is no other number afterwards: neither without a value nor a long one rounded.
fn keeps(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let lost = digits.parse::<f64>().is_ok_and(|number| !number.is_finite());
    !lost && (!whole || digits.parse::<u64>().is_ok())
}

/// The value as it was given, short, and nothing that may be a secret.
fn shown(path: &KeyPath, value: &Value) -> String {
    let secret =
        |step: &Step| matches!(step, Step::Name(name) if name == "env" || env::secret(name).is_some());
    let text = match value {
        // Variables may be in it.
        Value::Object(_) => "an object".to_owned(),
        Value::Array(list) if list.iter().any(|one| one.is_object() || one.is_array()) => "a list".to_owned(),
        plain => plain.to_string(),
    };
    match text.char_indices().nth(VALUE_SHOWN) {
        _ if path.steps().iter().any(secret) => "a value that is not shown".to_owned(),
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

/// What is written, variables not filled in. An invalid file can be looked at too.
fn get(target: &Target, key: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let path = key.map(path).transpose()?;
    let text = config::document::read(&target.located)?.unwrap_or_else(|| "{}".to_owned());
    let document = config::Document::parse(&text, &target.located.path)?;
    let found = path.as_ref().map_or(Some(document.root()), |path| path.look_up(document.root()));
    let (Some(value), path) = (found, path) else {
        let key = key.unwrap_or_default().to_owned();
        return Err(store::StoreError::from(edit::EditError::Absent(key)).into());
    };
    if json {
        let origin = path.and_then(|path| document.origin(&path.to_string()));
        print::json(&json!({ "key": key, "value": value, "origin": origin }));
    } else if let Some(text) = value.as_str() {
        print::line(text);
    } else {
        print::json(value);
    }
    Ok(ExitCode::SUCCESS)
}

fn validate(target: &Target, json: bool) -> Result<ExitCode, Failure> {
    let file = &target.located.path;
    let Err(error) = target.check() else {
        if json {
            print::json(&json!({ "valid": true, "file": file, "problems": [] }));
        } else {
            print::line(&format!("{}: valid", file.display()));
        }
        return Ok(ExitCode::SUCCESS);
    };
    if let (true, ConfigError::Invalid { problems, .. }) = (json, &error) {
        let problems: Vec<Value> = problems.iter().map(row).collect();
        let failure = Failure::from(error.clone());
        print::json(&json!({ "valid": false, "file": file, "problems": problems, "error": failure.0 }));
        return Ok(ExitCode::from(EXIT_CREEL));
    }
    Err(error.into())
}

fn row(problem: &Problem) -> Value {
    let place = problem.origin.as_ref();
    json!({
        "key": problem.key,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
        "message": problem.message,
        "fix": problem.fix,
    })
}

fn told(args: &Args, path: &KeyPath, change: &Change, verb: &str) -> ExitCode {
    let Change { changed, left } = change;
    if args.json {
        print::json(&json!({ "key": path.to_string(), "changed": changed, "problemsLeft": left }));
        return ExitCode::SUCCESS;
    }
    print::line(&format!("{path}: {}", if *changed { verb } else { "unchanged" }));
    if *left > 0 {
        let count = if *left == 1 { "a problem".to_owned() } else { format!("{left} problems") };
        print::line(&format!("note: the file still has {count} that it had before: creel config validate"));
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_would_change_are_refused() {
        for text in ["NaN", "-Infinity", "1e999", "123456789012345678901234567890", "[1, {a: NaN}]"] {
            assert!(read_value(text, false).is_err(), "{text}");
            assert!(read_value(text, true).is_ok(), "{text}");
        }
        for text in ["1", "18446744073709551615", "1.5e3", "'NaN'", "{a: \"1e999, NaN\"}", "not json", "null"]
        {
            assert!(read_value(text, false).is_ok(), "{text}");
        }
    }
}
