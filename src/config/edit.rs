//! Changes one value in a text and leaves the rest as it was written: comments, order, layout. Pure.
//!
//! The text is edited by position, then read again: the result must hold exactly the change that was asked for,
//! else it is not handed out.

use std::ops::Range;

use serde_json::{Map, Value};

use super::index::{Child, Container, Index};
use super::path::{KeyPath, Step};

/// Why a text cannot be changed so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text is no JSON5.
    #[error("the file is not JSON5: {0}")]
    Syntax(String),
    /// Nothing stands there.
    #[error("{0} is not written in the file")]
    Absent(String),
    /// Something on the way is neither object nor list, or the other of the two.
    #[error("{key} is not {wanted}")]
    NotA {
        /// What is in the way.
        key: String,
        /// What it would have to be.
        wanted: &'static str,
    },
    /// Elements can only be added behind the last one.
    #[error("{key} has {length} elements; the next is [{length}]")]
    Gap {
        /// The list.
        key: String,
        /// Its length.
        length: usize,
    },
    /// A key on the way is written twice: which one is meant is not clear.
    #[error("{0} is written twice")]
    Twice(String),
    /// The layout is one that this editor does not understand.
    #[error("{0} cannot be changed without rewriting what stands around it")]
    Layout(String),
}

/// The text with `value` at `path`. Objects and lists on the way are made where they are missing.
pub fn set(text: &str, path: &KeyPath, value: &Value) -> Result<String, EditError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let (index, mut root) = read(text, path)?;
    let quoted = quotes_names(text, &index);
    let keys = path.keys();
    let mut edited = None;
    for ((key, child_key), (depth, step)) in
        keys.iter().zip(keys.iter().skip(1)).zip(path.steps().iter().enumerate())
    {
        let container = container(&index, key, step)?;
        let last = depth + 1 == path.steps().len();
        match container.children.iter().find(|child| child.key == *child_key) {
            Some(child) if last => {
                edited = Some(replaced(text, &child.value, &render(value, quoted)));
            }
            Some(_) => {}
            None => {
                if let Step::At(at) = step
                    && *at != container.children.len()
                {
                    return Err(EditError::Gap { key: key.clone(), length: container.children.len() });
                }
                let rest = path.steps().get(depth + 1..).unwrap_or_default();
                let value = render(&nested(rest, value)?, quoted);
                let piece = match step {
                    Step::Name(name) => format!("{}: {value}", render_name(name, quoted)),
                    Step::At(_) => value,
                };
                edited = Some(insert(text, container, &piece));
                break;
            }
        }
    }
    // What is compared went through the same parser.
    let wanted = json5::from_str(&render(value, quoted)).unwrap_or_else(|_| value.clone());
    put(&mut root, path.steps(), wanted);
    checked(edited.unwrap_or_default(), &root, path)
}

/// The text without what stands at `path`.
pub fn unset(text: &str, path: &KeyPath) -> Result<String, EditError> {
    let (index, mut root) = read(text, path)?;
    let keys = path.keys();
    let absent = || EditError::Absent(path.to_string());
    let parent = keys.iter().rev().nth(1).and_then(|key| index.container(key)).ok_or_else(absent)?;
    let whole = keys.last().ok_or_else(absent)?;
    let at = parent.children.iter().position(|child| child.key == *whole).ok_or_else(absent)?;
    let edited = removed(text, parent, at).ok_or_else(absent)?;
    take(&mut root, path.steps());
    checked(edited, &root, path)
}

fn read(text: &str, path: &KeyPath) -> Result<(Index, Value), EditError> {
    let syntax = |error: &dyn std::fmt::Display| EditError::Syntax(error.to_string());
    let index = Index::of(text).map_err(|error| syntax(&error))?;
    let root = parse(text).map_err(|error| syntax(&error))?;
    match path.keys().into_iter().find(|key| index.repeated(key)) {
        Some(key) => Err(EditError::Twice(key)),
        None => Ok((index, root)),
    }
}

