//! Where each key stands in a JSON5 text. The parser reports positions of errors only, not of values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How deep objects and arrays may nest.
const MAX_DEPTH: usize = 64;

/// A place in the text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

/// The text nests too deep to be a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("objects and arrays nest deeper than {MAX_DEPTH} levels")]
pub struct TooDeep {
    /// Where the limit is passed.
    pub at: Position,
}

/// An object or array in the text, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Container {
    /// It is an object.
    pub is_object: bool,
    /// From the opening to behind the closing bracket.
    pub span: Range<usize>,
    /// Its members or elements, in the order of the text.
    pub children: Vec<Child>,
}

/// A member or an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its full key.
    pub key: String,
    /// Where it begins: the name of a member, the value of an element.
    pub start: usize,
    /// Its value.
    pub value: Range<usize>,
    /// The comma behind it.
    pub comma: Option<usize>,
}

/// Key path to position: of the name for a member, of the value for an element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    places: BTreeMap<String, Position>,
    repeated: BTreeSet<String>,
    containers: BTreeMap<String, Container>,
}

/// The path of a member: `a.b`, or `a["b c"]` where the name is no plain word.
pub fn member(path: &str, name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if name.is_empty() || !name.chars().all(plain) {
        return format!("{path}[{name:?}]");
    }
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The path of an element.
pub fn element(path: &str, at: usize) -> String {
    format!("{path}[{at}]")
}

impl Index {
    /// Walks the text. Where it is no JSON5 the walk gathers what it can; the parser will say what is wrong.
    pub fn of(text: &str) -> Result<Self, TooDeep> {
        let mut walk = Walk {
            length: text.len(),
            rest: text,
            at: Position { line: 1, column: 1 },
            frames: Vec::new(),
            index: Self::default(),
        };
        while walk.step()? {}
        Ok(walk.index)
    }

    /// Where a key stands; the last place if it is written twice.
    pub fn get(&self, key: &str) -> Option<Position> {
        self.places.get(key).copied()
    }

    /// An object or array by its key; empty is the root.
    pub fn container(&self, key: &str) -> Option<&Container> {
        self.containers.get(key)
    }

    /// Whether a key is written more than once.
    pub fn repeated(&self, key: &str) -> bool {
        self.repeated.contains(key)
    }

    /// Where keys that are written more than once stand for the last time, in the order of their names.
    pub fn all_repeated(&self) -> impl Iterator<Item = Position> {
        self.repeated.iter().filter_map(|key| self.get(key))
    }

    fn note(&mut self, key: String, at: Position) {
        if self.places.insert(key.clone(), at).is_some() {
            self.repeated.insert(key);
        }
    }
}

/// An object or array that is open.
struct Frame {
    path: String,
    /// The member whose value is next and where its name begins; or the number of the next element.
    next: Next,
    container: Container,
}

enum Next {
    Member(Option<(String, usize)>),
    Element(usize),
}

struct Walk<'a> {
    length: usize,
    rest: &'a str,
    at: Position,
    frames: Vec<Frame>,
    index: Index,
}

impl<'a> Walk<'a> {
    /// Takes one token; false at the end.
    fn step(&mut self) -> Result<bool, TooDeep> {
        self.skip_space();
        let at = self.at;
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        match first {
            '{' | '[' => {
                let path = self.value_path(at);
                if self.frames.len() >= MAX_DEPTH {
                    return Err(TooDeep { at });
                }
                let is_object = first == '{';
                let next = if is_object { Next::Member(None) } else { Next::Element(0) };
                let start = self.offset();
                let container = Container { is_object, span: start..start, children: Vec::new() };
                self.frames.push(Frame { path, next, container });
                self.take(1);
            }
            '}' | ']' => {
                self.take(1);
                self.close();
            }
            ',' => {
                let here = self.offset();
                if let Some(frame) = self.frames.last_mut() {
                    frame.next = match frame.next {
                        Next::Element(next) => Next::Element(next + 1),
                        Next::Member(_) => Next::Member(None),
                    };
                    if let Some(child) = frame.container.children.last_mut() {
                        child.comma = Some(here);
                    }
                }
                self.take(1);
            }
            ':' => self.take(1),
            _ => {
                let start = self.offset();
                let token = self.token(first);
                self.word(token, at, start);
            }
        }
        Ok(true)
    }

