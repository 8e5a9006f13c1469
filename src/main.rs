//! The command line: parse, run, exit code.

fn main() -> std::process::ExitCode {
    creel::cli::main()
}