pub(super) fn parse(text: &str) -> Result<Value, json5::Error> {
    json5::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The edited text, if it says what was asked for and nothing else.
fn checked(edited: String, wanted: &Value, path: &KeyPath) -> Result<String, EditError> {
    match parse(&edited) {
        Ok(value) if value == *wanted => Ok(edited),
        _ => Err(EditError::Layout(path.to_string())),
    }
}

fn container<'i>(index: &'i Index, key: &str, step: &Step) -> Result<&'i Container, EditError> {
    let object = matches!(step, Step::Name(_));
    let wanted = if object { "an object" } else { "a list" };
    let key = if key.is_empty() { "the file" } else { key };
    let found = index.container(if key == "the file" { "" } else { key });
    found
        .filter(|found| found.is_object == object)
        .ok_or_else(|| EditError::NotA { key: key.to_owned(), wanted })
}

/// The value inside the objects and lists that are still missing.
fn nested(steps: &[Step], value: &Value) -> Result<Value, EditError> {
    steps.iter().rev().try_fold(value.clone(), |inner, step| match step {
        Step::Name(name) => Ok(Value::Object(Map::from_iter([(name.clone(), inner)]))),
        Step::At(0) => Ok(Value::Array(vec![inner])),
        Step::At(_) => Err(EditError::Gap { key: "a new list".to_owned(), length: 0 }),
    })
}

/// The same change in the value.
fn put(root: &mut Value, steps: &[Step], value: Value) {
    let Some((step, rest)) = steps.split_first() else {
        *root = value;
        return;
    };
    match step {
        Step::Name(name) => {
            if !root.is_object() {
                *root = Value::Object(Map::new());
            }
            if let Some(map) = root.as_object_mut() {
                put(map.entry(name.as_str()).or_insert(Value::Null), rest, value);
            }
        }
        Step::At(at) => {
            if !root.is_array() {
                *root = Value::Array(Vec::new());
            }
            if let Some(list) = root.as_array_mut() {
                if *at == list.len() {
                    list.push(Value::Null);
                }
                if let Some(item) = list.get_mut(*at) {
                    put(item, rest, value);
                }
            }
        }
    }
}

fn take(root: &mut Value, steps: &[Step]) {
    let Some((last, way)) = steps.split_last() else { return };
    let parent = way.iter().try_fold(root, |value, step| match step {
        Step::Name(name) => value.as_object_mut()?.get_mut(name),
        Step::At(at) => value.as_array_mut()?.get_mut(*at),
    });
    match (parent, last) {
        (Some(Value::Object(map)), Step::Name(name)) => _ = map.remove(name),
        (Some(Value::Array(list)), Step::At(at)) if *at < list.len() => _ = list.remove(*at),
        _ => {}
    }
}

/// The file writes names in quotes: then it may be meant for readers of plain JSON.
pub(super) fn quotes_names(text: &str, index: &Index) -> bool {
    let first = index.container("").and_then(|root| root.children.first());
    first.is_some_and(|child| text.get(child.start..).is_some_and(|name| name.starts_with('"')))
}

