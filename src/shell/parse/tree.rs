//! The tree of a shell text: only what is modelled completely has a place in it.

/// A piece of the text, in bytes; `end` is behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// A list of commands: a text, a body, the inside of a substitution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// One for each `;`, `&` or line end.
    pub items: Vec<Item>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The first pipeline.
    pub first: Pipeline,
    /// The others, each with what stands in front of it.
    pub rest: Vec<(Link, Pipeline)>,
    /// `&` stands behind.
    pub background: bool,
}

impl Item {
    /// All pipelines in order.
    pub fn pipelines(&self) -> impl Iterator<Item = &Pipeline> {
        std::iter::once(&self.first).chain(self.rest.iter().map(|(_, pipeline)| pipeline))
    }
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// `time`, or `time -p`, as a word of the shell's grammar. Other shells call a program of that name.
    pub timed: bool,
    /// An odd number of `!` stands in front.
    pub negated: bool,
    /// The commands; not empty, except behind a lone `time` or `!`.
    pub commands: Vec<Command>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Words.
    Simple(Simple),
    /// A command of commands, with its redirections.
    Compound(Compound, Vec<Redirect>),
    /// A function is defined; nothing runs yet.
    Function {
        /// Its name as written.
        name: Word,
        /// Its body.
        body: Compound,
        /// What is redirected whenever it is called.
        redirects: Vec<Redirect>,
    },
}

/// Assignments, words and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// In front of the first word.
    pub assignments: Vec<Assignment>,
    /// Command word and arguments; empty where there are only assignments or redirections.
    pub words: Vec<Word>,
    /// Redirections, in order.
    pub redirects: Vec<Redirect>,
    /// From the first word or assignment to the last.
    pub span: Span,
}

/// A command of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compound {
    /// `( … )`
    Subshell(Script),
    /// `{ …; }`
    Group(Script),
    /// `if`: conditions and branches, in order.
    If(Vec<Script>),
    /// `while` and `until`: condition and body.
    While(Script, Script),
    /// `for name in words`; no words means the positional parameters.
    For {
        /// The variable.
        name: String,
        /// What it runs through.
        values: Option<Vec<Word>>,
        /// The body.
        body: Script,
    },
    /// `case`.
    Case {
        /// What is compared.
        value: Word,
        /// Patterns and body of each branch.
        branches: Vec<(Vec<Word>, Script)>,
    },
    /// `[[ … ]]`: its words, and nothing about how they are compared.
    Test(Vec<Word>),
}

/// `NAME=value`, `NAME+=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable's name.
    pub name: String,
    /// It appends: shells that are not bash take the word for a command.
    pub appends: bool,
    /// The value.
    pub value: Word,
    /// The whole of it.
    pub span: Span,
}

/// Where input comes from or output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The descriptor, where it is written.
    pub descriptor: Option<i32>,
    /// What is done with it.
    pub kind: RedirectKind,
    /// Shells that are not bash read something else: `&>`, `>& file`, `<<<`, `|&`.
    pub beyond_posix: bool,
}

/// The forms of a redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read(Word),
    /// `>`, `>|`, `>>`, `<>`, `&>`, `&>>`: a file is opened for writing.
    Write(Word),
    /// `<&`, `>&` with a descriptor or `-`.
    Duplicate(Word),
    /// `<<`, `<<-`
    HereDocument {
        /// The delimiter is quoted: nothing in the body is expanded.
        quoted: bool,
        /// The body as one word.
        body: Word,
    },
    /// `<<<`
    HereString(Word),
}

/// A word as written, and what is known about its value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// Where it stands.
    pub span: Span,
    /// Its parts, in order; neighbouring texts are one.
    pub parts: Vec<Part>,
    /// Some of it is quoted.
    pub quoted: bool,
    /// What the shell does to it beside expansions.
    pub magic: Magic,
}

/// Unquoted characters that may turn a word into others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Magic {
    /// `*`, `?`, `[`, or a pattern of bash's own.
    pub glob: bool,
    /// `~` where a home directory may stand.
    pub tilde: bool,
    /// `{`: some shells make several words of it.
    pub brace: bool,
    /// A backslash stands at the end of a line.
    pub continued: bool,
    /// `$'…'` or `$"…"`: some shells take the dollar as such.
    pub dollar_quote: bool,
}

impl Magic {
    /// Whether the word may become other words than its text.
    pub fn expands(self) -> bool {
        self.glob || self.tilde || self.brace
    }
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text, quotes removed.
    Text(String),
    /// `$NAME`, `${…}`.
    Parameter {
        /// The name, where nothing else is done with it.
        name: Option<String>,
        /// As written.
        raw: String,
        /// What runs while it is expanded.
        runs: Vec<Script>,
    },
    /// `$((…))`
    Arithmetic {
        /// As written.
        raw: String,
        /// What runs while it is expanded.
        runs: Vec<Script>,
    },
    /// `$(…)`, `` `…` ``
    Command(Script),
    /// `<(…)`, `>(…)`
    Process(Script),
}

impl Word {
    /// The value where it holds no expansion; patterns, tilde and braces are as written.
    pub fn text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The value where the shell passes on exactly this text.
    pub fn literal(&self) -> Option<&str> {
        self.text().filter(|_| !self.magic.expands())
    }

    /// What runs while the word is expanded.
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.parts.iter().flat_map(|part| match part {
            Part::Text(_) => &[][..],
            Part::Parameter { runs, .. } | Part::Arithmetic { runs, .. } => runs,
            Part::Command(script) | Part::Process(script) => std::slice::from_ref(script),
        })
    }
}
