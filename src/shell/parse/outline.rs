//! The second opinion: where an independent grammar sees commands, words and redirections.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser};

use super::tree::Span;
use super::{CannotSay, MAX_DEPTH, MAX_NODES, MAX_STEPS, Reason};

/// What a word is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Assignment,
    Command,
    Argument,
    Target,
    Delimiter,
    Function,
    Subshell,
    Group,
    If,
    While,
    For,
    Case,
    Test,
}

/// Something that both opinions see at the same place. Of compound commands only the start counts.
pub(super) type Event = (usize, usize, Role);

/// How often each operator stands between commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Operators {
    pub and: usize,
    pub or: usize,
    pub pipe: usize,
    pub background: usize,
}

/// What an expansion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expansion {
    Command,
    Process,
    Parameter,
    Arithmetic,
}

/// What the grammar sees.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// Sorted.
    pub events: Vec<Event>,
    /// Where each expansion ends, by where it starts.
    pub ends: BTreeMap<usize, (usize, Expansion)>,
    /// Bodies of here-documents, in order of their delimiters.
    pub documents: Vec<Span>,
    pub operators: Operators,
}

/// Words of the grammar that stand where an argument may.
const WORDS: &[&str] = &[
    "word",
    "string",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "concatenation",
    "simple_expansion",
    "expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
    "number",
    "brace_expression",
    "extglob_pattern",
    "regex",
    "variable_name",
    "special_variable_name",
    "test_operator",
    "array",
];
/// Statements whose children are looked at one by one.
const LISTS: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "negated_command",
    "redirected_statement",
    "do_group",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "case_statement",
    "case_item",
    "compound_statement",
    "subshell",
    "variable_assignments",
    "heredoc_redirect",
];

/// Most here-documents, and whatever looks like one.
const MAX_DOCUMENTS: usize = 200;

/// Reads a text with the grammar.
pub(super) fn outline(text: &str) -> Result<Outline, CannotSay> {
    // The scanner counts open here-documents in a byte.
    if text.matches("<<").count() > MAX_DOCUMENTS {
        return Err(CannotSay::whole(Reason::Unmodelled("a great many here-documents"), text));
    }
    let tree = grammar(text)?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(CannotSay::at(Reason::Syntax, first_error(root)));
    }
    if root.descendant_count() > MAX_NODES {
        return Err(CannotSay::whole(Reason::TooComplex, text));
    }
    let mut walk = Walk { text, found: Outline::default(), open: vec![(root, 0)] };
    while let Some((node, depth)) = walk.open.pop() {
        if depth > MAX_DEPTH {
            return Err(CannotSay::at(Reason::TooDeep, span(node)));
        }
        walk.statement(node, depth)?;
    }
    let mut found = walk.found;
    found.events.sort_unstable();
    found.events = joined(found.events);
    found.documents.sort_unstable();
    Ok(found)
}

/// Words that touch each other are one word; the grammar makes two of some.
fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut joined: Vec<Event> = Vec::with_capacity(events.len());
    for (start, end, role) in events {
        match joined.last_mut() {
            Some(last) if last.0 < last.1 && last.1 == start && role == Role::Argument && end > start => {
                last.1 = end;
            }
            _ => joined.push((start, end, role)),
        }
    }
    joined
}

fn grammar(text: &str) -> Result<tree_sitter::Tree, CannotSay> {
    thread_local! {
        static PARSER: std::cell::RefCell<Option<Parser>> = std::cell::RefCell::new(ready());
    }
    let mut steps = 0usize;
    let mut bounded = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > MAX_STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    PARSER.with_borrow_mut(|parser| {
        let parser = parser.as_mut().ok_or_else(|| CannotSay::whole(Reason::Disagreement, text))?;
        // An unfinished text would be continued by the next call.
        parser.reset();
        let bytes = ascii(text);
        let bytes = bytes.as_ref();
        let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
        let options = ParseOptions::new().progress_callback(&mut bounded);
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        tree.ok_or_else(|| CannotSay::whole(Reason::TooComplex, text))
    })
}

/// The text with one harmless character for each byte beyond ASCII. The grammar's scanner, written in C, looks characters
/// up in a table that has no place for them; to a shell they are parts of words and never of names.
fn ascii(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'%' }).collect())
}

/// A parser with its grammar; none where the two crates do not fit together.
fn ready() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

fn first_error(root: Node<'_>) -> Span {
    let mut node = root;
    loop {
        let mut cursor = node.walk();
        let next = node
            .children(&mut cursor)
            .find(|child| child.has_error() || child.is_error() || child.is_missing());
        match next {
            Some(child) if !node.is_error() => node = child,
            _ => return span(node),
        }
    }
}

