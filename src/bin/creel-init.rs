//! PID 1 of every sandbox; see [`creel::init`].

fn main() -> std::process::ExitCode {
    creel::init::main()
}
