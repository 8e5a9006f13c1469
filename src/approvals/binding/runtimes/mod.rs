//! Interpreters, and where on their command line the file stands that they run (spec `approvals.md` 11.06, 11.4). Pure.
//!
//! An option that is not known here may take the next word, or load code: then nobody can say which file runs.

mod table;

use self::table::RUNTIMES;
use super::error::Form;
use crate::shell::inline_eval::program;

/// The grammar of one family, as far as it takes to find the file.
#[derive(Debug)]
struct Runtime {
    names: &'static [&'static str],
    /// Short options whose value is code: then the text is the program.
    inline: &'static str,
    /// Long ones.
    inline_long: &'static [&'static str],
    /// Short options that load more code, or change where names begin.
    loads: &'static str,
    /// Long ones.
    loads_long: &'static [&'static str],
    /// What is said of those.
    form: Form,
    /// Short options with a value.
    valued: &'static str,
    /// Long ones.
    valued_long: &'static [&'static str],
    /// Short options without one.
    plain: &'static str,
    /// Short options whose value, if any, is attached.
    attached: &'static str,
    /// Long options without a value, or with one behind `=`; a trailing `*` stands for any rest.
    plain_long: &'static [&'static str],
    /// Options after which nothing runs.
    info: &'static [&'static str],
    /// First operands behind which the file stands.
    run: &'static [&'static str],
    /// First operands that run no file of the caller's.
    other: &'static [&'static str],
    /// First operands whose value is code.
    eval: &'static [&'static str],
}

/// Multi-call binaries by their own name: what they do is in their arguments.
pub(super) const MULTIPLEXERS: &[&str] = &["busybox", "toybox"];

/// What a runtime needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// It is no runtime.
    NoRuntime,
    /// The file at this place of its arguments.
    File(usize),
    /// None: the code is on the command line, or nothing runs.
    Nothing,
    /// Its code comes from standard input.
    Input,
}

/// Whether a program of this name runs files.
pub(super) fn is_runtime(name: &str) -> bool {
    of(name).is_some() || MULTIPLEXERS.contains(&name)
}

/// What the runtime `name` needs to run `arguments`.
///
/// # Errors
///
/// Forms that no approval can bind (11.4).
pub(super) fn needs(name: &str, arguments: &[&str]) -> Result<Needs, Form> {
    if MULTIPLEXERS.contains(&name) {
        return Err(Form::Runtime);
    }
    let Some(runtime) = of(name) else { return Ok(Needs::NoRuntime) };
    let mut at = 0;
    let mut behind = false;
    while let Some(argument) = arguments.get(at) {
        if runtime.info.contains(argument) {
            return Ok(Needs::Nothing);
        }
        let step = match *argument {
            "--" => return Ok(arguments.get(at + 1).map_or(Needs::Input, |_| Needs::File(at + 1))),
            "-" => return Ok(Needs::Input),
            long if long.starts_with("--") => runtime.long(long)?,
            short if short.starts_with('-') => runtime.cluster(&short[1..])?,
            // Shells: `+x`.
            short if short.starts_with('+') && runtime.form == Form::StartupFiles => {
                runtime.cluster(&short[1..])?
            }
            operand if !behind && runtime.eval.contains(&operand) => return Ok(Needs::Nothing),
            operand if !behind && runtime.other.contains(&operand) => return Ok(Needs::Nothing),
            operand if !behind && runtime.run.contains(&operand) => {
                behind = true;
                Step::Next
            }
            _ => return Ok(Needs::File(at)),
        };
        match step {
            Step::Next => at += 1,
            Step::Skip => at += 2,
            Step::Inline => return Ok(Needs::Nothing),
        }
    }
    Ok(Needs::Input)
}

fn of(name: &str) -> Option<&'static Runtime> {
    let bare = program::unversioned(name);
    RUNTIMES.iter().find(|runtime| runtime.names.iter().any(|known| *known == name || *known == bare))
}

/// What an option means for what follows.
enum Step {
    /// Nothing.
    Next,
    /// The next word is its value.
    Skip,
    /// Code.
    Inline,
}

impl Runtime {
    fn long(&self, option: &str) -> Result<Step, Form> {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        let fits = |known: &&str| match known.strip_suffix('*') {
            Some(start) => option.starts_with(start),
            None => *known == option,
        };
        match () {
            () if self.loads_long.contains(&name) => Err(self.form),
            () if self.inline_long.contains(&name) => Ok(Step::Inline),
            () if self.valued_long.contains(&option) => Ok(Step::Skip),
            () if self.plain_long.iter().any(fits) => Ok(Step::Next),
            () => Err(Form::Runtime),
        }
    }