fn span(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

struct Walk<'t, 'n> {
    text: &'t str,
    found: Outline,
    open: Vec<(Node<'n>, usize)>,
}

impl<'n> Walk<'_, 'n> {
    fn event(&mut self, node: Node<'_>, role: Role) {
        self.found.events.push((node.start_byte(), node.end_byte(), role));
    }

    fn start(&mut self, node: Node<'_>, role: Role) {
        self.found.events.push((node.start_byte(), node.start_byte(), role));
    }

    fn statement(&mut self, node: Node<'n>, depth: usize) -> Result<(), CannotSay> {
        let deeper = match node.kind() {
            "subshell" => Some(Role::Subshell),
            "compound_statement" => Some(Role::Group),
            "if_statement" => Some(Role::If),
            "while_statement" => Some(Role::While),
            "for_statement" => Some(Role::For),
            "case_statement" => Some(Role::Case),
            _ => None,
        };
        if let Some(role) = deeper {
            self.start(node, role);
        }
        let depth = depth + usize::from(deeper.is_some());
        match node.kind() {
            "comment" | "heredoc_end" | "file_descriptor" => Ok(()),
            "command" => self.command(node, depth),
            "declaration_command" | "unset_command" => self.declaration(node),
            "test_command" => self.test(node),
            "variable_assignment" => {
                self.event(node, Role::Assignment);
                self.word(node)
            }
            "function_definition" => self.function(node, depth),
            "file_redirect" | "herestring_redirect" => self.redirect(node),
            kind if LISTS.contains(&kind) => self.list(node, depth),
            kind => Err(CannotSay::at(Reason::unmodelled(kind), span(node))),
        }
    }

    /// A statement of statements: its words have the role that their field says, its operators are counted.
    fn list(&mut self, node: Node<'n>, depth: usize) -> Result<(), CannotSay> {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        for (at, child) in children.into_iter().enumerate() {
            let field = node.field_name_for_child(u32::try_from(at).unwrap_or(u32::MAX));
            if !child.is_named() {
                self.operator(node, child)?;
                continue;
            }
            match (node.kind(), child.kind(), field) {
                ("for_statement", "variable_name", _) => {}
                ("for_statement" | "case_statement" | "heredoc_redirect", _, Some("value" | "argument")) => {
                    self.event(child, Role::Argument);
                    self.word(child)?;
                }
                ("case_item", _, Some("value")) => self.word(child)?,
                (_, "heredoc_start", _) => self.event(child, Role::Delimiter),
                (_, "heredoc_body", _) => {
                    self.found.documents.push(span(child));
                    self.word(child)?;
                }
                _ => self.open.push((child, depth)),
            }
        }
        Ok(())
    }

    fn operator(&mut self, parent: Node<'_>, token: Node<'_>) -> Result<(), CannotSay> {
        let found = &mut self.found.operators;
        match token.kind() {
            "&&" => found.and += 1,
            "||" => found.or += 1,
            "|" | "|&" if parent.kind() != "case_item" => found.pipe += 1,
            "&" => found.background += 1,
            "((" | "select" => return Err(CannotSay::at(Reason::unmodelled(token.kind()), span(token))),
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, node: Node<'n>, depth: usize) -> Result<(), CannotSay> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "command_name" => {
                    self.event(child, Role::Command);
                    self.word(child)?;
                }
                "variable_assignment" => {
                    self.event(child, Role::Assignment);
                    self.word(child)?;
                }
                "file_redirect" | "herestring_redirect" => self.redirect(child)?,
                "heredoc_redirect" => self.open.push((child, depth)),
                "$" | "==" | "=~" => self.event(child, Role::Argument),
                kind if WORDS.contains(&kind) => {
                    self.event(child, Role::Argument);
                    self.word(child)?;
                }
                "comment" => {}
                kind => return Err(CannotSay::at(Reason::unmodelled(kind), span(child))),
            }
        }
        Ok(())
    }

    fn declaration(&mut self, node: Node<'n>) -> Result<(), CannotSay> {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let role = if child.is_named() { Role::Argument } else { Role::Command };
            self.event(child, role);
            self.word(child)?;
        }
        Ok(())
    }

    /// Inside brackets the grammar reads expressions; the brackets are what it has in common with others.
    fn test(&mut self, node: Node<'n>) -> Result<(), CannotSay> {
        let Some(open) = node.child(0) else { return Ok(()) };
        match open.kind() {
            "[" => self.event(open, Role::Command),
            "[[" => self.start(open, Role::Test),
            other => return Err(CannotSay::at(Reason::unmodelled(other), span(node))),
        }
        self.word(node)
    }

    fn function(&mut self, node: Node<'n>, depth: usize) -> Result<(), CannotSay> {
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        for (at, child) in children.into_iter().enumerate() {
            match node.field_name_for_child(u32::try_from(at).unwrap_or(u32::MAX)) {
                Some("name") => {
                    self.event(child, Role::Function);
                    self.word(child)?;
                }
                _ if child.is_named() => self.open.push((child, depth + 1)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The first word is the target; the grammar puts arguments that follow behind it.
    fn redirect(&mut self, node: Node<'n>) -> Result<(), CannotSay> {
        let mut cursor = node.walk();
        let words: Vec<_> = node.children(&mut cursor).filter(Node::is_named).collect();
        let words = words.into_iter().filter(|child| child.kind() != "file_descriptor");
        for (at, child) in words.enumerate() {
            if !WORDS.contains(&child.kind()) {
                return Err(CannotSay::at(Reason::unmodelled(child.kind()), span(child)));
            }
            self.event(child, if at == 0 { Role::Target } else { Role::Argument });
            self.word(child)?;
        }
        Ok(())
    }

    /// Expansions in a word; what runs inside a substitution is read on its own.
    fn word(&mut self, word: Node<'n>) -> Result<(), CannotSay> {
        let mut open = vec![word];
        while let Some(node) = open.pop() {
            let kind = match node.kind() {
                "command_substitution" => Some(Expansion::Command),
                "process_substitution" => Some(Expansion::Process),
                "expansion" => Some(Expansion::Parameter),
                "arithmetic_expansion" => Some(Expansion::Arithmetic),
                "ERROR" => return Err(CannotSay::whole(Reason::Syntax, self.text)),
                _ => None,
            };
            if let Some(kind) = kind {
                // Between double quotes the grammar takes blanks in front for a part of it.
                let written = self.text.get(node.byte_range()).unwrap_or_default();
                let start = node.end_byte() - written.trim_start().len();
                self.found.ends.insert(start, (node.end_byte(), kind));
            }
            if !matches!(kind, Some(Expansion::Command | Expansion::Process)) {
                let mut cursor = node.walk();
                open.extend(node.children(&mut cursor));
            }
        }
        Ok(())
    }
}