pub(super) fn render_name(name: &str, quoted: bool) -> String {
    let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let plain = start && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    if plain && !quoted { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}

/// A value on one line.
fn render(value: &Value, quoted: bool) -> String {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", render_name(name, quoted), render(value, quoted))
            };
            format!("{{ {} }}", map.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().map(|item| render(item, quoted)).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn replaced(text: &str, range: &Range<usize>, with: &str) -> String {
    let (before, after) = (text.get(..range.start), text.get(range.end..));
    format!("{}{with}{}", before.unwrap_or_default(), after.unwrap_or_default())
}

/// White space in front of `at` on its line; `None` where something else stands there.
fn indent_of(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.trim().is_empty().then_some(line)
}

/// Where the line that `from` is on ends for an insertion: behind comments that begin on it, in front of the line
/// break or of `close`.
fn line_end(text: &str, from: usize, close: usize) -> usize {
    let mut at = from;
    while let Some(rest) = text.get(at..close) {
        if let Some(comment) = rest.strip_prefix("/*") {
            at += comment.find("*/").map_or(rest.len(), |end| end + 4);
        } else if rest.starts_with("//") {
            return at + rest.find(['\r', '\n']).unwrap_or(rest.len());
        } else {
            match rest.chars().next() {
                None | Some('\r' | '\n') => return at,
                Some(c) => at += c.len_utf8(),
            }
        }
    }
    at
}

/// A member or element behind the last one, laid out as that one is.
fn insert(text: &str, container: &Container, piece: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let close = container.span.end.saturating_sub(1);
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let all = text.len();
    let Some(last) = container.children.last() else { return first(text, container, piece, newline) };
    let end = last.value.end;
    match (indent_of(text, last.start), last.comma) {
        (Some(indent), comma) => {
            let from = comma.map_or(end, |comma| comma + 1);
            let tail = line_end(text, from, close);
            let tail = from + part(from..tail).trim_end().len();
            let (own, more) = if comma.is_some() { ("", ",") } else { (",", "") };
            let head = format!("{}{own}{}", part(0..end), part(end..tail));
            format!("{head}{newline}{indent}{piece}{more}{}", part(tail..all))
        }
        (None, Some(comma)) => format!("{} {piece},{}", part(0..comma + 1), part(comma + 1..all)),
        (None, None) => format!("{}, {piece}{}", part(0..end), part(end..all)),
    }
}

/// The first member or element of an empty object or list.
fn first(text: &str, container: &Container, piece: &str, newline: &str) -> String {
    let (open, close) = (container.span.start + 1, container.span.end.saturating_sub(1));
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let inner = part(open..close);
    let (head, tail) = (part(0..open), part(close..text.len()));
    match indent_of(text, close).filter(|_| inner.contains('\n')) {
        Some(indent) => {
            let kept = inner.strip_suffix(indent).unwrap_or(inner);
            format!("{head}{kept}{indent}  {piece}{newline}{indent}{tail}")
        }
        None if inner.trim().is_empty() && container.is_object => format!("{head} {piece} {tail}"),
        None if inner.trim().is_empty() => format!("{head}{piece}{tail}"),
        None => format!("{head}{inner} {piece} {tail}"),
    }
}

/// The text without a child, its comma, and its line where nothing else stands on it.
fn removed(text: &str, parent: &Container, at: usize) -> Option<String> {
    let child: &Child = parent.children.get(at)?;
    // The last one without a comma: the comma before it would be the last.
    let before = || parent.children.get(at.checked_sub(1)?)?.comma;
    let comma = child.comma.or_else(before).map(|comma| comma..comma + 1);
    let mut gaps: Vec<Range<usize>> = std::iter::once(child.start..child.value.end).chain(comma).collect();
    let end = child.comma.map_or(child.value.end, |comma| comma + 1);
    let joined = child
        .comma
        .is_none_or(|comma| text.get(child.value.end..comma).is_some_and(|gap| gap.trim().is_empty()));
    let rest = text.get(end..)?;
    let line = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
    let alone = joined && rest.get(..line)?.trim().is_empty() && rest.get(..line)?.ends_with('\n');
    match indent_of(text, child.start) {
        Some(indent) if alone => gaps.push(child.start - indent.len()..end + line),
        _ if child.comma.is_some() => {
            let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            gaps.push(end..end + space);
        }
        _ if at > 0 => {
            let before = text.get(..child.start)?;
            gaps.push(before.trim_end_matches([' ', '\t']).len()..child.start);
        }
        _ => {}
    }
    gaps.sort_by_key(|gap| gap.start);
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for gap in gaps {
        if gap.start > kept {
            out.push_str(text.get(kept..gap.start)?);
        }
        kept = kept.max(gap.end);
    }
    out.push_str(text.get(kept..)?);
    Some(out)
}

#[cfg(test)]
mod tests;