    /// How far the walk is, in bytes.
    fn offset(&self) -> usize {
        self.length.saturating_sub(self.rest.len())
    }

    /// A string, name, number or keyword: the name of a member, or a value.
    fn word(&mut self, token: &str, at: Position, start: usize) {
        if let Some(Frame { path, next: Next::Member(pending @ None), .. }) = self.frames.last_mut() {
            let key = member(path, &decode(token));
            *pending = Some((key.clone(), start));
            self.index.note(key, at);
        } else {
            let key = self.value_path(at);
            let value = start..self.offset();
            self.child(key, value);
        }
    }

    /// The innermost object or array ends here.
    fn close(&mut self) {
        let Some(mut frame) = self.frames.pop() else { return };
        frame.container.span.end = self.offset();
        let span = frame.container.span.clone();
        self.index.containers.insert(frame.path.clone(), frame.container);
        self.child(frame.path, span);
    }

    /// A value is complete.
    fn child(&mut self, key: String, value: Range<usize>) {
        let Some(frame) = self.frames.last_mut() else { return };
        let start = match &frame.next {
            Next::Member(Some((_, start))) => *start,
            _ => value.start,
        };
        frame.container.children.push(Child { key, start, value, comma: None });
    }

    /// The path of the value that begins here; notes where an element stands.
    fn value_path(&mut self, at: Position) -> String {
        match self.frames.last() {
            Some(Frame { next: Next::Member(pending), .. }) => {
                pending.as_ref().map(|(key, _)| key.clone()).unwrap_or_default()
            }
            Some(Frame { path, next: Next::Element(next), .. }) => {
                let key = element(path, *next);
                self.index.note(key.clone(), at);
                key
            }
            None => String::new(),
        }
    }

    fn skip_space(&mut self) {
        loop {
            let space = self.rest.len() - self.rest.trim_start_matches(is_space).len();
            let comment = if self.rest.get(space..).is_some_and(|rest| rest.starts_with("//")) {
                self.until(space, &['\n', '\r', '\u{2028}', '\u{2029}'])
            } else if self.rest.get(space..).is_some_and(|rest| rest.starts_with("/*")) {
                let body = self.rest.get(space + 2..).unwrap_or_default();
                body.find("*/").map_or(self.rest.len(), |end| space + 2 + end + 2)
            } else {
                space
            };
            if comment == 0 {
                return;
            }
            self.take(comment);
        }
    }

    /// The length up to one of `ends`, looking from `start`.
    fn until(&self, start: usize, ends: &[char]) -> usize {
        self.rest.get(start..).and_then(|rest| rest.find(ends)).map_or(self.rest.len(), |end| start + end)
    }

    /// Takes a quoted string with its quotes, or everything up to a separator.
    fn token(&mut self, first: char) -> &'a str {
        let length = if matches!(first, '"' | '\'') { self.quoted(first) } else { self.bare() };
        let token = self.rest.get(..length).unwrap_or(self.rest);
        self.take(length);
        token
    }

    fn quoted(&self, quote: char) -> usize {
        let mut escaped = false;
        for (offset, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == quote => return offset + c.len_utf8(),
                _ => {}
            }
        }
        self.rest.len()
    }

    /// At least one character, so that the walk always moves on.
    fn bare(&self) -> usize {
        let end = |(offset, c): (usize, char)| {
            let stops = matches!(c, ',' | ':' | '{' | '}' | '[' | ']' | '"' | '\'' | '/') || is_space(c);
            (offset > 0 && stops).then_some(offset)
        };
        self.rest.char_indices().find_map(end).unwrap_or(self.rest.len())
    }

    /// Moves on by `length` bytes, counting lines and columns.
    fn take(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        let mut chars = taken.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\r' if chars.peek() == Some(&'\n') => {}
                '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                    self.at = Position { line: self.at.line + 1, column: 1 };
                }
                // A byte order mark takes no room on a screen.
                '\u{feff}' => {}
                _ => self.at.column += 1,
            }
        }
        self.rest = rest;
    }
}

