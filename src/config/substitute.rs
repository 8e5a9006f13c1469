//! `${NAME}` in strings of the configuration.

/// Fills in variables: `${NAME}` with the value of `NAME`, `$${NAME}` with the text `${NAME}`.
///
/// Names are upper-case letters, digits and underscores; every other `$` stays as it is, so that shell text in
/// lower case is left alone. An unset variable is an error and returns its name: a path with a hole in it is
/// another path.
pub fn substitute(text: &str, var: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, dollar) = rest.split_at(at);
        out.push_str(before);
        if let Some((name, after)) = dollar.strip_prefix("$$").and_then(braced) {
            out.push_str("${");
            out.push_str(name);
            out.push('}');
            rest = after;
        } else if let Some((name, after)) = dollar.strip_prefix('$').and_then(braced) {
            out.push_str(&var(name).ok_or_else(|| name.to_owned())?);
            rest = after;
        } else {
            out.push('$');
            rest = dollar.strip_prefix('$').unwrap_or_default();
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// `{NAME}` at the front: the name, and what follows.
fn braced(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let start = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
    let rest = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (start && rest).then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_and_escapes() {
        let var = |name: &str| (name == "A_1").then(|| "v$".to_owned());
        for (given, wanted) in [
            ("x${A_1}y", Ok("xv$y")),
            ("$${A_1}", Ok("${A_1}")),
            ("${NOPE}", Err("NOPE")),
            ("$HOME ${lower} $$ ${", Ok("$HOME ${lower} $$ ${")),
            ("$$${A_1}", Ok("$${A_1}")),
        ] {
            assert_eq!(
                substitute(given, &var).as_deref(),
                wanted.map_err(str::to_owned).as_deref(),
                "{given}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "[${}A-Za-z_é]{0,30}") {
            let _ = substitute(&text, &|_| None);
        }
    }
}
