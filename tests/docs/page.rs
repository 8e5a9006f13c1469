//! A page of Markdown, as far as these tests need it.

use std::path::{Path, PathBuf};

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page: where it is, and its text.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// Relative to the repository.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) text: String,
}

/// A fenced block: its language, its text, the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The word behind the fence.
    pub(crate) language: String,
    /// Between the fences.
    pub(crate) text: String,
    /// From 1.
    pub(crate) line: usize,
}

/// Every page that people read.
pub(crate) fn all() -> Vec<Page> {
    let mut paths = ["README.md", "images/README.md", "compose/README.md"].map(PathBuf::from).to_vec();
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    paths.extend(docs.map(|entry| Path::new("docs").join(entry.unwrap().file_name())));
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    paths.into_iter().map(|path| read(&path)).collect()
}

/// One page.
pub(crate) fn read(path: impl AsRef<Path>) -> Page {
    let path = path.as_ref();
    let text = std::fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Page { path: path.to_owned(), text }
}

impl Page {
    /// The fenced blocks.
    pub(crate) fn fences(&self) -> Vec<Fence> {
        let mut found = Vec::new();
        let mut open: Option<Fence> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(_), open @ Some(_)) => found.extend(open.take()),
                (Some(language), open @ None) => {
                    let language = language.split([' ', ',']).next().unwrap_or_default().to_owned();
                    *open = Some(Fence { language, text: String::new(), line: number + 1 });
                }
                (None, Some(fence)) => {
                    fence.text.push_str(line);
                    fence.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert_eq!(open, None, "{} has an open fence", self.path.display());
        found
    }

    /// The text without fenced blocks.
    pub(crate) fn prose(&self) -> String {
        let mut inside = false;
        let mut outside = |line: &&str| {
            let fence = line.starts_with("```");
            inside ^= fence;
            !inside && !fence
        };
        self.text.lines().filter(|line| outside(line)).collect::<Vec<_>>().join("\n")
    }

    /// Anchors of its headings, as GitHub makes them.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let prose = self.prose();
        let headings = prose.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
    }

    /// The text of a section, down to the next heading of the same or a higher level.
    pub(crate) fn section(&self, heading: &str) -> String {
        let level = heading.chars().take_while(|c| *c == '#').count();
        let lines = self.text.lines().skip_while(|line| *line != heading).skip(1);
        let ends = |line: &str| {
            let depth = line.chars().take_while(|c| *c == '#').count();
            depth > 0 && depth <= level && line.as_bytes()[depth] == b' '
        };
        let text: Vec<&str> = lines.take_while(|line| !ends(line)).collect();
        assert!(!text.is_empty(), "{} has no section {heading:?}", self.path.display());
        text.join("\n")
    }
}

fn anchor(heading: &str) -> String {
    let keep = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    heading.chars().filter_map(keep).collect()
}

/// Names in backquotes in the first cell of each row of the tables in `text`.
pub(crate) fn first_cells(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.flat_map(quoted).collect()
}

/// The parts in backquotes.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn pages_are_cut_right() {
    let text = "# A b `c`!\nx\n```json5 x\n{}\n# no\n```\n## D\ny\n# E\n".to_owned();
    let page = Page { path: "x.md".into(), text };
    assert_eq!(page.anchors(), ["a-b-c", "d", "e"]);
    assert_eq!(page.fences(), [Fence { language: "json5".into(), text: "{}\n# no\n".into(), line: 3 }]);
    assert_eq!(page.section("## D"), "y");
    assert_eq!(first_cells("| `a`, `b` | `c` |\n|---|---|\n| d | e |"), ["a", "b"]);
}