/// White space as JSON5 has it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// A member's name without quotes and escapes; the parser's own rules, so that both agree.
fn decode(token: &str) -> String {
    let decoded = if token.starts_with(['"', '\'']) {
        json5::from_str::<String>(token).ok()
    } else if token.contains('\\') {
        let object = json5::from_str::<BTreeMap<String, u8>>(&format!("{{{token}:0}}"));
        object.ok().and_then(|map| map.into_keys().next())
    } else {
        None
    };
    decoded.unwrap_or_else(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(index: &Index, key: &str) -> Option<(usize, usize)> {
        index.get(key).map(|place| (place.line, place.column))
    }

    #[test]
    fn finds_keys_and_elements() {
        let text = "// c\n{\n  a: { 'b': [1, \"x, {y:1}\", /* , */ { c: 2 }] },\r\n  \"d.e\": 'it\\'s',\n  \\u0066: 1, é: 0 }";
        let index = Index::of(text).unwrap();
        assert_eq!(at(&index, "a"), Some((3, 3)));
        assert_eq!(at(&index, "a.b"), Some((3, 8)));
        assert_eq!(at(&index, "a.b[1]"), Some((3, 17)));
        assert_eq!(at(&index, "a.b[2].c"), Some((3, 39)));
        assert_eq!(at(&index, "[\"d.e\"]"), Some((4, 3)));
        assert_eq!(at(&index, "f"), Some((5, 3)));
        assert_eq!(at(&index, "é"), Some((5, 14)));
        assert_eq!(at(&index, "y"), None);
    }

    #[test]
    fn containers_know_their_children() {
        let text = "{ a: [1, {b: 2,}], /* , */ c: 'x' }";
        let index = Index::of(text).unwrap();
        let root = index.container("").unwrap();
        let parts: Vec<(&str, &str, bool)> = root
            .children
            .iter()
            .map(|child| {
                (&text[child.start..child.value.end], &text[child.value.clone()], child.comma.is_some())
            })
            .collect();
        assert_eq!(parts, [("a: [1, {b: 2,}]", "[1, {b: 2,}]", true), ("c: 'x'", "'x'", false)]);
        assert_eq!(&text[root.span.clone()], text);
        let inner = index.container("a[1]").unwrap();
        assert!(inner.is_object && inner.children[0].key == "a[1].b" && inner.children[0].comma.is_some());
    }

    #[test]
    fn repeated_keys_and_depth() {
        let index = Index::of("{a: 1, b: {a: 1},\n a: 2}").unwrap();
        assert!(index.repeated("a") && !index.repeated("b.a"));
        assert_eq!(at(&index, "a"), Some((2, 2)));
        assert!(Index::of(&"[".repeat(65)).is_err());
        assert!(Index::of(&"[".repeat(64)).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn walks_anything(text in "\\PC{0,60}|[{}\\[\\],:'\"/*\\\\a \n]{0,60}") {
            let _ = Index::of(&text);
        }

        /// Every scalar that the parser sees has a place.
        #[test]
        fn agrees_with_the_parser(value in json(), pretty in proptest::bool::ANY) {
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let index = Index::of(&text).unwrap();
            check(&value, "", &index);
        }
    }

    fn json() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            any::<bool>().prop_map(serde_json::Value::from),
            any::<i32>().prop_map(serde_json::Value::from),
            "[a-z {}\\[\\],:\"'\\\\/\n]{0,8}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::btree_map("[a-z.\"' ]{0,5}", inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn check(value: &serde_json::Value, path: &str, index: &Index) {
        match value {
            serde_json::Value::Object(map) => {
                for (name, value) in map {
                    let path = member(path, name);
                    assert!(index.get(&path).is_some(), "{path}");
                    check(value, &path, index);
                }
            }
            serde_json::Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    let path = element(path, at);
                    assert!(index.get(&path).is_some(), "{path}");
                    check(value, &path, index);
                }
            }
            _ => {}
        }
    }
}
