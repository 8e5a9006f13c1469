//! Code in arguments that no flag tells: a module that runs its operands, a text in place of a file, a variable that is a command.

/// Modules of python that run code of their arguments or their input.
const MODULES: &[&str] =
    &["timeit", "code", "pdb", "idlelib", "IPython", "asyncio", "ptpython", "bpython", "pyperf", "perf"];
/// Variables of `make` that it runs, or reads as options.
const RUN: &[&str] = &["SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKE", "MAKEFILES"];

/// `python -m timeit code`: what follows is the module's, and it takes it for code.
pub(super) fn python(arguments: &[&str]) -> Option<&'static str> {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let letters = argument.strip_prefix('-')?;
        let Some(at) = letters.find(['m', 'W', 'X', 'Q']).filter(|_| !letters.starts_with('-')) else {
            continue;
        };
        let (option, value) = letters.split_at(at).1.split_at(1);
        let value = if value.is_empty() { rest.next().copied().unwrap_or_default() } else { value };
        if option == "m" {
            let module = value.split('.').next().unwrap_or_default();
            return MODULES.contains(&module).then_some("-m");
        }
    }
    None
}

/// A module or script whose text is in its name.
pub(super) fn data(arguments: &[&str]) -> Option<&'static str> {
    let text = |word: &str| word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
    let value = |argument: &str| argument.split_once('=').is_some_and(|(_, value)| text(value));
    arguments.iter().any(|argument| text(argument) || value(argument)).then_some("data:")
}

/// `-M'x;code'`: what stands behind it is a statement of the program. The name of a module, with words for it, is none.
pub(super) fn perl(arguments: &[&str]) -> Option<&'static str> {
    let own = arguments
        .iter()
        .take_while(|argument| **argument != "--")
        .filter_map(|argument| argument.strip_prefix('-'));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_:-=,./+".contains(c);
    own.filter(|letters| !letters.starts_with('-')).find_map(|letters| {
        let at = letters.find(['M', 'm', 'I', 'F', 'D', 'x', 'C', 'i'])?;
        let (option, value) = letters.split_at(at).1.split_at(1);
        match option {
            "M" if !value.chars().all(plain) => Some("-M"),
            "m" if !value.chars().all(plain) => Some("-m"),
            _ => None,
        }
    })
}

/// A text in place of a file that runs before the script.
pub(super) fn php(arguments: &[&str]) -> Option<&'static str> {
    let setting = |word: &&str| {
        let word = word.to_ascii_lowercase();
        word.contains("auto_prepend_file") || word.contains("auto_append_file")
    };
    if arguments.iter().any(setting) { Some("-d") } else { data(arguments) }
}

/// `make CC='code;'`, `SHELL=x`, `A!=code`: a variable that is run, or a value that is more than words.
pub(super) fn make(arguments: &[&str]) -> Option<&'static str> {
    let code = |argument: &&str| {
        let Some((name, value)) = argument.split_once('=') else { return false };
        let bare = name.trim_end_matches([':', '+', '?', '!', ' ']);
        !name.starts_with('-')
            && (name.ends_with('!')
                || RUN.contains(&bare)
                || value.contains(['$', '`', ';', '|', '&', '<', '>', '\n']))
    };
    arguments.iter().any(code).then_some("<variable>")
}