    fn cluster(&self, letters: &str) -> Result<Step, Form> {
        let mut rest = letters.chars();
        let mut inline = false;
        while let Some(letter) = rest.next() {
            match () {
                () if self.loads.contains(letter) => return Err(self.form),
                // Shells read on: `-ci` is interactive too.
                () if self.inline.contains(letter) && self.form == Form::StartupFiles => inline = true,
                () if self.inline.contains(letter) => return Ok(Step::Inline),
                () if self.valued.contains(letter) => {
                    return Ok(if rest.as_str().is_empty() { Step::Skip } else { Step::Next });
                }
                () if self.attached.contains(letter) => return Ok(Step::Next),
                () if self.plain.contains(letter) => {}
                () => return Err(Form::Runtime),
            }
        }
        Ok(if inline { Step::Inline } else { Step::Next })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn of_line(line: &str) -> Result<Needs, Form> {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, arguments) = words.split_first().unwrap();
        needs(name, arguments)
    }

    #[test]
    fn one_file() {
        for (line, at) in [
            ("sh a.sh", 0),
            ("bash -eu a.sh x", 1),
            ("bash -o pipefail a.sh", 2),
            ("bash -- -a.sh", 1),
            ("python3.11 -u a.py", 1),
            ("python3 -W ignore -X dev a.py", 4),
            ("node --no-warnings --max-old-space-size=4096 a.js b.js", 2),
            ("tsx a.ts", 0),
            ("tsx watch a.ts", 1),
            ("ruby -w a.rb", 1),
            ("perl -w -i.bak a.pl", 2),
            ("php -f a.php", 1),
            ("deno run -A a.ts", 2),
            ("bun run a.ts", 1),
            ("bun a.ts", 0),
            ("rscript --vanilla a.R", 1),
        ] {
            assert_eq!(of_line(line), Ok(Needs::File(at)), "{line}");
        }
    }

    #[test]
    fn the_text_is_the_program() {
        for line in [
            "sh -c ls",
            "bash -euc ls",
            "python3 -c 1",
            "python3 --version",
            "node -e 1",
            "node --eval=1",
            "perl -we 1",
            "php -r 1",
            "deno eval 1",
            "deno fmt",
            "bun install",
            "ruby -e 1",
            "python3 -V",
        ] {
            assert_eq!(of_line(line), Ok(Needs::Nothing), "{line}");
        }
        for line in ["sh", "python3", "python3 -", "node", "bash -eu", "perl --"] {
            assert_eq!(of_line(line), Ok(Needs::Input), "{line}");
        }
        assert_eq!(of_line("git status"), Ok(Needs::NoRuntime));
    }

    /// Spec `approvals.md` 11.4, A163.
    #[test]
    fn forms_that_load_more() {
        for (line, form) in [
            ("bash -i", Form::StartupFiles),
            ("bash -s", Form::StartupFiles),
            ("bash -ci ls", Form::StartupFiles),
            ("bash --rcfile x -c ls", Form::StartupFiles),
            ("bash --rcfile=x -c ls", Form::StartupFiles),
            ("bash --init-file x a.sh", Form::StartupFiles),
            ("zsh --startup-script x", Form::StartupFiles),
            ("fish -C x a.fish", Form::StartupFiles),
            ("bun --preload x a.ts", Form::RuntimeOptions),
            ("bun --cwd=x a.ts", Form::RuntimeOptions),
            ("bun -r x a.ts", Form::RuntimeOptions),
            ("deno run --config x a.ts", Form::RuntimeOptions),
            ("deno run --import-map=x a.ts", Form::RuntimeOptions),
            ("php -c x a.php", Form::RuntimeOptions),
            ("php -dx=y a.php", Form::RuntimeOptions),
            ("python3 -m pkg", Form::Runtime),
            ("python3 -um pkg", Form::Runtime),
            ("node -r x a.js", Form::Runtime),
            ("node --import x a.js", Form::Runtime),
            ("node --env-file=x a.js", Form::Runtime),
            ("node --unheard-of a.js", Form::Runtime),
            ("ruby -C x a.rb", Form::Runtime),
            ("ruby -I x a.rb", Form::Runtime),
            ("ruby -rx a.rb", Form::Runtime),
            ("ruby -S x", Form::Runtime),
            ("perl -Ilib a.pl", Form::Runtime),
            ("perl -MX a.pl", Form::Runtime),
            ("perl -wMX -e 1", Form::Runtime),
            ("perl -S a.pl", Form::Runtime),
            ("busybox sh", Form::Runtime),
            ("toybox ls", Form::Runtime),
            ("tsx --import x a.ts", Form::Runtime),
        ] {
            assert_eq!(of_line(line), Err(form), "{line}");
        }
    }
}
