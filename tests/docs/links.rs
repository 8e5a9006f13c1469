//! Links and file names in the documentation lead somewhere.

use crate::page::{self, root};

/// `](target)` of every link.
fn targets(prose: &str) -> Vec<&str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

#[test]
fn internal_links_resolve() {
    let mut broken = Vec::new();
    for page in page::all() {
        let prose = page.prose();
        for target in targets(&prose).into_iter().filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.path.clone(),
                file => page.path.parent().unwrap().join(file),
            };
            if !root().join(&path).exists() {
                broken.push(format!("{}: {target}", page.path.display()));
            } else if !anchor.is_empty() && !page::read(&path).anchors().iter().any(|one| one == anchor) {
                broken.push(format!("{}: {target}: no such heading", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Also where it is no link: in prose, in sources, in the Makefile.
#[test]
fn every_page_that_is_mentioned_exists() {
    let mut texts: Vec<(String, String)> =
        page::all().into_iter().map(|page| (page.path.display().to_string(), page.text)).collect();
    let mut open = vec![root().join("src")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                texts.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    texts.push(("Makefile".to_owned(), std::fs::read_to_string(root().join("Makefile")).unwrap()));
    for (name, text) in texts {
        for rest in text.split("docs/").skip(1) {
            let end =
                rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(rest.len());
            if let Some(page) = rest[..end].strip_suffix(".md").or_else(|| rest[..end].strip_suffix(".md.")) {
                assert!(root().join(format!("docs/{page}.md")).exists(), "{name} mentions docs/{page}.md");
            }
        }
    }
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = page::read("README.md");
    let prose = readme.prose();
    let linked = targets(&prose);
    for page in page::all().into_iter().filter(|page| page.path.starts_with("docs")) {
        let path = page.path.display().to_string();
        assert!(linked.contains(&path.as_str()), "README.md does not link {path}");
    }
}
